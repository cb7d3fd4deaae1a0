/* Measuring: how often, the roof's kernels, the counts, the subjects, dumps of the cache
 * simulator, counters. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachesim.h"
#include "dram.h"
#include "host.h"
#include "peak.h"
#include "roof.h"
#include "subject.h"
#include "subject_back.h"
#include "tap.h"
#include "timing.h"

static bool near(double got, double wanted, double by) {
    return fabs(got - wanted) <= by;
}

/* ---- timing ---- */

static void test_interval(tap *tap_now) {
    double x[100], low = 0, high = 0;
    for (int i = 0; i < 100; i++)
        x[i] = i + 1;
    OK(!ar_median_interval(x, 0, &low, &high), "no value, no interval");
    OK(!ar_median_interval(x, 7, &low, &high), "7 values cannot hold 99 %%");
    OK(ar_median_interval(x, 8, &low, &high) && low == 1 && high == 8, "8: the whole range");
    OK(ar_median_interval(x, 100, &low, &high) && low == 37 && high == 64,
       "100: ranks 37 and 64, as in the tables");
}

typedef struct {
    int ready, a, b, wrong;
} calls;

static void wait_a_little(void) {
    for (volatile int i = 0; i < 20000; i++)
        ;
}

static void call_ready(void *user) {
    calls *c = user;
    c->wrong += c->ready++ != c->a;
}

static void call_a(void *user) {
    calls *c = user;
    c->wrong += c->a++ != c->b;
    wait_a_little();
}

static void call_b(void *user) {
    calls *c = user;
    c->b++;
    c->wrong += c->a != c->b;
    wait_a_little();
}

static void test_timing(tap *tap_now) {
    double samples[3 * 20];
    ar_timing t;
    calls c = {0, 0, 0, 0};
    const ar_timing_work alone = {.a = call_a, .user = &c};
    ar_timing_run(&(ar_timing_limits){20, 20, 100, 1e-9},
                  &(ar_timing_work){call_ready, call_a, call_b, &c}, samples, &t);
    OK(c.ready == 21 && c.a == 21 && c.b == 21 && c.wrong == 0,
       "20 pairs and one unmeasured, A B A B, each A made ready");
    OK(t.repetitions == 20 && t.min_s <= t.low_s && t.low_s <= t.median_s &&
           t.median_s <= t.high_s && t.high_s <= t.max_s,
       "least <= interval <= greatest");
    OK(t.min_s > 0 && t.ratio > 0 && t.other_s > 0, "both are timed");
    c = (calls){0, 0, 0, 0};
    ar_timing_run(&(ar_timing_limits){8, 20, 0, 1e-9}, &alone, samples, &t);
    OK(t.repetitions == 3 && !t.reached && isnan(t.low_s) && isnan(t.ratio),
       "no time: three repetitions, and no interval");
    ar_timing_run(&(ar_timing_limits){8, 20, 100, 1e9}, &alone, samples, &t);
    OK(t.repetitions == 8 && t.reached, "a wide interval is reached at once");
    ar_timing_run(&(ar_timing_limits){1, 1, 100, 0.05}, &alone, samples, &t);
    OK(t.repetitions == 1 && !t.reached, "one repetition");
}

/* ---- roof ---- */

static bool kernel_right(ar_roof_kernel kernel, bool stream, size_t threads, size_t n) {
    float *a = aligned_alloc(64, 4 * n), *b = aligned_alloc(64, 4 * n);
    float *c = aligned_alloc(64, 4 * n);
    bool right = a && b && c;
    double sum = 0;
    for (size_t i = 0; right && i < n; i++) {
        a[i] = (float)i, b[i] = 2, c[i] = 7;
        sum += (double)i;
    }
    const double got = right ? ar_roof_run(kernel, stream, threads, n, a, b, c) : 0;
    for (size_t i = 0; right && i < n; i++) {
        const float x = a[i];
        const float want[] = {7, 7, 3, 3, x, 3 * x, -7, 7 + x, 11 + x, x + 2, x + 6};
        right = c[i] == want[kernel];
    }
    free(a);
    free(b);
    free(c);
    return right && ((kernel != AR_ROOF_SUM && kernel != AR_ROOF_SUM_4) || got == sum);
}

