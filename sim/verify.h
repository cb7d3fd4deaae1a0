#ifndef AR_VERIFY_H
#define AR_VERIFY_H

/* What a pipeline of real kernels must have computed. */

#include "work_real.h"

typedef struct {
    bool bitwise_equal;   /* every micro-batch, to a run of all layers in one chunk */
    double max_rel_error; /* micro-batch 0, first tokens, against the reference in double */
    double tolerance;     /* fp32: 32 L 2^-24; bf16, whose roundings to 8 bits add up like a
                             random walk: (1 + sqrt L) 2^-7 */
} ar_verdict;

/* On the rank of the last chunk, after a run. Needs one layer's weights and the
 * tensors of one micro-batch. */
ar_status ar_verify(const ar_point *point, const ar_real *real, ar_verdict *verdict, ar_err *err);

#endif
