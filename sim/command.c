#define _XOPEN_SOURCE 700
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"

enum { ARGUMENTS_MAX = 64 };

/* Settings whose results can be checked by hand: a message of n bytes takes
 * L + (n+16)/B from the later of send and receive. SMPI's defaults are a fit to one
 * cluster of 2013. */
static const char *const explicit_model[] = {"smpi/bw-factor:0:1",
                                             "smpi/lat-factor:0:1",
                                             "network/crosstraffic:0",
                                             "network/TCP-gamma:0",
                                             "network/weight-S:0",
                                             "smpi/async-small-thresh:0",
                                             "smpi/send-is-detached-thresh:0",
                                             NULL};
/* Time is what the ranks charge, and nothing else. Payloads share large pages. */
static const char *const always[] = {"smpi/simulate-computation:no", "smpi/wtime:0",
                                     "smpi/host-speed:1Gf", "smpi/shared-malloc-blocksize:16777216",
                                     NULL};

static bool add(ar_command *command, size_t *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool add(ar_command *command, size_t *count, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (*count + 1 >= ARGUMENTS_MAX) return false;
    command->argv[*count] = strdup(text);
    return command->argv[(*count)++] != NULL;
}

static bool add_settings(ar_command *command, size_t *count, const char *const *settings) {
    bool enough = true;
    for (; *settings; settings++) {
        enough = add(command, count, "--cfg=%s", *settings) && enough;
        const size_t used = strlen(command->settings);
        snprintf(command->settings + used, sizeof command->settings - used, "%s%s", used ? " " : "",
                 *settings);
    }
    return enough;
}

static bool add_rank_program(ar_command *command, size_t *count, const char *program,
                             const ar_scratch *scratch, const char *dir, const char *timeline) {
    bool enough = add(command, count, "%s", program) &&
                  add(command, count, "--point=%s/point.ini", scratch->dir) &&
                  add(command, count, "--result=%s/result.ini", scratch->dir);
    if (timeline[0]) enough = enough && add(command, count, "--timeline=%s/%s", dir, timeline);
    return enough;
}

static ar_status open_command(const char *engine, ar_command *command, char *program, size_t size,
                              ar_err *err) {
    memset(command, 0, sizeof *command);
    const ar_status status = ar_launch_find(engine, program, size, err);
    if (status != AR_OK) return status;
    command->argv = calloc(ARGUMENTS_MAX, sizeof *command->argv);
    return command->argv ? AR_OK : ar_fail(err, AR_ERUN, "out of memory");
}

static ar_status close_command(ar_command *command, bool enough, ar_err *err) {
    if (enough) return AR_OK;
    ar_command_free(command);
    return ar_fail(err, AR_ERUN, "out of memory for a command line");
}

ar_status ar_command_sim(const ar_point *point, const ar_place *place, const ar_scratch *scratch,
                         const char *dir, const char *timeline, ar_command *command, ar_err *err) {
    char program[2048], hosts[1024];
    size_t n = 0;
    ar_scratch_path(scratch, "hosts", hosts, sizeof hosts);
    ar_status status = ar_place_write_hosts(place, (int32_t)point->stages, hosts, err);
    if (status == AR_OK) status = open_command("smpi", command, program, sizeof program, err);
    if (status != AR_OK) return status;
    bool enough = add(command, &n, "smpirun") && add(command, &n, "-no-privatize") &&
                  add(command, &n, "-np") && add(command, &n, "%lld", (long long)point->stages) &&
                  add(command, &n, "-platform") && add(command, &n, "%s", place->xml) &&
                  add(command, &n, "-hostfile") && add(command, &n, "%s", hosts) &&
                  add(command, &n, "--log=root.thresh:critical");
    enough = enough && add_settings(command, &n, always);
    if (point->engine_model == AR_EXPLICIT)
        enough = enough && add_settings(command, &n, explicit_model);
    enough = enough && add_rank_program(command, &n, program, scratch, dir, timeline);
    return close_command(command, enough, err);
}

ar_status ar_command_run(const ar_point *point, const ar_scratch *scratch, const char *dir,
                         const char *timeline, ar_command *command, ar_err *err) {
    char program[2048];
    size_t n = 0;
    const ar_status status = open_command("mpi", command, program, sizeof program, err);
    if (status != AR_OK) return status;
    const bool crowded = point->stages > sysconf(_SC_NPROCESSORS_ONLN);
    bool enough = add(command, &n, "mpirun");
    if (geteuid() == 0) enough = enough && add(command, &n, "--allow-run-as-root");
    enough = enough && add(command, &n, "--oversubscribe") && add(command, &n, "--bind-to") &&
             add(command, &n, "none") && add(command, &n, "-n") &&
             add(command, &n, "%lld", (long long)point->stages);
    if (crowded) /* ranks that wait give way to ranks that work */
        enough = enough && add(command, &n, "--mca") && add(command, &n, "mpi_yield_when_idle") &&
                 add(command, &n, "1");
    snprintf(command->settings, sizeof command->settings, "%lld ranks on %ld cores%s",
             (long long)point->stages, sysconf(_SC_NPROCESSORS_ONLN),
             crowded       ? ", mpi_yield_when_idle 1: times say little"
             : point->bind ? ", each bound to one"
                           : "");
    enough = enough && add_rank_program(command, &n, program, scratch, dir, timeline);
    return close_command(command, enough, err);
}

void ar_command_free(ar_command *command) {
    for (size_t i = 0; command->argv && command->argv[i]; i++)
        free(command->argv[i]);
    free(command->argv);
    command->argv = NULL;
}
