#include "field.h"

#include <stdbool.h>
#include <string.h>

#include "edits.h"
#include "ini.h"

/* Names in messages: a text of the user's is cut there. */
enum { SHOWN = 100, NAME_MAX_LENGTH = 64 };

static bool is_hyphen(char c) {
    return c == '-' || c == '_';
}

int ar_fields_find(const ar_fields *fields, const char *name) {
    for (size_t i = 0; i < fields->count; i++) {
        const char *a = fields->field[i].name, *b = name;
        while (*a && (*a == *b || (is_hyphen(*a) && is_hyphen(*b))))
            a++, b++;
        if (*a == *b) return (int)i;
    }
    return -1;
}

/* ---- set ---- */

/* A bound of the legal range, in the short form if that is exact. */
static void format_bound(const ar_field *field, double bound, char *text, size_t size) {
    double back;
    const char *reason;
    if (field->type == AR_FIELD_COUNT) {
        snprintf(text, size, "%.0f", bound);
        return;
    }
    ar_quantity_human(field->unit, bound, text, size);
    if (!ar_quantity_parse(field->unit, text, &back, &reason) || back != bound)
        ar_quantity_format(field->unit, bound, text, size);
}

/* What the field accepts, for messages and the help: "1 to 65536", "none, own". */
static void format_legal(const ar_field *field, char *text, size_t size) {
    size_t used = 0;
    char low[64], high[64];
    switch (field->type) {
    case AR_FIELD_COUNT:
    case AR_FIELD_QUANTITY:
        format_bound(field, field->min, low, sizeof low);
        format_bound(field, field->max, high, sizeof high);
        snprintf(text, size, "%s to %s", low, high);
        return;
    case AR_FIELD_CHOICE:
        text[0] = '\0';
        for (size_t i = 0; field->choices[i] && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                     field->choices[i]);
        return;
    case AR_FIELD_TEXT:
        snprintf(text, size, "text of up to %d bytes on one line", AR_TEXT_MAX - 1);
        return;
    }
}

static ar_status refuse(const ar_field *field, const char *text, const char *where,
                        const char *reason, ar_status bad, ar_err *err) {
    char legal[512];
    format_legal(field, legal, sizeof legal);
    const char *between = where[0] == '-' ? " " : " = ";
    const char *cut = strlen(text) > SHOWN ? "..." : "";
    if (field->type == AR_FIELD_QUANTITY && field->unit != AR_UNIT_NONE && reason)
        return ar_fail(err, bad, "%s%s%.*s%s: %s; expected e.g. \"%s\"", where, between, SHOWN,
                       text, cut, reason, ar_unit_example(field->unit));
    return ar_fail(err, bad, "%s%s%.*s%s: %s%slegal: %s", where, between, SHOWN, text, cut,
                   reason ? reason : "", reason ? "; " : "", legal);
}

static bool is_text(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) return false;
    return true;
}

ar_status ar_field_set(const ar_field *field, void *object, const char *text, const char *where,
                       ar_status bad, ar_err *err) {
    char *place = (char *)object + field->offset;
    const char *reason = NULL;
    int64_t count;
    double quantity;
    switch (field->type) {
    case AR_FIELD_COUNT:
        if (!ar_count_parse(text, &count, &reason)) break;
        if ((double)count < field->min || (double)count > field->max) break;
        memcpy(place, &count, sizeof count);
        return AR_OK;
    case AR_FIELD_QUANTITY:
        if (!ar_quantity_parse(field->unit, text, &quantity, &reason)) break;
        if (quantity < field->min || quantity > field->max) break;
        memcpy(place, &quantity, sizeof quantity);
        return AR_OK;
    case AR_FIELD_CHOICE:
        for (int i = 0; field->choices[i]; i++) {
            if (strcmp(field->choices[i], text) != 0) continue;
            memcpy(place, &i, sizeof i);
            return AR_OK;
        }
        break;
    case AR_FIELD_TEXT:
        if (strlen(text) >= AR_TEXT_MAX || !is_text(text)) break;
        memmove(place, text, strlen(text) + 1);
        return AR_OK;
    }
    return refuse(field, text, where, reason, bad, err);
}

void ar_fields_defaults(const ar_fields *fields, void *object) {
    for (size_t i = 0; i < fields->count; i++)
        if (fields->field[i].fallback)
            ar_field_set(&fields->field[i], object, fields->field[i].fallback, "default", AR_EINPUT,
                         NULL);
}

void ar_field_format(const ar_field *field, const void *object, char *text, size_t size) {
    const char *place = (const char *)object + field->offset;
    int64_t count;
    double quantity;
    int choice;
    switch (field->type) {
    case AR_FIELD_COUNT:
        memcpy(&count, place, sizeof count);
        snprintf(text, size, "%lld", (long long)count);
        return;
    case AR_FIELD_QUANTITY:
        memcpy(&quantity, place, sizeof quantity);
        ar_quantity_format(field->unit, quantity, text, size);
        return;
    case AR_FIELD_CHOICE:
        memcpy(&choice, place, sizeof choice);
        snprintf(text, size, "%s", field->choices[choice]);
        return;
    case AR_FIELD_TEXT:
        snprintf(text, size, "%s", place);
        return;
    }
}

