#ifndef AR_STREAMS_H
#define AR_STREAMS_H

/* (m)HC's coefficients of one token from its m streams, fused or not: see ../hc.c. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

enum { MOST = AR_MAX_STREAMS, SINKHORN = 20 };

/* tanh(z) = 2 sigmoid(2 z) - 1 */
static inline void squash(size_t n, float *z, bool sigma) {
    for (size_t i = 0; i < n; i += VL) {
        const size_t part = n - i < VL ? n - i : VL;
        const vec x = vec_get(z + i, part);
        vec_put(z + i, sigma ? sigmoid(x) : 2.0f * sigmoid(x + x) - 1.0f, part);
    }
}

/* Rows, then columns, made to sum to one, 20 times. */
static inline void sinkhorn(size_t m, float *a) {
    float row[MOST], column[MOST];
    for (size_t k = 0; k < m; k++)
        column[k] = 1.0f;
    for (int turn = 0; turn < SINKHORN; turn++) {
        float sum[MOST] = {0};
        for (size_t j = 0; j < m; j++) {
            float s = 0.0f;
            for (size_t k = 0; k < m; k++)
                s += a[j * m + k] * column[k];
            row[j] = 1.0f / s;
        }
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++)
                sum[k] += a[j * m + k] * row[j];
        for (size_t k = 0; k < m; k++)
            column[k] = 1.0f / sum[k];
    }
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++)
            a[j * m + k] *= row[j] * column[k];
}

/* z[c][j] = RMSNorm(x_j) . w_(from+c), c < count. */
static inline void project(size_t m, size_t d, const float *const *x, const float *norm,
                           const float *w, size_t count, float *z) {
    float dot[TILE][BATCH];
    for (size_t c = 0; c < count; c += BATCH) {
        const size_t some = count - c < BATCH ? count - c : BATCH;
        for (size_t j = 0; j < m; j += TILE) {
            const size_t k = m - j < TILE ? m - j : TILE;
            const element *none[TILE];
            for (size_t i = 0; i < TILE; i++)
                none[i] = (const element *)(const void *)x[j];
            dots(k, some, d, x + j, w + c * d, d, dot, none);
            for (size_t i = 0; i < k; i++)
                for (size_t q = 0; q < some; q++)
                    z[(c + q) * m + j + i] = dot[i][q] * norm[j + i];
        }
    }
}

/* Copies token t of the streams to room as floats, rows x; norm[j] = 1 / rms. */
static inline void look(size_t m, size_t d, void *const *stream, size_t t, float *room,
                        const float **x, float *norm) {
    const element *from[MOST];
    for (size_t j = 0; j < m; j++) {
        from[j] = (const element *)stream[j] + t * d;
        x[j] = room + j * ar_row_stride(d);
    }
    pack(m, d, from, room, norm);
    for (size_t j = 0; j < m; j++)
        norm[j] = ar_row_rms_inverse(d, norm[j]);
}

/* A layer's projections p [m+2][d] and biases b [m+2][m]. */
typedef struct {
    size_t m, d;
    const float *p, *b;
    bool manifold;
} stream_layer;

/* read[j] of the layer. */
static inline void read_of(const stream_layer *a, const float *const *x, const float *norm,
                           float *read) {
    project(a->m, a->d, x, norm, a->p, 1, read);
    for (size_t j = 0; j < a->m; j++)
        read[j] += a->manifold ? a->b[j] : 0.0f;
    squash(a->m, read, a->manifold);
    for (size_t j = 0; j < a->m; j++)
        read[j] += a->manifold ? 0.0f : a->b[j];
}

/* write[k], mix[j][k] of the layer whose output v is. */
static inline void update_of(const stream_layer *a, const float *const *x, const float *norm,
                             float *write, float *mix) {
    const size_t m = a->m;
    float all[(MOST + 1) * MOST], *const z = all + m;
    project(m, a->d, x, norm, a->p + a->d, m + 1, all);
    for (size_t j = 0; j < m; j++)
        write[j] = all[j] + (a->manifold ? a->b[m + j] : 0.0f);
    squash(m, write, a->manifold);
    for (size_t j = 0; j < m; j++)
        write[j] = a->manifold ? 2.0f * write[j] : write[j] + a->b[m + j];
    if (!a->manifold) squash(m * m, z, false);
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++)
            mix[j * m + k] = z[k * m + j] + a->b[2 * m + j * m + k];
    if (!a->manifold) return;
    for (size_t j = 0; j < m; j++) { /* a row's largest does not change the result */
        float max = mix[j * m];
        for (size_t k = 1; k < m; k++)
            max = mix[j * m + k] > max ? mix[j * m + k] : max;
        for (size_t k = 0; k < m; k++)
            mix[j * m + k] = exp_of(mix[j * m + k] - max);
    }
    sinkhorn(m, mix);
}

#endif
