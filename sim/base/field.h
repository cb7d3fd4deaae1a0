#ifndef AR_FIELD_H
#define AR_FIELD_H

/* Tables of fields. One table describes a struct that users fill: it parses
 * options and INI keys, checks ranges, prints the help and writes values back
 * in a form that it reads again. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"
#include "units.h"

enum { AR_TEXT_MAX = 512 }; /* bytes of a text value, with its end */

typedef enum {
    AR_FIELD_COUNT,    /* int64_t; suffixes k, M, G, Ki, Mi, Gi */
    AR_FIELD_QUANTITY, /* double, with a unit */
    AR_FIELD_CHOICE,   /* int, index into choices */
    AR_FIELD_TEXT      /* char[AR_TEXT_MAX] */
} ar_field_type;

typedef struct {
    const char *name; /* "microbatches": option --microbatches, INI key, CSV column */
    ar_field_type type;
    ar_unit unit;               /* of a quantity */
    size_t offset;              /* in the struct */
    double min, max;            /* legal range of counts and quantities, both ends included */
    const char *const *choices; /* NULL-terminated */
    const char *fallback;       /* default, as text; NULL: required */
    const char *meta;           /* shown in help: "P", "NAME|FILE" */
    const char *help;
} ar_field;

/* A table and which of its fields a struct has had set (bit i: field i; at most 64). */
typedef struct {
    const ar_field *field;
    size_t count;
    const char *what; /* "point", "device": used in messages */
} ar_fields;

/* Set every field that has a default to it. Defaults are the programmer's: they must parse. */
void ar_fields_defaults(const ar_fields *fields, void *object);

/* Index of a field, or -1. Underscores and hyphens are the same in a name. */
int ar_fields_find(const ar_fields *fields, const char *name);

/* Set one field from text. where: "--stages", "demo.ini:7: stages". Failure has
 * status `bad`, names where, text and the legal values; object is then unchanged. */
ar_status ar_field_set(const ar_field *field, void *object, const char *text, const char *where,
                       ar_status bad, ar_err *err);

/* Unknown name: the message suggests the nearest one. */
ar_status ar_fields_unknown(const ar_fields *fields, const char *name, const char *where,
                            ar_status bad, ar_err *err);

/* Write the value so that ar_field_set reads the same value again. Cut at size. */
void ar_field_format(const ar_field *field, const void *object, char *text, size_t size);

/* Options' help: one line or more a field. */
void ar_fields_help(const ar_fields *fields, FILE *out);

/* Read section [what] of an INI file into object: unknown, duplicate and, where a
 * field has no default, missing keys are refused with file and line. *set gets a
 * bit per field read. */
ar_status ar_fields_read(const ar_fields *fields, const char *path, void *object, uint64_t *set,
                         ar_err *err);

#endif
