#include "device.h"

#include <stddef.h>

#include "data.h"

/* An optional quantity has an empty fallback and stays 0 when it is not given. */
#define RATE(key, unit, member, low, high, fallback, help)                                         \
    {                                                                                              \
        key, AR_FIELD_QUANTITY, unit, offsetof(ar_device, member), low, high, NULL, fallback,      \
            NULL, help                                                                             \
    }

static const ar_field fields[] = {
    {"name", AR_FIELD_TEXT, AR_UNIT_NONE, offsetof(ar_device, name), 0, 0, NULL, NULL, NULL,
     "full name of the device"},
    RATE("memory_bandwidth", AR_UNIT_BPS, memory_Bps, 1e6, 1e15, NULL, "memory, data sheet"),
    RATE("matrix_peak", AR_UNIT_FLOPS, matrix_flops, 1e9, 1e18, NULL,
         "matrix operations, dense bf16, data sheet"),
    RATE("matrix_measured", AR_UNIT_FLOPS, measured_flops, 1e9, 1e18, "",
         "matrix operations, the best measured; optional"),
    RATE("memory_capacity", AR_UNIT_B, memory_B, 1e6, 1e15, NULL, "memory, bytes"),
    RATE("link_bandwidth", AR_UNIT_BPS, link_Bps, 1e6, 1e15, NULL,
         "scale-up links together, one direction"),
    RATE("nic_bandwidth", AR_UNIT_BPS, nic_Bps, 1e6, 1e15, "",
         "network card, one direction; optional"),
    RATE("kernel_launch", AR_UNIT_S, kernel_launch_s, 1e-9, 1, NULL, "launch of one kernel"),
};

const ar_fields ar_device_fields = {fields, sizeof fields / sizeof *fields, "device"};

ar_status ar_device_load(const char *name_or_path, ar_device *device, ar_status bad, ar_err *err) {
    char path[4096];
    ar_device read = {0};
    ar_status status = ar_data_find("devices", name_or_path, ".ini", path, sizeof path, err, bad);
    if (status == AR_OK) status = ar_fields_read(&ar_device_fields, path, &read, NULL, err);
    if (status == AR_OK) *device = read;
    return status;
}

double ar_device_matrix_flops(const ar_device *device) {
    return device->measured_flops > 0 ? device->measured_flops : device->matrix_flops;
}
