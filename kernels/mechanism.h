#ifndef AR_MECHANISM_H
#define AR_MECHANISM_H

/* Residual mechanisms as one rank runs them, on the caller's buffers: no
 * allocation, no files, no clock, no MPI. Layers are sub-layers, l = 1..L as in
 * the paper (arXiv 2603.15031); layer l is the i-th of block n:
 * n = (l-1)/S + 1, i = (l-1)%S + 1. Vectors are stored as fp32 or bf16; dot products,
 * statistics, weights and sums are fp32, rounded to storage once, when they are stored.
 *
 * Bits: for one mechanism, form, storage and instruction set, the result does not depend
 * on how the layers are cut into chunks nor on the number of threads, to the last bit.
 *
 * A NaN or an infinity in a source gives NaN in every later input of that token, and so
 * does a value whose square is beyond fp32 (above 1.8e19): never a silent 0. */

#include <stdbool.h>
#include <stddef.h>

/* Storage of vectors; the kernels know the first two. */
typedef enum { AR_FP32, AR_BF16, AR_FP16 } ar_dtype;

/* Instruction sets, of which a build has one architecture's. AUTO: the best there is. */
typedef enum {
    AR_ISA_AUTO,
    AR_ISA_BASE,
    AR_ISA_V3,
    AR_ISA_V4,
    AR_ISA_V4_BF16, /* rounds to bf16 by an instruction; fp32 storage as V4 */
    AR_ISAS
} ar_isa;
extern const char *const ar_isa_names[]; /* "auto", "base", "x86-64-v3", ..., NULL */

/* Does this processor have it? */
bool ar_isa_runs(ar_isa isa);

/* Most streams of (m)HC. */
enum { AR_MAX_STREAMS = 16 };

/* The paper's ablations. */
typedef struct {
    bool sigmoid;       /* weights sigmoid(logit), not normalised, for the softmax */
    bool raw_keys;      /* no RMSNorm of the keys */
    bool own_query;     /* a token's own query, in gate, for w_l (one-pass forms) */
    size_t window;      /* Full one-pass: only the last so many sources and the embedding; 0: all */
    bool scalar_gate;   /* Highway: one gate for a token, from w_l */
    bool unconstrained; /* HC instead of mHC: see hc.c */
} ar_variant;

/* What the passes of a mechanism loaded and stored, in vectors of d per token, each
 * counted once by the pass that makes it. The caller's; only added to. */
typedef struct {
    size_t loads, stores, passes;
} ar_ledger;

/* One micro-batch's way through the depth of a chunk. Vectors are [T][d] of dtype.
 * source: N+1 pointers to vectors: source[0] is the embedding, source[n] block n.
 *   Before a layer of block n runs, source[0..n-1] are finished and source[n] is
 *   storage; it holds the partial sum when the chunk starts inside the block.
 *   Full AttnRes: N = L, source[l] is v_l. Standard: source[0] is the stream.
 * query: [L+1][d]; row l-1 is w_l, row L the output head's.
 * All buffers are the caller's, 64-byte aligned, none aliases another. */
