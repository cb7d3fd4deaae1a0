#include "mixing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"

/* ---- one input with a key part and a unit part ---- */

typedef struct {
    size_t key, width, layers; /* width = key + L + 1 */
    float *x, *v, *query;      /* [d], [L][d], [L+1][d]; x begins the memory */
} probe;

static ar_status probe_open(size_t L, probe *p, ar_err *err) {
    const size_t key = L + 16, d = key + L + 1;
    float *memory = calloc((2 * L + 2) * d, sizeof *memory);
    if (!memory) return ar_fail(err, AR_ERUN, "mixing: no memory for %zu layers", L);
    *p = (probe){key, d, L, memory, memory + d, memory + (L + 1) * d};
    for (size_t i = 0; i <= L; i++) { /* x is v_0, v_1 follows */
        ar_fill_normal(memory + i * d, key, 1.0, 1000 + i);
        memory[i * d + key + i] = 1.0f;
    }
    for (size_t l = 0; l <= L; l++) /* logits of standard deviation 2 */
        ar_fill_normal(p->query + l * d, key, 2.0 / sqrt((double)d), 100000 + l);
    return AR_OK;
}

static ar_case case_of(const ar_case *c, const probe *p) {
    ar_case one = *c;
    one.tokens = one.threads = 1;
    one.width = p->width;
    return one;
}

ar_status ar_mixing_from_kernels(const ar_case *c, double *m, ar_err *err) {
    const size_t L = c->layers;
    probe p;
    const char *why;
    if (!ar_subject_exists(c, &why)) return ar_fail(err, AR_ERUN, "%s", why);
    ar_status status = probe_open(L, &p, err);
    if (status != AR_OK) return status;
    const ar_case one = case_of(c, &p);
    float *const h = malloc((L + 1) * p.width * sizeof *h);
    status = h ? ar_subject_inputs(&one, p.x, p.v, p.query, h, err)
               : ar_fail(err, AR_ERUN, "mixing: no memory for %zu layers", L);
    for (size_t l = 0; status == AR_OK && l < L; l++)
        for (size_t i = 0; i < L; i++)
            m[l * L + i] = (double)h[l * p.width + p.key + i];
    free(h);
    free(p.x);
    return status;
}

static ar_status from_reference(const ar_case *c, double *m, ar_err *err) {
    const size_t L = c->layers;
    probe p;
    ar_status status = probe_open(L, &p, err);
    if (status != AR_OK) return status;
    const ar_case one = case_of(c, &p);
    double *const h = malloc((L + 1) * p.width * sizeof *h);
    if (!h)
        status = ar_fail(err, AR_ERUN, "mixing: no memory for %zu layers", L);
    else if (!ar_subject_reference(&one, p.x, p.v, p.query, h))
        status = ar_fail(err, AR_ERUN, "mixing: no definition of this mechanism");
    for (size_t l = 0; status == AR_OK && l < L; l++)
        for (size_t i = 0; i < L; i++)
            m[l * L + i] = h[l * p.width + p.key + i];
    free(h);
    free(p.x);
    return status;
}

/* ---- (m)HC in double, with mixes that keep the streams apart ---- */

static double uniform(uint64_t seed) {
    float x;
    ar_fill_normal(&x, 1, 1.0, seed);
    return 0.5 + (double)x / 8.0; /* |x| is at most 2 sqrt(3): in (0.06, 0.94) */
}

/* A doubly stochastic n x n matrix: positive, then rows and columns normalised in turn. */
static void sinkhorn(size_t n, double *a, uint64_t seed) {
    for (size_t i = 0; i < n * n; i++)
        a[i] = exp(20.0 * uniform(seed + i)); /* near a permutation: streams stay apart */
    for (int round = 0; round < 50; round++)
        for (size_t side = 0; side < 2; side++)
            for (size_t i = 0; i < n; i++) {
                double sum = 0;
                for (size_t j = 0; j < n; j++)
                    sum += side ? a[j * n + i] : a[i * n + j];
                for (size_t j = 0; j < n; j++)
                    *(side ? &a[j * n + i] : &a[i * n + j]) /= sum;
            }
}

/* H_1 = v_0 in every stream; H_l = H_{l-1} A_l + v_{l-1} beta_l^T; h_l = H_l alpha_l.
 * state [n][L]: column i holds what of v_i is in each stream. */
static void hyper_connections(size_t L, size_t n, double *m, double *state, double *next,
                              double *a) {
    memset(state, 0, n * L * sizeof *state);
    for (size_t s = 0; s < n; s++)
        state[s * L] = 1.0;
    for (size_t l = 0; l < L; l++) {
        if (l > 0) {
            sinkhorn(n, a, 1000 * l);
            for (size_t s = 0; s < n; s++) {
                for (size_t i = 0; i < L; i++) {
                    double sum = i == l ? uniform(500000 + l * n + s) : 0.0;
                    for (size_t r = 0; r < n; r++)
                        sum += state[r * L + i] * a[r * n + s];
                    next[s * L + i] = sum;
                }
            }
            memcpy(state, next, n * L * sizeof *state);
        }
        for (size_t i = 0; i < L; i++) {
            m[l * L + i] = 0;
            for (size_t s = 0; s < n; s++)
                m[l * L + i] += uniform(900000 + l * n + s) * state[s * L + i];
        }
    }
}

ar_status ar_mixing_from_definition(const ar_case *c, double *m, ar_err *err) {
    const size_t L = c->layers, n = c->streams;
    memset(m, 0, L * L * sizeof *m);
    if (c->mechanism != AR_MHC) return from_reference(c, m, err);
    double *const room = malloc((2 * n * L + n * n) * sizeof *room);
    if (!room) return ar_fail(err, AR_ERUN, "mixing: no memory for %zu layers", L);
    hyper_connections(L, n, m, room, room + n * L, room + 2 * n * L);
    free(room);
    return AR_OK;
}
