#include "mechanisms.h"

const char *const ar_mechanism_names[] = {"standard", "highway", "denseformer", "mhc",
                                          "full",     "block",   NULL};
const char *const ar_form_names[] = {"two-phase", "one-pass", "auto", "fused", "unfused", NULL};

const ar_mechanism *ar_mechanism_find(ar_mechanism_id id, ar_form form) {
    static const ar_mechanism *const table[] = {
        &ar_standard,       &ar_block_two_phase, &ar_block_one_pass, &ar_block_auto,
        &ar_full_two_phase, &ar_full_one_pass,   &ar_mhc_fused,      &ar_mhc_unfused};
    if (id == AR_STANDARD) return &ar_standard;
    if (id == AR_HIGHWAY) return &ar_highway;
    if (id == AR_DENSEFORMER) return &ar_denseformer;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i]->id == id && table[i]->form == form) return table[i];
    return NULL;
}

bool ar_mechanism_has_blocks(ar_mechanism_id id) {
    return id == AR_FULL || id == AR_DENSEFORMER || id == AR_BLOCK;
}

size_t ar_mechanism_block(ar_mechanism_id id, size_t block) {
    if (!ar_mechanism_has_blocks(id)) return 0;
    return id == AR_BLOCK ? block : 1;
}

size_t ar_segment_last(size_t block, size_t first, size_t last) {
    if (block == 0) return last;
    const size_t end = first + (block - 1 - (first - 1) % block);
    /* A block of nearly SIZE_MAX layers wraps: it ends after the chunk. */
    return end < first || end > last ? last : end;
}

size_t ar_segment_first(size_t block, size_t first, size_t last) {
    const size_t start = block ? last - (last - 1) % block : first;
    return start > first ? start : first;
}

void ar_chunk_forward(const ar_mechanism *mechanism, ar_depth *depth, size_t first, size_t last,
                      ar_layer_fn *layer, void *user) {
    const size_t block = ar_mechanism_has_blocks(mechanism->id) ? depth->block : 0;
    while (first <= last) {
        const size_t end = ar_segment_last(block, first, last);
        mechanism->start(depth, first, end);
        for (size_t l = first; l <= end; l++) {
            const void *const h = mechanism->input(depth, l);
            layer(user, l, h, mechanism->output(depth, l));
        }
        mechanism->finish(depth, end);
        first = end + 1;
    }
}
