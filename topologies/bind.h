#ifndef AR_BIND_H
#define AR_BIND_H

#include <stddef.h>

#include "err.h"

/* Bind the calling process to one core: number local_rank modulo the cores that it
 * may use now, which a batch system or mpirun may have narrowed. where[size] gets
 * where that is, for the result and the log: "core 3 of package 0, hardware threads
 * 6-7"; and ", shared" if local_rank is at least the number of cores.
 * With HWLOC_SYNTHETIC or HWLOC_XMLFILE set it only says where it would be.
 * Refused (AR_ERUN): no core, a system that binds nothing. Negative rank: AR_EUSAGE. */
ar_status ar_bind_core(int local_rank, char *where, size_t size, ar_err *err);

#endif