static void test_roof(tap *tap_now) {
    for (ar_roof_kernel k = 0; k < AR_ROOF_KERNELS; k++) {
        bool right = true;
        for (int stream = 0; stream < 2; stream++)
            for (size_t threads = 1; threads <= 5; threads++)
                for (size_t n = 16; n <= 16 * 19; n += 16)
                    right = right && kernel_right(k, stream, threads, n);
        OK(right, "%s computes what it says, 1 to 5 threads", ar_roof_table[k].name);
    }
    ar_roof roof;
    ar_err err;
    OK(ar_roof_open(&roof, 1, 10, &err) == AR_ERUN, "no arrays of 10 B: %s", err.text);
    OK(ar_roof_open(&roof, 2, 3e6, &err) == AR_OK, "arrays of 3 MB");
    ar_roof_choose(&roof, 4.2, 2.0);
    OK(ar_roof_table[roof.kernel].reads == 2 && roof.bytes == 12.0 * (double)roof.n,
       "4.2 reads to 2 writes: 2 to 1 (%s)", ar_roof_table[roof.kernel].name);
    OK(roof.Bps[AR_ROOF_SUM][0] == 0 && roof.Bps[AR_ROOF_ADD][0] > 0, "only the nearest mix runs");
    ar_roof_choose(&roof, 8, 0.5);
    OK(ar_roof_table[roof.kernel].writes == 0, "8 to 0.5: read-only (%s)",
       ar_roof_table[roof.kernel].name);
    ar_roof_choose(&roof, 5, 1);
    OK(roof.kernel == AR_ROOF_UPDATE_3 && roof.bytes == 20.0 * (double)roof.n, "5 to 1: 4 to 1");
    ar_roof_choose(&roof, 1, 1);
    OK(ar_roof_table[roof.kernel].reads == 1, "1 to 1: copy, scale or negate");
    ar_roof_repeat(&roof);
    ar_roof_choose(&roof, 1, 8);
    OK(ar_roof_table[roof.kernel].reads == 0, "1 to 8: write-only (%s)",
       ar_roof_table[roof.kernel].name);
    ar_roof_close(&roof);
    const double peak = ar_peak_flops(1);
    OK(peak > 1e8 && peak < 1e13, "peak: %.3g flop/s", peak);
}

/* ---- counts ---- */

static ar_counts counts_way(ar_direction direction, ar_mechanism_id id, ar_form form,
                            ar_phase phase, size_t L, size_t S) {
    const ar_case c = {.mechanism = id,
                       .form = form,
                       .direction = direction,
                       .phase = phase,
                       .layers = L,
                       .block = S,
                       .tokens = 8,
                       .width = 1024,
                       .streams = 4,
                       .threads = 1};
    ar_counts counts;
    ar_subject_counts(&c, &counts);
    return counts;
}

static ar_counts counts_of(ar_mechanism_id id, ar_form form, ar_phase phase, size_t L, size_t S) {
    return counts_way(AR_FORWARD, id, form, phase, L, S);
}

