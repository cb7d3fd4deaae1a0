#ifndef AR_COEFFICIENTS_H
#define AR_COEFFICIENTS_H

/* What training or the layers would give a mechanism besides queries: pure functions of
 * the case, so that kernels and reference get the same. */

#include "subject.h"

/* Floats of ar_depth's mix and bias; 0 where the mechanism has none. */
size_t ar_mix_count(const ar_case *c);
size_t ar_bias_count(const ar_case *c);
void ar_coefficients_fill(const ar_case *c, float *mix, float *bias);

/* Do layers leave to the next one more than their output? What layer l leaves, [T][d] (0:
 * before the first): Highway: its gates' logits; own queries: those of layer l + 1. */
bool ar_case_has_gates(const ar_case *c);
void ar_gate_fill(const ar_case *c, size_t l, float *gate);

#endif
