#include "work_real.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "clock.h"
#include "layer.h"
#include "pages.h"
#include "sde.h"

struct ar_real {
    const ar_point *point;
    const ar_layout *layout;
    const ar_mechanism *mechanism;
    size_t count;      /* T d, elements of a vector */
    size_t vector_B;   /* bytes of one as it is stored and sent */
    size_t sources;    /* rows of a micro-batch's table */
    float **weights;   /* [L+1], by layer; NULL for other ranks' */
    float *query;      /* [L+1][d] */
    void **table;      /* [M][sources] */
    void **output;     /* [M], NULL except on the last chunk's rank */
    float *scratch;    /* of a layer function */
    float *wide[2];    /* [T][d]: a layer's input and output, where vectors are not fp32 */
    ar_depth depth;    /* its buffers; source is set per compute */
    ar_sde sde;        /* events in which computes count what they move */
    double *forward_s; /* the caller's; charged where the engine simulates */
};

/* All buffers are aligned to a cache line. */
static float *allocate(size_t floats) {
    return ar_pages_alloc(floats * sizeof(float));
}

static void *allocate_vector(const ar_real *real) {
    return ar_pages_alloc(real->vector_B);
}

/* ---- storage ---- */

static void widen(const ar_real *real, const void *from, float *to) {
    for (size_t i = 0; i < real->count; i++)
        to[i] = ar_bf16_widen(((const uint16_t *)from)[i]);
}

static void narrow(const ar_real *real, const float *from, void *to) {
    for (size_t i = 0; i < real->count; i++)
        ((uint16_t *)to)[i] = ar_bf16_narrow(from[i]);
}

/* A new vector with the embedding of a micro-batch. */
static void *embedding(const ar_real *real, int64_t microbatch) {
    const bool half = real->depth.dtype == AR_BF16;
    void *const made = allocate_vector(real);
    float *const x = half ? real->wide[0] : made;
    ar_embedding_fill(x, real->depth.tokens, real->depth.width, (size_t)microbatch,
                      (unsigned long)real->point->seed);
    if (half) narrow(real, x, made);
    return made;
}

static size_t table_rows(const ar_layout *layout) {
    return (size_t)ar_layout_blocks(layout) + 2; /* embedding, blocks, one past the end */
}

/* The id under which running state is kept: the block in progress, or the stream. */
static int32_t partial_id(const ar_layout *layout, int32_t c) {
    return layout->block > 0 ? layout->chunk[c].history : 0;
}

static void **sources_of(const ar_real *real, int32_t microbatch) {
    return real->table + (size_t)microbatch * real->sources;
}

/* ---- the actions ---- */

static void unpack(void *self, const ar_action *action, const ar_message *message,
                   const void *buffer) {
    ar_real *real = self;
    void **source = sources_of(real, action->microbatch);
    const char *in = buffer;
    const int32_t stream = partial_id(real->layout, action->chunk - 1);
    for (int32_t s = message->hop.from; s < message->hop.to + message->hop.stream; s++) {
        const int32_t id = s < message->hop.to ? s : stream;
        if (!source[id]) source[id] = allocate_vector(real);
        memcpy(source[id], in, real->vector_B);
        in += real->vector_B;
    }
}

static void pack(void *self, const ar_action *action, const ar_message *message, void *buffer) {
    ar_real *real = self;
    void **source = sources_of(real, action->microbatch);
    char *out = buffer;
    for (int32_t s = message->hop.from; s < message->hop.to; s++, out += real->vector_B)
        memcpy(out, source[s], real->vector_B);
    if (!message->hop.stream) return;
    const int32_t stream = partial_id(real->layout, action->chunk);
    memcpy(out, source[stream], real->vector_B);
    free(source[stream]);
    source[stream] = NULL;
}

static void keep(void *self, const ar_action *action) {
    ar_real *real = self;
    void **source = sources_of(real, action->microbatch);
    if (action->from > 0 || source[0]) return; /* came with the message, or was just made */
    source[0] = embedding(real, action->microbatch);
}

static void release(void *self, const ar_action *action) {
    ar_real *real = self;
    void **source = sources_of(real, action->microbatch);
    for (int32_t s = action->from; s < action->to; s++) {
        free(source[s]);
        source[s] = NULL;
    }
}