typedef struct {
    size_t tokens, width; /* T, d */
    size_t layers, block; /* L, S; Full AttnRes: S layers are answered together in phase 1 */
    const float *query;
    void **source;
    void *h, *v;      /* [T][d]: input and output of the current layer, where they need a buffer;
                         they change roles where an input takes the place of the output before */
    void *o;          /* [S][T][d]: phase 1's outputs, which phase 2 makes inputs (two-phase);
                         unfused mHC: [2m][T][d], a layer's H A and v beta^T before their sum */
    float *max, *sum; /* [S][T]: phase 1's statistics (two-phase forms only); or, where `keep`
                         is set, [L+1][T]: row l-1 holds layer l's over all its sources, row L
                         the head's, for the backward (all forms of attention) */
    bool keep;
    void *gate;        /* [T][d]: Highway: logits of layer l's gates, which f_l also writes;
                          the tokens' own queries (own_query) */
    size_t streams;    /* m of (m)HC: source[0..m-1] are the streams */
    const float *mix;  /* DenseFormer: [L+1][L+1], row l-1 weighs source[0..l-1].
                          (m)HC: [L] times [m+2][d] projections, see hc.c */
    const float *bias; /* (m)HC: [L] times [m] read, [m] write, [m][m] mix */
    float *numbers;    /* (m)HC: [T][m+2][m], a layer's coefficients of each token */
    float *scratch;    /* ar_depth_scratch() floats */
    ar_dtype dtype;
    ar_isa isa;
    size_t threads; /* 0 or 1: no OpenMP region */
    bool stream;    /* outputs go past the caches: for vectors that do not stay in one */
    ar_variant variant;
    ar_ledger *ledger; /* or NULL */
    double balance;    /* Block auto: see ar_traffic_auto */
    size_t first;      /* first layer of the current segment; set by start */
} ar_depth;

/* Floats of scratch for tokens, width, block and threads as set. */
size_t ar_depth_scratch(const ar_depth *depth);

typedef enum { AR_STANDARD, AR_HIGHWAY, AR_DENSEFORMER, AR_MHC, AR_FULL, AR_BLOCK } ar_mechanism_id;
typedef enum { AR_TWO_PHASE, AR_ONE_PASS, AR_AUTO, AR_FUSED, AR_UNFUSED } ar_form;

/* How a chunk is walked. A segment is a run of layers of a chunk that lie in one
 * block (for Full, in one group of S layers). For each segment
 *     start(first, last)
 *     for l in first..last:  h = input(l);  v = output(l);  v := f_l(h)
 *     finish(last)
 * and, after the last layer of the model, head().
 * input(l) also absorbs v_{l-1} when it was made in the same segment. */
typedef struct {
    ar_mechanism_id id;
    const char *name;
    ar_form form;
    void (*start)(ar_depth *, size_t first, size_t last);
    const void *(*input)(ar_depth *, size_t l);
    void *(*output)(ar_depth *, size_t l);
    void (*finish)(ar_depth *, size_t last);
    const void *(*head)(ar_depth *); /* the model's output, [T][d] */
} ar_mechanism;

/* The kernels of a mechanism, or NULL where there is no such form. Standard, Highway and
 * DenseFormer have one form and take any; mHC has AR_FUSED and AR_UNFUSED. No member is
 * NULL. */
const ar_mechanism *ar_mechanism_find(ar_mechanism_id id, ar_form form);

/* Names in the order of ar_mechanism_id / ar_form, NULL at the end. */
extern const char *const ar_mechanism_names[];
extern const char *const ar_form_names[];

/* Blocks that the mechanism's routing and storage work with: Full and DenseFormer
 * make every layer a block (S = 1); the stream mechanisms have none: 0. */
size_t ar_mechanism_block(ar_mechanism_id id, size_t block);
bool ar_mechanism_has_blocks(ar_mechanism_id id);

/* Last layer of the segment that starts at layer first in a chunk that ends at
 * layer last: the chunk's end or the block's (group's), whichever comes first. block 0,
 * for mechanisms without blocks: the chunk's end. */
size_t ar_segment_last(size_t block, size_t first, size_t last);

/* The other way round: first layer of the segment that ends at layer last in a chunk that starts
 * at layer first. */
size_t ar_segment_first(size_t block, size_t first, size_t last);

/* f_l: read h, write v, both [T][d] of the storage type. */
typedef void ar_layer_fn(void *user, size_t l, const void *h, void *v);

/* Run layers first..last of one micro-batch (first > last: none), not the head. */
void ar_chunk_forward(const ar_mechanism *mechanism, ar_depth *depth, size_t first, size_t last,
                      ar_layer_fn *layer, void *user);

#endif
