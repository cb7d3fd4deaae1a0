#ifndef AR_TILE_SIZE_H
#define AR_TILE_SIZE_H

/* Sizes that the kernels and their callers share. */

#include <stddef.h>

/* Sources answered together; more are merged tile by tile. */
enum { TILE = 16 };
/* Queries whose weights are computed together, one a lane. */
enum { BATCH = 16 };

/* A pass's scratch: [TILE][d] rows, [d] a token's own query, [queries][d] sums, then,
 * on a cache line, max and sum for every BATCH queries. */
static inline size_t ar_scratch_parts(size_t d, size_t queries) {
    return ((TILE + 1 + queries) * d + 15) / 16 * 16;
}
static inline size_t ar_scratch_floats(size_t d, size_t queries) {
    return ar_scratch_parts(d, queries) + (queries + BATCH - 1) / BATCH * BATCH * 2;
}

#endif