/* ---- unknown names ---- */

/* Write a name as the user would: "--forward-time" as an option, as it is as a key. */
static int write_name(char *text, size_t size, const char *name, bool option) {
    const int length = snprintf(text, size, "%s%s", option ? "--" : "", name);
    for (char *c = text; option && *c; c++)
        if (*c == '_') *c = '-';
    return length;
}

ar_status ar_fields_unknown(const ar_fields *fields, const char *name, const char *where,
                            ar_status bad, ar_err *err) {
    const bool option = bad == AR_EUSAGE;
    if (option)
        while (*name == '-')
            name++;
    size_t best = strlen(name) / 3 + 1, used = 0; /* farther than that is no typing error */
    char hint[128] = "", nearest[NAME_MAX_LENGTH + 8], legal[900] = "";
    for (size_t i = 0; i < fields->count && used < sizeof legal; i++) {
        const char *legal_name = fields->field[i].name;
        const size_t distance = ar_edits(name, legal_name);
        if (distance <= best) {
            best = distance - (distance > 0);
            write_name(nearest, sizeof nearest, legal_name, option);
            snprintf(hint, sizeof hint, "did you mean '%s'? ", nearest);
        }
        if (used) used += (size_t)snprintf(legal + used, sizeof legal - used, ", ");
        if (used < sizeof legal)
            used += (size_t)write_name(legal + used, sizeof legal - used, legal_name, option);
    }
    const char *colon = where && *where ? ": " : "";
    return ar_fail(err, bad, "%s%sunknown %s '%s%.*s'; %slegal: %s", where ? where : "", colon,
                   option ? "option" : "key", option ? "--" : "", SHOWN, name, hint, legal);
}

/* ---- INI ---- */

typedef struct {
    const ar_fields *fields;
    const char *path;
    void *object;
    uint64_t set;
} target;

static ar_status set_key(void *user, const char *key, const char *value, int line, ar_err *err) {
    target *t = user;
    char where[AR_TEXT_MAX + 128];
    const int index = ar_fields_find(t->fields, key);
    snprintf(where, sizeof where, "%s:%d%s%s", t->path, line, index < 0 ? "" : ": ",
             index < 0 ? "" : key);
    if (index < 0) return ar_fields_unknown(t->fields, key, where, AR_EINPUT, err);
    t->set |= UINT64_C(1) << index;
    return ar_field_set(&t->fields->field[index], t->object, value, where, AR_EINPUT, err);
}

ar_status ar_fields_read(const ar_fields *fields, const char *path, void *object, uint64_t *set,
                         ar_err *err) {
    target t = {fields, path, object, 0};
    const ar_status status = ar_ini_each(path, fields->what, set_key, &t, err);
    if (status != AR_OK) return status;
    for (size_t i = 0; i < fields->count; i++)
        if (!fields->field[i].fallback && !(t.set >> i & 1))
            return ar_fail(err, AR_EINPUT, "%s: section [%s] lacks the key '%s' (%s)", path,
                           fields->what, fields->field[i].name, fields->field[i].help);
    if (set) *set = t.set;
    return AR_OK;
}

/* ---- help ---- */

void ar_fields_help(const ar_fields *fields, FILE *out) {
    enum { INDENT = 28, WIDTH = 88 };
    for (size_t i = 0; i < fields->count; i++) {
        const ar_field *field = &fields->field[i];
        char name[NAME_MAX_LENGTH + 8], legal[512], text[1536];
        write_name(name, sizeof name, field->name, true);
        format_legal(field, legal, sizeof legal);
        snprintf(text, sizeof text, "%s%s%s%s%s%s", field->help,
                 field->type == AR_FIELD_TEXT ? "" : "; ",
                 field->type == AR_FIELD_TEXT ? "" : legal, field->fallback ? "" : "; required",
                 field->fallback && *field->fallback ? "; default " : "",
                 field->fallback ? field->fallback : "");
        int column = fprintf(out, "  %s %s", name, field->meta ? field->meta : "");
        if (column < 0) return;
        if (column >= INDENT - 1) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%*s", INDENT - column, "");
        column = INDENT;
        for (const char *word = text; *word;) {
            const size_t length = strcspn(word, " ");
            if (column > INDENT && column + 1 + (int)length > WIDTH) {
                fprintf(out, "\n%*s", INDENT, "");
                column = INDENT;
            } else if (column > INDENT) {
                column += fprintf(out, " ");
            }
            column += fprintf(out, "%.*s", (int)length, word);
            word += length + (word[length] == ' ');
        }
        fputc('\n', out);
    }
}
