/* The residual kernels against the definition in double, against each other, and
 * against themselves under every cut of the depth into chunks. */

#include "layer.h"
#include "mechanism.h"
#include "reference.h"
#include "softmax.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 2603, MAX_LAYERS = 9 };

static const struct {
    ar_mechanism_id id;
    ar_form form;
} kernels[] = {{AR_STANDARD, AR_TWO_PHASE},
               {AR_BLOCK, AR_TWO_PHASE},
               {AR_BLOCK, AR_ONE_PASS},
               {AR_FULL, AR_TWO_PHASE},
               {AR_FULL, AR_ONE_PASS}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void *get(size_t count, size_t size) {
    void *const p = aligned_alloc(64, (count * size + 64) / 64 * 64);
    if (!p) exit(1);
    memset(p, 0xff, (count * size + 64) / 64 * 64); /* NaN: nothing may be read unwritten */
    return p;
}
static float *floats(size_t n) {
    return get(n, sizeof(float));
}
static double *doubles(size_t n) {
    return get(n, sizeof(double));
}

/* One micro-batch's buffers. */
static ar_depth depth_new(size_t L, size_t S, size_t T, size_t d) {
    float *const query = floats((L + 1) * d);
    ar_query_fill(query, L, d, SEED);
    ar_depth m = {.tokens = T, .width = d, .layers = L, .block = S, .query = query};
    m.source = get(L + 2, sizeof *m.source);
    for (size_t i = 0; i <= L; i++)
        m.source[i] = floats(T * d);
    m.h = floats(T * d);
    m.v = floats(T * d);
    m.o = floats(S * T * d);
    m.max = floats(S * T);
    m.sum = floats(S * T);
    return m;
}
static void depth_free(ar_depth *m) {
    for (size_t i = 0; i <= m->layers; i++)
        free(m->source[i]);
    free((void *)(uintptr_t)m->query);
    free(m->source);
    free(m->h);
    free(m->v);
    free(m->o);
    free(m->max);
    free(m->sum);
}

/* Layers: the real ones, and a cheap one for the many cuts. */
typedef struct {
    float *weights[MAX_LAYERS + 1], *scratch;
    size_t T, d;
} model;

static const float *weights_of(void *user, size_t l) {
    return ((const model *)user)->weights[l];
}
static void real_layer(void *user, size_t l, const float *h, float *v) {
    const model *const m = user;
    ar_layer_forward(m->weights[l], m->T, m->d, l, h, v, m->scratch);
}
static void toy_layer(void *user, size_t l, const float *h, float *v) {
    const ar_depth *const m = user;
    const size_t n = m->tokens * m->width;
    for (size_t i = 0; i < n; i++)
        v[i] = h[(i + l) % n] / (1.0f + h[i] * h[i]) + 0.1f * (float)l;
}

/* Bit c of cuts set: a chunk ends after layer c + 1. */
static const float *run(const ar_mechanism *k, ar_depth *m, unsigned cuts, ar_layer_fn *f,
                        void *user) {
    ar_embedding_fill(m->source[0], m->tokens, m->width, 3, SEED);
    for (size_t first = 1, l = 1; l <= m->layers; l++)
        if (l == m->layers || cuts >> (l - 1) & 1u) {
            ar_chunk_forward(k, m, first, l, f, user);
            first = l + 1;
        }
    return k->head(m);
}

/* Largest difference, relative to the largest element; infinite when either is not finite. */
static double difference(size_t n, const float *x, const double *ref) {
    double worst = 0.0, scale = DBL_MIN;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(ref[i])) return INFINITY;
        worst = fmax(worst, fabs((double)x[i] - ref[i]));
        scale = fmax(scale, fabs(ref[i]));
    }
    return worst / scale;
}

static const size_t all_tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 33};
static const size_t all_widths[] = {1, 3, 8, 17, 64, 100};

/* Every L and S, and between them every pair of tokens and width twice over. */
static void test_reference(tap *tap_now) {
    double worst[KERNELS] = {0};
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
                for (size_t k = 0; k < KERNELS; k++) {
                    ar_depth m = depth_new(L, S, T, d);
                    ar_reference_model(kernels[k].id, L, S, T, d, m.query, x0, weights_of, &net,
                                       out, scratch);
                    const float *const y = run(ar_mechanism_find(kernels[k].id, kernels[k].form),
                                               &m, (unsigned)points, real_layer, &net);
                    worst[k] = fmax(worst[k], difference(T * d, y, out));
                    depth_free(&m);
                }
                for (size_t l = 1; l <= L; l++)
                    free(net.weights[l]);
                free(net.scratch);
                free(x0);
                free(out);
                free(scratch);
            }
    for (size_t k = 0; k < KERNELS; k++)
        OK(worst[k] < 128 * FLT_EPSILON, "%s %s against the reference, %zu models: worst %.1e",
           ar_mechanism_names[kernels[k].id], ar_form_names[kernels[k].form], points, worst[k]);
}

