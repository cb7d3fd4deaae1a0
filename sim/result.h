#ifndef AR_RESULT_H
#define AR_RESULT_H

/* What a point's run found, and the row of results.csv that says so. */

#include "point.h"

typedef struct {
    /* found by the run; NAN: not measured */
    double step_s, step_min_s, step_max_s; /* median and spread over the repetitions */
    double standard_step_s;                /* the same point with the standard residual */
    double overhead_percent;               /* step against standard_step */
    double compute_s;                      /* a rank computes, mean over ranks */
    double free_s;                         /* critical path of the plan, communication free: F */
    double bound_s;                        /* critical path without contention */
    double exposed_comm_s;                 /* step - F */
    double bubble_percent;                 /* share of F in which a rank does not compute */
    double sent_bytes, planned_bytes, messages; /* of one step; counted, planned */
    double hop_blocks, hop_partial, hop_vectors, formula_vectors, peak_hop_vectors;
    double peak_hop_bytes, peak_cache_bytes, peak_activation_bytes, peak_message_bytes;
    double paper_elements, exact_elements; /* memory I/O, of d per token and layer */
    double layer_flop;                     /* of f_l forward, per token */
    double max_rel_error, tolerance;       /* against the double-precision reference */
    char bitwise_equal[AR_TEXT_MAX];       /* to a single-process run: yes, no, or "" */
    double engine_wall_s, engine_peak_bytes;
    /* provenance */
    char status[AR_TEXT_MAX]; /* ok or failed */
    char reason[AR_TEXT_MAX];
    char timeline[AR_TEXT_MAX]; /* file beside results.csv */
    char engine[AR_TEXT_MAX], engine_version[AR_TEXT_MAX], engine_settings[AR_TEXT_MAX];
    char version[AR_TEXT_MAX], commit[AR_TEXT_MAX], machine[AR_TEXT_MAX], date[AR_TEXT_MAX];
} ar_result;

extern const ar_fields ar_result_fields;

void ar_result_init(ar_result *result);

/* Mark as failed. The first reason stays. */
void ar_result_fail(ar_result *result, const char *reason);

/* Exchange between the rank program and the front door: an INI file, complete or
 * absent (written beside, then renamed). */
ar_status ar_result_write(const ar_result *result, const char *path, ar_err *err);
ar_status ar_result_read(const char *path, ar_result *result, ar_err *err);

/* Version, commit, machine, date. */
void ar_result_provenance(ar_result *result);

/* Append the row to DIR/results.csv, with the header when the file is new, and
 * bring it to the disk. The directory is made where it is missing. A file with
 * other columns is refused. */
ar_status ar_row_append(const char *dir, const ar_point *point, const ar_result *result,
                        ar_err *err);

/* A name for a timeline that no file in DIR has: timeline-1.csv, ... */
ar_status ar_timeline_name(const char *dir, char *name, size_t size, ar_err *err);

/* Can rows be written there? Asked before anything is started. */
ar_status ar_row_prepare(const char *dir, ar_err *err);

#endif
