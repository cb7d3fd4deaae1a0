#include "words.h"

#include <string.h>

#include "prose.h"

const char *ar_words_mechanism(const char *name) {
    static const char *const words[][2] = {{"standard", "the standard residual"},
                                           {"highway", "Highway"},
                                           {"denseformer", "DenseFormer"},
                                           {"mhc", "mHC"},
                                           {"full", "Full AttnRes"},
                                           {"block", "Block AttnRes"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], name) == 0) return words[i][1];
    return name;
}

void ar_words_point(FILE *out, const ar_rows *rows, size_t row) {
#define P(name) ar_rows_param(rows, row, AR_P_##name)
    if (strcmp(P(MODEL), "-") != 0) fprintf(out, "model `%s`, ", P(MODEL));
    fprintf(out, "%s layers of width %s, %s layers a block, ", P(LAYERS), P(WIDTH), P(BLOCK));
    fprintf(out, "on %s stages with %s chunks each, %s micro-batches of %s tokens in %s, ",
            P(STAGES), P(VIRTUAL), P(MICROBATCHES), P(TOKENS), P(DTYPE));
    fprintf(out, "schedule %s, pass %s", P(SCHEDULE), P(PASS));
#undef P
}

void ar_words_where(FILE *out, const ar_rows *rows, size_t row, ar_params which) {
    const char *between = "";
    for (ar_param p = 0; p < AR_PARAMS; p++) {
        if (!(which >> p & 1)) continue;
        const char *value = ar_rows_param(rows, row, p);
        if (p == AR_P_PLATFORM || p == AR_P_MODEL || p == AR_P_DEVICE)
            fprintf(out, "%s`%s`", between, value);
        else
            fprintf(out, "%s%s %s", between, ar_param_name(p), value);
        between = ", ";
    }
}

void ar_words_header(ar_table *table, ar_params which) {
    for (ar_param p = 0; p < AR_PARAMS; p++)
        if (which >> p & 1) ar_table_text(table, ar_param_name(p));
}

void ar_words_cells(ar_table *table, const ar_rows *rows, size_t row, ar_params which) {
    for (ar_param p = 0; p < AR_PARAMS; p++)
        if (which >> p & 1) ar_table_text(table, ar_rows_param(rows, row, p));
}

size_t ar_words_count(ar_params which) {
    size_t count = 0;
    for (; which; which &= which - 1)
        count++;
    return count;
}

void ar_words_range(FILE *out, double low, double high) {
    const ar_shown a = ar_show_percent(low), b = ar_show_percent(high);
    if (strcmp(a.text, b.text) == 0)
        fprintf(out, "%s", a.text);
    else
        fprintf(out, "%s to %s", a.text, b.text);
}
