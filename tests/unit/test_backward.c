/* The backward of every mechanism against the gradients in double (which test_reference_back
 * holds to finite differences), and its ledger against the closed form. */

#include "back_pass.h"
#include "backward.h"
#include "tap.h"
#include "traffic.h"
#include "walk.h"

typedef struct {
    size_t L, S, T, d, m, threads, cut; /* cut: the first chunk's last layer; 0: all one by one */
    ar_dtype dtype;
    ar_isa isa;
} shape;

/* A walk by the kernels: what the forward keeps, and what comes back. */
typedef struct {
    const subject *s;
    const walk *ref;
    ar_depth m;
    ar_back b;
    double *seen; /* [L+1][T][d] inputs of the layers, and the output */
    double *grad[KINDS];
    void **h, **v, **gate, **partial, **sources, **dgate; /* lists of owned vectors */
} run;

static void put(const run *r, void *to, const double *from) {
    for (size_t i = 0; i < r->m.tokens * r->m.width; i++)
        set(r->m.dtype, to, i, from[i]);
}
static void take(const run *r, const void *from, double *to) {
    for (size_t i = 0; i < r->m.tokens * r->m.width; i++)
        to[i] = at(r->m.dtype, from, i);
}

static void **vectors(const ar_depth *m, size_t n) {
    void **const list = get(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = floats(m->tokens * m->width);
    list[n] = NULL;
    return list;
}
static void vectors_free(void **list) {
    for (size_t i = 0; list[i]; i++)
        free(list[i]);
    free(list);
}

static void copy(const run *r, void *to, const void *from) {
    memcpy(to, from, r->m.tokens * r->m.width * (r->m.dtype == AR_BF16 ? 2 : 4));
}

static void layer(void *user, size_t l, const void *h, void *v) {
    run *const r = user;
    const size_t size = r->m.tokens * r->m.width, L = r->m.layers, S = r->m.block;
    const double *const gate = r->ref->gate + (l - 1) * size;
    take(r, h, r->seen + (l - 1) * size);
    if (r->s->id == AR_MHC)
        for (size_t j = 0; j < r->m.streams; j++)
            copy(r, r->h[(l - 1) * r->m.streams + j], r->m.source[j]);
    else
        copy(r, r->h[l - 1], h);
    if (r->s->id == AR_BLOCK && (l - 1) % S > 0)
        copy(r, r->partial[l - 1], r->m.source[(l - 1) / S + 1]);
    put(r, v, r->ref->v + (l - 1) * size);
    put(r, r->v[l - 1], r->ref->v + (l - 1) * size);
    put(r, r->gate[l - 1], gate);
    if (r->s->id == AR_HIGHWAY) put(r, r->m.gate, gate);
    if (r->m.variant.own_query && l < L) put(r, r->m.gate, gate + size);
}

static void layer_back(void *user, size_t l, const void *dv, void *dh) {
    run *const r = user;
    const size_t size = r->m.tokens * r->m.width;
    take(r, dv, r->grad[V] + (l - 1) * size);
    if (r->s->id == AR_HIGHWAY) take(r, r->b.dgate[l - 1], r->grad[GATE] + (l - 1) * size);
    put(r, dh, r->ref->c + (l - 1) * size);
}

/* Chunks as the shape says, forward and then back. Returns vectors moved and not as counted. */
static double walk_both(run *r, const shape *s, const ar_mechanism *forward,
                        const ar_backward *back) {
    const size_t size = s->T * s->d, L = s->L;
    ar_ledger ledger = {0, 0, 0};
    double counted = 0.0;
    if (r->m.variant.own_query) put(r, r->m.gate, r->ref->gate);
    for (size_t first = 1, last; first <= L; first = last + 1) {
        last = s->cut == 0 ? first : first <= s->cut ? s->cut : L;
        ar_chunk_forward(forward, &r->m, first, last, layer, r);
    }
    const void *const out = forward->head(&r->m);
    take(r, out, r->seen + L * size);
    put(r, r->b.dv, r->ref->c + L * size);
    void *const dout = floats(size);
    copy(r, dout, r->b.dv);
    back->head(&r->b, out, dout);
    free(dout);
    r->m.ledger = &ledger;
    for (size_t last = L, first; last >= 1; last = first - 1) {
        first = s->cut == 0 ? last : last > s->cut ? s->cut + 1 : 1;
        ar_chunk_backward(back, &r->b, first, last, layer_back, r);
        counted += ar_traffic_backward(r->s->id, r->s->form, L, s->S, s->m, first, last);
    }
    if (r->m.variant.own_query)
        for (size_t l = 1; l <= L; l++)
            take(r, r->b.dgate[l - 1], r->grad[GATE] + (l - 1) * size);
    r->m.ledger = NULL;
    return (double)(ledger.loads + ledger.stores) - counted;
}

/* All of a kind's gradients as double. */
static void collect(run *r) {
    const size_t copies = r->s->id == AR_MHC ? r->m.streams : 1;
    double *const one = doubles(r->m.tokens * r->m.width);
    memset(r->grad[X], 0, r->ref->count[X] * sizeof *one);
    for (size_t j = 0; j < copies; j++) {
        take(r, r->b.grad[j], one);
        for (size_t i = 0; i < r->ref->count[X]; i++)
            r->grad[X][i] += one[i];
    }
    for (size_t i = 0; i < r->ref->count[QUERY]; i++)
        r->grad[QUERY][i] = (double)r->b.dquery[i];
    for (size_t i = 0; i < r->ref->count[MIX]; i++)
        r->grad[MIX][i] = (double)r->b.dmix[i];
    for (size_t i = 0; i < r->ref->count[BIAS]; i++)
        r->grad[BIAS][i] = (double)r->b.dbias[i];
    free(one);
}

/* Largest difference of two lists, relative to the largest of a scale; a NaN stays. */
static double apart(size_t n, const double *x, const double *y, const double *scale) {
    double worst = 0.0, largest = DBL_MIN;
    for (size_t i = 0; i < n; i++) {
        const double error = fabs(x[i] - y[i]);
        if (!(error <= worst)) worst = error;
        largest = fmax(largest, fabs(scale[i]));
    }
    return largest > 1e-6 ? worst / largest : worst;
}

static float *zeros(size_t n) {
    float *const p = floats(n + 1);
    memset(p, 0, (n + 1) * sizeof *p);
    return p;
}

typedef struct {
    double error[KINDS], input, ledger;
    double *grad[KINDS]; /* the caller frees them */
    size_t count[KINDS];
} outcome;

static outcome outcome_of(const subject *s, const shape *a) {
    const ar_mechanism *const forward = ar_mechanism_find(s->id, s->form);
    const ar_backward *const back = ar_backward_find(s->id, s->form);
    const size_t size = a->T * a->d, L = a->L;
    run r = {.s = s, .m = depth_new(L, a->S, a->T, a->d)};
    outcome o = {.input = 0.0};
    r.m.streams = a->m;
    r.m.dtype = a->dtype;
    r.m.isa = a->isa;
    r.m.threads = a->threads;
    r.m.variant = s->variant;
    r.m.keep = true;
    walk ref = walk_new(s, &r.m, a->dtype);
    r.ref = &ref;
    free(r.m.scratch);
    const size_t there = ar_depth_scratch(&r.m), again = ar_back_scratch(back, &r.m);
    r.m.scratch = floats(there > again ? there : again);
    r.seen = doubles((L + 1) * size);
    for (size_t i = 0; i < KINDS; i++) {
        r.grad[i] = doubles(ref.count[i] + 1);
        memset(r.grad[i], 0, ref.count[i] * sizeof *r.grad[i]);
    }
    r.h = vectors(&r.m, L * (s->id == AR_MHC ? a->m : 1));
    r.v = vectors(&r.m, L);
    r.gate = vectors(&r.m, L);
    r.partial = vectors(&r.m, L);
    r.dgate = vectors(&r.m, L);
    r.sources = vectors(&r.m, L + AR_MAX_STREAMS);
    for (size_t i = 0; i < L + AR_MAX_STREAMS; i++) {
        memset(r.sources[i], 0, size * sizeof(float));
        put(&r, r.m.source[i], ref.x); /* others are written before they are read */
    }
    const size_t group = ar_back_group(back, &r.m);
    r.b = (ar_back){.depth = &r.m,
                    .h = r.h,
                    .v = r.v,
                    .gate = r.gate,
                    .partial = r.partial,
                    .grad = r.sources,
                    .dh = floats(group * size),
                    .dv = floats(size),
                    .dgate = r.dgate,
                    .dot = floats(group * a->T),
                    .dquery = zeros(ref.count[QUERY]),
                    .dmix = zeros(ref.count[MIX]),
                    .dbias = zeros(ref.count[BIAS])};
    o.ledger = walk_both(&r, a, forward, back);
    collect(&r);
    double *const h = doubles((L + 1) * size);
    ar_reference_walk_forward(&ref.w, h, ref.scratch);
    o.input = apart((L + 1) * size, r.seen, h, h);
    for (size_t i = 0; i < KINDS; i++) {
        o.error[i] = apart(ref.count[i], r.grad[i], ref.grad[i], ref.grad[i]);
        o.grad[i] = r.grad[i];
        o.count[i] = ref.count[i];
    }
    free(h), free(r.seen), free(r.b.dh), free(r.b.dv), free(r.b.dot), free(r.b.dquery);
    free(r.b.dmix), free(r.b.dbias);
    vectors_free(r.h), vectors_free(r.v), vectors_free(r.gate), vectors_free(r.partial);
    vectors_free(r.dgate), vectors_free(r.sources);
    walk_free(&ref);
    depth_free(&r.m);
    return o;
}

static void outcome_free(outcome *o) {
    for (size_t i = 0; i < KINDS; i++)
        free(o->grad[i]);
}

/* Worst of the kinds; the inputs are there to see that the same walk is meant. */
static double worst_of(const outcome *o) {
    double worst = o->input;
    for (size_t i = 0; i < KINDS; i++)
        if (!(o->error[i] <= worst)) worst = o->error[i];
    return worst;
}

static void worse(double *worst, double x) {
    if (!(x <= *worst)) *worst = x;
}

/* The closed form is of softmax without a window, element-wise gates and w_l. */
static bool is_counted(const subject *s) {
    const ar_variant *const v = &s->variant;
    return !v->sigmoid && !v->window && !v->own_query && !v->scalar_gate;
}

/* Raw keys grow with d, streams that nothing bounds with L, and so does what rounding does. */
static double tolerance(const subject *s, ar_dtype dtype) {
    const bool grows = s->variant.raw_keys || s->variant.unconstrained;
    return dtype == AR_BF16 ? (grows ? 0.08 : 0.03) : (grows ? 3e-5 : 3e-6);
}

static void test_shapes(tap *tap_now, const subject *s, ar_isa isa, ar_dtype dtype) {
    static const size_t sizes[][5] = {/* L, S, T, d, m */
                                      {1, 1, 1, 1, 1},  {1, 4, 3, 5, 2},    {3, 1, 2, 17, 3},
                                      {4, 2, 3, 33, 4}, {7, 3, 1, 33, 4},   {6, 6, 3, 17, 1},
                                      {2, 2, 2, 9, 16}, {19, 18, 2, 40, 4}, {36, 18, 1, 70, 2}};
    double worst = 0.0, ledger = 0.0;
    size_t walks = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t L = sizes[i][0], step = L > 8 ? L / 2 : 1;
        if (s->variant.unconstrained && dtype == AR_BF16 && L > 4) continue;
        for (size_t cut = 0; cut <= L; cut += step, walks++) {
            const shape a = {L,           sizes[i][1], sizes[i][2],
                             sizes[i][3], sizes[i][4], L > 4 ? 1 : 1 + cut % 3,
                             cut,         dtype,       isa};
            outcome o = outcome_of(s, &a);
            worse(&worst, worst_of(&o));
            if (is_counted(s)) worse(&ledger, fabs(o.ledger));
            outcome_free(&o);
        }
    }
    OK(worst < tolerance(s, dtype), "%s, %s, %s: %zu walks, worst gradient %.1e", s->name,
       ar_isa_names[isa], dtype == AR_BF16 ? "bf16" : "fp32", walks, worst);
    OK(ledger < 1e-9, "%s: ledger as counted (%g)", s->name, ledger);
}

