#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_traffic.h"
#include "dram.h"
#include "memory.h"
#include "peak.h"
#include "roof.h"

const char *const ar_traffic_names[] = {"none", "cachesim", "papi", NULL};

enum { SIMULATION_S = 600 }; /* at most, for one case */
enum { CACHES = 4 };         /* a working set of so many caches is beyond them */

static void describe(const ar_case *c, const ar_host *host, ar_bench_row *row) {
    snprintf(row->mechanism, AR_TEXT_MAX, "%s", ar_mechanism_names[c->mechanism]);
    snprintf(row->form, AR_TEXT_MAX, "%s",
             ar_subject_has_forms(c->mechanism) ? ar_form_names[c->form] : "-");
    snprintf(row->dtype, AR_TEXT_MAX, "%s", ar_store_names[c->store]);
    snprintf(row->direction, AR_TEXT_MAX, "%s", ar_direction_names[c->direction]);
    snprintf(row->phase, AR_TEXT_MAX, "%s", ar_phase_names[c->phase]);
    snprintf(row->variant, AR_TEXT_MAX, "%s", ar_ablation_names[c->ablation]);
    row->window = (int64_t)ar_case_window(c);
    snprintf(row->isa, AR_TEXT_MAX, "%s", host->isa);
    snprintf(row->processor, AR_TEXT_MAX, "%s", host->processor);
    row->layers = (int64_t)c->layers;
    row->block = (int64_t)c->block;
    row->blocks = (int64_t)((c->layers - 1) / c->block + 1);
    row->tokens = (int64_t)c->tokens;
    row->width = (int64_t)c->width;
    row->streams = (int64_t)c->streams;
    row->threads = (int64_t)c->threads;
}

/* Bytes of exact-count traffic of one repetition. */
static double exact_B(const ar_case *c, const ar_counts *counts) {
    return counts->exact * (double)c->layers * (double)c->tokens * (double)c->width *
           (double)ar_store_B(c->store);
}

/* ---- size ---- */

/* Buffers for the layers' outputs, as many as make the whole too big for the caches, if
 * memory has room for them. */
static size_t outputs_of(const ar_case *c, double needed_B, double free_B) {
    ar_case more = *c;
    more.outputs = 1;
    const double one = ar_subject_B(&more);
    more.outputs = 2;
    const double each = ar_subject_B(&more) - one;
    if (!(each > 0)) return 1; /* a buffer for each layer as it is */
    const double wanted = 1 + ceil(fmax(0, needed_B - one) / each);
    const double fits = 1 + floor(fmax(0, free_B - one) / each);
    return (size_t)fmin(fmin(wanted, fits), (double)c->layers);
}

static bool check_size(const ar_case *c, const ar_bench_options *options, const ar_host *host,
                       ar_bench_row *row) {
    char text[AR_TEXT_MAX];
    row->set_bytes = ar_subject_B(c);
    row->cache_bytes = ar_host_cache_B(host, c->threads);
    const double needed = row->set_bytes + row->roof_set_bytes, free_B = ar_memory_available_B();
    if (needed > 0.9 * free_B) {
        snprintf(text, sizeof text,
                 "needs %.3g GB (%.3g of them for the roof's arrays), 90 %% of the free memory is "
                 "%.3g GB; give fewer tokens",
                 needed / 1e9, row->roof_set_bytes / 1e9, 0.9 * free_B / 1e9);
        ar_bench_row_fail(row, text);
        return false;
    }
    if (row->set_bytes <= row->cache_bytes && !options->allow_cached) {
        snprintf(text, sizeof text,
                 "the buffers (%.3g MB) fit the last-level cache (%.3g MB by hwloc): this would "
                 "not measure memory; give %.0f tokens or more, or --allow-cached yes",
                 row->set_bytes / 1e6, row->cache_bytes / 1e6,
                 ceil(CACHES * row->cache_bytes / row->set_bytes * (double)c->tokens));
        ar_bench_row_fail(row, text);
        return false;
    }
    if (row->set_bytes < CACHES * row->cache_bytes)
        ar_bench_row_note(row, "MAY BE CACHED: the buffers (set_bytes) are less than 4 x the "
                               "last-level cache that hwloc reports (cache_bytes)");
    if (row->roof_set_bytes < CACHES * row->cache_bytes)
        ar_bench_row_note(row, "ROOF MAY BE CACHED: its arrays (roof_set_bytes) are less than 4 x "
                               "the last-level cache");
    return true;
}

