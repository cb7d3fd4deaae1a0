#ifndef AR_BENCH_OPTIONS_H
#define AR_BENCH_OPTIONS_H

/* The options of attnres bench: which cases, in which order, and how to measure them. */

#include "bench.h"

enum { AR_LIST_MAX = 64 };

/* As users give them: lists are text, "1024,2048". */
typedef struct {
    char mechanism[AR_TEXT_MAX], form[AR_TEXT_MAX], phase[AR_TEXT_MAX];
    char variant[AR_TEXT_MAX], dtype[AR_TEXT_MAX], direction[AR_TEXT_MAX];
    char layers[AR_TEXT_MAX], block[AR_TEXT_MAX], tokens[AR_TEXT_MAX], width[AR_TEXT_MAX];
    char streams[AR_TEXT_MAX], threads[AR_TEXT_MAX];
    int traffic, allow_cached, bind, format;
    int64_t min_repetitions, max_repetitions, poison, window;
    double time_limit, interval, roof_set;
    char output[AR_TEXT_MAX];
} ar_bench_asked;

typedef struct {
    size_t value[AR_LIST_MAX], count;
} ar_list;

typedef struct {
    ar_list mechanism, form, phase, variant, dtype, direction; /* indices of names */
    bool named;    /* mechanisms were named, not "all" */
    size_t window; /* of the sliding windows */
    ar_list layers, block, tokens, width, streams, threads;
} ar_bench_sweep;

extern const ar_fields ar_bench_fields;

/* Read the lists. AR_EUSAGE: an unknown name, a number out of range, too many values. */
ar_status ar_bench_sweep_read(const ar_bench_asked *asked, ar_bench_sweep *sweep, ar_err *err);

/* How many cases; and case i of them, in an order that keeps the forms of one mechanism
 * together. false: the combination says nothing new (a form or phase that the mechanism
 * does not have) and is to be passed over. */
size_t ar_bench_sweep_count(const ar_bench_sweep *sweep);
bool ar_bench_sweep_case(const ar_bench_sweep *sweep, size_t i, ar_case *c);

#endif
