/* attnres: the front door. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "version.h"

typedef struct {
    const char *name;
    ar_status (*run)(int argc, char **argv, ar_err *err);
    const char *help;
} command;

static const command commands[] = {
    {"plan", ar_cmd_plan, "routing, schedule, memory and critical path of a point; runs nothing"},
    {"sim", ar_cmd_sim, "simulate a point on a modelled platform (SimGrid/SMPI)"},
    {"run", ar_cmd_run, "run a point on this machine's ranks (Open MPI)"},
    {"study", ar_cmd_study, "a file of points: every combination, a row as soon as each ends"},
    {"report", ar_cmd_report, "turn DIR/results.csv into report.md with plots"},
    {"bench", ar_cmd_bench, "the residual kernels on this machine: time, roof, memory traffic"},
    {"mixing", ar_cmd_mixing, "the depth mixing matrix of a mechanism, and its rank"},
    {"topo", ar_cmd_topo, "this machine's hardware; write platform files"},
    {"cachesim-subject", ar_cmd_cachesim_subject, NULL}, /* hidden */
};

static void help(FILE *out) {
    fprintf(out,
            "attnres %s: what Attention Residuals cost under pipeline parallelism\n\n"
            "Usage: attnres COMMAND [option ...]\n\n",
            AR_VERSION);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].help) fprintf(out, "  %-8s%s\n", commands[i].name, commands[i].help);
    fprintf(out, "\nattnres COMMAND --help lists a command's options.\n"
                 "Exit codes: 0 fine, 1 a check failed, 2 usage, 3 bad input, 4 run failed.\n");
}

static bool asks_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static ar_status run(int argc, char **argv, ar_err *err) {
    if (argc < 2) {
        help(stderr);
        return AR_EUSAGE;
    }
    if (asks_help(argv[1])) {
        help(stdout);
        return AR_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("attnres %s (%s)\n", AR_VERSION, AR_COMMIT);
        return AR_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1, err);
    return ar_fail(
        err, AR_EUSAGE,
        "'%.100s' is no command; legal: plan, sim, run, study, report, bench, mixing, topo",
        argv[1]);
}

int main(int argc, char **argv) {
    ar_err err = {{0}};
    ar_status status = run(argc, argv, &err);
    if (fflush(stdout) != 0 && status == AR_OK)
        status = ar_fail(&err, AR_ERUN, "standard output cannot be written");
    if (status != AR_OK && err.text[0]) fprintf(stderr, "attnres: %s\n", err.text);
    return (int)status;
}
