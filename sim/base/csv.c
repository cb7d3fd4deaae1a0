#include "csv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

void ar_csv_cell(FILE *out, const char *text, int first) {
    if (!first) fputc(',', out);
    if (!text[strcspn(text, ",\"\r\n")] && text[0] != ' ') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* The file's bytes with an end; NULL and a message on failure. */
static char *read_text(const char *path, ar_err *err) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        ar_fail(err, AR_EINPUT, "%s: cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    char *text = NULL;
    size_t size = 0, room = 0, got = 1;
    while (got > 0) {
        if (room - size < 2) {
            room = room ? 2 * room : 65536;
            char *grown = realloc(text, room);
            if (!grown) {
                ar_fail(err, AR_ERUN, "%s: out of memory", path);
                goto failed;
            }
            text = grown;
        }
        got = fread(text + size, 1, room - size - 1, file);
        if (memchr(text + size, '\0', got)) {
            ar_fail(err, AR_EINPUT, "%s: not a text file", path);
            goto failed;
        }
        size += got;
    }
    if (ferror(file)) {
        ar_fail(err, AR_EINPUT, "%s: cannot be read: %s", path, strerror(errno));
        goto failed;
    }
    fclose(file);
    text[size] = '\0';
    return text;
failed:
    fclose(file);
    free(text);
    return NULL;
}

/* Take one cell from *at in place: quotes removed, ended by NUL. *at moves behind
 * the cell and what ended it; *last: the row ends here. false: bad quotes. */
static bool take_cell(char **at, bool *last, size_t *line) {
    char *from = *at, *to = *at;
    const bool quoted = *from == '"';
    if (quoted) {
        for (from++; *from && !(*from == '"' && from[1] != '"'); *to++ = *from++) {
            if (*from == '"') from++;
            *line += *from == '\n';
        }
        if (*from++ != '"') return false;
    } else {
        while (*from && *from != ',' && *from != '\n' && *from != '"')
            *to++ = *from++;
        if (to > *at && to[-1] == '\r' && *from != ',') to--;
    }
    if (*from == '\r' && (from[1] == '\n' || from[1] == '\0')) from++;
    if (*from && *from != ',' && *from != '\n') return false;
    *last = *from != ',';
    *line += *from == '\n';
    *at = from + (*from != '\0');
    *to = '\0';
    return true;
}

static ar_status add_cell(ar_csv *csv, size_t count, size_t *room, char *cell, ar_err *err) {
    if (count == *room) {
        const size_t grown_room = *room ? 2 * *room : 256;
        char **grown = grown_room < SIZE_MAX / sizeof *grown
                           ? realloc(csv->cell, grown_room * sizeof *grown)
                           : NULL;
        if (!grown) return ar_fail(err, AR_ERUN, "out of memory");
        csv->cell = grown;
        *room = grown_room;
    }
    csv->cell[count] = cell;
    return AR_OK;
}

static ar_status parse(const char *path, ar_csv *csv, ar_err *err) {
    size_t line = 1, count = 0, room = 0;
    for (char *at = csv->text; *at;) {
        const size_t row_line = line, row_begin = count;
        if (csv->columns > 1 && (*at == '\n' || (*at == '\r' && at[1] == '\n'))) {
            at += 1 + (*at == '\r');
            line++;
            continue;
        }
        for (bool last = false; !last;) {
            char *cell = at;
            if (!take_cell(&at, &last, &line))
                return ar_fail(err, AR_EINPUT, "%s:%zu: quotes do not match", path, row_line);
            const ar_status status = add_cell(csv, count++, &room, cell, err);
            if (status != AR_OK) return status;
        }
        const size_t cells = count - row_begin;
        if (row_begin == 0) csv->columns = cells;
        if (cells != csv->columns)
            return ar_fail(err, AR_EINPUT, "%s:%zu: %zu cells; the header has %zu", path, row_line,
                           cells, csv->columns);
    }
    if (count == 0) return ar_fail(err, AR_EINPUT, "%s: empty, not even a header", path);
    csv->rows = count / csv->columns - 1;
    for (size_t i = 0; i < csv->columns; i++)
        if (ar_csv_column(csv, csv->cell[i]) != (int)i)
            return ar_fail(err, AR_EINPUT, "%s:1: duplicate column '%.100s'", path, csv->cell[i]);
    return AR_OK;
}

ar_status ar_csv_read(const char *path, ar_csv *csv, ar_err *err) {
    ar_csv read = {NULL, 0, 0, read_text(path, err)};
    if (!read.text) return AR_EINPUT;
    const ar_status status = parse(path, &read, err);
    if (status == AR_OK)
        *csv = read;
    else
        ar_csv_free(&read);
    return status;
}

void ar_csv_free(ar_csv *csv) {
    free(csv->cell);
    free(csv->text);
    *csv = (ar_csv){NULL, 0, 0, NULL};
}

int ar_csv_column(const ar_csv *csv, const char *name) {
    for (size_t i = 0; i < csv->columns; i++)
        if (strcmp(csv->cell[i], name) == 0) return (int)i;
    return -1;
}

const char *ar_csv_get(const ar_csv *csv, size_t row, const char *name) {
    const int column = ar_csv_column(csv, name);
    return column < 0 || row >= csv->rows ? ""
                                          : csv->cell[(row + 1) * csv->columns + (size_t)column];
}

double ar_csv_number(const ar_csv *csv, size_t row, const char *name) {
    double number = NAN;
    const char *reason;
    ar_quantity_parse(AR_UNIT_NONE, ar_csv_get(csv, row, name), &number, &reason);
    return number;
}
