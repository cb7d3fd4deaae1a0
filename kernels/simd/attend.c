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

/* Queries q0 + q..: the sums of a tile under weights z, from `part` (or NULL) to the output
 * or, if not the last tile, to room. */
static void sum_pair(const ar_attend *a, size_t t, const tile *s, size_t q0, size_t q, size_t pair,
                     const float (*z)[BATCH], const float *part, const float *keep, float *room,
                     bool last) {
    const size_t d = a->width, stride = ar_row_stride(d);
    mix_ends e = {.stream = a->stream && vec_aligned(a->o, d)};
    float *between[2];
    for (size_t i = 0; i < pair; i++) {
        between[i] = room + i * stride;
        e.in[i] = part ? part + i * stride : NULL;
        e.keep[i] = keep[i];
        e.part[i] = last ? NULL : between[i];
        e.out[i] = (element *)a->o + (q0 + q + i) * a->vectors + t * d;
    }
    mix(s->k, pair, d, s->x, (const float(*)[BATCH]) & z[0][q], &e, between);
}

static void logits(size_t queries, size_t d, const tile *s, const float *query, float (*z)[BATCH]) {
    dots(s->k, queries, d, s->x, query, ar_row_stride(d), z, s->next);
    for (size_t i = 0; i < s->k; i++)
        for (size_t q = 0; q < BATCH; q++)
            z[i][q] *= s->norm[i];
}

static void answer(const ar_attend *a, size_t t, const tile *s, size_t first, size_t q0,
                   const float *query, float *sums, parts *p) {
    const size_t d = a->width, stride = ar_row_stride(d), k = s->k;
    const size_t queries = a->queries - q0 < BATCH ? a->queries - q0 : BATCH;
    const bool last = first + k == a->n;
    float z[TILE][BATCH] = {{0}}, keep[BATCH];
    if (a->fixed) {
        for (size_t i = 0; i < k; i++)
            z[i][0] = a->fixed[first + i];
        keep[0] = 1.0f;
    } else {
        logits(queries, d, s, query + q0 * stride, z);
        weigh(k, z, p, keep, a->variant);
    }
    for (size_t q = 0; q < queries; q += 2) {
        const size_t pair = queries - q < 2 ? 1 : 2;
        const float *const part = first ? sums + (q0 + q) * stride : NULL;
        sum_pair(a, t, s, q0, q, pair, (const float(*)[BATCH])z, part, keep + q,
                 sums + (q0 + q) * stride, last);
    }
}

static void nothing(const ar_attend *a, size_t t) {
    const size_t d = a->width;
    for (size_t q = 0; q < a->queries; q++)
        memset((element *)a->o + q * a->vectors + t * d, 0, d * sizeof(element));
}

/* Queries of one stage of the pipeline, and the bytes of rows and queries up to which it
 * pays: more do not stay in a first-level cache of 48 KiB beside what streams through. */
enum { STAGE = 4, STAGE_B = 40960 };

/* A stage: token t, queries q0..q0+count. */
typedef struct {
    size_t t, q0, count;
    tile *s;
    float z[TILE][BATCH];
} stage;

static void stage_weigh(const ar_attend *a, stage *now) {
    parts p = empty_parts();
    float keep[BATCH];
    for (size_t i = 0; i < a->n; i++)
        for (size_t q = 0; q < BATCH; q++)
            now->z[i][q] *= now->s->norm[i];
    weigh(a->n, now->z, &p, keep, a->variant);
    for (size_t q = 0; a->max && q < now->count; q++) {
        a->max[(now->q0 + q) * a->scalars + now->t] = p.max[q];
        a->sum[(now->q0 + q) * a->scalars + now->t] = p.sum[q];
    }
}

/* All sources in one tile: the dot products of a stage are dealt out between the sums
 * of the one before, whose streamed stores drain meanwhile. */
static void pipelined(const ar_attend *a, size_t first, size_t last, float *rows,
                      const float *query, float *sums) {
    const size_t d = a->width, stride = ar_row_stride(d), n = a->n;
    const size_t groups = (a->queries + STAGE - 1) / STAGE;
    static const float keep[2] = {0};
    tile s[2];
    stage both[2];
    memset(both, 0, sizeof both);
    for (size_t k = 0, end = (last - first) * groups; k <= end; k++) {
        stage *const now = &both[k % 2], *const before = &both[(k + 1) % 2];
        size_t work = 0, stores = (before->count + 1) / 2;
        if (k < end) {
            const size_t q0 = k % groups * STAGE, t = first + k / groups;
            now->t = t;
            now->q0 = q0;
            now->count = a->queries - q0 < STAGE ? a->queries - q0 : STAGE;
            now->s = &s[t % 2];
            work = dots_units(n, now->count);
            if (q0 == 0) tile_open(a, t, 0, now->s, rows + t % 2 * TILE * stride);
        }
        const size_t steps = work > stores ? work : stores, seen = k % groups * work;
        for (size_t i = 0, u = 0, q = 0; i < steps; i++) {
            for (; u * steps < (i + 1) * work; u++)
                dots_unit(u, n, now->count, d, now->s->x, query + now->q0 * stride, stride, now->z,
                          now->s->next, seen);
            for (; q * steps < (i + 1) * stores; q++)
                sum_pair(a, before->t, before->s, before->q0, 2 * q,
                         before->count - 2 * q < 2 ? 1 : 2, (const float(*)[BATCH])before->z, NULL,
                         keep, sums + 2 * q * stride, true);
        }
        if (work) stage_weigh(a, now);
    }
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
    float *const query = scratch + 2 * TILE * stride, *const sums =
                                                          query + (a->queries + 1) * stride;
    parts *const part = (parts *)(void *)(scratch + ar_scratch_parts(d, a->queries));
    for (size_t q = 0; !a->own && q < a->queries; q++)
        memcpy(query + q * stride, a->query + q * d, d * sizeof *query);
    const bool simple = a->n > 0 && a->n <= TILE && (a->n + STAGE) * stride * 4 <= STAGE_B &&
                        a->queries > 1 && !a->own && !a->fixed;
    if (simple) pipelined(a, first, last, scratch, query, sums);
    for (size_t t = first; !simple && t < last; t++) {
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
