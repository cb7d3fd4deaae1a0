/* Results: the exchange file and results.csv, mostly where a disk or a user gets in the
 * way. Rows that are measured must stay readable. */

#define _XOPEN_SOURCE 700 /* mkdtemp, setitimer */

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csv.h"
#include "points.h"
#include "result.h"

static char base[] = "/tmp/test_result.XXXXXX";

/* base/name */
static const char *in(const char *name) {
    static char path[4][256];
    static unsigned turn;
    char *here = path[turn++ % 4];
    snprintf(here, sizeof path[0], "%s/%s", base, name);
    return here;
}

static void write_file(const char *path, const char *text) {
    FILE *out = fopen(path, "w");
    if (!out) abort();
    fputs(text, out);
    fclose(out);
}

static ar_result result_of(double step_s, const char *reason) {
    ar_result result;
    ar_result_init(&result);
    result.step_s = step_s;
    if (*reason) ar_result_fail(&result, reason);
    return result;
}

static int differences(const ar_result *a, const ar_result *b) {
    int count = 0;
    for (size_t i = 0; i < ar_result_fields.count; i++) {
        const ar_field *field = &ar_result_fields.field[i];
        const char *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
        const bool same =
            field->type == AR_FIELD_TEXT ? strcmp(x, y) == 0 : memcmp(x, y, sizeof(double)) == 0;
        if (!same && !count++) printf("# %s differs\n", field->name);
    }
    return count;
}

/* ---- the exchange file ---- */

static void test_exchange(tap *tap_now) {
    ar_result result, back;
    ar_err err = {""};
    ar_result_init(&result);
    OK(isnan(result.step_s) && isnan(result.layer_flop) && strcmp(result.status, "ok") == 0,
       "nothing is measured at first");
    OK(ar_result_write(&result, in("result.ini"), &err) == AR_OK &&
           ar_result_read(in("result.ini"), &back, &err) == AR_OK &&
           differences(&result, &back) == 0,
       "an empty result, written and read");
    uint64_t state = 29;
    int failed = 0;
    for (int k = 0; k < 100; k++) {
        ar_result_init(&result);
        for (size_t i = 0; i < ar_result_fields.count; i++) {
            const ar_field *field = &ar_result_fields.field[i];
            char *place = (char *)&result + field->offset;
            const double value =
                ldexp((double)dice(&state, 1 << 30) / 3 - 1e8, (int)dice(&state, 200) - 100);
            if (field->type == AR_FIELD_QUANTITY && dice(&state, 4))
                memcpy(place, &value, sizeof value);
            if (field->type == AR_FIELD_TEXT)
                snprintf(place, AR_TEXT_MAX, "%s", k % 2 ? "a, \"b\" = [c] # d" : "x");
        }
        failed += ar_result_write(&result, in("result.ini"), &err) != AR_OK ||
                  ar_result_read(in("result.ini"), &back, &err) != AR_OK ||
                  differences(&result, &back) != 0;
    }
    OK(failed == 0, "100 results at random, to the last bit");
    OK(access(in("result.ini.part"), F_OK) != 0, "no half file is left");

    result = result_of(INFINITY, "");
    OK(ar_result_write(&result, in("result.ini"), &err) == AR_OK &&
           ar_result_read(in("result.ini"), &back, &err) == AR_OK && !isfinite(back.step_s),
       "an infinite number does not make the file unreadable");
    result = result_of(1, "a line\nand\tanother; with \x7f");
    OK(ar_result_write(&result, in("result.ini"), &err) == AR_OK &&
           ar_result_read(in("result.ini"), &back, &err) == AR_OK &&
           strcmp(back.status, "failed") == 0 &&
           strncmp(back.reason, "a line and another", 18) == 0,
       "a reason of several lines is read as one");
    ar_result_fail(&result, "later");
    OK(strncmp(result.reason, "a line", 6) == 0, "the first reason stays");

    back.step_s = 7;
    write_file(in("result.ini"), "[result]\nstep_s = 1\nnothing = 2\n");
    OK(ar_result_read(in("result.ini"), &back, &err) == AR_EINPUT && has(err.text, ":3: unknown") &&
           back.step_s == 7,
       "an unknown key is refused; nothing is set");
    OK(ar_result_read(in("absent.ini"), &back, &err) == AR_EINPUT, "no file");
    OK(ar_result_write(&result, in("absent/result.ini"), &err) == AR_ERUN &&
           has(err.text, "absent/result.ini"),
       "nowhere to write");
}

/* ---- rows ---- */

static ar_status append(const char *dir, double step_s, const char *reason, ar_err *err) {
    const ar_point point = point_of(8, 1, 2, 2, 1, 1);
    const ar_result result = result_of(step_s, reason);
    err->text[0] = '\0';
    return ar_row_append(dir, &point, &result, err);
}

/* Rows of the file, or -1 where it does not parse; step_s of the last. */
static long rows_of(const char *path, double *step_s) {
    ar_csv csv;
    ar_err err;
    if (ar_csv_read(path, &csv, &err) != AR_OK) {
        printf("# %s\n", err.text);
        return -1;
    }
    const long rows = (long)csv.rows;
    *step_s = ar_csv_number(&csv, csv.rows - 1, "step_s");
    ar_csv_free(&csv);
    return rows;
}

