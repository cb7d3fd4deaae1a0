/* Highway, DenseFormer, (m)HC and the ablations of attention, from their definitions. */

#include "reference.h"
#include "row.h"

static double dot(size_t d, const double *x, const double *y) {
    double sum = 0.0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * y[j];
    return sum;
}

static double rms(size_t d, const double *x) {
    return sqrt(dot(d, x, x) / (double)d + AR_RMS_EPS);
}

static double sigmoid(double z) {
    return 1.0 / (1.0 + exp(-z));
}

void ar_reference_variant(size_t tokens, size_t width, const double *const *x, size_t n,
                          const double *w, ar_variant variant, double *out) {
    for (size_t t = 0; t < tokens; t++) {
        const double *const query = variant.own_query ? w + t * width : w;
        double sum = 0.0, *const o = out + t * width;
        for (size_t j = 0; j < width; j++)
            o[j] = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double *const row = x[i] + t * width;
            if (variant.window && i > 0 && i + variant.window < n) continue;
            const double z = dot(width, row, query) / (variant.raw_keys ? 1.0 : rms(width, row));
            const double p = variant.sigmoid ? sigmoid(z) : exp(z);
            sum += p;
            for (size_t j = 0; j < width; j++)
                o[j] += p * row[j];
        }
        for (size_t j = 0; j < width && !variant.sigmoid; j++)
            o[j] /= sum;
    }
}

void ar_reference_highway(size_t tokens, size_t width, double *h, const double *v,
                          const double *gate, const double *w) {
    for (size_t t = 0; t < tokens; t++) {
        double *const row = h + t * width;
        const double one = w ? sigmoid(dot(width, row, w) / rms(width, row)) : 0.0;
        for (size_t j = 0; j < width; j++) {
            const double g = w ? one : sigmoid(gate[t * width + j]);
            row[j] = (1.0 - g) * row[j] + g * v[t * width + j];
        }
    }
}

void ar_reference_mix(size_t count, const double *const *x, size_t n, const float *a, double *out) {
    for (size_t j = 0; j < count; j++) {
        out[j] = 0.0;
        for (size_t i = 0; i < n; i++)
            out[j] += (double)a[i] * x[i][j];
    }
}

/* z = RMSNorm(x) . p */
static double project(size_t d, const double *x, const float *p) {
    double sum = 0.0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * (double)p[j];
    return sum / rms(d, x);
}

void ar_reference_streams_read(size_t tokens, size_t width, size_t m, double *const *stream,
                               const float *p, const float *b, bool manifold, double *h) {
    for (size_t t = 0; t < tokens; t++)
        for (size_t j = 0; j < width; j++) {
            h[t * width + j] = 0.0;
            for (size_t i = 0; i < m; i++) {
                const double *const x = stream[i] + t * width;
                double read = 1.0;
                if (p) {
                    const double z = project(width, x, p), bias = (double)b[i];
                    read = manifold ? sigmoid(z + bias) : tanh(z) + bias;
                }
                h[t * width + j] += read * x[j];
            }
        }
}

void ar_reference_streams_update(size_t tokens, size_t width, size_t m, double *const *stream,
                                 const double *v, const float *p, const float *b, bool manifold) {
    for (size_t t = 0; t < tokens; t++) {
        double mix[AR_MAX_STREAMS][AR_MAX_STREAMS], write[AR_MAX_STREAMS], row[AR_MAX_STREAMS];
        for (size_t j = 0; j < m; j++) {
            const double *const x = stream[j] + t * width;
            const double z = project(width, x, p + width), bias = (double)b[m + j];
            write[j] = manifold ? 2.0 * sigmoid(z + bias) : tanh(z) + bias;
            for (size_t k = 0; k < m; k++) {
                const double y = project(width, x, p + (2 + k) * width);
                const double c = (double)b[2 * m + j * m + k];
                mix[j][k] = manifold ? exp(y + c) : tanh(y) + c;
            }
        }
        for (int turn = 0; manifold && turn < 20; turn++) {
            for (size_t j = 0; j < m; j++) {
                double sum = 0.0;
                for (size_t k = 0; k < m; k++)
                    sum += mix[j][k];
                for (size_t k = 0; k < m; k++)
                    mix[j][k] /= sum;
            }
            for (size_t k = 0; k < m; k++) {
                double sum = 0.0;
                for (size_t j = 0; j < m; j++)
                    sum += mix[j][k];
                for (size_t j = 0; j < m; j++)
                    mix[j][k] /= sum;
            }
        }
        for (size_t e = t * width; e < (t + 1) * width; e++) {
            for (size_t k = 0; k < m; k++) {
                row[k] = write[k] * v[e];
                for (size_t j = 0; j < m; j++)
                    row[k] += mix[j][k] * stream[j][e];
            }
            for (size_t k = 0; k < m; k++)
                stream[k][e] = row[k];
        }
    }
}
