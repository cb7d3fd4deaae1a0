#ifndef AR_LAYER_H
#define AR_LAYER_H

/* Layer functions f_l on real tensors: odd layers (1, 3, ...) are causal
 * self-attention, even ones an MLP (d -> 4d -> d, SiLU), both behind an RMSNorm; GEMMs
 * through BLAS. Heads are 64 wide where 64 divides d, else there is one. A NaN or an
 * infinity in a token of h shows in that token of v, and after attention in others. */

#include <stdbool.h>
#include <stddef.h>

bool ar_layer_is_attention(size_t l);

/* Rows of queries whose attention scores are held at once. */
enum { AR_SCORE_ROWS = 64 };

/* Floats of weights of layer l at width d: attention 4 d^2, MLP 8 d^2. */
size_t ar_layer_weights(size_t width, size_t l);

/* Floats of scratch that ar_layer_forward needs for any layer. */
size_t ar_layer_scratch(size_t tokens, size_t width);

/* Fill w with layer l's weights: a pure function of (seed, l), scaled so that
 * outputs stay of order one. */
void ar_layer_fill(float *w, size_t width, size_t l, unsigned long seed);

/* Fill the [T][d] embedding of one micro-batch / the [L+1][d] queries: pure
 * functions of (seed, micro-batch) / (seed). Queries are of order 1/sqrt(d). */
void ar_embedding_fill(float *x, size_t tokens, size_t width, size_t microbatch,
                       unsigned long seed);
void ar_query_fill(float *w, size_t layers, size_t width, unsigned long seed);

/* v = f_l(h), [T][d] each, no aliasing. Same input, same bits, with the same number of
 * BLAS threads. T and 4d are at most INT_MAX. */
void ar_layer_forward(const float *w, size_t tokens, size_t width, size_t l, const float *h,
                      float *v, float *scratch);

#endif
