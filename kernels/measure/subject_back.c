#include "subject_back.h"

#include <stdlib.h>
#include <string.h>

#include "coefficients.h"
#include "pages.h"

/* Vectors of each kind. */
typedef struct {
    size_t sources, grads, dh, dv;
    size_t h, v, gate, partial, dgate; /* for a layer */
} needs;

static needs needs_of(const ar_case *c) {
    const size_t m = c->streams, block = ar_mechanism_block(c->mechanism, c->block);
    const size_t sources = block ? (c->layers + block - 1) / block + 1 : 0;
    const ar_depth shape = {.layers = c->layers, .block = c->block};
    const size_t group = ar_back_group(ar_backward_find(c->mechanism, c->form), &shape);
    needs n = {.sources = sources, .grads = sources ? sources : 1, .dh = group};
    if (group == 1 && c->outputs > 1) n.dh = c->outputs;
    const size_t attended = c->ablation == AR_SIGMOID ? 0 : 1; /* h, from which dh.h is made */
    n.gate = n.dgate = ar_case_has_gates(c) ? 1 : 0;
    switch (c->mechanism) {
    case AR_HIGHWAY:
        n.dv = n.h = n.v = 1;
        break;
    case AR_MHC:
        n.grads = n.h = m;
        n.dv = n.v = 1;
        break;
    case AR_BLOCK:
        n.partial = 1;
        n.h = attended;
        break;
    case AR_FULL:
        n.h = attended;
        break;
    case AR_STANDARD:
    case AR_DENSEFORMER:
        break;
    }
    return n;
}

static size_t vectors_of(const needs *n, size_t kept) {
    return n->sources + n->grads + n->dh + n->dv +
           kept * (n->h + n->v + n->gate + n->partial + n->dgate);
}

static size_t lines(size_t floats) {
    return (floats + 15) / 16 * 16;
}

static size_t memory_B(const ar_case *c, size_t kept) {
    const needs n = needs_of(c);
    return vectors_of(&n, kept) * ar_case_vector_B(c);
}

static ar_depth depth_of(const ar_case *c) {
    return (ar_depth){.tokens = c->tokens,
                      .width = c->width,
                      .layers = c->layers,
                      .block = c->block,
                      .dtype = c->store == AR_STORE_FP32 ? AR_FP32 : AR_BF16,
                      .streams = c->streams,
                      .variant = ar_case_variant(c),
                      .threads = c->threads,
                      .keep = true,
                      .stream = true};
}

/* Floats: statistics, dot, gradients of queries, coefficients and their gradients, what the
 * forward of mHC leaves from pass to pass, scratch. */
enum { MAX, SUM, DOT, DQUERY, MIX, DMIX, BIAS, DBIAS, TOKENS, SCRATCH, NUMBERS };

static size_t numbers_of(const ar_case *c, size_t size[NUMBERS]) {
    const ar_depth depth = depth_of(c);
    const ar_backward *const kernels = ar_backward_find(c->mechanism, c->form);
    const size_t scratch = ar_back_scratch(kernels, &depth), forward = ar_depth_scratch(&depth);
    const bool attends = ar_case_attends(c);
    size_t all = 0;
    size[MAX] = size[SUM] = attends ? (c->layers + 1) * c->tokens : 0;
    size[DOT] = attends ? ar_back_group(kernels, &depth) * c->tokens : 0;
    size[DQUERY] = (c->layers + 1) * c->width;
    size[MIX] = size[DMIX] = ar_mix_count(c);
    size[BIAS] = size[DBIAS] = ar_bias_count(c);
    size[TOKENS] = c->mechanism == AR_MHC ? c->tokens * (c->streams + 2) * c->streams : 0;
    size[SCRATCH] = scratch > forward ? scratch : forward;
    for (size_t i = 0; i < NUMBERS; i++)
        all += size[i] = lines(size[i]);
    return all;
}

double ar_way_back_B(const ar_case *c) {
    size_t size[NUMBERS];
    const double floats = (double)numbers_of(c, size) + (double)(c->layers + 1) * (double)c->width;
    return sizeof(float) * floats + (double)memory_B(c, AR_KEPT_TIMED);
}

/* The next count vectors. */
static void *next_vectors(const ar_case *c, char **at, size_t count) {
    char *const here = *at;
    *at += count * ar_case_vector_B(c);
    return here;
}

static void **list_of(const ar_case *c, void ***list, char **at, size_t count) {
    void **const here = *list;
    for (size_t i = 0; i < count; i++)
        here[i] = next_vectors(c, at, 1);
    *list += count;
    return here;
}

/* For each layer `each` vectors, of `kept` sets in turn. */
static void **kept_of(const ar_case *c, void ***list, char **at, size_t each, size_t kept) {
    void **const here = *list;
    char *const start = next_vectors(c, at, each * kept);
    for (size_t i = 0; i < c->layers * each; i++)
        here[i] = start + (i / each % kept * each + i % each) * ar_case_vector_B(c);
    *list += c->layers * each;
    return here;
}