static void test_cuts(tap *tap_now) {
    double forms = 0.0;
    size_t point = 0;
    float *kept = floats(33 * 100);
    double *wide = doubles(33 * 100);
    for (size_t k = 0; k < KERNELS; k++) {
        const ar_mechanism *const kernel = ar_mechanism_find(kernels[k].id, kernels[k].form);
        size_t runs = 0, wrong = 0;
        for (size_t L = 1; L <= MAX_LAYERS; L++)
            for (size_t S = 1; S <= L + 1; S++, point++) {
                const size_t T = all_tokens[point % 7 * 3 % 10], d = all_widths[point % 6];
                ar_depth m = depth_new(L, S, T, d);
                memcpy(kept, run(kernel, &m, 0, toy_layer, &m), T * d * sizeof *kept);
                for (unsigned cuts = 1; cuts < 1u << (L - 1); cuts++, runs++)
                    wrong += memcmp(run(kernel, &m, cuts, toy_layer, &m), kept,
                                    T * d * sizeof *kept) != 0;
                for (size_t i = 0; i < T * d; i++)
                    wide[i] = (double)kept[i];
                if (kernels[k].form == AR_TWO_PHASE && kernels[k].id != AR_STANDARD)
                    forms =
                        fmax(forms, difference(T * d,
                                               run(ar_mechanism_find(kernels[k].id, AR_ONE_PASS),
                                                   &m, 0, toy_layer, &m),
                                               wide));
                depth_free(&m);
            }
        OK(wrong == 0, "%s %s: %zu cuts, %zu with other bits", kernel->name,
           ar_form_names[kernel->form], runs, wrong);
    }
    OK(forms < 64 * FLT_EPSILON, "two phases and one pass agree: worst %.1e", forms);
    free(kept);
    free(wide);
}

/* n sources, some queries: error against double, in units of eps (1 + largest logit)
 * times the largest element; and the same bits query by query and token by token. */
static double attend(size_t n, size_t queries, size_t T, size_t d, double scale, double *wrong) {
    float *x[40], *const w = floats(queries * d), *const o = floats(queries * T * d);
    float *const max = floats(queries * T), *const sum = floats(queries * T), *h = floats(T * d);
    double *xd[40], *const wd = doubles(d), *const out = doubles(T * d), worst = 0.0;
    ar_query_fill(w, queries - 1, d, n);
    for (size_t i = 0; i < queries * d; i++)
        w[i] *= (float)scale;
    for (size_t i = 0; i < n; i++) {
        x[i] = floats(T * d);
        xd[i] = doubles(T * d);
        ar_embedding_fill(x[i], T, d, i, SEED);
        for (size_t k = 0; k < T * d; k++)
            xd[i][k] = (double)x[i][k];
    }
    ar_attention a = {T, d, x, n, n, w, queries, o, max, sum};
    ar_softmax_attend(&a);
    for (size_t q = 0; q < queries; q++) {
        double norm = 0.0;
        for (size_t j = 0; j < d; j++) {
            wd[j] = (double)w[q * d + j];
            norm += wd[j] * wd[j];
        }
        ar_reference_attend(T, d, (const double *const *)xd, n, wd, out);
        worst = fmax(worst, difference(T * d, o + q * T * d, out) / (1.0 + sqrt(norm * (double)d)) /
                                (double)FLT_EPSILON);
        ar_attention one = a;
        one.query = w + q * d;
        one.queries = 1;
        one.o = h;
        for (size_t t = 0; t < T; t++)
            ar_softmax_attend_token(&one, t);
        *wrong += memcmp(h, o + q * T * d, T * d * sizeof *h) != 0;
    }
    for (size_t i = 0; i < n; i++) {
        free(x[i]);
        free(xd[i]);
    }
    free(w), free(o), free(max), free(sum), free(h), free(wd), free(out);
    return worst;
}

static void test_attend(tap *tap_now) {
    double worst = 0.0, wrong = 0.0;
    for (size_t n = 1; n <= 40; n++)
        for (size_t queries = 1; queries <= 9; queries += 2)
            worst = fmax(worst, attend(n, queries, all_tokens[n % 10], all_widths[n % 6],
                                       n % 3 ? 1.0 : 100.0, &wrong));
    OK(worst < 8.0, "attention against the reference: %.2f eps (1 + |w| sqrt(d))", worst);
    OK(wrong == 0.0, "a query's bits do not depend on its neighbours");
}

