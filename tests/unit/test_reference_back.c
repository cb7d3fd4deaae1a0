/* The gradients in double against central differences of the forward in double. */

#include "tap.h"
#include "walk.h"

static double loss(const walk *a, double *h) {
    const size_t n = (a->w.layers + 1) * a->w.tokens * a->w.width;
    double sum = 0.0;
    ar_reference_walk_forward(&a->w, h, a->scratch);
    for (size_t i = 0; i < n; i++)
        sum += h[i] * a->c[i];
    return sum;
}

/* A number in double, or a parameter in float, whose step is what it can hold. */
static double slope(const walk *a, double *x, float *p, double *h) {
    const double step = 1e-5, kept = x ? *x : (double)*p;
    double value[2], at[2];
    for (int side = 0; side < 2; side++) {
        const double to = side ? kept + step : kept - step;
        if (x)
            *x = to;
        else
            *p = (float)to;
        at[side] = x ? *x : (double)*p;
        value[side] = loss(a, h);
    }
    if (x)
        *x = kept;
    else
        *p = (float)kept;
    return (value[1] - value[0]) / (at[1] - at[0]);
}

/* Worst error of a kind, relative to its largest gradient. */
static double worst_of(const walk *a, size_t kind, double *x, float *p, double *h) {
    double worst = 0.0, largest = DBL_MIN;
    for (size_t i = 0; i < a->count[kind]; i++) {
        const double expected = slope(a, x ? x + i : NULL, p ? p + i : NULL, h);
        const double error = fabs(expected - a->grad[kind][i]);
        if (!(error <= worst)) worst = error;
        largest = fmax(largest, fabs(expected));
    }
    /* some kinds have none: the gates of attention, say */
    return largest > 1e-12 ? worst / largest : worst;
}

int main(void) {
    TAP_START;
    static const size_t sizes[][5] = {{1, 1, 1, 3, 2}, {5, 2, 2, 3, 2}, {4, 3, 1, 4, 3}};
    for (size_t k = 0; k < SUBJECTS; k++) {
        double worst = 0.0;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            ar_depth m = depth_new(sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
            m.streams = sizes[i][4];
            walk a = walk_new(&subjects[k], &m, AR_FP32);
            double *const h = doubles((m.layers + 1) * m.tokens * m.width);
            worst = fmax(worst, worst_of(&a, X, a.x, NULL, h));
            worst = fmax(worst, worst_of(&a, V, a.v, NULL, h));
            worst = fmax(worst, worst_of(&a, GATE, a.gate, NULL, h));
            worst = fmax(worst, worst_of(&a, QUERY, NULL, (float *)(uintptr_t)m.query, h));
            worst = fmax(worst, worst_of(&a, MIX, NULL, (float *)(uintptr_t)m.mix, h));
            worst = fmax(worst, worst_of(&a, BIAS, NULL, (float *)(uintptr_t)m.bias, h));
            free(h);
            walk_free(&a);
            depth_free(&m);
        }
        OK(worst < 1e-7, "%s: gradients against differences, worst %.1e", subjects[k].name, worst);
    }
    return DONE();
}
