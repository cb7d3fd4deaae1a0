#include "bench_row.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "result.h"
#include "rowfile.h"

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
    TEXT(variant),
    COUNT(window),
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
    NUMBER(balance),
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

static ar_status write_lines(const ar_bench_row *row, char **header, char **line, ar_err *err) {
    size_t size = 0;
    *header = *line = NULL;
    FILE *first = open_memstream(header, &size);
    if (first) ar_bench_header_write(first);
    if (first) fclose(first);
    FILE *second = row ? open_memstream(line, &size) : NULL;
    if (second) ar_bench_row_write(second, row);
    if (second) fclose(second);
    if (*header && (*line || !row)) return AR_OK;
    free(*header);
    free(*line);
    return ar_fail(err, AR_ERUN, "out of memory for a row");
}

ar_status ar_bench_prepare(const char *dir, ar_err *err) {
    char *header, *line;
    ar_status status = write_lines(NULL, &header, &line, err);
    if (status != AR_OK) return status;
    status = ar_rowfile_prepare(dir, "bench.csv", header, err);
    free(header);
    return status;
}

ar_status ar_bench_append(const char *dir, const ar_bench_row *row, ar_err *err) {
    char *header, *line;
    ar_status status = write_lines(row, &header, &line, err);
    if (status != AR_OK) return status;
    status = ar_rowfile_append(dir, "bench.csv", header, line, err);
    free(header);
    free(line);
    return status;
}
