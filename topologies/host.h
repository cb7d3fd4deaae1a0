#ifndef AR_HOST_H
#define AR_HOST_H

/* What a measurement must know of this machine (hwloc), and where its threads sit. */

#include <stddef.h>

#include "err.h"

typedef struct {
    char processor[128], vendor[64]; /* hwloc's CPUModel; CPUVendor, or "" */
    const char *isa;                 /* the widest vectors that this processor has */
    size_t cores, numa_nodes;        /* cores that this process may use now */
    double cache_B;                  /* one last-level cache; 0: hwloc sees none */
    size_t cores_per_cache;          /* that share it, of the usable ones; at least 1 */
    double free_B;                   /* memory that programs may take now; 0: not known */
} ar_host;

/* With HWLOC_SYNTHETIC or HWLOC_XMLFILE in the environment it is the described machine,
 * but for isa and free_B. Refused (AR_ERUN): hwloc cannot read the topology. */
ar_status ar_host_read(ar_host *host, ar_err *err);

/* Last-level cache that threads 0..n-1, on a core each, have together, in bytes. */
double ar_host_cache_B(const ar_host *host, size_t threads);

/* Bind the n OpenMP threads of the next parallel regions, thread i to core i of the
 * usable ones. First touch then places memory beside its thread. n is at most `cores`.
 * The calling thread is thread 0: ar_host_unbind gives all of them all cores back. */
ar_status ar_host_bind(size_t threads, ar_err *err);
void ar_host_unbind(size_t threads);

#endif
