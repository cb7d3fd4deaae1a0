#include "arguments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "edits.h"
#include "ini.h"

static size_t fewest_edits(const ar_fields *fields, const char *name) {
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < fields->count; i++) {
        const size_t edits = ar_edits(name, fields->field[i].name);
        if (edits < fewest) fewest = edits;
    }
    return fewest;
}

/* Set one option; a name of neither table is refused with the nearest one. */
static ar_status set_option(const ar_arguments *arguments, uint64_t *own_set, const char *name,
                            const char *value, ar_err *err) {
    char where[128];
    snprintf(where, sizeof where, "--%.100s", name);
    const int own = arguments->own ? ar_fields_find(arguments->own, name) : -1;
    if (own >= 0) {
        if (*own_set >> own & 1) return ar_fail(err, AR_EUSAGE, "%s is given twice", where);
        *own_set |= (uint64_t)1 << own;
        return ar_field_set(&arguments->own->field[own], arguments->object, value, where, AR_EUSAGE,
                            err);
    }
    const bool known = arguments->point && ar_fields_find(&ar_point_fields, name) >= 0;
    if (known) return ar_point_set(arguments->point, name, value, where, err);
    const bool ours = !arguments->point ||
                      (arguments->own &&
                       fewest_edits(arguments->own, name) <= fewest_edits(&ar_point_fields, name));
    return ar_fields_unknown(ours ? arguments->own : &ar_point_fields, name, where, AR_EUSAGE, err);
}

static bool is_flag(const char *argument, const char *brief, const char *full) {
    return strcmp(argument, brief) == 0 || strcmp(argument, full) == 0;
}

ar_status ar_arguments_read(const ar_arguments *arguments, int argc, char **argv, int words,
                            int *help, ar_err *err) {
    uint64_t own_set = 0;
    int found = 0;
    for (int i = 1; i < argc; i++) {
        char name[128];
        char *argument = argv[i];
        if (is_flag(argument, "-h", "--help")) {
            *help = 1;
            continue;
        }
        if (argument[0] != '-' || argument[1] == '\0') {
            if (found == words)
                return ar_fail(err, AR_EUSAGE, "'%s' is not an option; see --help", argument);
            argv[1 + found++] = argument;
            continue;
        }
        if (strcmp(argument, "-o") == 0) argument = "--output";
        if (strncmp(argument, "--", 2) != 0)
            return ar_fail(err, AR_EUSAGE, "'%s' is not an option; see --help", argument);
        const char *equals = strchr(argument, '=');
        const size_t length = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
        snprintf(name, sizeof name, "%.*s", (int)(length < 120 ? length : 120), argument + 2);
        if (!equals && i + 1 == argc)
            return ar_fail(err, AR_EUSAGE, "--%s: its value is missing", name);
        const ar_status status =
            set_option(arguments, &own_set, name, equals ? equals + 1 : argv[++i], err);
        if (status != AR_OK) return status;
    }
    if (argc > 0) argv[1 + found] = NULL;
    return AR_OK;
}

/* ---- files ---- */

typedef struct {
    ar_point *point;
    uint64_t options; /* set before the file was read */
    const char *path;
} file_reader;

static ar_status set_key(void *user, const char *key, const char *value, int line, ar_err *err) {
    const file_reader *reader = user;
    char where[AR_TEXT_MAX];
    const int i = ar_fields_find(&ar_point_fields, key);
    snprintf(where, sizeof where, "%s:%d%s%s", reader->path, line, i < 0 ? "" : ": ",
             i < 0 ? "" : key);
    if (i >= 0 && reader->options >> i & 1) return AR_OK;
    return ar_point_set(reader->point, key, value, where, err);
}

ar_status ar_point_read(ar_point *point, const char *path, ar_err *err) {
    file_reader reader = {point, point->set, path};
    point->bad = AR_EINPUT;
    return ar_ini_each(path, "point", set_key, &reader, err);
}

/* Does an INI file give the text back as it is? */
static bool plain(const char *text) {
    const size_t length = strlen(text);
    return length == 0 ||
           (text[0] != ' ' && text[0] != ';' && text[length - 1] != ' ' && !strstr(text, " ;"));
}

ar_status ar_point_write(const ar_point *point, const char *path, ar_err *err) {
    char text[AR_TEXT_MAX];
    FILE *out = fopen(path, "w");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    fprintf(out, "[point]\n");
    for (size_t i = 0; i < ar_point_fields.count; i++) {
        ar_field_format(&ar_point_fields.field[i], point, text, sizeof text);
        if (!plain(text)) {
            fclose(out);
            return ar_fail(err, AR_EUSAGE,
                           "%s = '%s': a text in a file has no blank at its ends, no ';' at its "
                           "start or behind a blank",
                           ar_point_fields.field[i].name, text);
        }
        fprintf(out, "%s = %s\n", ar_point_fields.field[i].name, text);
    }
    const bool written = !ferror(out);
    if (fclose(out) != 0 || !written)
        return ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    return AR_OK;
}
