/* HC and mHC: m streams H, source[0..m-1], all the embedding at first. Layer l reads
 * h_l = sum_j read_j H_j and leaves H_k' = sum_j mix_jk H_j + write_k v_l, its coefficients
 * made from the H that it reads: with z_jc = RMSNorm(H_j) . p_c, p the layer's projections
 * [m+2][d] (0 for read, 1 for write, 2 + k for mix), and biases b,
 *     HC:   read = tanh z_j0 + b,  write = tanh z_j1 + b,  mix = tanh z_j(2+k) + b
 *     mHC:  read = sigmoid(z + b), write = 2 sigmoid(z + b),
 *           mix = Sinkhorn(exp(z + b)), 20 times rows, then columns.
 * variant.unconstrained: HC. The head sums the streams. No more than AR_MAX_STREAMS.
 *
 * Fused, a layer is one pass. Unfused it is five, each an arrow of the definition: H to its
 * coefficients (reads m); to h (reads m, writes 1); to H A (reads m, writes m); v to v beta^T
 * (reads 1, writes m); their sum to H (reads 2m, writes m). That is 8m + 2, whatever the
 * chunk: the last three make the input of the next layer, or finish.
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

/* Absorb v (or NULL) by the coefficients in m->numbers, make those of layer `next` (0: none),
 * read h (or NULL) by them; without them h is the head's sum. */
static void pass(ar_depth *m, const void *v, size_t next, void *h) {
    ar_pass_streams(m, &(ar_streams){.width = m->width,
                                     .streams = m->streams,
                                     .stream = m->source,
                                     .v = v,
                                     .next = next ? projections(m, next) : NULL,
                                     .next_bias = next ? biases(m, next) : NULL,
                                     .numbers = m->numbers,
                                     .h = h,
                                     .manifold = !m->variant.unconstrained,
                                     .past_caches = m->stream && h != v});
}

static void start(ar_depth *m, size_t first, size_t last) {
    (void)last;
    m->first = first;
}

/* The segment's first layer: reads m, writes h. Others: read m and v, write m and h, which takes
 * v's place. */
static const void *input(ar_depth *m, size_t l) {
    if (l == m->first) {
        pass(m, NULL, l, m->h);
        return m->h;
    }
    pass(m, m->v, l, m->v);
    return ar_take_place(m);
}

static void *output(ar_depth *m, size_t l) {
    (void)l;
    return m->v;
}

/* Reads m and v, writes m. */
static void finish(ar_depth *m, size_t last) {
    (void)last;
    pass(m, m->v, 0, NULL);
}

static const void *head(ar_depth *m) {
    pass(m, NULL, 0, m->h);
    return m->h;
}

const ar_mechanism ar_mhc_fused = {AR_MHC, "mhc", AR_FUSED, start, input, output, finish, head};

/* ---- unfused ---- */

/* Floats of a token's coefficients. */
static size_t each(const ar_depth *m) {
    return (m->streams + 2) * m->streams;
}

/* Absorb m->v, the output of the layer whose coefficients stand in m->numbers. */
static void absorb_in_parts(ar_depth *m) {
    const size_t k = m->streams, vector_B = m->tokens * m->width * (m->dtype == AR_FP32 ? 4 : 2);
    void *mixed[AR_MAX_STREAMS], *written[AR_MAX_STREAMS];
    for (size_t j = 0; j < k; j++) {
        mixed[j] = (char *)m->o + j * vector_B;
        written[j] = (char *)m->o + (k + j) * vector_B;
    }
    ar_combine a = {.width = m->width,
                    .n = k,
                    .outs = k,
                    .x = m->source,
                    .out = mixed,
                    .weight = m->numbers + 2 * k,
                    .stride = each(m),
                    .stream = m->stream};
    ar_pass_combine(m, &a);
    a.n = 1;
    a.x = &m->v;
    a.out = written;
    a.weight = m->numbers + k;
    ar_pass_combine(m, &a);
    ar_pass_sum(m, &(ar_sum){m->width, k, mixed, written, m->source, m->stream});
}

static const void *input_in_parts(ar_depth *m, size_t l) {
    if (l > m->first) absorb_in_parts(m);
    pass(m, NULL, l, NULL);
    ar_pass_combine(m, &(ar_combine){.width = m->width,
                                     .n = m->streams,
                                     .outs = 1,
                                     .x = m->source,
                                     .out = &m->h,
                                     .weight = m->numbers,
                                     .stride = each(m),
                                     .stream = m->stream});
    return m->h;
}

static void finish_in_parts(ar_depth *m, size_t last) {
    (void)last;
    absorb_in_parts(m);
}

const ar_mechanism ar_mhc_unfused = {AR_MHC,         "mhc",  AR_UNFUSED,      start,
                                     input_in_parts, output, finish_in_parts, head};
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
