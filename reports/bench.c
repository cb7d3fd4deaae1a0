/* Kernels on this machine: the paper's Table 1 beside what they count, move and reach. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mechanism.h"
#include "prose.h"
#include "sections.h"
#include "table.h"
#include "words.h"

static const char *text(const ar_csv *csv, size_t row, const char *column) {
    const char *cell = ar_csv_get(csv, row, column);
    return *cell ? cell : "-";
}

static bool is(const ar_csv *csv, size_t row, const char *column, const char *value) {
    return strcmp(ar_csv_get(csv, row, column), value) == 0;
}

static bool same(const ar_csv *csv, size_t a, size_t b, const char *const *columns) {
    for (; *columns; columns++)
        if (!is(csv, a, *columns, ar_csv_get(csv, b, *columns))) return false;
    return true;
}

/* What a table's rows share, and what tells them apart. */
static const char *const shape[] = {"layers", "block",   "tokens",    "width",
                                    "dtype",  "streams", "direction", NULL};
static const char *const key[] = {"mechanism", "form",   "phase", "threads",
                                  "variant",   "window", NULL};

/* Form and variant in a cell: "one-pass, sliding-window 8"; "-" without either. */
typedef struct {
    char text[128];
} form_cell;
static form_cell show_form(const ar_csv *csv, size_t row) {
    form_cell cell;
    const char *form = text(csv, row, "form"), *variant = ar_csv_get(csv, row, "variant");
    const bool none = !*variant || strcmp(variant, "none") == 0, bare = strcmp(form, "-") == 0;
    const bool window = strcmp(variant, "sliding-window") == 0;
    snprintf(cell.text, sizeof cell.text, "%.40s%s%.40s%s%.20s", bare && !none ? "" : form,
             bare || none ? "" : ", ", none ? "" : variant, window ? " " : "",
             window ? ar_csv_get(csv, row, "window") : "");
    return cell;
}

/* Rows were appended: the last of the same case counts. */
static bool superseded(const ar_csv *csv, size_t row) {
    for (size_t i = row + 1; i < csv->rows; i++)
        if (same(csv, row, i, shape) && same(csv, row, i, key)) return true;
    return false;
}

static bool opens_table(const ar_csv *csv, size_t row) {
    for (size_t i = 0; i < row; i++)
        if (same(csv, row, i, shape)) return false;
    return true;
}

/* ---- why the counts differ ---- */

static const char *paper_to_exact(const char *mechanism, const char *form, bool backward) {
    if (backward) return "no count of the backward";
    const bool one_pass = strcmp(form, "one-pass") == 0;
    if (strcmp(mechanism, "standard") == 0) return "none: h and v in, h out";
    if (strcmp(mechanism, "mhc") == 0)
        return strcmp(form, "unfused") == 0
                   ? "the m x m coefficients (2m^2 + 4m numbers) are left out"
                   : "one pass for five: what they hand on stays in registers and cache";
    if (one_pass || (strcmp(mechanism, "full") != 0 && strcmp(mechanism, "block") != 0))
        return "the paper gives no count";
    if (strcmp(mechanism, "full") == 0) return "K = V is one read; layer l has l sources, not L";
    return "K = V is one read; block n has n sources, not N; the partial sum is written and read "
           "again, but for a block's first layer";
}

static const char *back_to_fused(const char *mechanism, const char *variant) {
    const bool block = strcmp(mechanism, "block") == 0;
    if (strcmp(variant, "own-query") == 0)
        return "what layers give to the sources before their group waits for its first layer";
    if (strcmp(variant, "sigmoid") == 0) return block ? "two phases" : "the cheaper form";
    if (strcmp(mechanism, "mhc") == 0)
        return "write coefficients that the forward keeps, so that dv needs no streams";
    if (block) return "two phases, dh.h of a block's first layer in the pass over all its sources";
    if (strcmp(mechanism, "full") == 0)
        return "the cheaper form, dh.h in passes that read dh anyway";
    return "all layers at once";
}

