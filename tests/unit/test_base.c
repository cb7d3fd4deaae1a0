/* sim/base: errors, quantities, counts and field tables, mostly on hostile input. */

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "field.h"
#include "tap.h"
#include "units.h"

/* ---- the table under test ---- */

enum { STAGES, VIRTUAL, BANDWIDTH, LATENCY, FACTOR, CACHE, NOTE, FIELDS };

typedef struct {
    int64_t stages, virtual;
    double bandwidth, latency, factor;
    int cache;
    char note[AR_TEXT_MAX];
} thing;

static const char *const caches[] = {"none", "received", "own", NULL};

static const ar_field table[FIELDS] = {[STAGES] = {.name = "stages",
                                                   .type = AR_FIELD_COUNT,
                                                   .offset = offsetof(thing, stages),
                                                   .min = 1,
                                                   .max = 65536,
                                                   .fallback = "4",
                                                   .meta = "P",
                                                   .help = "ranks of the pipeline"},
                                       [VIRTUAL] = {.name = "virtual",
                                                    .type = AR_FIELD_COUNT,
                                                    .offset = offsetof(thing, virtual),
                                                    .min = 1,
                                                    .max = 64,
                                                    .fallback = "1",
                                                    .meta = "V",
                                                    .help = "chunks on each rank"},
                                       [BANDWIDTH] = {.name = "memory_bandwidth",
                                                      .type = AR_FIELD_QUANTITY,
                                                      .unit = AR_UNIT_BPS,
                                                      .offset = offsetof(thing, bandwidth),
                                                      .min = 1e6,
                                                      .max = 1e15,
                                                      .fallback = NULL,
                                                      .meta = "RATE",
                                                      .help = "of the device"},
                                       [LATENCY] = {.name = "latency",
                                                    .type = AR_FIELD_QUANTITY,
                                                    .unit = AR_UNIT_S,
                                                    .offset = offsetof(thing, latency),
                                                    .min = 0,
                                                    .max = 1,
                                                    .fallback = "2 us",
                                                    .meta = "TIME",
                                                    .help = "of a link"},
                                       [FACTOR] = {.name = "factor",
                                                   .type = AR_FIELD_QUANTITY,
                                                   .unit = AR_UNIT_NONE,
                                                   .offset = offsetof(thing, factor),
                                                   .min = 0.25,
                                                   .max = 4,
                                                   .fallback = "2",
                                                   .help = "backward over forward"},
                                       [CACHE] = {.name = "cache",
                                                  .type = AR_FIELD_CHOICE,
                                                  .offset = offsetof(thing, cache),
                                                  .choices = caches,
                                                  .fallback = "own",
                                                  .meta = "POLICY",
                                                  .help = "what a rank keeps"},
                                       [NOTE] = {.name = "note",
                                                 .type = AR_FIELD_TEXT,
                                                 .offset = offsetof(thing, note),
                                                 .fallback = "",
                                                 .meta = "TEXT",
                                                 .help = "anything"}};

static const ar_fields fields = {table, FIELDS, "thing"};

/* ---- helpers ---- */

static char file_path[] = "/tmp/test_base.XXXXXX";

static double quantity(ar_unit unit, const char *text) {
    double value = -77;
    const char *reason = "?";
    return ar_quantity_parse(unit, text, &value, &reason) ? value : NAN;
}

/* Refused, with this reason, and the value untouched. */
static bool no_quantity(ar_unit unit, const char *text, const char *wanted) {
    double value = -77;
    const char *reason = "?";
    return !ar_quantity_parse(unit, text, &value, &reason) && value == -77 &&
           strcmp(reason, wanted) == 0;
}

static int64_t count(const char *text) {
    int64_t value = -77;
    const char *reason = "?";
    return ar_count_parse(text, &value, &reason) ? value : -77;
}

static bool no_count(const char *text) {
    int64_t value = -77;
    const char *reason = NULL;
    return !ar_count_parse(text, &value, &reason) && value == -77 && reason;
}

static const char *human(ar_unit unit, double value) {
    static char text[128];
    ar_quantity_human(unit, value, text, sizeof text);
    return text;
}