static void test_rows(tap *tap_now) {
    ar_err err;
    ar_csv csv = {0};
    OK(append(in("new/deep/dir"), 1.5, "", &err) == AR_OK, "directories are made");
    OK(append(in("new/deep/dir/"), 2.5, "why, \"so\"\nand so", &err) == AR_OK, "a second row");
    OK(ar_csv_read(in("new/deep/dir/results.csv"), &csv, &err) == AR_OK && csv.rows == 2 &&
           csv.columns == ar_point_fields.count + ar_result_fields.count,
       "a header once, a column for every field");
    OK(ar_csv_number(&csv, 0, "step_s") == 1.5 && ar_csv_number(&csv, 1, "step_s") == 2.5 &&
           ar_csv_number(&csv, 0, "stages") == 2 &&
           strcmp(ar_csv_get(&csv, 0, "cache"), "own") == 0 &&
           strcmp(ar_csv_get(&csv, 0, "status"), "ok") == 0,
       "values");
    OK(strcmp(ar_csv_get(&csv, 1, "status"), "failed") == 0 &&
           strcmp(ar_csv_get(&csv, 1, "reason"), "why, \"so\" and so") == 0,
       "a failed point is a row with its reason");
    OK(csv.rows == 2 && !*ar_csv_get(&csv, 0, "bound_s") && ar_csv_column(&csv, "bound_s") > 0,
       "not measured: an empty cell");
    ar_csv_free(&csv);
}

static void test_other_columns(tap *tap_now) {
    ar_err err;
    double step_s;
    mkdir(in("other"), 0777);
    write_file(in("other/results.csv"), "step_s,cache\n1,own\n");
    OK(ar_row_prepare(in("other"), &err) == AR_EINPUT && has(err.text, "other columns"),
       "another version's columns are refused beforehand");
    OK(append(in("other"), 1, "", &err) == AR_EINPUT &&
           rows_of(in("other/results.csv"), &step_s) == 1,
       "and the file is left as it is");
}

static void test_unwritable(tap *tap_now) {
    ar_err err;
    write_file(in("file"), "");
    OK(append(in("file"), 1, "", &err) == AR_ERUN && has(err.text, "Not a directory"),
       "the directory is a file");
    OK(append(in("file/below"), 1, "", &err) == AR_ERUN && has(err.text, "cannot make"),
       "or lies below one");
    mkdir(in("taken"), 0777);
    mkdir(in("taken/results.csv"), 0777);
    OK(ar_row_prepare(in("taken"), &err) == AR_ERUN && has(err.text, "Is a directory"),
       "results.csv is a directory");
    OK(append("/proc/attnres", 1, "", &err) == AR_ERUN && has(err.text, "/proc/attnres"),
       "where nothing can be made");
    OK(append("", 1, "", &err) != AR_OK && err.text[0], "no name at all");
}

/* Run in a child of at most `cpu` ms, with files of at most `size` bytes; its exit code:
 * the status, 100 if it has no message, -1 if it was killed. */
static int append_in_child(const char *dir, long cpu, rlim_t size) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        ar_err err;
        const struct itimerval limit = {.it_value = {.tv_usec = cpu * 1000}};
        const struct rlimit small = {size, size};
        signal(SIGXFSZ, SIG_IGN); /* so that a write fails */
        setitimer(ITIMER_PROF, &limit, NULL);
        if (size != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(101);
        const ar_status status = append(dir, 3, "", &err);
        _exit(status == AR_OK || err.text[0] ? (int)status : 100);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_full(tap *tap_now) {
    ar_err err;
    double step_s = 0;
    mkdir(in("full"), 0777);
    if (symlink("/dev/full", in("full/results.csv")) != 0) abort();
    OK(append_in_child(in("full"), 200, RLIM_INFINITY) == AR_ERUN, "a full device is reported");

    OK(append(in("quota"), 1, "", &err) == AR_OK && append(in("quota"), 2, "", &err) == AR_OK,
       "two rows");
    struct stat about;
    if (stat(in("quota/results.csv"), &about) != 0) abort();
    OK(append_in_child(in("quota"), 900, (rlim_t)about.st_size + 40) == AR_ERUN,
       "the disk is full in the middle of a row: reported");
    OK(rows_of(in("quota/results.csv"), &step_s) == 2 && step_s == 2,
       "the rows already there stay readable");
    OK(append(in("quota"), 4, "", &err) == AR_OK &&
           rows_of(in("quota/results.csv"), &step_s) == 3 && step_s == 4,
       "and with room again the next row is one");
}

static void test_timeline(tap *tap_now) {
    char name[64];
    ar_err err;
    mkdir(in("times"), 0777);
    OK(ar_timeline_name(in("times"), name, sizeof name, &err) == AR_OK &&
           strcmp(name, "timeline-1.csv") == 0,
       "the first timeline");
    write_file(in("times/timeline-1.csv"), "");
    write_file(in("times/timeline-3.csv"), "");
    OK(ar_timeline_name(in("times"), name, sizeof name, &err) == AR_OK &&
           strcmp(name, "timeline-2.csv") == 0,
       "a name that no file has");
}

static void test_provenance(tap *tap_now) {
    ar_result result;
    ar_result_init(&result);
    ar_result_provenance(&result);
    OK(result.version[0] && result.commit[0] && has(result.machine, "cores") &&
           strlen(result.date) == strlen("2026-01-01T00:00:00Z") && result.date[10] == 'T',
       "version, commit, machine, date");
}

int main(void) {
    TAP_START;
    if (!mkdtemp(base)) return 1;
    test_exchange(tap_now);
    test_rows(tap_now);
    test_other_columns(tap_now);
    test_unwritable(tap_now);
    test_full(tap_now);
    test_timeline(tap_now);
    test_provenance(tap_now);
    const char *const remove[] = {"rm", "-r", base, NULL};
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) execvp("rm", (char *const *)remove);
    if (child > 0) waitpid(child, NULL, 0);
    return DONE();
}
