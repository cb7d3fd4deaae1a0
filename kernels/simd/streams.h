#ifndef AR_STREAMS_H
#define AR_STREAMS_H

/* (m)HC's coefficients from products of streams and projections: see ../hc.c. Those of several
 * tokens are made together, a token a lane. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

enum { MOST = AR_MAX_STREAMS, SINKHORN = 20, LANES = 16 };

/* z[c][j]: of stream j, c = 0 its read-out, 1 its write, 2 + k its part in stream k. */
typedef struct {
    float z[MOST + 2][MOST][LANES];
} stream_numbers;

/* A layer's biases b: read [m], write [m], mix [m][m]. */
typedef struct {
    size_t m, d;
    const float *b;
    bool manifold;
} stream_layer;

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

/* Each turn's scales of rows and columns: a[j][k] row_j column_k is the mixture after it. */
typedef struct {
    vec row[SINKHORN][MOST], column[SINKHORN + 1][MOST];
} stream_turns;

/* Rows, then columns, made to sum to one, 20 times; a lane each. */
static inline void sinkhorn(size_t m, vec (*a)[MOST], stream_turns *turns) {
    for (size_t k = 0; k < m; k++)
        turns->column[0][k] = vec_all(1.0f);
    for (int turn = 0; turn < SINKHORN; turn++) {
        const vec *const column = turns->column[turn];
        vec *const row = turns->row[turn];
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
            turns->column[turn + 1][k] = 1.0f / s;
        }
    }
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++)
            a[j][k] = a[j][k] * turns->row[SINKHORN - 1][j] * turns->column[SINKHORN][k];
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
        stream_turns turns;
        if (a->manifold) sinkhorn(m, x, &turns);
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++)
                vec_put(&s->z[2 + k][j][lane], x[j][k], VL);
    }
}

#endif
