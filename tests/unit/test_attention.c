/* The passes of attention by themselves: against the definition in double, on values that
 * overflow, and with nothing to attend to. */

#include "depth.h"
#include "pass.h"
#include "reference.h"
#include "tap.h"

/* One source and two: more than a chunk of the row. */
static const size_t all_widths[] = {1, 320, 131, 3, 8, 17, 64, 100};

/* n sources and `queries` queries of size `scale`; error in eps (1 + largest logit). */
static double attend(ar_dtype dtype, ar_isa isa, size_t n, size_t queries, size_t T, size_t d,
                     double scale, size_t *wrong) {
    ar_depth m = depth_new(n + queries, queries, T, d);
    float *const w = (float *)(uintptr_t)m.query;
    double *xd[41], *const wd = doubles(d), *const out = doubles(T * d), worst = 0.0;
    float *const x = floats(T * d);
    const size_t size = dtype == AR_BF16 ? 2 : 4;
    m.dtype = dtype;
    m.isa = isa;
    for (size_t i = 0; i < (m.layers + 1) * d; i++)
        w[i] *= (float)scale;
    for (size_t i = 0; i < n; i++) {
        xd[i] = doubles(T * d);
        ar_embedding_fill(x, T, d, i, SEED);
        for (size_t k = 0; k < T * d; k++) {
            set(dtype, m.source[i], k, (double)x[k]);
            xd[i][k] = at(dtype, m.source[i], k);
        }
    }
    m.stream = n % 16 < 8;
    ar_attend_many(&m, n, 1, queries);
    char *const all = get(queries * T * d, size);
    memcpy(all, m.o, queries * T * d * size);
    for (size_t q = 0; q < queries; q++) {
        double norm = 0.0;
        for (size_t j = 0; j < d; j++) {
            wd[j] = (double)w[q * d + j];
            norm += wd[j] * wd[j];
        }
        const char *const o = all + q * T * d * size;
        ar_reference_attend(T, d, (const double *const *)xd, n, wd, out);
        worst = fmax(worst, difference(dtype, T * d, o, out) / (1.0 + sqrt(norm * (double)d)));
        ar_attend_one(&m, q + 1, n, NULL);
        worst = fmax(worst, difference(dtype, T * d, m.h, out) / (1.0 + sqrt(norm * (double)d)));
        m.stream = !m.stream;
        ar_attend_many(&m, n, q + 1, q + 1); /* in other company, past the caches or not */
        *wrong += memcmp(m.o, o, T * d * size) != 0;
    }
    for (size_t i = 0; i < n; i++)
        free(xd[i]);
    depth_free(&m);
    free(wd), free(out), free(x), free(all);
    return worst;
}

static void test_attend(tap *tap_now) {
    for (ar_isa isa = AR_ISA_BASE; isa < AR_ISAS; isa++)
        for (ar_dtype dtype = AR_FP32; dtype <= AR_BF16 && ar_isa_runs(isa); dtype++) {
            double worst = 0.0;
            size_t wrong = 0;
            for (size_t n = 1; n <= 40; n++)
                for (size_t queries = 1; queries <= 19; queries += 3)
                    worst = fmax(worst, attend(dtype, isa, n, queries, 1 + n % 33,
                                               all_widths[n % 8], n % 3 ? 1.0 : 100.0, &wrong));
            /* bf16: half a unit of 8 bits, when the output is stored */
            const double eps = dtype == AR_BF16 ? 0x1p-8 : 8 * (double)FLT_EPSILON;
            OK(worst < eps && wrong == 0,
               "attention, %s, %s: %.1e (1 + |w| sqrt(d)); %zu depend on their neighbours",
               ar_isa_names[isa], dtype == AR_BF16 ? "bf16" : "fp32", worst, wrong);
        }
}

/* Attention over three sources of one value each, the query all w; NAN if unequal. */
static double three(ar_dtype dtype, float a, float b, float c, float w) {
    ar_depth m = depth_new(3, 1, 1, 5);
    const float value[] = {a, b, c};
    m.dtype = dtype;
    for (size_t j = 0; j < 5; j++) {
        for (size_t i = 0; i < 3; i++)
            set(dtype, m.source[i], j, (double)value[i]);
        ((float *)(uintptr_t)m.query)[j] = w;
    }
    ar_attend_one(&m, 1, 3, NULL);
    double out = at(dtype, m.h, 0);
    for (size_t j = 1; j < 5; j++)
        if (at(dtype, m.h, j) < out || at(dtype, m.h, j) > out) out = (double)NAN;
    depth_free(&m);
    return out;
}

