#include "result.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "csv.h"
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

static ar_status results_path(const char *dir, char *path, size_t size, ar_err *err) {
    if (dir[0] == '\0') return ar_fail(err, AR_EUSAGE, "--output: the directory's name is empty");
    if (snprintf(path, size, "%s/results.csv", dir) >= (int)size)
        return ar_fail(err, AR_EUSAGE, "%s: the path is too long", dir);
    return AR_OK;
}

/* mkdir -p */
static ar_status make_directory(const char *dir, ar_err *err) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path)
        return ar_fail(err, AR_EUSAGE, "%s: the path is too long", dir);
    for (char *slash = path;; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash) *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return ar_fail(err, AR_ERUN, "%s: cannot make the directory: %s", path,
                           strerror(errno));
        if (!slash) return AR_OK;
    }
}

/* An existing file must have our columns. */
static ar_status check_header(const char *path, ar_err *err) {
    char *ours = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&ours, &size);
    if (!memory) return ar_fail(err, AR_ERUN, "out of memory");
    write_header(memory);
    fclose(memory);
    struct stat about; /* /dev/full has no end */
    const bool regular = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    FILE *in = regular ? fopen(path, "r") : NULL;
    char *theirs = NULL;
    size_t room = 0;
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

ar_status ar_row_prepare(const char *dir, ar_err *err) {
    char path[4096];
    ar_status status = results_path(dir, path, sizeof path, err);
    if (status == AR_OK) status = make_directory(dir, err);
    if (status != AR_OK) return status;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (fd < 0) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    close(fd);
    return check_header(path, err);
}

ar_status ar_row_append(const char *dir, const ar_point *point, const ar_result *result,
                        ar_err *err) {
    char path[4096];
    ar_status status = ar_row_prepare(dir, err);
    if (status == AR_OK) status = results_path(dir, path, sizeof path, err);
    if (status != AR_OK) return status;
    FILE *out = fopen(path, "a");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    struct stat before = {0};
    if (fstat(fileno(out), &before) == 0 && before.st_size == 0) write_header(out);
    write_row(out, point, result);
    const bool written = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0;
    const int why = errno;
    if (fclose(out) == 0 && written) return AR_OK;
    /* half a row would spoil those before and behind it */
    const bool whole = !S_ISREG(before.st_mode) || truncate(path, before.st_size) == 0;
    return ar_fail(err, AR_ERUN, "%s: the row could not be written: %s%s", path, strerror(why),
                   whole ? "" : "; the last line is incomplete");
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
