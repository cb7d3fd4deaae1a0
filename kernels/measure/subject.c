#include "subject.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"

const char *const ar_store_names[] = {"fp32", "bf16", NULL};
const char *const ar_direction_names[] = {"forward", "backward", NULL};
const char *const ar_phase_names[] = {"all", "1", "2", NULL};

/* One thread's tokens, as a micro-batch of its own. */
typedef struct {
    ar_depth depth;
    float *memory; /* owned: all buffers of depth but the queries */
    float *source[];
} walker;

struct ar_subject {
    ar_case about;
    const ar_mechanism *mechanism;
    float *query;     /* owned */
    walker *walker[]; /* [threads], owned */
};

/* Has it a phase 1, with outputs of its own? */
static bool has_outputs(const ar_case *c) {
    return ar_mechanism_has_blocks(c->mechanism) && c->form == AR_TWO_PHASE;
}

bool ar_subject_has_forms(ar_mechanism_id mechanism) {
    const ar_mechanism *first = NULL;
    for (int form = 0; ar_form_names[form]; form++) {
        const ar_mechanism *kernels = ar_mechanism_find(mechanism, (ar_form)form);
        if (kernels && first && kernels != first) return true;
        if (kernels) first = kernels;
    }
    return false;
}

bool ar_subject_has_form(ar_mechanism_id mechanism, ar_form form) {
    return ar_mechanism_find(mechanism, form) != NULL;
}

size_t ar_store_B(ar_store store) {
    return store == AR_STORE_FP32 ? 4 : 2;
}

bool ar_subject_exists(const ar_case *c, const char **why) {
    *why = NULL;
    if (!ar_mechanism_find(c->mechanism, c->form))
        *why = "no kernels for this mechanism and form in this version";
    else if (c->store != AR_STORE_FP32)
        *why = "no kernels with this storage type in this version";
    else if (c->direction != AR_FORWARD)
        *why = "no backward kernels in this version";
    else if (c->phase != AR_PHASE_ALL && !has_outputs(c))
        *why = "this form has no phases";
    return *why == NULL;
}

/* ---- buffers ---- */

static size_t sources(const ar_case *c) {
    const size_t block = ar_mechanism_block(c->mechanism, c->block);
    return block == 0 ? 1 : (c->layers + block - 1) / block + 1;
}

/* Floats of one walker: sources, h, v and, where there is a phase 1, its outputs. */
static size_t floats(const ar_case *c, size_t tokens) {
    const size_t group = has_outputs(c) ? c->block : 0;
    const size_t statistics = (2 * group * tokens + 15) / 16 * 16;
    const size_t vector = (tokens * c->width + 15) / 16 * 16;
    return vector * (sources(c) + 2 + group) + statistics;
}

static size_t share(const ar_case *c, size_t thread) {
    return c->tokens * (thread + 1) / c->threads - c->tokens * thread / c->threads;
}

double ar_subject_B(const ar_case *c) {
    double all = (double)(c->layers + 1) * (double)c->width;
    for (size_t i = 0; i < c->threads; i++)
        all += (double)floats(c, share(c, i));
    return all * sizeof(float);
}

static float *allocate(size_t count) {
    return aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
}

