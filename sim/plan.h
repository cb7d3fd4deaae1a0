#ifndef AR_PLAN_H
#define AR_PLAN_H

/* One rank's list of actions. A message is named by (backward, chunk of the
 * receiver, micro-batch): the forward message into chunk c crosses hop c-1, the
 * backward message into chunk c crosses hop c the other way. */

#include "routing.h"
#include "schedule.h"

typedef enum {
    AR_POST,    /* post the receive of the message into (backward, chunk, microbatch) */
    AR_WAIT,    /* wait for that receive */
    AR_COMPUTE, /* compute the chunk */
    AR_SEND,    /* start the send of the message that the compute of the chunk made */
    AR_KEEP,    /* sources [from, to) of the micro-batch are on this rank from here on */
    AR_RELEASE  /* the last reader of sources [from, to) is done */
} ar_action_kind;

typedef struct {
    uint8_t kind;
    bool backward;
    int32_t chunk, microbatch;
    int32_t from, to; /* of KEEP and RELEASE */
} ar_action;

typedef struct {
    ar_action *action;
    size_t count;
    int32_t rank;
    int32_t send_ring; /* sends in flight; a further one waits for the oldest */
    int32_t receives;  /* most receives posted and not yet consumed */
} ar_plan;

ar_status ar_plan_make(const ar_point *point, const ar_layout *layout, int32_t rank, ar_plan *plan,
                       ar_err *err);
void ar_plan_free(ar_plan *plan);

/* The message that an action posts, waits for or sends. */
typedef struct {
    int32_t peer; /* the other rank */
    int32_t into; /* receiving chunk */
    int32_t tag;  /* one per (backward, receiving chunk): few, reused */
    int64_t bytes;
    ar_hop hop;
} ar_message;
ar_message ar_plan_message(const ar_point *point, const ar_layout *layout, const ar_action *action);

/* What a rank sends in one step. */
typedef struct {
    int64_t messages, bytes;
} ar_plan_sent;
ar_plan_sent ar_plan_sends(const ar_point *point, const ar_layout *layout, const ar_plan *plan);

/* Peaks over the list, in bytes of the point's storage type. */
typedef struct {
    int64_t cache_B;      /* finished sources kept, each once */
    int64_t activation_B; /* input and output of every layer between forward and backward */
    int64_t message_B;    /* posted receives and a full send ring */
} ar_plan_peak;
ar_plan_peak ar_plan_memory(const ar_point *point, const ar_layout *layout, const ar_plan *plan);

#endif
