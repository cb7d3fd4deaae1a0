#include "ask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "launch.h"
#include "memory.h"
#include "question.h"

const char *const ar_asked_names[] = {"plan", "sim", "run", NULL};

/* ---- plan ---- */

/* The step of a plan is its critical path over the platform's routes. */
static ar_status walk_point(const ar_point *point, double *step_s, ar_planned *planned,
                            ar_err *err) {
    ar_question q;
    ar_place place;
    ar_walk_result walked;
    ar_status status = ar_question_open(point, false, &q, err);
    if (status != AR_OK) return status;
    status = ar_place_open(point, &q.layout, &place, err);
    if (status == AR_OK) {
        status = ar_question_walk(&q, &place, &walked, err);
        ar_place_close(&place);
    }
    if (status == AR_OK) status = ar_question_planned(&q, planned, err);
    if (status == AR_OK) *step_s = walked.step_s;
    ar_question_close(&q);
    return status;
}

static ar_status ask_plan(const ar_point *point, ar_result *result, ar_err *err) {
    if (point->compute == AR_REAL)
        return ar_fail(err, point->bad,
                       "compute = real with engine plan: a plan runs nothing; "
                       "legal: compute = modelled");
    ar_point standard = *point;
    standard.mechanism = AR_STANDARD;
    ar_planned planned, standard_planned;
    ar_status status = walk_point(&standard, &result->standard_step_s, &standard_planned, err);
    if (status == AR_OK) status = walk_point(point, &result->bound_s, &planned, err);
    if (status != AR_OK) return status;
    ar_planned_record(&planned, result);
    result->compute_s = planned.free.compute_s;
    result->sent_bytes = (double)planned.sent_B;
    result->messages = (double)planned.messages;
    result->step_s = result->step_min_s = result->step_max_s = result->bound_s;
    result->exposed_comm_s = result->step_s - result->free_s;
    result->overhead_percent = 100 * (result->step_s / result->standard_step_s - 1);
    snprintf(result->engine, sizeof result->engine, "plan");
    snprintf(result->engine_settings, sizeof result->engine_settings,
             "critical path without contention, message = L + (n+16)/B");
    return AR_OK;
}

/* ---- sim and run ---- */

/* What the log says of a run that left no result. */
static void diagnose(const ar_launched *launched, double limit_s, const char *log_path,
                     char *reason, size_t size) {
    char line[512], last[512] = "";
    bool deadlock = false, ours = false;
    FILE *log = fopen(log_path, "r");
    while (log && fgets(line, sizeof line, log)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (strstr(line, "Deadlock")) deadlock = true;
        const char *message = strstr(line, "attnres-rank: ");
        if (ours || strspn(line, "-* \t") == strlen(line)) continue; /* mpirun's rulers */
        snprintf(last, sizeof last, "%s", message ? message : line);
        ours = message != NULL;
    }
    if (log) fclose(log);
    if (launched->timed_out)
        snprintf(reason, size, "stopped after time_limit = %g s", limit_s);
    else if (deadlock)
        snprintf(reason, size, "the simulation deadlocked: ranks wait for each other");
    else
        snprintf(reason, size, "no result (exit code %d): %.400s", launched->exit_code,
                 last[0] ? last : "the log is empty");
}

static void add_bound(const ar_question *q, ar_place *place, ar_result *result) {
    ar_err err;
    ar_walk_result walked;
    if (!q->forward_s) return; /* real compute: times are known to the run only */
    if (ar_question_walk(q, place, &walked, &err) != AR_OK) {
        ar_result_fail(result, err.text);
        return;
    }
    result->bound_s = walked.step_s;
    /* Contention can only delay. SimGrid rounds each event to a nanosecond; SMPI's own
     * fit scales bandwidths, so there it is no bound. */
    const double per_rank = result->messages / (double)q->point->stages;
    const double slack_s = 1e-9 * (2 * per_rank + (double)q->layout.chunks);
    if (q->point->engine_model == AR_EXPLICIT && result->step_s < result->bound_s - slack_s)
        ar_result_fail(result, "the step is shorter than its lower bound");
}

