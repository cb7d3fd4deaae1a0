#include "hosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MAX = 1 << 20, VALUE_SIZE = 4096 };

bool ar_hosts_add(ar_hosts *hosts, const char *name) {
    const size_t bytes = strlen(name) + 1;
    if (hosts->size + bytes > hosts->room) {
        const size_t room = 2 * hosts->room + bytes + 4096;
        char *text = realloc(hosts->text, room);
        if (!text) return false;
        hosts->text = text;
        hosts->room = room;
    }
    memcpy(hosts->text + hosts->size, name, bytes);
    hosts->size += bytes;
    hosts->count++;
    return true;
}

bool ar_hosts_index(ar_hosts *hosts) {
    hosts->count = 0;
    for (size_t i = 0; i < hosts->size; i += strlen(hosts->text + i) + 1)
        hosts->count++;
    free(hosts->name);
    hosts->name = calloc(hosts->count + 1, sizeof *hosts->name);
    if (!hosts->name) return false;
    size_t n = 0;
    for (size_t i = 0; i < hosts->size; i += strlen(hosts->text + i) + 1)
        hosts->name[n++] = hosts->text + i;
    return true;
}

void ar_hosts_free(ar_hosts *hosts) {
    free(hosts->name);
    free(hosts->text);
    *hosts = (ar_hosts){0};
}

/* ---- the scan ---- */

typedef struct {
    const char *path, *begin;
    ar_hosts *hosts;
} scan;

static ar_status refuse(const scan *s, const char *at, const char *why, ar_err *err) {
    int line = 1;
    for (const char *c = s->begin; c < at; c++)
        line += *c == '\n';
    return ar_fail(err, AR_EINPUT, "%s:%d: %s", s->path, line, why);
}

/* The value of an attribute of the tag at tag (up to end); "" if it has none.
 * False: longer than VALUE_SIZE. */
static bool attribute(const char *tag, const char *end, const char *name, char *value) {
    const size_t length = strlen(name);
    value[0] = '\0';
    for (const char *c = tag; c < end;) {
        if (*c == '"' || *c == '\'') { /* another's value */
            c = memchr(c + 1, *c, (size_t)(end - c - 1));
            if (!c) return true;
            c++;
            continue;
        }
        const bool here = isspace((unsigned char)c[0]) && (size_t)(end - c) > length + 2 &&
                          strncmp(c + 1, name, length) == 0;
        const char *equals = c + 1 + length;
        while (here && equals < end && isspace((unsigned char)*equals))
            equals++;
        if (!here || equals >= end || *equals != '=') {
            c++;
            continue;
        }
        const char *open = equals + 1;
        while (open < end && isspace((unsigned char)*open))
            open++;
        if (open >= end || (*open != '"' && *open != '\'')) return true;
        const char *close = memchr(open + 1, *open, (size_t)(end - open - 1));
        if (!close) return true;
        if (close - open > VALUE_SIZE) return false;
        memcpy(value, open + 1, (size_t)(close - open - 1));
        value[close - open - 1] = '\0';
        return true;
    }
    return true;
}

/* Add prefix<n>suffix for every n of a radical such as "0-3,7". */
static ar_status add_members(const scan *s, const char *tag, const char *end, ar_err *err) {
    char prefix[VALUE_SIZE], suffix[VALUE_SIZE], radical[VALUE_SIZE], name[2 * VALUE_SIZE + 32];
    if (!attribute(tag, end, "prefix", prefix) || !attribute(tag, end, "suffix", suffix) ||
        !attribute(tag, end, "radical", radical))
        return refuse(s, tag, "attribute too long", err);
    for (char *c = radical; *c;) {
        char *after;
        errno = 0;
        const long first = strtol(c, &after, 10);
        long last = first;
        if (after == c || errno || first < 0) break;
        if (*after == '-') {
            c = after + 1;
            last = strtol(c, &after, 10);
            if (after == c || errno || last < first) break;
        }
        if (*after != ',' && *after != '\0') break;
        if (last - first >= HOSTS_MAX || s->hosts->count + (size_t)(last - first) >= HOSTS_MAX)
            return refuse(s, tag, "more than 1,048,576 hosts", err);
        for (long n = first; n <= last; n++) {
            snprintf(name, sizeof name, "%s%ld%s", prefix, n, suffix);
            if (!ar_hosts_add(s->hosts, name)) return ar_fail(err, AR_ERUN, "out of memory");
        }
        c = after + (*after == ',');
        if (!*c) return AR_OK;
    }
    return refuse(s, tag, "radical: expected numbers and ranges, e.g. \"0-7,9\"", err);
}

static ar_status add_host(const scan *s, const char *tag, const char *end, ar_err *err) {
    char name[VALUE_SIZE];
    if (!attribute(tag, end, "id", name)) return refuse(s, tag, "attribute too long", err);
    if (s->hosts->count >= HOSTS_MAX) return refuse(s, tag, "more than 1,048,576 hosts", err);
    return ar_hosts_add(s->hosts, name) ? AR_OK : ar_fail(err, AR_ERUN, "out of memory");
}

/* The '>' of the tag at c, or NULL; quotes hide one. */
static const char *tag_end(const char *c) {
    for (char quote = 0; *c; c++) {
        if (quote)
            quote = *c == quote ? (char)0 : quote;
        else if (*c == '"' || *c == '\'')
            quote = *c;
        else if (*c == '>')
            return c;
    }
    return NULL;
}

static bool is_tag(const char *tag, const char *name) {
    const size_t n = strlen(name);
    return strncmp(tag + 1, name, n) == 0 && isspace((unsigned char)tag[1 + n]);
}

static ar_status scan_text(const scan *s, ar_err *err) {
    for (const char *c = s->begin; (c = strchr(c, '<')) != NULL;) {
        const bool comment = strncmp(c, "<!--", 4) == 0;
        const char *end = comment ? strstr(c + 4, "-->") : tag_end(c);
        ar_status status = AR_OK;
        if (!end)
            return refuse(s, c, comment ? "comment without its end" : "tag without its end", err);
        if (is_tag(c, "cluster") || is_tag(c, "cabinet")) status = add_members(s, c, end, err);
        if (is_tag(c, "host") || is_tag(c, "peer")) status = add_host(s, c, end, err);
        if (status != AR_OK) return status;
        c = end;
    }
    return AR_OK;
}

/* The whole file with its end; NULL and errno. */
static char *read_all(const char *path) {
    FILE *in = fopen(path, "r");
    if (!in) return NULL;
    char *text = NULL;
    for (size_t size = 0, room = 1 << 16;; room *= 2) {
        char *more = realloc(text, room + 1);
        if (!more) break;
        text = more;
        size += fread(text + size, 1, room - size, in);
        text[size] = '\0';
        if (size == room) continue;
        if (ferror(in)) break;
        fclose(in);
        return text;
    }
    free(text);
    fclose(in);
    return NULL;
}

ar_status ar_hosts_scan(const char *path, ar_hosts *hosts, ar_err *err) {
    ar_hosts found = {0};
    errno = 0;
    char *text = read_all(path);
    if (!text)
        return ar_fail(err, AR_EINPUT, "%s: cannot read: %s", path,
                       errno ? strerror(errno) : "reading failed");
    const scan s = {path, text, &found};
    ar_status status = scan_text(&s, err);
    if (status == AR_OK && !ar_hosts_index(&found)) status = ar_fail(err, AR_ERUN, "out of memory");
    free(text);
    if (status == AR_OK)
        *hosts = found;
    else
        ar_hosts_free(&found);
    return status;
}