/* out[5] = attention over three sources of one value each, the query all w. */
static float three(float a, float b, float c, float w) {
    float x[3][5], query[5], out[5], max, sum;
    float *source[] = {x[0], x[1], x[2]};
    for (size_t j = 0; j < 5; j++) {
        x[0][j] = a;
        x[1][j] = b;
        x[2][j] = c;
        query[j] = w;
    }
    ar_softmax_attend(&(ar_attention){1, 5, source, 3, 3, query, 1, out, &max, &sum});
    for (size_t j = 1; j < 5; j++)
        if (out[j] < out[0] || out[j] > out[0]) return NAN;
    return out[0];
}

static bool near(float x, double expected) {
    return fabs((double)x - expected) <=
           4 * ((double)FLT_EPSILON * fabs(expected) + (double)FLT_TRUE_MIN);
}

static void test_values(tap *tap_now) {
    OK(near(three(1, 2, 3, 0), 2.0), "zero query: the mean, not the sum");
    OK(near(three(0, 0, 0, 1), 0.0), "all-zero sources: 0, not NaN");
    OK(near(three(6e4f, -6e4f, -6e4f, 100), 6e4), "6e4 under a query of 100");
    OK(near(three(6e4f, -6e4f, 0, -100), -6e4), "and of -100");
    OK(near(three(1e-40f, 1e-40f, 1e-40f, 1), (double)1e-40f), "denormal sources");
    OK(near(three(1e18f, 1e18f, 1e18f, 1), 1e18), "1e18");
    OK(isnan(three(1e20f, 1, 1, 1)), "a square beyond fp32 gives NaN, not a wrong weight");
    for (int query = -1; query <= 1; query++) {
        const float w = (float)query;
        OK(isnan(three(1, NAN, 2, w)) && isnan(three(NAN, 1, 2, w)), "NaN shows, query %d", query);
        OK(isnan(three(INFINITY, 1, 2, w)) && isnan(three(1, 2, -INFINITY, w)),
           "infinity shows, query %d", query);
    }
}

/* A NaN or infinity in the embedding, or in a layer's output, reaches the output of its
 * token and of no other. */
static void poison(void *user, size_t l, const float *h, float *v) {
    const ar_depth *const m = user;
    for (size_t i = 0; i < m->tokens * m->width; i++)
        v[i] = 0.5f * h[i];
    if (l == 3) v[m->width] = INFINITY;
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

static void test_merge(tap *tap_now) {
    const ar_part empty = {-INFINITY, 0};
    const float x[] = {1, 2, 3}, junk[] = {NAN, INFINITY, NAN}, zero[] = {0, 0, 0};
    const ar_part p = {4, 2};
    float out[3];
    ar_part r = ar_softmax_merge(3, x, p, junk, empty, out);
    OK(r.max == 4 && r.sum == 2 && !memcmp(out, x, sizeof x), "an empty second part");
    r = ar_softmax_merge(3, junk, empty, x, p, out);
    OK(r.max == 4 && r.sum == 2 && !memcmp(out, x, sizeof x), "an empty first part");
    r = ar_softmax_merge(3, junk, empty, junk, empty, out);
    OK(r.max == -INFINITY && r.sum == 0 && !memcmp(out, zero, sizeof zero), "two empty parts");
    float source[3] = {1, 1, 1}, query[3] = {0, 0, 0}, max, sum;
    float *const list[] = {source};
    ar_softmax_attend(&(ar_attention){1, 3, list, 0, 0, query, 1, out, &max, &sum});
    OK(max == -INFINITY && sum == 0 && out[0] == 0, "no sources: an empty part");
    r = ar_softmax_merge(3, x, (ar_part){-1e4f, 1}, zero, (ar_part){1e4f, 1}, out);
    OK(r.max == 1e4f && r.sum == 1 && out[0] == 0, "far apart: no overflow");
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
            worst = fmax(worst, difference(n, v, vd));
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

static void test_table(tap *tap_now) {
    OK(ar_mechanism_find(AR_STANDARD, AR_ONE_PASS) == ar_mechanism_find(AR_STANDARD, AR_TWO_PHASE),
       "standard has one form");
    OK(!ar_mechanism_find(AR_HIGHWAY, AR_TWO_PHASE) && !ar_mechanism_find(AR_MHC, AR_ONE_PASS) &&
           !ar_mechanism_find(AR_DENSEFORMER, AR_ONE_PASS),
       "no kernels yet for highway, denseformer, mhc");
    OK(!strcmp(ar_mechanism_names[AR_BLOCK], "block") && !ar_mechanism_names[AR_BLOCK + 1] &&
           !strcmp(ar_form_names[AR_ONE_PASS], "one-pass") && !ar_form_names[AR_ONE_PASS + 1],
       "names");
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
    test_merge(tap_now);
    test_values(tap_now);
    test_attend(tap_now);
    test_layer(tap_now);
    test_reference(tap_now);
    test_cuts(tap_now);
    test_poison(tap_now);
    return DONE();
}
