#include "coefficients.h"

#include <math.h>

#include "fill.h"

enum { MIX_SEED = 7001, BIAS_SEED = 7002, GATE_SEED = 8000 };

size_t ar_mix_count(const ar_case *c) {
    if (c->mechanism == AR_DENSEFORMER) return (c->layers + 1) * (c->layers + 1);
    return c->mechanism == AR_MHC ? c->layers * (c->streams + 2) * c->width : 0;
}

size_t ar_bias_count(const ar_case *c) {
    return c->mechanism == AR_MHC ? c->layers * (c->streams + 2) * c->streams : 0;
}

/* DenseFormer's weights so that sums stay of order one, mHC's projections so that logits
 * do. */
void ar_coefficients_fill(const ar_case *c, float *mix, float *bias) {
    const double fan_in = c->mechanism == AR_DENSEFORMER ? (double)c->layers + 1 : (double)c->width;
    ar_fill_normal(mix, ar_mix_count(c), 1.0 / sqrt(fan_in), MIX_SEED);
    ar_fill_normal(bias, ar_bias_count(c), 0.25, BIAS_SEED);
}

bool ar_case_has_gates(const ar_case *c) {
    return c->mechanism == AR_HIGHWAY;
}

/* One gate for all elements, so that the layer mixes depth by one number. */
void ar_gate_fill(const ar_case *c, size_t l, float *gate) {
    ar_fill_normal(gate, 1, 1.0, GATE_SEED + l);
    for (size_t j = 1; j < c->tokens * c->width; j++)
        gate[j] = gate[0];
}