static void test_counts(tap *tap_now) {
    const double N = 8, S = 16;
    ar_counts c = counts_of(AR_BLOCK, AR_TWO_PHASE, AR_PHASE_ALL, 128, 16);
    OK(near(c.exact, (N + 1) / (2 * S) + 6 - 4 / S, 1e-12), "Block two-phase: %g", c.exact);
    OK(near(c.paper, 5.5, 0), "and the paper's 5.5");
    OK(c.fused < c.exact && c.fused > 5, "fused moves less: %g", c.fused);
    c = counts_of(AR_BLOCK, AR_ONE_PASS, AR_PHASE_ALL, 128, 16);
    OK(near(c.exact, (N + 1) / 2 + 4 - 2 / S, 1e-12), "Block one-pass: %g", c.exact);
    c = counts_of(AR_FULL, AR_TWO_PHASE, AR_PHASE_ALL, 128, 16);
    OK(near(c.exact, (N + S) / 2 + 2 - 1 / S, 1e-12), "Full two-phase: %g", c.exact);
    c = counts_of(AR_MHC, AR_TWO_PHASE, AR_PHASE_ALL, 128, 16);
    OK(c.exact == 34 && c.fused == 10, "mHC: 34, and 10 fused");
    c = counts_of(AR_MHC, AR_UNFUSED, AR_PHASE_ALL, 128, 16);
    OK(c.exact == 34 && c.reads == 21 && c.writes == 13, "unfused: 5m + 1 reads, 3m + 1 writes");
    c = counts_of(AR_STANDARD, AR_TWO_PHASE, AR_PHASE_ALL, 128, 16);
    OK(c.exact == 3 && c.fused == 3 && c.paper == 3, "standard: 3");
    bool sums = true, least = true, phases = true;
    for (ar_mechanism_id id = AR_STANDARD; id <= AR_BLOCK; id++)
        for (ar_form form = AR_TWO_PHASE; form <= AR_ONE_PASS; form++)
            for (size_t L = 1; L <= 33; L++)
                for (size_t block = 1; block <= 9; block++) {
                    c = counts_of(id, form, AR_PHASE_ALL, L, block);
                    sums = sums && near(c.reads + c.writes, c.exact, 1e-9);
                    least = least && c.fused <= c.exact + 1e-9;
                    if (!ar_subject_has_form(id, AR_ONE_PASS, AR_FORWARD) || form != AR_TWO_PHASE)
                        continue;
                    const ar_counts one = counts_of(id, form, AR_PHASE_1, L, block);
                    const ar_counts two = counts_of(id, form, AR_PHASE_2, L, block);
                    phases = phases && near(one.exact + two.exact, c.exact, 1e-9) &&
                             near(one.flop + two.flop, c.flop, 1e-6);
                }
    OK(sums, "reads and writes are the exact count, every mechanism, form, L, S");
    OK(least, "fused is never more");
    OK(phases, "the phases add up");
}

static ar_counts back_of(ar_mechanism_id id, ar_form form, ar_phase phase, size_t L, size_t S) {
    return counts_way(AR_BACKWARD, id, form, phase, L, S);
}

