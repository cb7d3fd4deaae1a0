#ifndef AR_TIMING_H
#define AR_TIMING_H

/* How often to repeat, and what the repetitions say. Two things are timed in turn, A B A
 * B, so that their ratio is of the same minutes. */

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t min, max; /* repetitions; min at least 1 */
    double limit_s;  /* no new repetition after that, once there are three */
    double interval; /* wanted half-width of the 99 % confidence interval of A's median,
                        relative to it: 0.05 */
} ar_timing_limits;

typedef struct {
    size_t repetitions;
    double median_s, min_s, max_s;
    double low_s, high_s; /* 99 % confidence interval of the median; NAN below 8 repetitions */
    bool reached;         /* it is within the wanted width */
    double other_s;       /* median of B; NAN without B */
    double ratio;         /* median over the pairs of B's time / A's; NAN without B */
} ar_timing;

/* The 99 % confidence interval of the median of n sorted values, from order statistics
 * (binomial, no assumption on their distribution). False below 8 values: there is none. */
bool ar_median_interval(const double *sorted, size_t n, double *low, double *high);

/* What is timed: a(user) and, unless it is NULL, b(user); before each a ready(user), unless that
 * is NULL, outside the time. */
typedef struct {
    void (*ready)(void *), (*a)(void *), (*b)(void *);
    void *user;
} ar_timing_work;

/* Run a and b each once unmeasured and then in turn, until the interval is reached or a limit
 * is. samples: room for 3 * limits->max doubles. */
void ar_timing_run(const ar_timing_limits *limits, const ar_timing_work *work, double *samples,
                   ar_timing *timing);

#endif