static ar_status launch_point(ar_asked engine, const ar_question *q, const ar_scratch *scratch,
                              const char *dir, ar_place *place, ar_result *result, ar_err *err) {
    ar_launched launched;
    ar_command command;
    char point_path[1024], result_path[1024], log_path[1024], reason[AR_TEXT_MAX];
    ar_scratch_path(scratch, "point.ini", point_path, sizeof point_path);
    ar_scratch_path(scratch, "result.ini", result_path, sizeof result_path);
    ar_scratch_path(scratch, "log", log_path, sizeof log_path);
    ar_status status = ar_point_write(q->point, point_path, err);
    if (status == AR_OK && q->point->trace)
        status = ar_timeline_name(dir, result->timeline, sizeof result->timeline, err);
    if (status == AR_OK)
        status =
            engine == AR_ASK_SIM
                ? ar_command_sim(q->point, place, scratch, dir, result->timeline, &command, err)
                : ar_command_run(q->point, scratch, dir, result->timeline, &command, err);
    if (status != AR_OK) return status;
    status = ar_launch(command.argv, log_path, q->point->time_limit_s, &launched, err);
    char settings[AR_TEXT_MAX], timeline[AR_TEXT_MAX];
    snprintf(settings, sizeof settings, "%s", command.settings);
    snprintf(timeline, sizeof timeline, "%s", result->timeline);
    ar_command_free(&command);
    if (status != AR_OK) return status;
    if (access(result_path, R_OK) != 0) { /* only a completed run writes it */
        diagnose(&launched, q->point->time_limit_s, log_path, reason, sizeof reason);
        ar_result_fail(result, reason);
        result->timeline[0] = '\0';
    } else if ((status = ar_result_read(result_path, result, err)) != AR_OK) {
        return status;
    } else {
        snprintf(result->timeline, sizeof result->timeline, "%s", timeline);
        if (engine == AR_ASK_SIM) add_bound(q, place, result);
    }
    snprintf(result->engine_settings, sizeof result->engine_settings, "%s", settings);
    result->engine_wall_s = launched.wall_s;
    result->engine_peak_bytes = (double)launched.peak_B;
    return AR_OK;
}

static ar_status check_memory(ar_asked engine, const ar_point *point, ar_err *err) {
    double all_B = 0;
    if (engine == AR_ASK_SIM && point->compute == AR_MODELLED) return AR_OK;
    for (int32_t r = 0; r < point->stages; r++) {
        double rank_B = 0;
        const ar_status status = ar_memory_rank_B(point, engine == AR_ASK_SIM, r, &rank_B, err);
        if (status != AR_OK) return status;
        all_B += rank_B;
    }
    char whose[64];
    snprintf(whose, sizeof whose, "%lld ranks", (long long)point->stages);
    return ar_memory_check(all_B, whose, err);
}

static ar_status ask_engine(ar_asked engine, const ar_point *point, const char *dir,
                            ar_result *result, ar_err *err) {
    ar_question q;
    ar_scratch scratch = {{0}};
    ar_place place = {0};
    ar_status status = ar_question_open(point, false, &q, err);
    if (status != AR_OK) return status;
    status = check_memory(engine, point, err);
    if (status == AR_OK) status = ar_scratch_open(&scratch, err);
    if (status == AR_OK) {
        if (engine == AR_ASK_SIM) status = ar_place_open(point, &q.layout, &place, err);
        if (status == AR_OK) status = launch_point(engine, &q, &scratch, dir, &place, result, err);
        ar_place_close(&place);
        ar_scratch_close(&scratch);
    }
    ar_question_close(&q);
    return status;
}

ar_status ar_ask(ar_asked engine, const ar_point *point, const char *dir, ar_result *result,
                 ar_err *err) {
    ar_result_init(result);
    ar_result_provenance(result);
    snprintf(result->engine, sizeof result->engine, "%s",
             engine == AR_ASK_PLAN  ? "plan"
             : engine == AR_ASK_SIM ? "smpi"
                                    : "openmpi");
    return engine == AR_ASK_PLAN ? ask_plan(point, result, err)
                                 : ask_engine(engine, point, dir, result, err);
}