static const char *exact_to_fused(const char *mechanism, const char *form, const char *variant,
                                  bool backward) {
    if (backward) return back_to_fused(mechanism, variant);
    if (strcmp(variant, "own-query") == 0)
        return "a block's last addition inside the next layer's pass";
    if (strcmp(variant, "sliding-window") == 0)
        return "for each group the cheaper of one pass and two, over what its windows show";
    if (strcmp(mechanism, "mhc") == 0)
        return strcmp(form, "unfused") == 0
                   ? "one pass for five: H and v in, H and h out (2m + 2)"
                   : "the first read-out and the last addition with another pass (2m + 2)";
    if (strcmp(mechanism, "block") == 0)
        return "the cheaper form for each block; a block's last addition inside the next phase 1";
    if (strcmp(mechanism, "full") == 0) return "the cheaper form for each group";
    return "none: every vector is used once";
}

/* The row's last one of this mechanism and form: threads do not change the counts. */
static bool counts_again(const ar_csv *csv, size_t row) {
    static const char *const who[] = {"mechanism", "form", "phase", "variant", "window", NULL};
    for (size_t i = row + 1; i < csv->rows; i++)
        if (same(csv, row, i, shape) && same(csv, row, i, who)) return true;
    return false;
}

static void write_differences(FILE *out, const ar_csv *csv, size_t row) {
    const double exact = ar_csv_number(csv, row, "exact_elements");
    const double fused = ar_csv_number(csv, row, "fused_elements");
    const double measured = ar_csv_number(csv, row, "measured_elements");
    const double allocated = ar_csv_number(csv, row, "allocate_elements");
    const char *mechanism = ar_csv_get(csv, row, "mechanism"), *form = text(csv, row, "form");
    const char *variant = ar_csv_get(csv, row, "variant");
    const form_cell shown = show_form(csv, row);
    const bool backward = is(csv, row, "direction", "backward");
    char seen[64] = "", more[96] = "";
    if (!isnan(measured))
        snprintf(seen, sizeof seen, " Measured / exact: %+.1f %%.", 100 * (measured / exact - 1));
    if (allocated > 0.005)
        snprintf(more, sizeof more, " Ordinary stores would first read %.2f more.", allocated);
    ar_prose(out, "- %s%s%s. Paper: %s. Fused: %s.%s%s", mechanism, *shown.text == '-' ? "" : " ",
             *shown.text == '-' ? "" : shown.text, paper_to_exact(mechanism, form, backward),
             isnan(fused)            ? "not counted"
             : exact - fused > 0.005 ? exact_to_fused(mechanism, form, variant, backward)
                                     : "the same",
             seen, more);
}

static void write_counts(FILE *out, const ar_csv *csv, size_t first) {
    static const char *const titles[] = {"mechanism",  "form",     "paper",           "exact",
                                         "best fused", "measured", "measured / exact"};
    enum { COLUMNS = sizeof titles / sizeof *titles };
    ar_table table = {.columns = COLUMNS};
    for (size_t c = 0; c < COLUMNS; c++)
        ar_table_text(&table, titles[c]);
    for (size_t i = first; i < csv->rows; i++) {
        if (!same(csv, first, i, shape) || !is(csv, i, "phase", "all") || counts_again(csv, i))
            continue;
        const double exact = ar_csv_number(csv, i, "exact_elements");
        const double measured = ar_csv_number(csv, i, "measured_elements");
        ar_table_text(&table, text(csv, i, "mechanism"));
        ar_table_text(&table, show_form(csv, i).text);
        ar_table_fixed(&table, ar_csv_number(csv, i, "paper_elements"), 2);
        ar_table_fixed(&table, exact, 2);
        ar_table_fixed(&table, ar_csv_number(csv, i, "fused_elements"), 2);
        ar_table_fixed(&table, measured, 2);
        ar_table_fixed(&table, measured / exact, 3);
    }
    ar_table_write(&table, out);
    for (size_t i = first; i < csv->rows; i++)
        if (same(csv, first, i, shape) && is(csv, i, "phase", "all") && !counts_again(csv, i))
            write_differences(out, csv, i);
    fputc('\n', out);
}

