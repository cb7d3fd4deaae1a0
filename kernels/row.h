#ifndef AR_ROW_H
#define AR_ROW_H

/* Primitives on one row (one token's vector of d floats), shared by the kernels. */

#include <float.h>
#include <math.h>
#include <stddef.h>

/* RMSNorm(x) = x / sqrt(mean(x^2) + AR_RMS_EPS), in the kernels and the reference alike. */
#define AR_RMS_EPS 1e-6

/* Element k of a row is summed in lane k % AR_LANES, then the lanes pairwise. The
 * order is spelt out, not left to the vectoriser, because a dot product must have
 * the same bits however many are computed together (see mechanism.h, "bits"). */
enum { AR_LANES = 8 };

static inline float ar_lanes_sum(float lane[AR_LANES]) {
    for (size_t half = AR_LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

/* dot[i] = x . y[i] for i < count <= 4, in one pass over x. y[i] may be x. Call with a
 * literal count, so that the lanes stay in registers. */
static inline void ar_row_dots(size_t count, size_t d, const float *x, const float *const *y,
                               float *dot) {
    float lane[4][AR_LANES] = {{0}};
    size_t j = 0;
    for (; j + AR_LANES <= d; j += AR_LANES)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < AR_LANES; k++)
                lane[i][k] += x[j + k] * y[i][j + k];
    for (size_t k = 0; j + k < d; k++)
        for (size_t i = 0; i < count; i++)
            lane[i][k] += x[j + k] * y[i][j + k];
    for (size_t i = 0; i < count; i++)
        dot[i] = ar_lanes_sum(lane[i]);
}

/* 1 / rms of a row from its sum of squares. NaN when that is not finite, so that a
 * NaN, an infinity or a square beyond fp32 (|x| > 1.8e19) shows in the output. */
static inline float ar_row_rms_inverse(size_t d, float squares) {
    return squares <= FLT_MAX ? 1.0f / sqrtf(squares / (float)d + (float)AR_RMS_EPS) : NAN;
}

/* x += y. */
static inline void ar_row_add(size_t d, float *restrict x, const float *restrict y) {
    for (size_t j = 0; j < d; j++)
        x[j] += y[j];
}

#endif
