#include "subject.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "coefficients.h"
#include "fill.h"
#include "subject_back.h"
#include "subject_walk.h"

const char *const ar_store_names[] = {"fp32", "bf16", NULL};
const char *const ar_direction_names[] = {"forward", "backward", NULL};
const char *const ar_phase_names[] = {"all", "1", "2", NULL};

struct ar_subject {
    ar_case about;
    const ar_mechanism *mechanism;
    float *query;      /* owned */
    ar_walk *walk;     /* owned; forward */
    ar_way_back *back; /* owned; backward */
    ar_ledger ledger;  /* of the last repetition */
    ar_sde sde;
};

bool ar_case_attends(const ar_case *c) {
    return c->mechanism == AR_FULL || c->mechanism == AR_BLOCK;
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

bool ar_subject_has_form(ar_mechanism_id mechanism, ar_form form, ar_direction direction) {
    if (direction == AR_BACKWARD) return ar_backward_find(mechanism, form) != NULL;
    return ar_mechanism_find(mechanism, form) != NULL;
}

ar_form ar_subject_only_form(ar_mechanism_id mechanism) {
    int form = 0;
    while (ar_form_names[form] && !ar_mechanism_find(mechanism, (ar_form)form))
        form++;
    return ar_form_names[form] ? (ar_form)form : AR_TWO_PHASE;
}

size_t ar_store_B(ar_store store) {
    return store == AR_STORE_FP32 ? 4 : 2;
}

bool ar_subject_exists(const ar_case *c, const char **why) {
    *why = NULL;
    if (!ar_subject_has_form(c->mechanism, c->form, AR_FORWARD))
        *why = "no kernels for this mechanism and form in this version";
    else if (!ar_subject_has_form(c->mechanism, c->form, c->direction))
        *why = "no kernels for the backward of this form in this version";
    else if (c->mechanism == AR_MHC && c->streams > AR_MAX_STREAMS)
        *why = "the kernels have at most 16 streams";
    else if (c->phase != AR_PHASE_ALL && !(ar_case_attends(c) && c->form == AR_TWO_PHASE))
        *why = "this form has no phases";
    else if (!ar_subject_has_ablation(c->mechanism, c->form, c->ablation))
        *why = "this mechanism and form has no such variant";
    return *why == NULL;
}

/* ---- storage ---- */

float ar_store_get(ar_store store, const void *x, size_t i) {
    if (store == AR_STORE_FP32) return ((const float *)x)[i];
    return ar_bf16_widen(((const uint16_t *)x)[i]);
}

void ar_store_put(ar_store store, void *x, size_t i, float value) {
    if (store == AR_STORE_FP32)
        ((float *)x)[i] = value;
    else
        ((uint16_t *)x)[i] = ar_bf16_narrow(value);
}

float ar_store_round(ar_store store, float value) {
    float room;
    ar_store_put(store, &room, 0, value);
    return ar_store_get(store, &room, 0);
}

size_t ar_case_vector_B(const ar_case *c) {
    return (c->tokens * c->width * ar_store_B(c->store) + 63) / 64 * 64;
}

double ar_subject_B(const ar_case *c) {
    if (c->direction == AR_BACKWARD) return ar_way_back_B(c);
    const double floats = (double)(c->layers + 1) * (double)c->width + (double)ar_mix_count(c) +
                          (double)ar_bias_count(c);
    return sizeof(float) * floats + (double)ar_walk_vectors(c) * (double)ar_case_vector_B(c);
}

/* Normal numbers in so many vectors, written first by the threads that will use them. */
static void fill(const ar_case *c, void *memory, size_t count, double deviation) {
    enum { ROOM = 1024 };
    const size_t threads = c->threads;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (size_t i = 0; i < threads; i++) {
        float room[ROOM];
        const size_t from = c->tokens * i / threads * c->width;
        const size_t to = c->tokens * (i + 1) / threads * c->width;
        for (size_t k = 0; k < count; k++)
            for (size_t j = from; j < to; j++) {
                if ((j - from) % ROOM == 0) ar_fill_normal(room, ROOM, deviation, 2 + k + 1000 * j);
                ar_store_put(c->store, (char *)memory + k * ar_case_vector_B(c), j,
                             room[(j - from) % ROOM]);
            }
    }
}

static bool subject_buffers(const ar_case *c, ar_subject *s) {
    s->query = malloc((c->layers + 1) * c->width * sizeof *s->query);
    if (!s->query) return false;
    if (c->direction == AR_FORWARD) {
        s->walk = ar_walk_open(c, s->query);
        return s->walk != NULL;
    }
    ar_way_back *const back = malloc(sizeof *back);
    if (back && ar_way_back_open(c, s->query, AR_KEPT_TIMED, back))
        s->back = back;
    else
        free(back);
    return s->back != NULL;
}

ar_status ar_subject_open(const ar_case *c, ar_subject **subject, ar_err *err) {
    const char *why;
    if (!ar_subject_exists(c, &why)) return ar_fail(err, AR_EUSAGE, "%s", why);
    ar_subject *s = calloc(1, sizeof *s);
    if (!s || !subject_buffers(c, s)) {
        ar_subject_close(s);
        return ar_fail(err, AR_ERUN, "no memory for buffers of %.3g B", ar_subject_B(c));
    }
    s->about = *c;
    s->mechanism = ar_mechanism_find(c->mechanism, c->form);
    ar_fill_normal(s->query, (c->layers + 1) * c->width, 1.0 / sqrt((double)c->width), 1);
    if (s->back)
        fill(c, s->back->memory, s->back->vectors, 1.0);
    else
        fill(c, s->walk->memory, ar_walk_vectors(c), 1.0);
    if (s->back && c->ablation == AR_OWN_QUERY) /* to logits as the statistics stand for */
        fill(c, s->back->back.gate[0], s->back->kept, 1.0 / sqrt((double)c->width));
    if (s->walk && c->phase == AR_PHASE_2) { /* alone it needs phase 1's statistics */
        s->about.phase = AR_PHASE_1;
        ar_subject_run(s);
        s->about.phase = AR_PHASE_2;
    }
    (s->back ? &s->back->depth : &s->walk->depth)->ledger = &s->ledger;
    *subject = s;
    return AR_OK;
}

ar_ledger ar_subject_moved(const ar_subject *subject) {
    return subject->ledger;
}

void ar_subject_publish(ar_subject *subject, const ar_sde *sde) {
    subject->sde = *sde;
}

void ar_subject_close(ar_subject *subject) {
    if (!subject) return;
    ar_walk_close(subject->walk);
    if (subject->back) ar_way_back_close(subject->back);
    free(subject->back);
    free(subject->query);
    free(subject);
}

/* ---- a repetition ---- */

void ar_subject_reset(ar_subject *subject) {
    if (subject->back)
        ar_way_back_reset(&subject->about, subject->back);
    else
        ar_walk_reset(&subject->about, subject->walk);
}

void ar_subject_run(ar_subject *subject) {
    const ar_case *const c = &subject->about;
    subject->ledger = (ar_ledger){0};
    if (subject->back)
        ar_way_back_run(subject->back, c->phase);
    else
        ar_walk_run(subject->mechanism, c, subject->walk);
    ar_sde_add(&subject->sde, &subject->ledger, c->tokens * c->width * ar_store_B(c->store));
}

bool ar_subject_poison(ar_subject *subject, size_t source) {
    const ar_way_back *const back = subject->back;
    if (source >= (back ? back->grads : ar_walk_sources(&subject->about))) return false;
    void *const x = back ? back->back.grad[source] : subject->walk->source[source];
    ar_store_put(subject->about.store, x, 0, NAN);
    return true;
}

/* Is the vector of that name finite? */
static bool finite(const ar_case *c, const void *x, const char *name, char *why, size_t size) {
    for (size_t j = 0; j < c->tokens * c->width; j++) {
        const float value = ar_store_get(c->store, x, j);
        if (isfinite(value)) continue;
        snprintf(why, size, "%s is %s at token %zu, element %zu", name,
                 isnan(value) ? "not a number" : "infinite", j / c->width, j % c->width);
        return false;
    }
    return true;
}

bool ar_subject_finite(const ar_subject *subject, char *why, size_t size) {
    const ar_case *const c = &subject->about;
    const ar_way_back *const back = subject->back;
    const size_t n = back ? back->grads : ar_walk_sources(c);
    for (size_t i = 0; i < n; i++) {
        char name[48];
        snprintf(name, sizeof name, "%ssource %zu", back ? "the gradient of " : "", i);
        const void *const x = back ? back->back.grad[i] : subject->walk->source[i];
        if (!finite(c, x, name, why, size)) return false;
    }
    if (back) return true;
    const ar_depth *const m = &subject->walk->depth;
    return finite(c, m->v, "a layer's output", why, size) &&
           finite(c, m->h, "the input of the last layers", why, size);
}

/* ---- given layer outputs ---- */

typedef struct {
    const ar_case *about;
    const float *v;
    float *h, *gate; /* gate: room for a layer's gates or queries, or NULL */
    void *gates;     /* the kernels' */
    size_t vector;
    ar_store store;
} recorder;

/* What layer l leaves to the next in the kernels' buffer of gates. */
static void leave_gates(const recorder *r, size_t l) {
    if (!r->gate) return;
    ar_gate_fill(r->about, l, r->gate);
    for (size_t j = 0; j < r->vector; j++)
        ar_store_put(r->store, r->gates, j, r->gate[j]);
}

static void record(void *user, size_t l, const void *h, void *v) {
    const recorder *r = user;
    for (size_t j = 0; j < r->vector; j++) {
        r->h[(l - 1) * r->vector + j] = ar_store_get(r->store, h, j);
        ar_store_put(r->store, v, j, r->v[(l - 1) * r->vector + j]);
    }
    leave_gates(r, l);
}

ar_status ar_subject_inputs(const ar_case *c, const float *x, const float *v, const float *query,
                            float *h, ar_err *err) {
    const ar_mechanism *mechanism = ar_mechanism_find(c->mechanism, c->form);
    const size_t vector = c->tokens * c->width;
    ar_walk *w = mechanism ? ar_walk_open(c, query) : NULL;
    float *const gate = ar_case_has_gates(c) ? malloc(vector * sizeof *gate) : NULL;
    if (!w || (ar_case_has_gates(c) && !gate)) {
        ar_walk_close(w);
        free(gate);
        return ar_fail(err, AR_ERUN, mechanism ? "no memory" : "no kernels");
    }
    const size_t copies = c->mechanism == AR_MHC ? c->streams : 1;
    for (size_t i = 0; i < copies; i++)
        for (size_t j = 0; j < vector; j++)
            ar_store_put(c->store, w->source[i], j, x[j]);
    recorder r = {c, v, h, gate, w->depth.gate, vector, c->store};
    leave_gates(&r, 0);
    ar_chunk_forward(mechanism, &w->depth, 1, c->layers, record, &r);
    const void *const out = mechanism->head(&w->depth);
    for (size_t j = 0; j < vector; j++)
        h[c->layers * vector + j] = ar_store_get(c->store, out, j);
    ar_walk_close(w);
    free(gate);
    return AR_OK;
}
