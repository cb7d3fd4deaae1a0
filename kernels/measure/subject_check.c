/* The subjects against the definition in double. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coefficients.h"
#include "fill.h"
#include "reference.h"
#include "subject.h"
#include "subject_back.h"

static void reference_stream(const ar_case *c, const float *x, const float *v, double *h) {
    const size_t vector = c->tokens * c->width;
    for (size_t j = 0; j < vector; j++) {
        double stream = (double)x[j];
        h[j] = stream;
        for (size_t l = 1; l <= c->layers; l++)
            h[l * vector + j] = stream += (double)v[(l - 1) * vector + j];
    }
}

/* Full (S = 1) and Block: sources are the embedding, the finished blocks and the partial sum. */
static bool reference_attention(const ar_case *c, size_t S, const float *x, const float *v,
                                const float *query, double *h) {
    const size_t vector = c->tokens * c->width, room = (c->layers + S - 1) / S + 1;
    double *const source = calloc(room * vector, sizeof *source);
    double *const w = malloc(vector * sizeof *w); /* of a layer, or a token's own */
    float *const own = malloc(vector * sizeof *own);
    const double **const list = malloc(room * sizeof *list);
    const bool fits = source && w && own && list;
    for (size_t j = 0; fits && j < vector; j++)
        source[j] = (double)x[j];
    for (size_t i = 0; fits && i < room; i++)
        list[i] = source + i * vector;
    for (size_t l = 1; fits && l <= c->layers + 1; l++) {
        const size_t n = 1 + (l - 1) / S + ((l - 1) % S > 0);
        ar_variant variant = ar_case_variant(c);
        variant.own_query = variant.own_query && l <= c->layers; /* the head has one for all */
        if (variant.own_query) ar_gate_fill(c, l - 1, own);
        for (size_t j = 0; j < (variant.own_query ? vector : c->width); j++)
            w[j] = (double)(variant.own_query ? ar_store_round(c->store, own[j])
                                              : query[(l - 1) * c->width + j]);
        ar_reference_variant(c->tokens, c->width, list, n, w, variant, h + (l - 1) * vector);
        double *const sum = source + ((l - 1) / S + 1) * vector;
        for (size_t j = 0; l <= c->layers && j < vector; j++)
            sum[j] += (double)v[(l - 1) * vector + j];
    }
    free(list);
    free(own);
    free(w);
    free(source);
    return fits;
}

static bool reference_highway(const ar_case *c, const float *x, const float *v, const float *query,
                              double *h) {
    const size_t vector = c->tokens * c->width;
    double *const stream = malloc(3 * vector * sizeof *stream);
    float *const gate = malloc(vector * sizeof *gate);
    double *const out = stream + vector, *const logit = stream + 2 * vector;
    double *const w = malloc(c->width * sizeof *w);
    const bool scalar = c->ablation == AR_SCALAR_GATE, fits = stream && gate && w;
    for (size_t j = 0; fits && j < vector; j++)
        h[j] = stream[j] = (double)x[j];
    for (size_t l = 1; fits && l <= c->layers; l++) {
        ar_gate_fill(c, l, gate);
        for (size_t j = 0; j < c->width; j++) /* the layer that absorbs it has the gate */
            w[j] = (double)query[l * c->width + j];
        for (size_t j = 0; j < vector; j++) {
            out[j] = (double)v[(l - 1) * vector + j];
            logit[j] = (double)ar_store_round(c->store, gate[j]);
        }
        ar_reference_highway(c->tokens, c->width, stream, out, logit, scalar ? w : NULL);
        memcpy(h + l * vector, stream, vector * sizeof *h);
    }
    free(w);
    free(gate);
    free(stream);
    return fits;
}

static bool reference_denseformer(const ar_case *c, const float *x, const float *v, double *h) {
    const size_t vector = c->tokens * c->width, L = c->layers;
    double *const source = malloc((L + 1) * vector * sizeof *source);
    const double **const list = malloc((L + 1) * sizeof *list);
    float *const mix = malloc(ar_mix_count(c) * sizeof *mix);
    const bool fits = source && list && mix;
    if (fits) ar_coefficients_fill(c, mix, NULL);
    for (size_t l = 0; fits && l <= L; l++) {
        for (size_t j = 0; j < vector; j++)
            source[l * vector + j] = (double)(l ? v[(l - 1) * vector + j] : x[j]);
        list[l] = source + l * vector;
    }
    for (size_t l = 0; fits && l <= L; l++)
        ar_reference_mix(vector, list, l + 1, mix + l * (L + 1), h + l * vector);
    free(mix);
    free(list);
    free(source);
    return fits;
}

