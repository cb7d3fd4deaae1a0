#include "layer.h"
#include "row.h"

#include <cblas.h> /* blasint */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* OpenBLAS's, by its Fortran name. */
void sgemm_(const char *, const char *, const blasint *, const blasint *, const blasint *,
            const float *, const float *, const blasint *, const float *, const blasint *,
            const float *, float *, const blasint *);

static size_t head_width(size_t d) {
    return d % 64 == 0 ? 64 : d;
}

/* splitmix64: element i of stream (seed, stream), uniform in [-1, 1). */
static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static float uniform(uint64_t stream, uint64_t i) {
    return (float)((int32_t)(mix(stream + i) >> 40) - (1 << 23)) * 0x1p-23f;
}

/* n values of the given standard deviation. */
static void fill(float *x, size_t n, double deviation, unsigned long seed, uint64_t kind,
                 uint64_t index) {
    const uint64_t stream = mix(mix(mix(seed) + kind) + index);
    const float scale = (float)(sqrt(3.0) * deviation);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * uniform(stream, i);
}

enum { EMBEDDING, QUERY, INNER, OUTER };

void ar_embedding_fill(float *x, size_t tokens, size_t width, size_t microbatch,
                       unsigned long seed) {
    fill(x, tokens * width, 1.0, seed, EMBEDDING, microbatch);
}

void ar_query_fill(float *w, size_t layers, size_t width, unsigned long seed) {
    fill(w, (layers + 1) * width, 1.0 / sqrt((double)width), seed, QUERY, 0);
}

/* Attention: [d][3d] to q, k, v, then [d][d]. MLP: [d][4d], then [4d][d]. */
void ar_layer_fill(float *w, size_t width, size_t l, unsigned long seed) {
    const double d = (double)width;
    const size_t inner = (ar_layer_is_attention(l) ? 3 : 4) * width * width;
    const double fan_in = ar_layer_is_attention(l) ? d : 4.0 * d;
    fill(w, inner, 1.0 / sqrt(d), seed, INNER, l);
    fill(w + inner, ar_layer_weights(width, l) - inner, 1.0 / sqrt(fan_in), seed, OUTER, l);
}

/* c [m][n] = alpha a [m][k] b, b being [k][n] (how = "N") or, transposed, [n][k] ("T");
 * the last of each pair is the row length in memory. Fortran's sgemm with the operands
 * swapped, not cblas_sgemm: SimGrid brings GSL's unoptimised CBLAS into the process,
 * and its symbol would win. */
static void multiply(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                     const char *how, const float *b, size_t ldb, float *c, size_t ldc) {
    const blasint rows = (blasint)m, columns = (blasint)n, inner = (blasint)k;
    const blasint row_a = (blasint)lda, row_b = (blasint)ldb, row_c = (blasint)ldc;
    const float beta = 0.0f;
    sgemm_(how, "N", &columns, &rows, &inner, &alpha, b, &row_b, a, &row_a, &beta, c, &row_c);
}

static void normalise(size_t tokens, size_t d, const float *h, float *x) {
    for (size_t t = 0; t < tokens; t++, h += d, x += d) {
        const float scale = ar_row_rms_inverse(d, ar_row_squares(d, h));
        for (size_t j = 0; j < d; j++)
            x[j] = h[j] * scale;
    }
}

/* Softmax of the first n of a row of `length` scores, the rest 0. */
static void causal_softmax(float *s, size_t n, size_t length) {
    float max = s[0], sum = 0.0f;
    for (size_t i = 1; i < n; i++)
        if (s[i] > max) max = s[i];
    for (size_t i = 0; i < n; i++)
        sum += s[i] = expf(s[i] - max);
    for (size_t i = 0; i < n; i++)
        s[i] /= sum;
    memset(s + n, 0, (length - n) * sizeof *s);
}

static void attention(const float *w, size_t tokens, size_t d, const float *h, float *v,
                      float *scratch) {
    const size_t head = head_width(d), row = 3 * d;
    float *const x = scratch, *const qkv = x + tokens * d, *const score = qkv + tokens * row;
    const float scale = 1.0f / sqrtf((float)head);
    normalise(tokens, d, h, x);
    multiply(tokens, row, d, 1.0f, x, d, "N", w, row, qkv, row);
    for (size_t c = 0; c < d; c += head) {
        const float *const q = qkv + c, *const k = q + d, *const values = k + d;
        for (size_t t = 0; t < tokens; t += AR_SCORE_ROWS) {
            const size_t rows = tokens - t < AR_SCORE_ROWS ? tokens - t : AR_SCORE_ROWS;
            const size_t seen = t + rows;
            multiply(rows, seen, head, scale, q + t * row, row, "T", k, row, score, seen);
            for (size_t r = 0; r < rows; r++)
                causal_softmax(score + r * seen, t + r + 1, seen);
            multiply(rows, head, seen, 1.0f, score, seen, "N", values, row, x + t * d + c, d);
        }
    }
    multiply(tokens, d, d, 1.0f, x, d, "N", w + row * d, d, v, d);
}

/* d -> 4d -> d with SiLU, x sigmoid(x). */
static void mlp(const float *w, size_t tokens, size_t d, const float *h, float *v, float *scratch) {
    const size_t wide = 4 * d;
    float *const x = scratch, *const hidden = x + tokens * d;
    normalise(tokens, d, h, x);
    multiply(tokens, wide, d, 1.0f, x, d, "N", w, wide, hidden, wide);
    for (size_t i = 0; i < tokens * wide; i++)
        hidden[i] /= 1.0f + expf(-hidden[i]);
    multiply(tokens, d, wide, 1.0f, hidden, wide, "N", w + d * wide, d, v, d);
}

void ar_layer_forward(const float *w, size_t tokens, size_t width, size_t l, const float *h,
                      float *v, float *scratch) {
    if (ar_layer_is_attention(l))
        attention(w, tokens, width, h, v, scratch);
    else
        mlp(w, tokens, width, h, v, scratch);
}
