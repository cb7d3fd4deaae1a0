/* sim/base: INI and CSV files, mostly hostile ones. */

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csv.h"
#include "field.h"
#include "ini.h"
#include "tap.h"

/* ---- the table under test ---- */

enum { STAGES, VIRTUAL, BANDWIDTH, NOTE, FIELDS };

typedef struct {
    int64_t stages, virtual;
    double bandwidth;
    char note[AR_TEXT_MAX];
} thing;

static const ar_field table[FIELDS] = {
    [STAGES] = {.name = "stages",
                .type = AR_FIELD_COUNT,
                .offset = offsetof(thing, stages),
                .min = 1,
                .max = 65536,
                .fallback = "4"},
    [VIRTUAL] = {.name = "virtual",
                 .type = AR_FIELD_COUNT,
                 .offset = offsetof(thing, virtual),
                 .min = 1,
                 .max = 64,
                 .fallback = "1"},
    [BANDWIDTH] = {.name = "memory_bandwidth",
                   .type = AR_FIELD_QUANTITY,
                   .unit = AR_UNIT_BPS,
                   .offset = offsetof(thing, bandwidth),
                   .min = 1e6,
                   .max = 1e15,
                   .help = "of the device"},
    [NOTE] = {
        .name = "note", .type = AR_FIELD_TEXT, .offset = offsetof(thing, note), .fallback = ""}};

static const ar_fields fields = {table, FIELDS, "thing"};

/* ---- helpers ---- */

static char file_path[] = "/tmp/test_files.XXXXXX";

static void write_file(const char *text, size_t size) {
    FILE *file = fopen(file_path, "wb");
    if (!file) abort();
    fwrite(text, 1, size, file);
    fclose(file);
}

/* The message for an INI file, behind the file's name. */
static const char *ini_message(const char *text) {
    static ar_err err;
    thing t = {0};
    err.text[0] = '\0';
    write_file(text, strlen(text));
    const ar_status status = ar_fields_read(&fields, file_path, &t, NULL, &err);
    return status == AR_OK ? "" : err.text + strlen(file_path);
}

static bool begins(const char *text, const char *with) {
    const bool yes = strncmp(text, with, strlen(with)) == 0;
    if (!yes) printf("# got: %s\n", text);
    return yes;
}

/* ---- tests ---- */

static ar_status stop_at_b(void *user, const char *key, const char *value, int line, ar_err *err) {
    (void)value;
    *(int *)user = line;
    return strcmp(key, "b") == 0 ? ar_fail(err, AR_ECHECK, "b") : AR_OK;
}

