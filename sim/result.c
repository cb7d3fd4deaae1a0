#include "result.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "csv.h"
#include "rowfile.h"
#include "version.h"

#define NUMBER(key)                                                                                \
    {                                                                                              \
#key, AR_FIELD_QUANTITY, AR_UNIT_NONE, offsetof(ar_result, key), -1e300, 1e300, NULL, "",  \
            NULL, ""                                                                               \
    }
#define TEXT(key)                                                                                  \
    { #key, AR_FIELD_TEXT, AR_UNIT_NONE, offsetof(ar_result, key), 0, 0, NULL, "", NULL, "" }

static const ar_field result_field[] = {
    NUMBER(step_s),
    NUMBER(step_min_s),
    NUMBER(step_max_s),
    NUMBER(standard_step_s),
    NUMBER(overhead_percent),
    NUMBER(compute_s),
    NUMBER(free_s),
    NUMBER(bound_s),
    NUMBER(exposed_comm_s),
    NUMBER(bubble_percent),
    NUMBER(sent_bytes),
    NUMBER(planned_bytes),
    NUMBER(messages),
    NUMBER(hop_blocks),
    NUMBER(hop_partial),
    NUMBER(hop_vectors),
    NUMBER(formula_vectors),
    NUMBER(peak_hop_vectors),
    NUMBER(peak_hop_bytes),
    NUMBER(peak_cache_bytes),
    NUMBER(peak_activation_bytes),
    NUMBER(peak_message_bytes),
    NUMBER(paper_elements),
    NUMBER(exact_elements),
    NUMBER(layer_flop),
    NUMBER(max_rel_error),
    NUMBER(tolerance),
    TEXT(bitwise_equal),
    NUMBER(engine_wall_s),
    NUMBER(engine_peak_bytes),
    TEXT(status),
    TEXT(reason),
    TEXT(timeline),
    TEXT(engine),
    TEXT(engine_version),
    TEXT(engine_settings),
    TEXT(version),
    TEXT(commit),
    TEXT(machine),
    TEXT(date),
};

const ar_fields ar_result_fields = {result_field, sizeof result_field / sizeof *result_field,
                                    "result"};

static double *number(const ar_field *field, ar_result *result) {
    return (double *)(void *)((char *)result + field->offset);
}

static void format(const ar_field *field, const ar_result *result, char *text, size_t size) {
    text[0] = '\0';
    if (field->type == AR_FIELD_QUANTITY && !isfinite(*number(field, (ar_result *)result))) return;
    ar_field_format(field, result, text, size);
}

void ar_result_init(ar_result *result) {
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < ar_result_fields.count; i++)
        if (result_field[i].type == AR_FIELD_QUANTITY) *number(&result_field[i], result) = NAN;
    snprintf(result->status, sizeof result->status, "ok");
}

void ar_result_fail(ar_result *result, const char *reason) {
    if (strcmp(result->status, "failed") == 0) return;
    snprintf(result->status, sizeof result->status, "failed");
    snprintf(result->reason, sizeof result->reason, "%s", reason);
    for (char *c = result->reason; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = ' ';
}

ar_status ar_result_write(const ar_result *result, const char *path, ar_err *err) {
    char beside[4096], text[AR_TEXT_MAX];
    if (snprintf(beside, sizeof beside, "%s.part", path) >= (int)sizeof beside)
        return ar_fail(err, AR_ERUN, "%s: the path is too long", path);
    FILE *out = fopen(beside, "w");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", beside, strerror(errno));
    fprintf(out, "[result]\n");
    for (size_t i = 0; i < ar_result_fields.count; i++) {
        format(&result_field[i], result, text, sizeof text);
        for (char *c = text; *c; c++) /* an INI comment begins so */
            if (*c == ';') *c = ',';
        if (text[0]) fprintf(out, "%s = %s\n", result_field[i].name, text);
    }
    const bool written = !ferror(out);
    if (fclose(out) != 0 || !written || rename(beside, path) != 0)
        return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    return AR_OK;
}

ar_status ar_result_read(const char *path, ar_result *result, ar_err *err) {
    ar_result read;
    ar_result_init(&read);
    uint64_t set = 0;
    const ar_status status = ar_fields_read(&ar_result_fields, path, &read, &set, err);
    if (status == AR_OK) *result = read;
    return status;
}

void ar_result_provenance(ar_result *result) {
    struct utsname host;
    snprintf(result->version, sizeof result->version, "%s", AR_VERSION);
    snprintf(result->commit, sizeof result->commit, "%s", AR_COMMIT);
    if (uname(&host) == 0)
        snprintf(result->machine, sizeof result->machine, "%s %s %s, %ld cores", host.sysname,
                 host.release, host.machine, sysconf(_SC_NPROCESSORS_ONLN));
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(result->date, sizeof result->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* ---- rows ---- */

static void write_header(FILE *out) {
    for (size_t i = 0; i < ar_point_fields.count; i++)
        ar_csv_cell(out, ar_point_fields.field[i].name, i == 0);
    for (size_t i = 0; i < ar_result_fields.count; i++)
        ar_csv_cell(out, result_field[i].name, 0);
    fputc('\n', out);
}

static void write_row(FILE *out, const ar_point *point, const ar_result *result) {
    char text[AR_TEXT_MAX];
    for (size_t i = 0; i < ar_point_fields.count; i++) {
        ar_field_format(&ar_point_fields.field[i], point, text, sizeof text);
        ar_csv_cell(out, text, i == 0);
    }
    for (size_t i = 0; i < ar_result_fields.count; i++) {
        format(&result_field[i], result, text, sizeof text);
        ar_csv_cell(out, text, 0);
    }
    fputc('\n', out);
}

/* The header and, where point is not NULL, the row, as lines; the caller frees both. */
static ar_status write_lines(const ar_point *point, const ar_result *result, char **header,
                             char **row, ar_err *err) {
    size_t size = 0;
    *header = *row = NULL;
    FILE *first = open_memstream(header, &size);
    if (first) write_header(first);
    if (first) fclose(first);
    FILE *second = point ? open_memstream(row, &size) : NULL;
    if (second) write_row(second, point, result);
    if (second) fclose(second);
    if (*header && (*row || !point)) return AR_OK;
    free(*header);
    free(*row);
    return ar_fail(err, AR_ERUN, "out of memory for a row");
}

ar_status ar_row_prepare(const char *dir, ar_err *err) {
    char *header, *row;
    ar_status status = write_lines(NULL, NULL, &header, &row, err);
    if (status != AR_OK) return status;
    status = ar_rowfile_prepare(dir, "results.csv", header, err);
    free(header);
    return status;
}

ar_status ar_row_append(const char *dir, const ar_point *point, const ar_result *result,
                        ar_err *err) {
    char *header, *row;
    ar_status status = write_lines(point, result, &header, &row, err);
    if (status != AR_OK) return status;
    status = ar_rowfile_append(dir, "results.csv", header, row, err);
    free(header);
    free(row);
    return status;
}

ar_status ar_timeline_name(const char *dir, char *name, size_t size, ar_err *err) {
    char path[4096];
    for (int n = 1; n < 100000; n++) {
        snprintf(name, size, "timeline-%d.csv", n);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        if (access(path, F_OK) != 0) return AR_OK;
    }
    return ar_fail(err, AR_ERUN, "%s: has 100000 timelines; give another directory with -o", dir);
}
