/* Memory I/O of the residual mechanisms: the paper's count beside the kernels'. */

#include <math.h>
#include <string.h>

#include "prose.h"
#include "sections.h"
#include "traffic.h"
#include "words.h"

static const char *reason(ar_mechanism_id id, ar_form form) {
    switch (id) {
    case AR_STANDARD:
        return "none: read h and v, write h";
    case AR_HIGHWAY:
        return "the paper gives no count";
    case AR_DENSEFORMER:
        return "the paper gives no count";
    case AR_MHC:
        return form == AR_FUSED ? "one pass: streams and v in, streams and h out"
                                : "the m x m coefficients are left out";
    case AR_FULL:
        return form == AR_ONE_PASS ? "the paper gives no count"
                                   : "K = V is one read; layer l has l sources, not L";
    case AR_BLOCK:
        return form != AR_TWO_PHASE ? "the paper gives no count"
                                    : "K = V is one read; n sources, not N; partial sum";
    }
    return "-";
}

/* The table's lines; formed: the mechanism has several forms. */
typedef struct {
    ar_mechanism_id id;
    ar_form form;
    bool formed;
} subject;

static const subject listed[] = {
    {AR_STANDARD, AR_TWO_PHASE, false},
    {AR_HIGHWAY, AR_TWO_PHASE, false},
    {AR_DENSEFORMER, AR_TWO_PHASE, false},
    {AR_MHC, AR_UNFUSED, true},
    {AR_MHC, AR_FUSED, true},
    {AR_FULL, AR_TWO_PHASE, true},
    {AR_FULL, AR_ONE_PASS, true},
    {AR_BLOCK, AR_TWO_PHASE, true},
    {AR_BLOCK, AR_ONE_PASS, true},
    {AR_BLOCK, AR_AUTO, true},
};

/* Lowest and highest exact_elements over the rows of a model, mechanism and form;
 * returns the highest, or -INFINITY. */
static double add_as_run(ar_table *table, const ar_rows *rows, size_t model, ar_params same,
                         const subject *of) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        const double elements = ar_rows_number(rows, row, "exact_elements");
        if (!ar_rows_same(rows, row, model, ~same) || isnan(elements) ||
            !ar_rows_is(rows, row, AR_P_MECHANISM, ar_mechanism_names[of->id]) ||
            (of->formed && !ar_rows_is(rows, row, AR_P_FORM, ar_form_names[of->form])))
            continue;
        low = elements < low ? elements : low;
        high = elements > high ? elements : high;
    }
    char text[64] = "-";
    if (low <= high && high - low < 0.005)
        snprintf(text, sizeof text, "%.2f", high);
    else if (low < high)
        snprintf(text, sizeof text, "%.2f to %.2f", low, high);
    ar_table_text(table, text);
    return high;
}

static void write_model(FILE *out, const ar_rows *rows, size_t row, ar_params same) {
    const double numbers[] = {
        ar_rows_number(rows, row, "layers"), ar_rows_number(rows, row, "block"),
        ar_rows_number(rows, row, "streams"), ar_rows_number(rows, row, "width")};
    size_t whole[4];
    for (size_t i = 0; i < 4; i++) {
        if (!(numbers[i] >= 1 && numbers[i] <= 1e9)) {
            ar_prose(out, "A row lacks layers, block, streams or width: nothing to count.");
            return;
        }
        whole[i] = (size_t)numbers[i];
    }
    const size_t L = whole[0], S = whole[1], m = whole[2], d = whole[3];
    const double standard = ar_traffic_exact(AR_STANDARD, AR_TWO_PHASE, L, S, m, 1, L);
    ar_prose(out,
             "**%s: L = %zu layers, S = %zu layers a block, N = %zu blocks, d = %zu, m = %zu "
             "streams.** Vectors of d per token and layer, mean over the depth:",
             ar_rows_param(rows, row, AR_P_MODEL), L, S, (L - 1) / S + 1, d, m);
    double cut = 0;
    ar_table table = {.columns = 7};
    const char *const titles[] = {"mechanism",        "form",   "paper",     "exact",
                                  "exact / standard", "as run", "difference"};
    for (size_t c = 0; c < 7; c++)
        ar_table_text(&table, titles[c]);
    for (size_t k = 0; k < sizeof listed / sizeof *listed; k++) {
        const ar_mechanism_id id = listed[k].id;
        const ar_form form = listed[k].form;
        const double exact = ar_traffic_exact(id, form, L, S, m, 1, L);
        ar_table_text(&table, ar_mechanism_names[id]);
        ar_table_text(&table, listed[k].formed ? ar_form_names[form] : "-");
        ar_table_fixed(&table, ar_traffic_paper(id, form, L, S, m, d), 2);
        ar_table_fixed(&table, exact / (double)L, 2);
        ar_table_fixed(&table, exact / standard, 2);
        const double run = add_as_run(&table, rows, row, same, &listed[k]);
        if (id == AR_BLOCK && form == AR_TWO_PHASE && run > 1.05 * exact / (double)L) cut = run;
        ar_table_text(&table, reason(id, form));
    }
    ar_table_write(&table, out);
    if (cut > 0)
        ar_prose(
            out,
            "As run, Block two-phase moves up to %.2f: where a chunk ends inside a block, phase "
            "1 reads all finished blocks again for the layers that are left of it.",
            cut);
    ar_prose(out,
             "The output head adds, once per token, %.0f vectors for Block and %.0f for Full "
             "AttnRes.",
             ar_traffic_head(AR_BLOCK, L, S), ar_traffic_head(AR_FULL, L, S));
}

void ar_section_memory(FILE *out, const ar_rows *rows) {
    if (rows->good_count == 0) return;
    const ar_params same = AR_PARAM(AR_P_MODEL) | AR_PARAM(AR_P_LAYERS) | AR_PARAM(AR_P_BLOCK) |
                           AR_PARAM(AR_P_WIDTH) | AR_PARAM(AR_P_STREAMS);
    fprintf(out, "## Memory I/O\n\n");
    ar_prose(out,
             "*Paper* is Table 1's count. *Exact* is what the kernels load and store over the "
             "whole depth as one chunk, each pass over a vector counted once "
             "(kernels/traffic.c, from the columns `layers`, `block`, `width`, `streams`); mHC "
             "unfused is counted as the paper does. "
             "*As run* is the column `exact_elements`: the same with the chunks of the rows, "
             "which cut blocks. The traffic of the layers themselves is left out.");
    ar_prose(out,
             "Measured traffic and times are of the kernels, not of these rows: `attnres bench "
             "--traffic cachesim -o` with this directory adds them.");
    for (size_t i = 0; i < rows->good_count; i++)
        if (ar_rows_first(rows, rows->good[i], ~same) == rows->good[i])
            write_model(out, rows, rows->good[i], same);
    ar_prose(out, "Why the two counts differ: the paper counts keys and values as separate reads, "
                  "though they are the same vectors and one load serves both; it takes every layer "
                  "to have all N blocks (Full: all L layers) as sources, though block n has n; and "
                  "it leaves out writing and reading again the partial sum inside a block, which "
                  "the kernels do for every layer but a block's first.");
}
