#ifndef AR_REFERENCE_BACK_H
#define AR_REFERENCE_BACK_H

/* The walk through the whole depth with given layer outputs, in double, and its gradients,
 * token by token from the definitions: the oracle of the backward kernels. */

#include "mechanism.h"

/* One micro-batch, all the caller's. block is S (Block; else not read). Parameters are as in
 * ar_depth. */
typedef struct {
    ar_mechanism_id id;
    size_t layers, block, tokens, width, streams;
    ar_variant variant;
    const double *x, *v; /* [T][d] embedding; [L][T][d] outputs of the layers */
    const double *gate;  /* [L][T][d] Highway's gates after layer l; own_query: l's queries */
    const float *query, *mix, *bias;
} ar_reference_walk;

/* Gradients, added to; NULL: not wanted (but for x and v). */
typedef struct {
    double *x, *v, *gate, *query, *mix, *bias;
} ar_reference_grads;

/* Doubles of scratch. */
size_t ar_reference_walk_scratch(const ar_reference_walk *walk);

/* h [L+1][T][d]: inputs of the layers, and the output. */
void ar_reference_walk_forward(const ar_reference_walk *walk, double *h, double *scratch);

/* From dh [L+1][T][d], gradients of those. */
void ar_reference_walk_backward(const ar_reference_walk *walk, const double *dh,
                                const ar_reference_grads *grads, double *scratch);

#endif
