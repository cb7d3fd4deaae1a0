#ifndef AR_VEC_H
#define AR_VEC_H

/* Vectors of the instruction set that the file is compiled for, and the storage type
 * (AR_STORE_BF16: bfloat16, else fp32) as loads and stores of one vector of floats. Each
 * source that includes this is compiled once for each instruction set and type; names
 * end in AR_SUFFIX (v4_fp32, ...).
 *
 * Part loads and stores take the number of elements: call with the literal VL in the
 * loop over whole vectors and with the rest once after it. Lanes beyond a part are 0. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined __AVX512BW__ && defined __AVX512VL__
#define AR_AVX512 1
#elif defined __AVX2__ && defined __FMA__
#define AR_AVX2 1
#endif

#ifdef AR_AVX512
#include <immintrin.h>
enum { VL = 16 };
#elif defined AR_AVX2
#include <immintrin.h>
enum { VL = 8 };
#else
enum { VL = 4 };
#if defined __SSE2__
#include <emmintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(4 * VL)));
typedef int32_t ivec __attribute__((vector_size(4 * VL)));
typedef float vec_at __attribute__((vector_size(4 * VL), aligned(4), may_alias));

#ifdef AR_STORE_BF16
typedef uint16_t element;
#else
typedef float element;
#endif

#define AR_JOIN3(a, b, c) a##b##_##c
#define AR_JOIN(a, b, c) AR_JOIN3(a, b, c)
#define AR_SIMD(name) AR_JOIN(ar_simd_, name, AR_SUFFIX)

/* a b + c, fused where the instruction set has it: spelt out, so that the same bits
 * come from every loop and compiler. */
INLINE vec vec_fma(vec a, vec b, vec c) {
#ifdef AR_AVX512
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined AR_AVX2
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined __ARM_NEON
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

INLINE vec vec_all(float x) {
#ifdef AR_AVX512
    return (vec)_mm512_set1_ps(x);
#elif defined AR_AVX2
    return (vec)_mm256_set1_ps(x);
#else
    return (vec){x, x, x, x};
#endif
}
/* mask ? a : b, the mask being all ones or zeros in each lane. */
INLINE vec vec_pick(ivec mask, vec a, vec b) {
    return (vec)(((ivec)a & mask) | ((ivec)b & ~mask));
}
/* The larger; b where a is NaN. */
INLINE vec vec_max(vec a, vec b) {
    return vec_pick(a > b, a, b);
}

/* ---- floats ---- */

#ifdef AR_AVX512
INLINE __mmask16 mask_of(size_t n) {
    return (__mmask16)((1u << n) - 1u);
}
#endif

INLINE vec vec_get(const float *p, size_t n) {
    if (n == VL) return *(const vec_at *)p;
#ifdef AR_AVX512
    return (vec)_mm512_maskz_loadu_ps(mask_of(n), p);
#else
    float part[VL] = {0};
    for (size_t k = 0; k < n; k++)
        part[k] = p[k];
    return *(const vec_at *)part;
#endif
}
INLINE void vec_put(float *p, vec x, size_t n) {
    if (n == VL) {
        *(vec_at *)p = x;
        return;
    }
#ifdef AR_AVX512
    _mm512_mask_storeu_ps(p, mask_of(n), (__m512)x);
#else
    float part[VL];
    memcpy(part, &x, sizeof part);
    for (size_t k = 0; k < n; k++)
        p[k] = part[k];
#endif
}

/* ---- storage ---- */

#ifdef AR_STORE_BF16
typedef uint16_t half_at __attribute__((vector_size(2 * VL), aligned(2), may_alias));
typedef uint16_t half __attribute__((vector_size(2 * VL)));
typedef uint32_t uvec __attribute__((vector_size(4 * VL)));

INLINE vec widen(half x) {
#ifdef AR_AVX512
    return (vec)((uvec)_mm512_cvtepu16_epi32((__m256i)x) << 16);
#elif defined AR_AVX2
    return (vec)((uvec)_mm256_cvtepu16_epi32((__m128i)x) << 16);
#else
    return (vec)(__builtin_convertvector(x, uvec) << 16);
#endif
}
/* To nearest, ties to even; a NaN stays one, not the same one. */
INLINE half narrow(vec x) {
#ifdef __AVX512BF16__ /* numbers below the normal ones become 0 */
    return (half)_mm512_cvtneps_pbh((__m512)x);
#else
    const uvec u = (uvec)x, nearest = (u + (((u >> 16) & 1u) + 0x7fffu)) >> 16;
#ifdef AR_AVX512
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
    return (half)_mm512_cvtepi32_epi16(_mm512_mask_set1_epi32((__m512i)nearest, nan, 0x7fc0));
#else
    const uvec nan = (uvec)(ivec)(x != x), bits = nearest | nan;
#ifdef AR_AVX2
    const __m256i pairs =
        _mm256_packus_epi32((__m256i)bits & _mm256_set1_epi32(0xffff), _mm256_setzero_si256());
    return (half)_mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0x08));
#else
    return __builtin_convertvector(bits, half);
