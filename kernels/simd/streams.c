/* (m)HC, fused: a token's m streams are loaded, mixed, stored and read out in one pass. */

#include "streams.h"

INLINE void update_step(size_t j, size_t n, size_t m, size_t d, const float *room, const element *v,
                        element *const *out, const float *write, const float *mix) {
    const vec b = vec_load(v + j, n);
    const size_t stride = ar_row_stride(d);
    fetch(v + d + j);
    for (size_t k = 0; k < m; k++) {
        vec s = b * write[k];
        for (size_t i = 0; i < m; i++)
            s = vec_fma(vec_get(room + i * stride + j, n), vec_all(mix[i * m + k]), s);
        vec_store(out[k] + j, s, n);
        fetch(out[k] + d + j);
    }
}

INLINE void read_step(size_t j, size_t n, size_t m, const float *const *x, const float *read,
                      element *h, bool stream) {
    vec s = {0};
    for (size_t i = 0; i < m; i++)
        s = vec_fma(vec_get(x[i] + j, n), vec_all(read[i]), s);
    vec_write(h + j, s, n, stream);
}

void AR_SIMD(streams)(const void *args, size_t first, size_t last, float *scratch) {
    const ar_streams *const a = args;
    const size_t d = a->width, m = a->streams;
    const bool stream = a->past_caches && a->h && vec_aligned(a->h, d);
    const stream_layer past = {m, d, a->past, a->past_bias, a->manifold};
    const stream_layer next = {m, d, a->next, a->next_bias, a->manifold};
    float norm[MOST], write[MOST], mix[MOST * MOST], read[MOST];
    const float *x[MOST];
    element *out[MOST];
    for (size_t t = first; t < last; t++) {
        look(m, d, a->stream, t, scratch, x, norm);
        if (a->v) {
            update_of(&past, x, norm, write, mix);
            for (size_t j = 0; j < m; j++)
                out[j] = (element *)a->stream[j] + t * d;
            if (m == 4)
                STRIPS(d, update_step, 4, d, scratch, (const element *)a->v + t * d, out, write,
                       mix);
            else
                STRIPS(d, update_step, m, d, scratch, (const element *)a->v + t * d, out, write,
                       mix);
            if (a->h) look(m, d, a->stream, t, scratch, x, norm);
        }
        if (!a->h) continue;
        for (size_t j = 0; j < m; j++)
            read[j] = 1.0f;
        if (a->next) read_of(&next, x, norm, read);
        STRIPS(d, read_step, m, x, read, (element *)a->h + t * d, stream);
    }
    if (a->past_caches) vec_fence();
}
