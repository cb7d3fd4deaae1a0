#ifndef AR_STREAMS_H
#define AR_STREAMS_H

/* (m)HC's coefficients, fused or not: see ../hc.c. Those of several tokens are made
 * together, a token a lane. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

enum { MOST = AR_MAX_STREAMS, SINKHORN = 20, LANES = 16 };

/* z[c][j]: of stream j, c = 0 its read-out, 1 its write, 2 + k its part in stream k. */
typedef struct {
    float z[MOST + 2][MOST][LANES];
} stream_numbers;

/* A layer's projections p [m+2][d] and biases b [m+2][m]. */
typedef struct {
    size_t m, d;
    const float *p, *b;
    bool manifold;
} stream_layer;

/* ---- projections ---- */

/* Streams x projections whose products stay in registers, and the streams' squares. */
enum { LOOK_ROWS = VL == 16 ? 4 : 2, LOOK_QUERIES = 5, LOOK_SUMS = LOOK_ROWS * (LOOK_QUERIES + 1) };

INLINE void look_step(size_t j, size_t n, const element *const *x, const float *const *w,
                      vec *sum) {
    vec v[LOOK_ROWS];
#pragma GCC unroll 4
    for (size_t r = 0; r < LOOK_ROWS; r++) {
        v[r] = vec_load(x[r] + j, n);
        fetch(x[r] + 1024 / sizeof(element) + j);
        sum[r] = vec_fma(v[r], v[r], sum[r]);
    }
#pragma GCC unroll 5
    for (size_t q = 0; q < LOOK_QUERIES; q++) {
        const vec y = vec_get(w[q] + j, n);
#pragma GCC unroll 4
        for (size_t r = 0; r < LOOK_ROWS; r++)
            sum[(q + 1) * LOOK_ROWS + r] = vec_fma(v[r], y, sum[(q + 1) * LOOK_ROWS + r]);
    }
}

/* Products of token t's streams with projections c0..c0+count, normalised, in a lane. The
 * last stream and projection stand in where there are fewer than a tile's. */
static inline void look(const stream_layer *a, void *const *stream, size_t t, size_t c0,
                        size_t count, size_t lane, stream_numbers *out) {
    for (size_t j = 0; j < a->m; j += LOOK_ROWS)
        for (size_t c = 0; c < count; c += LOOK_QUERIES) {
            const element *x[LOOK_ROWS];
            const float *w[LOOK_QUERIES];
            vec sum[(LOOK_SUMS + VL - 1) / VL * VL] = {{0}};
            float sums[(LOOK_SUMS + VL - 1) / VL * VL];
            for (size_t r = 0; r < LOOK_ROWS; r++)
                x[r] = (const element *)stream[j + r < a->m ? j + r : a->m - 1] + t * a->d;
            for (size_t q = 0; q < LOOK_QUERIES; q++)
                w[q] = a->p + (c0 + (c + q < count ? c + q : count - 1)) * a->d;
            STRIPS(a->d, look_step, x, w, sum);
            for (size_t i = 0; i < LOOK_SUMS; i += VL)
                vec_put(sums + i, vec_sums(sum + i), VL);
            for (size_t r = 0; r < LOOK_ROWS && j + r < a->m; r++) {
                const float norm = ar_row_rms_inverse(a->d, sums[r]);
                for (size_t q = 0; q < LOOK_QUERIES && c + q < count; q++)
                    out->z[c0 + c + q][j + r][lane] = sums[(q + 1) * LOOK_ROWS + r] * norm;
            }
        }
}

/* ---- coefficients ---- */

/* tanh(z) = 2 sigmoid(2 z) - 1 */
INLINE vec squash(vec z, bool sigma) {
    return sigma ? sigmoid(z) : 2.0f * sigmoid(z + z) - 1.0f;
}

/* From products to the read-out's coefficients, one token's. */
static inline void read_of(const stream_layer *a, float *read) {
    for (size_t j = 0; j < a->m; j += VL) {
        const size_t part = a->m - j < VL ? a->m - j : VL;
        const vec b = vec_get(a->b + j, part), z = vec_get(read + j, part);
        vec_put(read + j, a->manifold ? squash(z + b, true) : squash(z, false) + b, part);
    }
}

/* Rows, then columns, made to sum to one, 20 times; a lane each. */
static inline void sinkhorn(size_t m, vec (*a)[MOST]) {
    vec row[MOST], column[MOST];
    for (size_t k = 0; k < m; k++)
        column[k] = vec_all(1.0f);
    for (int turn = 0; turn < SINKHORN; turn++) {
        for (size_t j = 0; j < m; j++) {
            vec s = {0};
            for (size_t k = 0; k < m; k++)
                s = vec_fma(a[j][k], column[k], s);
            row[j] = 1.0f / s;
        }
        for (size_t k = 0; k < m; k++) {
            vec s = {0};
            for (size_t j = 0; j < m; j++)
                s = vec_fma(a[j][k], row[j], s);
            column[k] = 1.0f / s;
        }
    }
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++)
            a[j][k] = a[j][k] * row[j] * column[k];
}

/* From products to the coefficients of write and mix, in place, in all lanes. */
static inline void update_of(const stream_layer *a, stream_numbers *s) {
    const size_t m = a->m;
    const float *const write = a->b + m, *const mix = a->b + 2 * m;
    for (size_t lane = 0; lane < LANES; lane += VL) {
        vec x[MOST][MOST];
        for (size_t j = 0; j < m; j++) {
            const vec z = vec_get(&s->z[1][j][lane], VL);
            vec_put(&s->z[1][j][lane],
                    a->manifold ? 2.0f * squash(z + write[j], true) : squash(z, false) + write[j],
                    VL);
            for (size_t k = 0; k < m; k++)
                x[j][k] = vec_get(&s->z[2 + k][j][lane], VL);
        }
        for (size_t j = 0; j < m; j++) { /* a row's largest does not change the result */
            vec max = x[j][0] + mix[j * m];
            for (size_t k = 0; k < m; k++) {
                x[j][k] = (a->manifold ? x[j][k] : squash(x[j][k], false)) + mix[j * m + k];
                max = vec_max(x[j][k], max);
            }
            for (size_t k = 0; a->manifold && k < m; k++)
                x[j][k] = vec_exp(x[j][k] - max);
        }
        if (a->manifold) sinkhorn(m, x);
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++)
                vec_put(&s->z[2 + k][j][lane], x[j][k], VL);
    }
}

#endif
