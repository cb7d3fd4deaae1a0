#include "back_pass.h"
#include "mechanisms.h"

const ar_backward *ar_backward_find(ar_mechanism_id id, ar_form form) {
    static const ar_backward *const table[] = {&ar_block_two_phase_back, &ar_block_one_pass_back,
                                               &ar_block_auto_back,      &ar_full_two_phase_back,
                                               &ar_full_one_pass_back,   &ar_mhc_back};
    if (id == AR_STANDARD) return &ar_standard_back;
    if (id == AR_HIGHWAY) return &ar_highway_back;
    if (id == AR_DENSEFORMER) return &ar_denseformer_back;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i]->id == id && table[i]->form == form) return table[i];
    return NULL;
}

size_t ar_back_group(const ar_backward *b, const ar_depth *m) {
    if (!ar_mechanism_has_blocks(b->id)) return 1;
    return b->grouped && m->block < m->layers ? m->block : m->layers;
}

size_t ar_back_scratch(const ar_backward *b, const ar_depth *m) {
    const size_t group = ar_back_group(b, m), fixed = b->id == AR_DENSEFORMER ? m->layers + 1 : 0;
    const size_t streams = b->id == AR_MHC ? m->streams : 0;
    return (m->threads > 1 ? m->threads : 1) *
           ar_back_pass_scratch(m->width, group > 0 ? group : 1, fixed, streams);
}

void ar_chunk_backward(const ar_backward *backward, ar_back *back, size_t first, size_t last,
                       ar_layer_back_fn *layer, void *user) {
    const size_t block = backward->grouped ? back->depth->block : 0;
    while (first <= last) {
        back->first = ar_segment_first(block, first, last);
        back->last = last;
        for (size_t l = last; l >= back->first; l--) {
            const void *const dv = backward->output(back, l);
            layer(user, l, dv, backward->input(back, l));
            backward->absorb(back, l);
        }
        backward->finish(back);
        last = back->first - 1;
    }
}

void *ar_back_gathered(ar_back *b, size_t l) {
    const ar_depth *const m = b->depth;
    const size_t bytes = m->dtype == AR_FP32 ? 4 : 2;
    return (char *)b->dh + (l - b->first) * m->tokens * m->width * bytes;
}

void *ar_back_single(ar_back *b, size_t l) {
    (void)l;
    return b->dh;
}

void ar_back_dot(ar_back *b, size_t l) {
    const ar_depth *const m = b->depth;
    if (m->variant.sigmoid) return;
    ar_pass_dot(m, &(ar_dot){m->width, ar_back_gathered(b, l), b->h[l - 1],
                             b->dot + (l - b->first) * m->tokens});
}

/* Layers first..last and their dh, whose dots start at `dot`. One layer has its window, if
 * any; several are given sources that are in the windows of all. */
static void attend(const ar_back *b, size_t from, size_t n, const void *open, size_t first,
                   size_t last, const void *dh, const float *dot) {
    const ar_depth *const m = b->depth;
    const bool own = m->variant.own_query && last <= m->layers;
    const size_t window = from == 0 && first == last ? m->variant.window : 0;
    const size_t skip = window > 0 && n > window + 1 ? n - window - 1 : 0;
    ar_pass_attend_back(m, &(ar_attend_back){.width = m->width,
                                             .source = m->source + from,
                                             .open = open,
                                             .n = n - skip,
                                             .skip = skip,
                                             .query = m->query + (first - 1) * m->width,
                                             .own = own ? b->gate[first - 1] : NULL,
                                             .queries = last - first + 1,
                                             .max = m->max + (first - 1) * m->tokens,
                                             .sum = m->sum + (first - 1) * m->tokens,
                                             .dot = dot,
                                             .scalars = m->tokens,
                                             .vectors = m->tokens * m->width,
                                             .dh = dh,
                                             .grad = b->grad + from,
                                             .dquery = b->dquery + (first - 1) * m->width,
                                             .down = own ? b->dgate[first - 1] : NULL,
                                             .variant = m->variant});
}

void ar_back_attend(const ar_back *b, size_t from, size_t n, const void *open, size_t first,
                    size_t last) {
    ar_back here = *b;
    attend(b, from, n, open, first, last, ar_back_gathered(&here, first),
           b->dot + (first - b->first) * b->depth->tokens);
}

void ar_back_head(const ar_back *b, size_t n, const void *out, const void *dout) {
    const ar_depth *const m = b->depth;
    const size_t l = m->layers + 1;
    if (!m->variant.sigmoid) ar_pass_dot(m, &(ar_dot){m->width, dout, out, b->dot});
    attend(b, 0, n, NULL, l, l, dout, b->dot);
}
