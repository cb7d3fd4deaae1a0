#ifndef AR_SUBJECT_WALK_H
#define AR_SUBJECT_WALK_H

/* The forward of a subject: one micro-batch's buffers, and a walk through all layers. */

#include "subject.h"

typedef struct {
    ar_depth depth;
    void *memory;   /* owned: all vectors of depth */
    char *v;        /* in it: the layers' outputs */
    float *numbers; /* owned: statistics, scratch and coefficients */
    void *source[];
} ar_walk;

/* Vectors that attention or streams are read from, and all that a walk holds. */
size_t ar_walk_sources(const ar_case *c);
size_t ar_walk_vectors(const ar_case *c);

/* Buffers for a case, its coefficients filled, its vectors not; query: [L+1][d], the caller's.
 * NULL: no memory. */
ar_walk *ar_walk_open(const ar_case *c, const float *query);
void ar_walk_close(ar_walk *walk); /* NULL: nothing */

/* See ar_subject_reset and ar_subject_run. */
void ar_walk_reset(const ar_case *c, ar_walk *walk);
void ar_walk_run(const ar_mechanism *mechanism, const ar_case *c, ar_walk *walk);

#endif