/* ---- time ---- */

/* Median time of the standard residual with as many threads; NAN. */
static double standard_s(const ar_csv *csv, size_t row) {
    double found = NAN;
    for (size_t i = 0; i < csv->rows; i++)
        if (same(csv, row, i, shape) && is(csv, i, "mechanism", "standard") &&
            is(csv, i, "threads", ar_csv_get(csv, row, "threads")) && is(csv, i, "status", "ok"))
            found = ar_csv_number(csv, i, "median_s");
    return found;
}

static void write_times(FILE *out, const ar_csv *csv, size_t first) {
    static const char *const titles[] = {"mechanism", "form",          "phase",      "threads",
                                         "time",      "99 % interval", "/ standard", "GB/s",
                                         "of roof",   "roof",          "gflop/s",    "of peak",
                                         "flop / B",  "error",         "allowed"};
    enum { COLUMNS = sizeof titles / sizeof *titles };
    ar_table table = {.columns = COLUMNS};
    for (size_t c = 0; c < COLUMNS; c++)
        ar_table_text(&table, titles[c]);
    for (size_t i = first; i < csv->rows; i++) {
        const double median = ar_csv_number(csv, i, "median_s");
        if (!same(csv, first, i, shape) || superseded(csv, i) || isnan(median)) continue;
        if (!is(csv, i, "status", "ok")) continue;
        const double low = ar_csv_number(csv, i, "low_s"), high = ar_csv_number(csv, i, "high_s");
        char interval[64] = "-", error[32], allowed[32];
        if (!isnan(low))
            snprintf(interval, sizeof interval, "%+.1f to %+.1f %%", 100 * (low / median - 1),
                     100 * (high / median - 1));
        snprintf(error, sizeof error, "%.1e", ar_csv_number(csv, i, "max_rel_error"));
        snprintf(allowed, sizeof allowed, "%.1e", ar_csv_number(csv, i, "tolerance"));
        ar_table_text(&table, text(csv, i, "mechanism"));
        ar_table_text(&table, show_form(csv, i).text);
        ar_table_text(&table, text(csv, i, "phase"));
        ar_table_text(&table, text(csv, i, "threads"));
        ar_table_quantity(&table, AR_UNIT_S, median);
        ar_table_text(&table, interval);
        ar_table_fixed(&table, median / standard_s(csv, i), 2);
        ar_table_fixed(&table, ar_csv_number(csv, i, "gbytes_s"), 1);
        ar_table_text(&table, ar_show_percent(ar_csv_number(csv, i, "roof_percent")).text);
        ar_table_text(&table, text(csv, i, "roof_kernel"));
        ar_table_fixed(&table, ar_csv_number(csv, i, "gflops"), 1);
        ar_table_text(&table, ar_show_percent(ar_csv_number(csv, i, "peak_percent")).text);
        ar_table_fixed(&table, ar_csv_number(csv, i, "intensity"), 2);
        ar_table_text(&table, error);
        ar_table_text(&table, allowed);
    }
    ar_table_write(&table, out);
}

/* What a reader must know of a row before believing it; "" if nothing. */
static void remark(const ar_csv *csv, size_t row, char *all, size_t size) {
    const char *status = ar_csv_get(csv, row, "status");
    const char *notes = ar_csv_get(csv, row, "notes");
    const char *traffic = ar_csv_get(csv, row, "traffic_note");
    const bool failed = strcmp(status, "failed") == 0, ok = strcmp(status, "ok") == 0;
    const bool unmeasured = *traffic && isnan(ar_csv_number(csv, row, "measured_elements"));
    const bool wide = is(csv, row, "interval_reached", "no");
    snprintf(all, size, "%s%s%s%s%s%s%s", failed ? "FAILED: " : "",
             ok ? "" : ar_csv_get(csv, row, "reason"), !ok && *notes ? "; " : "", notes,
             unmeasured && (*notes || !ok) ? "; " : "", unmeasured ? "traffic " : "",
             unmeasured ? traffic : "");
    const size_t used = strlen(all);
    if (wide)
        snprintf(all + used, size - used, "%sthe wanted interval was not reached",
                 used ? "; " : "");
}

