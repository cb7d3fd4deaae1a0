#ifndef AR_DEVICE_H
#define AR_DEVICE_H

/* A device: what one accelerator can do. Rates are per device and one direction. */

#include "err.h"
#include "field.h"

typedef struct {
    char name[AR_TEXT_MAX];
    double memory_Bps;     /* of the data sheet */
    double matrix_flops;   /* flop/s, dense bf16, of the data sheet */
    double measured_flops; /* the best that was measured; 0: not known */
    double memory_B;
    double link_Bps;        /* scale-up, all links together */
    double nic_Bps;         /* scale-out; 0: not known */
    double kernel_launch_s; /* an estimate */
} ar_device;

/* The keys of section [device]. */
extern const ar_fields ar_device_fields;

/* Load a device by name ("h100-sxm") or path; bad: status of a name that is not
 * known. *device is set on success only. */
ar_status ar_device_load(const char *name_or_path, ar_device *device, ar_status bad, ar_err *err);

/* The matrix rate to reckon with: measured where known, else the data sheet's. */
double ar_device_matrix_flops(const ar_device *device);

#endif
