/* The residual kernels against the definition in double, against each other, and
 * against themselves under every cut of the depth into chunks. */

#include "depth.h"
#include "reference.h"
#include "tap.h"
#include "traffic.h"

enum { MAX_LAYERS = 9 };

static const struct {
    ar_mechanism_id id;
    ar_form form;
} kernels[] = {{AR_STANDARD, AR_TWO_PHASE}, {AR_BLOCK, AR_TWO_PHASE},       {AR_BLOCK, AR_ONE_PASS},
               {AR_BLOCK, AR_AUTO},         {AR_FULL, AR_TWO_PHASE},        {AR_FULL, AR_ONE_PASS},
               {AR_HIGHWAY, AR_TWO_PHASE},  {AR_DENSEFORMER, AR_TWO_PHASE}, {AR_MHC, AR_FUSED},
               {AR_MHC, AR_UNFUSED}};
/* The last four are not in ar_reference_model: see test_streams.c. */
enum { KERNELS = sizeof kernels / sizeof *kernels, MODELLED = KERNELS - 4 };

/* Layers: the real ones, and a cheap one for the many cuts. */
typedef struct {
    float *weights[MAX_LAYERS + 1], *scratch;
    size_t T, d;
} model;

static const float *weights_of(void *user, size_t l) {
    return ((const model *)user)->weights[l];
}
static void real_layer(void *user, size_t l, const void *h, void *v) {
    const model *const m = user;
    ar_layer_forward(m->weights[l], m->T, m->d, l, h, v, m->scratch);
}
static void toy_layer(void *user, size_t l, const void *h, void *v) {
    const ar_depth *const m = user;
    const size_t n = m->tokens * m->width;
    for (size_t i = 0; i < n; i++) {
        const double x = at(m->dtype, h, i), y = at(m->dtype, h, (i + l) % n);
        set(m->dtype, v, i, y / (1.0 + x * x) + 0.1 * (double)l);
        set(m->dtype, m->gate, i, x - 0.2 * (double)l);
    }
}

/* Bit c of cuts set: a chunk ends after layer c + 1. */
static const void *run(const ar_mechanism *k, ar_depth *m, unsigned cuts, ar_layer_fn *f,
                       void *user) {
    const size_t n = m->tokens * m->width;
    float *const x0 = floats(n);
    ar_embedding_fill(x0, m->tokens, m->width, 3, SEED);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < (k->id == AR_MHC ? m->streams : 1); j++)
            set(m->dtype, m->source[j], i, (double)x0[i]);
    free(x0);
    for (size_t first = 1, l = 1; l <= m->layers; l++)
        if (l == m->layers || cuts >> (l - 1) & 1u) {
            ar_chunk_forward(k, m, first, l, f, user);
            first = l + 1;
        }
    return k->head(m);
}

static const size_t all_tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 33};
static const size_t all_widths[] = {1, 3, 8, 17, 64, 100};

/* Every L and S, and between them every pair of tokens and width twice over. */
static void test_reference(tap *tap_now) {
    double worst[MODELLED] = {0};
    size_t points = 0;
    for (size_t L = 1; L <= MAX_LAYERS; L++)
        for (size_t S = 1; S <= L + 1; S++)
            for (int twice = 0; twice < 2; twice++, points++) {
                const size_t T = all_tokens[points % 10], d = all_widths[points / 10 % 6];
                model net = {.scratch = floats(ar_layer_scratch(T, d)), .T = T, .d = d};
                for (size_t l = 1; l <= L; l++) {
                    net.weights[l] = floats(ar_layer_weights(d, l));
                    ar_layer_fill(net.weights[l], d, l, SEED);
                }
                float *const x0 = floats(T * d);
                ar_embedding_fill(x0, T, d, 3, SEED);
                double *const out = doubles(T * d);
                double *const scratch = doubles(ar_reference_scratch(L, T, d));
                for (size_t k = 0; k < MODELLED; k++) {
                    ar_depth m = depth_new(L, S, T, d);
                    ar_reference_model(kernels[k].id, L, S, T, d, m.query, x0, weights_of, &net,
                                       out, scratch);
                    const void *const y = run(ar_mechanism_find(kernels[k].id, kernels[k].form), &m,
                                              (unsigned)points, real_layer, &net);
                    worst[k] = fmax(worst[k], difference(AR_FP32, T * d, y, out));
                    depth_free(&m);
                }
                for (size_t l = 1; l <= L; l++)
                    free(net.weights[l]);
                free(net.scratch);
                free(x0);
                free(out);
                free(scratch);
            }
    for (size_t k = 0; k < MODELLED; k++)
        OK(worst[k] < 128 * FLT_EPSILON, "%s %s against the reference, %zu models: worst %.1e",
           ar_mechanism_names[kernels[k].id], ar_form_names[kernels[k].form], points, worst[k]);
}

