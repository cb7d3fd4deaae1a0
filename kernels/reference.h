#ifndef AR_REFERENCE_H
#define AR_REFERENCE_H

/* Every mechanism in double precision, plain loops written from the definition,
 * never tuned: the oracle of the kernels. */

#include "mechanism.h"

/* Softmax attention over n sources for one query: out[t] = sum_i a_i x_i[t],
 * a = softmax_i(w . RMSNorm(x_i[t])). x: n pointers to [T][d]. Source: paper, section 3. */
void ar_reference_attend(size_t tokens, size_t width, const double *const *x, size_t n,
                         const double *w, double *out);

/* f_l in double on the first `tokens` tokens (attention is causal, so a prefix of
 * the tokens needs no later one). weights as for ar_layer_forward;
 * scratch: ar_reference_layer_scratch() doubles. */
size_t ar_reference_layer_scratch(size_t tokens, size_t width);
void ar_reference_layer(const float *weights, size_t tokens, size_t width, size_t l,
                        const double *h, double *v, double *scratch);

/* The whole model, head included: embedding x0 [T][d] to output [T][d]. query: [L+1][d].
 * block is S (Block AttnRes only). weights(user, l) returns layer l's weights. Needs
 * scratch of ar_reference_scratch() doubles. Highway, DenseFormer, mHC: out = NaN; their
 * definitions are below. */
typedef const float *ar_weights_fn(void *user, size_t l);
size_t ar_reference_scratch(size_t layers, size_t tokens, size_t width);
void ar_reference_model(ar_mechanism_id id, size_t layers, size_t block, size_t tokens,
                        size_t width, const float *query, const float *x0, ar_weights_fn *weights,
                        void *user, double *out, double *scratch);

/* ar_reference_attend under the paper's ablations; w is [d], or with own_query [T][d]. */
void ar_reference_variant(size_t tokens, size_t width, const double *const *x, size_t n,
                          const double *w, ar_variant variant, double *out);

/* h = (1 - g) h + g v: g = sigmoid(gate), element by element, or where w is not NULL one
 * for a token, sigmoid(w . RMSNorm(h)). */
void ar_reference_highway(size_t tokens, size_t width, double *h, const double *v,
                          const double *gate, const double *w);

/* out = sum of a_i x_i, vectors of count elements. */
void ar_reference_mix(size_t count, const double *const *x, size_t n, const float *a, double *out);

/* (m)HC as hc.c defines it; p, b: a layer's projections and biases. Read h from the
 * streams (p NULL: their sum); update the streams with the layer's output v. */
void ar_reference_streams_read(size_t tokens, size_t width, size_t m, double *const *stream,
                               const float *p, const float *b, bool manifold, double *h);
void ar_reference_streams_update(size_t tokens, size_t width, size_t m, double *const *stream,
                                 const double *v, const float *p, const float *b, bool manifold);

#endif
