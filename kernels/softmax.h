#ifndef AR_SOFTMAX_H
#define AR_SOFTMAX_H

/* Softmax attention over depth with its statistics, and the online merge of two
 * parts of a softmax. Source: paper, section 4.2 and Algorithm 1. */

#include <stddef.h>

/* Statistics of one token's part of a softmax: the largest logit, and the sum of
 * exp(logit - max). The empty part is {-INFINITY, 0}. The vector that goes with a
 * part is always normalised (divided by sum). */
typedef struct {
    float max, sum;
} ar_part;

/* out = the merge of part p (vector in) and part q (vector x), rows of d; returns
 * its statistics. out may be in, not x. An empty part changes nothing and its vector
 * is not read; two empty parts stay empty and out = 0. Reads 2d, writes d. */
ar_part ar_softmax_merge(size_t d, const float *in, ar_part p, const float *x, ar_part q,
                         float *out);

/* The same where q is the single source x under query w. */
ar_part ar_softmax_merge_source(size_t d, const float *in, ar_part p, const float *x,
                                const float *w, float *out);

/* Attention of several queries over the first n of the sources.
 * The first `joint` sources are answered together; those after are merged one by one,
 * in order, exactly as ar_softmax_merge_source would later: the bits of a result
 * depend on joint and n but not on which call merged a source. */
typedef struct {
    size_t tokens, width; /* T, d */
    float *const *source; /* [n] pointers to [T][d] */
    size_t n, joint;      /* joint <= n */
    const float *query;   /* [queries][d] */
    size_t queries;
    float *o;         /* [queries][T][d], normalised; 0 when n = 0 */
    float *max, *sum; /* [queries][T]; an empty part when n = 0 */
} ar_attention;

/* All tokens. Reads n T d, writes queries T d. */
void ar_softmax_attend(const ar_attention *a);

/* Token t of a single query; max and sum are not used. */
void ar_softmax_attend_token(const ar_attention *a, size_t t);

#endif
