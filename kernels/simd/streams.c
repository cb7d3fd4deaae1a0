/* (m)HC, fused: a token's m streams are loaded, mixed, stored and read out in one pass. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

enum { MOST = AR_MAX_STREAMS, SINKHORN = 20 };

/* tanh(z) = 2 sigmoid(2 z) - 1 */
static void squash(size_t n, float *z, bool sigma) {
    for (size_t i = 0; i < n; i += VL) {
        const size_t part = n - i < VL ? n - i : VL;
        const vec x = vec_get(z + i, part);
        vec_put(z + i, sigma ? sigmoid(x) : 2.0f * sigmoid(x + x) - 1.0f, part);
    }
}

/* Rows, then columns, made to sum to one, 20 times. */
static void sinkhorn(size_t m, float *a) {
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
static void project(size_t m, size_t d, const float *const *x, const float *norm, const float *w,
                    size_t count, float *z) {
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

/* Copies the streams to room as floats; norm[j] = 1 / rms. */
static void look(const ar_streams *a, size_t t, float *room, const float **x, float *norm) {
    const element *from[MOST];
    for (size_t j = 0; j < a->streams; j++) {
        from[j] = (const element *)a->stream[j] + t * a->width;
        x[j] = room + j * ar_row_stride(a->width);
    }
    pack(a->streams, a->width, from, room, norm);
    for (size_t j = 0; j < a->streams; j++)
        norm[j] = ar_row_rms_inverse(a->width, norm[j]);
}

/* write[k], mix[j][k] of the layer whose output v is. */
static void coefficients(const ar_streams *a, const float *const *x, const float *norm,
                         float *write, float *mix) {
    const size_t m = a->streams;
    float all[(MOST + 1) * MOST], *const z = all + m;
    project(m, a->width, x, norm, a->past + a->width, m + 1, all);
    memcpy(write, all, m * sizeof *write);
    for (size_t j = 0; j < m; j++)
        write[j] += a->manifold ? a->past_bias[m + j] : 0.0f;
    squash(m, write, a->manifold);
    for (size_t j = 0; j < m; j++)
        write[j] = a->manifold ? 2.0f * write[j] : write[j] + a->past_bias[m + j];
    if (!a->manifold) squash(m * m, z, false);
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++)
            mix[j * m + k] = z[k * m + j] + a->past_bias[2 * m + j * m + k];
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

INLINE void update_step(size_t j, size_t n, size_t m, size_t d, const float *room, const element *v,
                        element *const *out, const float *write, const float *mix) {
    const vec b = vec_load(v + j, n);
    const size_t stride = ar_row_stride(d);
    fetch(v + d + j);
    for (size_t k = 0; k < m; k++) {
        vec s = b * write[k];
        for (size_t i = 0; i < m; i++)
            s = vec_fma(vec_get(room + i * stride + j, n), vec_all(mix[i * m + k]), s);
        vec_store(out[k] + j, s, n);
        fetch(out[k] + d + j);
    }
}

INLINE void read_step(size_t j, size_t n, size_t m, const float *const *x, const float *read,
                      element *h, bool stream) {
    vec s = {0};
    for (size_t i = 0; i < m; i++)
        s = vec_fma(vec_get(x[i] + j, n), vec_all(read[i]), s);
    vec_write(h + j, s, n, stream);
}

void AR_SIMD(streams)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_streams *const a = args;
    const size_t d = a->width, m = a->streams;
    const bool stream = a->past_caches && a->h && vec_aligned(a->h, d);
    float norm[MOST], write[MOST], mix[MOST * MOST], read[MOST];
    const float *x[MOST];
    element *out[MOST];
    for (size_t t = first; t < last; t++) {
        look(a, t, scratch, x, norm);
        if (a->v) {
            coefficients(a, x, norm, write, mix);
            for (size_t j = 0; j < m; j++)
                out[j] = (element *)a->stream[j] + t * d;
            if (m == 4)
                STRIPS(d, update_step, 4, d, scratch, (const element *)a->v + t * d, out, write,
                       mix);
            else
                STRIPS(d, update_step, m, d, scratch, (const element *)a->v + t * d, out, write,
                       mix);
            if (a->h) look(a, t, scratch, x, norm);
        }
        if (!a->h) continue;
        for (size_t j = 0; j < m; j++)
            read[j] = 1.0f;
        if (a->next) {
            project(m, d, x, norm, a->next, 1, read);
            for (size_t j = 0; j < m; j++)
                read[j] += a->manifold ? a->next_bias[j] : 0.0f;
            squash(m, read, a->manifold);
            for (size_t j = 0; j < m; j++)
                read[j] += a->manifold ? 0.0f : a->next_bias[j];
        }
        STRIPS(d, read_step, m, x, read, (element *)a->h + t * d, stream);
    }
    if (a->past_caches) vec_fence();
}
