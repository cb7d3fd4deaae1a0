#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rows.h"
#include "sections.h"

enum { PATH_SIZE = 4096 };

static void write_report(FILE *out, const ar_rows *rows, const char *dir) {
    fprintf(out, "# Attention Residuals on a pipeline: report\n\n");
    ar_section_summary(out, rows);
    ar_section_cost(out, rows);
    ar_section_plots(out, rows, dir);
    ar_section_timelines(out, rows, dir);
    ar_section_wire(out, rows);
    ar_section_memory(out, rows);
    ar_section_claims(out, rows);
    ar_section_failed(out, rows);
    ar_section_method(out, rows);
}

ar_status ar_report_write(const char *dir, ar_err *err) {
    char results[PATH_SIZE], report[PATH_SIZE], part[PATH_SIZE];
    if (snprintf(results, sizeof results, "%s/results.csv", dir) >= PATH_SIZE ||
        snprintf(report, sizeof report, "%s/report.md", dir) >= PATH_SIZE ||
        snprintf(part, sizeof part, "%s/report.md.part", dir) >= PATH_SIZE)
        return ar_fail(err, AR_EINPUT, "%.200s...: path too long", dir);
    ar_rows rows;
    const ar_status status = ar_rows_read(results, &rows, err);
    if (status != AR_OK) return status;
    FILE *out = fopen(part, "w"); /* an earlier report stays whole until this one is */
    if (!out) {
        ar_rows_free(&rows);
        return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", part, strerror(errno));
    }
    write_report(out, &rows, dir);
    ar_rows_free(&rows);
    const int failed = ferror(out);
    if (fclose(out) != 0 || failed || rename(part, report) != 0)
        return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", report, strerror(errno));
    return AR_OK;
}