static walker *walker_open(const ar_case *c, size_t tokens, const float *query) {
    const size_t n = sources(c), vector = (tokens * c->width + 15) / 16 * 16;
    walker *w = malloc(sizeof *w + n * sizeof *w->source);
    if (!w) return NULL;
    w->memory = allocate(floats(c, tokens));
    if (!w->memory) {
        free(w);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        w->source[i] = w->memory + i * vector;
    float *const h = w->memory + n * vector, *const v = h + vector, *const o = v + vector;
    w->depth = (ar_depth){.tokens = tokens,
                          .width = c->width,
                          .layers = c->layers,
                          .block = c->block,
                          .query = query,
                          .source = w->source,
                          .h = h,
                          .v = v};
    if (has_outputs(c)) {
        w->depth.o = o;
        w->depth.max = o + c->block * vector;
        w->depth.sum = w->depth.max + c->block * tokens;
    }
    return w;
}

ar_status ar_subject_open(const ar_case *c, ar_subject **subject, ar_err *err) {
    const char *why;
    if (!ar_subject_exists(c, &why)) return ar_fail(err, AR_EUSAGE, "%s", why);
    ar_subject *s = calloc(1, sizeof *s + c->threads * sizeof *s->walker);
    if (s) s->query = allocate((c->layers + 1) * c->width);
    if (!s || !s->query) {
        ar_subject_close(s);
        return ar_fail(err, AR_ERUN, "no memory for the queries");
    }
    s->about = *c;
    s->mechanism = ar_mechanism_find(c->mechanism, c->form);
    ar_fill_normal(s->query, (c->layers + 1) * c->width, 1.0 / sqrt((double)c->width), 1);
    int failed = 0;
#pragma omp parallel for num_threads((int)c->threads) schedule(static, 1) reduction(+ : failed)
    for (size_t i = 0; i < c->threads; i++) {
        const size_t count = floats(c, share(c, i));
        s->walker[i] = walker_open(c, share(c, i), s->query);
        if (s->walker[i]) ar_fill_normal(s->walker[i]->memory, count, 1.0, 2 + i);
        failed += !s->walker[i];
    }
    if (failed) {
        ar_subject_close(s);
        return ar_fail(err, AR_ERUN, "no memory for buffers of %.3g B", ar_subject_B(c));
    }
    if (c->phase == AR_PHASE_2) { /* alone it needs phase 1's statistics */
        s->about.phase = AR_PHASE_1;
        ar_subject_run(s);
        s->about.phase = AR_PHASE_2;
    }
    *subject = s;
    return AR_OK;
}

void ar_subject_close(ar_subject *subject) {
    if (!subject) return;
    for (size_t i = 0; i < subject->about.threads; i++) {
        if (subject->walker[i]) free(subject->walker[i]->memory);
        free(subject->walker[i]);
    }
    free(subject->query);
    free(subject);
}

/* ---- a repetition ---- */

/* As ar_chunk_forward, with f_l and, if asked, a phase left out. */
static void walk(const ar_mechanism *mechanism, ar_depth *depth, ar_phase phase) {
    const size_t block = ar_mechanism_has_blocks(mechanism->id) ? depth->block : 0;
    for (size_t first = 1; first <= depth->layers;) {
        const size_t last = ar_segment_last(block, first, depth->layers);
        depth->first = first;
        if (phase != AR_PHASE_2) mechanism->start(depth, first, last);
        for (size_t l = first; phase != AR_PHASE_1 && l <= last; l++) {
            mechanism->input(depth, l);
            mechanism->output(depth, l);
        }
        if (phase != AR_PHASE_1) mechanism->finish(depth, last);
        first = last + 1;
    }
}

void ar_subject_run(ar_subject *subject) {
    const size_t threads = subject->about.threads;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (size_t i = 0; i < threads; i++)
        walk(subject->mechanism, &subject->walker[i]->depth, subject->about.phase);
}

bool ar_subject_poison(ar_subject *subject, size_t source) {
    if (source >= sources(&subject->about)) return false;
    subject->walker[0]->source[source][0] = NAN;
    return true;
}

bool ar_subject_finite(const ar_subject *subject, char *why, size_t size) {
    const ar_case *c = &subject->about;
    const size_t n = sources(c), d = c->width;
    size_t before = 0;
    for (size_t i = 0; i < c->threads; i++) {
        const ar_depth *m = &subject->walker[i]->depth;
        const size_t vector = m->tokens * d;
        for (size_t b = 0; b < n + 2; b++) {
            const float *x = b < n ? m->source[b] : b == n ? m->v : m->h;
            for (size_t j = 0; j < vector; j++) {
                if (isfinite(x[j])) continue;
                char name[48] = "a layer's output";
                if (b < n) snprintf(name, sizeof name, "source %zu", b);
                if (b > n) snprintf(name, sizeof name, "the input of the last layers");
                snprintf(why, size, "%s is %s at token %zu, element %zu", name,
                         isnan(x[j]) ? "not a number" : "infinite", before + j / d, j % d);
                return false;
            }
        }
        before += m->tokens;
    }
    return true;
}

/* ---- given layer outputs ---- */

typedef struct {
    const float *v;
    float *h;
    size_t vector;
} recorder;

static void record(void *user, size_t l, const float *h, float *v) {
    const recorder *r = user;
    memcpy(r->h + (l - 1) * r->vector, h, r->vector * sizeof *h);
    memcpy(v, r->v + (l - 1) * r->vector, r->vector * sizeof *v);
}

ar_status ar_subject_inputs(const ar_case *c, const float *x, const float *v, const float *query,
                            float *h, ar_err *err) {
    const ar_mechanism *mechanism = ar_mechanism_find(c->mechanism, c->form);
    const size_t vector = c->tokens * c->width;
    walker *w = mechanism ? walker_open(c, c->tokens, query) : NULL;
    if (!w) return ar_fail(err, AR_ERUN, mechanism ? "no memory" : "no kernels");
    memcpy(w->source[0], x, vector * sizeof *x);
    recorder r = {v, h, vector};
    ar_chunk_forward(mechanism, &w->depth, 1, c->layers, record, &r);
    memcpy(h + c->layers * vector, mechanism->head(&w->depth), vector * sizeof *h);
    free(w->memory);
    free(w);
    return AR_OK;
}
