#ifndef AR_TILE_SIZE_H
#define AR_TILE_SIZE_H

/* Sizes that the kernels and their callers share. */

#include <stddef.h>

/* Sources answered together; more are merged tile by tile. */
enum { TILE = 16 };
/* Rows of sources that the backward works on together. */
enum { UNIT = 8 };
/* Queries whose weights are computed together, one a lane. */
enum { BATCH = 16 };

/* Floats from row to row in scratch: not a power of two, for rows that are 4 KiB apart
 * share a set of the first-level cache. */
static inline size_t ar_row_stride(size_t d) {
    return (d + 15) / 16 * 16 + 16;
}

/* A pass's scratch: twice TILE rows, the queries' rows in whole batches, as many sums and two
 * more, then max and sum for every BATCH queries. */
static inline size_t ar_scratch_parts(size_t d, size_t queries) {
    return (2 * TILE + (queries + BATCH - 1) / BATCH * BATCH + queries + 2) * ar_row_stride(d);
}
static inline size_t ar_scratch_floats(size_t d, size_t queries) {
    return ar_scratch_parts(d, queries) + (queries + BATCH - 1) / BATCH * BATCH * 2;
}

#endif
