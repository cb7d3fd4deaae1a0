/* The gradients of a subject against those in double. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coefficients.h"
#include "fill.h"
#include "reference_back.h"
#include "subject_back.h"

/* Kinds of gradients that are compared. */
enum { X, V, GATE, QUERY, MIX, BIAS, KINDS };

typedef struct {
    const ar_case *about;
    ar_way_back way;
    void *h, *v, *o; /* owned: the forward's buffers */
    float *query, *room;
    double *x, *out, *gate, *dh; /* x, v, gates, gradients of inputs: parts of numbers */
    double *kernel[KINDS], *exact[KINDS];
    double *numbers; /* owned */
    size_t count[KINDS], vector;
} check;

static void copy(const check *k, void *to, const void *from) {
    memcpy(to, from, k->vector * ar_store_B(k->about->store));
}

static void put(const check *k, void *to, const double *from) {
    for (size_t i = 0; i < k->vector; i++)
        ar_store_put(k->about->store, to, i, (float)from[i]);
}

static void take(const check *k, const void *from, double *to) {
    for (size_t i = 0; i < k->vector; i++)
        to[i] += (double)ar_store_get(k->about->store, from, i);
}

/* f_l with a given output, keeping what the way back reads. */
static void layer(void *user, size_t l, const void *h, void *v) {
    const check *const k = user;
    const ar_way_back *const w = &k->way;
    const size_t m = k->about->streams, S = k->about->block;
    const double *const out = k->out + (l - 1) * k->vector;
    const double *const gate = k->gate + (l - 1) * k->vector;
    const ar_variant *const variant = &w->depth.variant;
    switch (k->about->mechanism) {
    case AR_MHC:
        for (size_t j = 0; j < m; j++)
            copy(k, w->back.h[(l - 1) * m + j], w->depth.source[j]);
        put(k, w->back.v[l - 1], out);
        break;
    case AR_HIGHWAY:
        copy(k, w->back.h[l - 1], h);
        put(k, w->back.v[l - 1], out);
        break;
    case AR_BLOCK:
        if ((l - 1) % S > 0) copy(k, w->back.partial[l - 1], w->depth.source[(l - 1) / S + 1]);
        break;
    case AR_FULL:
    case AR_STANDARD:
    case AR_DENSEFORMER:
        break;
    }
    if (ar_case_attends(k->about) && !variant->sigmoid) copy(k, w->back.h[l - 1], h);
    if (ar_case_has_gates(k->about)) put(k, w->back.gate[l - 1], gate);
    if (k->about->mechanism == AR_HIGHWAY && !variant->scalar_gate) put(k, w->depth.gate, gate);
    if (variant->own_query && l < k->about->layers) put(k, w->depth.gate, gate + k->vector);
    put(k, v, out);
}

static void layer_back(void *user, size_t l, const void *dv, void *dh) {
    const check *const k = user;
    const size_t at = (l - 1) * k->vector;
    take(k, dv, k->kernel[V] + at);
    put(k, dh, k->dh + at);
}

