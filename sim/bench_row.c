#include "bench_row.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csv.h"
#include "result.h"

#define FIELD(key, type)                                                                           \
    { #key, type, AR_UNIT_NONE, offsetof(ar_bench_row, key), -1e300, 1e300, NULL, "", NULL, "" }
#define NUMBER(key) FIELD(key, AR_FIELD_QUANTITY)
#define COUNT(key) FIELD(key, AR_FIELD_COUNT)
#define TEXT(key) FIELD(key, AR_FIELD_TEXT)

static const ar_field column[] = {
    TEXT(mechanism),
    TEXT(form),
    COUNT(layers),
    COUNT(blocks),
    COUNT(tokens),
    COUNT(width),
    TEXT(dtype),
    COUNT(threads),
    NUMBER(paper_elements),
    NUMBER(exact_elements),
    NUMBER(fused_elements),
    NUMBER(measured_elements),
    NUMBER(median_s),
    NUMBER(roof_percent),
    NUMBER(gflops),
    NUMBER(max_rel_error),
    NUMBER(tolerance),
    TEXT(status),
    TEXT(reason),
    COUNT(block),
    COUNT(streams),
    TEXT(direction),
    TEXT(phase),
    NUMBER(min_s),
    NUMBER(max_s),
    NUMBER(low_s),
    NUMBER(high_s),
    COUNT(repetitions),
    TEXT(interval_reached),
    NUMBER(gbytes_s),
    NUMBER(intensity),
    TEXT(roof_kernel),
    NUMBER(roof_gbytes_s),
    NUMBER(peak_gflops),
    NUMBER(peak_percent),
    NUMBER(allocate_elements),
    TEXT(traffic),
    TEXT(traffic_note),
    NUMBER(set_bytes),
    NUMBER(cache_bytes),
    NUMBER(roof_set_bytes),
    TEXT(notes),
    TEXT(isa),
    TEXT(processor),
    TEXT(machine),
    TEXT(version),
    TEXT(commit),
    TEXT(date),
};
enum { COLUMNS = sizeof column / sizeof *column };

static double *number(const ar_field *field, ar_bench_row *row) {
    return (double *)(void *)((char *)row + field->offset);
}

void ar_bench_row_init(ar_bench_row *row) {
    memset(row, 0, sizeof *row);
    for (size_t i = 0; i < COLUMNS; i++)
        if (column[i].type == AR_FIELD_QUANTITY) *number(&column[i], row) = NAN;
    snprintf(row->status, sizeof row->status, "ok");
    ar_result result;
    ar_result_init(&result);
    ar_result_provenance(&result);
    memcpy(row->version, result.version, sizeof row->version);
    memcpy(row->commit, result.commit, sizeof row->commit);
    memcpy(row->machine, result.machine, sizeof row->machine);
    memcpy(row->date, result.date, sizeof row->date);
}

void ar_bench_row_fail(ar_bench_row *row, const char *reason) {
    if (strcmp(row->status, "failed") == 0) return;
    snprintf(row->status, sizeof row->status, "failed");
    snprintf(row->reason, sizeof row->reason, "%s", reason);
}

void ar_bench_row_note(ar_bench_row *row, const char *note) {
    const size_t used = strlen(row->notes);
    snprintf(row->notes + used, sizeof row->notes - used, "%s%s", used ? "; " : "", note);
}

void ar_bench_header_write(FILE *out) {
    for (size_t i = 0; i < COLUMNS; i++)
        ar_csv_cell(out, column[i].name, i == 0);
    fputc('\n', out);
}

void ar_bench_row_write(FILE *out, const ar_bench_row *row) {
    char text[AR_TEXT_MAX];
    for (size_t i = 0; i < COLUMNS; i++) {
        ar_field_format(&column[i], row, text, sizeof text);
        if (column[i].type == AR_FIELD_QUANTITY) {
            const double value = *number(&column[i], (ar_bench_row *)row);
            if (isnan(value) && column[i].offset != offsetof(ar_bench_row, max_rel_error))
                text[0] = '\0'; /* an error that is not a number is a finding */
            else
                snprintf(text, sizeof text, "%.9g", value);
        }
        for (char *c = text; *c; c++)
            if ((unsigned char)*c < ' ') *c = ' ';
        ar_csv_cell(out, text, i == 0);
    }
    fputc('\n', out);
}

static ar_status bench_path(const char *dir, char *path, size_t size, ar_err *err) {
    if (snprintf(path, size, "%s/bench.csv", dir) >= (int)size)
        return ar_fail(err, AR_EUSAGE, "%.200s...: the path is too long", dir);
    return AR_OK;
}

ar_status ar_directory_make(const char *dir, ar_err *err) {
    char path[4096];
    snprintf(path, sizeof path, "%s", dir);
    for (char *slash = path;; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash) *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return ar_fail(err, AR_ERUN, "%s: cannot make the directory: %s", path,
                           strerror(errno));
        if (!slash) return AR_OK;
    }
}

static ar_status check_header(const char *path, ar_err *err) {
    char *ours = NULL, *theirs = NULL;
    size_t size = 0, room = 0;
    FILE *memory = open_memstream(&ours, &size);
    if (!memory) return ar_fail(err, AR_ERUN, "out of memory");
    ar_bench_header_write(memory);
    fclose(memory);
    FILE *in = fopen(path, "r");
    const ssize_t length = in ? getline(&theirs, &room, in) : -1;
    if (in) fclose(in);
    ar_status status = AR_OK;
    if (length > 0 && strcmp(theirs, ours) != 0)
        status = ar_fail(err, AR_EINPUT,
                         "%s: has other columns than this version writes; move it away, or give "
                         "another directory with -o",
                         path);
    free(theirs);
    free(ours);
    return status;
}

ar_status ar_bench_prepare(const char *dir, ar_err *err) {
    char path[4096];
    ar_status status = bench_path(dir, path, sizeof path, err);
    if (status == AR_OK) status = ar_directory_make(dir, err);
    if (status == AR_OK) status = check_header(path, err);
    return status;
}

ar_status ar_bench_append(const char *dir, const ar_bench_row *row, ar_err *err) {
    char path[4096];
    struct stat about;
    ar_status status = bench_path(dir, path, sizeof path, err);
    if (status != AR_OK) return status;
    FILE *out = fopen(path, "a");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    if (fstat(fileno(out), &about) == 0 && about.st_size == 0) ar_bench_header_write(out);
    ar_bench_row_write(out, row);
    const bool written = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0;
    if (fclose(out) != 0 || !written)
        return ar_fail(err, AR_ERUN, "%s: the row could not be written: %s", path, strerror(errno));
    return AR_OK;
}