static bool near(double x, double expected) {
    return fabs(x - expected) <= 4 * ((double)FLT_EPSILON * fabs(expected) + (double)FLT_TRUE_MIN);
}

static void test_values(tap *tap_now) {
    OK(near(three(AR_FP32, 1, 2, 3, 0), 2.0), "zero query: the mean, not the sum");
    OK(near(three(AR_BF16, 1, 2, 3, 0), 2.0), "in bf16 too");
    OK(near(three(AR_FP32, 0, 0, 0, 1), 0.0), "all-zero sources: 0, not NaN");
    OK(near(three(AR_FP32, 6e4f, -6e4f, -6e4f, 100), 6e4), "6e4 under a query of 100");
    OK(near(three(AR_FP32, 6e4f, -6e4f, 0, -100), -6e4), "and of -100");
    OK(near(three(AR_BF16, 6e4f, -6e4f, 6e4f, 100), 59904), "in bf16: the nearest to 6e4");
    OK(near(three(AR_FP32, 1e-40f, 1e-40f, 1e-40f, 1), (double)1e-40f), "denormal sources");
    OK(near(three(AR_FP32, 1e18f, 1e18f, 1e18f, 1), (double)1e18f), "1e18");
    OK(isnan(three(AR_FP32, 1e20f, 1, 1, 1)), "a square beyond fp32 gives NaN, not a wrong weight");
    for (ar_dtype t = AR_FP32; t <= AR_BF16; t++)
        for (int query = -1; query <= 1; query++) {
            const float w = (float)query;
            OK(isnan(three(t, 1, NAN, 2, w)) && isnan(three(t, NAN, 1, 2, w)), "NaN, query %d",
               query);
            OK(isnan(three(t, INFINITY, 1, 2, w)) && isnan(three(t, 1, 2, -INFINITY, w)),
               "infinity, query %d", query);
        }
}

/* Phase 1 over nothing leaves empty parts; merged with one source they give the source. */
static void test_empty(tap *tap_now) {
    for (ar_dtype dtype = AR_FP32; dtype <= AR_BF16; dtype++) {
        ar_depth m = depth_new(3, 3, 2, 7);
        size_t wrong = 0;
        m.dtype = dtype;
        m.first = 1;
        ar_attend_many(&m, 0, 1, 3);
        for (size_t i = 0; i < 3 * 2 * 7; i++)
            wrong += at(dtype, m.o, i) < 0 || at(dtype, m.o, i) > 0;
        for (size_t i = 0; i < 3 * 2; i++)
            wrong += m.max[i] != -INFINITY || m.sum[i] != 0.0f;
        for (size_t i = 0; i < 2 * 7; i++)
            set(dtype, m.source[1], i, (double)i - 3);
        const void *const h = ar_merge_in(&m, 2, m.source + 1, 1, NULL);
        for (size_t i = 0; i < 2 * 7; i++)
            wrong += !near(at(dtype, h, i), (double)i - 3);
        OK(wrong == 0, "empty parts");
        depth_free(&m);
    }
}

/* One bad element anywhere: NaN in its token only. */
static void test_bad_element(tap *tap_now) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    size_t wrong = 0;
    for (ar_dtype dtype = AR_FP32; dtype <= AR_BF16; dtype++)
        for (size_t i = 0; i < 20; i++)
            for (size_t k = 0; k < 3; k++) {
                ar_depth m = depth_new(20, 6, 3, 19);
                m.dtype = dtype;
                for (size_t s = 0; s < 20; s++)
                    for (size_t e = 0; e < 3 * 19; e++)
                        set(dtype, m.source[s], e, (double)((s + e) % 7) - 3);
                set(dtype, m.source[i], 19 + i * 18 / 19, (double)bad[k]);
                m.first = 1;
                ar_attend_many(&m, 20, 1, 6);
                for (size_t q = 0; q < 6; q++)
                    for (size_t e = 0; e < 3 * 19; e++)
                        wrong += (e / 19 == 1) != !isfinite(at(dtype, m.o, q * 3 * 19 + e));
                depth_free(&m);
            }
    OK(wrong == 0, "a bad element shows in its token and in no other: %zu wrong", wrong);
}

int main(void) {
    TAP_START;
    test_values(tap_now);
    test_empty(tap_now);
    test_bad_element(tap_now);
    test_attend(tap_now);
    return DONE();
}
