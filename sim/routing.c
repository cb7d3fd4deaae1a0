#include "routing.h"

int32_t ar_routing_known(const ar_layout *layout, ar_cache cache, int32_t c) {
    const int32_t before = layout->chunk[c].previous;
    if (before < 0 || layout->block == 0) return 0;
    if (before == c - 1) return layout->chunk[before].history; /* handed on inside the rank */
    switch (cache) {
    case AR_CACHE_OWN:
        return layout->chunk[before].history;
    case AR_CACHE_RECEIVED: /* what that chunk started with; chunk 0 holds the embedding */
        return before == 0 ? 1 : layout->chunk[before - 1].history;
    default:
        return 0;
    }
}

ar_hop ar_routing_hop(const ar_layout *layout, ar_cache cache, int32_t c) {
    const ar_chunk *from = &layout->chunk[c], *to = &layout->chunk[c + 1];
    ar_hop hop = {.wire = from->rank != to->rank};
    if (!hop.wire) return hop;
    if (layout->block > 0) {
        const int32_t known = ar_routing_known(layout, cache, c + 1);
        hop.from = known > layout->first_source ? known : layout->first_source;
        hop.to = from->history > hop.from ? from->history : hop.from;
    }
    hop.stream = from->partial ? layout->stream : 0;
    return hop;
}

int64_t ar_routing_bytes(const ar_point *point, int64_t vectors) {
    return vectors * (point->tokens * point->width / point->tensor_parallel) *
           (int64_t)ar_dtype_B(point->dtype);
}

static double formula(const ar_point *point, const ar_layout *layout, ar_cache cache) {
    const double p = (double)point->stages, v = (double)point->virtual_stages, c = p * v;
    if (layout->block == 0) return (c - 1) * layout->stream;
    const double blocks = (double)ar_layout_blocks(layout) / c;
    if (cache == AR_CACHE_NONE) return c * (c - 1) / 2 * blocks;
    const double later = cache == AR_CACHE_OWN ? p * (p - 1) : p * p;
    return (p * (p - 1) / 2 + (v - 1) * later) * blocks;
}

ar_routing_sum ar_routing_total(const ar_point *point, const ar_layout *layout, ar_cache cache) {
    ar_routing_sum sum = {.hops = layout->chunks - 1,
                          .formula_vectors = formula(point, layout, cache)};
    for (int32_t c = 0; c + 1 < layout->chunks; c++) {
        const ar_hop hop = ar_routing_hop(layout, cache, c);
        const int64_t vectors = ar_hop_vectors(hop);
        sum.blocks += hop.to - hop.from;
        sum.partial += hop.stream;
        sum.vectors += vectors;
        sum.embeddings += hop.from == 0 && hop.to > 0;
        if (vectors > sum.peak_vectors) sum.peak_vectors = vectors;
    }
    if (__builtin_mul_overflow(sum.vectors, ar_routing_bytes(point, 1), &sum.bytes))
        sum.bytes = INT64_MAX; /* the point is refused for its peak */
    return sum;
}