#endif
#endif
#endif
}
INLINE vec vec_load(const element *p, size_t n) {
    if (n == VL) return widen(*(const half_at *)p);
#ifdef AR_AVX512
    return widen((half)_mm256_maskz_loadu_epi16(mask_of(n), p));
#else
    uint16_t part[VL] = {0};
    for (size_t k = 0; k < n; k++)
        part[k] = p[k];
    return widen(*(const half_at *)part);
#endif
}
INLINE void vec_store(element *p, vec x, size_t n) {
    const half rounded = narrow(x);
    if (n == VL) {
        *(half_at *)p = rounded;
        return;
    }
#ifdef AR_AVX512
    _mm256_mask_storeu_epi16(p, mask_of(n), (__m256i)rounded);
#else
    uint16_t part[VL];
    *(half_at *)part = rounded;
    for (size_t k = 0; k < n; k++)
        p[k] = part[k];
#endif
}
/* What a load after a store gives. */
INLINE vec vec_rounded(vec x) {
    return widen(narrow(x));
}
#else
INLINE vec vec_load(const element *p, size_t n) {
    return vec_get(p, n);
}
INLINE void vec_store(element *p, vec x, size_t n) {
    vec_put(p, x, n);
}
INLINE vec vec_rounded(vec x) {
    return x;
}
#endif

/* A whole vector or a part; past the caches where `stream` says so and storage is fp32 (two bf16
 * vectors: vec_write2). p then is aligned. */
INLINE void vec_write(element *p, vec x, size_t n, bool stream) {
#if defined __SSE2__ && !defined AR_STORE_BF16
    if (n == VL && stream) {
#ifdef AR_AVX512
        _mm512_stream_ps(p, (__m512)x);
#elif defined AR_AVX2
        _mm256_stream_ps(p, (__m256)x);
#else
        _mm_stream_ps(p, (__m128)x);
#endif
        return;
    }
#endif
    (void)stream;
    vec_store(p, x, n);
}
#if defined AR_AVX512 && defined AR_STORE_BF16
INLINE __m512i narrow2(vec x, vec y) {
#ifdef __AVX512BF16__
    return (__m512i)_mm512_cvtne2ps_pbh((__m512)y, (__m512)x);
#else
    return _mm512_inserti64x4(_mm512_castsi256_si512((__m256i)narrow(x)), (__m256i)narrow(y), 1);
#endif
}
#endif
/* Two whole vectors behind one another. */
INLINE void vec_write2(element *p, vec x, vec y, bool stream) {
#if defined AR_AVX512 && defined AR_STORE_BF16
    __m512i *const to = (__m512i *)(void *)p;
    if (stream)
        _mm512_stream_si512(to, narrow2(x, y));
    else
        _mm512_storeu_si512(to, narrow2(x, y));
#else
    vec_write(p, x, VL, stream);
    vec_write(p + VL, y, VL, stream);
#endif
}
/* Streamed stores are ordered behind this. */
INLINE void vec_fence(void) {
#if defined __SSE2__
    _mm_sfence();
#endif
}
/* May rows of d elements from p on go past the caches? Only whole lines do it fast. */
INLINE bool vec_aligned(const void *p, size_t d) {
    enum { LINE = 64 };
    return (uintptr_t)p % LINE == 0 && d * sizeof(element) % LINE == 0;
}

/* How far ahead lines are fetched: 2 KiB. */
enum { AHEAD = 2048 / sizeof(element) };

/* Fetch the line of p ahead of use, to the first-level cache; p need not be readable. */
INLINE void fetch(const void *p) {
    __builtin_prefetch(p, 0, 3);
}

/* ---- sums and exponentials ---- */

/* The sums of neighbours: a's, then b's. */
INLINE vec vec_fold(vec a, vec b) {
#ifdef AR_AVX512
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                   30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif defined AR_AVX2
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
    return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

INLINE vec vec_fold4(const vec *x) {
    return vec_fold(vec_fold(x[0], x[1]), vec_fold(x[2], x[3]));
}

/* Lane i = the sum of the lanes of x[i], neighbours first. */
INLINE vec vec_sums(const vec x[VL]) {
    if (VL == 4) return vec_fold4(x);
    const vec low = vec_fold(vec_fold4(x), vec_fold4(x + (VL > 4 ? 4 : 0)));
    if (VL == 8) return low;
    return vec_fold(low, vec_fold(vec_fold4(x + VL / 2), vec_fold4(x + VL / 4 * 3)));
}

INLINE float vec_sum(vec x) {
    const vec all[VL] = {x};
    return vec_sums(all)[0];
}

/* exp(x) for x <= 0, within 2 ulp; 0 below -87, NaN for NaN. Cephes' polynomial. */
INLINE vec vec_exp(vec x) {
    const vec whole = vec_fma(x, vec_all(1.44269504f), vec_all(12582912.0f));
    const vec n = whole - 12582912.0f;
    vec r = vec_fma(n, vec_all(-0.693359375f), x);
    r = vec_fma(n, vec_all(2.12194440e-4f), r);
    vec p = vec_fma(vec_all(1.9875691500e-4f), r, vec_all(1.3981999507e-3f));
    p = vec_fma(p, r, vec_all(8.3334519073e-3f));
    p = vec_fma(p, r, vec_all(4.1665795894e-2f));
    p = vec_fma(p, r, vec_all(1.6666665459e-1f));
    p = vec_fma(p, r, vec_all(5.0000001201e-1f));
    p = vec_fma(p, r * r, r) + 1.0f;
    const vec scale = (vec)(((ivec)whole - (0x4b400000 - 127)) << 23);
    return vec_pick(x < -87.0f, (vec){0}, p * scale);
}

INLINE float exp_of(float x) {
    return vec_exp(vec_all(x))[0];
}

#endif