/* Gradients of vectors have the same bits with any number of threads. */
static void test_threads(tap *tap_now, const subject *s) {
    shape a = {6, 4, 7, 37, 4, 1, 6, AR_FP32, AR_ISA_AUTO};
    outcome one = outcome_of(s, &a);
    a.threads = 3;
    outcome three = outcome_of(s, &a);
    bool same = true;
    for (size_t i = X; i <= GATE; i++)
        same &= memcmp(one.grad[i], three.grad[i], one.count[i] * sizeof *one.grad[i]) == 0;
    OK(same, "%s: the same bits on three threads", s->name);
    outcome_free(&one);
    outcome_free(&three);
}

/* Forms of one mechanism agree to rounding. */
static void test_forms(tap *tap_now, ar_mechanism_id id) {
    const shape a = {11, 4, 3, 37, 4, 1, 11, AR_FP32, AR_ISA_AUTO};
    const subject one = {"", id, AR_ONE_PASS, {0}}, two = {"", id, AR_TWO_PHASE, {0}};
    outcome x = outcome_of(&one, &a), y = outcome_of(&two, &a);
    double worst = 0.0;
    for (size_t i = 0; i < KINDS; i++)
        worse(&worst, apart(x.count[i], x.grad[i], y.grad[i], x.grad[i]));
    OK(worst < 5e-6, "%s: one-pass and two-phase differ by %.1e", ar_mechanism_names[id], worst);
    outcome_free(&x);
    outcome_free(&y);
}

int main(void) {
    TAP_START;
    for (size_t k = 0; k < SUBJECTS; k++) {
        for (ar_isa isa = AR_ISA_BASE; isa < AR_ISAS && ar_isa_runs(isa); isa++)
            for (ar_dtype dtype = AR_FP32; dtype <= AR_BF16; dtype++)
                test_shapes(tap_now, &subjects[k], isa, dtype);
        test_threads(tap_now, &subjects[k]);
    }
    test_forms(tap_now, AR_FULL);
    test_forms(tap_now, AR_BLOCK);
    return DONE();
}
