/* DenseFormer: h_l = sum of a_{i,l} v_i over i = 0..l-1, source[i] being v_i; row l-1 of
 * m->mix [L+1][L+1] is a_{.,l}. One pass in any form. Source: arXiv 2402.02622. */

#include "mechanisms.h"
#include "pass.h"

static void start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* Reads l, writes h. */
static const void *input(ar_depth *m, size_t l) {
    ar_pass_attend(m, &(ar_attend){.width = m->width,
                                   .source = m->source,
                                   .n = l,
                                   .query = m->query,
                                   .fixed = m->mix + (l - 1) * (m->layers + 1),
                                   .o = m->h,
                                   .stream = m->stream});
    return m->h;
}

static void *output(ar_depth *m, size_t l) {
    return m->source[l];
}

static void finish(ar_depth *m, size_t last) {
    (void)m;
    (void)last;
}

static const void *head(ar_depth *m) {
    return input(m, m->layers + 1);
}

const ar_mechanism ar_denseformer = {AR_DENSEFORMER, "denseformer", AR_TWO_PHASE, start,
                                     input,          output,        finish,       head};
