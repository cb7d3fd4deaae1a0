/* Gradients of attention against finite differences of the reference in double. */

#include "depth.h"
#include "pass.h"
#include "reference.h"
#include "tap.h"

typedef struct {
    size_t n, queries, T, d;
    ar_variant variant;
    double *x[24], *w; /* [n][T][d], [queries][d] */
    double *c;         /* [queries][T][d]: the loss is c . h */
} problem;

static double loss(const problem *p) {
    double sum = 0.0, *const h = doubles(p->T * p->d);
    for (size_t q = 0; q < p->queries; q++) {
        ar_reference_variant(p->T, p->d, (const double *const *)p->x, p->n, p->w + q * p->d,
                             p->variant, h);
        for (size_t i = 0; i < p->T * p->d; i++)
            sum += h[i] * p->c[q * p->T * p->d + i];
    }
    free(h);
    return sum;
}

static double slope(const problem *p, double *x) {
    const double kept = *x, step = 1e-5;
    *x = kept + step;
    const double up = loss(p);
    *x = kept - step;
    const double down = loss(p);
    *x = kept;
    return (up - down) / (2 * step);
}

/* Worst error relative to the largest gradient. Split: the last source apart, as the two
 * phases do. */
static double backward(ar_isa isa, ar_variant variant, size_t n, size_t queries, size_t T, size_t d,
                       size_t threads, bool split) {
    ar_depth m = depth_new(queries + n, queries, T, d);
    problem p = {.n = n, .queries = queries, .T = T, .d = d, .variant = variant};
    const size_t size = T * d;
    void *grad[24];
    float *const dh = floats(queries * size), *const dquery = floats(queries * d);
    float *const dot = floats(queries * T);
    double worst = 0.0, largest = 0.0;
    m.isa = isa;
    m.threads = threads;
    m.variant = variant;
    p.w = doubles(queries * d);
    p.c = doubles(queries * size);
    ar_embedding_fill(dh, queries * T, d, 99, SEED);
    for (size_t i = 0; i < queries * size; i++)
        p.c[i] = (double)dh[i];
    for (size_t i = 0; i < queries * d; i++) {
        p.w[i] = (double)m.query[i];
        dquery[i] = 0.0f;
    }
    for (size_t i = 0; i < n; i++) {
        ar_embedding_fill(m.source[i], T, d, i, SEED);
        grad[i] = floats(size);
        p.x[i] = doubles(size);
        for (size_t k = 0; k < size; k++) {
            p.x[i][k] = at(AR_FP32, m.source[i], k);
            set(AR_FP32, grad[i], k, 0.0);
        }
    }
    ar_attend_many(&m, n, 1, queries);
    for (size_t k = 0; k < queries * T; k++) {
        dot[k] = 0.0f;
        for (size_t j = 0; j < d; j++)
            dot[k] += dh[k * d + j] * ((const float *)m.o)[k * d + j];
    }
    ar_attend_back a = {
        d,      m.source, split ? n - 1 : n, m.query, queries, m.max, m.sum, dot, T, size, dh, grad,
        dquery, variant};
    ar_pass_attend_back(&m, &a);
    if (split) {
        a.source = m.source + n - 1;
        a.grad = grad + n - 1;
        a.n = 1;
        ar_pass_attend_back(&m, &a);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < size; k++) {
            const double expected = slope(&p, &p.x[i][k]);
            worst = fmax(worst, fabs(expected - at(AR_FP32, grad[i], k)));
            largest = fmax(largest, fabs(expected));
        }
    for (size_t i = 0; i < queries * d; i++) {
        const double expected = slope(&p, &p.w[i]);
        worst = fmax(worst, fabs(expected - (double)dquery[i]));
        largest = fmax(largest, fabs(expected));
    }
    for (size_t i = 0; i < n; i++) {
        free(grad[i]);
        free(p.x[i]);
    }
    depth_free(&m);
    free(dh), free(dquery), free(dot), free(p.w), free(p.c);
    return worst / largest;
}

int main(void) {
    TAP_START;
    static const ar_variant variants[] = {{0}, {.sigmoid = true}, {.raw_keys = true}};
    static const char *const names[] = {"softmax", "sigmoid", "raw keys"};
    static const size_t sizes[][4] = {/* n, queries, T, d */
                                      {1, 1, 1, 2},
                                      {2, 3, 3, 5},
                                      {5, 4, 2, 9},
                                      {17, 2, 2, 17},
                                      {3, 17, 2, 6}};
    for (ar_isa isa = AR_ISA_BASE; isa < AR_ISAS && ar_isa_runs(isa); isa++)
        for (size_t v = 0; v < 3; v++) {
            double worst = 0.0;
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                worst =
                    fmax(worst, backward(isa, variants[v], sizes[i][0], sizes[i][1], sizes[i][2],
                                         sizes[i][3], 1 + i % 3, sizes[i][0] > 1 && i % 2 == 0));
            OK(worst < 2e-5, "%s, %s: gradients of sources and queries, worst %.1e", names[v],
               ar_isa_names[isa], worst);
        }
    return DONE();
}
