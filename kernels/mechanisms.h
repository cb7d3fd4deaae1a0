#ifndef AR_MECHANISMS_H
#define AR_MECHANISMS_H

/* The kernels behind ar_mechanism_find, one file each. */

#include "mechanism.h"

extern const ar_mechanism ar_standard, ar_highway, ar_denseformer, ar_mhc_fused, ar_mhc_unfused;
extern const ar_mechanism ar_block_two_phase, ar_block_one_pass, ar_block_auto;
extern const ar_mechanism ar_full_two_phase, ar_full_one_pass;

#endif
