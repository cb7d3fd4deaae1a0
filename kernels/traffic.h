#ifndef AR_TRAFFIC_H
#define AR_TRAFFIC_H

/* Memory I/O of the residual mechanisms, f_l's own traffic left out, in vectors
 * of d per token ("elements of d"). */

#include "mechanism.h"

/* The paper's count (Table 1), per layer: standard 3; mHC 8m + 2 + (2m^2 + 4m)/d;
 * Full two-phase S + N; Block two-phase N/S + 5, with N = ceil(L/S). NAN where
 * the paper gives none (Highway, DenseFormer, one-pass forms). */
double ar_traffic_paper(ar_mechanism_id id, ar_form form, size_t layers, size_t block,
                        size_t streams, size_t width);

/* The exact count of what the kernels load and store for layers first..last as
 * one chunk, in vectors of d per token: each pass over a vector counted once by
 * the kernel that makes it. Chunk ends inside a block cost what they cost. For Full,
 * block is the group S that is answered together. last beyond L counts to L.
 * Full in a chunk that starts inside a group reads the group's own sources once for
 * each layer. Highway with element-wise gates; mHC fused where form says so, else
 * unfused. AUTO: by bytes. first > last: 0. */
double ar_traffic_exact(ar_mechanism_id id, ar_form form, size_t layers, size_t block,
                        size_t streams, size_t first, size_t last);

/* The same of the backward kernels (backward.h), softmax, f_l's gradients given: gradients of
 * vectors, dh and what the forward kept are vectors as any other. DenseFormer, whose backward
 * goes in groups, takes block as Full does. Standard 3 for each layer; for a segment of s layers:
 *     Highway                  8s + 2
 *     mHC fused                s (4m + 3) + m
 *     Full, from layer f on    3f + 6s - 3 + s(s - 1)/2    (one-pass: a segment is the chunk)
 *     DenseFormer              2s less
 *     Block n two-phase, auto  3n + 3s + 3p, p of the s layers with a partial sum before them
 *     Block n one-pass         s (3n + 3) + 3p
 * NAN: no kernels (unfused mHC). */
double ar_traffic_backward(ar_mechanism_id id, ar_form form, size_t layers, size_t block,
                           size_t streams, size_t first, size_t last);

/* The form that Block's `auto` takes for block n of S layers: that which takes less time,
 * time being vectors moved, or in phase 1 flop / balance if that is more. balance: flops
 * the machine does while it moves one element; 0: count bytes only. */
ar_form ar_traffic_auto(size_t block, size_t n, double balance);

/* The output head: one pass over all N sources and the embedding, and its output: N + 2.
 * 0 for the stream mechanisms (mHC's collapse of its m streams is left out). */
double ar_traffic_head(ar_mechanism_id id, size_t layers, size_t block);

/* Kernels started for layers first..last as one chunk by the residual mechanism, the
 * head not counted: one for each phase 1, input() and finish() that moves something. */
size_t ar_traffic_launches(ar_mechanism_id id, ar_form form, size_t block, size_t first,
                           size_t last);

#endif
