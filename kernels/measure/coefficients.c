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

/* HC near where its training starts, reading the streams' mean, writing to all, keeping each.
 * Nothing bounds its mixes, so they keep nine tenths: streams neither die nor, over hundreds
 * of layers and repetitions, overflow. */
static void near_identity(const ar_case *c, float *mix, float *bias) {
    const size_t m = c->streams;
    const float mean = 1.0f / (float)m;
    for (size_t i = 0; i < ar_mix_count(c); i++)
        mix[i] *= 0.01f;
    for (size_t i = 0; i < ar_bias_count(c); i++) {
        const size_t kind = i / m % (m + 2), k = i % m; /* read, write, or a row of mix */
        const float kept = kind == k + 2 ? 0.9f : 0.0f;
        bias[i] = 0.01f * bias[i] + (kind == 0 ? mean : kind == 1 ? 1.0f : kept);
    }
}

/* DenseFormer's weights so that sums stay of order one, mHC's projections so that logits
 * do. */
void ar_coefficients_fill(const ar_case *c, float *mix, float *bias) {
    const double fan_in = c->mechanism == AR_DENSEFORMER ? (double)c->layers + 1 : (double)c->width;
    ar_fill_normal(mix, ar_mix_count(c), 1.0 / sqrt(fan_in), MIX_SEED);
    ar_fill_normal(bias, ar_bias_count(c), 0.25, BIAS_SEED);
    if (c->ablation == AR_UNCONSTRAINED) near_identity(c, mix, bias);
}

bool ar_case_has_gates(const ar_case *c) {
    return c->ablation == AR_OWN_QUERY ||
           (c->mechanism == AR_HIGHWAY && c->ablation != AR_SCALAR_GATE);
}

/* One gate for all elements, so that the layer mixes depth by one number; queries so that
 * logits are of order one. */
void ar_gate_fill(const ar_case *c, size_t l, float *gate) {
    if (c->ablation == AR_OWN_QUERY) {
        ar_fill_normal(gate, c->tokens * c->width, 2.0 / sqrt((double)c->width), GATE_SEED + l);
        return;
    }
    ar_fill_normal(gate, 1, 1.0, GATE_SEED + l);
    for (size_t j = 1; j < c->tokens * c->width; j++)
        gate[j] = gate[0];
}
