#include "ini.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *name;
    int line;
} seen_key;

typedef struct {
    const char *path, *section;
    ar_status (*each)(void *, const char *, const char *, int, ar_err *);
    void *user;
    ar_err *err;
    FILE *file;
    int line;
    bool inside; /* the section has begun */
    seen_key *seen;
    size_t seen_count;
} reader;

/* Next line into text, without indentation, comment and trailing blanks. *more is
 * false at the end of the file. */
static ar_status read_line(reader *r, char text[AR_INI_LINE], bool *more) {
    size_t length = 0;
    bool comment = false;
    int last = ' ', c = getc(r->file);
    *more = c != EOF;
    r->line++;
    for (; c != EOF && c != '\n'; c = getc(r->file)) {
        const bool blank = c == ' ' || c == '\t' || c == '\r';
        if (c == '\0')
            return ar_fail(r->err, AR_EINPUT, "%s:%d: not a text file", r->path, r->line);
        comment |= (c == ';' && last == ' ') || (c == '#' && length == 0);
        last = blank ? ' ' : c;
        if (comment || (blank && length == 0)) continue;
        if (length + 1 == AR_INI_LINE)
            return ar_fail(r->err, AR_EINPUT, "%s:%d: line too long; legal: up to %d bytes",
                           r->path, r->line, AR_INI_LINE - 1);
        text[length++] = (char)c;
    }
    if (ferror(r->file))
        return ar_fail(r->err, AR_EINPUT, "%s: cannot be read: %s", r->path, strerror(errno));
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    text[length] = '\0';
    return AR_OK;
}

static bool same_name(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return false;
    return *a == *b;
}

/* Remember the key, or fail when it was there before. */
static ar_status note_key(reader *r, const char *name) {
    for (size_t i = 0; i < r->seen_count; i++)
        if (same_name(r->seen[i].name, name))
            return ar_fail(r->err, AR_EINPUT, "%s:%d: duplicate key '%s'; it is in line %d too",
                           r->path, r->line, name, r->seen[i].line);
    seen_key *grown = realloc(r->seen, (r->seen_count + 1) * sizeof *grown);
    if (grown) r->seen = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (!copy) return ar_fail(r->err, AR_ERUN, "%s: out of memory", r->path);
    r->seen[r->seen_count++] = (seen_key){copy, r->line};
    return AR_OK;
}

static ar_status take_section(reader *r, char *text) {
    const size_t length = strlen(text);
    if (text[length - 1] != ']')
        return ar_fail(r->err, AR_EINPUT, "%s:%d: %.100s: section lacks its ']'", r->path, r->line,
                       text);
    text[length - 1] = '\0';
    if (strcmp(text + 1, r->section) != 0)
        return ar_fail(r->err, AR_EINPUT, "%s:%d: unknown section [%.100s]; legal: [%s]", r->path,
                       r->line, text + 1, r->section);
    r->inside = true;
    return AR_OK;
}

static ar_status take_key(reader *r, char *text) {
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return ar_fail(r->err, AR_EINPUT, "%s:%d: %.100s: neither a [section] nor a key = value",
                       r->path, r->line, text);
    if (!r->inside)
        return ar_fail(r->err, AR_EINPUT, "%s:%d: %.100s: stands before the section [%s]", r->path,
                       r->line, text, r->section);
    const char *value = equals + 1 + strspn(equals + 1, " \t");
    while (strchr(" \t", equals[-1]))
        equals--;
    *equals = '\0';
    const ar_status status = note_key(r, text);
    return status == AR_OK ? r->each(r->user, text, value, r->line, r->err) : status;
}

static ar_status read_all(reader *r) {
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a file with it */
    char line[AR_INI_LINE];
    for (bool more = true; more;) {
        ar_status status = read_line(r, line, &more);
        if (status != AR_OK) return status;
        char *text = line;
        if (r->line == 1 && strncmp(text, mark, 3) == 0) text += 3;
        if (*text == '[')
            status = take_section(r, text);
        else if (*text && *text != ';' && *text != '#')
            status = take_key(r, text);
        if (status != AR_OK) return status;
    }
    return AR_OK;
}

ar_status ar_ini_each(const char *path, const char *section,
                      ar_status (*each)(void *user, const char *key, const char *value, int line,
                                        ar_err *err),
                      void *user, ar_err *err) {
    reader r = {.path = path, .section = section, .each = each, .user = user, .err = err};
    r.file = fopen(path, "r");
    if (!r.file) return ar_fail(err, AR_EINPUT, "%s: cannot be opened: %s", path, strerror(errno));
    const ar_status status = read_all(&r);
    fclose(r.file);
    for (size_t i = 0; i < r.seen_count; i++)
        free(r.seen[i].name);
    free(r.seen);
    return status;
}
