#include "layer.h"

/* Apart from layer.c, so that who only asks for sizes does not load BLAS. */

bool ar_layer_is_attention(size_t l) {
    return l % 2 == 1;
}

size_t ar_layer_weights(size_t width, size_t l) {
    return (ar_layer_is_attention(l) ? 4 : 8) * width * width;
}

/* Attention: q, k, v [T][3d], normalised input or heads [T][d], scores.
 * MLP: normalised input [T][d], hidden [T][4d]. */
size_t ar_layer_scratch(size_t tokens, size_t width) {
    return 5 * tokens * width + AR_SCORE_ROWS * tokens;
}