bool ar_way_back_open(const ar_case *c, const float *query, size_t kept, ar_way_back *w) {
    const needs n = needs_of(c);
    size_t size[NUMBERS], floats = numbers_of(c, size);
    *w = (ar_way_back){.kernels = ar_backward_find(c->mechanism, c->form),
                       .depth = depth_of(c),
                       .sources = n.sources,
                       .grads = n.grads,
                       .kept = kept,
                       .vectors = vectors_of(&n, kept)};
    const size_t pointers =
        n.sources + n.grads + c->layers * (n.h + n.v + n.gate + n.partial + n.dgate) + 1;
    w->list = malloc(pointers * sizeof *w->list);
    w->memory = ar_pages_alloc(memory_B(c, kept));
    w->numbers = ar_pages_alloc(floats * sizeof *w->numbers);
    if (!w->list || !w->memory || !w->numbers) {
        ar_way_back_close(w);
        return false;
    }
    /* dh lies as one array: what pads a vector elsewhere is read there */
    if (c->tokens * c->width * ar_store_B(c->store) % 64) memset(w->memory, 0, memory_B(c, kept));
    char *at = w->memory;
    void **list = w->list;
    float *number[NUMBERS], *here = w->numbers;
    for (size_t i = 0; i < NUMBERS; i++, here += size[i - 1])
        number[i] = here;
    memset(w->numbers, 0, (floats - size[SCRATCH]) * sizeof *w->numbers);
    for (size_t i = 0; i < size[SUM]; i++) /* of a few logits of order one */
        number[SUM][i] = 8.0f;
    ar_coefficients_fill(c, number[MIX], number[BIAS]);
    w->depth.query = query;
    w->depth.source = list_of(c, &list, &at, n.sources);
    w->depth.max = number[MAX];
    w->depth.sum = number[SUM];
    w->depth.mix = number[MIX];
    w->depth.bias = number[BIAS];
    w->depth.numbers = number[TOKENS];
    w->depth.scratch = number[SCRATCH];
    w->back = (ar_back){.depth = &w->depth,
                        .grad = list_of(c, &list, &at, n.grads),
                        .dh = next_vectors(c, &at, n.dh),
                        .dv = next_vectors(c, &at, n.dv),
                        .dot = number[DOT],
                        .dquery = number[DQUERY],
                        .dmix = number[DMIX],
                        .dbias = number[DBIAS]};
    w->dh = w->back.dh;
    w->turns = ar_back_group(w->kernels, &w->depth) == 1 ? n.dh : 1;
    w->vector_B = ar_case_vector_B(c);
    w->back.h = kept_of(c, &list, &at, n.h, kept);
    w->back.v = kept_of(c, &list, &at, n.v, kept);
    w->back.gate = kept_of(c, &list, &at, n.gate, kept);
    w->back.partial = kept_of(c, &list, &at, n.partial, kept);
    w->back.dgate = kept_of(c, &list, &at, n.dgate, kept);
    return true;
}

void ar_way_back_close(ar_way_back *w) {
    free(w->list);
    free(w->memory);
    free(w->numbers);
}

/* To 0; what is not a number stays one. */
void ar_way_back_reset(const ar_case *c, ar_way_back *w) {
    if (c->mechanism != AR_MHC) return;
    const size_t threads = c->threads;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (size_t i = 0; i < threads; i++)
        for (size_t k = 0; k < w->grads; k++) {
            void *const x = w->back.grad[k];
            const size_t to = c->tokens * (i + 1) / threads * c->width;
            for (size_t j = c->tokens * i / threads * c->width; j < to; j++)
                ar_store_put(c->store, x, j, 0.0f * ar_store_get(c->store, x, j));
        }
}

/* In f_l's place: its gradient lies in the next of the buffers for it. */
static void next_dh(ar_way_back *w, size_t l) {
    if (w->turns > 1) w->back.dh = w->dh + l % w->turns * w->vector_B;
}

/* As ar_chunk_backward, with f_l's backward and, if asked, a phase left out. */
void ar_way_back_run(ar_way_back *w, ar_phase phase) {
    const ar_backward *const kernels = w->kernels;
    ar_back *const back = &w->back;
    back->depth = &w->depth; /* the struct may have moved since it was opened */
    const size_t block = kernels->grouped ? w->depth.block : 0;
    for (size_t last = w->depth.layers; last >= 1; last = back->first - 1) {
        back->first = ar_segment_first(block, 1, last);
        back->last = last;
        for (size_t l = last; phase != AR_PHASE_1 && l >= back->first; l--) {
            kernels->output(back, l);
            next_dh(w, l);
            kernels->absorb(back, l);
        }
        if (phase != AR_PHASE_2) kernels->finish(back);
    }
}
