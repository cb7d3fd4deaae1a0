#ifndef AR_MIXING_H
#define AR_MIXING_H

/* The depth mixing matrix M: h_l = sum over i < l of M[l][i] v_i, with v_0 the embedding.
 * Source: paper, section 6.2. Row l = 1..L is stored as row l - 1; column i = 0..L-1;
 * entries with i >= l are 0. m: [L][L], row by row, the caller's.
 *
 * From the running kernels. M depends on the input, since the weights do, and keys and
 * values are the same vectors: values cannot be perturbed with the weights held. So every
 * v_i is given two parts that do not meet:
 *     v_i = [ k_i | e_i ],  query w_l = [ q_l | 0 ]
 * k_i and q_l random, e_i the i-th unit vector, in components where every query is zero.
 * A logit w . RMSNorm(v) then sees e_i only through the norm, which is the same constant
 * for every v_i: the weights are those of one fixed random input. The second part of h_l is
 * M's row l, read off. It holds for every mechanism that mixes whole vectors, and for sums
 * of sources (blocks), whose second part is the sum of their unit vectors. One token. */

#include "err.h"
#include "subject.h"

/* By the kernels of c (mechanism, form, L, S, m; c's tokens and width do not matter).
 * Refused: there are none, or no memory. */
ar_status ar_mixing_from_kernels(const ar_case *c, double *m, ar_err *err);

/* By the definition, in double, with random weights as the mechanism allows them:
 * standard; Highway g in (0, 1); DenseFormer a_{i,l} of any sign; mHC with doubly
 * stochastic A; Full and Block from ar_subject_reference on the same input as above. */
ar_status ar_mixing_from_definition(const ar_case *c, double *m, ar_err *err);

/* What the blocks on and below the diagonal say: rows l >= k, columns i < k. */
typedef struct {
    size_t rank; /* the largest numerical rank: M's semiseparable rank */
    bool full;   /* every one has the full rank of its shape: nothing is shared */
    double kept; /* smallest singular value that counted, over the largest of its block */
    double cut;  /* largest one that did not; 0: there was none */
} ar_mixing_rank;

/* A singular value counts when it is above `noise` times the largest of its block. */
ar_status ar_mixing_rank_find(size_t layers, const double *m, double noise, ar_mixing_rank *rank,
                              ar_err *err);

/* The rank that the definition gives: 1; (m)HC min(m, ceil(L/2)); a matrix without
 * structure ceil(L/2), the side of its largest square block; Block the number of different
 * columns, a block of layers being one, where there are rows enough. */
size_t ar_mixing_rank_expected(const ar_case *c);

/* The paper's table: "1", "m", "L", "N..N+S" in numbers, and whether the rank agrees. The
 * paper's L says "no structure": that is `full`. Its N..N+S bounds what a layer attends
 * over; where S is
 * so small that no block of M shows all columns, the expected rank takes N's place. */
bool ar_mixing_rank_agrees(const ar_case *c, const ar_mixing_rank *rank, char *paper, size_t size);

#endif
