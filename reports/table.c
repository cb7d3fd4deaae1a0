#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An owned copy, escaped for a Markdown cell; NULL: no memory. */
static char *escape(const char *text) {
    char *copy = malloc(4 * strlen(text) + 1), *to = copy;
    for (; copy && *text; text++) {
        if (*text == '<' && text[1] != ' ') {
            memcpy(to, "&lt;", 4);
            to += 4;
            continue;
        }
        if (*text == '|' || *text == '\\') *to++ = '\\';
        *to++ = (unsigned char)*text < ' ' ? ' ' : *text;
    }
    if (copy) *to = '\0';
    return copy;
}

void ar_table_text(ar_table *table, const char *text) {
    if (table->count == table->room) {
        const size_t room = table->room ? 2 * table->room : 64;
        char **grown = realloc(table->cell, room * sizeof *grown);
        table->failed |= !grown;
        if (!grown) return;
        table->cell = grown;
        table->room = room;
    }
    char *copy = escape(text);
    table->failed |= !copy;
    if (copy) table->cell[table->count++] = copy;
}

void ar_table_quantity(ar_table *table, ar_unit unit, double value) {
    char text[64];
    ar_quantity_human(unit, value, text, sizeof text);
    ar_table_text(table, text);
}

void ar_table_fixed(ar_table *table, double value, int decimals) {
    char text[400] = "-";
    if (isfinite(value)) {
        if (fabs(value) < 0.5 * pow(10, -decimals)) value = 0; /* no "-0.00" */
        snprintf(text, sizeof text, "%.*f", decimals, value);
    }
    ar_table_text(table, text);
}

/* Characters, not bytes, of UTF-8. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool is_number(const char *text) {
    if (*text == '-' && text[1]) text++;
    return (*text >= '0' && *text <= '9') || strcmp(text, "-") == 0;
}

static void write_cell(FILE *out, const char *text, size_t width, bool right) {
    const int blanks = (int)(width - width_of(text));
    fprintf(out, "| %*s%s%*s ", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

static void measure_column(const ar_table *table, size_t rows, size_t column, size_t *width,
                           bool *right) {
    *width = 3;
    *right = true;
    for (size_t row = 0; row < rows; row++) {
        const char *text = table->cell[row * table->columns + column];
        if (width_of(text) > *width) *width = width_of(text);
        if (row > 0 && !is_number(text)) *right = false;
    }
}

static void write_rows(const ar_table *table, size_t rows, const size_t *width, const bool *right,
                       FILE *out) {
    for (size_t row = 0; row < rows; row++) {
        for (size_t c = 0; c < table->columns; c++)
            write_cell(out, table->cell[row * table->columns + c], width[c], right[c]);
        fprintf(out, "|\n");
        for (size_t c = 0; row == 0 && c < table->columns; c++) {
            fprintf(out, "|%s", right[c] ? "-" : " ");
            for (size_t i = 0; i < width[c]; i++)
                fputc('-', out);
            fputc(right[c] ? ':' : ' ', out);
        }
        if (row == 0) fprintf(out, "|\n");
    }
    fputc('\n', out);
}

void ar_table_write(ar_table *table, FILE *out) {
    const size_t rows = table->columns ? table->count / table->columns : 0;
    size_t *width = calloc(table->columns + 1, sizeof *width);
    bool *right = calloc(table->columns + 1, sizeof *right);
    if (table->failed || !width || !right) {
        fprintf(out, "(This table is missing: out of memory.)\n\n");
    } else if (rows > 1) {
        for (size_t c = 0; c < table->columns; c++)
            measure_column(table, rows, c, &width[c], &right[c]);
        write_rows(table, rows, width, right, out);
    }
    free(width);
    free(right);
    for (size_t i = 0; i < table->count; i++)
        free(table->cell[i]);
    free(table->cell);
    *table = (ar_table){0};
}
