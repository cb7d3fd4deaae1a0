#include "study.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ini.h"

enum { KEYS_MAX = 4, AXES_MAX = 64, POINTS_MAX = 1000000 };

/* One line of the file: keys that vary together, and their values. */
typedef struct {
    char *key[KEYS_MAX];
    size_t keys;
    char **value; /* [count][keys] */
    size_t count;
    int line;
} axis;

struct ar_study {
    char path[1024];
    axis axes[AXES_MAX];
    size_t axis_count, points;
};

static char *trim(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    for (char *end = text + strlen(text); end > text && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return text;
}

/* Cut text at the separator; *rest goes behind it, or to NULL. */
static char *cut(char *text, char separator, char **rest) {
    char *at = strchr(text, separator);
    *rest = at ? at + 1 : NULL;
    if (at) *at = '\0';
    return trim(text);
}

static ar_status add_keys(axis *a, char *text, const char *where, ar_err *err) {
    for (char *rest = text; rest;) {
        char *key = cut(rest, '+', &rest);
        if (a->keys == KEYS_MAX)
            return ar_fail(err, AR_EINPUT, "%s: more than %d keys vary together", where, KEYS_MAX);
        a->key[a->keys] = strdup(key);
        if (!a->key[a->keys++]) return ar_fail(err, AR_ERUN, "out of memory");
    }
    return AR_OK;
}

static ar_status add_value(axis *a, char *text, const char *where, ar_err *err) {
    char **grown = realloc(a->value, (a->count + 1) * a->keys * sizeof *grown);
    if (!grown) return ar_fail(err, AR_ERUN, "out of memory");
    a->value = grown;
    char **row = &a->value[a->count * a->keys];
    memset(row, 0, a->keys * sizeof *row);
    a->count++;
    size_t values = 1;
    for (const char *c = text; a->keys > 1 && *c; c++)
        values += *c == ':';
    if (values != a->keys)
        return ar_fail(err, AR_EINPUT, "%s: '%s' has %zu value%s for %zu keys; part them by ':'",
                       where, text, values, values == 1 ? "" : "s", a->keys);
    char *rest = text;
    for (size_t k = 0; k < a->keys; k++) {
        char *value = a->keys == 1 ? trim(rest) : cut(rest, ':', &rest);
        row[k] = strdup(value);
        if (!row[k]) return ar_fail(err, AR_ERUN, "out of memory");
    }
    return AR_OK;
}

/* A split has commas of its own. */
static char separator_of(const axis *a) {
    for (size_t k = 0; k < a->keys; k++)
        if (strcmp(a->key[k], "split") == 0) return '|';
    return ',';
}

static ar_status add_axis(void *user, const char *key, const char *value, int line, ar_err *err) {
    ar_study *study = user;
    char where[1200], keys[256], values[4096];
    snprintf(where, sizeof where, "%s:%d: %s", study->path, line, key);
    if (study->axis_count == AXES_MAX)
        return ar_fail(err, AR_EINPUT, "%s: more than %d keys", where, AXES_MAX);
    if (snprintf(keys, sizeof keys, "%s", key) >= (int)sizeof keys ||
        snprintf(values, sizeof values, "%s", value) >= (int)sizeof values)
        return ar_fail(err, AR_EINPUT, "%s: the line is too long", where);
    axis *a = &study->axes[study->axis_count++];
    a->line = line;
    ar_status status = add_keys(a, keys, where, err);
    if (status != AR_OK) return status;
    const char separator = separator_of(a);
    char *rest = values;
    do {
        char *item = cut(rest, separator, &rest);
        status = add_value(a, item, where, err);
    } while (rest && status == AR_OK);
    return status;
}

/* ---- points ---- */

/* A point while its keys are set. */
typedef struct {
    ar_point *point;
    ar_asked engine;
    bool engine_given;
} draft;

static draft draft_start(ar_point *point) {
    ar_point_init(point);
    point->bad = AR_EINPUT;
    return (draft){point, AR_ASK_SIM, false};
}

static ar_status set_engine(const char *text, const char *where, draft *d, ar_err *err) {
    if (d->engine_given) return ar_fail(err, AR_EINPUT, "%s: 'engine' is given twice", where);
    d->engine_given = true;
    for (int e = 0; ar_asked_names[e]; e++) {
        if (strcmp(text, ar_asked_names[e]) != 0) continue;
        d->engine = (ar_asked)e;
        return AR_OK;
    }
    return ar_fail(err, AR_EINPUT, "%s = %s: legal: plan, sim, run", where, text);
}

static ar_status set_keys(const ar_study *study, const axis *a, size_t choice, draft *d,
                          ar_err *err) {
    char where[1200];
    for (size_t k = 0; k < a->keys; k++) {
        const char *value = a->value[choice * a->keys + k];
        snprintf(where, sizeof where, "%s:%d: %s", study->path, a->line, a->key[k]);
        const ar_status status = strcmp(a->key[k], "engine") == 0
                                     ? set_engine(value, where, d, err)
                                     : ar_point_set(d->point, a->key[k], value, where, err);
        if (status != AR_OK) return status;
    }
    return AR_OK;
}

/* Every value of every key parses, whatever the others are. */
static ar_status check_values(ar_study *study, ar_err *err) {
    ar_point point;
    draft d;
    ar_status status = AR_OK;
    study->points = 1;
    for (size_t i = 0; i < study->axis_count; i++) {
        const axis *a = &study->axes[i];
        for (size_t choice = 0; choice < a->count && status == AR_OK; choice++) {
            d = draft_start(&point);
            status = set_keys(study, a, choice, &d, err);
        }
        if (status != AR_OK) return status;
        study->points *= a->count;
        if (study->points > POINTS_MAX)
            return ar_fail(err, AR_EINPUT, "%s: more than %d points", study->path, POINTS_MAX);
    }
    d = draft_start(&point); /* no key in two lines */
    for (size_t i = 0; i < study->axis_count && status == AR_OK; i++)
        status = set_keys(study, &study->axes[i], 0, &d, err);
    return status;
}

ar_status ar_study_read(const char *path, ar_study **study, ar_err *err) {
    ar_study *read = calloc(1, sizeof *read);
    if (!read) return ar_fail(err, AR_ERUN, "out of memory");
    snprintf(read->path, sizeof read->path, "%s", path);
    ar_status status = ar_ini_each(path, "study", add_axis, read, err);
    if (status == AR_OK && read->axis_count == 0)
        status = ar_fail(err, AR_EINPUT, "%s: has no keys; expected a section [study]", path);
    if (status == AR_OK) status = check_values(read, err);
    if (status == AR_OK)
        *study = read;
    else
        ar_study_free(read);
    return status;
}

void ar_study_free(ar_study *study) {
    for (size_t i = 0; study && i < study->axis_count; i++) {
        axis *a = &study->axes[i];
        for (size_t k = 0; k < a->keys; k++)
            free(a->key[k]);
        for (size_t v = 0; v < a->count * a->keys; v++)
            free(a->value[v]);
        free(a->value);
    }
    free(study);
}

size_t ar_study_points(const ar_study *study) {
    return study->points;
}

ar_status ar_study_point(const ar_study *study, size_t i, ar_point *point, ar_asked *engine,
                         ar_err *err) {
    draft d = draft_start(point);
    for (size_t k = study->axis_count; k-- > 0;) {
        const axis *a = &study->axes[k];
        const ar_status status = set_keys(study, a, i % a->count, &d, err);
        if (status != AR_OK) return status;
        i /= a->count;
    }
    *engine = d.engine;
    return ar_point_complete(point, err);
}
