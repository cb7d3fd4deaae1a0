/* Compiled with -ffp-contract=fast (Makefile): a product and a sum become one FMA where
 * the target of the function has it. */

#include "peak.h"

#include "clock.h"

typedef float v16 __attribute__((vector_size(64)));

/* `chains` (a literal) times 16 floats: twelve registers in all hide a latency of six
 * cycles behind two units. The result goes into *sink, so that it is needed. */
static inline __attribute__((always_inline)) double loop(int chains, size_t rounds, float *sink) {
    v16 x[12];
    const v16 a = (v16){0} + 0.999999f, b = (v16){0} + 1e-7f;
    for (int k = 0; k < chains; k++)
        x[k] = (v16){0} + (float)k;
    for (size_t i = 0; i < rounds; i++)
        for (int k = 0; k < chains; k++)
            x[k] = x[k] * a + b;
    for (int k = 1; k < chains; k++)
        x[0] += x[k];
    for (int k = 0; k < 16; k++)
        *sink += x[0][k];
    return (double)rounds * 2.0 * 16.0 * chains;
}

typedef double loop_fn(size_t rounds, float *sink);

static double loop_plain(size_t rounds, float *sink) {
    return loop(3, rounds, sink); /* a v16 is four registers of 16 bytes */
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static double loop_avx2(size_t rounds, float *sink) {
    return loop(6, rounds, sink);
}

__attribute__((target("avx512f,fma"))) static double loop_avx512(size_t rounds, float *sink) {
    return loop(12, rounds, sink);
}
#endif

static loop_fn *widest(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return loop_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return loop_avx2;
#endif
    return loop_plain;
}

static double rate(loop_fn *loop, size_t threads, size_t rounds, double *took_s) {
    double flop = 0, sinks = 0;
    const double start = ar_clock_s();
#pragma omp parallel for num_threads((int)threads) schedule(static, 1) reduction(+ : flop, sinks)
    for (size_t i = 0; i < threads; i++) {
        float sink = 0;
        flop += loop(rounds, &sink);
        sinks += (double)sink;
    }
    *took_s = ar_clock_s() - start;
    return sinks >= 0 ? flop / *took_s : 0; /* sinks are positive, but only we know */
}

double ar_peak_flops(size_t threads) {
    loop_fn *const loop = widest();
    size_t rounds = 10000;
    double took_s = 0, best = 0;
    for (;;) {
        best = rate(loop, threads, rounds, &took_s);
        if (took_s > 0.01 || rounds > (size_t)1 << 40) break;
        rounds *= 2;
    }
    for (int i = 0; i < 4; i++) {
        const double again = rate(loop, threads, rounds, &took_s);
        best = again > best ? again : best;
    }
    return best;
}
