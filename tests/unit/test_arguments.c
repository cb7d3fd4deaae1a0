/* Options and files of a point: what is written is read back the same, and an option
 * beats the file. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "points.h"

static char file_path[] = "/tmp/test_arguments.XXXXXX";

static void write_file(const char *text) {
    FILE *out = fopen(file_path, "w");
    if (!out) abort();
    fputs(text, out);
    fclose(out);
}

/* ---- fields to text and back ---- */

/* A legal value: an end of the range now and then, any order of magnitude else. */
static void set_at_random(const ar_field *field, ar_point *point, uint64_t *state) {
    char *place = (char *)point + field->offset;
    const double share = (double)dice(state, 1000001) * 1e-6;
    const double low = field->min > 1e-9 ? field->min : 1e-9;
    const double value = dice(state, 8)   ? low * pow(field->max / low, share)
                         : dice(state, 2) ? field->min
                                          : field->max;
    const int64_t count = (int64_t)(value > field->min ? value : field->min);
    int choices = 0;
    switch (field->type) {
    case AR_FIELD_COUNT:
        memcpy(place, &count, sizeof count);
        return;
    case AR_FIELD_QUANTITY:
        memcpy(place, &value, sizeof value);
        return;
    case AR_FIELD_CHOICE:
        while (field->choices[choices])
            choices++;
        choices = (int)dice(state, choices);
        memcpy(place, &choices, sizeof choices);
        return;
    case AR_FIELD_TEXT: {
        const int64_t length = dice(state, 8) ? 1 + dice(state, 40) : AR_TEXT_MAX - 1;
        memset(place, 0, AR_TEXT_MAX);
        for (int64_t i = 0; i < length; i++)
            place[i] = (char)('!' + dice(state, '~' - '!'));
        if (place[0] == ';') place[0] = '/'; /* see test_comment */
        return;
    }
    }
}

static size_t size_of(const ar_field *field, const ar_point *point) {
    switch (field->type) {
    case AR_FIELD_COUNT:
        return sizeof(int64_t);
    case AR_FIELD_QUANTITY:
        return sizeof(double);
    case AR_FIELD_CHOICE:
        return sizeof(int);
    default:
        return strlen((const char *)point + field->offset) + 1;
    }
}

/* Fields that differ. */
static int differences(const ar_point *a, const ar_point *b) {
    int count = 0;
    for (size_t i = 0; i < ar_point_fields.count; i++) {
        const ar_field *field = &ar_point_fields.field[i];
        const bool same = memcmp((const char *)a + field->offset, (const char *)b + field->offset,
                                 size_of(field, a)) == 0;
        if (!same && !count++) printf("# %s differs\n", field->name);
    }
    return count;
}

static void test_fields(tap *tap_now) {
    uint64_t state = 19;
    for (size_t i = 0; i < ar_point_fields.count; i++) {
        const ar_field *field = &ar_point_fields.field[i];
        int refused = 0, others = 0;
        for (int k = 0; k < 200; k++) {
            ar_point point, back;
            ar_err err = {""};
            char text[AR_TEXT_MAX];
            ar_point_init(&point);
            ar_point_init(&back);
            set_at_random(field, &point, &state);
            ar_field_format(field, &point, text, sizeof text);
            if (ar_point_set(&back, field->name, text, "--here", &err) != AR_OK && !refused++)
                printf("# %s\n", err.text);
            others += differences(&point, &back) != 0;
        }
        OK(refused == 0 && others == 0, "%s: 200 values to text and back", field->name);
    }
}

static void test_files(tap *tap_now) {
    uint64_t state = 23;
    int unwritten = 0, unread = 0, others = 0, partly = 0;
    for (int k = 0; k < 100; k++) {
        ar_point point, back;
        ar_err err = {""};
        ar_point_init(&point);
        ar_point_init(&back);
        for (size_t i = 0; i < ar_point_fields.count; i++)
            set_at_random(&ar_point_fields.field[i], &point, &state);
        unwritten += ar_point_write(&point, file_path, &err) != AR_OK;
        if (ar_point_read(&back, file_path, &err) != AR_OK && !unread++) printf("# %s\n", err.text);
        others += differences(&point, &back) != 0;
        for (size_t i = 0; i < ar_point_fields.count; i++) /* an empty text is not written */
            partly +=
                !(back.set >> i & 1) && (ar_point_fields.field[i].type != AR_FIELD_TEXT ||
                                         ((const char *)&point)[ar_point_fields.field[i].offset]);
    }
    OK(unwritten == 0 && unread == 0, "100 points are written and read");
    OK(others == 0 && partly == 0, "every field is the same, and counts as given");
    ar_point empty, back;
    ar_err err;
    ar_point_init(&empty);
    ar_point_init(&back);
    empty.layers = empty.width = empty.block = 1;
    empty.device[0] = empty.platform[0] = '\0';
    OK(ar_point_write(&empty, file_path, &err) == AR_OK &&
           ar_point_read(&back, file_path, &err) == AR_OK && differences(&empty, &back) == 0,
       "a text that is empty, and has another default, stays empty");
}

/* A file's values cannot hold some texts: they are refused, or come back the same. */
static void test_comment(tap *tap_now) {
    static const char *const texts[] = {"runs ;old/hosts", ";hosts", " hosts", "hosts ",
                                        "#hosts",          "a=b",    "[point]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ar_point point, back;
        ar_err err = {""};
        ar_point_init(&point);
        ar_point_init(&back);
        point.layers = point.width = point.block = 1;
        snprintf(point.hosts, sizeof point.hosts, "%s", texts[i]);
        OK(ar_point_write(&point, file_path, &err) != AR_OK ||
               (ar_point_read(&back, file_path, &err) == AR_OK && differences(&point, &back) == 0),
           "hosts = '%s' is the same in a file, or is refused", texts[i]);
    }
}