static void test_counts_back(tap *tap_now) {
    bool sums = true, least = true, phases = true;
    for (ar_mechanism_id id = AR_STANDARD; id <= AR_BLOCK; id++)
        for (ar_form form = AR_TWO_PHASE; form <= AR_FUSED; form++)
            for (size_t L = 1; L <= 33; L++)
                for (size_t block = 1; block <= 9; block++) {
                    if (id == AR_MHC && form != AR_FUSED) continue;
                    const ar_counts c = back_of(id, form, AR_PHASE_ALL, L, block);
                    sums = sums && near(c.reads + c.writes, c.exact, 1e-9);
                    least = least && c.fused > 0 && c.fused <= c.exact + 1e-9;
                    if (!ar_subject_has_form(id, AR_ONE_PASS, AR_FORWARD) || form != AR_TWO_PHASE)
                        continue;
                    const ar_counts one = back_of(id, form, AR_PHASE_1, L, block);
                    const ar_counts two = back_of(id, form, AR_PHASE_2, L, block);
                    phases = phases && near(one.exact + two.exact, c.exact, 1e-9) &&
                             near(one.flop + two.flop, c.flop, 1e-6) && isnan(one.fused);
                }
    OK(sums, "backward: reads and writes are the exact count, every mechanism, form, L, S");
    OK(least, "fused is never more");
    OK(phases, "the phases add up");
    const double L = 128, N = 8, S = 16;
    ar_counts c = back_of(AR_BLOCK, AR_TWO_PHASE, AR_PHASE_1, 128, 16);
    OK(near(c.exact, 3 * (N + 1) / (2 * S) + 1, 1e-12) && near(c.writes, (N + 1) / (2 * S), 1e-12),
       "phase 1 of Block: 3(N+1)/2S + 1 (%g)", c.exact);
    OK(near(c.flop, 1024 * (10 * (N + 1) / 2 + 4 * (N + 1) / (2 * S)), 1e-6), "and its work");
    const ar_counts full = back_of(AR_FULL, AR_TWO_PHASE, AR_PHASE_1, 128, 16);
    OK(near(full.exact, 3 * (L - S + 2) / (2 * S) + 1, 1e-12), "of Full: 3(L-S+2)/2S + 1 (%g)",
       full.exact);
    for (ar_form form = AR_TWO_PHASE; form <= AR_AUTO; form++)
        OK(near(back_of(AR_BLOCK, form, AR_PHASE_ALL, 128, 16).fused,
                5 * (S - 1) / S + 3 * (N + 1) / (2 * S) + 1, 1e-12),
           "Block %s fused: 3(N+1)/2S + 6 - 5/S", ar_form_names[form]);
    c = back_of(AR_FULL, AR_TWO_PHASE, AR_PHASE_ALL, 128, 16);
    OK(near(c.fused, c.exact - 1 - 1 / S, 1e-12), "Full fused: 1 + 1/S less");
    OK(near(back_of(AR_FULL, AR_TWO_PHASE, AR_PHASE_ALL, 128, 1).fused, (L - 1) / 2 + 5 - 1 / L,
            1e-12),
       "and for groups of one all at once: (L-1)/2 + 5 - 1/L");
    OK(near(back_of(AR_FULL, AR_ONE_PASS, AR_PHASE_ALL, 1, 1).fused,
            back_of(AR_BLOCK, AR_ONE_PASS, AR_PHASE_ALL, 1, 1).fused, 1e-12),
       "one layer: Full is Block");
    c = back_of(AR_DENSEFORMER, AR_TWO_PHASE, AR_PHASE_ALL, 128, 16);
    OK(near(c.fused, c.exact, 1e-12), "DenseFormer fused: the same");
    c = back_of(AR_DENSEFORMER, AR_TWO_PHASE, AR_PHASE_ALL, 128, 1);
    OK(near(c.fused, (L - 1) / 2 + 4, 1e-12), "but for groups of one: (L-1)/2 + 4");
}

/* ---- subjects ---- */

/* Inputs that take the place of outputs grow from one repetition to the next, unless reset. */
static bool stays_finite(ar_direction direction, ar_mechanism_id mechanism, ar_form form,
                         bool reset) {
    const ar_case c = {.mechanism = mechanism,
                       .form = form,
                       .direction = direction,
                       .layers = 64,
                       .block = 16,
                       .tokens = 3,
                       .width = 20,
                       .streams = 4,
                       .outputs = 4,
                       .threads = 2};
    char why[256] = "";
    ar_err err;
    ar_subject *s = NULL;
    if (ar_subject_open(&c, &s, &err) != AR_OK) return false;
    for (int i = 0; i < 120; i++) {
        if (reset) ar_subject_reset(s);
        ar_subject_run(s);
    }
    const bool finite = ar_subject_finite(s, why, sizeof why);
    ar_subject_close(s);
    return finite;
}

