/* What crosses the wire: counted by routing, beside the paper's closed forms. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prose.h"
#include "sections.h"
#include "words.h"

/* What the messages of a point do not depend on. */
static const ar_params aside =
    AR_PARAM(AR_P_ENGINE) | AR_PARAM(AR_P_SCHEDULE) | AR_PARAM(AR_P_DEVICE) |
    AR_PARAM(AR_P_PLATFORM) | AR_PARAM(AR_P_EFFICIENCY) | AR_PARAM(AR_P_COMPUTE) |
    AR_PARAM(AR_P_FORWARD_TIME) | AR_PARAM(AR_P_BACKWARD_TIME) | AR_PARAM(AR_P_PREFETCH) |
    AR_PARAM(AR_P_SPEED_RATIO) | AR_PARAM(AR_P_ENGINE_MODEL) | AR_PARAM(AR_P_FORM);

/* Why the count differs from the closed form, in words that the text explains. */
static void write_reason(FILE *text, const ar_rows *rows, size_t row) {
    const double vectors = ar_rows_number(rows, row, "hop_vectors");
    const double formula = ar_rows_number(rows, row, "formula_vectors");
    const double stages = ar_rows_number(rows, row, "stages");
    const double chunks = stages * ar_rows_number(rows, row, "virtual");
    const double blocks =
        ceil(ar_rows_number(rows, row, "layers") / ar_rows_number(rows, row, "block"));
    const char *const streams[] = {"standard", "highway", "mhc"};
    bool has_blocks = true;
    for (size_t i = 0; i < 3; i++)
        has_blocks = has_blocks && !ar_rows_is(rows, row, AR_P_MECHANISM, streams[i]);
    if (isnan(vectors) || isnan(formula))
        fprintf(text, "-");
    else if (stages == 1)
        fprintf(text, "one rank");
    else if (fabs(vectors - formula) < 1e-9 * (1 + fabs(formula)))
        fprintf(text, "none: they agree");
    else if (!has_blocks)
        fprintf(text, "empty chunks");
    else {
        const char *between = "";
        if (ar_rows_number(rows, row, "hop_partial") > 0) {
            fprintf(text, "partial sums");
            between = ", ";
        }
        if (ar_rows_is(rows, row, AR_P_EMBEDDING, "yes")) {
            fprintf(text, "%sembedding", between);
            between = ", ";
        }
        if (fmod(blocks, chunks) != 0 || !ar_rows_is(rows, row, AR_P_MECHANISM, "block"))
            fprintf(text, "%suneven blocks", between);
    }
}

static void add_row(ar_table *table, const ar_rows *rows, size_t row, ar_params extra) {
    const long none = ar_rows_find(rows, row, aside, AR_P_CACHE, "none");
    const double vectors = ar_rows_number(rows, row, "hop_vectors");
    const double all = none < 0 ? NAN : ar_rows_number(rows, (size_t)none, "hop_vectors");
    ar_words_cells(table, rows, row, extra);
    ar_table_text(table, ar_rows_param(rows, row, AR_P_MECHANISM));
    ar_table_text(table, ar_rows_param(rows, row, AR_P_CACHE));
    ar_table_fixed(table, ar_rows_number(rows, row, "hop_blocks"), 0);
    ar_table_fixed(table, ar_rows_number(rows, row, "hop_partial"), 0);
    ar_table_fixed(table, vectors, 0);
    ar_table_fixed(table, ar_rows_number(rows, row, "formula_vectors"), 2);
    ar_table_fixed(table, all == 0 && vectors == 0 ? 0 : 100 * (1 - vectors / all), 1);
    ar_table_fixed(table, ar_rows_number(rows, row, "peak_hop_vectors"), 0);
    ar_table_quantity(table, AR_UNIT_B, ar_rows_number(rows, row, "sent_bytes"));
    ar_table_fixed(table, ar_rows_number(rows, row, "messages"), 0);
    char *reason = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&reason, &size);
    if (text) {
        write_reason(text, rows, row);
        fclose(text);
    }
    ar_table_text(table, reason ? reason : "-");
    free(reason);
}

void ar_section_wire(FILE *out, const ar_rows *rows) {
    if (rows->good_count == 0 || (ar_csv_column(&rows->csv, "hop_vectors") < 0 &&
                                  ar_csv_column(&rows->csv, "sent_bytes") < 0))
        return;
    static const char *const titles[] = {"mechanism", "cache",    "blocks",    "partial",
                                         "vectors",   "formula",  "saved %",   "peak hop",
                                         "sent/step", "messages", "difference"};
    const size_t columns = sizeof titles / sizeof *titles;
    const ar_params extra =
        ar_rows_varying(rows, aside | AR_PARAM(AR_P_MECHANISM) | AR_PARAM(AR_P_CACHE));
    ar_table table = {.columns = ar_words_count(extra) + columns};
    ar_words_header(&table, extra);
    for (size_t c = 0; c < columns; c++)
        ar_table_text(&table, titles[c]);
    for (size_t i = 0; i < rows->good_count; i++)
        if (ar_rows_first(rows, rows->good[i], aside) == rows->good[i])
            add_row(&table, rows, rows->good[i], extra);

    fprintf(out, "## What crosses the wire\n\n");
    ar_prose(out, "One micro-batch forward, in vectors of the width per token, summed over all "
                  "hops: completed blocks and partial sums (`hop_blocks`, `hop_partial`); the "
                  "closed form (`formula_vectors`: the paper's equation 7 for cache none, equation "
                  "8 for received, its variant P(P-1) instead of P^2 for own); what the largest "
                  "hop carries (`peak_hop_vectors`); then the bytes and messages of the whole step "
                  "(`sent_bytes`, `messages`).");
    ar_table_write(&table, out);
    ar_prose(out,
             "Why count and formula differ. *Partial sums*: where a chunk ends inside a block, "
             "the running sum crosses too; the formula leaves it out. *Embedding*: it is a "
             "source like a block; the formula leaves it out. *Uneven blocks*: the formula "
             "takes the same, possibly fractional, number of blocks from every chunk; blocks "
             "end where layers end. *One rank*: nothing is on a wire, yet the formula counts "
             "hops between chunks. *Empty chunks*: some hop carries nothing new.");
}