/* One item for each remark, with the rows that it is of. */
static void write_remarks(FILE *out, const ar_csv *csv, size_t first) {
    enum { SIZE = 2048 };
    char mine[SIZE], other[SIZE];
    for (size_t i = first; i < csv->rows; i++) {
        bool said = false;
        ar_paragraph paragraph;
        if (!same(csv, first, i, shape) || superseded(csv, i)) continue;
        remark(csv, i, mine, sizeof mine);
        for (size_t j = first; j < i && !said; j++) {
            if (!same(csv, first, j, shape) || superseded(csv, j)) continue;
            remark(csv, j, other, sizeof other);
            said = strcmp(mine, other) == 0;
        }
        FILE *stream = mine[0] && !said ? ar_paragraph_begin(&paragraph) : NULL;
        if (!stream) continue;
        fputs("- ", stream);
        for (size_t j = i; j < csv->rows; j++) {
            if (!same(csv, first, j, shape) || superseded(csv, j)) continue;
            remark(csv, j, other, sizeof other);
            if (strcmp(mine, other) != 0) continue;
            fprintf(stream, "%s%s %s (phase %s, threads %s)", j == i ? "" : ", ",
                    text(csv, j, "mechanism"), show_form(csv, j).text, text(csv, j, "phase"),
                    text(csv, j, "threads"));
        }
        fprintf(stream, ": %s.", mine);
        ar_paragraph_end(&paragraph, out);
    }
    fputc('\n', out);
}

void ar_section_bench(FILE *out, const char *dir) {
    char path[4096];
    ar_csv csv;
    ar_err err = {{0}};
    if (snprintf(path, sizeof path, "%s/bench.csv", dir) >= (int)sizeof path ||
        access(path, F_OK) != 0)
        return;
    fprintf(out, "## Kernels on this machine\n\n");
    if (ar_csv_read(path, &csv, &err) != AR_OK) {
        ar_prose(out, "The file cannot be used: %s.", err.text);
        return;
    }
    ar_prose(out, "From bench.csv (`attnres bench`): a walk through the whole depth, the layers "
                  "themselves and the output head left out. Vectors of d per token and layer: "
                  "*paper* is Table 1; *exact* what our kernels load and store; *best fused* the "
                  "least that any fusion of the same mechanism moves; *measured* what a cache "
                  "simulator or the memory controller's counters saw.");
    for (size_t i = 0; i < csv.rows; i++) {
        if (!opens_table(&csv, i)) continue;
        ar_prose(out,
                 "**L = %s layers, S = %s, T = %s tokens, d = %s, %s, %s; m = %s streams.** "
                 "%s, %s; commit %s, %s.",
                 text(&csv, i, "layers"), text(&csv, i, "block"), text(&csv, i, "tokens"),
                 text(&csv, i, "width"), text(&csv, i, "dtype"), text(&csv, i, "direction"),
                 text(&csv, i, "streams"), text(&csv, i, "processor"), text(&csv, i, "isa"),
                 text(&csv, i, "commit"), text(&csv, i, "date"));
        write_counts(out, &csv, i);
        write_times(out, &csv, i);
        write_remarks(out, &csv, i);
    }
    ar_prose(out, "*Of roof*: exact bytes a second against the best STREAM-type kernel of the "
                  "nearest mix of reads and writes (\"nt\": with non-temporal stores), run in turn "
                  "with the subject in the same minutes; of kernels that write in place and such "
                  "that do not the faster is the roof. A share above 100 %% means that the "
                  "subject's vectors stayed in a cache, or that no kernel of the roof is as fast "
                  "as that mix can be. *Of peak*: against independent fp32 "
                  "multiply-adds in registers.");
    ar_csv_free(&csv);
}
