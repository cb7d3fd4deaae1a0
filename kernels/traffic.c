#include "traffic.h"

#include <math.h>

double ar_traffic_paper(ar_mechanism_id id, ar_form form, size_t layers, size_t block,
                        size_t streams, size_t width) {
    const double m = (double)streams, S = (double)block;
    const double N = block ? (double)((layers - 1) / block + 1) : 0.0;
    if (id == AR_STANDARD) return 3.0;
    if (id == AR_MHC) return 8.0 * m + 2.0 + (2.0 * m * m + 4.0 * m) / (double)width;
    if (form != AR_TWO_PHASE) return NAN;
    if (id == AR_FULL) return S + N;
    if (id == AR_BLOCK) return N / S + 5.0;
    return NAN;
}

/* One segment: what it moves and the kernels it starts. */
typedef struct {
    double vectors;
    size_t launches;
} cost;

/* Segment first..last of block n, the first layer being the block's i-th. */
static cost block_segment(ar_form form, size_t block, size_t first, size_t last) {
    const size_t n = (first - 1) / block + 1, i = (first - 1) % block + 1;
    const size_t layers = last - first + 1;
    const double N = (double)n, s = (double)layers;
    const size_t added = layers - (i == 1); /* layers with a partial sum before them */
    const double p = (double)added;
    cost c = {0, 0};
    if (form == AR_TWO_PHASE) {
        c.vectors = N + s;    /* phase 1 */
        c.vectors += 3.0 * p; /* b, o, h */
        c.launches = 1 + added;
    } else {
        c.vectors = s * (N + 1.0) + p; /* sources, h; b */
        c.launches = layers;
    }
    if (added > 0) {
        c.vectors += 2.0 * (p - 1.0); /* read v, write b, in the same pass */
        c.vectors += 3.0;             /* finish: b, v, b */
        c.launches += 1;
    }
    return c;
}

static cost full_segment(ar_form form, size_t group, size_t first, size_t last) {
    const size_t layers = last - first + 1;
    const double f = (double)first, s = (double)layers;
    if (form == AR_ONE_PASS) return (cost){s * (f + (s - 1.0) / 2.0 + 1.0), layers};
    const size_t own = (first - 1) % group; /* of the group's sources, made before first */
    const double g = (double)own;
    /* phase 1; then k = own..own+s-1 sources, o, h; nothing at k = 0 */
    const size_t merged = layers - (own == 0);
    return (cost){f - g + s + s * g + s * (s - 1.0) / 2.0 + 2.0 * (double)merged, 1 + merged};
}

ar_form ar_traffic_auto(size_t block, size_t n, double balance) {
    /* a whole block, whatever part of it a chunk or the depth holds: the same bits */
    const size_t first = (n - 1) * block + 1, last = n * block;
    const double moved = (double)(n + block), flop = 4.0 * (double)n * (double)block;
    const double wait = balance > 0.0 && flop / balance > moved ? flop / balance - moved : 0.0;
    const double two = block_segment(AR_TWO_PHASE, block, first, last).vectors + wait;
    /* of equals two phases, measured to be the faster */
    return block_segment(AR_ONE_PASS, block, first, last).vectors < two ? AR_ONE_PASS
                                                                        : AR_TWO_PHASE;
}

/* Layers by definition, one pass for each arrow:
 * Highway: h, v and the element-wise gate -> h.
 * DenseFormer: l sources -> h.
 * mHC, unfused: H -> its coefficients (m); H -> read-out (m + 1); H -> H A (2m);
 * v -> v beta^T (m + 1); their sum (3m): 8m + 2 in five passes. */
/* Fused: the first layer reads H, writes h: m + 1; each other reads H and v, writes H and
 * h: 2m + 2; the last output is absorbed at the end: 2m + 1. */
static double hc_fused(double m, double s) {
    return m + 1.0 + (s - 1.0) * (2.0 * m + 2.0) + 2.0 * m + 1.0;
}

