#ifndef AR_BACK_PASS_H
#define AR_BACK_PASS_H

/* The passes of the backward. Vectors are [T][d] of the storage type; "adds to" reads and
 * writes. Gradients of parameters are summed over tokens, thread by thread, so that their
 * last bits depend on the number of threads; those of vectors do not. All buffers are the
 * caller's, none aliases another. */

#include "pass.h"

/* dot[t] = x . y. Reads 2. */
typedef struct {
    size_t width;
    const void *x, *y;
    float *dot;
} ar_dot;

/* Backward of ar_attend over a part (n) of the sources: the same sources, queries and storage;
 * max, sum [queries][T] the statistics over all sources, dot [queries][T] = dh . h of the whole
 * output h (sigmoid: not read); dh a vector for each query, apart by `vectors`. Adds to
 * grad[i], a vector for each source, and to dquery [queries][d]; with `own`, one query, writes
 * down; with `fixed` adds to dfixed. Reads 2n + queries (own: and 1), writes n (own: and 1). */
typedef struct {
    size_t width;
    void *const *source; /* [n + skip], and grad: see ar_attend */
    const void *open;    /* where not NULL it is the last source, in place of source[n - 1] */
    size_t n, skip;
    const float *query; /* [queries][d] */
    const void *own;    /* or [T][d]: see ar_attend */
    const float *fixed; /* or the weights: source i of query q has fixed[q pitch + i] */
    size_t queries;
    const float *max, *sum, *dot;
    size_t scalars, vectors;
    const void *dh;
    void *const *grad;
    float *dquery; /* [queries][d] */
    void *down;    /* [T][d]: gradient of own */
    float *dfixed; /* as fixed */
    size_t pitch;
    ar_variant variant;
} ar_attend_back;

/* Backward of one layer's attention over its block's partial sum x; also dot = dh . h of the
 * layer's whole output. Reads dh, h and x, adds to grad (x's) and to dquery: reads 4, writes
 * 1. Sigmoid reads no h and writes no dot: 3 and 1. */
typedef struct {
    size_t width;
    const void *dh, *h, *x;
    const float *query, *max, *sum;
    float *dot;
    void *grad;
    float *dquery;
    ar_variant variant;
} ar_partial_back;

/* Backward of ar_gate. With G the gradient of its output, grad plus, where not NULL, dh:
 * dv = g G, and grad becomes that of h: (1 - g) G plus what comes through the gate. Element-wise
 * gates: dgate = the gradient of their logits; reads 4, writes 3. Scalar: adds to dquery; reads
 * 3, writes 2. dh: one more read. */
typedef struct {
    size_t width;
    void *grad;
    const void *dh, *h, *v, *gate;
    const float *query;
    void *dv, *dgate;
    float *dquery;
    bool stream;
} ar_gate_back;

/* Backward of (m)HC, see hc.c; grad are the gradients of the streams.
 * Where v is not NULL, layer `done` with output v and gradient dh of its input: grad, until
 * then of the streams that it left, becomes that of `past`, the streams that it read; adds
 * to dp [m + 2][d] and db. Reads 2m + 2, writes m.
 * Then, where dv is not NULL, dv = the gradient of the output of the layer that read `next`
 * with projections next_p and biases next_b. Reads m (without v 2m), writes 1. */
typedef struct {
    size_t width, streams;
    void *const *grad;
    void *const *past, *const *next;
    const void *v, *dh;
    const float *past_p, *past_b, *next_p, *next_b;
    void *dv;
    float *dp, *db;
    bool manifold, stream;
} ar_streams_back;

void ar_pass_dot(const ar_depth *m, const ar_dot *dot);
void ar_pass_attend_back(const ar_depth *m, const ar_attend_back *back);
void ar_pass_partial_back(const ar_depth *m, const ar_partial_back *back);
void ar_pass_gate_back(const ar_depth *m, const ar_gate_back *back);
void ar_pass_streams_back(const ar_depth *m, const ar_streams_back *back);

/* Floats of scratch that any of them needs, of each thread: so many queries (attend_back), n
 * sources (its fixed weights; else 0), streams (streams_back; else 0). */
size_t ar_back_pass_scratch(size_t width, size_t queries, size_t n, size_t streams);

#endif