typedef struct {
    ar_real *real;
    ar_progress_fn *progress;
    void *user;
} layer_call;

static void run_layer(void *user, size_t l, const void *h, void *v) {
    const layer_call *call = user;
    ar_real *real = call->real;
    const size_t T = real->depth.tokens, d = real->depth.width;
    if (real->depth.dtype == AR_BF16) { /* BLAS is fp32 */
        widen(real, h, real->wide[0]);
        ar_layer_forward(real->weights[l], T, d, l, real->wide[0], real->wide[1], real->scratch);
        narrow(real, real->wide[1], v);
    } else {
        ar_layer_forward(real->weights[l], T, d, l, h, v, real->scratch);
    }
    if (call->progress) call->progress(call->user);
}

/* Storage for the blocks that the chunk works on. */
static void make_room(const ar_real *real, const ar_chunk *chunk, void **source) {
    if (real->layout->block == 0) {
        if (!source[0]) source[0] = allocate_vector(real);
        return;
    }
    for (int32_t l = chunk->first; l <= chunk->last; l++) {
        const int32_t n = (l - 1) / real->layout->block + 1;
        if (!source[n]) source[n] = allocate_vector(real);
    }
}

static const void *run_chunk(ar_real *real, int32_t c, void **source, layer_call *call) {
    const ar_chunk *chunk = &real->layout->chunk[c];
    make_room(real, chunk, source);
    real->depth.source = source;
    ar_chunk_forward(real->mechanism, &real->depth, (size_t)chunk->first, (size_t)chunk->last,
                     run_layer, call);
    return c == real->layout->chunks - 1 ? real->mechanism->head(&real->depth) : NULL;
}

static void compute(void *self, const ar_action *action, ar_progress_fn *progress, void *user) {
    ar_real *real = self;
    void **source = sources_of(real, action->microbatch);
    if (action->chunk == 0 && real->layout->block == 0) /* the stream starts here */
        source[0] = embedding(real, action->microbatch);
    layer_call call = {real, progress, user};
    ar_ledger moved = {0, 0, 0};
    real->depth.ledger = &moved;
    const void *out = run_chunk(real, action->chunk, source, &call);
    real->depth.ledger = NULL;
    ar_sde_add(&real->sde, &moved, real->vector_B);
    if (out) memcpy(real->output[action->microbatch], out, real->vector_B);
    if (out && real->layout->block == 0) { /* the stream ends here */
        free(source[0]);
        source[0] = NULL;
    }
    if (real->forward_s && ar_engine_simulates())
        ar_engine_elapse(real->forward_s[action->chunk], progress, user);
}

ar_work ar_work_real(ar_real *real) {
    return (ar_work){real, compute, unpack, pack, keep, release};
}

const void *ar_real_forward(ar_real *real, int64_t microbatch) {
    void **source = real->table;
    source[0] = embedding(real, microbatch);
    layer_call call = {real, NULL, NULL};
    const void *out = run_chunk(real, 0, source, &call);
    memcpy(real->output[0], out, real->vector_B);
    for (size_t s = 0; s < real->sources; s++) {
        free(source[s]);
        source[s] = NULL;
    }
    return real->output[0];
}

const void *ar_real_output(const ar_real *real, int64_t microbatch) {
    return real->output[microbatch];
}

/* ---- open and close ---- */

/* Seconds of one forward of chunk c on sources of ones: the median of three. */
static double measure(ar_real *real, int32_t c) {
    void **source = sources_of(real, 0);
    double took_s[3];
    for (size_t s = 0; s + 1 < real->sources; s++) {
        source[s] = allocate_vector(real);
        for (size_t i = 0; source[s] && i < real->count; i++)
            if (real->depth.dtype == AR_BF16)
                ((uint16_t *)source[s])[i] = ar_bf16_narrow(1.0f);
            else
                ((float *)source[s])[i] = 1.0f;
    }
    for (int k = 0; k < 3; k++) {
        layer_call call = {real, NULL, NULL};
        const double start_s = ar_clock_s();
        run_chunk(real, c, source, &call);
        took_s[k] = ar_clock_s() - start_s;
    }
    for (size_t s = 0; s + 1 < real->sources; s++) {
        free(source[s]);
        source[s] = NULL;
    }
    return ar_median(took_s, 3);
}