static cost segment(ar_mechanism_id id, ar_form form, size_t block, size_t streams, size_t first,
                    size_t last) {
    const size_t layers = last - first + 1;
    const double s = (double)layers;
    switch (id) {
    case AR_STANDARD:
        return (cost){3.0 * s, layers};
    case AR_HIGHWAY:
        return (cost){4.0 * s, layers};
    case AR_DENSEFORMER:
        return full_segment(AR_ONE_PASS, block, first, last);
    case AR_MHC: /* a fused chunk has one pass more than it has layers, an unfused one 5 a layer */
        if (form == AR_FUSED) return (cost){hc_fused((double)streams, s), layers + 1};
        return (cost){(8.0 * (double)streams + 2.0) * s, 5 * layers};
    case AR_FULL:
        return full_segment(form, block, first, last);
    case AR_BLOCK:
        if (form == AR_AUTO) form = ar_traffic_auto(block, (first - 1) / block + 1, 0.0);
        return block_segment(form, block, first, last);
    }
    return (cost){NAN, 0};
}

static cost chunk(ar_mechanism_id id, ar_form form, size_t block, size_t streams, size_t first,
                  size_t last) {
    const size_t group = ar_mechanism_has_blocks(id) ? block : 0;
    cost all = {0, 0};
    while (first <= last) {
        const size_t end = ar_segment_last(group, first, last);
        const cost c = segment(id, form, block, streams, first, end);
        all.vectors += c.vectors;
        all.launches += c.launches;
        first = end + 1;
    }
    return all;
}

double ar_traffic_exact(ar_mechanism_id id, ar_form form, size_t layers, size_t block,
                        size_t streams, size_t first, size_t last) {
    return chunk(id, form, block, streams, first, last < layers ? last : layers).vectors;
}

double ar_traffic_head(ar_mechanism_id id, size_t layers, size_t block) {
    if (!ar_mechanism_has_blocks(id)) return 0.0;
    const size_t S = ar_mechanism_block(id, block);
    return (double)((layers + S - 1) / S + 2); /* N blocks and the embedding -> h */
}

size_t ar_traffic_launches(ar_mechanism_id id, ar_form form, size_t block, size_t first,
                           size_t last) {
    return chunk(id, form, block, 1, first, last).launches;
}

static double segment_back(ar_mechanism_id id, ar_form form, size_t block, size_t streams,
                           size_t first, size_t last) {
    const double f = (double)first, s = (double)(last - first + 1), m = (double)streams;
    /* dh, the source and its gradient for each pair; then those before the segment */
    const double gathered = s * (s - 1.0) / 2.0 + 3.0 * (s - 1.0) + 3.0 * f + s;
    switch (id) {
    case AR_STANDARD:
        return 3.0 * s;
    case AR_HIGHWAY: /* no dh to add for the last layer; at the end that of the first */
        return 8.0 * s - 1.0 + 3.0;
    case AR_DENSEFORMER:
        return gathered;
    case AR_MHC: /* dv of the last; dv of one and dh of the next; dh of the first */
        if (form != AR_FUSED) return NAN;
        return 2.0 * m + 1.0 + (s - 1.0) * (4.0 * m + 3.0) + 3.0 * m + 2.0;
    case AR_FULL: /* dh and h of each layer */
        return gathered + 2.0 * s;
    case AR_BLOCK:
        break;
    }
    const double n = (double)((first - 1) / block + 1);
    const double p = s - ((first - 1) % block == 0 ? 1.0 : 0.0);
    if (form == AR_ONE_PASS) return s * (2.0 + 3.0 * n + 1.0) + 3.0 * p;
    return 5.0 * p + 2.0 * (s - p) + 3.0 * n + s;
}

double ar_traffic_backward(ar_mechanism_id id, ar_form form, size_t layers, size_t block,
                           size_t streams, size_t first, size_t last) {
    const bool chunk = !ar_mechanism_has_blocks(id) || (id == AR_FULL && form == AR_ONE_PASS);
    double all = 0.0;
    if (last > layers) last = layers;
    while (first <= last) {
        const size_t end = ar_segment_last(chunk ? 0 : block, first, last);
        all += segment_back(id, form, block, streams, first, end);
        first = end + 1;
    }
    return all;
}
