/* Phase 1: several queries answered over n sources in one pass, with their statistics.
 *
 * Work comes in units: a tile of sources of one or a few tokens against a batch of queries.
 * While a unit's logits are made, the outputs of the unit before it are summed and stored, a
 * chunk of the row each in turn, so that streamed stores drain behind the arithmetic.
 * Logits: queries are lanes, a source's element is spread over them; each logit is two sums,
 * of even and of odd elements in order, so that its bits do not depend on its company. */

#include "../pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

enum {
    CHUNK = 512 / sizeof(element), /* elements: 512 bytes of an output at a time */
    LANES = BATCH / VL,            /* vectors of a batch of queries */
    CHAINS = 2,                    /* sums of a logit */
    DOT_ROWS = VL == 16 ? 8 : 4,   /* rows whose logits stay in registers */
    SUM_QUERIES = 4,               /* outputs and strips of them that do */
    SUM_STRIPS = VL == 16 ? 4 : 2,
};

typedef struct {
    size_t t, tokens;       /* tokens t.. */
    size_t source, sources; /* a tile of sources; more than one token only if it is all of them */
    size_t batch, queries;  /* queries of this batch */
    size_t rows;            /* tokens x sources, a token's behind one another */
    const element *row[TILE];
    vec logit[TILE][LANES][CHAINS], square[TILE];
    float z[TILE][BATCH];    /* weights */
    float keep[TILE][BATCH]; /* of what the tiles before gave, by token */
} unit;

/* Elements j.. of the unit's rows as floats: where they lie, or converted in room. */
static void chunk_rows(const unit *u, size_t j, size_t n, float (*room)[CHUNK], const float **x) {
    for (size_t r = 0; r < u->rows; r++) {
#ifdef AR_STORE_BF16
        for (size_t i = 0; i < n; i += VL) {
            const size_t part = n - i < VL ? n - i : VL;
            if (part == VL)
                vec_put(room[r] + i, vec_load(u->row[r] + j + i, VL), VL);
            else
                vec_put(room[r] + i, vec_load(u->row[r] + j + i, part), part);
        }
        x[r] = room[r];
#else
        (void)n;
        (void)room;
        x[r] = u->row[r] + j;
#endif
    }
}

/* ---- logits ---- */

INLINE void square_step(size_t j, size_t n, const float *x, const element *next, vec *sum) {
    const vec v = vec_get(x + j, n);
    fetch(next + j);
    *sum = vec_fma(v, v, *sum);
}

/* Rows of the next tokens are fetched on the way. */
static void square_chunk(unit *u, const float *const *x, size_t ahead, size_t n) {
    for (size_t r = 0; r < u->rows; r++) {
        vec sum = u->square[r];
        STRIPS(n, square_step, x[r], u->row[r] + ahead, &sum);
        u->square[r] = sum;
    }
}

INLINE void dot_rows(size_t rows, const float *const *from, const float *w, size_t count,
                     vec (*logit)[LANES][CHAINS], size_t lane) {
    vec s[DOT_ROWS][CHAINS];
    const float *x[DOT_ROWS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        x[r] = from[r];
#pragma GCC unroll 2
        for (size_t c = 0; c < CHAINS; c++)
            s[r][c] = logit[r][lane][c];
    }
    size_t j = 0;
    for (; j + CHAINS <= count; j += CHAINS)
#pragma GCC unroll 2
        for (size_t c = 0; c < CHAINS; c++) {
            const vec q = vec_get(w + (j + c) * BATCH, VL);
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++)
                s[r][c] = vec_fma(vec_all(x[r][j + c]), q, s[r][c]);
        }
    if (j < count)
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++)
            s[r][0] = vec_fma(vec_all(x[r][j]), vec_get(w + j * BATCH, VL), s[r][0]);
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (size_t c = 0; c < CHAINS; c++)
            logit[r][lane][c] = s[r][c];
}

static void dot_chunk(unit *u, const float *const *x, const float *w, size_t n) {
    for (size_t lane = 0; lane * VL < u->queries; lane++, w += VL)
        for (size_t r = 0; r < u->rows; r += DOT_ROWS) {
            vec(*const z)[LANES][CHAINS] = u->logit + r;
            switch (u->rows - r) {
            case 1:
                dot_rows(1, x + r, w, n, z, lane);
                break;
            case 2:
                dot_rows(2, x + r, w, n, z, lane);
                break;
            case 3:
                dot_rows(3, x + r, w, n, z, lane);
                break;
            case 4:
                dot_rows(4, x + r, w, n, z, lane);
                break;
            case 5:
                dot_rows(DOT_ROWS < 5 ? DOT_ROWS : 5, x + r, w, n, z, lane);
                break;
            case 6:
                dot_rows(DOT_ROWS < 6 ? DOT_ROWS : 6, x + r, w, n, z, lane);
                break;
            case 7:
                dot_rows(DOT_ROWS < 7 ? DOT_ROWS : 7, x + r, w, n, z, lane);
                break;
            default:
                dot_rows(DOT_ROWS, x + r, w, n, z, lane);
                break;
            }
        }
}