static void test_subject(tap *tap_now) {
    ar_err err;
    char why[256];
    size_t cases = 0, good = 0;
    for (ar_mechanism_id id = AR_STANDARD; id <= AR_BLOCK; id++)
        for (ar_form form = AR_TWO_PHASE; form <= AR_UNFUSED; form++)
            for (size_t L = 1; L <= 7; L += 2)
                for (size_t S = 1; S <= 4; S++)
                    for (size_t d = 1; d <= 67; d += 11) {
                        const ar_case c = {.mechanism = id,
                                           .form = form,
                                           .layers = L,
                                           .block = S,
                                           .tokens = 3,
                                           .width = d,
                                           .streams = 4,
                                           .threads = 1};
                        const char *missing;
                        double error = NAN, tolerance = 0;
                        if (!ar_subject_exists(&c, &missing)) continue;
                        cases++;
                        good += ar_subject_error(&c, &error, &tolerance, &err) == AR_OK &&
                                error <= tolerance;
                    }
    OK(cases > 0 && good == cases, "%zu of %zu shapes agree with the definition", good, cases);
    const ar_case c = {.mechanism = AR_BLOCK,
                       .form = AR_TWO_PHASE,
                       .layers = 9,
                       .block = 4,
                       .tokens = 5,
                       .width = 24,
                       .streams = 4,
                       .threads = 2};
    ar_subject *s = NULL;
    OK(ar_subject_open(&c, &s, &err) == AR_OK, "open");
    if (!s) return;
    ar_subject_run(s);
    ar_subject_run(s);
    OK(ar_subject_finite(s, why, sizeof why), "two walks leave finite values");
    OK(!ar_subject_poison(s, 4), "there is no source 4 of 3 blocks");
    OK(ar_subject_poison(s, 2), "poison source 2");
    ar_subject_run(s);
    OK(!ar_subject_finite(s, why, sizeof why) && strstr(why, "source 2 is not a number"),
       "it is named: %s", why);
    ar_subject_close(s);
    OK(stays_finite(AR_FORWARD, AR_MHC, AR_FUSED, true) &&
           !stays_finite(AR_FORWARD, AR_MHC, AR_FUSED, false),
       "mHC: 120 repetitions are finite, if each starts anew");
    OK(stays_finite(AR_FORWARD, AR_BLOCK, AR_ONE_PASS, true) &&
           !stays_finite(AR_FORWARD, AR_BLOCK, AR_ONE_PASS, false),
       "Block in one pass, too");
    OK(stays_finite(AR_FORWARD, AR_BLOCK, AR_AUTO, true), "and auto");
    const char *missing = NULL;
    OK(!ar_subject_exists(&(ar_case){.mechanism = AR_STANDARD,
                                     .phase = AR_PHASE_1,
                                     .layers = 1,
                                     .block = 1,
                                     .tokens = 1,
                                     .width = 1,
                                     .threads = 1},
                          &missing) &&
           missing,
       "standard has no phase 1: %s", missing ? missing : "");
}

/* Do the passes of a way back read and write what is counted? */
static bool back_moves(const ar_case *c) {
    ar_way_back way;
    ar_counts counts;
    ar_ledger ledger = {0, 0, 0};
    float *const query = calloc((c->layers + 1) * c->width, sizeof *query);
    if (!query || !ar_way_back_open(c, query, AR_KEPT_TIMED, &way)) exit(1);
    way.depth.ledger = &ledger;
    ar_way_back_run(&way, c->phase);
    ar_subject_counts(c, &counts);
    ar_way_back_close(&way);
    free(query);
    return near(counts.reads * (double)c->layers, (double)ledger.loads, 1e-9) &&
           near(counts.writes * (double)c->layers, (double)ledger.stores, 1e-9);
}

/* Every form's gradients, and what its passes enter in the ledger beside the counts, each phase
 * alone, too. */
