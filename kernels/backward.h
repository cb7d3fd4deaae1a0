#ifndef AR_BACKWARD_H
#define AR_BACKWARD_H

/* The backward of the residual mechanisms, on the caller's buffers: a chunk is walked as
 * forward (mechanism.h), from its last layer to its first. No allocation, no files, no clock.
 *
 * What the forward must have left: ar_depth as it was after the last layer (with `keep`
 * for attention), and for each layer what is named below. Gradients of vectors have the
 * storage type of vectors and are rounded to it whenever they are stored. */

#include "mechanism.h"

/* One micro-batch's way back. Vectors are [T][d]; lists have layer l at l - 1; those that a
 * mechanism does not name may be NULL. Buffers are 64-byte aligned, none aliases another. */
typedef struct {
    ar_depth *depth; /* shapes, parameters, sources, statistics; scratch: ar_back_scratch() */
    /* kept by the forward, only read */
    void *const *h;       /* [L]: Full, Block: h_l (sigmoid: not read). Highway: the stream that
                             layer l read. (m)HC: [L m], its m streams */
    void *const *v;       /* [L]: Highway, (m)HC: v_l */
    void *const *gate;    /* [L]: Highway's gates after layer l; own_query: l's queries */
    void *const *partial; /* [L]: Block: the partial sum that layer l read, from a block's
                             second layer on */
    /* made here */
    void *const *grad;   /* as depth->source: gradients of the sources or streams, added to */
    void *dh;            /* [G][T][d], G layers at most in a segment (one, without blocks) */
    void *dv;            /* Highway, (m)HC: gradient of v_l, where it needs a buffer */
    void *const *dgate;  /* [L]: of gate */
    float *dot;          /* [G][T], attention: dh . h of the segment's layers */
    float *dquery;       /* [L+1][d]; added to, as */
    float *dmix, *dbias; /* depth's mix and bias */
    size_t first, last;  /* layers of the current segment; set by the walk */
} ar_back;

/* For each segment, the last one first:
 *     for l in last..first:  dv = output(l);  dh = input(l);  dh := f_l's backward (dv);
 *                            absorb(l)
 *     finish()
 * and, before the last layer of the model, head(out, dout): out is the model's output, dout its
 * gradient. output(l) is the whole gradient of v_l, valid until absorb(l). dgate of Highway is
 * there after output(l), of own_query after absorb(l). A segment is the forward's; for one-pass
 * forms of Full it is the chunk, so that dh has a vector for each of its layers. */
typedef struct {
    ar_mechanism_id id;
    ar_form form;
    bool grouped; /* segments end at blocks (Full, DenseFormer: groups of S layers) */
    const void *(*output)(ar_back *, size_t l);
    void *(*input)(ar_back *, size_t l);
    void (*absorb)(ar_back *, size_t l);
    void (*finish)(ar_back *);
    void (*head)(ar_back *, const void *out, const void *dout);
} ar_backward;

/* As ar_mechanism_find. DenseFormer goes in groups of S layers; Block's auto in two phases,
 * which never move more. */
const ar_backward *ar_backward_find(ar_mechanism_id id, ar_form form);

/* Most layers of a segment: G above. */
size_t ar_back_group(const ar_backward *backward, const ar_depth *depth);

/* Floats of scratch for tokens, width, layers, block, streams and threads as set. */
size_t ar_back_scratch(const ar_backward *backward, const ar_depth *depth);

/* f_l's backward: read dv, write dh, both [T][d] of the storage type. */
typedef void ar_layer_back_fn(void *user, size_t l, const void *dv, void *dh);

/* Layers last..first of one micro-batch (first > last: none), not the head. */
void ar_chunk_backward(const ar_backward *backward, ar_back *back, size_t first, size_t last,
                       ar_layer_back_fn *layer, void *user);

/* What several mechanisms share. */

/* The buffer of layer l's dh: one for each layer of a segment, or the same for all. */
void *ar_back_gathered(ar_back *back, size_t l);
void *ar_back_single(ar_back *back, size_t l);

/* dot of layer l, from its dh and h; nothing for sigmoid. */
void ar_back_dot(ar_back *back, size_t l);

/* Gradients from layers first..last, of one segment, to n sources from source `from` on;
 * open, or NULL, in place of the last of them. */
void ar_back_attend(const ar_back *back, size_t from, size_t n, const void *open, size_t first,
                    size_t last);

/* The head's attention over n sources, all in one pass; and its dot. */
void ar_back_head(const ar_back *back, size_t n, const void *out, const void *dout);

#endif
