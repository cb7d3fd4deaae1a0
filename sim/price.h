#ifndef AR_PRICE_H
#define AR_PRICE_H

/* Modelled seconds of a chunk and micro-batch: matrix work over the device's peak
 * (times the efficiency that layers reach), residual bytes (exact account) over its memory
 * bandwidth, and a launch cost for every kernel; the three are added. Backward is twice the
 * forward. */

#include "device.h"
#include "layout.h"

enum { AR_LAYER_KERNELS = 8 }; /* kernels of one layer function: an estimate */

typedef struct {
    double forward_s, backward_s;
    double matrix_s, residual_s, launch_s; /* parts of forward_s; 0 where the user gave a time */
} ar_price;

/* device is not read where the user gave forward_time. */
ar_price ar_price_chunk(const ar_point *point, const ar_device *device, const ar_layout *layout,
                        int32_t c);

#endif
