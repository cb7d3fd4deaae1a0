/* The two phases, and one pass, as the mechanisms call them. */

#include "pass.h"

float *ar_statistics(const ar_depth *m, float *of, size_t l) {
    return of + (m->keep ? l - 1 : l - m->first) * m->tokens;
}

void *ar_take_place(ar_depth *m) {
    void *const h = m->v;
    m->v = m->h;
    return m->h = h;
}

const void *ar_attend_one(ar_depth *m, size_t l, size_t n, void *v) {
    const bool own = m->variant.own_query && l <= m->layers;
    const size_t window = m->variant.window;
    const size_t skip = window > 0 && n > window + 1 ? n - window - 1 : 0;
    ar_pass_attend(m, &(ar_attend){.width = m->width,
                                   .source = m->source,
                                   .n = n - skip,
                                   .skip = skip,
                                   .v = v,
                                   .query = m->query + (l - 1) * m->width,
                                   .own = own ? m->gate : NULL,
                                   .o = v ? v : m->h,
                                   .max = m->keep ? ar_statistics(m, m->max, l) : NULL,
                                   .sum = m->keep ? ar_statistics(m, m->sum, l) : NULL,
                                   .variant = m->variant,
                                   .stream = m->stream && !v});
    return v ? ar_take_place(m) : m->h;
}

void ar_attend_many(const ar_depth *m, size_t n, size_t first, size_t last) {
    ar_pass_answer(m, &(ar_answer){.width = m->width,
                                   .source = m->source,
                                   .n = n,
                                   .query = m->query + (first - 1) * m->width,
                                   .queries = last - first + 1,
                                   .o = m->o,
                                   .max = ar_statistics(m, m->max, first),
                                   .sum = ar_statistics(m, m->sum, first),
                                   .vectors = m->tokens * m->width,
                                   .scalars = m->tokens,
                                   .variant = m->variant,
                                   .stream = m->stream});
}

void *ar_attended(const ar_depth *m, size_t l) {
    const size_t bytes = m->dtype == AR_FP32 ? 4 : 2;
    return (char *)m->o + (l - m->first) * m->tokens * m->width * bytes;
}

const void *ar_merge_in(const ar_depth *m, size_t l, void *const *source, size_t n, const void *v) {
    void *const o = ar_attended(m, l);
    ar_pass_merge(m, &(ar_merge){.width = m->width,
                                 .source = source,
                                 .n = n,
                                 .v = v,
                                 .o = o,
                                 .max = ar_statistics(m, m->max, l),
                                 .sum = ar_statistics(m, m->sum, l),
                                 .keep = m->keep,
                                 .query = m->query + (l - 1) * m->width,
                                 .variant = m->variant});
    return o;
}