static void test_way_back(tap *tap_now) {
    ar_err err;
    char why[256];
    const char *missing;
    size_t cases = 0, good = 0, counted = 0, phases = 0, moved = 0;
    ar_case c = {.direction = AR_BACKWARD, .tokens = 3, .streams = 3, .threads = 1};
    for (c.mechanism = AR_STANDARD; c.mechanism <= AR_BLOCK; c.mechanism++)
        for (c.form = AR_TWO_PHASE; c.form <= AR_UNFUSED; c.form++)
            for (c.store = AR_STORE_FP32; c.store <= AR_STORE_BF16; c.store++)
                for (c.layers = 1; c.layers <= 7; c.layers += 2)
                    for (c.block = 1; c.block <= 4; c.block++) {
                        double error = NAN, tolerance = 0;
                        c.width = 1 + 13 * c.layers;
                        if (!ar_subject_exists(&c, &missing)) continue;
                        cases++;
                        good += ar_subject_error(&c, &error, &tolerance, &err) == AR_OK &&
                                error <= tolerance;
                        counted += back_moves(&c);
                        ar_case part = c;
                        for (part.phase = AR_PHASE_1; part.phase <= AR_PHASE_2; part.phase++) {
                            if (!ar_subject_exists(&part, &missing)) continue;
                            phases++;
                            moved += back_moves(&part);
                        }
                    }
    OK(cases > 0 && good == cases, "backward: %zu of %zu shapes agree with the gradients in double",
       good, cases);
    OK(counted == cases, "and %zu read and write what is counted", counted);
    size_t steep = 0; /* one layer: only the head's query has a gradient, next to nothing */
    for (c.mechanism = AR_FULL, c.layers = c.block = 1; c.mechanism <= AR_BLOCK; c.mechanism++)
        for (c.store = AR_STORE_FP32; c.store <= AR_STORE_BF16; c.store++)
            for (c.form = AR_TWO_PHASE, c.width = 128; c.form <= AR_ONE_PASS; c.form++) {
                double error = NAN, tolerance = 0;
                steep +=
                    ar_subject_error(&c, &error, &tolerance, &err) == AR_OK && error <= tolerance;
            }
    OK(steep == 8, "and so does one layer of 128 elements: %zu of 8", steep);
    OK(phases == 2 * 2 * 2 * 4 * 4 && moved == phases,
       "and so do %zu of %zu phases of Full and Block alone", moved, phases);
    c = (ar_case){.mechanism = AR_BLOCK,
                  .direction = AR_BACKWARD,
                  .layers = 9,
                  .block = 4,
                  .tokens = 5,
                  .width = 24,
                  .streams = 4,
                  .threads = 2};
    ar_subject *s = NULL;
    OK(ar_subject_open(&c, &s, &err) == AR_OK, "open");
    if (!s) return;
    ar_subject_run(s);
    ar_subject_run(s);
    OK(ar_subject_finite(s, why, sizeof why), "two walks leave finite gradients");
    OK(!ar_subject_poison(s, 4) && ar_subject_poison(s, 1), "poison the gradient of source 1");
    ar_subject_run(s);
    OK(!ar_subject_finite(s, why, sizeof why) && strstr(why, "gradient of source 1"),
       "it is named: %s", why);
    ar_subject_close(s);
    c.phase = AR_PHASE_1; /* alone it reads dh.h as it stands in the buffers */
    OK(ar_subject_open(&c, &s, &err) == AR_OK, "phase 1 alone");
    ar_subject_run(s);
    OK(ar_subject_finite(s, why, sizeof why), "leaves finite gradients");
    ar_subject_close(s);
    OK(stays_finite(AR_BACKWARD, AR_MHC, AR_FUSED, true) &&
           !stays_finite(AR_BACKWARD, AR_MHC, AR_FUSED, false),
       "mHC backward: 120 repetitions are finite, if each starts anew");
    c = (ar_case){.mechanism = AR_MHC,
                  .form = AR_FUSED,
                  .direction = AR_BACKWARD,
                  .layers = 2,
                  .block = 1,
                  .tokens = 3,
                  .width = 20,
                  .streams = 4,
                  .threads = 2};
    OK(ar_subject_open(&c, &s, &err) == AR_OK && ar_subject_poison(s, 3), "a poisoned stream");
    ar_subject_reset(s);
    ar_subject_run(s);
    OK(!ar_subject_finite(s, why, sizeof why), "is not healed by that: %s", why);
    ar_subject_close(s);
    c.mechanism = AR_BLOCK;
    c.phase = AR_PHASE_1;
    c.form = AR_ONE_PASS;
    OK(!ar_subject_exists(&c, &missing), "one pass has no phases: %s", missing ? missing : "");
    c = (ar_case){.mechanism = AR_MHC, .form = AR_UNFUSED, .direction = AR_BACKWARD, .streams = 4};
    OK(!ar_subject_exists(&c, &missing), "unfused mHC has no backward: %s", missing ? missing : "");
}

