#ifndef AR_POINT_H
#define AR_POINT_H

/* A point is one question: this model, this residual mechanism, these ranks, this
 * schedule, this cache, this hardware. Every step after it is a pure function of it. */

#include <stdbool.h>
#include <stdint.h>

#include "field.h"
#include "mechanism.h"

typedef enum { AR_CACHE_NONE, AR_CACHE_RECEIVED, AR_CACHE_OWN, AR_CACHES } ar_cache;
typedef enum { AR_GPIPE, AR_1F1B, AR_INTERLEAVED } ar_schedule;
typedef enum { AR_FORWARD_ONLY, AR_TRAIN } ar_pass;
typedef enum { AR_REMAINDER_FIRST, AR_REMAINDER_LAST } ar_remainder;
typedef enum { AR_MODELLED, AR_REAL } ar_compute;
typedef enum { AR_EXPLICIT, AR_ENGINE_DEFAULT } ar_engine_model;

typedef struct {
    /* the model */
    char model[AR_TEXT_MAX]; /* a name or file; fills what is not given below */
    int64_t layers, unit, block, width, streams, tokens;
    int dtype;
    int embedding; /* 1: the embedding is a source that travels */
    int mechanism, form;
    /* the pipeline */
    int cache;
    int64_t stages, virtual_stages, microbatches;
    int schedule;
    char split[AR_TEXT_MAX]; /* units per chunk, "" for even */
    int remainder, pass;
    int64_t prefetch; /* receives are posted this many computes ahead; 0: blocking */
    /* the hardware */
    char device[AR_TEXT_MAX], platform[AR_TEXT_MAX], hosts[AR_TEXT_MAX];
    int64_t host_stride, tensor_parallel;
    int compute;
    double forward_time_s, backward_time_s; /* of a chunk; 0: from the roofline */
    double efficiency;                      /* share of the matrix peak that layers reach */
    double speed_ratio;                     /* simulated real compute: times measured here */
    int engine_model;
    /* the run */
    int64_t repetitions, seed;
    int trace;
    int bind; /* run: one core for each rank, where there are enough */
    double time_limit_s;

    /* Not fields: what the model file adds. */
    double layer_flop; /* forward, per token, mean of the layers */
    char layer_flop_source[64];
    /* Where values came from, for messages and exit codes. */
    uint64_t set;  /* bit i: field i was given */
    ar_status bad; /* status of a bad combination: AR_EUSAGE or AR_EINPUT */
} ar_point;

extern const ar_fields ar_point_fields;

void ar_point_init(ar_point *point);

/* Set one field by name from a user's text. Twice the same: refused. */
ar_status ar_point_set(ar_point *point, const char *name, const char *text, const char *where,
                       ar_err *err);

/* Load the model file, fill what was not given, and check every combination that
 * needs no platform. Nothing is allocated. */
ar_status ar_point_complete(ar_point *point, ar_err *err);

/* Did the user set this field? */
bool ar_point_given(const ar_point *point, const char *name);

/* Say on stderr what a legal point implies that its user may not expect. */
void ar_point_notes(const ar_point *point);

size_t ar_dtype_B(int dtype);
extern const char *const ar_cache_names[];

#endif