static double roof_set_B(const ar_case *c, const ar_bench_options *options, const ar_host *host) {
    if (options->roof_set_B > 0) return options->roof_set_B;
    const double cache = ar_host_cache_B(host, c->threads);
    const double wanted = cache > 0 ? CACHES * cache : 1e9;
    return fmin(wanted, 0.25 * ar_memory_available_B());
}

/* ---- time ---- */

typedef struct {
    ar_subject *subject;
    ar_roof *roof;
} pair;

static void reset_subject(void *user) {
    ar_subject_reset(((pair *)user)->subject);
}

static void run_subject(void *user) {
    ar_subject_run(((pair *)user)->subject);
}

static void run_roof(void *user) {
    ar_roof_repeat(((pair *)user)->roof);
}

static void fill_time(const ar_case *c, const ar_counts *counts, const ar_timing *timing,
                      const ar_roof *roof, ar_bench_row *row) {
    const double bytes = exact_B(c, counts);
    const double flop = counts->flop * (double)c->layers * (double)c->tokens;
    row->median_s = timing->median_s;
    row->min_s = timing->min_s;
    row->max_s = timing->max_s;
    row->low_s = timing->low_s;
    row->high_s = timing->high_s;
    row->repetitions = (int64_t)timing->repetitions;
    snprintf(row->interval_reached, AR_TEXT_MAX, "%s", timing->reached ? "yes" : "no");
    row->gbytes_s = bytes / timing->median_s / 1e9;
    row->gflops = flop / timing->median_s / 1e9;
    row->intensity = flop / bytes;
    row->roof_percent = 100 * bytes / roof->bytes * timing->ratio;
    row->roof_gbytes_s = roof->bytes / timing->other_s / 1e9;
    snprintf(row->roof_kernel, AR_TEXT_MAX, "%s%s", ar_roof_table[roof->kernel].name,
             roof->stream ? " nt" : "");
    row->peak_gflops = ar_peak_flops(c->threads) / 1e9;
    row->peak_percent = 100 * row->gflops / row->peak_gflops;
}

static ar_status measure_time(const ar_case *c, const ar_counts *counts,
                              const ar_bench_options *options, ar_subject *subject, ar_roof *roof,
                              ar_bench_row *row, ar_err *err) {
    ar_timing timing;
    double *samples = malloc(3 * options->limits.max * sizeof *samples);
    if (!samples) return ar_fail(err, AR_ERUN, "no memory for %zu samples", options->limits.max);
    const ar_timing_work work = {reset_subject, run_subject, run_roof, &(pair){subject, roof}};
    ar_timing_run(&options->limits, &work, samples, &timing);
    fill_time(c, counts, &timing, roof, row);
    free(samples);
    return AR_OK;
}

/* ---- traffic ---- */

static void measure_traffic(const ar_case *c, const ar_counts *counts, ar_traffic_source source,
                            const ar_host *host, ar_subject *subject, ar_bench_row *row) {
    ar_err why = {{0}};
    double bytes = NAN, per = 0;
    ar_status status = AR_OK;
    if (source == AR_TRAFFIC_NONE) return;
    if (source == AR_TRAFFIC_CACHESIM) {
        const ar_case small = ar_cachesim_case(c);
        ar_cachesim_traffic traffic;
        status = ar_bench_cachesim(&small, SIMULATION_S, &traffic, &why);
        per = exact_B(&small, counts) / counts->exact;
        if (status == AR_OK) {
            bytes = traffic.moved_B;
            row->allocate_elements = traffic.allocated_B / per;
        }
        snprintf(row->traffic_note, AR_TEXT_MAX,
                 "valgrind's cache simulator, last level 1 MiB, %zu tokens on one thread",
                 small.tokens);
    } else {
        ar_subject_reset(subject);
        status = ar_dram_measure(host->vendor, run_subject, &(pair){subject, NULL}, &bytes,
                                 row->traffic_note, sizeof row->traffic_note, &why);
        per = exact_B(c, counts) / counts->exact;
    }
    if (status != AR_OK) {
        snprintf(row->traffic_note, AR_TEXT_MAX, "not measured: %.480s", why.text);
        return;
    }
    snprintf(row->traffic, AR_TEXT_MAX, "%s", ar_traffic_names[source]);
    row->measured_elements = bytes / per;
}

