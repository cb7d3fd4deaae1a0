#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { ENOUGH = 3 }; /* repetitions for a median when time is up */

bool ar_median_interval(const double *sorted, size_t n, double *low, double *high) {
    /* P(fewer than k of n values lie below the median), k from 0; both tails at most 1 %. */
    double term = pow(0.5, (double)n), tail = term;
    size_t k = 0;
    if (2 * tail > 0.01) return false;
    while (k + 1 < n / 2) {
        term *= (double)(n - k) / (double)(k + 1);
        if (2 * (tail + term) > 0.01) break;
        tail += term;
        k++;
    }
    *low = sorted[k];
    *high = sorted[n - 1 - k];
    return true;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(const ar_timing_limits *limits, size_t n, const double *a, double *sorted,
                      ar_timing *timing) {
    memcpy(sorted, a, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    timing->repetitions = n;
    timing->min_s = sorted[0];
    timing->max_s = sorted[n - 1];
    timing->median_s = n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
    timing->low_s = timing->high_s = NAN;
    timing->reached = ar_median_interval(sorted, n, &timing->low_s, &timing->high_s) &&
                      timing->high_s - timing->median_s <= limits->interval * timing->median_s &&
                      timing->median_s - timing->low_s <= limits->interval * timing->median_s;
}

static double timed(void (*run)(void *), void *user) {
    const double start = ar_clock_s();
    run(user);
    return ar_clock_s() - start;
}

static double timed_a(const ar_timing_work *work) {
    if (work->ready) work->ready(work->user);
    return timed(work->a, work->user);
}

void ar_timing_run(const ar_timing_limits *limits, const ar_timing_work *work, double *samples,
                   ar_timing *timing) {
    double *const first = samples, *const second = samples + limits->max,
                  *const sorted = second + limits->max;
    const double start = ar_clock_s();
    timed_a(work);
    if (work->b) work->b(work->user);
    for (size_t n = 0; n < limits->max;) {
        first[n] = timed_a(work);
        if (work->b) second[n] = timed(work->b, work->user);
        n++;
        summarise(limits, n, first, sorted, timing);
        if (n >= limits->min && timing->reached) break;
        if (n >= ENOUGH && ar_clock_s() - start > limits->limit_s) break;
    }
    timing->other_s = timing->ratio = NAN;
    if (!work->b) return;
    const size_t n = timing->repetitions;
    memcpy(sorted, second, n * sizeof *sorted);
    timing->other_s = ar_median(sorted, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = second[i] / first[i];
    timing->ratio = ar_median(sorted, n);
}