static void numbers_take(size_t count, const float *from, double *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

static void walk(check *k) {
    const ar_case *const c = k->about;
    ar_way_back *const w = &k->way;
    void *streams[AR_MAX_STREAMS];
    const size_t copies = c->mechanism == AR_MHC ? c->streams : 1;
    const size_t L = c->layers, bytes = k->vector * ar_store_B(c->store);
    const ar_mechanism *const forward = ar_mechanism_find(c->mechanism, c->form);
    w->depth.h = k->h;
    w->depth.v = k->v;
    w->depth.gate = (char *)k->v + bytes;
    w->depth.o = k->o;
    if (w->sources == 0) { /* the streams, in the forward's own buffers */
        for (size_t j = 0; j < copies; j++)
            streams[j] = (char *)k->v + (2 + j) * bytes;
        w->depth.source = streams;
    }
    for (size_t j = 0; j < copies; j++)
        put(k, w->depth.source[j], k->x);
    if (c->ablation == AR_OWN_QUERY) put(k, w->depth.gate, k->gate);
    ar_chunk_forward(forward, &w->depth, 1, L, layer, k);
    const void *const out = forward->head(&w->depth);
    for (size_t j = 0; j < w->grads; j++)
        memset(w->back.grad[j], 0, bytes);
    void *const dout = (char *)k->v + bytes; /* the gates' buffer has served */
    put(k, dout, k->dh + L * k->vector);
    w->kernels->head(&w->back, out, dout);
    ar_chunk_backward(w->kernels, &w->back, 1, L, layer_back, k);
    for (size_t j = 0; j < copies; j++)
        take(k, w->back.grad[j], k->kernel[X]);
    for (size_t l = 1; k->count[GATE] && l <= L; l++)
        take(k, w->back.dgate[l - 1], k->kernel[GATE] + (l - 1) * k->vector);
    numbers_take(k->count[QUERY], w->back.dquery, k->kernel[QUERY]);
    numbers_take(k->count[MIX], w->back.dmix, k->kernel[MIX]);
    numbers_take(k->count[BIAS], w->back.dbias, k->kernel[BIAS]);
}

static double *next_numbers(double **at, size_t count) {
    double *const here = *at;
    *at += count;
    return here;
}

/* Normal numbers that the storage type holds. */
static void fill(const check *k, double *x, size_t vectors, double deviation, uint64_t seed) {
    for (size_t i = 0; i < vectors; i++) {
        ar_fill_normal(k->room, k->vector, deviation, seed + i);
        for (size_t j = 0; j < k->vector; j++)
            x[i * k->vector + j] = (double)ar_store_round(k->about->store, k->room[j]);
    }
}

static void check_close(check *k) {
    ar_way_back_close(&k->way);
    free(k->h);
    free(k->v);
    free(k->o);
    free(k->query);
    free(k->room);
    free(k->numbers);
}

static bool check_open(const ar_case *c, check *k) {
    const size_t L = c->layers, vector = c->tokens * c->width;
    const size_t bytes = (vector * ar_store_B(c->store) + 63) / 64 * 64;
    const size_t group = c->block < L ? c->block : L;
    *k = (check){.about = c,
                 .vector = vector,
                 .count = {vector, L * vector, ar_case_has_gates(c) ? L * vector : 0,
                           (L + 1) * c->width, ar_mix_count(c), ar_bias_count(c)}};
    size_t all = (3 * L + 2) * vector;
    for (size_t i = 0; i < KINDS; i++)
        all += 2 * k->count[i];
    k->h = aligned_alloc(64, bytes);
    k->v = aligned_alloc(64, (2 + AR_MAX_STREAMS) * bytes);
    k->o = aligned_alloc(64, group * bytes);
    k->query = malloc((L + 1) * c->width * sizeof *k->query);
    k->room = malloc(vector * sizeof *k->room);
    k->numbers = calloc(all, sizeof *k->numbers);
    if (!k->h || !k->v || !k->o || !k->query || !k->room || !k->numbers) return false;
    double *at = k->numbers;
    k->x = next_numbers(&at, vector);
    k->out = next_numbers(&at, L * vector);
    k->gate = next_numbers(&at, L * vector);
    k->dh = next_numbers(&at, (L + 1) * vector);
    for (size_t i = 0; i < KINDS; i++) {
        k->kernel[i] = next_numbers(&at, k->count[i]);
        k->exact[i] = next_numbers(&at, k->count[i]);
    }
    /* steeper scalar gates would make rounding grow from layer to layer */
    const double query = (c->ablation == AR_SCALAR_GATE ? 1.0 : 2.0) / sqrt((double)c->width);
    fill(k, k->x, 1, 1.0, 101);
    fill(k, k->out, L, 1.0, 1000);
    fill(k, k->gate, L, c->ablation == AR_OWN_QUERY ? query : 1.0, 2000);
    fill(k, k->dh, L + 1, 1.0, 3000);
    ar_fill_normal(k->query, (L + 1) * c->width, query, 103);
    return ar_way_back_open(c, k->query, L, &k->way);
}

static double largest(const check *k, size_t kind) {
    double most = 0;
    for (size_t i = 0; i < k->count[kind]; i++)
        most = fmax(most, fabs(k->exact[kind][i]));
    return most;
}

/* What a kind's error is relative to. A query's gradient is p (dh.x - D) x, which goes to nothing
 * where p goes to 1, as dh.x, about sqrt(d), and its rounding do not; own queries are of one kind
 * with the head's. */
static double scale_of(const check *k, size_t kind) {
    if (!ar_case_attends(k->about) || (kind != QUERY && kind != GATE)) return largest(k, kind);
    return fmax(sqrt((double)k->about->width), fmax(largest(k, QUERY), largest(k, GATE)));
}

/* Largest difference, relative to the scale; NaN stays. */
static double worst(const check *k, size_t kind) {
    const double scale = scale_of(k, kind);
    double error = 0;
    for (size_t i = 0; i < k->count[kind]; i++) {
        const double e = fabs(k->kernel[kind][i] - k->exact[kind][i]);
        if (!(e <= error)) error = e;
    }
    return scale > 1e-9 ? error / scale : error;
}

static bool reference(check *k) {
    const ar_case *const c = k->about;
    const ar_reference_walk walk = {.id = c->mechanism,
                                    .layers = c->layers,
                                    .block = c->block,
                                    .tokens = c->tokens,
                                    .width = c->width,
                                    .streams = c->streams,
                                    .variant = ar_case_variant(c),
                                    .x = k->x,
                                    .v = k->out,
                                    .gate = k->gate,
                                    .query = k->query,
                                    .mix = k->way.depth.mix,
                                    .bias = k->way.depth.bias};
    double *const scratch = malloc(ar_reference_walk_scratch(&walk) * sizeof *scratch);
    if (scratch)
        ar_reference_walk_backward(
            &walk, k->dh,
            &(ar_reference_grads){k->exact[X], k->exact[V], k->count[GATE] ? k->exact[GATE] : NULL,
                                  k->exact[QUERY], k->exact[MIX], k->exact[BIAS]},
            scratch);
    free(scratch);
    return scratch != NULL;
}

ar_status ar_way_back_error(const ar_case *c, double *error, double *tolerance, ar_err *err) {
    enum { FEW = 3 };
    ar_case few = *c;
    check k;
    few.tokens = c->tokens < FEW ? c->tokens : FEW;
    few.threads = 1;
    const bool fits = check_open(&few, &k);
    if (fits) walk(&k);
    if (!fits || !reference(&k)) {
        check_close(&k);
        return ar_fail(err, AR_ERUN, "no memory for the check against the reference");
    }
    *error = 0;
    for (size_t i = 0; i < KINDS; i++) {
        const double one = worst(&k, i);
        if (!(one <= *error)) *error = one;
    }
    check_close(&k);
    /* fp32: as the forward's. bf16: a gradient is rounded for each layer that adds to it, and h,
     * from which D comes, once more. */
    const double L = (double)c->layers, d = (double)c->width;
    if (c->store == AR_STORE_BF16)
        *tolerance = (2.0 + sqrt(L)) / 256.0;
    else
        *tolerance = 1e-6 + 1.2e-7 * (sqrt(L) + sqrt(d));
    /* a raw key's logit is as large as the sum that the key is, and softmax the steeper: up to 2.5
     * times the error was seen */
    if (c->ablation == AR_RAW_KEYS && c->mechanism == AR_BLOCK) *tolerance *= 3.0;
    return AR_OK;
}
