#include "data.h"
#include "edits.h"
#include "version.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS = 4, PATH_SIZE = 4096, NAME_SIZE = 64, NAMES = 256, SHOWN = 100 };

/* A kind, what one of its files is called, and its folders in the source. */
typedef struct {
    const char *kind, *one, *source[2];
} data_kind;

static const data_kind kinds[] = {
    {"devices", "device", {"topologies/devices", NULL}},
    {"models", "model", {"sim/models", NULL}},
    {"platforms", "platform", {"topologies/platforms", "build/platforms"}},
    {"presets", "preset", {"topologies/presets", NULL}},
    {"studies", "study", {"sim/studies", NULL}},
    {"topologies", "topology table", {"topologies", NULL}},
};

static const data_kind *find_kind(const char *kind) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0) return &kinds[i];
    return NULL;
}

/* The folders to look in, in order; those that do not fit a path are left out. */
static size_t list_folders(const data_kind *kind, char folder[FOLDERS][PATH_SIZE]) {
    size_t count = 0;
    const char *own = getenv("ATTNRES_DATA");
    if (own && *own && snprintf(folder[count], PATH_SIZE, "%s/%s", own, kind->kind) < PATH_SIZE)
        count++;
    for (size_t i = 0; i < 2 && kind->source[i]; i++)
        snprintf(folder[count++], PATH_SIZE, "%s/%s", AR_SOURCEDIR, kind->source[i]);
    snprintf(folder[count++], PATH_SIZE, "%s/%s", AR_DATADIR, kind->kind);
    return count;
}

static bool ends_in(const char *text, const char *suffix) {
    const size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* NULL, or why the file cannot be read. */
static const char *cannot_read(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return strerror(errno);
    if (S_ISDIR(st.st_mode)) return "is a directory";
    if (access(path, R_OK) != 0) return strerror(errno);
    return NULL;
}

/* ---- an unknown name ---- */

static int compare(const void *a, const void *b) {
    return strcmp(a, b);
}

/* The names in all folders, sorted, each once. */
static size_t list_names(char folder[FOLDERS][PATH_SIZE], size_t folders, const char *suffix,
                         char name[NAMES][NAME_SIZE]) {
    size_t count = 0, unique = 0;
    for (size_t i = 0; i < folders; i++) {
        DIR *dir = opendir(folder[i]);
        if (!dir) continue;
        for (struct dirent *e; (e = readdir(dir)) != NULL && count < NAMES;) {
            const size_t length = strlen(e->d_name);
            if (e->d_name[0] == '.' || length >= NAME_SIZE || !ends_in(e->d_name, suffix)) continue;
            memcpy(name[count], e->d_name, length - strlen(suffix));
            name[count++][length - strlen(suffix)] = '\0';
        }
        closedir(dir);
    }
    qsort(name, count, NAME_SIZE, compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(name[i], name[unique - 1]) != 0)
            memmove(name[unique++], name[i], NAME_SIZE);
    return unique;
}

/* The name meant: one that begins so ("h100"), or else the fewest edits away. */
static const char *nearest(const char *text, char name[NAMES][NAME_SIZE], size_t names) {
    const char *best = NULL;
    size_t fewest = strlen(text) / 2 + 1;
    for (size_t i = 0; i < names; i++) {
        if (*text && strncmp(name[i], text, strlen(text)) == 0) return name[i];
        const size_t edits = ar_edits(text, name[i]);
        if (edits < fewest) fewest = edits, best = name[i];
    }
    return best;
}

static ar_status refuse(const data_kind *kind, const char *text, const char *suffix,
                        char folder[FOLDERS][PATH_SIZE], size_t folders, ar_err *err,
                        ar_status bad) {
    char name[NAMES][NAME_SIZE], legal[700] = "", hint[NAME_SIZE + 32] = "";
    const size_t names = list_names(folder, folders, suffix, name);
    const char *best = nearest(text, name, names);
    size_t used = 0;
    for (size_t i = 0; i < names && used < sizeof legal; i++)
        used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%s", i ? ", " : "", name[i]);
    if (best) snprintf(hint, sizeof hint, "did you mean '%.60s'? ", best);
    return ar_fail(err, bad, "unknown %s '%.*s'; %slegal: %s%sthe path of a %s file", kind->one,
                   SHOWN, text, hint, legal, names ? ", or " : "", suffix);
}

ar_status ar_data_find(const char *kind, const char *name, const char *suffix, char *path,
                       size_t size, ar_err *err, ar_status bad) {
    char folder[FOLDERS][PATH_SIZE], found[PATH_SIZE + 512];
    const data_kind *what = find_kind(kind);
    if (!what) return ar_fail(err, bad, "no kind of data file is called '%s'", kind);
    const char *why = NULL;
    size_t folders = 0, i = 0;
    if (strchr(name, '/') || (ends_in(name, suffix) && strcmp(name, suffix) != 0)) {
        if (snprintf(found, sizeof found, "%s", name) >= (int)sizeof found) why = "path too long";
        if (!why) why = cannot_read(found);
        if (why) return ar_fail(err, bad, "%s file '%.*s': %s", what->one, SHOWN * 4, name, why);
    } else {
        folders = list_folders(what, folder);
        for (i = 0; *name && i < folders; i++)
            if (snprintf(found, sizeof found, "%s/%s%s", folder[i], name, suffix) <
                    (int)sizeof found &&
                !cannot_read(found))
                break;
        if (!*name || i == folders) return refuse(what, name, suffix, folder, folders, err, bad);
    }
    if (strlen(found) >= size)
        return ar_fail(err, bad, "%s file '%.*s': path of %zu bytes is too long", what->one,
                       SHOWN * 4, found, strlen(found));
    memcpy(path, found, strlen(found) + 1);
    return AR_OK;
}
