/* attnres-rank: one rank of a pipeline, under Open MPI or SMPI. The front door
 * starts it with --point FILE --result FILE; srun or mpirun start it directly with
 * the options of a point and -o DIR. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "engine.h"
#include "machine.h"
#include "measure.h"

typedef struct {
    char point_file[AR_TEXT_MAX], result_file[AR_TEXT_MAX], trace_file[AR_TEXT_MAX];
    char dir[AR_TEXT_MAX];
    int help;
} rank_options;

#define TEXT(name, member, otherwise, meta, text)                                                  \
    {                                                                                              \
        name, AR_FIELD_TEXT, AR_UNIT_NONE, offsetof(rank_options, member), 0, 0, NULL, otherwise,  \
            meta, text                                                                             \
    }
static const ar_field rank_field[] = {
    TEXT("point", point_file, "", "FILE", "read the point from an INI file, section [point]"),
    TEXT("result", result_file, "", "FILE", "write the result there instead of a row to -o"),
    TEXT("timeline", trace_file, "", "FILE",
         "write the timeline of a point with trace = yes there"),
    TEXT("output", dir, ".", "DIR", "append the row to DIR/results.csv (-o)"),
};
static const ar_fields rank_fields = {rank_field, sizeof rank_field / sizeof *rank_field, "rank"};

static void help(void) {
    printf("Usage: mpirun -n P attnres-rank [option ...]\n\n"
           "One step of a pipeline with Attention Residuals, and the same step with the\n"
           "standard residual; rank 0 appends a row to DIR/results.csv.\n\nOptions:\n");
    ar_fields_help(&rank_fields, stdout);
    printf("\nThe point:\n");
    ar_fields_help(&ar_point_fields, stdout);
}

static ar_status read_point(int argc, char **argv, rank_options *options, ar_point *point,
                            ar_err *err) {
    ar_point_init(point);
    ar_fields_defaults(&rank_fields, options);
    const ar_arguments arguments = {&rank_fields, options, point};
    ar_status status = ar_arguments_read(&arguments, argc, argv, 1, &options->help, err);
    if (status == AR_OK && options->point_file[0])
        status = ar_point_read(point, options->point_file, err);
    if (status == AR_OK && !options->help) status = ar_point_complete(point, err);
    return status;
}

/* As many ranks as stages, the same point everywhere, and room for it. */
static ar_status agree_to_start(const ar_point *point, ar_err *err) {
    int ranks = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ar_status status = ar_measure_same_point(point, MPI_COMM_WORLD, err);
    if (status != AR_OK) return status;
    if (point->stages != ranks)
        return ar_fail(err, AR_EUSAGE, "stages = %lld, but %d ranks were started; legal: the same",
                       (long long)point->stages, ranks);
    status = ar_machine_bind(point, MPI_COMM_WORLD, err);
    if (status == AR_OK) status = ar_machine_check_memory(point, MPI_COMM_WORLD, err);
    return ar_agree(status, MPI_COMM_WORLD, err);
}

static ar_status deliver(const rank_options *options, const ar_point *point,
                         const ar_result *result, ar_err *err) {
    if (options->result_file[0]) return ar_result_write(result, options->result_file, err);
    const ar_status status = ar_row_append(options->dir, point, result, err);
    if (status == AR_OK)
        printf("step %.6g s, standard %.6g s, overhead %.3g %%, %s: row in %s/results.csv\n",
               result->step_s, result->standard_step_s, result->overhead_percent, result->status,
               options->dir);
    return status;
}

static ar_status run(int argc, char **argv, int rank, ar_err *err) {
    rank_options options = {0};
    ar_point point;
    ar_result result;
    ar_status status = read_point(argc, argv, &options, &point, err);
    status = ar_agree(status, MPI_COMM_WORLD, err);
    if (status != AR_OK) return status;
    if (options.help) {
        if (rank == 0) help();
        return AR_OK;
    }
    if (rank == 0 && !options.result_file[0]) status = ar_row_prepare(options.dir, err);
    status = ar_agree(status, MPI_COMM_WORLD, err);
    if (status == AR_OK) status = agree_to_start(&point, err);
    if (status != AR_OK) return status;
    ar_result_init(&result);
    ar_result_provenance(&result);
    snprintf(result.engine, sizeof result.engine, "%s", ar_engine_name());
    ar_engine_version(result.engine_version, sizeof result.engine_version);
    status = ar_measure(&point, MPI_COMM_WORLD, options.trace_file[0] ? options.trace_file : NULL,
                        &result, err);
    if (status == AR_OK && rank == 0) {
        status = deliver(&options, &point, &result, err);
        if (status == AR_OK && strcmp(result.status, "ok") != 0)
            status = ar_fail(err, AR_ECHECK, "%s", result.reason);
    }
    return ar_agree(status, MPI_COMM_WORLD, err);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    ar_err err = {{0}};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const ar_status status = run(argc, argv, rank, &err);
    if (status != AR_OK && rank == 0) fprintf(stderr, "attnres-rank: %s\n", err.text);
    MPI_Finalize();
    return (int)status;
}
