/* Standard residual: h_l = h_{l-1} + v_{l-1}; the stream is source[0], in place. */

#include "mechanisms.h"
#include "pass.h"

static void absorb(ar_depth *m) {
    ar_pass_add(m, m->source[0], m->v);
}

static void start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* Reads h and v, writes h: 3; nothing for the segment's first layer. */
static const void *input(ar_depth *m, size_t l) {
    if (l > m->first) absorb(m);
    return m->source[0];
}

static void *output(ar_depth *m, size_t l) {
    (void)l;
    return m->v;
}

static void finish(ar_depth *m, size_t last) {
    (void)last;
    absorb(m);
}

static const void *head(ar_depth *m) {
    return m->source[0];
}

const ar_mechanism ar_standard = {AR_STANDARD, "standard", AR_TWO_PHASE, start,
                                  input,       output,     finish,       head};

/* ---- backward ---- */

/* The stream's gradient is that of v_l, too. */
static const void *back_output(ar_back *b, size_t l) {
    (void)l;
    return b->grad[0];
}

/* Reads the stream's gradient and dh, writes the former: 3. */
static void back_absorb(ar_back *b, size_t l) {
    (void)l;
    ar_pass_add(b->depth, b->grad[0], b->dh);
}

static void back_finish(ar_back *b) {
    (void)b;
}

static void back_head(ar_back *b, const void *out, const void *dout) {
    (void)out;
    ar_pass_add(b->depth, b->grad[0], dout);
}

const ar_backward ar_standard_back = {.id = AR_STANDARD,
                                      .form = AR_TWO_PHASE,
                                      .output = back_output,
                                      .input = ar_back_single,
                                      .absorb = back_absorb,
                                      .finish = back_finish,
                                      .head = back_head};
