/* Full AttnRes: layer l attends over source[0..l-1], the embedding and every earlier
 * layer's output, which is written in its place. Layers are answered in groups of S. */

#include "mechanisms.h"
#include "softmax.h"

static float *output(ar_depth *m, size_t l) {
    return m->source[l];
}

static void finish(ar_depth *m, size_t last) {
    (void)m;
    (void)last;
}

/* Reads l, writes h. */
static const float *one_pass_input(ar_depth *m, size_t l) {
    const ar_attention a = {.tokens = m->tokens,
                            .width = m->width,
                            .source = m->source,
                            .n = l,
                            .joint = l,
                            .query = m->query + (l - 1) * m->width,
                            .queries = 1,
                            .o = m->h};
    for (size_t t = 0; t < m->tokens; t++)
        ar_softmax_attend_token(&a, t);
    return m->h;
}

static const float *head(ar_depth *m) {
    return one_pass_input(m, m->layers + 1);
}

static void one_pass_start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* Phase 1 over all that is finished: reads `first`, writes one o for each layer. In a
 * segment that starts inside its group the group's own sources are merged one by one,
 * as they would have been without the cut, so that the bits do not depend on it. */
static void two_phase_start(ar_depth *m, size_t first, size_t last) {
    const size_t group = first - (first - 1) % m->block; /* the group's first layer */
    m->first = first;
    ar_softmax_attend(&(ar_attention){.tokens = m->tokens,
                                      .width = m->width,
                                      .source = m->source,
                                      .n = first,
                                      .joint = group,
                                      .query = m->query + (first - 1) * m->width,
                                      .queries = last - first + 1,
                                      .o = m->o,
                                      .max = m->max,
                                      .sum = m->sum});
}

/* Phase 2 over the segment's k sources so far: reads k and o, writes h. */
static const float *two_phase_input(ar_depth *m, size_t l) {
    const size_t d = m->width, T = m->tokens, row = l - m->first;
    const float *const o = m->o + row * T * d;
    const float *const query = m->query + (l - 1) * d;
    if (l == m->first) return o;
    for (size_t t = 0; t < T; t++) {
        ar_part part = {m->max[row * T + t], m->sum[row * T + t]};
        const float *from = o + t * d;
        for (size_t i = m->first; i < l; i++) {
            part =
                ar_softmax_merge_source(d, from, part, m->source[i] + t * d, query, m->h + t * d);
            from = m->h + t * d;
        }
    }
    return m->h;
}

const ar_mechanism ar_full_two_phase = {AR_FULL,         "full", AR_TWO_PHASE, two_phase_start,
                                        two_phase_input, output, finish,       head};
const ar_mechanism ar_full_one_pass = {AR_FULL,        "full", AR_ONE_PASS, one_pass_start,
                                       one_pass_input, output, finish,      head};
