#ifndef AR_TEST_WALK_H
#define AR_TEST_WALK_H

/* A walk through the depth with given layer outputs and gradients, as numbers in double that
 * the storage type holds exactly; for the tests of the backward. */

#include "depth.h"
#include "reference_back.h"

typedef struct {
    const char *name;
    ar_mechanism_id id;
    ar_form form;
    ar_variant variant;
} subject;

static const subject subjects[] = {
    {"standard", AR_STANDARD, AR_TWO_PHASE, {0}},
    {"highway", AR_HIGHWAY, AR_TWO_PHASE, {0}},
    {"highway, scalar gate", AR_HIGHWAY, AR_TWO_PHASE, {.scalar_gate = true}},
    {"denseformer", AR_DENSEFORMER, AR_TWO_PHASE, {0}},
    {"mhc", AR_MHC, AR_FUSED, {0}},
    {"hc", AR_MHC, AR_FUSED, {.unconstrained = true}},
    {"full two-phase", AR_FULL, AR_TWO_PHASE, {0}},
    {"full one-pass", AR_FULL, AR_ONE_PASS, {0}},
    {"block two-phase", AR_BLOCK, AR_TWO_PHASE, {0}},
    {"block one-pass", AR_BLOCK, AR_ONE_PASS, {0}},
    {"block auto", AR_BLOCK, AR_AUTO, {0}},
    {"full two-phase, sigmoid", AR_FULL, AR_TWO_PHASE, {.sigmoid = true}},
    {"full one-pass, raw keys", AR_FULL, AR_ONE_PASS, {.raw_keys = true}},
    {"full one-pass, window", AR_FULL, AR_ONE_PASS, {.window = 2}},
    {"full one-pass, own query", AR_FULL, AR_ONE_PASS, {.own_query = true}},
    {"full, window and own query", AR_FULL, AR_ONE_PASS, {.window = 1, .own_query = true}},
    {"block two-phase, sigmoid", AR_BLOCK, AR_TWO_PHASE, {.sigmoid = true}},
    {"block two-phase, raw keys", AR_BLOCK, AR_TWO_PHASE, {.raw_keys = true}},
    {"block one-pass, sigmoid", AR_BLOCK, AR_ONE_PASS, {.sigmoid = true}},
    {"block one-pass, own query", AR_BLOCK, AR_ONE_PASS, {.own_query = true}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* Kinds of gradients. */
enum { X, V, GATE, QUERY, MIX, BIAS, KINDS };

typedef struct {
    ar_reference_walk w;
    double *x, *v, *gate, *c; /* c [L+1][T][d]: the loss is c . h */
    double *grad[KINDS], *scratch;
    size_t count[KINDS];
} walk;

static inline void walk_fill(ar_dtype dtype, double *x, size_t rows, size_t d, int which) {
    float *const from = floats(rows * d);
    ar_embedding_fill(from, rows, d, (size_t)which, SEED);
    for (size_t i = 0; i < rows * d; i++)
        x[i] = dtype == AR_BF16 ? (double)ar_bf16_widen(ar_bf16_narrow(from[i])) : (double)from[i];
    free(from);
}

/* With the parameters of m. */
static inline walk walk_new(const subject *s, const ar_depth *m, ar_dtype dtype) {
    const size_t L = m->layers, T = m->tokens, d = m->width, k = m->streams;
    const bool hc = s->id == AR_MHC, dense = s->id == AR_DENSEFORMER;
    walk a = {.w = {.id = s->id,
                    .layers = L,
                    .block = m->block,
                    .tokens = T,
                    .width = d,
                    .streams = k,
                    .variant = s->variant,
                    .query = m->query,
                    .mix = m->mix,
                    .bias = m->bias},
              .count = {T * d, L * T * d, L * T * d, (L + 1) * d,
                        hc      ? L * (k + 2) * d
                        : dense ? (L + 1) * (L + 1)
                                : 0,
                        hc ? L * (k + 2) * k : 0}};
    a.w.x = a.x = doubles(T * d);
    a.w.v = a.v = doubles(L * T * d);
    a.w.gate = a.gate = doubles(L * T * d);
    a.c = doubles((L + 1) * T * d);
    walk_fill(dtype, a.x, T, d, 0);
    walk_fill(dtype, a.v, L * T, d, 1);
    walk_fill(dtype, a.gate, L * T, d, 2);
    walk_fill(dtype, a.c, (L + 1) * T, d, 3);
    a.scratch = doubles(ar_reference_walk_scratch(&a.w));
    for (size_t i = 0; i < KINDS; i++) {
        a.grad[i] = doubles(a.count[i] + 1);
        memset(a.grad[i], 0, a.count[i] * sizeof *a.grad[i]);
    }
    ar_reference_walk_backward(&a.w, a.c,
                               &(ar_reference_grads){a.grad[X], a.grad[V], a.grad[GATE],
                                                     a.grad[QUERY], a.grad[MIX], a.grad[BIAS]},
                               a.scratch);
    return a;
}

static inline void walk_free(walk *a) {
    for (size_t i = 0; i < KINDS; i++)
        free(a->grad[i]);
    free(a->x), free(a->v), free(a->gate), free(a->c), free(a->scratch);
}

#endif
