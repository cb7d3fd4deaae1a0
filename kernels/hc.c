/* HC and mHC: m streams H, source[0..m-1], all the embedding at first. Layer l reads
 * h_l = sum_j read_j H_j and leaves H_k' = sum_j mix_jk H_j + write_k v_l, its coefficients
 * made from the H that it reads: with z_jc = RMSNorm(H_j) . p_c, p the layer's projections
 * [m+2][d] (0 for read, 1 for write, 2 + k for mix), and biases b,
 *     HC:   read = tanh z_j0 + b,  write = tanh z_j1 + b,  mix = tanh z_j(2+k) + b
 *     mHC:  read = sigmoid(z + b), write = 2 sigmoid(z + b),
 *           mix = Sinkhorn(exp(z + b)), 20 times rows, then columns.
 * variant.unconstrained: HC. The head sums the streams. No more than AR_MAX_STREAMS.
 * Sources: arXiv 2409.19606 (HC), 2512.24880 (mHC), with HC's projections for both. */

#include "back_pass.h"
#include "mechanisms.h"
#include "pass.h"

static const float *projections(const ar_depth *m, size_t l) {
    return m->mix + (l - 1) * (m->streams + 2) * m->width;
}
static const float *biases(const ar_depth *m, size_t l) {
    return m->bias + (l - 1) * (m->streams + 2) * m->streams;
}

/* Absorb v of layer `past` (0: none), read for layer `next` (0: the head's sum) into h. */
static void pass(ar_depth *m, size_t past, size_t next, void *h) {
    ar_pass_streams(m, &(ar_streams){.width = m->width,
                                     .streams = m->streams,
                                     .stream = m->source,
                                     .v = past ? m->v : NULL,
                                     .past = past ? projections(m, past) : NULL,
                                     .past_bias = past ? biases(m, past) : NULL,
                                     .next = next ? projections(m, next) : NULL,
                                     .next_bias = next ? biases(m, next) : NULL,
                                     .h = h,
                                     .manifold = !m->variant.unconstrained,
                                     .past_caches = m->stream});
}

static void start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* The segment's first layer: reads m, writes h. Others: read m and v, write m and h. */
static const void *input(ar_depth *m, size_t l) {
    pass(m, l > m->first ? l - 1 : 0, l, m->h);
    return m->h;
}

static void *output(ar_depth *m, size_t l) {
    (void)l;
    return m->v;
}

/* Reads m and v, writes m. */
static void finish(ar_depth *m, size_t last) {
    pass(m, last, 0, NULL);
}

static const void *head(ar_depth *m) {
    pass(m, 0, 0, m->h);
    return m->h;
}

const ar_mechanism ar_mhc_fused = {AR_MHC, "mhc", AR_FUSED, start, input, output, finish, head};

/* ---- backward ---- */

/* Absorb dh of layer `done` (0: none), then dv of layer `next` (0: none). */
static void back_pass(ar_back *b, size_t done, size_t next) {
    const ar_depth *const m = b->depth;
    const size_t s = m->streams;
    ar_streams_back a = {.width = m->width,
                         .streams = s,
                         .grad = b->grad,
                         .manifold = !m->variant.unconstrained,
                         .stream = m->stream};
    if (done) {
        a.past = b->h + (done - 1) * s;
        a.v = b->v[done - 1];
        a.dh = b->dh;
        a.past_p = projections(m, done);
        a.past_b = biases(m, done);
        a.dp = b->dmix + (done - 1) * (s + 2) * m->width;
        a.db = b->dbias + (done - 1) * (s + 2) * s;
    }
    if (next) {
        a.next = b->h + (next - 1) * s;
        a.next_p = projections(m, next);
        a.next_b = biases(m, next);
        a.dv = b->dv;
    }
    ar_pass_streams_back(m, &a);
}

/* The segment's last layer: reads the streams and their gradients, writes dv: 2m + 1. Others
 * absorb the layer after on the way: its streams, v and dh, too, and writes gradients: 4m + 3. */
static const void *back_output(ar_back *b, size_t l) {
    back_pass(b, l < b->last ? l + 1 : 0, l);
    return b->dv;
}

static void back_absorb(ar_back *b, size_t l) {
    (void)b;
    (void)l;
}

/* 3m + 2 */
static void back_finish(ar_back *b) {
    back_pass(b, b->first, 0);
}

static void back_head(ar_back *b, const void *out, const void *dout) {
    (void)out;
    for (size_t j = 0; j < b->depth->streams; j++)
        ar_pass_add(b->depth, b->grad[j], dout);
}

const ar_backward ar_mhc_back = {.id = AR_MHC,
                                 .form = AR_FUSED,
                                 .output = back_output,
                                 .input = ar_back_single,
                                 .absorb = back_absorb,
                                 .finish = back_finish,
                                 .head = back_head};
