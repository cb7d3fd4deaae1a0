#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"
#include "sections.h"

enum { PATH_SIZE = 4096 };

static void write_report(FILE *out, const ar_rows *rows, const char *dir) {
    fprintf(out, "# Attention Residuals on a pipeline: report\n\n");
    if (!rows) { /* a directory of measurements only */
        ar_section_bench(out, dir);
        ar_section_mixing(out, dir);
        return;
    }
    ar_section_summary(out, rows);
    ar_section_cost(out, rows);
    ar_section_plots(out, rows, dir);
    ar_section_timelines(out, rows, dir);
    ar_section_wire(out, rows);
    ar_section_memory(out, rows);
    ar_section_bench(out, dir);
    ar_section_mixing(out, dir);
    ar_section_claims(out, rows);
    ar_section_failed(out, rows);
    ar_section_method(out, rows);
}

static bool has_measurements(const char *dir) {
    static const char *const name[] = {"bench.csv", "mixing.csv"};
    char path[PATH_SIZE];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, name[i]);
        if (access(path, F_OK) == 0) return true;
    }
    return false;
}

ar_status ar_report_write(const char *dir, ar_err *err) {
    char results[PATH_SIZE], report[PATH_SIZE], part[PATH_SIZE];
    if (snprintf(results, sizeof results, "%s/results.csv", dir) >= PATH_SIZE ||
        snprintf(report, sizeof report, "%s/report.md", dir) >= PATH_SIZE ||
        snprintf(part, sizeof part, "%s/report.md.part", dir) >= PATH_SIZE)
        return ar_fail(err, AR_EINPUT, "%.200s...: path too long", dir);
    ar_rows rows;
    const bool have = access(results, F_OK) == 0 || !has_measurements(dir);
    const ar_status status = have ? ar_rows_read(results, &rows, err) : AR_OK;
    if (status != AR_OK) return status;
    FILE *out = fopen(part, "w"); /* an earlier report stays whole until this one is */
    if (!out) {
        if (have) ar_rows_free(&rows);
        return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", part, strerror(errno));
    }
    write_report(out, have ? &rows : NULL, dir);
    if (have) ar_rows_free(&rows);
    const int failed = ferror(out);
    if (fclose(out) != 0 || failed || rename(part, report) != 0)
        return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", report, strerror(errno));
    return AR_OK;
}
