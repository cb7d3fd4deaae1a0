#ifndef AR_TEST_DEPTH_H
#define AR_TEST_DEPTH_H

/* Buffers for the tests of the kernels. Every byte starts as NaN: nothing may be read
 * before it is written. */

#include "bf16.h"
#include "layer.h"
#include "mechanism.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 2603 };

static inline void *get(size_t count, size_t size) {
    const size_t bytes = (count * size + 64) / 64 * 64;
    void *const p = aligned_alloc(64, bytes);
    if (!p) exit(1);
    return memset(p, 0xff, bytes);
}
static inline float *floats(size_t n) {
    return get(n, sizeof(float));
}
static inline double *doubles(size_t n) {
    return get(n, sizeof(double));
}

/* Element i of a vector. */
static inline double at(ar_dtype dtype, const void *x, size_t i) {
    return (double)(dtype == AR_BF16 ? ar_bf16_widen(((const uint16_t *)x)[i])
                                     : ((const float *)x)[i]);
}
static inline void set(ar_dtype dtype, void *x, size_t i, double value) {
    if (dtype == AR_BF16)
        ((uint16_t *)x)[i] = ar_bf16_narrow((float)value);
    else
        ((float *)x)[i] = (float)value;
}

/* One micro-batch's buffers. */
static inline ar_depth depth_new(size_t L, size_t S, size_t T, size_t d) {
    float *const query = floats((L + 1) * d);
    ar_query_fill(query, L, d, SEED);
    ar_depth m = {.tokens = T,
                  .width = d,
                  .layers = L,
                  .block = S,
                  .query = query,
                  .threads = 3,
                  .streams = 4};
    m.source = get(L + AR_MAX_STREAMS, sizeof *m.source);
    for (size_t i = 0; i < L + AR_MAX_STREAMS; i++)
        m.source[i] = floats(T * d);
    m.h = floats(T * d);
    m.v = floats(T * d);
    m.o = floats((S < 8 ? 8 : S) * T * d);
    m.numbers = floats(T * (AR_MAX_STREAMS + 2) * AR_MAX_STREAMS);
    m.max = floats((S > L ? S : L + 1) * T);
    m.sum = floats((S > L ? S : L + 1) * T);
    m.gate = floats(T * d);
    const size_t most = AR_MAX_STREAMS;
    const size_t mixes = L * (most + 2) * d + (L + 1) * (L + 1), biases = L * (most + 2) * most;
    float *const mix = floats(mixes), *const bias = floats(biases);
    ar_embedding_fill(mix, 1, mixes, 1, SEED);
    ar_embedding_fill(bias, 1, biases, 2, SEED);
    for (size_t i = 0; i < mixes; i++)
        mix[i] *= 0.3f;
    for (size_t i = 0; i < biases; i++)
        bias[i] *= 0.25f;
    m.mix = mix;
    m.bias = bias;
    m.scratch = floats(ar_depth_scratch(&m));
    m.threads = 1;
    return m;
}
static inline void depth_free(ar_depth *m) {
    for (size_t i = 0; i < m->layers + AR_MAX_STREAMS; i++)
        free(m->source[i]);
    free((void *)(uintptr_t)m->query);
    free((void *)(uintptr_t)m->mix);
    free((void *)(uintptr_t)m->bias);
    free(m->source);
    free(m->h);
    free(m->v);
    free(m->o);
    free(m->numbers);
    free(m->max);
    free(m->sum);
    free(m->gate);
    free(m->scratch);
}

/* Largest difference, relative to the largest element; infinite when either is not finite. */
static inline double difference(ar_dtype dtype, size_t n, const void *x, const double *ref) {
    double worst = 0.0, scale = DBL_MIN;
    for (size_t i = 0; i < n; i++) {
        const double value = at(dtype, x, i);
        if (!isfinite(value) || !isfinite(ref[i])) return INFINITY;
        worst = fmax(worst, fabs(value - ref[i]));
        scale = fmax(scale, fabs(ref[i]));
    }
    return worst / scale;
}

#endif
