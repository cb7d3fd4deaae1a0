#ifndef AR_SUBJECT_H
#define AR_SUBJECT_H

/* What is measured: a mechanism's kernels over the whole depth, the layer functions f_l
 * left out. subject*.c alone here know the kernels' interface. */

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "mechanism.h"
#include "sde.h"

typedef enum { AR_STORE_FP32, AR_STORE_BF16 } ar_store;
typedef enum { AR_FORWARD, AR_BACKWARD } ar_direction;
extern const char *const ar_store_names[];                      /* NULL at the end */
typedef enum { AR_PHASE_ALL, AR_PHASE_1, AR_PHASE_2 } ar_phase; /* of two-phase forms */
extern const char *const ar_direction_names[];                  /* NULL at the end */
extern const char *const ar_phase_names[];                      /* NULL at the end */

/* One of the paper's ablations, or of the other mechanisms' gates, at a time: see
 * ar_variant. */
typedef enum {
    AR_NO_ABLATION,
    AR_SLIDING_WINDOW,
    AR_OWN_QUERY,
    AR_SIGMOID,
    AR_RAW_KEYS,
    AR_SCALAR_GATE,
    AR_UNCONSTRAINED
} ar_ablation;
extern const char *const ar_ablation_names[]; /* NULL at the end */

typedef struct {
    ar_mechanism_id mechanism;
    ar_form form;
    ar_store store;
    ar_direction direction;
    ar_phase phase;
    ar_ablation ablation;
    size_t window; /* sources that a sliding window leaves, the embedding apart; at least 1 */
    size_t layers, block, tokens, width, streams; /* L, S, T, d, m */
    size_t threads; /* tokens are divided among them; at most tokens */
    double balance; /* flop that the machine does while it moves one element, for AR_AUTO; 0: count
                       bytes only */
    size_t outputs; /* buffers in turn for the layers' outputs, as the layers of a model leave
                       them all over its memory; 0: 1 */
} ar_case;

/* Has the mechanism several forms? And is this one of them, in that direction? */
bool ar_subject_has_forms(ar_mechanism_id mechanism);
bool ar_subject_has_form(ar_mechanism_id mechanism, ar_form form, ar_direction direction);

/* Has this form of it the ablation? AR_NO_ABLATION: always. */
bool ar_subject_has_ablation(ar_mechanism_id mechanism, ar_form form, ar_ablation ablation);

/* The case's ablation as the kernels take it; its window, 0 where it has none. */
ar_variant ar_case_variant(const ar_case *c);
size_t ar_case_window(const ar_case *c);

/* The form of a mechanism that has one only. */
ar_form ar_subject_only_form(ar_mechanism_id mechanism);

/* Full or Block: attention over sources in groups of layers. */
bool ar_case_attends(const ar_case *c);

/* Bytes of an element. */
size_t ar_store_B(ar_store store);

/* Element i of a stored vector. */
float ar_store_get(ar_store store, const void *x, size_t i);
void ar_store_put(ar_store store, void *x, size_t i, float value);

/* Bytes of a vector [T][d], in whole cache lines. */
size_t ar_case_vector_B(const ar_case *c);

/* A number as it is stored. */
float ar_store_round(ar_store store, float value);

/* Are there kernels for it? If not, *why says what is missing. */
bool ar_subject_exists(const ar_case *c, const char **why);

/* Bytes of its buffers. */
double ar_subject_B(const ar_case *c);

typedef struct ar_subject ar_subject;

/* Buffers with random contents, touched first by the threads that use them. */
ar_status ar_subject_open(const ar_case *c, ar_subject **subject, ar_err *err);
void ar_subject_close(ar_subject *subject);

/* What the last repetition's passes loaded and stored, by their own ledger. */
ar_ledger ar_subject_moved(const ar_subject *subject);

/* Count what later repetitions move in these events, after each one. */
void ar_subject_publish(ar_subject *subject, const ar_sde *sde);

/* To numbers of order one where repetitions would make them grow without end; before each. */
void ar_subject_reset(ar_subject *subject);

/* One repetition: all layers, not the head. Layer outputs, backward the gradients of layer
 * inputs and what the forward keeps, are what stands in the buffers: also earlier inputs, where
 * these take the place of outputs. Partial sums, backward gradients, grow with every repetition. */
void ar_subject_run(ar_subject *subject);

/* Make source i (backward: its gradient) of token 0 not a number: what a broken layer would
 * leave. i counts as in ar_depth; false if the mechanism has no such source. */
bool ar_subject_poison(ar_subject *subject, size_t source);

/* Is every source and the last input (backward: every source's gradient) finite? If not, why[size]
 * says which is not. */
bool ar_subject_finite(const ar_subject *subject, char *why, size_t size);

/* Memory I/O and work by count, of d per token and layer, the head left out. Sigmoid, raw
 * keys and no constraint move what the mechanism moves; a window less; an own query and a
 * scalar gate are one read more and one less. Backward, the gradients of these are one write more
 * and one less, Full with own queries goes over all sources at each layer, and sigmoid reads no h.
 */
typedef struct {
    double paper;         /* Table 1; NAN where it gives none */
    double exact;         /* what these kernels load and store */
    double fused;         /* the least that any fusion of the same mechanism must move */
    double reads, writes; /* exact = reads + writes */
    double flop;          /* multiplies and adds; an exp or a square root is left out */
} ar_counts;
void ar_subject_counts(const ar_case *c, ar_counts *counts);

/* Walk the kernels with given layer outputs, and keep every input. x and v are stored as
 * c->store says.
 * x: [T][d] embedding; v: [L][T][d] outputs of layers 1..L; query: [L+1][d];
 * h: [L+1][T][d] gets h_1..h_L and the head's output. */
ar_status ar_subject_inputs(const ar_case *c, const float *x, const float *v, const float *query,
                            float *h, ar_err *err);

/* The same in double, by the definition. False if there is none for this mechanism. */
bool ar_subject_reference(const ar_case *c, const float *x, const float *v, const float *query,
                          double *h);

/* Largest error of any layer's input over a few tokens, relative to the largest element of
 * that input; backward, of any gradient, relative to the largest of its kind; and what it may
 * be. */
ar_status ar_subject_error(const ar_case *c, double *error, double *tolerance, ar_err *err);

#endif
