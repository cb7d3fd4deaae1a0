/* Backward of (m)HC. With x_j the streams that the layer read, G_k the gradients of those that
 * it left, z_jc = r_j x_j . p_c and coefficients read, write, mix of z + b:
 *     dread_j = dh . x_j,  dwrite_k = G_k . v,  dmix_jk = x_j . G_k,  dz through what made them,
 *     dx_j = sum_k mix_jk G_k + read_j dh + sum_c dz_jc (r_j p_c - z_jc r_j^2 x_j / d),
 *     dp_c += sum_j dz_jc r_j x_j,   dv = sum_k write_k G_k. */

#include "../back_pass.h"
#include "../row.h"
#include "tile.h"
#include "weigh.h"

/* Coefficients: read, write and a column of mix for each stream; number c m + j is that of
 * stream j under projection c. */
enum { MOST = AR_MAX_STREAMS, COEFFICIENTS = (MOST + 2) * MOST, SINKHORN = 20 };

/* tanh(z) = 2 sigmoid(2 z) - 1; slope: its derivative. */
static void squash(size_t n, const float *z, bool sigma, float *value, float *slope) {
    for (size_t i = 0; i < n; i += VL) {
        const size_t part = n - i < VL ? n - i : VL;
        const vec x = vec_get(z + i, part);
        const vec s = sigma ? sigmoid(x) : 2.0f * sigmoid(x + x) - 1.0f;
        vec_put(value + i, s, part);
        vec_put(slope + i, sigma ? s * (1.0f - s) : 1.0f - s * s, part);
    }
}

/* Each turn's scales of rows and columns; a[j][k] row_j column_k is the mixture after it. */
typedef struct {
    float row[SINKHORN][MOST], column[SINKHORN + 1][MOST];
} scales;

static void sinkhorn(size_t m, const float *a, scales *s) {
    for (size_t k = 0; k < m; k++)
        s->column[0][k] = 1.0f;
    for (int turn = 0; turn < SINKHORN; turn++) {
        const float *const column = s->column[turn];
        float *const row = s->row[turn], sum[MOST] = {0};
        for (size_t j = 0; j < m; j++) {
            float total = 0.0f;
            for (size_t k = 0; k < m; k++)
                total += a[j * m + k] * column[k];
            row[j] = 1.0f / total;
        }
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++)
                sum[k] += a[j * m + k] * row[j];
        for (size_t k = 0; k < m; k++)
            s->column[turn + 1][k] = 1.0f / sum[k];
    }
}

/* From the gradient of the mixture to that of log a, in place. */
static void sinkhorn_back(size_t m, const float *a, const scales *s, float *grad) {
    float da[MOST * MOST], drow[MOST] = {0}, dcolumn[MOST] = {0};
    const float *const last_row = s->row[SINKHORN - 1], *const last_column = s->column[SINKHORN];
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++) {
            const float g = grad[j * m + k], x = a[j * m + k];
            da[j * m + k] = g * last_row[j] * last_column[k];
            drow[j] += g * x * last_column[k];
            dcolumn[k] += g * x * last_row[j];
        }
    for (int turn = SINKHORN - 1; turn >= 0; turn--) {
        const float *const row = s->row[turn], *const before = s->column[turn];
        const float *const column = s->column[turn + 1];
        for (size_t k = 0; k < m; k++) /* now of the sum whose inverse column_k is */
            dcolumn[k] *= -column[k] * column[k];
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < m; k++) {
                da[j * m + k] += dcolumn[k] * row[j];
                drow[j] += dcolumn[k] * a[j * m + k];
            }
        for (size_t k = 0; k < m; k++)
            dcolumn[k] = 0.0f;
        for (size_t j = 0; j < m; j++) {
            const float sum = -drow[j] * row[j] * row[j];
            for (size_t k = 0; k < m; k++) {
                da[j * m + k] += sum * before[k];
                dcolumn[k] += sum * a[j * m + k];
            }
            drow[j] = 0.0f;
        }
    }
    for (size_t i = 0; i < m * m; i++)
        grad[i] = da[i] * a[i];
}

/* ---- a token ---- */

typedef struct {
    const ar_streams_back *a;
    size_t m, d, stride;
    const float *x[MOST]; /* rows of the streams as floats */
    float norm[MOST];     /* 1 / rms */
} token;

static void look(token *s, size_t t, void *const *stream, float *room) {
    const element *from[MOST];
    for (size_t j = 0; j < s->m; j++) {
        from[j] = (const element *)stream[j] + t * s->d;
        s->x[j] = room + j * s->stride;
    }
    pack(s->m, s->d, from, room, s->norm);
    for (size_t j = 0; j < s->m; j++)
        s->norm[j] = ar_row_rms_inverse(s->d, s->norm[j]);
}

