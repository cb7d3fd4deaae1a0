/* Counts of the subjects' backward: memory I/O and work, pass by pass. */

#include <math.h>

#include "subject_back.h"

typedef ar_cost cost;

static void add(cost *all, double times, cost one) {
    all->reads += times * one.reads;
    all->writes += times * one.writes;
    all->flop += times * one.flop;
}

/* The pass that adds what q queries give to the gradients of n sources. Work: a pair of source
 * and query 10d (two dot products, three sums), a source beside that 4d. */
static cost attend(double n, double q) {
    return (cost){2.0 * n + q, n, 10.0 * n * q + 4.0 * n};
}

/* dh.h, in a pass of its own; where dh is read anyway; and what own queries add to a layer: the
 * query and its gradient. */
static const cost dot = {2.0, 0.0, 2.0}, with_dh = {1.0, 0.0, 2.0}, own = {1.0, 1.0, 0.0};

/* Layers of a segment that make dh.h: with softmax all. */
static double dots(const ar_case *c, double layers) {
    return ar_case_attends(c) && c->ablation != AR_SIGMOID ? layers : 0.0;
}

/* A segment of s layers in which every layer is a source: its own sources one by one, those
 * before it together. A window leaves to each source that many readers, and of those before the
 * segment the embedding and as many. */
static cost gathered(const ar_case *c, size_t first, size_t s) {
    const size_t window = ar_case_window(c) ? ar_case_window(c) : c->layers;
    cost all = attend((double)(first > window ? window + 1 : first), (double)s);
    for (size_t later = 1; later < s; later++)
        add(&all, 1.0, attend(1.0, (double)(later < window ? later : window)));
    add(&all, dots(c, (double)s), dot);
    return all;
}

/* Own queries: each layer over all its sources at once. */
static cost one_by_one(const ar_case *c, size_t first, size_t s) {
    cost all = {0, 0, 0};
    for (size_t l = first; l < first + s; l++)
        add(&all, 1.0, attend((double)l, 1.0));
    add(&all, dots(c, (double)s), dot);
    add(&all, (double)s, own);
    return all;
}

/* Block n: all layers but the first have a partial sum. */
static cost block(const ar_case *c, ar_form form, size_t n, size_t s) {
    const double N = (double)n, p = (double)(s - 1);
    cost all = {0, 0, 0};
    if (form == AR_ONE_PASS) {
        add(&all, 1.0, attend(N, 1.0));
        add(&all, p, attend(N + 1.0, 1.0));
        add(&all, dots(c, p + 1.0), dot);
        if (c->ablation == AR_OWN_QUERY) add(&all, p + 1.0, own);
        return all;
    }
    add(&all, p, attend(1.0, 1.0));
    add(&all, dots(c, p), with_dh);
    add(&all, dots(c, 1.0), dot);
    add(&all, 1.0, attend(N, p + 1.0));
    return all;
}

/* Highway: the last layer has no dh to add, that of the first is added at the end. Work of a scalar
 * gate: a logit 4d, its gradient's dot product 3d, what comes through it 6d. */
static cost segment(const ar_case *c, ar_form form, size_t first, size_t last) {
    const size_t layers = last - first + 1;
    const double s = (double)layers, m = (double)c->streams;
    switch (c->mechanism) {
    case AR_STANDARD:
        return (cost){2.0 * s, s, s};
    case AR_HIGHWAY:
        if (c->ablation == AR_SCALAR_GATE) return (cost){4.0 * s + 1.0, 2.0 * s + 1.0, 16.0 * s};
        return (cost){5.0 * s + 1.0, 3.0 * s + 1.0, 7.0 * s};
    case AR_DENSEFORMER: { /* weights are given: a pair is 4d */
        cost all = gathered(c, first, layers);
        all.flop = 4.0 * s * ((double)first + (s - 1.0) / 2.0);
        return all;
    }
    case AR_MHC: /* by hand; see traffic.c */
        return (cost){(3.0 * m + 2.0) * s + m, (m + 1.0) * s, s * (10.0 * m * m + 28.0 * m)};
    case AR_FULL:
        return (c->ablation == AR_OWN_QUERY ? one_by_one : gathered)(c, first, layers);
    case AR_BLOCK:
        break;
    }
    return block(c, form, (first - 1) / c->block + 1, layers);
}

/* Sources finished before the segment, for all its layers. */
static cost phase_1(const ar_case *c, size_t first, size_t last) {
    const size_t n = c->mechanism == AR_BLOCK ? (first - 1) / c->block + 1 : first;
    return attend((double)n, (double)(last - first + 1));
}

/* Layers of a segment; 0: all. */
static size_t group_of(const ar_case *c, ar_form form) {
    const bool chunk =
        !ar_mechanism_has_blocks(c->mechanism) || (c->mechanism == AR_FULL && form == AR_ONE_PASS);
    return chunk ? 0 : c->block;
}

cost ar_way_back_cost(const ar_case *c) {
    const size_t group = group_of(c, c->form);
    cost all = {0, 0, 0};
    for (size_t first = 1, last; first <= c->layers; first = last + 1) {
        last = ar_segment_last(group, first, c->layers);
        if (c->phase != AR_PHASE_1) add(&all, 1.0, segment(c, c->form, first, last));
        if (c->phase != AR_PHASE_ALL)
            add(&all, c->phase == AR_PHASE_1 ? 1.0 : -1.0, phase_1(c, first, last));
    }
    return all;
}

/* Of dh.h, which a better fusion makes in a pass that reads dh anyway: for a segment's first layer
 * in that over all its sources, where it follows from the weights (2); Full: for layer l where
 * source l - 1 gets its gradient (dh: 1); Block: with the partial sum, as it is. */
static double saved(const ar_case *c, double layers) {
    return dots(c, c->mechanism == AR_BLOCK ? 2.0 : layers + 1.0);
}

/* Own queries: their gradients are due at each layer, which therefore reads all its sources, dh and
 * query, and on the way adds to the gradient of its partial sum or, Full, of source l - 1 what all
 * later layers give. What the sources before the segment get can wait for its first layer. */
static double own_least(const ar_case *c, size_t first, size_t last) {
    const bool sums = c->mechanism == AR_BLOCK;
    const double n = sums ? (double)((first - 1) / c->block + 1) : (double)first;
    double all = 3.0 * n + 2.0 * (double)(last - first + 1) + 1.0;
    for (size_t l = first + 1; l <= last; l++)
        all += 5.0 + (sums ? n + 1.0 : (double)l + 2.0 * (double)(last - l));
    return all;
}

/* The least in segments of so many layers, Block in two phases: one pass moves more. */
static double least(const ar_case *c, size_t group) {
    double all = 0.0;
    for (size_t first = 1, last; first <= c->layers; first = last + 1) {
        last = ar_segment_last(group, first, c->layers);
        const cost one = segment(c, AR_TWO_PHASE, first, last);
        all += c->ablation == AR_OWN_QUERY
                   ? own_least(c, first, last)
                   : one.reads + one.writes - saved(c, (double)(last - first + 1));
    }
    return all;
}

/* Standard and Highway use every vector once; (m)HC with the coefficients of write kept has no
 * need of the streams for dv; where every layer is a source, groups or all layers at once. */
double ar_way_back_fused(const ar_case *c) {
    const double L = (double)c->layers, m = (double)c->streams;
    if (c->mechanism == AR_MHC) return (3.0 * m + 3.0) * L + m;
    if (!ar_mechanism_has_blocks(c->mechanism)) return least(c, 0);
    if (c->mechanism == AR_BLOCK) return least(c, c->block);
    return fmin(least(c, c->block), least(c, 0));
}
