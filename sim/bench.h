#ifndef AR_BENCH_H
#define AR_BENCH_H

/* Measure one case: time, share of the roof, memory traffic, error. */

#include "bench_row.h"
#include "host.h"
#include "subject.h"
#include "timing.h"

typedef enum { AR_TRAFFIC_NONE, AR_TRAFFIC_CACHESIM, AR_TRAFFIC_PAPI } ar_traffic_source;
extern const char *const ar_traffic_names[];

typedef struct {
    ar_timing_limits limits;
    ar_traffic_source traffic;
    bool allow_cached; /* run although the buffers fit the last-level cache */
    bool bind;         /* threads to cores */
    int64_t poison;    /* source to make not a number; -1: none */
    double roof_set_B; /* 0: 4 x last-level cache, capped by free memory */
    ar_sde sde;        /* events in which repetitions count what they move */
} ar_bench_options;

/* Fill the row. Whatever goes wrong is in the row. */
void ar_bench_case(const ar_case *c, const ar_bench_options *options, const ar_host *host,
                   ar_bench_row *row);

#endif
