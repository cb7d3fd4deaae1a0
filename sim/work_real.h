#ifndef AR_WORK_REAL_H
#define AR_WORK_REAL_H

/* Real work: the forward kernels on real tensors, stored and sent as fp32 or bf16; the
 * layers and their weights are fp32. Weights, queries and inputs are pure functions of the
 * point's seed, so every rank makes its own. */

#include "mechanism.h"
#include "work.h"

typedef struct ar_real ar_real;

/* Weights of this rank's layers, buffers, tables. Where the engine simulates time
 * and forward_s is not NULL, each chunk is measured here (median of three runs, times speed_ratio)
 * and forward_s[chunk] is set to what a compute then charges. */
ar_status ar_real_open(const ar_point *point, const ar_layout *layout, int32_t rank,
                       double *forward_s, ar_real **real, ar_err *err);
void ar_real_close(ar_real *real);

ar_work ar_work_real(ar_real *real);

/* The whole model on one micro-batch, where the layout has a single chunk; valid
 * until the next call. [T][d] as stored. */
const void *ar_real_forward(ar_real *real, int64_t microbatch);

/* Output of a micro-batch, [T][d] as stored, on the rank of the last chunk; else NULL. */
const void *ar_real_output(const ar_real *real, int64_t microbatch);

#endif
