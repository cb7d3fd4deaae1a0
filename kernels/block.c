/* Block AttnRes: layer l, the i-th of block n, attends over source[0..n-1] and, from
 * i = 2 on, over the partial sum b that source[n] holds. v_1 is written there at once,
 * so it is the partial sum without a copy; v_2.. are added by the next layer's input
 * or by finish. Source: paper, section 4.2, Algorithm 1. */

#include "mechanisms.h"
#include "row.h"
#include "softmax.h"

typedef struct {
    size_t n, i; /* layer l is the i-th of block n, both from 1 */
} place;

static place place_of(const ar_depth *m, size_t l) {
    return (place){(l - 1) / m->block + 1, (l - 1) % m->block + 1};
}

/* Does m->v hold the output of layer l - 1, not yet in the partial sum? */
static bool pending(const ar_depth *m, size_t l) {
    return l > m->first && place_of(m, l).i > 2;
}

static float *output(ar_depth *m, size_t l) {
    const place at = place_of(m, l);
    return at.i == 1 ? m->source[at.n] : m->v;
}

/* Reads b and v, writes b: 3; nothing when the block's only layer so far is the first. */
static void finish(ar_depth *m, size_t last) {
    const place at = place_of(m, last);
    if (at.i > 1) ar_row_add(m->tokens * m->width, m->source[at.n], m->v);
}

static void attend_one(ar_depth *m, size_t l, size_t sources, const float *v) {
    const size_t d = m->width;
    const ar_attention a = {.tokens = m->tokens,
                            .width = d,
                            .source = m->source,
                            .n = sources,
                            .joint = sources,
                            .query = m->query + (l - 1) * d,
                            .queries = 1,
                            .o = m->h};
    for (size_t t = 0; t < m->tokens; t++) {
        if (v) ar_row_add(d, m->source[sources - 1] + t * d, v + t * d);
        ar_softmax_attend_token(&a, t);
    }
}

static const float *head(ar_depth *m) {
    const size_t blocks = (m->layers + m->block - 1) / m->block;
    attend_one(m, m->layers + 1, blocks + 1, NULL);
    return m->h;
}

/* Phase 1: reads n, writes one o for each layer of the segment. */
static void two_phase_start(ar_depth *m, size_t first, size_t last) {
    const size_t n = place_of(m, first).n;
    m->first = first;
    ar_softmax_attend(&(ar_attention){.tokens = m->tokens,
                                      .width = m->width,
                                      .source = m->source,
                                      .n = n,
                                      .joint = n,
                                      .query = m->query + (first - 1) * m->width,
                                      .queries = last - first + 1,
                                      .o = m->o,
                                      .max = m->max,
                                      .sum = m->sum});
}

/* Phase 2. i = 1: nothing. No v pending: reads b and o, writes h: 3. Else reads b, v
 * and o, writes b and h: 5. */
static const float *two_phase_input(ar_depth *m, size_t l) {
    const size_t d = m->width, T = m->tokens, row = l - m->first;
    const place at = place_of(m, l);
    const float *const o = m->o + row * T * d;
    const float *const max = m->max + row * T, *const sum = m->sum + row * T;
    const float *const query = m->query + (l - 1) * d;
    const bool add = pending(m, l);
    if (at.i == 1) return o;
    for (size_t t = 0; t < T; t++) {
        float *const b = m->source[at.n] + t * d;
        if (add) ar_row_add(d, b, m->v + t * d);
        ar_softmax_merge_source(d, o + t * d, (ar_part){max[t], sum[t]}, b, query, m->h + t * d);
    }
    return m->h;
}

static void one_pass_start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* Reads n sources and b (from i = 2 on), writes h; reads v and writes b where v is
 * pending. */
static const float *one_pass_input(ar_depth *m, size_t l) {
    const place at = place_of(m, l);
    attend_one(m, l, at.i == 1 ? at.n : at.n + 1, pending(m, l) ? m->v : NULL);
    return m->h;
}

const ar_mechanism ar_block_two_phase = {AR_BLOCK,        "block", AR_TWO_PHASE, two_phase_start,
                                         two_phase_input, output,  finish,       head};
const ar_mechanism ar_block_one_pass = {AR_BLOCK,       "block", AR_ONE_PASS, one_pass_start,
                                        one_pass_input, output,  finish,      head};
