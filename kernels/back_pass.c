#include "back_pass.h"
#include "simd/tile_size.h"

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

/* In floats, whole cache lines; the sums of parameters' gradients come first. */
static size_t lines(size_t floats) {
    return (floats + 15) / 16 * 16;
}
static size_t attend_scratch(size_t d, size_t queries, size_t n, bool fixed) {
    const size_t rows = 2 * UNIT + (fixed ? 0 : 2 * queries);
    return rows * ar_row_stride(d) + (fixed ? lines(queries * n) : 0);
}
static size_t streams_scratch(size_t d, size_t m) {
    return (m + 2) * ar_row_stride(d) + lines((m + 2) * m);
}

size_t ar_back_pass_scratch(size_t width, size_t queries, size_t n, size_t streams) {
    const size_t attend = attend_scratch(width, queries, 0, false);
    const size_t fixed = n ? attend_scratch(width, queries, n, true) : 0;
    return most(most(attend, fixed), streams_scratch(width, streams));
}

/* to [rows][count], pitch apart, += what each thread left in its scratch from `at` on,
 * `stride` apart. */
static void add_sums(const ar_depth *m, size_t scratch, size_t at, size_t rows, size_t count,
                     size_t stride, float *to, size_t pitch) {
    for (size_t k = 0; k < (m->threads > 1 ? m->threads : 1); k++) {
        const float *const sums = m->scratch + k * scratch + at;
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < count; j++)
                to[r * pitch + j] += sums[r * stride + j];
    }
}

void ar_pass_dot(const ar_depth *m, const ar_dot *a) {
    ar_pass_run(m, ar_ops_find(m->isa, m->dtype)->dot, a, 2, 0, 0);
}

void ar_pass_attend_back(const ar_depth *m, const ar_attend_back *a) {
    const size_t d = a->width, own = a->own ? 1 : 0;
    const size_t scratch = attend_scratch(d, a->queries, a->n, a->fixed != NULL);
    ar_pass_run(m, ar_ops_find(m->isa, m->dtype)->attend_back, a, 2 * a->n + a->queries + own,
                a->n + own, scratch);
    if (a->fixed)
        add_sums(m, scratch, 0, a->queries, a->n, a->n, a->dfixed, a->pitch);
    else if (!a->own)
        add_sums(m, scratch, 0, a->queries, d, ar_row_stride(d), a->dquery, d);
}

void ar_pass_partial_back(const ar_depth *m, const ar_partial_back *a) {
    const size_t d = a->width, stride = ar_row_stride(d);
    ar_pass_run(m, ar_ops_find(m->isa, m->dtype)->partial_back, a, a->variant.sigmoid ? 3 : 4, 1,
                stride);
    add_sums(m, stride, 0, 1, d, stride, a->dquery, d);
}

void ar_pass_gate_back(const ar_depth *m, const ar_gate_back *a) {
    const size_t d = a->width, stride = ar_row_stride(d), gates = a->gate ? 1 : 0;
    ar_pass_run(m, ar_ops_find(m->isa, m->dtype)->gate_back, a, 3 + gates + (a->dh ? 1 : 0),
                2 + gates, stride);
    if (!a->gate) add_sums(m, stride, 0, 1, d, stride, a->dquery, d);
}

void ar_pass_streams_back(const ar_depth *m, const ar_streams_back *a) {
    const size_t d = a->width, s = a->streams, stride = ar_row_stride(d);
    const size_t scratch = streams_scratch(d, s);
    const size_t done = a->v ? 2 * s + 2 : s, next = a->dv ? s : 0;
    ar_pass_run(m, ar_ops_find(m->isa, m->dtype)->streams_back, a, done + next,
                (a->v ? s : 0) + (a->dv ? 1 : 0), scratch);
    if (!a->v) return;
    add_sums(m, scratch, 0, s + 2, d, stride, a->dp, d);
    add_sums(m, scratch, (s + 2) * stride, 1, (s + 2) * s, 0, a->db, 0);
}
