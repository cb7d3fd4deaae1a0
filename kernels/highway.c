/* Highway: h_l = (1 - g) h_{l-1} + g v_{l-1}, in place in source[0]. g = sigmoid(m->gate),
 * element by element, as layer l - 1 left it there; or, where variant.scalar_gate, one for a
 * token: sigmoid(w_l . RMSNorm(h_{l-1})). Source: Srivastava et al., arXiv 1505.00387. */

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