/* out[c m + j] = x_j . y_c, for any count of rows y a pitch apart. */
static void products(const token *s, size_t count, const float *y, size_t pitch, float *out) {
    float dot[TILE][BATCH];
    const element *none[TILE];
    for (size_t i = 0; i < TILE; i++)
        none[i] = (const element *)(const void *)s->x[0];
    for (size_t c = 0; c < count; c += BATCH) {
        const size_t some = count - c < BATCH ? count - c : BATCH;
        dots(s->m, some, s->d, s->x, y + c * pitch, pitch, dot, none);
        for (size_t q = 0; q < some; q++)
            for (size_t j = 0; j < s->m; j++)
                out[(c + q) * s->m + j] = dot[j][q];
    }
}

/* z of the projections from p on. */
static void project(const token *s, size_t count, const float *p, float *z) {
    products(s, count, p, s->d, z);
    for (size_t c = 0; c < count; c++)
        for (size_t j = 0; j < s->m; j++)
            z[c * s->m + j] *= s->norm[j];
}

/* The biases' order: as the coefficients', but mix by rows. */
static size_t bias_of(size_t m, size_t i) {
    const size_t c = i / m, j = i % m;
    return c < 2 ? i : 2 * m + j * m + c - 2;
}

/* From z and the gradient dc of the coefficients to the coefficients and, in dc, dz; adds to
 * the biases' gradient. */
static void differentiate(const token *s, const float *z, float *dc, float *value, float *db) {
    const size_t m = s->m, count = (m + 2) * m, squashed = s->a->manifold ? 2 * m : count;
    float with[COEFFICIENTS] = {0}, slope[COEFFICIENTS];
    const float *const b = s->a->past_b;
    for (size_t i = 0; i < count; i++)
        with[i] = s->a->manifold ? z[i] + b[bias_of(m, i)] : z[i];
    squash(squashed, with, s->a->manifold, value, slope);
    if (!s->a->manifold) {
        for (size_t i = 0; i < count; i++) {
            value[i] += b[bias_of(m, i)];
            db[bias_of(m, i)] += dc[i];
            dc[i] *= slope[i];
        }
        return;
    }
    for (size_t j = m; j < 2 * m; j++) { /* write = 2 sigmoid */
        value[j] *= 2.0f;
        slope[j] *= 2.0f;
    }
    for (size_t i = 0; i < squashed; i++)
        dc[i] *= slope[i];
    float a[MOST * MOST], grad[MOST * MOST];
    scales turns;
    for (size_t j = 0; j < m; j++) { /* a row's largest does not change the result */
        float max = with[2 * m + j];
        for (size_t k = 1; k < m; k++)
            max = with[(2 + k) * m + j] > max ? with[(2 + k) * m + j] : max;
        for (size_t k = 0; k < m; k++) {
            a[j * m + k] = exp_of(with[(2 + k) * m + j] - max);
            grad[j * m + k] = dc[(2 + k) * m + j];
        }
    }
    sinkhorn(m, a, &turns);
    sinkhorn_back(m, a, &turns, grad);
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++) {
            value[(2 + k) * m + j] =
                a[j * m + k] * turns.row[SINKHORN - 1][j] * turns.column[SINKHORN][k];
            dc[(2 + k) * m + j] = grad[j * m + k];
        }
    for (size_t i = 0; i < count; i++)
        db[bias_of(m, i)] += dc[i];
}

/* Rows that a sum goes over: G, dh, the projections, x_j of either output. */
enum { TERMS = 2 * MOST + 5 };

/* grad_j, for two streams at a time; g: rows of G, then dh. */
static void to_streams(const token *s, size_t t, const float *g, const float *z, const float *dz,
                       const float *value, float *room) {
    const size_t m = s->m, d = s->d;
    float *const between[2] = {room, room + s->stride};
    for (size_t j = 0; j < m; j += 2) {
        const size_t pair = m - j < 2 ? 1 : 2, terms = 2 * m + 3;
        const float *row[TERMS];
        float weight[TERMS][BATCH] = {{0}};
        mix_ends e = {.keep = {0}};
        for (size_t k = 0; k <= m; k++)
            row[k] = g + k * s->stride;
        for (size_t c = 0; c < m + 2; c++)
            row[m + 1 + c] = s->a->past_p + c * d;
        for (size_t q = 0; q < pair; q++) {
            const float r = s->norm[j + q];
            float own = 0.0f;
            for (size_t k = 0; k < m; k++)
                weight[k][q] = value[(2 + k) * m + j + q];
            weight[m][q] = value[j + q];
            for (size_t c = 0; c < m + 2; c++) {
                const size_t i = c * m + j + q;
                weight[m + 1 + c][q] = dz[i] * r;
                own -= dz[i] * z[i] * r * r / (float)d;
            }
            row[terms + q] = s->x[j + q];
            weight[terms + q][q] = own;
            e.out[q] = (element *)s->a->grad[j + q] + t * d;
        }
        mix(terms + pair, pair, d, row, (const float(*)[BATCH])weight, &e, between);
    }
}

