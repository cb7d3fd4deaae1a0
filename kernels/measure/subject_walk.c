#include "subject_walk.h"

#include <stdlib.h>
#include <string.h>

#include "coefficients.h"
#include "pages.h"

/* Has it a phase 1, with outputs of its own? */
static bool has_outputs(const ar_case *c) {
    return ar_case_attends(c) && (c->form == AR_TWO_PHASE || c->form == AR_AUTO);
}

/* Vectors at depth's o: phase 1's outputs, or what unfused mHC adds up. */
static size_t outputs(const ar_case *c) {
    if (c->mechanism == AR_MHC && c->form == AR_UNFUSED) return 2 * c->streams;
    return has_outputs(c) ? c->block : 0;
}

size_t ar_walk_sources(const ar_case *c) {
    if (c->mechanism == AR_MHC) return c->streams;
    const size_t block = ar_mechanism_block(c->mechanism, c->block);
    return block == 0 ? 1 : (c->layers + block - 1) / block + 1;
}

static size_t layer_outputs(const ar_case *c) {
    return c->outputs > 0 ? c->outputs : 1;
}

/* Do inputs take the place of layers' outputs? Here these are then added to what the inputs were
 * read from, which would grow without end. */
static bool grows(const ar_case *c) {
    const bool block = c->mechanism == AR_BLOCK && (c->form == AR_ONE_PASS || c->form == AR_AUTO);
    const bool streams = c->mechanism == AR_MHC && c->form == AR_FUSED;
    return block || streams;
}

/* Sources, h, gates or outputs of phase 1 (unfused mHC: between its passes), numbers for those
 * that grow to start from, and the outputs of the layers. */
size_t ar_walk_vectors(const ar_case *c) {
    return ar_walk_sources(c) + 1 + outputs(c) + ar_case_has_gates(c) + grows(c) + layer_outputs(c);
}

void ar_walk_close(ar_walk *w) {
    if (!w) return;
    free(w->memory);
    free(w->numbers);
    free(w);
}

ar_walk *ar_walk_open(const ar_case *c, const float *query) {
    const size_t n = ar_walk_sources(c), size = ar_case_vector_B(c),
                 group = has_outputs(c) ? c->block : 0;
    ar_walk *w = calloc(1, sizeof *w + n * sizeof *w->source);
    if (!w) return NULL;
    w->depth = (ar_depth){.tokens = c->tokens,
                          .width = c->width,
                          .layers = c->layers,
                          .block = c->block,
                          .query = query,
                          .source = w->source,
                          .dtype = c->store == AR_STORE_FP32 ? AR_FP32 : AR_BF16,
                          .isa = AR_ISA_AUTO,
                          .streams = c->streams,
                          .variant = ar_case_variant(c),
                          .threads = c->threads,
                          .balance = c->balance,
                          .stream = true};
    const size_t statistics = (group * c->tokens + 15) / 16 * 16;
    const size_t numbers = c->mechanism == AR_MHC ? c->tokens * (c->streams + 2) * c->streams : 0;
    const size_t scratch = (ar_depth_scratch(&w->depth) + 15) / 16 * 16;
    w->memory = ar_pages_alloc(size * ar_walk_vectors(c));
    const size_t mix = (ar_mix_count(c) + 15) / 16 * 16, bias = (ar_bias_count(c) + 15) / 16 * 16;
    w->numbers =
        ar_pages_alloc((2 * statistics + scratch + mix + bias + numbers + 16) * sizeof(float));
    if (!w->memory || !w->numbers) {
        ar_walk_close(w);
        return NULL;
    }
    char *const at = w->memory;
    for (size_t i = 0; i < n; i++)
        w->source[i] = at + i * size;
    w->depth.h = at + n * size;
    w->v = at + (ar_walk_vectors(c) - layer_outputs(c)) * size;
    w->depth.v = w->v;
    w->depth.scratch = w->numbers + 2 * statistics;
    float *const mixes = w->depth.scratch + scratch;
    ar_coefficients_fill(c, mixes, mixes + mix);
    w->depth.mix = mixes;
    w->depth.bias = mixes + mix;
    w->depth.numbers = mixes + mix + bias;
    if (ar_case_has_gates(c)) w->depth.gate = at + (n + 1) * size;
    w->depth.o = at + (n + 1) * size;
    if (group) {
        w->depth.max = w->numbers;
        w->depth.sum = w->numbers + statistics;
    }
    return w;
}

/* As ar_chunk_forward, with f_l and, if asked, a phase left out. */
void ar_walk_run(const ar_mechanism *mechanism, const ar_case *c, ar_walk *w) {
    ar_depth *const depth = &w->depth;
    const ar_phase phase = c->phase;
    const size_t block = ar_case_attends(c) ? depth->block : 0;
    for (size_t first = 1; first <= depth->layers;) {
        const size_t last = ar_segment_last(block, first, depth->layers);
        depth->first = first;
        if (phase != AR_PHASE_2) mechanism->start(depth, first, last);
        for (size_t l = first; phase != AR_PHASE_1 && l <= last; l++) {
            mechanism->input(depth, l);
            depth->v = w->v + l % layer_outputs(c) * ar_case_vector_B(c);
            mechanism->output(depth, l);
        }
        if (phase != AR_PHASE_1) mechanism->finish(depth, last);
        first = last + 1;
    }
}

void ar_walk_reset(const ar_case *c, ar_walk *w) {
    if (!grows(c)) return;
    const size_t vector = ar_case_vector_B(c), threads = c->threads, n = ar_walk_sources(c);
    char *const memory = w->memory, *const outputs = w->v;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (size_t i = 0; i < threads; i++) {
        const size_t from = vector / 64 * i / threads * 64;
        const size_t size = vector / 64 * (i + 1) / threads * 64 - from;
        const char *const first = outputs - vector + from;
        for (size_t k = 0; k < n; k++)
            memcpy(memory + k * vector + from, first, size);
        for (size_t k = 0; k < layer_outputs(c); k++)
            memcpy(outputs + k * vector + from, first, size);
    }
}
