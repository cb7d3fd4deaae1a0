/* attnres bench: the mechanisms' kernels against the machine's roof. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "bench_options.h"
#include "cachesim.h"
#include "cmd.h"

static void help(void) {
    printf("Usage: attnres bench [option ...]\n\n"
           "Walk through the depth with each mechanism's kernels, the layer functions and the\n"
           "output head left out: time, share of the memory roof of the same minutes (STREAM-type\n"
           "kernels, run in turn with the subject), memory traffic by the paper's count, by the\n"
           "exact count, of the best fused kernels, and measured. Elements are of d, per token\n"
           "and layer. LISTs are values with commas between: every combination is measured.\n"
           "A PAPI tool in this process can read what the kernels move, by the exact count:\n"
           "sde:::attnres::LOADED_BYTES, STORED_BYTES, PASSES (needs libsde, part of PAPI).\n\n"
           "Options:\n");
    ar_fields_help(&ar_bench_fields, stdout);
}

static void print_titles(void) {
    printf("%-11s %-9s %-14s %-5s %-5s %4s %3s %6s %5s %3s %6s %6s %6s %8s %9s %6s %7s %6s %s\n",
           "mechanism", "form", "variant", "phase", "dtype", "L", "S", "T", "d", "thr", "paper",
           "exact", "fused", "measured", "median", "roof", "gflop/s", "error", "status");
}

static void cell(int width, const char *format, double value, const char *unit) {
    char text[64] = "-";
    if (!isnan(value)) snprintf(text, sizeof text, format, value);
    if (!isnan(value)) strncat(text, unit, sizeof text - strlen(text) - 1);
    printf(" %*s", width, text);
}

static void print_row(const ar_bench_row *row) {
    printf("%-11s %-9s %-14s %-5s %-5s %4lld %3lld %6lld %5lld %3lld", row->mechanism, row->form,
           row->variant, row->phase, row->dtype, (long long)row->layers, (long long)row->block,
           (long long)row->tokens, (long long)row->width, (long long)row->threads);
    cell(6, "%.2f", row->paper_elements, "");
    cell(6, "%.2f", row->exact_elements, "");
    cell(6, "%.2f", row->fused_elements, "");
    cell(8, "%.3f", row->measured_elements, "");
    cell(9, "%.2f", 1e3 * row->median_s, " ms");
    cell(6, "%.1f", row->roof_percent, "%");
    cell(7, "%.2f", row->gflops, "");
    cell(6, "%.0e", row->max_rel_error, "");
    printf(" %s%s%s\n", row->status, row->reason[0] ? ": " : "", row->reason);
    fflush(stdout);
}

/* What a reader must know before believing a row. */
static void talk(const ar_bench_row *row) {
    const char *form = row->form[0] == '-' ? "" : row->form;
    if (row->notes[0]) fprintf(stderr, "attnres: %s %s: %s\n", row->mechanism, form, row->notes);
    if (row->traffic_note[0] && isnan(row->measured_elements))
        fprintf(stderr, "attnres: %s %s: traffic %s\n", row->mechanism, form, row->traffic_note);
}

static ar_bench_options options_of(const ar_bench_asked *asked) {
    const int64_t min = asked->min_repetitions, max = asked->max_repetitions;
    return (ar_bench_options){.limits = {.min = (size_t)min,
                                         .max = (size_t)(max < min ? min : max),
                                         .limit_s = asked->time_limit,
                                         .interval = asked->interval / 100},
                              .traffic = (ar_traffic_source)asked->traffic,
                              .allow_cached = asked->allow_cached,
                              .bind = asked->bind,
                              .poison = asked->poison,
                              .roof_set_B = asked->roof_set,
                              .sde = ar_sde_open()};
}

static ar_status measure_all(const ar_bench_asked *asked, const ar_bench_sweep *sweep,
                             ar_err *err) {
    const ar_bench_options options = options_of(asked);
    ar_bench_row row;
    ar_host host;
    size_t failed = 0, rows = 0;
    ar_status status = ar_host_read(&host, err);
    if (status == AR_OK && asked->output[0]) status = ar_bench_prepare(asked->output, err);
    if (status != AR_OK) return status;
    asked->format ? ar_bench_header_write(stdout) : print_titles();
    for (size_t i = 0; status == AR_OK && i < ar_bench_sweep_count(sweep); i++) {
        ar_case c;
        if (!ar_bench_sweep_case(sweep, i, &c)) continue;
        ar_bench_case(&c, &options, &host, &row);
        rows++;
        failed += strcmp(row.status, "failed") == 0 ||
                  (sweep->named && strcmp(row.status, "absent") == 0);
        asked->format ? ar_bench_row_write(stdout, &row) : print_row(&row);
        talk(&row);
        if (asked->output[0]) status = ar_bench_append(asked->output, &row, err);
    }
    if (status == AR_OK && rows == 0)
        return ar_fail(err, AR_EUSAGE,
                       "--form, --phase, --variant, --direction: none of these mechanisms has it");
    if (status != AR_OK || failed == 0) return status;
    return ar_fail(err, AR_ERUN, "%zu of %zu rows failed; each says why", failed, rows);
}

ar_status ar_cmd_bench(int argc, char **argv, ar_err *err) {
    ar_bench_asked asked = {0};
    ar_bench_sweep sweep;
    int wants_help = 0;
    ar_fields_defaults(&ar_bench_fields, &asked);
    const ar_arguments arguments = {&ar_bench_fields, &asked, NULL};
    ar_status status = ar_arguments_read(&arguments, argc, argv, 0, &wants_help, err);
    if (status != AR_OK) return status;
    if (wants_help) {
        help();
        return AR_OK;
    }
    status = ar_bench_sweep_read(&asked, &sweep, err);
    return status == AR_OK ? measure_all(&asked, &sweep, err) : status;
}

ar_status ar_cmd_cachesim_subject(int argc, char **argv, ar_err *err) {
    return ar_cachesim_subject(argc, argv, err);
}
