#ifndef AR_SUBJECT_BACK_H
#define AR_SUBJECT_BACK_H

/* The backward of a subject: buffers, a walk, and its gradients against those in double. For
 * subject*.c. */

#include "backward.h"
#include "subject.h"

/* One micro-batch's way back. What the forward keeps for a layer lies in one of `kept`
 * buffers, in turn. */
typedef struct {
    const ar_backward *kernels;
    ar_depth depth;
    ar_back back;
    size_t sources, grads, kept;
    void **list;    /* owned: the pointers of depth and back */
    void *memory;   /* owned: all vectors */
    float *numbers; /* owned: statistics, coefficients, their gradients, scratch */
    size_t vectors; /* in memory, vector_B apart */
    char *dh;       /* in it: `turns` buffers for the gradients of inputs, in turn */
    size_t turns, vector_B;
} ar_way_back;

/* Distinct buffers of what a layer keeps when a walk is timed. A real run has one for each
 * layer; two do as well, since a vector is larger than the caches. */
enum { AR_KEPT_TIMED = 2 };

/* Numbers are 0, but for coefficients and statistics; vectors are not set. query is kept. False:
 * no memory. */
bool ar_way_back_open(const ar_case *c, const float *query, size_t kept, ar_way_back *way);
void ar_way_back_close(ar_way_back *way);

/* Bytes of its buffers. */
double ar_way_back_B(const ar_case *c);

/* See ar_subject_reset: mHC's gradients grow from layer to layer, with numbers that nobody
 * trained. */
void ar_way_back_reset(const ar_case *c, ar_way_back *way);

/* All layers with f_l's backward left out: dh is what stands in the buffers. Phase 1 is the pass
 * over the sources finished before a segment, for all its layers, with the dot in the buffers;
 * phase 2 all else. */
void ar_way_back_run(ar_way_back *way, ar_phase phase);

/* In vectors of d per token; flop in multiples of d. */
typedef struct {
    double reads, writes, flop;
} ar_cost;

/* Of all layers together, or of the case's phase; and the least that they must move: see
 * ar_counts. */
ar_cost ar_way_back_cost(const ar_case *c);
double ar_way_back_fused(const ar_case *c);

/* As ar_subject_error, of all gradients, each kind (those of vectors, of queries, ...) relative to
 * its largest. */
ar_status ar_way_back_error(const ar_case *c, double *error, double *tolerance, ar_err *err);

#endif
