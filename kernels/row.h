#ifndef AR_ROW_H
#define AR_ROW_H

/* Primitives on one row (one token's vector of d floats), shared by the kernels. */

#include <float.h>
#include <math.h>
#include <stddef.h>

/* RMSNorm(x) = x / sqrt(mean(x^2) + AR_RMS_EPS), in the kernels and the reference alike. */
#define AR_RMS_EPS 1e-6

/* The sum of squares of a row: element k in lane k % 8, then the lanes pairwise, an order
 * that is spelt out and not left to the vectoriser. */
static inline float ar_row_squares(size_t d, const float *x) {
    enum { LANES = 8 };
    float lane[LANES] = {0};
    for (size_t j = 0; j < d; j++)
        lane[j % LANES] += x[j] * x[j];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

/* 1 / rms of a row from its sum of squares. NaN when that is not finite, so that a
 * NaN, an infinity or a square beyond fp32 (|x| > 1.8e19) shows in the output. */
static inline float ar_row_rms_inverse(size_t d, float squares) {
    return squares <= FLT_MAX ? 1.0f / sqrtf(squares / (float)d + (float)AR_RMS_EPS) : NAN;
}

#endif