static void test_unwritable(tap *tap_now) {
    ar_point point;
    ar_err err = {""};
    ar_point_init(&point);
    OK(ar_point_write(&point, "/no/such/dir/point.ini", &err) == AR_ERUN &&
           has(err.text, "/no/such/dir/point.ini"),
       "no directory to write to");
    OK(ar_point_write(&point, "/dev/full", &err) == AR_ERUN && has(err.text, "No space left"),
       "a full disk");
}

static void test_precedence(tap *tap_now) {
    ar_point point;
    ar_err err = {""};
    ar_point_init(&point);
    write_file("[point]\nstages = 2\nhost-stride = 3\ncache = none\n");
    OK(ar_point_set(&point, "stages", "16", "--stages", &err) == AR_OK &&
           ar_point_read(&point, file_path, &err) == AR_OK && point.stages == 16 &&
           point.host_stride == 3 && point.cache == AR_CACHE_NONE,
       "an option that was given beats the file");
    OK(point.bad == AR_EINPUT, "what is wrong from here on is the file's");
}

/* ---- a command's line ---- */

typedef struct {
    char format[AR_TEXT_MAX], output[AR_TEXT_MAX];
} command;

static const ar_field command_field[] = {
    {.name = "format", .type = AR_FIELD_TEXT, .offset = offsetof(command, format), .fallback = ""},
    {.name = "output", .type = AR_FIELD_TEXT, .offset = offsetof(command, output), .fallback = ""}};
static const ar_fields command_fields = {command_field, 2, "command"};

/* Read up to six words behind the command's name; words[] is changed as argv is. */
static ar_status read_line(char *words[8], int legal_words, command *own, ar_point *point,
                           int *help, ar_err *err) {
    const ar_arguments arguments = {&command_fields, own, point};
    int argc = 0;
    while (words[argc])
        argc++;
    *own = (command){"", ""};
    *help = 0;
    err->text[0] = '\0';
    ar_point_init(point);
    return ar_arguments_read(&arguments, argc, words, legal_words, help, err);
}

#define LINE(...)                                                                                  \
    (char *[8]) {                                                                                  \
        "attnres", __VA_ARGS__                                                                     \
    }

static void test_lines(tap *tap_now) {
    ar_point p;
    command own;
    ar_err err;
    int help;
    OK(read_line(LINE("--stages=2", "-o", "there", "--split", "1,2"), 0, &own, &p, &help, &err) ==
               AR_OK &&
           p.stages == 2 && strcmp(own.output, "there") == 0 && strcmp(p.split, "1,2") == 0 &&
           !help,
       "--name=value, -o DIR, --name value");
    OK(read_line(LINE("--hosts", "a=b", "--host-stride", "4"), 0, &own, &p, &help, &err) == AR_OK &&
           strcmp(p.hosts, "a=b") == 0 && p.host_stride == 4,
       "'=' in a value, '-' for '_'");
    OK(read_line(LINE("-h"), 0, &own, &p, &help, &err) == AR_OK && help, "-h");
    OK(read_line(LINE("--stages", "2", "--help"), 0, &own, &p, &help, &err) == AR_OK && help,
       "--help behind other options");
    char **words = LINE("first", "--stages", "2", "second", "--tokens", "8");
    OK(read_line(words, 2, &own, &p, &help, &err) == AR_OK && strcmp(words[1], "first") == 0 &&
           strcmp(words[2], "second") == 0 && !words[3] && p.stages == 2 && p.tokens == 8,
       "words stay, in front");
    OK(read_line(LINE("one", "two"), 1, &own, &p, &help, &err) == AR_EUSAGE &&
           has(err.text, "'two'"),
       "one word too many");
    OK(read_line(LINE("--stages"), 0, &own, &p, &help, &err) == AR_EUSAGE &&
           has(err.text, "--stages: its value is missing"),
       "no value");
    OK(read_line(LINE("--stages", "-1"), 0, &own, &p, &help, &err) == AR_EUSAGE &&
           has(err.text, "--stages -1: legal: 1 to 65536"),
       "a negative value");
    OK(read_line(LINE("-x"), 3, &own, &p, &help, &err) == AR_EUSAGE && has(err.text, "'-x'"),
       "a short option that is none");
    OK(read_line(LINE("--format", "csv", "--format=csv"), 0, &own, &p, &help, &err) == AR_EUSAGE &&
           has(err.text, "--format is given twice"),
       "the command's own option twice");
    OK(read_line(LINE("--", "x"), 0, &own, &p, &help, &err) == AR_EUSAGE &&
           read_line(LINE("--=x"), 0, &own, &p, &help, &err) == AR_EUSAGE,
       "an option without a name");
    OK(read_line(LINE("--formt", "csv"), 0, &own, &p, &help, &err) == AR_EUSAGE &&
           has(err.text, "did you mean '--format'?"),
       "a misspelt option of the command itself: the nearest one of both tables");
}

int main(void) {
    TAP_START;
    const int fd = mkstemp(file_path);
    if (fd < 0) return 1;
    close(fd);
    test_fields(tap_now);
    test_files(tap_now);
    test_comment(tap_now);
    test_unwritable(tap_now);
    test_precedence(tap_now);
    test_lines(tap_now);
    unlink(file_path);
    return DONE();
}