/* The message for the text given to a field; "" when it is accepted. */
static const char *set_message(int index, const char *text, const char *where) {
    static ar_err err;
    thing t = {0};
    err.text[0] = '\0';
    const ar_status status = ar_field_set(&table[index], &t, text, where, AR_EUSAGE, &err);
    return status == AR_OK ? "" : err.text;
}

static bool begins(const char *text, const char *with) {
    const bool yes = strncmp(text, with, strlen(with)) == 0;
    if (!yes) printf("# got: %s\n", text);
    return yes;
}

/* ---- tests ---- */

static void test_units(tap *tap_now) {
    OK(quantity(AR_UNIT_BPS, "450 GB/s") == 450e9, "450 GB/s");
    OK(quantity(AR_UNIT_BPS, "400Gb/s") == 50e9, "bits, without a space");
    OK(quantity(AR_UNIT_BPS, "1 GiB/s") == 1073741824, "GiB/s");
    OK(quantity(AR_UNIT_S, "3 us") == 3e-6 && quantity(AR_UNIT_S, "0.7 ns") == 0.7e-9,
       "times are the nearest double");
    OK(quantity(AR_UNIT_FLOPS, "989 TFLOP/s") == 989e12, "989 TFLOP/s");
    OK(quantity(AR_UNIT_B, "1.5e3 kB") == 1.5e6, "exponent");
    OK(quantity(AR_UNIT_B, ".5 kB") == 500 && quantity(AR_UNIT_B, "5. B") == 5, "bare points");
    OK(quantity(AR_UNIT_NONE, "-2.5") == -2.5, "plain number");
    OK(no_quantity(AR_UNIT_BPS, "4.8", "missing unit"), "missing unit");
    OK(no_quantity(AR_UNIT_BPS, "4.8 ", "missing unit"), "a space is no unit");
    OK(no_quantity(AR_UNIT_BPS, "4.8 tb/s", "unknown unit"), "case matters");
    OK(no_quantity(AR_UNIT_BPS, "4.8 TB/s x", "unknown unit"), "text behind the unit");
    OK(no_quantity(AR_UNIT_BPS, "4.8 TB/s ", "unknown unit"), "space behind the unit");
    OK(no_quantity(AR_UNIT_BPS, "1 s", "unknown unit"), "another kind's unit");
    OK(no_quantity(AR_UNIT_S, "1e400 s", "number out of range"), "1e400");
    OK(no_quantity(AR_UNIT_S, "1e-400 s", "number out of range"), "1e-400");
    OK(no_quantity(AR_UNIT_BPS, "1e300 TB/s", "number out of range"), "overflow by the unit");
    OK(no_quantity(AR_UNIT_NONE, "3 ", "not a number"), "trailing space");
    OK(no_quantity(AR_UNIT_NONE, "", "empty"), "empty");
    const char *const junk[] = {"nan", "inf", "-inf", "infinity", "0x10", " 1",
                                "+-1", "e5",  ".",    "-",        "1,5",  "1.5.2",
                                "1_0", "٣",   "1e",   "\t",       "1e+ ", "0x"};
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++)
        OK(no_quantity(AR_UNIT_NONE, junk[i], "not a number"), "no number: '%s'", junk[i]);
    OK(no_quantity(AR_UNIT_S, "nan s", "not a number"), "nan with unit");

    OK(count("16 Ki") == 16384 && count("16Ki") == 16384, "16 Ki");
    OK(count("4k") == 4000 && count("2 M") == 2000000 && count("1 Gi") == 1 << 30, "suffixes");
    OK(count("0") == 0 && count("-3") == -3 && count("+3") == 3 && count("007") == 7, "signs");
    OK(count("9223372036854775807") == INT64_MAX, "largest");
    OK(count("-9223372036854775808") == INT64_MIN, "smallest");
    const char *const not_counts[] = {"",
                                      " ",
                                      "1.5",
                                      "1e3",
                                      "0x10",
                                      "k",
                                      "4 kB",
                                      "4 k k",
                                      "4 ",
                                      " 4",
                                      "nan",
                                      "9223372036854775808",
                                      "--4",
                                      "4K",
                                      "4i",
                                      "1,0",
                                      "9007199254740993 Ki",
                                      "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof not_counts / sizeof *not_counts; i++)
        OK(no_count(not_counts[i]), "no count: '%.30s'", not_counts[i]);

    OK(strcmp(human(AR_UNIT_BPS, 450e9), "450 GB/s") == 0, "450 GB/s");
    OK(strcmp(human(AR_UNIT_S, 0.00125), "1.25 ms") == 0, "1.25 ms");
    OK(strcmp(human(AR_UNIT_B, 999960), "1 MB") == 0, "rounding carries into the prefix");
    OK(strcmp(human(AR_UNIT_B, 999.4), "999 B") == 0, "and not below");
    OK(strcmp(human(AR_UNIT_S, 12345), "12300 s") == 0, "three digits above the last prefix");
    OK(strcmp(human(AR_UNIT_S, 1e-12), "0.001 ns") == 0, "below the smallest prefix");
    OK(strcmp(human(AR_UNIT_S, 0), "0 s") == 0 && strcmp(human(AR_UNIT_NONE, 0), "0") == 0, "zero");
    OK(strcmp(human(AR_UNIT_B, -2.5e9), "-2.5 GB") == 0, "negative");
    OK(strcmp(human(AR_UNIT_S, NAN), "-") == 0, "nan is never a number");
    OK(strlen(human(AR_UNIT_NONE, 1e308)) == 127, "huge, cut at the size");
    const double values[] = {
        0, 1, 450e9, 2e-6, 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 1e15 + .5, -1e-9};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[64];
        ar_quantity_format(AR_UNIT_S, values[i], text, sizeof text);
        OK(quantity(AR_UNIT_S, text) == values[i], "round trip: %s", text);
    }
    char tiny[4];
    ar_quantity_format(AR_UNIT_BPS, 450e9, tiny, sizeof tiny);
    OK(strcmp(tiny, "450") == 0, "cut at the size");
}

