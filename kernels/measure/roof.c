#include "roof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pages.h"

enum { LINE = 16 }; /* floats of a cache line */

const ar_roof_about ar_roof_table[AR_ROOF_KERNELS] = {
    [AR_ROOF_SUM] = {"sum", 1, 0, false},           [AR_ROOF_SUM_4] = {"sum-4", 1, 0, false},
    [AR_ROOF_FILL] = {"fill", 0, 1, true},          [AR_ROOF_FILL_8] = {"fill-8", 0, 1, true},
    [AR_ROOF_COPY] = {"copy", 1, 1, true},          [AR_ROOF_SCALE] = {"scale", 1, 1, true},
    [AR_ROOF_NEGATE] = {"negate", 1, 1, false},     [AR_ROOF_UPDATE] = {"update", 2, 1, false},
    [AR_ROOF_UPDATE_3] = {"update-3", 4, 1, false}, [AR_ROOF_ADD] = {"add", 2, 1, true},
    [AR_ROOF_TRIAD] = {"triad", 2, 1, true},
};

bool ar_roof_has_stream(void) {
#if defined(__SSE2__)
    return true;
#else
    return false;
#endif
}

/* First element of part i of `parts`, whole lines. */
static size_t part(size_t n, size_t i, size_t parts) {
    return n / LINE * i / parts * LINE;
}

double ar_roof_run(ar_roof_kernel kernel, bool stream, size_t threads, size_t n, const float *a,
                   const float *b, float *c) {
    const ar_ops *const kernels = ar_ops_find(AR_ISA_AUTO, AR_FP32);
    double sum = 0;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1) reduction(+ : sum)
    for (size_t i = 0; i < threads; i++) {
        const size_t from = part(n, i, threads), count = part(n, i + 1, threads) - from;
        sum += kernels->roof(kernel, stream, count, a + from, b + from, c + from);
    }
    return sum;
}

ar_status ar_roof_open(ar_roof *roof, size_t threads, double set_B, ar_err *err) {
    memset(roof, 0, sizeof *roof);
    if (!(set_B >= 3 * 64.0 * (double)threads && set_B < 1e15))
        return ar_fail(err, AR_ERUN, "roof: a working set of %g B; legal: 192 B a thread or more",
                       set_B);
    roof->threads = threads;
    roof->n = (size_t)(set_B / 3 / sizeof(float)) / LINE * LINE;
    float **const array[] = {&roof->a, &roof->b, &roof->c};
    for (size_t i = 0; i < 3; i++) {
        *array[i] = ar_pages_alloc(roof->n * sizeof(float));
        if (!*array[i]) {
            ar_roof_close(roof);
            return ar_fail(err, AR_ERUN, "roof: no memory for three arrays of %.3g B together",
                           set_B);
        }
    }
    float *const a = roof->a, *const b = roof->b, *const c = roof->c;
    const size_t n = roof->n;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (size_t i = 0; i < threads; i++)
        for (size_t j = part(n, i, threads); j < part(n, i + 1, threads); j++)
            a[j] = 1.0f, b[j] = 2.0f, c[j] = 0.0f;
    return AR_OK;
}

void ar_roof_close(ar_roof *roof) {
    free(roof->a);
    free(roof->b);
    free(roof->c);
    memset(roof, 0, sizeof *roof);
}

static double moved_B(const ar_roof *roof, ar_roof_kernel kernel) {
    return (double)(ar_roof_table[kernel].reads + ar_roof_table[kernel].writes) * (double)roof->n *
           sizeof(float);
}

static double best_Bps(ar_roof *roof, ar_roof_kernel kernel, bool stream) {
    double best = INFINITY;
    for (int i = 0; i < 3; i++) {
        const double start = ar_clock_s();
        roof->sum += ar_roof_run(kernel, stream, roof->threads, roof->n, roof->a, roof->b, roof->c);
        const double took = ar_clock_s() - start;
        best = took < best ? took : best;
    }
    return moved_B(roof, kernel) / best;
}

static double distance(ar_roof_kernel kernel, double share) {
    const ar_roof_about *k = &ar_roof_table[kernel];
    return fabs((double)k->writes / (double)(k->reads + k->writes) - share);
}

void ar_roof_choose(ar_roof *roof, double reads, double writes) {
    const double share = reads + writes > 0 ? writes / (reads + writes) : 1.0 / 3.0;
    double nearest = INFINITY, best = 0;
    for (ar_roof_kernel k = 0; k < AR_ROOF_KERNELS; k++)
        nearest = fmin(nearest, distance(k, share));
    memset(roof->Bps, 0, sizeof roof->Bps);
    for (ar_roof_kernel k = 0; k < AR_ROOF_KERNELS; k++) {
        if (distance(k, share) > nearest + 1e-9) continue;
        const int kinds = ar_roof_table[k].streams && ar_roof_has_stream() ? 2 : 1;
        for (int s = 0; s < kinds; s++) {
            roof->Bps[k][s] = best_Bps(roof, k, s);
            if (roof->Bps[k][s] <= best) continue;
            best = roof->Bps[k][s];
            roof->kernel = k;
            roof->stream = s;
        }
    }
    roof->bytes = moved_B(roof, roof->kernel);
}

void ar_roof_repeat(ar_roof *roof) {
    roof->sum +=
        ar_roof_run(roof->kernel, roof->stream, roof->threads, roof->n, roof->a, roof->b, roof->c);
}
