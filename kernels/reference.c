#include "reference.h"
#include "row.h"

#include <string.h>

static double rms_inverse(size_t d, const double *x) {
    double squares = 0.0;
    for (size_t j = 0; j < d; j++)
        squares += x[j] * x[j];
    return 1.0 / sqrt(squares / (double)d + AR_RMS_EPS);
}

static double logit(size_t d, const double *x, const double *w) {
    double dot = 0.0;
    for (size_t j = 0; j < d; j++)
        dot += w[j] * x[j];
    return dot * rms_inverse(d, x);
}

void ar_reference_attend(size_t tokens, size_t width, const double *const *x, size_t n,
                         const double *w, double *out) {
    for (size_t t = 0; t < tokens; t++) {
        const size_t row = t * width;
        double max = -INFINITY, sum = 0.0;
        for (size_t i = 0; i < n; i++)
            max = fmax(max, logit(width, x[i] + row, w));
        for (size_t j = 0; j < width; j++)
            out[row + j] = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double p = exp(logit(width, x[i] + row, w) - max);
            sum += p;
            for (size_t j = 0; j < width; j++)
                out[row + j] += p * x[i][row + j];
        }
        for (size_t j = 0; j < width; j++)
            out[row + j] /= sum;
    }
}

/* y [n] = scale x [m] W [m][n]. */
static void multiply(size_t m, size_t n, double scale, const double *x, const float *w, double *y) {
    memset(y, 0, n * sizeof *y);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            y[j] += scale * x[i] * (double)w[i * n + j];
}

size_t ar_reference_layer_scratch(size_t tokens, size_t width) {
    return tokens * (3 * width + 1) + 4 * width;
}

static void attention(const float *weights, size_t tokens, size_t d, const double *h, double *v,
                      double *scratch) {
    const size_t head = d % 64 == 0 ? 64 : d;
    double *const qkv = scratch, *const p = qkv + tokens * 3 * d, *const heads = p + tokens;
    for (size_t t = 0; t < tokens; t++)
        multiply(d, 3 * d, rms_inverse(d, h + t * d), h + t * d, weights, qkv + t * 3 * d);
    for (size_t t = 0; t < tokens; t++) {
        memset(heads, 0, d * sizeof *heads);
        for (size_t c = 0; c < d; c += head) {
            const double *const q = qkv + t * 3 * d + c, *const k = qkv + d + c,
                                *const value = k + d;
            double max = -INFINITY, sum = 0.0;
            for (size_t s = 0; s <= t; s++) {
                p[s] = 0.0;
                for (size_t j = 0; j < head; j++)
                    p[s] += q[j] * k[s * 3 * d + j] / sqrt((double)head);
                max = fmax(max, p[s]);
            }
            for (size_t s = 0; s <= t; s++)
                sum += p[s] = exp(p[s] - max);
            for (size_t s = 0; s <= t; s++)
                for (size_t j = 0; j < head; j++)
                    heads[c + j] += p[s] / sum * value[s * 3 * d + j];
        }
        multiply(d, d, 1.0, heads, weights + 3 * d * d, v + t * d);
    }
}

static void mlp(const float *weights, size_t tokens, size_t d, const double *h, double *v,
                double *scratch) {
    for (size_t t = 0; t < tokens; t++) {
        multiply(d, 4 * d, rms_inverse(d, h + t * d), h + t * d, weights, scratch);
        for (size_t j = 0; j < 4 * d; j++)
            scratch[j] /= 1.0 + exp(-scratch[j]);
        multiply(4 * d, d, 1.0, scratch, weights + 4 * d * d, v + t * d);
    }
}

void ar_reference_layer(const float *weights, size_t tokens, size_t width, size_t l,
                        const double *h, double *v, double *scratch) {
    (l % 2 == 1 ? attention : mlp)(weights, tokens, width, h, v, scratch);
}

size_t ar_reference_scratch(size_t layers, size_t tokens, size_t width) {
    return (layers + 3) * tokens * width + width + ar_reference_layer_scratch(tokens, width);
}

/* Input of layer l, or for l = L + 1 the output, from n sources one after the other. */
static void attend(size_t l, size_t n, size_t tokens, size_t width, const float *query,
                   const double *source, double *w, double *h) {
    const double *x[n];
    for (size_t i = 0; i < n; i++)
        x[i] = source + i * tokens * width;
    for (size_t j = 0; j < width; j++)
        w[j] = (double)query[(l - 1) * width + j];
    ar_reference_attend(tokens, width, x, n, w, h);
}

void ar_reference_model(ar_mechanism_id id, size_t layers, size_t block, size_t tokens,
                        size_t width, const float *query, const float *x0, ar_weights_fn *weights,
                        void *user, double *out, double *scratch) {
    const size_t size = tokens * width, S = id == AR_FULL ? 1 : block;
    double *const source = scratch, *const h = source + (layers + 1) * size, *const v = h + size,
                  *const w = v + size, *const rest = w + width;
    if (id != AR_STANDARD && id != AR_FULL && id != AR_BLOCK) {
        for (size_t i = 0; i < size; i++)
            out[i] = NAN;
        return;
    }
    for (size_t i = 0; i < size; i++)
        source[i] = (double)x0[i];
    for (size_t l = 1; l <= layers + 1; l++) {
        double *const input = l <= layers ? h : out;
        if (id == AR_STANDARD)
            memcpy(input, source, size * sizeof *input);
        else /* the embedding, the finished blocks, and the partial sum if there is one */
            attend(l, 1 + (l - 1) / S + ((l - 1) % S > 0), tokens, width, query, source, w, input);
        if (l > layers) break;
        ar_reference_layer(weights(user, l), tokens, width, l, h, v, rest);
        double *const sum = source + (id == AR_STANDARD ? 0 : (l - 1) / S + 1) * size;
        const bool opens = id != AR_STANDARD && (l - 1) % S == 0;
        for (size_t i = 0; i < size; i++)
            sum[i] = opens ? v[i] : sum[i] + v[i];
    }
}