static void test_fields(tap *tap_now) {
    thing t;
    memset(&t, 0xff, sizeof t);
    t.bandwidth = 3;
    ar_fields_defaults(&fields, &t);
    OK(t.stages == 4 && t.virtual == 1 && t.latency == 2e-6 && t.cache == 2 && !t.note[0],
       "defaults");
    OK(t.bandwidth == 3, "a required field has none");
    OK(ar_fields_find(&fields, "memory-bandwidth") == BANDWIDTH &&
           ar_fields_find(&fields, "memory_bandwidth") == BANDWIDTH,
       "hyphen and underscore are the same");
    OK(ar_fields_find(&fields, "stage") < 0 && ar_fields_find(&fields, "stagess") < 0 &&
           ar_fields_find(&fields, "") < 0,
       "no prefixes");

    OK(begins(set_message(STAGES, "0", "--stages"), "--stages 0: legal: 1 to 65536"), "count 0");
    OK(begins(set_message(STAGES, "65537", "--stages"), "--stages 65537: legal: 1 to 65536"),
       "count above");
    OK(begins(set_message(STAGES, "x", "--stages"),
              "--stages x: not a whole number; legal: 1 to 65536"),
       "no count");
    OK(begins(set_message(STAGES, "", "--stages"), "--stages : empty; legal: 1 to 65536"), "empty");
    OK(begins(set_message(BANDWIDTH, "4.8", "d.ini:6: memory_bandwidth"),
              "d.ini:6: memory_bandwidth = 4.8: missing unit; expected e.g. \"4.8 TB/s\""),
       "missing unit");
    OK(begins(set_message(BANDWIDTH, "0 B/s", "--memory-bandwidth"),
              "--memory-bandwidth 0 B/s: legal: 1 MB/s to 1000 TB/s"),
       "bandwidth 0");
    OK(*set_message(BANDWIDTH, "-1 GB/s", "-b") && *set_message(BANDWIDTH, "nan GB/s", "-b"),
       "bandwidth negative, nan");
    OK(begins(set_message(FACTOR, "5", "--factor"), "--factor 5: legal: 0.25 to 4"), "plain");
    OK(begins(set_message(CACHE, "owned", "--cache"), "--cache owned: legal: none, received, own"),
       "choice");
    OK(*set_message(CACHE, "", "--cache") && *set_message(CACHE, "ow", "--cache"), "no prefixes");
    OK(*set_message(NOTE, "a\nb", "--note") != 0, "text is one line");

    char longest[AR_TEXT_MAX + 1];
    memset(longest, 'x', sizeof longest);
    longest[AR_TEXT_MAX] = '\0';
    OK(strlen(set_message(NOTE, longest, "--note")) < 300, "text too long, message cut");
    longest[AR_TEXT_MAX - 1] = '\0';
    OK(ar_field_set(&table[NOTE], &t, longest, "-", AR_EUSAGE, NULL) == AR_OK &&
           strcmp(t.note, longest) == 0,
       "longest text");
    const thing before = t;
    OK(ar_field_set(&table[STAGES], &t, "0", "-", AR_EINPUT, NULL) == AR_EINPUT &&
           t.stages == before.stages,
       "failure leaves the object alone; no message wanted");

    const char *const texts[FIELDS] = {"16 Ki", "64", "4.8 TB/s", "2 us", "0.3", "received", "a b"};
    for (int i = 0; i < FIELDS; i++) {
        char text[AR_TEXT_MAX];
        thing a = {0}, b = {0};
        OK(ar_field_set(&table[i], &a, texts[i], "-", AR_EUSAGE, NULL) == AR_OK, "set %s",
           table[i].name);
        ar_field_format(&table[i], &a, text, sizeof text);
        OK(ar_field_set(&table[i], &b, text, "-", AR_EUSAGE, NULL) == AR_OK &&
               memcmp(&a, &b, sizeof a) == 0,
           "round trip as '%s'", text);
    }

    ar_err err;
    OK(ar_fields_unknown(&fields, "vitual", "demo.ini:7", AR_EINPUT, &err) == AR_EINPUT &&
           begins(err.text, "demo.ini:7: unknown key 'vitual'; did you mean 'virtual'? legal: "
                            "stages, virtual, memory_bandwidth, "),
       "unknown key");
    OK(ar_fields_unknown(&fields, "--memory-bandwith", NULL, AR_EUSAGE, &err) == AR_EUSAGE &&
           begins(err.text,
                  "unknown option '--memory-bandwith'; did you mean '--memory-bandwidth'? legal: "),
       "unknown option");
    ar_fields_unknown(&fields, "zzzzzz", "", AR_EINPUT, &err);
    OK(begins(err.text, "unknown key 'zzzzzz'; legal: stages"), "no guess where none is near");
    ar_fields_unknown(&fields, longest, "x", AR_EINPUT, &err);
    OK(strlen(err.text) < sizeof err.text, "a very long name");

    FILE *out = fopen(file_path, "w+");
    ar_fields_help(&fields, out);
    char help[4096];
    rewind(out);
    help[fread(help, 1, sizeof help - 1, out)] = '\0';
    fclose(out);
    OK(strstr(help, "--stages P ") && strstr(help, "1 to 65536; default 4") &&
           strstr(help, "--memory-bandwidth RATE") && strstr(help, "required") &&
           strstr(help, "none, received, own; default own"),
       "help");
    bool narrow = true;
    for (char *line = help; *line; line += strcspn(line, "\n") + 1)
        narrow = narrow && strcspn(line, "\n") <= 88;
    OK(narrow, "help fits the terminal");
}

int main(void) {
    TAP_START;
    const int descriptor = mkstemp(file_path);
    if (descriptor < 0) return 1;
    close(descriptor);
    ar_err err;
    char text[2000];
    memset(text, 'y', sizeof text);
    text[sizeof text - 1] = '\0';
    OK(ar_fail(&err, AR_ERUN, "%s", text) == AR_ERUN && strlen(err.text) == sizeof err.text - 1,
       "a message is cut");
    OK(ar_fail(NULL, AR_EUSAGE, "x") == AR_EUSAGE, "no message wanted");
    test_units(tap_now);
    test_fields(tap_now);
    remove(file_path);
    return DONE();
}