static void test_ini(tap *tap_now) {
    OK(!*ini_message("\xef\xbb\xbf# c\n[thing]\nmemory_bandwidth = 4.8 TB/s ; source\n"), "good");
    OK(!*ini_message("[thing]\r\n\tmemory-bandwidth=4.8 TB/s\r\n   stages = 8\r\n  # no\r\n"),
       "CRLF, indented keys");
    OK(!*ini_message("[thing]\nmemory_bandwidth = 1 GB/s\n[thing]\nnote ="), "empty text, no LF");
    thing t = {0};
    uint64_t set = 0;
    ar_err err;
    const char good[] = "[thing]\nmemory_bandwidth = 1 GB/s\nnote = a;b # c ;d\nstages = 2";
    write_file(good, sizeof good - 1);
    OK(ar_fields_read(&fields, file_path, &t, &set, &err) == AR_OK &&
           set == (1u << BANDWIDTH | 1u << NOTE | 1u << STAGES) && t.stages == 2,
       "bits of the fields read");
    OK(strcmp(t.note, "a;b # c") == 0, "a comment needs a space before");
    char comment[3000];
    snprintf(comment, sizeof comment, "[thing]\nmemory_bandwidth = 1 GB/s ; %02000d\nstages = 0",
             0);
    OK(begins(ini_message(comment), ":3: stages = 0: legal: 1 to 65536"), "long comment");
    snprintf(comment, sizeof comment, "[thing]\nmemory_bandwidth=1 B/s\nnote = %0511d\n", 0);
    OK(begins(ini_message(comment), ":2: memory_bandwidth = 1 B/s: legal: 1 MB/s to 1000 TB/s"),
       "below the range");
    snprintf(comment, sizeof comment, "[thing]\nmemory_bandwidth=1 GB/s\nnote = %0511d\n", 0);
    OK(!*ini_message(comment), "the longest text fits a line");
    snprintf(comment, sizeof comment, "[thing]\n\nnote = %02000d\n", 0);
    OK(begins(ini_message(comment), ":3: line too long; legal: up to "), "long line");
    OK(begins(ini_message("[thing]\n\n# c\nmemory_bandwidth = 4.8\n"),
              ":4: memory_bandwidth = 4.8: missing unit; expected e.g. \"4.8 TB/s\""),
       "value");
    OK(begins(ini_message("[thing]\nvitual = 1\n"), ":2: unknown key 'vitual'; did you mean "),
       "unknown key");
    OK(begins(ini_message("[thing]\nstages = 1\n\nstages = 1\n"),
              ":4: duplicate key 'stages'; it is in line 2 too"),
       "duplicate");
    OK(begins(ini_message("[thing]\nmemory-bandwidth = 1 GB/s\nmemory_bandwidth = 1 GB/s\n"),
              ":3: duplicate key 'memory_bandwidth'; it is in line 2 too"),
       "duplicate, spelled otherwise");
    OK(begins(ini_message("[think]\nstages = 1\n"), ":1: unknown section [think]; legal: [thing]"),
       "wrong section");
    OK(begins(ini_message("stages = 1\n"), ":1: stages = 1: stands before the section [thing]"),
       "no section");
    OK(begins(ini_message("[thing]\nstages\n"), ":2: stages: neither a [section] nor a key = val"),
       "no value");
    OK(begins(ini_message("[thing\nstages = 1\n"), ":1: [thing: section lacks its ']'"), "bracket");
    OK(begins(ini_message("[\n"), ":1: [: section lacks its ']'"), "only a bracket");
    OK(begins(ini_message("[thing]\n = 1\n"), ":2: = 1: neither"), "no key");
    OK(begins(ini_message("[thing]\nstages : 1\n"), ":2: stages : 1: neither"), "colon");
    OK(begins(ini_message(""), ": section [thing] lacks the key 'memory_bandwidth'"), "empty file");
    write_file("[thing]\nst\0ages = 1", 19);
    OK(ar_fields_read(&fields, file_path, &t, NULL, &err) == AR_EINPUT &&
           strstr(err.text, ":2: not a text file"),
       "NUL byte");
    OK(ar_fields_read(&fields, "/nonexistent.ini", &t, NULL, &err) == AR_EINPUT &&
           begins(err.text, "/nonexistent.ini: cannot be opened: "),
       "missing file");
    OK(ar_fields_read(&fields, "/tmp", &t, NULL, &err) == AR_EINPUT &&
           begins(err.text, "/tmp: cannot be read: "),
       "a directory");
    OK(ar_fields_read(&fields, "/dev/zero", &t, NULL, &err) == AR_EINPUT, "an endless file");
    int line = 0;
    write_file("[s]\na=1\nb=2\nc=3\n", 16);
    OK(ar_ini_each(file_path, "s", stop_at_b, &line, &err) == AR_ECHECK && line == 3 &&
           strcmp(err.text, "b") == 0,
       "each() ends the reading and its failure comes back");
}

static const char *csv_message(const char *text) {
    static ar_err err;
    ar_csv csv;
    write_file(text, strlen(text));
    if (ar_csv_read(file_path, &csv, &err) != AR_OK) return err.text + strlen(file_path);
    ar_csv_free(&csv);
    return "";
}

