#include <stdio.h>

#include "arguments.h"
#include "cmd.h"
#include "report.h"

static const ar_fields no_fields = {NULL, 0, "report"};

ar_status ar_cmd_report(int argc, char **argv, ar_err *err) {
    int wants_help = 0;
    const ar_arguments arguments = {&no_fields, NULL, NULL};
    ar_status status = ar_arguments_read(&arguments, argc, argv, 1, &wants_help, err);
    if (status != AR_OK) return status;
    if (wants_help) {
        printf("Usage: attnres report DIR\n\n"
               "Read DIR/results.csv; write DIR/report.md, DIR/plots and a picture of every\n"
               "timeline. Curves need gnuplot; without it the report says so.\n");
        return AR_OK;
    }
    if (argc < 2 || !argv[1]) return ar_fail(err, AR_EUSAGE, "report: which directory? See --help");
    status = ar_report_write(argv[1], err);
    if (status == AR_OK) printf("%s/report.md\n", argv[1]);
    return status;
}
