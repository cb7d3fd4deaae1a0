/* The STREAM-type kernels, fp32 (measure/roof.h): no arithmetic to speak of. */

#include "../pass.h"
#include "vec.h"

#ifndef AR_STORE_BF16
/* kernel and stream are literals at every call. */
INLINE void lines(ar_roof_kernel kernel, bool stream, size_t n, const float *a, const float *b,
                  float *c) {
    const vec three = vec_all(3.0f);
    for (size_t j = 0; j < n; j += VL) {
        vec x = three;
        if (kernel == AR_ROOF_NEGATE) x = -vec_get(c + j, VL);
        if (kernel == AR_ROOF_UPDATE) x = vec_get(c + j, VL) + vec_get(a + j, VL);
        if (kernel == AR_ROOF_COPY) x = vec_get(a + j, VL);
        if (kernel == AR_ROOF_SCALE) x = three * vec_get(a + j, VL);
        if (kernel == AR_ROOF_ADD) x = vec_get(a + j, VL) + vec_get(b + j, VL);
        if (kernel == AR_ROOF_TRIAD) x = vec_fma(three, vec_get(b + j, VL), vec_get(a + j, VL));
        vec_write(c + j, x, VL, stream);
        __asm__ volatile("" ::: "memory"); /* no memcpy or memset in its place */
    }
}

INLINE void fill_8(bool stream, size_t n, float *c) {
    enum { PLACES = 8 };
    const size_t part = n / VL / PLACES * VL;
    const vec three = vec_all(3.0f);
    for (size_t j = 0; j < part; j += VL)
        for (size_t k = 0; k < PLACES; k++)
            vec_write(c + k * part + j, three, VL, stream);
    lines(AR_ROOF_FILL, stream, n - PLACES * part, NULL, NULL, c + PLACES * part);
}

/* c += a + b + other */
INLINE void update_3(size_t n, const float *a, const float *b, const float *other, float *c) {
    for (size_t j = 0; j < n; j += VL)
        vec_put(c + j,
                (vec_get(c + j, VL) + vec_get(a + j, VL)) +
                    (vec_get(b + j, VL) + vec_get(other + j, VL)),
                VL);
}

/* Four chains, `apart` from one another. */
INLINE double sum_of(size_t n, size_t step, size_t apart, const float *a) {
    enum { CHAINS = 4 };
    vec s[CHAINS] = {{0}};
    for (size_t j = 0; j < n; j += step)
#pragma GCC unroll 4
        for (size_t k = 0; k < CHAINS; k++)
            s[k] += vec_get(a + j + k * apart, VL);
    return (double)vec_sum((s[0] + s[1]) + (s[2] + s[3]));
}

static double sum(size_t n, const float *a) {
    const size_t whole = n / (4 * VL) * 4 * VL;
    double rest = 0;
    for (size_t j = whole; j < n; j++)
        rest += (double)a[j];
    return sum_of(whole, 4 * VL, VL, a) + rest;
}

static double sum_4(size_t n, const float *a) {
    const size_t part = n / (4 * VL) * VL;
    return sum_of(part, VL, part, a) + sum(n - 4 * part, a + 4 * part);
}

double AR_SIMD(roof)(ar_roof_kernel kernel, bool stream, size_t n, const float *a, const float *b,
                     float *c) {
#define CASE(kernel)                                                                               \
    case kernel:                                                                                   \
        stream ? lines(kernel, true, n, a, b, c) : lines(kernel, false, n, a, b, c);               \
        break
    switch (kernel) {
        CASE(AR_ROOF_FILL);
        CASE(AR_ROOF_COPY);
        CASE(AR_ROOF_SCALE);
        CASE(AR_ROOF_NEGATE);
        CASE(AR_ROOF_UPDATE);
        CASE(AR_ROOF_ADD);
        CASE(AR_ROOF_TRIAD);
    case AR_ROOF_FILL_8:
        stream ? fill_8(true, n, c) : fill_8(false, n, c);
        break;
    case AR_ROOF_UPDATE_3: {
        const size_t half = n / VL / 2 * VL, rest = n - half;
        update_3(half, a, b, b + rest, c);
        update_3(rest, a + half, b + half, b, c + half);
        break;
    }
    case AR_ROOF_SUM_4:
        return sum_4(n, a);
    case AR_ROOF_SUM:
    case AR_ROOF_KERNELS:
        return sum(n, a);
    }
#undef CASE
    vec_fence();
    return 0;
}
#endif
