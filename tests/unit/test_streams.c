/* Highway, DenseFormer, (m)HC and the ablations against their definitions in double. */

#include "depth.h"
#include "pass.h"
#include "reference.h"
#include "tap.h"
#include "traffic.h"

enum { LAYERS = 5, STREAMS = 4 };

typedef struct {
    ar_mechanism_id id;
    ar_variant variant;
    const char *name;
    ar_form form; /* of mHC; the others have one */
} subject;

/* v and the gates from h, in storage and in double. */
static double toy(double x, double y, size_t l) {
    return y / (1.0 + x * x) + 0.1 * (double)l;
}
static void toy_layer(void *user, size_t l, const void *h, void *v) {
    const ar_depth *const m = user;
    const size_t n = m->tokens * m->width;
    for (size_t i = 0; i < n; i++) {
        const double x = at(m->dtype, h, i);
        set(m->dtype, v, i, toy(x, at(m->dtype, h, (i + l) % n), l));
        set(m->dtype, m->gate, i, x - 0.2 * (double)l);
    }
}

static void reference(const subject *s, const ar_depth *m, const double *x0, double *out) {
    const size_t T = m->tokens, d = m->width, n = T * d, k = m->streams;
    const size_t L = m->layers;
    double *source[LAYERS + STREAMS], *const v = doubles(n), *const gate = doubles(n);
    double *const w = doubles(d);
    for (size_t i = 0; i < L + STREAMS; i++) {
        source[i] = doubles(n);
        memcpy(source[i], x0, n * sizeof *x0);
    }
    for (size_t l = 1; l <= L + 1; l++) {
        const float *const p = m->mix + (l - 1) * (k + 2) * d;
        const float *const b = m->bias + (l - 1) * (k + 2) * k;
        const bool manifold = !s->variant.unconstrained;
        if (s->id == AR_HIGHWAY)
            memcpy(out, source[0], n * sizeof *out);
        else if (s->id == AR_DENSEFORMER)
            ar_reference_mix(n, (const double *const *)source, l, m->mix + (l - 1) * (L + 1), out);
        else
            ar_reference_streams_read(T, d, k, source, l > L ? NULL : p, b, manifold, out);
        if (l > L) break;
        for (size_t i = 0; i < n; i++) {
            v[i] = toy(out[i], out[(i + l) % n], l);
            gate[i] = out[i] - 0.2 * (double)l;
        }
        for (size_t j = 0; j < d; j++)
            w[j] = (double)m->query[l * d + j];
        if (s->id == AR_HIGHWAY)
            ar_reference_highway(T, d, source[0], v, gate, s->variant.scalar_gate ? w : NULL);
        else if (s->id == AR_DENSEFORMER)
            memcpy(source[l], v, n * sizeof *v);
        else
            ar_reference_streams_update(T, d, k, source, v, p, b, manifold);
    }
    for (size_t i = 0; i < L + STREAMS; i++)
        free(source[i]);
    free(v), free(gate), free(w);
}

static double error_of(const subject *s, ar_dtype dtype, ar_isa isa, size_t T, size_t d,
                       size_t streams) {
    /* storing bf16 layer after layer makes errors that the next layers amplify */
    const size_t L = dtype == AR_BF16 ? 1 : LAYERS;
    ar_depth m = depth_new(L, 2, T, d);
    m.dtype = dtype;
    m.isa = isa;
    m.variant = s->variant;
    m.streams = streams;
    float *const x = floats(T * d);
    double *const x0 = doubles(T * d), *const out = doubles(T * d);
    ar_embedding_fill(x, T, d, 0, SEED);
    for (size_t i = 0; i < T * d; i++) {
        for (size_t j = 0; j < STREAMS; j++)
            set(dtype, m.source[j], i, (double)x[i]);
        x0[i] = at(dtype, m.source[0], i);
    }
    reference(s, &m, x0, out);
    const ar_mechanism *const k = ar_mechanism_find(s->id, s->form);
    ar_chunk_forward(k, &m, 1, (L + 1) / 2, toy_layer, &m);
    ar_chunk_forward(k, &m, (L + 1) / 2 + 1, L, toy_layer, &m);
    const double error = difference(dtype, T * d, k->head(&m), out);
    depth_free(&m);
    free(x), free(x0), free(out);
    return error;
}

