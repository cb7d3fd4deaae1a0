/* Attention of several queries over n sources, with its statistics. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

/* A token's tile of k sources, as rows of floats. */
typedef struct {
    size_t k;
    const float *x[TILE];
    const element *next[TILE]; /* the same rows of the next token */
    float norm[TILE];
} tile;

static void tile_open(const ar_attend *a, size_t t, size_t first, tile *s, float *room) {
    const size_t d = a->width;
    const element *x[TILE];
    s->k = a->n - first < TILE ? a->n - first : TILE;
    for (size_t i = 0; i < s->k; i++) {
        const size_t index = first + i;
        element *const p = (element *)a->source[index ? index + a->skip : 0] + t * d;
        if (a->v && index == a->n - 1) add_row(d, p, (const element *)a->v + t * d);
        x[i] = p;
        s->next[i] = p + d;
        s->x[i] = room + i * ar_row_stride(d);
    }
    pack(s->k, d, x, room, s->norm);
    for (size_t i = 0; i < s->k; i++)
        s->norm[i] = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, s->norm[i]);
}

static void logits(size_t queries, size_t d, const tile *s, const float *query, float (*z)[BATCH]) {
    dots(s->k, queries, d, s->x, query, ar_row_stride(d), z, s->next);
    for (size_t i = 0; i < s->k; i++)
        for (size_t q = 0; q < BATCH; q++)
            z[i][q] *= s->norm[i];
}

static void answer(const ar_attend *a, size_t t, const tile *s, size_t first, size_t q0,
                   const float *query, float *sums, parts *p) {
    const size_t d = a->width, stride = ar_row_stride(d), vectors = a->vectors, k = s->k;
    const size_t queries = a->queries - q0 < BATCH ? a->queries - q0 : BATCH;
    const bool last = first + k == a->n, alone = first == 0;
    float z[TILE][BATCH] = {{0}}, keep[BATCH];
    if (a->fixed) {
        for (size_t i = 0; i < k; i++)
            z[i][0] = a->fixed[first + i];
        keep[0] = 1.0f;
    } else {
        logits(queries, d, s, query + q0 * stride, z);
        weigh(k, z, p, keep, a->variant);
    }
    const bool stream = a->stream && vec_aligned(a->o, d);
    for (size_t q = 0; q < queries; q += 2) {
        const size_t pair = queries - q < 2 ? 1 : 2;
        mix_ends e = {.stream = stream};
        float *room[2];
        for (size_t i = 0; i < pair; i++) {
            room[i] = sums + (q0 + q + i) * stride;
            e.in[i] = alone ? NULL : room[i];
            e.keep[i] = keep[q + i];
            e.part[i] = last ? NULL : room[i];
            e.out[i] = (element *)a->o + (q0 + q + i) * vectors + t * d;
        }
        mix(k, pair, d, s->x, (const float(*)[BATCH]) & z[0][q], &e, room);
    }
}

static void nothing(const ar_attend *a, size_t t) {
    const size_t d = a->width;
    for (size_t q = 0; q < a->queries; q++)
        memset((element *)a->o + q * a->vectors + t * d, 0, d * sizeof(element));
}

/* The token's own query as floats. */
static void own_query(const ar_attend *a, size_t t, float *query) {
    const element *const w = (const element *)a->own + t * a->width;
    float unused;
    pack(1, a->width, &w, query, &unused);
}

void AR_SIMD(attend)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_attend *const a = args;
    const size_t d = a->width, stride = ar_row_stride(d);
    const size_t batches = (a->queries + BATCH - 1) / BATCH;
    float *const query = scratch + TILE * stride, *const sums = query + (a->queries + 1) * stride;
    parts *const part = (parts *)(void *)(scratch + ar_scratch_parts(d, a->queries));
    for (size_t q = 0; !a->own && q < a->queries; q++)
        memcpy(query + q * stride, a->query + q * d, d * sizeof *query);
    for (size_t t = first; t < last; t++) {
        for (size_t b = 0; b < batches; b++)
            part[b] = empty_parts();
        if (a->own) own_query(a, t, query);
        if (a->n == 0) nothing(a, t);
        for (size_t i = 0; i < a->n; i += TILE) {
            tile s;
            tile_open(a, t, i, &s, scratch);
            for (size_t b = 0; b < batches; b++)
                answer(a, t, &s, i, b * BATCH, query, sums, &part[b]);
        }
        for (size_t q = 0; a->max && q < a->queries; q++) {
            a->max[q * a->scalars + t] = part[q / BATCH].max[q % BATCH];
            a->sum[q * a->scalars + t] = part[q / BATCH].sum[q % BATCH];
        }
    }
    if (a->stream) vec_fence();
}
