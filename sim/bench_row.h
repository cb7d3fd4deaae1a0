#ifndef AR_BENCH_ROW_H
#define AR_BENCH_ROW_H

/* One line of bench.csv: a mechanism's kernels on this machine. */

#include <stdio.h>

#include "field.h"

/* Elements: of d, per token and layer. Numbers that were not found are NAN and their cells
 * are empty. */
typedef struct {
    char mechanism[AR_TEXT_MAX], form[AR_TEXT_MAX]; /* form "-": the mechanism has one */
    int64_t layers, blocks, tokens, width;
    char dtype[AR_TEXT_MAX];
    int64_t threads;
    double paper_elements, exact_elements, fused_elements, measured_elements;
    double median_s;     /* one walk through the depth, f_l and the head left out */
    double roof_percent; /* exact bytes a second against the roof of the same minutes */
    double gflops, max_rel_error, tolerance;
    char status[AR_TEXT_MAX]; /* ok, failed; absent: no kernels, counts only */
    char reason[AR_TEXT_MAX];
    int64_t block, streams;
    char direction[AR_TEXT_MAX], phase[AR_TEXT_MAX];
    char variant[AR_TEXT_MAX];          /* "none": as published */
    int64_t window;                     /* of a sliding window, else 0 */
    double min_s, max_s, low_s, high_s; /* spread; 99 % confidence interval of the median */
    int64_t repetitions;
    char interval_reached[AR_TEXT_MAX]; /* yes; no: a limit came first */
    double gbytes_s;                    /* exact bytes a second, 1e9 */
    double intensity;                   /* flop a byte, by the exact count */
    char roof_kernel[AR_TEXT_MAX];      /* "triad nt": with non-temporal stores */
    double roof_gbytes_s, peak_gflops, peak_percent;
    double balance;            /* flop in the time of moving one element, which AR_AUTO goes by */
    double allocate_elements;  /* what ordinary stores read first; not in measured_elements */
    char traffic[AR_TEXT_MAX]; /* cachesim, papi, or "" */
    char traffic_note[AR_TEXT_MAX];
    double set_bytes, cache_bytes, roof_set_bytes;
    char notes[AR_TEXT_MAX];
    char isa[AR_TEXT_MAX], processor[AR_TEXT_MAX], machine[AR_TEXT_MAX];
    char version[AR_TEXT_MAX], commit[AR_TEXT_MAX], date[AR_TEXT_MAX];
} ar_bench_row;

void ar_bench_row_init(ar_bench_row *row);

/* Mark as failed; the first reason stays. */
void ar_bench_row_fail(ar_bench_row *row, const char *reason);

/* Add a sentence to the notes. */
void ar_bench_row_note(ar_bench_row *row, const char *note);

void ar_bench_header_write(FILE *out);
void ar_bench_row_write(FILE *out, const ar_bench_row *row);

/* Can rows be written to DIR/bench.csv? Makes DIR. A file with other columns is refused. */
ar_status ar_bench_prepare(const char *dir, ar_err *err);

/* Append and bring it to the disk. */
ar_status ar_bench_append(const char *dir, const ar_bench_row *row, ar_err *err);

#endif
