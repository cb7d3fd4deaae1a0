#include "prose.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 92 };

/* A line that began with this word would be a list, a heading or a quotation, or
 * would part a number from its percent. */
static bool keeps_line(const char *word) {
    const char *end = word + strspn(word, "0123456789");
    return strchr("-+#>=%", *word) || (*word == '*' && word[1] == ' ') ||
           (end > word && (*end == '.' || *end == ')'));
}

static void wrap(const char *text, FILE *out) {
    const bool item = strncmp(text, "- ", 2) == 0;
    size_t column = 0;
    while (*(text += strspn(text, " \n\t\r"))) {
        const size_t length = strcspn(text, " \n\t\r");
        if (column > 0 && column + 1 + length > WIDTH && !keeps_line(text)) {
            fprintf(out, "\n%s", item ? "  " : "");
            column = item ? 2 : 0;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)length, text);
        column += length;
        text += length;
    }
    fprintf(out, item ? "\n" : "\n\n");
}

void ar_prose(FILE *out, const char *format, ...) {
    ar_paragraph paragraph;
    if (!ar_paragraph_begin(&paragraph)) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(paragraph.stream, format, arguments);
    va_end(arguments);
    ar_paragraph_end(&paragraph, out);
}

FILE *ar_paragraph_begin(ar_paragraph *paragraph) {
    *paragraph = (ar_paragraph){0};
    paragraph->stream = open_memstream(&paragraph->text, &paragraph->size);
    return paragraph->stream;
}

void ar_paragraph_end(ar_paragraph *paragraph, FILE *out) {
    if (paragraph->stream && fclose(paragraph->stream) == 0 && paragraph->size > 0)
        wrap(paragraph->text, out);
    free(paragraph->text);
    *paragraph = (ar_paragraph){0};
}

ar_shown ar_show(ar_unit unit, double value) {
    ar_shown shown = {""};
    ar_quantity_human(unit, value, shown.text, sizeof shown.text);
    return shown;
}

ar_shown ar_show_percent(double value) {
    ar_shown shown = {"-"};
    if (fabs(value) < 0.005) value = 0; /* no "-0.00" */
    if (isfinite(value)) snprintf(shown.text, sizeof shown.text, "%.2f %%", value);
    return shown;
}
