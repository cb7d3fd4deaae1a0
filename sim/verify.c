#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "layer.h"
#include "reference.h"

enum { REFERENCE_TOKENS = 8 }; /* attention is causal: the first tokens need no later ones */

/* One layer's weights at a time, made again whenever another layer is asked for. */
typedef struct {
    const ar_point *point;
    float *weights;
    size_t layer;
} weight_maker;

static const float *weights_of(void *user, size_t l) {
    weight_maker *maker = user;
    if (maker->layer != l)
        ar_layer_fill(maker->weights, (size_t)maker->point->width, l,
                      (unsigned long)maker->point->seed);
    maker->layer = l;
    return maker->weights;
}

/* The single-process run is the same work on a pipeline of one chunk. */
static ar_status single(const ar_point *point, const ar_real *real, ar_verdict *verdict,
                        ar_err *err) {
    ar_point alone = *point;
    alone.stages = alone.virtual_stages = alone.microbatches = 1;
    alone.split[0] = '\0';
    ar_layout layout;
    ar_status status = ar_layout_make(&alone, &layout, err);
    if (status != AR_OK) return status;
    const size_t bytes = (size_t)(point->tokens * point->width) * ar_dtype_B(point->dtype);
    ar_real *one = NULL;
    status = ar_real_open(&alone, &layout, 0, NULL, &one, err);
    verdict->bitwise_equal = true;
    for (int64_t m = 0; m < point->microbatches && status == AR_OK; m++) {
        const void *expected = ar_real_forward(one, m);
        if (memcmp(expected, ar_real_output(real, m), bytes) != 0) verdict->bitwise_equal = false;
    }
    ar_real_close(one);
    ar_layout_free(&layout);
    return status;
}

/* What the kernels start from and what they end with, as numbers. */
static float stored(const ar_point *point, float x) {
    return point->dtype == AR_BF16 ? ar_bf16_widen(ar_bf16_narrow(x)) : x;
}

static float element(const ar_point *point, const void *x, size_t i) {
    return point->dtype == AR_BF16 ? ar_bf16_widen(((const uint16_t *)x)[i])
                                   : ((const float *)x)[i];
}

static ar_status reference(const ar_point *point, const ar_real *real, ar_verdict *verdict,
                           ar_err *err) {
    const size_t width = (size_t)point->width, layers = (size_t)point->layers;
    const size_t tokens =
        point->tokens < REFERENCE_TOKENS ? (size_t)point->tokens : REFERENCE_TOKENS;
    const size_t scratch = ar_reference_scratch(layers, tokens, width);
    weight_maker maker = {.point = point};
    maker.weights = malloc(8 * width * width * sizeof *maker.weights);
    float *query = malloc((layers + 1) * width * sizeof *query);
    float *x = malloc((size_t)point->tokens * width * sizeof *x);
    double *out = malloc(tokens * width * sizeof *out);
    double *room = malloc(scratch * sizeof *room);
    ar_status status = AR_OK;
    if (maker.weights && query && x && out && room) {
        ar_query_fill(query, layers, width, (unsigned long)point->seed);
        ar_embedding_fill(x, (size_t)point->tokens, width, 0, (unsigned long)point->seed);
        for (size_t i = 0; i < tokens * width; i++)
            x[i] = stored(point, x[i]);
        ar_reference_model((ar_mechanism_id)point->mechanism, layers, (size_t)point->block, tokens,
                           width, query, x, weights_of, &maker, out, room);
        double largest = 0, error = 0;
        const void *got = ar_real_output(real, 0);
        for (size_t i = 0; i < tokens * width; i++) {
            const double off = fabs((double)element(point, got, i) - out[i]);
            if (fabs(out[i]) > largest) largest = fabs(out[i]);
            if (isnan(off) || off > error) error = off;
            if (isnan(off)) break;
        }
        verdict->max_rel_error = largest > 0 ? error / largest : error;
        verdict->tolerance = point->dtype == AR_BF16 ? (1.0 + sqrt((double)layers)) / 128.0
                                                     : ldexp(32.0 * (double)layers, -24);
    } else {
        status = ar_fail(err, AR_ERUN, "out of memory for the reference");
    }
    free(maker.weights);
    free(query);
    free(x);
    free(out);
    free(room);
    return status;
}

ar_status ar_verify(const ar_point *point, const ar_real *real, ar_verdict *verdict, ar_err *err) {
    ar_status status = single(point, real, verdict, err);
    if (status == AR_OK) status = reference(point, real, verdict, err);
    return status;
}