/* ---- the cache simulator's files ---- */

static bool write_file(const char *path, const char *text) {
    FILE *out = fopen(path, "w");
    return out && fputs(text, out) >= 0 && fclose(out) == 0;
}

static void test_dump(tap *tap_now) {
    char path[64];
    ar_err err;
    ar_cachesim_traffic t = {0, 0};
    snprintf(path, sizeof path, "/tmp/attnres-test-dump-%ld", (long)getpid());
    write_file(path,
               "version: 1\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw ILdmr DLdmr DLdmw\n"
               "fn=(1) main\n0 1 2 3\ntotals: 9 9 9 9 9 9 1 20 300 4000 50000 600000\n");
    OK(ar_cachesim_read(path, &t, &err) == AR_OK, "a dump is read");
    OK(t.moved_B == 64.0 * 654021 && t.allocated_B == 64.0 * 300, "fills, write-backs; allocated");
    write_file(path, "events: Ir ILmr DLmr DLmw ILdmr DLdmr DLdmw\ntotals: 9 1 2\n");
    OK(ar_cachesim_read(path, &t, &err) == AR_OK && t.moved_B == 64.0 * 3, "zeros may be left out");
    write_file(path, "events: Ir Dr\ntotals: 9 1\n");
    OK(ar_cachesim_read(path, &t, &err) == AR_ERUN && strstr(err.text, "DLmw"), "no such event: %s",
       err.text);
    write_file(path, "");
    OK(ar_cachesim_read(path, &t, &err) == AR_ERUN, "an empty file");
    unlink(path);
    OK(ar_cachesim_read(path, &t, &err) == AR_ERUN, "no file: %s", err.text);
    const ar_case c = {.mechanism = AR_FULL,
                       .layers = 8,
                       .block = 4,
                       .tokens = 100000,
                       .width = 1000,
                       .streams = 4,
                       .threads = 7};
    const ar_case small = ar_cachesim_case(&c);
    OK(small.threads == 1 && small.tokens == 525, "twice the cache: %zu tokens", small.tokens);
    OK(ar_cachesim_check(&small, &err) == AR_OK, "which leave it");
    ar_case tiny = c;
    tiny.tokens = 10;
    OK(ar_cachesim_check(&tiny, &err) == AR_EUSAGE && strstr(err.text, "263"), "10 do not: %s",
       err.text);
}

/* ---- machine ---- */

static void nothing(void *user) {
    (void)user;
}

static void test_machine(tap *tap_now) {
    ar_err err = {{0}};
    ar_host host;
    char note[256];
    double bytes = -1;
    const ar_status status =
        ar_dram_measure("Nobody", nothing, NULL, &bytes, note, sizeof note, &err);
    OK(status == AR_OK ? bytes >= 0 : strstr(err.text, "Tried") && strstr(err.text, "needed"),
       "counters, or why not and what is needed: %s", status == AR_OK ? note : err.text);
    OK(ar_host_read(&host, &err) == AR_OK && host.cores >= 1 && host.cores_per_cache >= 1, "host");
    OK(ar_host_bind(1, &err) == AR_OK || err.text[0], "bind one thread");
    ar_host_unbind(1);
    setenv("HWLOC_SYNTHETIC", "pack:1 l3:2(size=1048576) core:4 pu:1", 1);
    OK(ar_host_read(&host, &err) == AR_OK && host.cores == 8 && host.cores_per_cache == 4,
       "a described machine: %zu cores, %zu a cache", host.cores, host.cores_per_cache);
    OK(ar_host_cache_B(&host, 4) == 1048576 && ar_host_cache_B(&host, 5) == 2097152,
       "5 threads have two caches");
}

int main(void) {
    TAP_START;
    test_interval(tap_now);
    test_timing(tap_now);
    test_roof(tap_now);
    test_counts(tap_now);
    test_counts_back(tap_now);
    test_subject(tap_now);
    test_way_back(tap_now);
    test_dump(tap_now);
    test_machine(tap_now);
    return DONE();
}
