#include <stdio.h>

#include "arguments.h"
#include "ask.h"
#include "cmd.h"
#include "question.h"
#include "show.h"

typedef enum { SHOW_TOTALS, SHOW_HOPS, SHOW_ACTIONS, SHOW_MEMORY, SHOW_TIMELINE } shown;
static const char *const show_names[] = {"totals", "hops", "actions", "memory", "timeline", NULL};
enum { FORMAT_TABLE, FORMAT_CSV };
static const char *const format_names[] = {"table", "csv", NULL};
enum { CHECK_AUTO, CHECK_YES };
static const char *const check_names[] = {"auto", "yes", NULL};

typedef struct {
    int show, format, check;
    int64_t rank, columns;
    char output[AR_TEXT_MAX];
} plan_options;

#define AT(member) offsetof(plan_options, member)
static const ar_field plan_field[] = {
    {"show", AR_FIELD_CHOICE, AR_UNIT_NONE, AT(show), 0, 0, show_names, "totals", NULL,
     "what to print"},
    {"format", AR_FIELD_CHOICE, AR_UNIT_NONE, AT(format), 0, 0, format_names, "table", NULL,
     "a table for people, or rows for programs"},
    {"rank", AR_FIELD_COUNT, AR_UNIT_NONE, AT(rank), -1, 65535, NULL, "-1", "R",
     "show actions: of this rank only; -1: of all"},
    {"columns", AR_FIELD_COUNT, AR_UNIT_NONE, AT(columns), 10, 100000, NULL, "100", "K",
     "width of show timeline"},
    {"check", AR_FIELD_CHOICE, AR_UNIT_NONE, AT(check), 0, 0, check_names, "auto", NULL,
     "prove the plan: auto does so for up to 64 ranks"},
    {"output", AR_FIELD_TEXT, AR_UNIT_NONE, AT(output), 0, 0, NULL, "", "DIR",
     "append a row to DIR/results.csv, with the critical path as its step (-o)"},
};
static const ar_fields plan_fields = {plan_field, sizeof plan_field / sizeof *plan_field, "plan"};

static void help(void) {
    printf("Usage: attnres plan [option ...]\n\n"
           "Which layers sit where, what crosses which hop, in what order, how much memory, and\n"
           "the critical path: computed at once, nothing is run. Counts are of one micro-batch,\n"
           "forward, in vectors of d per token.\n\nOptions:\n");
    ar_fields_help(&plan_fields, stdout);
    printf("\nThe point:\n");
    ar_fields_help(&ar_point_fields, stdout);
}

/* The critical path needs the platform; counts do not. A platform that nobody asked
 * for may be too small: then the output says why there is no bound. */
static ar_status open_place(const ar_question *q, ar_place *place, bool *have, ar_err *err) {
    const ar_status status = ar_place_open(q->point, &q->layout, place, err);
    *have = status == AR_OK;
    return *have || ar_point_given(q->point, "platform") ? status : AR_OK;
}

static ar_status show_bound(const ar_question *q, ar_place *place, const ar_err *why, ar_err *err) {
    ar_walk_result walked;
    ar_status status = ar_question_walk(q, NULL, &walked, err);
    if (status != AR_OK) return status;
    printf("\nfree_s   %.6g  critical path, communication free; bubble %.4g %%\n", walked.step_s,
           walked.bubble_percent);
    if (!place) {
        printf("bound_s  not computed: %s\n", why->text);
        return AR_OK;
    }
    status = ar_question_walk(q, place, &walked, err);
    if (status == AR_OK)
        printf("bound_s  %.6g  critical path over %s, no link shared\n", walked.step_s,
               q->point->platform);
    return status;
}

/* What is drawn or bounded in time. */
static ar_status show_timed(const plan_options *options, const ar_question *q, ar_err *err) {
    const bool csv = options->format == FORMAT_CSV;
    ar_place place = {0};
    ar_err why = {{0}};
    bool have = false;
    ar_status status = open_place(q, &place, &have, &why);
    if (status != AR_OK) {
        *err = why;
    } else if (options->show == SHOW_TOTALS) {
        status = show_bound(q, have ? &place : NULL, &why, err);
    } else {
        if (!have) fprintf(stderr, "attnres: communication is drawn as free: %s\n", why.text);
        const ar_walk_costs costs = {q->forward_s, q->backward_s, have ? ar_place_link : NULL, NULL,
                                     &place};
        status = ar_show_timeline(q->point, &q->layout, q->plans, &costs, (int)options->columns,
                                  csv, stdout, err);
    }
    ar_place_close(&place);
    return status;
}

static ar_status show(const plan_options *options, const ar_question *q, ar_err *err) {
    const bool csv = options->format == FORMAT_CSV;
    const ar_point *point = q->point;
    const ar_layout *layout = &q->layout;
    switch ((shown)options->show) {
    case SHOW_TOTALS:
        ar_show_totals(point, layout, csv, stdout);
        return csv || point->compute == AR_REAL ? AR_OK : show_timed(options, q, err);
    case SHOW_HOPS:
        ar_show_hops(point, layout, csv, stdout);
        return AR_OK;
    case SHOW_ACTIONS:
        ar_show_actions(point, layout, q->plans, (int32_t)options->rank, csv, stdout);
        return AR_OK;
    case SHOW_MEMORY:
        ar_show_memory(point, layout, q->plans, csv, stdout);
        return AR_OK;
    case SHOW_TIMELINE:
        if (point->compute == AR_REAL)
            return ar_fail(err, point->bad,
                           "--show timeline with compute = real: times are known "
                           "to a run only; use run or sim with --trace yes");
        return show_timed(options, q, err);
    }
    return AR_OK;
}

static ar_status add_row(const ar_point *point, const char *dir, ar_err *err) {
    ar_result result;
    ar_status status = ar_row_prepare(dir, err);
    if (status == AR_OK) status = ar_ask(AR_ASK_PLAN, point, dir, &result, err);
    if (status == AR_OK) status = ar_row_append(dir, point, &result, err);
    return status;
}

ar_status ar_cmd_plan(int argc, char **argv, ar_err *err) {
    plan_options options = {0};
    ar_point point;
    int wants_help = 0;
    ar_fields_defaults(&plan_fields, &options);
    ar_point_init(&point);
    const ar_arguments arguments = {&plan_fields, &options, &point};
    ar_status status = ar_arguments_read(&arguments, argc, argv, 0, &wants_help, err);
    if (status != AR_OK) return status;
    if (wants_help) {
        help();
        return AR_OK;
    }
    status = ar_point_complete(&point, err);
    if (status != AR_OK) return status;
    if (options.rank >= point.stages)
        return ar_fail(err, AR_EUSAGE, "--rank %lld: legal: 0 to %lld, or -1 for all",
                       (long long)options.rank, (long long)point.stages - 1);
    ar_point_notes(&point);
    ar_question q;
    status = ar_question_open(&point, options.check == CHECK_YES, &q, err);
    if (status != AR_OK) return status;
    status = show(&options, &q, err);
    ar_question_close(&q);
    if (status == AR_OK && options.output[0]) status = add_row(&point, options.output, err);
    return status;
}
