#ifndef AR_COUNTERS_H
#define AR_COUNTERS_H

/* Which counters of DRAM traffic work here. */

#include <stdio.h>

#include "err.h"

/* Try every candidate of the table topologies/counters.txt that is for this vendor
 * (hwloc's CPUVendor: "GenuineIntel") or for any: add it to a PAPI event set, start,
 * stop; print "works", or which step failed and why. A candidate that is a path is
 * only looked for. Built without PAPI, or PAPI does not start: one line says so, and
 * that is no failure. Refused: the table is missing or malformed (AR_EINPUT). */
ar_status ar_counters_print(const char *vendor, FILE *out, ar_err *err);

#endif
