#ifndef AR_PASS_H
#define AR_PASS_H

/* Passes: what the mechanisms are made of. One pass goes over all tokens once, on
 * vectors of a storage type, with one instruction set. A token's result depends on that
 * token alone, so it has the same bits however tokens are dealt to threads. */

#include "mechanism.h"

/* A token's row of d elements follows the last one's; in args vectors are [T][d]. */
typedef void ar_pass_fn(const void *args, size_t first, size_t last, float *scratch);

/* x += v. Reads 2, writes 1. */
typedef struct {
    size_t width;
    void *x;
    const void *v;
} ar_add;

/* o = one query's attention over n sources. Reads n, writes one; where v is not NULL also
 * reads v and writes the last source, v added to it. o may be v. */
typedef struct {
    size_t width;
    void *const *source; /* [n + skip], those after the first `skip` left out: see below */
    size_t n, skip;      /* source i is source[i], or source[i + skip] for i > 0 */
    const void *v;
    const float *query; /* [d] */
    const void *own;    /* or [T][d], a token's own query */
    const float *fixed; /* [n]: these weights for those of the softmax, or NULL */
    void *o;
    float *max, *sum; /* [T]: statistics of the softmax, or NULL */
    ar_variant variant;
    bool stream;
} ar_attend;

/* Attention of several queries over n sources. Reads n, writes one for each query. n = 0:
 * outputs and sums are 0, maxima -inf. */
typedef struct {
    size_t width;
    void *const *source;
    size_t n;
    const float *query; /* [queries][d] */
    size_t queries;
    void *o;          /* [queries], a vector each, apart by `vectors` elements; normalised */
    float *max, *sum; /* [queries][T], rows apart by `scalars` */
    size_t vectors, scalars;
    ar_variant variant;
    bool stream;
} ar_answer;

/* o = the part (o, max, sum) merged with n sources of one query, one by one, in place: a
 * store to lines just read costs less than one elsewhere. Where v is not NULL it is added to
 * the last source first. Reads n and o, writes o; v as above. */
typedef struct {
    size_t width;
    void *const *source;
    size_t n;
    const void *v;
    void *o;
    float *max, *sum; /* [T]; with `keep` they become those of the whole softmax */
    const float *query;
    ar_variant variant;
    bool keep;
} ar_merge;

/* h = (1 - g) h + g v with g = sigmoid(gate), [T][d], or where gate is NULL
 * g = sigmoid(query . RMSNorm(h)). Reads h, v and gate, writes h. */
typedef struct {
    size_t width;
    void *h;
    const void *v, *gate;
    const float *query;
} ar_gate;

/* (m)HC, see hc.c. Where v is not NULL the streams are mixed and v is added by the
 * coefficients in numbers: reads m + 1, writes m. Then, where next is not NULL, numbers become
 * the coefficients that its projections and biases make of the streams: reads m, or nothing
 * more. Where h is not NULL it is read from the streams by these (NULL: their sum); h may be v. */
typedef struct {
    size_t width, streams;
    void *const *stream;
    const void *v;
    const float *next, *next_bias;
    float *numbers; /* [T]: read [m], write [m], mix [m][m]; the ledger leaves them out */
    void *h;
    bool manifold, past_caches;
} ar_streams;

/* out[k] = sum over i of weight[i][k] x[i], with each token's own weights, [n][outs] at
 * weight + t stride. Reads n, writes outs; both at most AR_MAX_STREAMS. */
typedef struct {
    size_t width, n, outs;
    void *const *x, *const *out;
    const float *weight;
    size_t stride;
    bool stream;
} ar_combine;

/* out[k] = x[k] + y[k]. Reads 2n, writes n. */
typedef struct {
    size_t width, n;
    void *const *x, *const *y, *const *out;
    bool stream;
} ar_sum;

/* STREAM-type kernels (measure/roof.h) on n floats, n a multiple of 16, arrays aligned to 64
 * bytes; stream: with non-temporal stores. Returns the sum, else 0. */
typedef enum {
    AR_ROOF_SUM,      /* s += a        1 read, 0 writes */
    AR_ROOF_SUM_4,    /* s += a, in four places at once */
    AR_ROOF_FILL,     /* c = 3         0 reads, 1 write */
    AR_ROOF_FILL_8,   /* c = 3, in eight places at once */
    AR_ROOF_COPY,     /* c = a         1 read, 1 write */
    AR_ROOF_SCALE,    /* c = 3 a       1 read, 1 write */
    AR_ROOF_NEGATE,   /* c = -c        1 read, 1 write, in place: no line is read for nothing */
    AR_ROOF_UPDATE,   /* c = c + a     2 reads, 1 write, in place */
    AR_ROOF_UPDATE_3, /* c = c + a + b + b of the other half: 4 reads, 1 write, in place */
    AR_ROOF_ADD,      /* c = a + b     2 reads, 1 write */
    AR_ROOF_TRIAD,    /* c = a + 3 b   2 reads, 1 write */
    AR_ROOF_KERNELS
} ar_roof_kernel;
typedef double ar_roof_fn(ar_roof_kernel kernel, bool stream, size_t n, const float *a,
                          const float *b, float *c);

/* The kernels of one instruction set and storage type. */
typedef struct {
    ar_pass_fn *add, *attend, *answer, *merge, *gate, *streams;
    ar_pass_fn *combine, *sum;
    ar_pass_fn *dot, *attend_back, *partial_back, *gate_back, *streams_back; /* see back_pass.h */
    ar_roof_fn *roof;                                                        /* NULL but for fp32 */
} ar_ops;

const ar_ops *ar_ops_find(ar_isa isa, ar_dtype dtype);

/* A pass over all tokens of m on m->threads threads, each with so many floats of m->scratch;
 * loads and stores go into the ledger. */
void ar_pass_run(const ar_depth *m, ar_pass_fn *pass, const void *args, size_t loads, size_t stores,
                 size_t scratch);

/* Each runs a pass over all tokens of m on m->threads threads and enters it in the ledger. */
void ar_pass_add(const ar_depth *m, void *x, const void *v);
void ar_pass_attend(const ar_depth *m, const ar_attend *attend);
void ar_pass_answer(const ar_depth *m, const ar_answer *answer);
void ar_pass_merge(const ar_depth *m, const ar_merge *merge);
void ar_pass_gate(const ar_depth *m, const ar_gate *gate);
void ar_pass_streams(const ar_depth *m, const ar_streams *streams);
void ar_pass_combine(const ar_depth *m, const ar_combine *combine);
void ar_pass_sum(const ar_depth *m, const ar_sum *sum);

/* What Block and Full AttnRes share. */

/* An input was written over m->v: m->h and m->v change roles. Returns m->h. */
void *ar_take_place(ar_depth *m);

/* Layer l's attention over the first n sources in one pass, v (m->v or NULL) added to the last
 * of them first: in m->h or, as a store to lines just read costs less, in v's place. */
const void *ar_attend_one(ar_depth *m, size_t l, size_t n, void *v);

/* Layer l's row of m->max or m->sum. */
float *ar_statistics(const ar_depth *m, float *of, size_t l);

/* Phase 1: m->o, max, sum = layers first..last's attention over the first n sources. */
void ar_attend_many(const ar_depth *m, size_t n, size_t first, size_t last);

/* Layer l's part of it. */
void *ar_attended(const ar_depth *m, size_t l);

/* Phase 2: that part merged with n sources, v (or NULL) added to the last first: layer l's
 * input, which it returns. */
const void *ar_merge_in(const ar_depth *m, size_t l, void *const *source, size_t n, const void *v);

#endif
