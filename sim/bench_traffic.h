#ifndef AR_BENCH_TRAFFIC_H
#define AR_BENCH_TRAFFIC_H

#include "cachesim.h"
#include "subject.h"

/* Simulate the memory traffic of c under valgrind: of one walk. limit_s: of the whole simulation.
 * AR_ERUN: valgrind is missing or failed. */
ar_status ar_bench_cachesim(const ar_case *c, double limit_s, ar_cachesim_traffic *traffic,
                            ar_err *err);

#endif