static void test_models(tap *tap_now) {
    static const subject subjects[] = {
        {AR_HIGHWAY, {0}, "highway", AR_TWO_PHASE},
        {AR_HIGHWAY, {.scalar_gate = true}, "highway, scalar gate", AR_TWO_PHASE},
        {AR_DENSEFORMER, {0}, "denseformer", AR_TWO_PHASE},
        {AR_MHC, {0}, "mHC", AR_FUSED},
        {AR_MHC, {.unconstrained = true}, "HC", AR_FUSED},
        {AR_MHC, {0}, "mHC, unfused", AR_UNFUSED},
        {AR_MHC, {.unconstrained = true}, "HC, unfused", AR_UNFUSED},
    };
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++)
        for (ar_isa isa = AR_ISA_BASE; isa < AR_ISAS && ar_isa_runs(isa); isa++)
            for (ar_dtype dtype = AR_FP32; dtype <= AR_BF16; dtype++) {
                double worst = 0.0;
                for (size_t T = 1; T <= 33; T++)
                    worst = fmax(worst, error_of(&subjects[k], dtype, isa, T, 1 + T * 7 % 40,
                                                 1 + T % STREAMS));
                OK(worst < (dtype == AR_BF16 ? 0.03 : 3e-5), "%s, %s, %s: %.1e", subjects[k].name,
                   ar_isa_names[isa], dtype == AR_BF16 ? "bf16" : "fp32", worst);
            }
}

/* One-pass attention over n sources under a variant; its error, and its ledger. */
static double ablated(ar_variant variant, ar_dtype dtype, size_t n, size_t T, size_t d,
                      size_t *moved) {
    ar_depth m = depth_new(n, 2, T, d);
    ar_ledger ledger = {0, 0, 0};
    double *x[40], *const w = doubles(T * d), *const out = doubles(T * d);
    float *const from = floats(T * d);
    m.dtype = dtype;
    m.variant = variant;
    m.ledger = &ledger;
    for (size_t i = 0; i <= n; i++) {
        void *const to = i < n ? m.source[i] : m.gate;
        double *const wide = i < n ? (x[i] = doubles(T * d)) : w;
        ar_embedding_fill(from, T, d, i, SEED);
        for (size_t k = 0; k < T * d; k++) {
            set(dtype, to, k, (double)from[k]);
            wide[k] = at(dtype, to, k);
        }
    }
    for (size_t j = 0; j < d && !variant.own_query; j++)
        w[j] = (double)m.query[j];
    ar_reference_variant(T, d, (const double *const *)x, n, w, variant, out);
    ar_attend_one(&m, 1, n, NULL);
    *moved = ledger.loads + ledger.stores;
    double error = difference(dtype, T * d, m.h, out);
    if (!variant.own_query && !variant.window && n > 1) { /* two phases, the last source merged */
        m.first = 1;
        ar_attend_many(&m, n - 1, 1, 1);
        ar_merge_in(&m, 1, m.source + n - 1, 1, NULL);
        error = fmax(error, difference(dtype, T * d, m.h, out));
    }
    for (size_t i = 0; i < n; i++)
        free(x[i]);
    depth_free(&m);
    free(w), free(out), free(from);
    return error;
}

static void test_ablations(tap *tap_now) {
    static const struct {
        ar_variant variant;
        const char *name;
    } all[] = {{{.sigmoid = true}, "sigmoid"},
               {{.raw_keys = true}, "raw keys"},
               {{.own_query = true}, "own query"},
               {{.window = 3}, "window of 3"}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        double worst[2] = {0};
        size_t wrong = 0, moved;
        for (size_t n = 1; n <= 33; n++)
            for (ar_dtype dtype = AR_FP32; dtype <= AR_BF16; dtype++) {
                const size_t w = all[k].variant.window, read = w && n > w + 1 ? w + 1 : n;
                worst[dtype] = fmax(worst[dtype],
                                    ablated(all[k].variant, dtype, n, n, 1 + n * 5 % 40, &moved));
                wrong += moved != read + 1 + all[k].variant.own_query;
            }
        OK(worst[0] < 1e-5 && worst[1] < 0.02 && wrong == 0, "%s: fp32 %.1e, bf16 %.1e; ledger %zu",
           all[k].name, worst[0], worst[1], wrong);
    }
}

int main(void) {
    TAP_START;
    test_models(tap_now);
    test_ablations(tap_now);
    return DONE();
}