static bool reference_mhc(const ar_case *c, const float *x, const float *v, double *h) {
    const size_t T = c->tokens, d = c->width, m = c->streams, vector = T * d, L = c->layers;
    double *const stream = malloc((m + 1) * vector * sizeof *stream);
    double **const list = malloc(m * sizeof *list);
    float *const mix = malloc(ar_mix_count(c) * sizeof *mix);
    float *const bias = malloc(ar_bias_count(c) * sizeof *bias);
    const bool fits = stream && list && mix && bias, manifold = c->ablation != AR_UNCONSTRAINED;
    if (fits) ar_coefficients_fill(c, mix, bias);
    for (size_t i = 0; fits && i < m; i++) {
        list[i] = stream + i * vector;
        for (size_t j = 0; j < vector; j++)
            list[i][j] = (double)x[j];
    }
    for (size_t l = 1; fits && l <= L; l++) {
        const float *const p = mix + (l - 1) * (m + 2) * d, *const b = bias + (l - 1) * (m + 2) * m;
        ar_reference_streams_read(T, d, m, list, p, b, manifold, h + (l - 1) * vector);
        for (size_t j = 0; j < vector; j++)
            stream[m * vector + j] = (double)v[(l - 1) * vector + j];
        ar_reference_streams_update(T, d, m, list, stream + m * vector, p, b, manifold);
    }
    if (fits) ar_reference_streams_read(T, d, m, list, NULL, NULL, manifold, h + L * vector);
    free(bias);
    free(mix);
    free(list);
    free(stream);
    return fits;
}

bool ar_subject_reference(const ar_case *c, const float *x, const float *v, const float *query,
                          double *h) {
    switch (c->mechanism) {
    case AR_STANDARD:
        reference_stream(c, x, v, h);
        return true;
    case AR_HIGHWAY:
        return reference_highway(c, x, v, query, h);
    case AR_DENSEFORMER:
        return reference_denseformer(c, x, v, h);
    case AR_MHC:
        return reference_mhc(c, x, v, h);
    case AR_FULL:
        return reference_attention(c, 1, x, v, query, h);
    case AR_BLOCK:
        return reference_attention(c, c->block, x, v, query, h);
    }
    return false;
}

/* Rows are inputs, d elements each. */
static double worst(size_t rows, size_t d, const float *h, const double *exact) {
    double worst = 0;
    for (size_t r = 0; r < rows; r++) {
        double largest = 0, error = 0;
        for (size_t j = r * d; j < (r + 1) * d; j++) {
            const double e = fabs((double)h[j] - exact[j]);
            if (!(e <= error)) error = e; /* NaN stays */
            largest = fmax(largest, fabs(exact[j]));
        }
        const double relative = largest > 0 ? error / largest : error;
        if (!(relative <= worst)) worst = relative;
        if (isnan(worst)) break;
    }
    return worst;
}

ar_status ar_subject_error(const ar_case *c, double *error, double *tolerance, ar_err *err) {
    enum { FEW = 3 };
    if (c->direction == AR_BACKWARD) return ar_way_back_error(c, error, tolerance, err);
    ar_case few = *c;
    few.tokens = c->tokens < FEW ? c->tokens : FEW;
    few.threads = 1;
    const size_t vector = few.tokens * few.width, inputs = (few.layers + 1) * vector;
    float *const x = malloc(vector * sizeof *x), *const v = malloc(few.layers * vector * sizeof *v);
    float *const query = malloc((few.layers + 1) * few.width * sizeof *query);
    float *const h = malloc(inputs * sizeof *h);
    double *const exact = malloc(inputs * sizeof *exact);
    ar_status status = AR_OK;
    if (!x || !v || !query || !h || !exact)
        status = ar_fail(err, AR_ERUN, "no memory for the check against the reference");
    if (status == AR_OK) {
        ar_fill_normal(x, vector, 1.0, 101);
        ar_fill_normal(v, few.layers * vector, 1.0, 102);
        for (size_t i = 0; i < vector; i++)
            x[i] = ar_store_round(few.store, x[i]);
        for (size_t i = 0; i < few.layers * vector; i++)
            v[i] = ar_store_round(few.store, v[i]);
        ar_fill_normal(query, (few.layers + 1) * few.width, 2.0 / sqrt((double)few.width), 103);
        status = ar_subject_inputs(&few, x, v, query, h, err);
    }
    if (status == AR_OK && !ar_subject_reference(&few, x, v, query, exact))
        status = ar_fail(err, AR_ERUN, "no reference for this mechanism");
    if (status == AR_OK) {
        *error = worst(few.layers + 1, vector, h, exact);
        /* fp32: a rounding for each addition to a sum of L terms, and of a dot product */
        if (few.store == AR_STORE_BF16) /* half a unit in 8 bits, once for each stored sum */
            *tolerance = (1.0 + sqrt((double)few.layers)) / 256.0;
        else
            *tolerance = 1e-6 + 1.2e-7 * (sqrt((double)few.layers) + sqrt((double)few.width));
        /* a raw key, so its logit and that one's error, is as large as a sum of S outputs */
        if (few.ablation == AR_RAW_KEYS && few.mechanism == AR_BLOCK)
            *tolerance *= sqrt((double)(few.block < few.layers ? few.block : few.layers));
    }
    free(exact);
    free(h);
    free(query);
    free(v);
    free(x);
    return status;
}