/* From products to weights, and the statistics so far. */
static void unit_weigh(const ar_answer *a, unit *u, const float *norm, parts *part) {
    for (size_t k = 0; k < u->tokens; k++) {
        float(*const z)[BATCH] = u->z + k * u->sources;
        for (size_t i = 0; i < u->sources; i++)
            for (size_t lane = 0; lane < LANES; lane++) {
                const vec *const s = u->logit[k * u->sources + i][lane];
                vec_put(&z[i][lane * VL], (s[0] + s[1]) * norm[k * u->sources + i], VL);
            }
        parts p = u->source == 0 ? empty_parts() : *part;
        weigh(u->sources, z, &p, u->keep[k], a->variant);
        *part = p;
        for (size_t q = 0; u->source + u->sources == a->n && q < u->queries; q++) {
            a->max[(u->batch * BATCH + q) * a->scalars + u->t + k] = p.max[q];
            a->sum[(u->batch * BATCH + q) * a->scalars + u->t + k] = p.sum[q];
        }
    }
}

/* ---- sums ---- */

typedef struct {
    size_t sources;
    const element *const *x; /* rows, from element `from` on */
    size_t from;
    const float (*z)[BATCH]; /* weights, at the first query */
    const float *keep;
    float *between;    /* sums from tile to tile, a stride apart */
    bool starts, ends; /* with no tile before; after */
    element *out;      /* of the first query; the others `vectors` apart */
    size_t stride, vectors;
    bool stream;
} sums;

INLINE void sum_block(size_t queries, size_t strips, size_t n, const sums *a, size_t j) {
    const vec none = {0};
    const bool starts = a->starts, ends = a->ends;
    vec s[SUM_QUERIES][SUM_STRIPS];
#pragma GCC unroll 4
    for (size_t q = 0; q < queries; q++)
#pragma GCC unroll 4
        for (size_t c = 0; c < strips; c++)
            s[q][c] =
                starts ? none : vec_get(a->between + q * a->stride + j + c * VL, n) * a->keep[q];
    for (size_t r = 0; r < a->sources; r++) {
        const element *const x = a->x[r] + a->from + j;
        vec v[SUM_STRIPS];
#pragma GCC unroll 4
        for (size_t c = 0; c < strips; c++)
            v[c] = vec_load(x + c * VL, n);
#pragma GCC unroll 4
        for (size_t q = 0; q < queries; q++) {
            const vec w = vec_all(a->z[r][q]);
#pragma GCC unroll 4
            for (size_t c = 0; c < strips; c++)
                s[q][c] = vec_fma(w, v[c], s[q][c]);
        }
    }
#pragma GCC unroll 4
    for (size_t q = 0; q < queries; q++)
#pragma GCC unroll 4
        for (size_t c = 0; c < strips; c++)
            if (!ends)
                vec_put(a->between + q * a->stride + j + c * VL, s[q][c], n);
            else if (strips == 1)
                vec_write(a->out + q * a->vectors + j, s[q][c], n, a->stream);
            else if (c % 2 == 0)
                vec_write2(a->out + q * a->vectors + j + c * VL, s[q][c], s[q][c + 1], a->stream);
}

INLINE void sum_blocks(size_t queries, const sums *a, size_t end) {
    size_t j = 0;
    for (; j + SUM_STRIPS * VL <= end; j += SUM_STRIPS * VL)
        sum_block(queries, SUM_STRIPS, VL, a, j);
    for (; j + VL <= end; j += VL)
        sum_block(queries, 1, VL, a, j);
    if (j < end) sum_block(queries, 1, end - j, a, j);
}

