/* Counts of the subjects: memory I/O by three accounts, and work; backward in
 * subject_back_counts.c. */

#include <math.h>

#include "subject_back.h"
#include "traffic.h"

typedef ar_cost cost;

/* Work: a source costs 2d for its sum of squares and, for each query, 2d for the dot
 * product and 2d for the weighted sum; a merge 3d; an addition d. mHC: m + 2 projections of m
 * streams, m sums of m, m products with v and additions, a read-out of m; sums of squares m,
 * fused 2m, for the streams are looked at before and after the update. */

/* Phase 1 of a segment of s layers over n sources. */
static cost phase_1_cost(double n, double s) {
    return (cost){n, s, 2.0 * n + 4.0 * n * s};
}

static cost block_cost(ar_form form, size_t n, size_t layers) {
    const double N = (double)n, s = (double)layers, p = s - 1.0; /* p: with a partial sum */
    const cost first = phase_1_cost(N, s);
    cost c;
    if (form == AR_TWO_PHASE)
        c = (cost){first.reads + 2.0 * p, first.writes + p, first.flop + 7.0 * p};
    else
        c = (cost){s * N + p, s, 6.0 * (s * N + p)};
    if (layers > 1) { /* v is added p times: p - 1 times with b read already, then alone */
        c.reads += p - 1.0 + 2.0;
        c.writes += p;
        c.flop += p;
    }
    return c;
}

/* Sources of l that a window leaves: the embedding and the last so many; 0: all. */
static size_t seen(size_t l, size_t window) {
    return window > 0 && l > window + 1 ? window + 1 : l;
}

/* With a window there are no kernels in two phases, but there could be: a phase 1 over the
 * sources that any layer of the group sees, then the group's own, as far as they are seen. */
static cost full_cost(ar_form form, size_t first, size_t layers, size_t window) {
    const double s = (double)layers;
    double pairs = 0.0, sources = 0.0; /* the group's own, and all, over its layers */
    for (size_t k = 0; k < layers; k++) {
        pairs += (double)(window > 0 && k > window ? window : k);
        sources += (double)seen(first + k, window);
    }
    const cost start = phase_1_cost((double)seen(first, window), s);
    if (form == AR_TWO_PHASE)
        return (cost){start.reads + pairs + s - 1.0, start.writes + s - 1.0,
                      start.flop + 7.0 * pairs};
    return (cost){sources, s, 6.0 * sources};
}

static cost plain_segment(const ar_case *c, ar_form form, size_t first, size_t last) {
    const size_t layers = last - first + 1;
    const double s = (double)layers, m = (double)c->streams;
    switch (c->mechanism) {
    case AR_STANDARD:
        return (cost){2.0 * s, s, s};
    case AR_HIGHWAY: /* a scalar gate: 2d for its logit, 2d for the norm */
        if (c->ablation == AR_SCALAR_GATE) return (cost){2.0 * s, s, 7.0 * s};
        return (cost){3.0 * s, s, 3.0 * s};
    case AR_DENSEFORMER: {
        cost all = full_cost(AR_ONE_PASS, first, layers, 0);
        all.flop /= 3.0; /* weights are given: only the sum */
        return all;
    }
    case AR_MHC: /* fused: the streams and v in, the streams and h out */
        if (form == AR_FUSED)
            return (cost){(m + 1.0) * s + m, (m + 1.0) * s, s * (4.0 * m * m + 11.0 * m)};
        /* m, m + 1, 2m, m + 1, 3m: see traffic.c */
        return (cost){(5.0 * m + 1.0) * s, (3.0 * m + 1.0) * s, s * (4.0 * m * m + 10.0 * m)};
    case AR_FULL:
        return full_cost(form, first, layers, ar_case_window(c));
    case AR_BLOCK:
        break;
    }
    const size_t n = (first - 1) / c->block + 1;
    if (form == AR_AUTO) form = ar_traffic_auto(c->block, n, c->balance);
    return block_cost(form, n, layers);
}

/* The same, and for each layer the token's own query, where it has one. */
static cost segment(const ar_case *c, ar_form form, size_t first, size_t last) {
    cost one = plain_segment(c, form, first, last);
    if (c->ablation == AR_OWN_QUERY) one.reads += (double)(last - first + 1);
    return one;
}

/* Layers of a segment; 0: all. */
static size_t group_of(const ar_case *c) {
    return c->mechanism == AR_FULL || c->mechanism == AR_BLOCK ? c->block : 0;
}

static cost depth(const ar_case *c, ar_form form, ar_phase phase) {
    const size_t group = group_of(c);
    cost all = {0, 0, 0};
    for (size_t first = 1; first <= c->layers;) {
        const size_t last = ar_segment_last(group, first, c->layers);
        cost one = segment(c, form, first, last);
        if (phase != AR_PHASE_ALL) {
            const size_t sources = c->mechanism == AR_BLOCK ? (first - 1) / c->block + 1 : first;
            const cost start = phase_1_cost((double)sources, (double)(last - first + 1));
            if (phase == AR_PHASE_1)
                one = start;
            else
                one = (cost){one.reads - start.reads, one.writes - start.writes,
                             one.flop - start.flop};
        }
        all.reads += one.reads;
        all.writes += one.writes;
        all.flop += one.flop;
        first = last + 1;
    }
    return all;
}

/* The least of one segment: the cheaper form, and
 * Block: the last addition to a block's sum in one pass with phase 1 of the next block,
 * which reads that sum anyway (1 saved for each block but the last; S = 1 adds nothing).
 * mHC: H and v in, H and h out: 2m + 2. The others: what the definition reads and writes. */
static double fused(const ar_case *c) {
    double all = 0;
    if (c->mechanism == AR_MHC) return (2.0 * (double)c->streams + 2.0) * (double)c->layers;
    const size_t group = group_of(c);
    for (size_t first = 1; first <= c->layers;) {
        const size_t last = ar_segment_last(group, first, c->layers);
        const cost two = segment(c, AR_TWO_PHASE, first, last);
        const cost one = segment(c, AR_ONE_PASS, first, last);
        /* a query that the layer before makes comes too late for a phase 1 */
        const bool late = c->ablation == AR_OWN_QUERY;
        all += fmin(late ? INFINITY : two.reads + two.writes, one.reads + one.writes);
        if (c->mechanism == AR_BLOCK && last > first && last < c->layers) all -= 1.0;
        first = last + 1;
    }
    return all;
}

void ar_subject_counts(const ar_case *c, ar_counts *counts) {
    const double L = (double)c->layers;
    const bool back = c->direction == AR_BACKWARD;
    const cost all = back ? ar_way_back_cost(c) : depth(c, c->form, c->phase);
    *counts = (ar_counts){.paper = NAN,
                          .exact = (all.reads + all.writes) / L,
                          .fused = NAN,
                          .reads = all.reads / L,
                          .writes = all.writes / L,
                          .flop = all.flop / L * (double)c->width};
    if (c->phase != AR_PHASE_ALL) return;
    counts->fused = (back ? ar_way_back_fused(c) : fused(c)) / L;
    if (!back)
        counts->paper =
            ar_traffic_paper(c->mechanism, c->form, c->layers, c->block, c->streams, c->width);
    /* traffic.c counts the mechanisms as published, and bytes only */
    if (c->ablation != AR_NO_ABLATION || c->balance > 0) return;
    counts->exact = (back ? ar_traffic_backward : ar_traffic_exact)(
                        c->mechanism, c->form, c->layers, c->block, c->streams, 1, c->layers) /
                    L;
}
