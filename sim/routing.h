#ifndef AR_ROUTING_H
#define AR_ROUTING_H

/* Which sources cross which hop under a cache policy (reference: paper, section
 * 4.1, equations 7 and 8, figure 3). A receiver always lacks a run of the newest
 * sources, since history grows in order of depth; so a hop is a range of ids. */

#include "layout.h"

typedef struct {
    int32_t from, to; /* source ids [from, to) that the message carries */
    int32_t stream;   /* vectors of running state */
    bool wire;        /* the chunks sit on different ranks */
} ar_hop;

/* Sources with ids below this are already on the rank of chunk c, from its earlier
 * chunks, when the message into chunk c is due. */
int32_t ar_routing_known(const ar_layout *layout, ar_cache cache, int32_t c);

/* The hop from chunk c to c+1. Inside one rank: nothing crosses. */
ar_hop ar_routing_hop(const ar_layout *layout, ar_cache cache, int32_t c);

static inline int64_t ar_hop_vectors(ar_hop hop) {
    return hop.to - hop.from + hop.stream;
}

/* Bytes of one message that carries so many vectors. */
int64_t ar_routing_bytes(const ar_point *point, int64_t vectors);

typedef struct {
    int64_t hops, blocks, partial, vectors, bytes, peak_vectors;
    int64_t embeddings;     /* of blocks: how many times the embedding crosses */
    double formula_vectors; /* equation 7, 8 or its `own` variant, N/C blocks a chunk */
} ar_routing_sum;

/* One micro-batch, forward. */
ar_routing_sum ar_routing_total(const ar_point *point, const ar_layout *layout, ar_cache cache);

#endif
