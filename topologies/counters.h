#ifndef AR_COUNTERS_H
#define AR_COUNTERS_H

/* Which counters of DRAM traffic work here. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "err.h"

/* A candidate of the table. bytes: of DRAM traffic per count; 0: counts something else. */
typedef struct {
    char vendor[64], event[256], what[256];
    double bytes;
} ar_counter;

enum { AR_COUNTERS_MAX = 256 };

/* The candidates for this vendor (hwloc's CPUVendor: "GenuineIntel") or for any, at most
 * AR_COUNTERS_MAX; *others: those of other processors. Refused: the table is missing or
 * malformed (AR_EINPUT). */
ar_status ar_counters_read(const char *vendor, ar_counter list[AR_COUNTERS_MAX], size_t *count,
                           size_t *others, ar_err *err);

/* Does it count here? Added to a PAPI event set, started and stopped. If not, why[size]
 * says which step failed. */
bool ar_counter_try(const char *event, char *why, size_t size);

/* Count n events, which must work together, over run(user). */
ar_status ar_counters_count(const char *const *event, size_t n, void (*run)(void *), void *user,
                            long long *value, ar_err *err);

/* Try every candidate of the table topologies/counters.txt that is for this vendor
 * (hwloc's CPUVendor: "GenuineIntel") or for any: add it to a PAPI event set, start,
 * stop; print "works", or which step failed and why. A candidate that is a path is
 * only looked for. Built without PAPI, or PAPI does not start: one line says so, and
 * that is no failure. Refused: the table is missing or malformed (AR_EINPUT). */
ar_status ar_counters_print(const char *vendor, FILE *out, ar_err *err);

#endif