static bool allocate_buffers(ar_real *real, const ar_point *point, bool last) {
    const size_t batches = (size_t)point->microbatches;
    ar_depth *depth = &real->depth;
    real->weights = calloc((size_t)point->layers + 1, sizeof *real->weights);
    real->table = calloc(batches * real->sources, sizeof *real->table);
    real->output = calloc(batches, sizeof *real->output);
    real->query = allocate((depth->layers + 1) * depth->width);
    real->scratch = allocate(ar_layer_scratch(depth->tokens, depth->width));
    for (size_t k = 0; k < 2; k++)
        real->wide[k] = allocate(depth->dtype == AR_BF16 ? real->count : 0);
    depth->h = allocate_vector(real);
    depth->v = allocate_vector(real);
    depth->o = ar_pages_alloc(depth->block * real->vector_B);
    depth->max = allocate(depth->block * depth->tokens);
    depth->sum = allocate(depth->block * depth->tokens);
    depth->scratch = allocate(ar_depth_scratch(depth));
    bool enough = real->weights && real->table && real->output && real->query && real->scratch &&
                  real->wide[0] && real->wide[1] && depth->h && depth->v && depth->o &&
                  depth->max && depth->sum && depth->scratch;
    for (size_t m = 0; enough && last && m < batches; m++)
        enough = (real->output[m] = allocate_vector(real)) != NULL;
    return enough;
}

ar_status ar_real_open(const ar_point *point, const ar_layout *layout, int32_t rank,
                       double *forward_s, ar_real **opened, ar_err *err) {
    ar_real *real = calloc(1, sizeof *real);
    if (!real) return ar_fail(err, AR_ERUN, "out of memory");
    const size_t width = (size_t)point->width;
    *real = (ar_real){
        .point = point,
        .layout = layout,
        .mechanism = ar_mechanism_find((ar_mechanism_id)point->mechanism, (ar_form)point->form),
        .count = (size_t)point->tokens * width,
        .vector_B = (size_t)point->tokens * width * ar_dtype_B(point->dtype),
        .sources = table_rows(layout),
        .forward_s = forward_s,
        .sde = ar_sde_open(),
        .depth = {.tokens = (size_t)point->tokens,
                  .width = width,
                  .layers = (size_t)point->layers,
                  .block = (size_t)point->block,
                  .dtype = (ar_dtype)point->dtype}};
    bool enough = allocate_buffers(real, point, layout->chunk[layout->chunks - 1].rank == rank);
    openblas_set_num_threads(1); /* the same bits whatever runs beside it */
    if (enough) {
        ar_query_fill(real->query, (size_t)point->layers, width, (unsigned long)point->seed);
        real->depth.query = real->query;
    }
    for (int32_t c = 0; enough && c < layout->chunks; c++) {
        const ar_chunk *chunk = &layout->chunk[c];
        if (chunk->rank != rank) continue;
        for (int32_t l = chunk->first; enough && l <= chunk->last; l++) {
            real->weights[l] = allocate(ar_layer_weights(width, (size_t)l));
            enough = real->weights[l] != NULL;
            if (enough)
                ar_layer_fill(real->weights[l], width, (size_t)l, (unsigned long)point->seed);
        }
        if (enough && forward_s && ar_engine_simulates())
            forward_s[c] = measure(real, c) * point->speed_ratio;
    }
    if (!enough) {
        ar_real_close(real);
        return ar_fail(err, AR_ERUN, "out of memory for the tensors of rank %d", (int)rank);
    }
    *opened = real;
    return AR_OK;
}

void ar_real_close(ar_real *real) {
    if (!real) return;
    const size_t batches = (size_t)real->point->microbatches;
    for (int64_t l = 0; real->weights && l <= real->point->layers; l++)
        free(real->weights[l]);
    for (size_t i = 0; real->table && i < batches * real->sources; i++)
        free(real->table[i]);
    for (size_t m = 0; real->output && m < batches; m++)
        free(real->output[m]);
    free(real->weights);
    free(real->table);
    free(real->output);
    free(real->query);
    free(real->scratch);
    free(real->wide[0]);
    free(real->wide[1]);
    free(real->depth.h);
    free(real->depth.v);
    free(real->depth.o);
    free(real->depth.max);
    free(real->depth.sum);
    free(real->depth.scratch);
    free(real);
}
