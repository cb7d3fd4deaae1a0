#ifndef AR_ROUTE_H
#define AR_ROUTE_H

/* Hosts and routes of a SimGrid platform file, without running a simulation.
 *
 * SimGrid aborts on a bad file and loads one platform in a process's life. So each
 * open platform is a child process that has loaded it and answers questions over a
 * socket; this process never enters SimGrid. Several platforms may be open. Nothing
 * is inherited by programs started later. Not thread safe. */

#include <stddef.h>

#include "err.h"

typedef struct ar_platform ar_platform;

/* Load a platform XML file. Refused, with the file and the reason: missing,
 * malformed, no hosts, a link whose bandwidth is not positive and finite or whose
 * latency is not finite and at least 0. Built without SimGrid: always refused, AR_ERUN.
 * On success the caller closes *platform. */
ar_status ar_platform_open(const char *path, ar_platform **platform, ar_err *err);
void ar_platform_close(ar_platform *platform); /* NULL is allowed */

/* Number of hosts, at least 1; name of host i < hosts, in file order, owned by the
 * platform. (File order as ar_hosts_scan reads it. A file that makes hosts in ways
 * that it does not know has them in SimGrid's order, which is by name.) */
size_t ar_platform_hosts(const ar_platform *platform);
const char *ar_platform_host(const ar_platform *platform, size_t i);

/* Index of a name; ar_platform_hosts() where there is none. */
size_t ar_platform_find(const ar_platform *platform, const char *name);

/* The route from host i to host j: sum of the latencies and smallest bandwidth of
 * its links. i = j: latency 0, bandwidth INFINITY. No route: refused. */
ar_status ar_platform_route(ar_platform *platform, size_t i, size_t j, double *latency_s,
                            double *bandwidth_Bps, ar_err *err);

#endif