/* ---- one case ---- */

static void count(const ar_case *c, ar_counts *counts, ar_bench_row *row) {
    ar_subject_counts(c, counts);
    row->paper_elements = counts->paper;
    row->exact_elements = counts->exact;
    row->fused_elements = counts->fused;
}

/* With the roof open: time, traffic, and what came of it. */
static void measure_subject(const ar_case *c, const ar_counts *counts,
                            const ar_bench_options *options, const ar_host *host, ar_roof *roof,
                            ar_bench_row *row) {
    ar_err err = {{0}};
    char why[AR_TEXT_MAX] = "";
    ar_subject *subject = NULL;
    if (ar_subject_open(c, &subject, &err) != AR_OK) {
        ar_bench_row_fail(row, err.text);
        return;
    }
    ar_subject_publish(subject, &options->sde);
    if (options->poison >= 0 && !ar_subject_poison(subject, (size_t)options->poison))
        ar_bench_row_fail(row, "--poison: the mechanism has no such source");
    if (measure_time(c, counts, options, subject, roof, row, &err) != AR_OK)
        ar_bench_row_fail(row, err.text);
    measure_traffic(c, counts, options->traffic, host, subject, row);
    if (!ar_subject_finite(subject, why, sizeof why)) ar_bench_row_fail(row, why);
    ar_subject_close(subject);
}

static void measure(ar_case *c, ar_counts *counts, const ar_bench_options *options,
                    const ar_host *host, ar_bench_row *row) {
    ar_err err = {{0}};
    ar_roof roof;
    if (ar_subject_error(c, &row->max_rel_error, &row->tolerance, &err) != AR_OK)
        ar_bench_row_fail(row, err.text);
    else if (!(row->max_rel_error <= row->tolerance))
        ar_bench_row_fail(row, "the error against the reference in double is beyond the tolerance");
    if (options->bind && ar_host_bind(c->threads, &err) != AR_OK) ar_bench_row_note(row, err.text);
    if (ar_roof_open(&roof, c->threads, row->roof_set_bytes, &err) != AR_OK) {
        ar_bench_row_fail(row, err.text);
    } else {
        ar_roof_choose(&roof, counts->reads, counts->writes);
        if (c->form == AR_AUTO) { /* what it takes depends on the machine */
            c->balance = row->balance = ar_peak_flops(c->threads) * (double)ar_store_B(c->store) /
                                        roof.Bps[roof.kernel][roof.stream];
            count(c, counts, row);
        }
        measure_subject(c, counts, options, host, &roof, row);
        ar_roof_close(&roof);
    }
    if (options->bind) ar_host_unbind(c->threads);
}

void ar_bench_case(const ar_case *c, const ar_bench_options *options, const ar_host *host,
                   ar_bench_row *row) {
    ar_counts counts;
    const char *why;
    char text[AR_TEXT_MAX];
    ar_bench_row_init(row);
    describe(c, host, row);
    count(c, &counts, row);
    if (!ar_subject_exists(c, &why)) {
        snprintf(row->status, sizeof row->status, "absent");
        snprintf(row->reason, sizeof row->reason, "%s", why);
        return;
    }
    if (c->threads > host->cores) {
        snprintf(text, sizeof text, "%zu threads on %zu cores", c->threads, host->cores);
        ar_bench_row_fail(row, text);
        return;
    }
    row->roof_set_bytes = roof_set_B(c, options, host);
    ar_case spread = *c;
    const double needed = CACHES * ar_host_cache_B(host, c->threads);
    const double room = 0.9 * ar_memory_available_B() - row->roof_set_bytes;
    if (!options->allow_cached) spread.outputs = outputs_of(c, needed, room);
    if (check_size(&spread, options, host, row)) measure(&spread, &counts, options, host, row);
}
