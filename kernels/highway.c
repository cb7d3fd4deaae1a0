/* Highway: h_l = (1 - g) h_{l-1} + g v_{l-1}, in place in source[0]. g = sigmoid(m->gate),
 * element by element, as layer l - 1 left it there; or, where variant.scalar_gate, one for a
 * token: sigmoid(w_l . RMSNorm(h_{l-1})). Source: Srivastava et al., arXiv 1505.00387. */

#include "back_pass.h"
#include "mechanisms.h"
#include "pass.h"

static void absorb(ar_depth *m, size_t l) {
    ar_pass_gate(m, &(ar_gate){.width = m->width,
                               .h = m->source[0],
                               .v = m->v,
                               .gate = m->variant.scalar_gate ? NULL : m->gate,
                               .query = m->query + (l - 1) * m->width});
}

static void start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* Reads h, v and the gates (or, scalar, h and v), writes h: 4 (3); nothing for the
 * segment's first layer. */
static const void *input(ar_depth *m, size_t l) {
    if (l > m->first) absorb(m, l);
    return m->source[0];
}

static void *output(ar_depth *m, size_t l) {
    (void)l;
    return m->v;
}

static void finish(ar_depth *m, size_t last) {
    absorb(m, last + 1);
}

static const void *head(ar_depth *m) {
    return m->source[0];
}

const ar_mechanism ar_highway = {AR_HIGHWAY, "highway", AR_TWO_PHASE, start,
                                 input,      output,    finish,       head};

/* ---- backward ---- */

/* The dh of the layer after is added on the way. Reads the stream's gradient, h, v, the gates
 * and (but for the segment's last layer) dh, writes the gradients of stream, v and gates: 8;
 * scalar: 6. */
static const void *back_output(ar_back *b, size_t l) {
    const ar_depth *const m = b->depth;
    const bool scalar = m->variant.scalar_gate;
    ar_pass_gate_back(m, &(ar_gate_back){.width = m->width,
                                         .grad = b->grad[0],
                                         .dh = l < b->last ? b->dh : NULL,
                                         .h = b->h[l - 1],
                                         .v = b->v[l - 1],
                                         .gate = scalar ? NULL : b->gate[l - 1],
                                         .query = m->query + l * m->width,
                                         .dv = b->dv,
                                         .dgate = scalar ? NULL : b->dgate[l - 1],
                                         .dquery = b->dquery + l * m->width,
                                         .stream = m->stream});
    return b->dv;
}

static void back_absorb(ar_back *b, size_t l) {
    (void)b;
    (void)l;
}

static void back_finish(ar_back *b) {
    ar_pass_add(b->depth, b->grad[0], b->dh);
}

static void back_head(ar_back *b, const void *out, const void *dout) {
    (void)out;
    ar_pass_add(b->depth, b->grad[0], dout);
}

const ar_backward ar_highway_back = {.id = AR_HIGHWAY,
                                     .form = AR_TWO_PHASE,
                                     .output = back_output,
                                     .input = ar_back_single,
                                     .absorb = back_absorb,
                                     .finish = back_finish,
                                     .head = back_head};