static void test_csv(tap *tap_now) {
    const char *const cells[] = {"a", "", "b,c", "say \"hi\"", "two\nlines", "\"", " lead", "\r"};
    const size_t n = sizeof cells / sizeof *cells;
    FILE *out = fopen(file_path, "wb");
    fprintf(out, "c0,c1,c2,c3,c4,c5,c6,c7\r\n");
    for (size_t i = 0; i < n; i++)
        ar_csv_cell(out, cells[i], i == 0);
    fprintf(out, "\n1,x,nan,inf,1e400,-2.5,,3 \n");
    fclose(out);
    ar_csv csv;
    ar_err err;
    OK(ar_csv_read(file_path, &csv, &err) == AR_OK && csv.rows == 2 && csv.columns == n, "shape");
    for (size_t i = 0; i < n; i++) {
        const char name[] = {'c', (char)('0' + i), '\0'};
        OK(strcmp(ar_csv_get(&csv, 0, name), cells[i]) == 0, "cell %zu comes back", i);
    }
    OK(ar_csv_number(&csv, 1, "c0") == 1 && ar_csv_number(&csv, 1, "c5") == -2.5, "numbers");
    bool none = true;
    const char *const no_numbers[] = {"c1", "c2", "c3", "c4", "c6", "c7", "zz"};
    for (size_t i = 0; i < 7; i++)
        none = none && isnan(ar_csv_number(&csv, 1, no_numbers[i]));
    OK(none, "what is no number is NAN");
    OK(!*ar_csv_get(&csv, 0, "zz") && !*ar_csv_get(&csv, 2, "c0"), "absent column, absent row");
    OK(ar_csv_column(&csv, "c7") == 7 && ar_csv_column(&csv, "C7") == -1, "columns");
    ar_csv_free(&csv);
    ar_csv_free(&csv);
    OK(!csv.cell, "freeing twice is harmless");

    OK(!*csv_message("a,b\n1,2\n\n3,4\n\n"), "blank lines");
    OK(!*csv_message("a,b\n1,2"), "no LF at the end");
    OK(!*csv_message("a,b\r\n1,\"2\"\r\n"), "CRLF behind quotes");
    OK(!*csv_message("a\n"), "header only");
    OK(begins(csv_message(""), ": empty, not even a header"), "empty");
    OK(begins(csv_message("a,b\n1\n"), ":2: 1 cells; the header has 2"), "short row");
    OK(begins(csv_message("a,b\n1,2\n1,2,3\n"), ":3: 3 cells; the header has 2"), "long row");
    OK(begins(csv_message("a,b\n1,2,\n"), ":2: 3 cells"), "comma at the end");
    OK(begins(csv_message("a,b\n\"x\ny\",1\n\"1,2\n"), ":4: quotes do not match"),
       "unfinished quotes, lines counted inside quotes");
    OK(begins(csv_message("a,b\n1,x\"y\n"), ":2: quotes do not match"), "quote inside a cell");
    OK(begins(csv_message("a,b\n\"1\"x,2\n"), ":2: quotes do not match"), "text behind a quote");
    OK(begins(csv_message("a,b,a\n"), ":1: duplicate column 'a'"), "duplicate column");
    write_file("a,b\n1,\0\n", 8);
    OK(ar_csv_read(file_path, &csv, &err) == AR_EINPUT && strstr(err.text, "not a text file"),
       "NUL byte");
    OK(ar_csv_read("/nonexistent.csv", &csv, &err) == AR_EINPUT, "missing file");
    OK(ar_csv_read("/tmp", &csv, &err) == AR_EINPUT, "a directory");

    out = fopen(file_path, "wb"); /* larger than one buffer and one table of cells */
    fprintf(out, "n,text\n");
    for (int i = 0; i < 20000; i++)
        fprintf(out, "%d,\"x,%d\"\n", i, i);
    fclose(out);
    OK(ar_csv_read(file_path, &csv, &err) == AR_OK && csv.rows == 20000 &&
           ar_csv_number(&csv, 19999, "n") == 19999 &&
           strcmp(ar_csv_get(&csv, 19999, "text"), "x,19999") == 0,
       "20,000 rows");
    ar_csv_free(&csv);
}

int main(void) {
    TAP_START;
    const int descriptor = mkstemp(file_path);
    if (descriptor < 0) return 1;
    close(descriptor);
    test_ini(tap_now);
    test_csv(tap_now);
    remove(file_path);
    return DONE();
}
