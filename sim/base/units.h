#ifndef AR_UNITS_H
#define AR_UNITS_H

/* Quantities with units, as users write them: "450 GB/s", "2 us", "16 Ki". */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    AR_UNIT_NONE, /* plain number */
    AR_UNIT_S,    /* s, ms, us, ns */
    AR_UNIT_B,    /* B, kB, MB, GB, TB, KiB, MiB, GiB, TiB */
    AR_UNIT_BPS,  /* bytes per second: B/s .. TB/s, and bits: Mb/s, Gb/s, Tb/s */
    AR_UNIT_FLOPS /* flop per second: GFLOP/s, TFLOP/s, PFLOP/s */
} ar_unit;

/* Parse text as a quantity in SI base units. Space between number and unit is
 * optional; nothing may follow. Numbers that are not finite are refused. On
 * failure *reason says why ("missing unit") and *value is unchanged. */
bool ar_quantity_parse(ar_unit unit, const char *text, double *value, const char **reason);

/* Parse a whole number with an optional suffix k, M, G, Ki, Mi, Gi. */
bool ar_count_parse(const char *text, int64_t *value, const char **reason);

/* An example of the unit, for messages: "4.8 TB/s". */
const char *ar_unit_example(ar_unit unit);

/* Write value with full precision and its base unit: "450000000000 B/s". */
void ar_quantity_format(ar_unit unit, double value, char *text, size_t size);

/* Write value for people, three digits and a prefix: "450 GB/s", "1.25 ms". */
void ar_quantity_human(ar_unit unit, double value, char *text, size_t size);

#endif