/* dp_c += sum_j dz_jc r_j x_j, for two projections at a time. */
static void to_projections(const token *s, const float *dz, float *dp) {
    const size_t m = s->m;
    for (size_t c = 0; c < m + 2; c += 2) {
        const size_t pair = m + 2 - c < 2 ? 1 : 2;
        float weight[MOST][BATCH] = {{0}};
        mix_ends e = {.keep = {1.0f, 1.0f}};
        float *room[2];
        for (size_t q = 0; q < pair; q++) {
            e.in[q] = e.part[q] = room[q] = dp + (c + q) * s->stride;
            for (size_t j = 0; j < m; j++)
                weight[j][q] = dz[(c + q) * m + j] * s->norm[j];
        }
        mix(m, pair, s->d, s->x, (const float(*)[BATCH])weight, &e, room);
    }
}

/* One or two rows as floats. */
static void widen_row(size_t d, const void *vector, size_t t, float *room) {
    const element *const from = (const element *)vector + t * d;
    float unused;
    pack(1, d, &from, room, &unused);
}

/* rows: m of G, dh, v, two between, m of the streams. */
static void absorb(token *s, size_t t, float *dp, float *db, float *rows) {
    const size_t m = s->m, d = s->d;
    const ar_streams_back *const a = s->a;
    float *const dh = rows + m * s->stride, *const v = dh + s->stride, *const room = v + s->stride;
    float z[COEFFICIENTS], dc[COEFFICIENTS], value[COEFFICIENTS];
    token g = *s;
    look(&g, t, a->grad, rows);
    widen_row(d, a->dh, t, dh);
    widen_row(d, a->v, t, v);
    look(s, t, a->past, room + 2 * s->stride);
    project(s, m + 2, a->past_p, z);
    products(s, 1, dh, s->stride, dc);
    products(&g, 1, v, s->stride, dc + m);
    products(s, m, rows, s->stride, dc + 2 * m);
    differentiate(s, z, dc, value, db);
    to_streams(s, t, rows, z, dc, value, room);
    to_projections(s, dc, dp);
}

INLINE void write_step(size_t j, size_t n, size_t m, size_t d, element *const *grad,
                       const float *write, element *dv, bool stream) {
    vec s = {0};
    for (size_t k = 0; k < m; k++) {
        s = vec_fma(vec_load(grad[k] + j, n), vec_all(write[k]), s);
        fetch(grad[k] + d + j);
    }
    vec_write(dv + j, s, n, stream);
}

static void output(token *s, size_t t, bool stream, float *room) {
    const size_t m = s->m, d = s->d;
    const ar_streams_back *const a = s->a;
    float write[MOST], slope[MOST];
    element *grad[MOST];
    look(s, t, a->next, room);
    project(s, 1, a->next_p + d, write);
    for (size_t j = 0; j < m; j++) {
        write[j] += a->manifold ? a->next_b[m + j] : 0.0f;
        grad[j] = (element *)a->grad[j] + t * d;
    }
    squash(m, write, a->manifold, write, slope);
    for (size_t j = 0; j < m; j++)
        write[j] = a->manifold ? 2.0f * write[j] : write[j] + a->next_b[m + j];
    STRIPS(d, write_step, m, d, grad, write, (element *)a->dv + t * d, stream);
}

/* scratch: the sums of dp, m + 2 rows, and of db; then rows. */
void AR_SIMD(streams_back)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_streams_back *const a = args;
    const size_t d = a->width, m = a->streams, stride = ar_row_stride(d);
    const size_t biases = ((m + 2) * m + 15) / 16 * 16;
    const bool stream = a->stream && a->dv && vec_aligned(a->dv, d);
    float *const db = scratch + (m + 2) * stride, *const rows = db + biases;
    token s = {.a = a, .m = m, .d = d, .stride = stride};
    if (a->v) memset(scratch, 0, ((m + 2) * stride + biases) * sizeof *scratch);
    for (size_t t = first; t < last; t++) {
        if (a->v) absorb(&s, t, scratch, db, rows);
        if (a->dv) output(&s, t, stream, rows + (m + 4) * stride);
    }
    if (stream) vec_fence();
}
