#ifndef AR_STREAMS_BACK_H
#define AR_STREAMS_BACK_H

/* (m)HC's coefficients and the way back through what made them, a token a lane (streams.h). */

#include "streams.h"

/* grad: of the mixture of a, then of log a. */
static inline void sinkhorn_back(size_t m, const vec (*a)[MOST], const stream_turns *turns,
                                 vec (*grad)[MOST]) {
    const vec none = {0};
    const vec *const last_row = turns->row[SINKHORN - 1], *const last = turns->column[SINKHORN];
    vec da[MOST][MOST], drow[MOST], dcolumn[MOST];
    for (size_t k = 0; k < m; k++)
        drow[k] = dcolumn[k] = none;
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++) {
            const vec g = grad[j][k], x = g * a[j][k];
            da[j][k] = g * last_row[j] * last[k];
            drow[j] = vec_fma(x, last[k], drow[j]);
            dcolumn[k] = vec_fma(x, last_row[j], dcolumn[k]);
        }
    for (int turn = SINKHORN - 1; turn >= 0; turn--) {
        const vec *const row = turns->row[turn], *const before = turns->column[turn];
        const vec *const column = turns->column[turn + 1];
        for (size_t k = 0; k < m; k++) { /* now of the sum whose inverse column_k is */
            const vec sum = -dcolumn[k] * column[k] * column[k];
            for (size_t j = 0; j < m; j++) {
                da[j][k] = vec_fma(sum, row[j], da[j][k]);
                drow[j] = vec_fma(sum, a[j][k], drow[j]);
            }
            dcolumn[k] = none;
        }
        for (size_t j = 0; j < m; j++) {
            const vec sum = -drow[j] * row[j] * row[j];
            for (size_t k = 0; k < m; k++) {
                da[j][k] = vec_fma(sum, before[k], da[j][k]);
                dcolumn[k] = vec_fma(sum, a[j][k], dcolumn[k]);
            }
            drow[j] = none;
        }
    }
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++)
            grad[j][k] = da[j][k] * a[j][k];
}

/* One coefficient with bias b; the gradient g becomes that of z. Returns that of b. */
static inline float differentiate_one(const stream_layer *a, float b, bool twice, const float *z,
                                      float *value, float *g) {
    const vec x = vec_get(z, VL), gain = vec_get(g, VL);
    const vec s = squash(a->manifold ? x + b : x, a->manifold);
    vec slope = a->manifold ? s * (1.0f - s) : 1.0f - s * s;
    if (twice) slope *= 2.0f;
    vec_put(value, a->manifold ? (twice ? 2.0f * s : s) : s + b, VL);
    vec_put(g, gain * slope, VL);
    return vec_sum(a->manifold ? gain * slope : gain);
}

/* The mixture's, in lanes from `lane` on. */
static inline void differentiate_mix(const stream_layer *a, size_t lane, const stream_numbers *z,
                                     stream_numbers *value, stream_numbers *g, float *db) {
    const size_t m = a->m;
    const float *const b = a->b + 2 * m;
    vec x[MOST][MOST], mixed[MOST][MOST], grad[MOST][MOST];
    for (size_t j = 0; j < m; j++) { /* a row's largest does not change the result */
        vec max = vec_get(&z->z[2][j][lane], VL) + b[j * m];
        for (size_t k = 0; k < m; k++) {
            x[j][k] = vec_get(&z->z[2 + k][j][lane], VL) + b[j * m + k];
            grad[j][k] = vec_get(&g->z[2 + k][j][lane], VL);
            max = vec_max(x[j][k], max);
        }
        for (size_t k = 0; k < m; k++)
            mixed[j][k] = x[j][k] = vec_exp(x[j][k] - max);
    }
    stream_turns turns;
    sinkhorn(m, mixed, &turns);
    sinkhorn_back(m, (const vec(*)[MOST])x, &turns, grad);
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++) {
            vec_put(&value->z[2 + k][j][lane], mixed[j][k], VL);
            vec_put(&g->z[2 + k][j][lane], grad[j][k], VL);
            db[2 * m + j * m + k] += vec_sum(grad[j][k]);
        }
}

/* z: products; value: the coefficients made of them; g: gradients of the coefficients, which become
 * those of the products. Adds to db, the biases' gradients; lanes without a token have g = 0. */
static inline void differentiate(const stream_layer *a, const stream_numbers *z,
                                 stream_numbers *value, stream_numbers *g, float *db) {
    const size_t m = a->m, coefficients = a->manifold ? 2 * m : (m + 2) * m;
    for (size_t lane = 0; lane < LANES; lane += VL) {
        for (size_t i = 0; i < coefficients; i++) { /* by biases: mix by rows */
            const size_t c = i < 2 * m ? i / m : 2 + i % m, j = i < 2 * m ? i % m : i / m - 2;
            db[i] += differentiate_one(a, a->b[i], a->manifold && c == 1, &z->z[c][j][lane],
                                       &value->z[c][j][lane], &g->z[c][j][lane]);
        }
        if (a->manifold) differentiate_mix(a, lane, z, value, g, db);
    }
}

/* From products to a layer's coefficients of write, in all lanes. */
static inline void write_of(const stream_layer *a, float (*z)[LANES]) {
    for (size_t j = 0; j < a->m; j++)
        for (size_t lane = 0; lane < LANES; lane += VL) {
            const vec x = vec_get(&z[j][lane], VL);
            const float b = a->b[a->m + j];
            vec_put(&z[j][lane], a->manifold ? 2.0f * squash(x + b, true) : squash(x, false) + b,
                    VL);
        }
}

#endif