/* The same bits under every cut and number of threads; L and S by `point`. */
static void cuts_of(const ar_mechanism *kernel, ar_dtype dtype, ar_isa isa, size_t L, size_t S,
                    size_t point, size_t *runs, size_t *wrong, double *forms) {
    const size_t T = all_tokens[point % 7 * 3 % 10], d = all_widths[point % 6];
    ar_depth m = depth_new(L, S, T, d);
    m.dtype = dtype;
    m.isa = isa;
    m.stream = point % 2 == 0;
    const size_t bytes = T * d * (dtype == AR_BF16 ? 2 : 4);
    void *const kept = get(bytes, 1);
    memcpy(kept, run(kernel, &m, 0, toy_layer, &m), bytes);
    for (unsigned cuts = 1; cuts < 1u << (L - 1); cuts++, ++*runs) {
        m.threads = cuts % 16 == 5 ? 3 : 1;
        *wrong += memcmp(run(kernel, &m, cuts, toy_layer, &m), kept, bytes) != 0;
    }
    if (kernel->form == AR_TWO_PHASE && (kernel->id == AR_FULL || kernel->id == AR_BLOCK) &&
        dtype == AR_FP32) {
        double *const wide = doubles(T * d);
        for (size_t i = 0; i < T * d; i++)
            wide[i] = at(dtype, kept, i);
        const void *const y = run(ar_mechanism_find(kernel->id, AR_ONE_PASS), &m, 0, toy_layer, &m);
        *forms = fmax(*forms, difference(dtype, T * d, y, wide));
        free(wide);
    }
    depth_free(&m);
    free(kept);
}

static void test_cuts(tap *tap_now) {
    for (ar_isa isa = AR_ISA_BASE; isa < AR_ISAS; isa++) {
        if (!ar_isa_runs(isa)) continue;
        double forms = 0.0;
        for (size_t k = 0; k < KERNELS; k++)
            for (ar_dtype dtype = AR_FP32; dtype <= AR_BF16; dtype++) {
                const ar_mechanism *const kernel =
                    ar_mechanism_find(kernels[k].id, kernels[k].form);
                size_t runs = 0, wrong = 0, point = k;
                for (size_t L = 1; L <= 6; L++)
                    for (size_t S = 1; S <= L + 1; S++)
                        cuts_of(kernel, dtype, isa, L, S, point++, &runs, &wrong, &forms);
                OK(wrong == 0, "%s %s %s %s: %zu cuts, %zu with other bits", kernel->name,
                   ar_form_names[kernel->form], ar_isa_names[isa],
                   dtype == AR_BF16 ? "bf16" : "fp32", runs, wrong);
            }
        OK(forms < 64 * FLT_EPSILON, "two phases and one pass agree: worst %.1e", forms);
    }
}

/* A NaN or infinity in the embedding, or in a layer's output, reaches the output of its
 * token and of no other. */
static void poison(void *user, size_t l, const void *h, void *v) {
    const ar_depth *const m = user;
    for (size_t i = 0; i < m->tokens * m->width; i++)
        set(m->dtype, v, i, 0.5 * at(m->dtype, h, i)), set(m->dtype, m->gate, i, 0.0);
    if (l == 3) set(m->dtype, v, m->width, INFINITY);
}

static void test_poison(tap *tap_now) {
    for (size_t k = 0; k < KERNELS; k++)
        for (size_t S = 1; S <= 6; S += 2) {
            ar_depth m = depth_new(5, S, 3, 4);
            const float *const y =
                run(ar_mechanism_find(kernels[k].id, kernels[k].form), &m, 4, poison, &m);
            OK(isfinite(y[3]) && !isfinite(y[4]) && isfinite(y[8]),
               "%s %s, S = %zu: infinity stays in its token", ar_mechanism_names[kernels[k].id],
               ar_form_names[kernels[k].form], S);
            depth_free(&m);
        }
}

