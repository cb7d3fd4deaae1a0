#ifndef AR_BF16_H
#define AR_BF16_H

/* bfloat16: the upper half of an fp32, one number at a time. */

#include <stdint.h>
#include <string.h>

static inline float ar_bf16_widen(uint16_t x) {
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To nearest, ties to even; a NaN stays one, not the same one. */
static inline uint16_t ar_bf16_narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
