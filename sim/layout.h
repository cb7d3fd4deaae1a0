#ifndef AR_LAYOUT_H
#define AR_LAYOUT_H

/* Which layers sit in which chunk, which chunk on which rank, which sources are
 * finished at each chunk's end. Layers are counted 1..L, chunks 0..C-1. */

#include "point.h"

typedef struct {
    int32_t first, last; /* layers of the chunk; first > last: empty */
    int32_t rank;
    int32_t previous; /* the chunk before this one on the same rank, or -1 */
    int32_t next;     /* the chunk after it on the same rank, or -1 */
    int32_t history;  /* sources with ids below this are finished at the chunk's end */
    bool partial;     /* the chunk ends inside a block, or the mechanism has a stream */
} ar_chunk;

typedef struct {
    int32_t stages, chunks, layers;
    int32_t block;        /* layers in a block as routed; 0: no blocks */
    int32_t first_source; /* 0: the embedding travels; 1: every rank makes its own */
    int32_t stream;       /* vectors of running state that a hop carries when partial */
    ar_chunk *chunk;      /* [chunks] */
    int32_t *first_chunk; /* [stages]: of each rank */
} ar_layout;

/* Source ids: 0 the embedding, n block n. */
ar_status ar_layout_make(const ar_point *point, ar_layout *layout, ar_err *err);
void ar_layout_free(ar_layout *layout);

/* Layers per block and the number of blocks as routed: N = ceil(L/S). */
int32_t ar_layout_blocks(const ar_layout *layout);

#endif
