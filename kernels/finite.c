#include "mechanism.h"

#include <math.h>
#include <stdint.h>

static float value(ar_dtype dtype, const void *x, size_t i) {
    if (dtype == AR_FP32) return ((const float *)x)[i];
    const union {
        uint32_t bits;
        float number;
    } wide = {(uint32_t)((const uint16_t *)x)[i] << 16};
    return wide.number;
}

size_t ar_depth_offender(const ar_depth *m, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < m->tokens; t++) {
            float squares = 0.0f;
            for (size_t j = 0; j < m->width; j++) {
                const float x = value(m->dtype, m->source[i], t * m->width + j);
                squares += x * x;
            }
            if (!isfinite(squares)) return i;
        }
    return n;
}