/* Elements j.. of the outputs; between: the queries' sums from tile to tile. */
static void sum_chunk(const ar_answer *a, const unit *u, float *between, bool stream, size_t j,
                      size_t n) {
    const size_t stride = ar_row_stride(a->width);
    for (size_t k = 0; k < u->tokens; k++)
        for (size_t q = 0; q < u->queries; q += SUM_QUERIES) {
            const size_t some = u->queries - q < SUM_QUERIES ? u->queries - q : SUM_QUERIES;
            const size_t query = u->batch * BATCH + q;
            const sums s = {u->sources,
                            u->row + k * u->sources,
                            j,
                            (const float(*)[BATCH]) & u->z[k * u->sources][q],
                            &u->keep[k][q],
                            between + query * stride + j,
                            u->source == 0,
                            u->source + u->sources == a->n,
                            (element *)a->o + query * a->vectors + (u->t + k) * a->width + j,
                            stride,
                            a->vectors,
                            stream};
            switch (some) {
            case 1:
                sum_blocks(1, &s, n);
                break;
            case 2:
                sum_blocks(2, &s, n);
                break;
            case 3:
                sum_blocks(3, &s, n);
                break;
            default:
                sum_blocks(4, &s, n);
                break;
            }
        }
}

/* ---- the pass ---- */

/* Queries element by element, a batch's side by side; 0 beyond the last. */
static void transpose(const ar_answer *a, float *w) {
    const size_t d = a->width;
    for (size_t q = 0; q < (a->queries + BATCH - 1) / BATCH * BATCH; q++)
        for (size_t j = 0; j < d; j++)
            w[(q / BATCH * d + j) * BATCH + q % BATCH] =
                q < a->queries ? a->query[q * d + j] : 0.0f;
}

static void nothing(const ar_answer *a, size_t t) {
    const size_t d = a->width;
    for (size_t q = 0; q < a->queries; q++) {
        memset((element *)a->o + q * a->vectors + t * d, 0, d * sizeof(element));
        a->max[q * a->scalars + t] = -INFINITY;
        a->sum[q * a->scalars + t] = 0.0f;
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Unit after unit: tokens, in them tiles of sources, in them batches of queries. */
static void next_unit(const ar_answer *a, size_t last, const unit *before, unit *u) {
    const size_t batches = (a->queries + BATCH - 1) / BATCH;
    u->t = before->t;
    u->source = before->source;
    u->batch = before->batch + 1;
    if (u->batch == batches) {
        u->batch = 0;
        u->source += before->sources;
    }
    if (u->source >= a->n) {
        u->source = 0;
        u->t += before->tokens;
    }
    u->sources = least(a->n - u->source, TILE);
    u->tokens = a->n < DOT_ROWS ? least(last - u->t, DOT_ROWS / a->n) : 1;
    u->rows = u->tokens * u->sources;
    u->queries = least(a->queries - u->batch * BATCH, BATCH);
    for (size_t r = 0; r < u->rows; r++)
        u->row[r] = (const element *)a->source[u->source + r % u->sources] +
                    (u->t + r / u->sources) * a->width;
    for (size_t r = 0; r < u->rows; r++) {
        memset(u->logit[r], 0, sizeof u->logit[r]);
        u->square[r] = (vec){0};
    }
}

/* scratch: the transposed queries, the sums between tiles, the parts. */
void AR_SIMD(answer)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_answer *const a = args;
    const size_t d = a->width, batches = (a->queries + BATCH - 1) / BATCH;
    const bool stream = a->stream && vec_aligned(a->o, d);
    float *const w = scratch, *const between = w + batches * BATCH * ar_row_stride(d);
    parts *const part = (parts *)(void *)(scratch + ar_scratch_parts(d, a->queries));
    float room[TILE][CHUNK], norm[TILE] = {0};
    const float *x[TILE];
    unit both[2];
    if (a->n == 0)
        for (size_t t = first; t < last; t++)
            nothing(a, t);
    if (a->n == 0 || first == last) return;
    transpose(a, w);
    both[1] = (unit){.t = first, .batch = batches - 1};
    for (size_t k = 0;; k++) {
        unit *const now = &both[k % 2], *const before = &both[(k + 1) % 2];
        next_unit(a, last, before, now);
        const bool works = now->t < last, opens = works && now->batch == 0;
        for (size_t j = 0; j < d; j += CHUNK) {
            const size_t n = least(d - j, CHUNK);
            if (works) {
                chunk_rows(now, j, n, room, x);
                if (opens) square_chunk(now, x, j + now->tokens * d, n);
                dot_chunk(now, x, w + (now->batch * d + j) * BATCH, n);
            }
            if (k > 0) sum_chunk(a, before, between, stream, j, n);
        }
        if (!works) break;
        for (size_t r = 0; opens && r < now->rows; r++)
            norm[r] = a->variant.raw_keys ? 1.0f : ar_row_rms_inverse(d, vec_sum(now->square[r]));
        unit_weigh(a, now, norm, &part[now->batch]);
    }
    if (a->stream) vec_fence();
}
