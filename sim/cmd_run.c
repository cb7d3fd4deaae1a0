/* attnres sim and attnres run: one point under one engine. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "ask.h"
#include "cmd.h"

typedef struct {
    char output[AR_TEXT_MAX];
} run_options;

static const ar_field run_field[] = {
    {"output", AR_FIELD_TEXT, AR_UNIT_NONE, offsetof(run_options, output), 0, 0, NULL, ".", "DIR",
     "append the row to DIR/results.csv (-o)"},
};
static const ar_fields run_fields = {run_field, sizeof run_field / sizeof *run_field, "run"};

static void help(ar_asked engine) {
    if (engine == AR_ASK_SIM)
        printf("Usage: attnres sim [option ...]\n\n"
               "Simulate one step of a point on a modelled platform, and the same step with the\n"
               "standard residual. Needs SimGrid.\n");
    else
        printf("Usage: attnres run [option ...]\n\n"
               "Run one step of a point on this machine's ranks, and the same step with the\n"
               "standard residual. Needs Open MPI. On a cluster start the rank program itself:\n"
               "srun attnres-rank --help.\n");
    printf("\nOptions:\n");
    ar_fields_help(&run_fields, stdout);
    printf("\nThe point:\n");
    ar_fields_help(&ar_point_fields, stdout);
}

static void line(const char *name, double value, const char *unit) {
    if (isnan(value)) return;
    printf("  %-18s %.6g%s%s\n", name, value, unit[0] ? " " : "", unit);
}

static void print_result(const ar_result *r, const char *dir) {
    printf("%s%s%s\n", r->status, r->reason[0] ? ": " : "", r->reason);
    line("step", r->step_s, "s");
    line("standard step", r->standard_step_s, "s");
    line("overhead", r->overhead_percent, "%");
    line("compute", r->compute_s, "s, mean over ranks");
    line("free path F", r->free_s, "s");
    line("bound", r->bound_s, "s, no link shared");
    line("exposed comm", r->exposed_comm_s, "s");
    line("bubble", r->bubble_percent, "% of F");
    line("sent", r->sent_bytes, "B");
    line("messages", r->messages, "");
    line("peak hop", r->peak_hop_bytes, "B");
    line("peak cache", r->peak_cache_bytes, "B a rank");
    line("error", r->max_rel_error, "relative, against the reference in double");
    line("tolerance", r->tolerance, "");
    if (r->bitwise_equal[0]) printf("  %-18s %s\n", "bitwise equal", r->bitwise_equal);
    if (r->timeline[0]) printf("  %-18s %s/%s\n", "timeline", dir, r->timeline);
    printf("  %-18s %s/results.csv\n", "row", dir);
}

static ar_status ask(ar_asked engine, int argc, char **argv, ar_err *err) {
    run_options options = {{0}};
    ar_point point;
    ar_result result;
    int wants_help = 0;
    ar_fields_defaults(&run_fields, &options);
    ar_point_init(&point);
    const ar_arguments arguments = {&run_fields, &options, &point};
    ar_status status = ar_arguments_read(&arguments, argc, argv, 0, &wants_help, err);
    if (status != AR_OK) return status;
    if (wants_help) {
        help(engine);
        return AR_OK;
    }
    status = ar_point_complete(&point, err);
    if (status == AR_OK) status = ar_row_prepare(options.output, err);
    if (status != AR_OK) return status;
    ar_point_notes(&point);
    status = ar_ask(engine, &point, options.output, &result, err);
    if (status != AR_OK) return status;
    print_result(&result, options.output);
    status = ar_row_append(options.output, &point, &result, err);
    if (status != AR_OK || strcmp(result.status, "ok") == 0) return status;
    return ar_fail(err, isnan(result.step_s) ? AR_ERUN : AR_ECHECK, "%s", result.reason);
}

ar_status ar_cmd_sim(int argc, char **argv, ar_err *err) {
    return ask(AR_ASK_SIM, argc, argv, err);
}

ar_status ar_cmd_run(int argc, char **argv, ar_err *err) {
    return ask(AR_ASK_RUN, argc, argv, err);
}
