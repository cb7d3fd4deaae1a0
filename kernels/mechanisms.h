#ifndef AR_MECHANISMS_H
#define AR_MECHANISMS_H

/* The kernels behind ar_mechanism_find and ar_backward_find, one file each. */

#include "backward.h"
#include "mechanism.h"

extern const ar_mechanism ar_standard, ar_highway, ar_denseformer, ar_mhc_fused, ar_mhc_unfused;
extern const ar_mechanism ar_block_two_phase, ar_block_one_pass, ar_block_auto;
extern const ar_mechanism ar_full_two_phase, ar_full_one_pass;

extern const ar_backward ar_standard_back, ar_highway_back, ar_denseformer_back, ar_mhc_back;
extern const ar_backward ar_block_two_phase_back, ar_block_one_pass_back, ar_block_auto_back;
extern const ar_backward ar_full_two_phase_back, ar_full_one_pass_back;

#endif