static void test_layer(tap *tap_now) {
    static const size_t sizes[][2] = {{1, 1}, {5, 3}, {9, 17}, {33, 64}, {130, 64}, {70, 128}};
    double worst = 0.0;
    size_t unequal = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t l = 1; l <= 2; l++) {
            const size_t T = sizes[i][0], d = sizes[i][1], n = T * d;
            float *const w = floats(ar_layer_weights(d, l)), *const h = floats(n);
            float *const v = floats(n), *const again = floats(n);
            float *const scratch = floats(ar_layer_scratch(T, d));
            double *const hd = doubles(n), *const vd = doubles(n);
            double *const sd = doubles(ar_reference_layer_scratch(T, d));
            ar_layer_fill(w, d, l, SEED);
            ar_embedding_fill(h, T, d, 0, SEED);
            for (size_t k = 0; k < n; k++)
                hd[k] = (double)h[k];
            ar_layer_forward(w, T, d, l, h, v, scratch);
            ar_layer_forward(w, T, d, l, h, again, scratch);
            ar_reference_layer(w, T, d, l, hd, vd, sd);
            worst = fmax(worst, difference(AR_FP32, n, v, vd));
            unequal += memcmp(v, again, n * sizeof *v) != 0;
            ar_embedding_fill(again, T, d, 0, SEED);
            unequal += memcmp(h, again, n * sizeof *h) != 0;
            ar_embedding_fill(again, T, d, 1, SEED);
            unequal += memcmp(h, again, n * sizeof *h) == 0;
            free(w), free(h), free(v), free(again), free(scratch), free(hd), free(vd), free(sd);
        }
    OK(worst < 64 * FLT_EPSILON, "layers against the reference: worst %.1e", worst);
    OK(unequal == 0, "the same input gives the same bits, another micro-batch others");
}

/* What the passes declare is the exact count, for every chunk. */
static void nothing(void *user, size_t l, const void *h, void *v) {
    (void)user, (void)l, (void)h, (void)v;
}

static void test_ledger(tap *tap_now) {
    for (size_t k = 0; k < KERNELS; k++) {
        const ar_mechanism *const kernel = ar_mechanism_find(kernels[k].id, kernels[k].form);
        size_t chunks = 0, vectors = 0, passes = 0, heads = 0;
        for (size_t L = 1; L <= 20; L++)
            for (size_t S = 1; S <= L + 1; S++) {
                ar_depth m = depth_new(L, S, 1, 1);
                memset(m.v, 0, sizeof(float));
                memset(m.gate, 0, sizeof(float));
                for (size_t i = 0; i <= L + 3; i++)
                    memset(m.source[i], 0, sizeof(float));
                for (size_t first = 1; first <= L; first++)
                    for (size_t last = first; last <= L; last++, chunks++) {
                        ar_ledger ledger = {0, 0, 0};
                        m.ledger = &ledger;
                        ar_chunk_forward(kernel, &m, first, last, nothing, NULL);
                        const double exact = ar_traffic_exact(kernel->id, kernel->form, L, S,
                                                              m.streams, first, last);
                        vectors += fabs(exact - (double)(ledger.loads + ledger.stores)) > 1e-9;
                        passes += ledger.passes !=
                                  ar_traffic_launches(kernel->id, kernel->form, S, first, last);
                    }
                ar_ledger ledger = {0, 0, 0};
                m.ledger = &ledger;
                kernel->head(&m);
                heads +=
                    kernel->id != AR_MHC && fabs(ar_traffic_head(kernel->id, L, S) -
                                                 (double)(ledger.loads + ledger.stores)) > 1e-9;
                depth_free(&m);
            }
        OK(vectors + passes + heads == 0,
           "%s %s, ledger of %zu chunks: %zu other counts, %zu passes, %zu heads", kernel->name,
           ar_form_names[kernel->form], chunks, vectors, passes, heads);
    }
}

static void test_table(tap *tap_now) {
    OK(ar_mechanism_find(AR_STANDARD, AR_ONE_PASS) == ar_mechanism_find(AR_STANDARD, AR_TWO_PHASE),
       "standard has one form");
    OK(!strcmp(ar_mechanism_names[AR_BLOCK], "block") && !ar_mechanism_names[AR_BLOCK + 1] &&
           !strcmp(ar_form_names[AR_UNFUSED], "unfused") && !ar_form_names[AR_UNFUSED + 1],
       "names");
    OK(ar_traffic_auto(16, 1, 0) == AR_ONE_PASS && ar_traffic_auto(16, 2, 0) == AR_TWO_PHASE &&
           ar_traffic_auto(16, 3, 0) == AR_TWO_PHASE && ar_traffic_auto(16, 3, 1) == AR_ONE_PASS,
       "auto: one pass for block 1, two where they tie, one where phase 1 would wait for its "
       "flops");
    OK(ar_segment_last(4, 3, 9) == 4 && ar_segment_last(4, 5, 6) == 6 &&
           ar_segment_last(1, 5, 9) == 5 && ar_segment_last(0, 3, 9) == 9 &&
           ar_segment_last(SIZE_MAX, 3, 9) == 9,
       "segments");
    OK(ar_mechanism_block(AR_FULL, 4) == 1 && ar_mechanism_block(AR_BLOCK, 4) == 4 &&
           ar_mechanism_block(AR_STANDARD, 4) == 0,
       "blocks of the routing");
}

int main(void) {
    TAP_START;
    test_table(tap_now);
    test_layer(tap_now);
    test_reference(tap_now);
    test_cuts(tap_now);
    test_poison(tap_now);
    test_ledger(tap_now);
    return DONE();
}
