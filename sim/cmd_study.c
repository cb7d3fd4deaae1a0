#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "cmd.h"
#include "data.h"
#include "study.h"

typedef struct {
    char output[AR_TEXT_MAX];
} study_options;

static const ar_field study_field[] = {
    {"output", AR_FIELD_TEXT, AR_UNIT_NONE, offsetof(study_options, output), 0, 0, NULL, ".", "DIR",
     "append the rows to DIR/results.csv (-o)"},
};
static const ar_fields study_fields = {study_field, sizeof study_field / sizeof *study_field,
                                       "study"};

static void help(void) {
    printf("Usage: attnres study NAME|FILE.ini [-o DIR]\n\n"
           "Ask every combination of a study file. A row is on the disk as soon as its point\n"
           "ends; a point that fails is a row with its reason.\n\n"
           "    [study]\n"
           "    engine = sim                    ; plan, sim or run\n"
           "    model = kimi-linear-48b\n"
           "    stages = 4, 8                   ; lists multiply\n"
           "    cache = none, own\n"
           "    platform + host_stride = nvlink-node : 1, ndr-fat-tree : 8  ; vary together\n\n"
           "Options:\n");
    ar_fields_help(&study_fields, stdout);
    printf("\nKeys of a study, besides engine:\n");
    ar_fields_help(&ar_point_fields, stdout);
}

/* On a terminal: how far, and how long still. */
static void progress(size_t done, size_t all, size_t failed, double since_s) {
    if (!isatty(STDERR_FILENO)) return;
    const double left_s = done ? (ar_clock_s() - since_s) / (double)done * (double)(all - done) : 0;
    fprintf(stderr, "\r%zu of %zu points, %zu failed", done, all, failed);
    if (done) fprintf(stderr, ", %.0f s left   ", left_s);
    if (done == all) fprintf(stderr, "\n");
}

/* A combination that is refused, or cannot be asked, is a failed row. An interrupt
 * ends the study. */
static ar_status ask_one(const ar_study *study, size_t i, const char *dir, bool *ok, ar_err *err) {
    ar_point point;
    ar_asked engine;
    ar_result result;
    ar_status status = ar_study_point(study, i, &point, &engine, err);
    if (status == AR_OK) {
        status = ar_ask(engine, &point, dir, &result, err);
        if (status == AR_ERUN && strcmp(err->text, "interrupted") == 0) return status;
    } else {
        ar_result_init(&result);
        ar_result_provenance(&result);
        snprintf(result.engine, sizeof result.engine, "%s", ar_asked_names[engine]);
    }
    if (status != AR_OK) ar_result_fail(&result, err->text);
    *ok = strcmp(result.status, "ok") == 0;
    return ar_row_append(dir, &point, &result, err);
}

static ar_status ask_all(const ar_study *study, const char *dir, ar_err *err) {
    const size_t points = ar_study_points(study);
    const double since_s = ar_clock_s();
    size_t failed = 0;
    for (size_t i = 0; i < points; i++) {
        bool ok = false;
        progress(i, points, failed, since_s);
        const ar_status status = ask_one(study, i, dir, &ok, err);
        if (status != AR_OK) return status;
        failed += !ok;
    }
    progress(points, points, failed, since_s);
    printf("%zu points, %zu failed, %.1f s; rows in %s/results.csv\n", points, failed,
           ar_clock_s() - since_s, dir);
    if (failed == 0) return AR_OK;
    return ar_fail(err, AR_ERUN, "%zu of %zu points failed; their rows say why", failed, points);
}

ar_status ar_cmd_study(int argc, char **argv, ar_err *err) {
    study_options options = {{0}};
    int wants_help = 0;
    char path[1024];
    ar_fields_defaults(&study_fields, &options);
    const ar_arguments arguments = {&study_fields, &options, NULL};
    ar_status status = ar_arguments_read(&arguments, argc, argv, 1, &wants_help, err);
    if (status != AR_OK) return status;
    if (wants_help) {
        help();
        return AR_OK;
    }
    if (argc < 2 || !argv[1]) return ar_fail(err, AR_EUSAGE, "study: which file? See --help");
    status = ar_data_find("studies", argv[1], ".ini", path, sizeof path, err, AR_EUSAGE);
    if (status != AR_OK) return status;
    ar_study *study = NULL;
    status = ar_study_read(path, &study, err);
    if (status != AR_OK) return status;
    status = ar_row_prepare(options.output, err);
    if (status == AR_OK) status = ask_all(study, options.output, err);
    ar_study_free(study);
    return status;
}
