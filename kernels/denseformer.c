/* DenseFormer: h_l = sum of a_{i,l} v_i over i = 0..l-1, source[i] being v_i; row l-1 of
 * m->mix [L+1][L+1] is a_{.,l}. One pass in any form. Source: arXiv 2402.02622. */

#include "back_pass.h"
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

/* ---- backward ---- */

/* The group's layers l+1.. to source l at once, each later group by its finish: a source's
 * gradient gathers what came from all of them. */

static void gather(const ar_back *b, size_t from, size_t n, size_t first, size_t last,
                   const void *dh) {
    const ar_depth *const m = b->depth;
    const size_t pitch = m->layers + 1, at = (first - 1) * pitch + from;
    ar_pass_attend_back(m, &(ar_attend_back){.width = m->width,
                                             .source = m->source + from,
                                             .n = n,
                                             .fixed = m->mix + at,
                                             .queries = last - first + 1,
                                             .vectors = m->tokens * m->width,
                                             .dh = dh,
                                             .grad = b->grad + from,
                                             .dfixed = b->dmix + at,
                                             .pitch = pitch});
}

/* k later layers of the group: reads k + 2, writes 1; nothing for the last. */
static const void *back_output(ar_back *b, size_t l) {
    if (l < b->last) gather(b, l, 1, l + 1, b->last, ar_back_gathered(b, l + 1));
    return b->grad[l];
}

static void back_absorb(ar_back *b, size_t l) {
    (void)b;
    (void)l;
}

/* The sources before the group: reads 2 first and a dh for each layer, writes first. */
static void back_finish(ar_back *b) {
    gather(b, 0, b->first, b->first, b->last, ar_back_gathered(b, b->first));
}

static void back_head(ar_back *b, const void *out, const void *dout) {
    (void)out;
    gather(b, 0, b->depth->layers + 1, b->depth->layers + 1, b->depth->layers + 1, dout);
}

const ar_backward ar_denseformer_back = {.id = AR_DENSEFORMER,
                                         .form = AR_TWO_PHASE,
                                         .grouped = true,
                                         .output = back_output,
                                         .input = ar_back_gathered,
                                         .absorb = back_absorb,
                                         .finish = back_finish,
                                         .head = back_head};
