/* What a step costs: overhead by interconnect and cache, then every point. */

#include <math.h>
#include <string.h>

#include "prose.h"
#include "sections.h"
#include "words.h"

enum { MAX_CACHES = 8, MAX_ROWS = 400 };

static const ar_params shown =
    AR_PARAM(AR_P_PLATFORM) | AR_PARAM(AR_P_CACHE) | AR_PARAM(AR_P_MECHANISM);

/* One line for each mechanism and platform, one column for each cache. */
static void write_matrix(FILE *out, const ar_rows *rows) {
    size_t cache[MAX_CACHES];
    const size_t caches = ar_rows_values(rows, AR_P_CACHE, cache, MAX_CACHES);
    const ar_params extra = ar_rows_varying(rows, shown);
    ar_table table = {.columns = ar_words_count(extra) + 2 + caches};
    ar_words_header(&table, extra);
    ar_table_text(&table, "mechanism");
    ar_table_text(&table, "platform");
    for (size_t c = 0; c < caches; c++) {
        char title[64];
        snprintf(title, sizeof title, "cache %s, %%", ar_rows_param(rows, cache[c], AR_P_CACHE));
        ar_table_text(&table, title);
    }
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        if (ar_rows_first(rows, row, AR_PARAM(AR_P_CACHE)) != row ||
            ar_rows_is(rows, row, AR_P_MECHANISM, "standard"))
            continue;
        ar_words_cells(&table, rows, row, extra);
        ar_table_text(&table, ar_rows_param(rows, row, AR_P_MECHANISM));
        ar_table_text(&table, ar_rows_param(rows, row, AR_P_PLATFORM));
        for (size_t c = 0; c < caches; c++) {
            const long cell =
                ar_rows_find(rows, row, 0, AR_P_CACHE,
                             ar_csv_get(&rows->csv, cache[c], ar_param_name(AR_P_CACHE)));
            ar_table_fixed(
                &table, cell < 0 ? NAN : ar_rows_number(rows, (size_t)cell, "overhead_percent"), 2);
        }
    }
    ar_table_write(&table, out);
}

static void write_points(FILE *out, const ar_rows *rows) {
    static const char *const titles[] = {"platform",   "mechanism",    "cache",        "step",
                                         "F",          "bound",        "exposed comm", "bubble %",
                                         "overhead %", "memory I/O %", "comm %"};
    const size_t columns = sizeof titles / sizeof *titles;
    const ar_params extra = ar_rows_varying(rows, shown);
    ar_table table = {.columns = ar_words_count(extra) + columns};
    ar_words_header(&table, extra);
    for (size_t c = 0; c < columns; c++)
        ar_table_text(&table, titles[c]);
    for (size_t i = 0; i < rows->good_count && i < MAX_ROWS; i++) {
        const size_t row = rows->good[i];
        const ar_overhead part = ar_rows_overhead(rows, row);
        ar_words_cells(&table, rows, row, extra);
        ar_table_text(&table, ar_rows_param(rows, row, AR_P_PLATFORM));
        ar_table_text(&table, ar_rows_param(rows, row, AR_P_MECHANISM));
        ar_table_text(&table, ar_rows_param(rows, row, AR_P_CACHE));
        ar_table_quantity(&table, AR_UNIT_S, ar_rows_number(rows, row, "step_s"));
        ar_table_quantity(&table, AR_UNIT_S, ar_rows_number(rows, row, "free_s"));
        ar_table_quantity(&table, AR_UNIT_S, ar_rows_number(rows, row, "bound_s"));
        ar_table_quantity(&table, AR_UNIT_S, ar_rows_number(rows, row, "exposed_comm_s"));
        ar_table_fixed(&table, ar_rows_number(rows, row, "bubble_percent"), 2);
        ar_table_fixed(&table, ar_rows_number(rows, row, "overhead_percent"), 2);
        ar_table_fixed(&table, part.memory, 2);
        ar_table_fixed(&table, part.communication, 2);
    }
    ar_table_write(&table, out);
    if (rows->good_count > MAX_ROWS)
        ar_prose(out, "The first %d of %zu points; results.csv holds all.", (int)MAX_ROWS,
                 rows->good_count);
}

void ar_section_cost(FILE *out, const ar_rows *rows) {
    if (rows->good_count == 0) return;
    fprintf(out, "## What a step costs\n\n");
    ar_prose(out, "Overhead in percent: how much longer the step is than with the standard "
                  "residual on the same point (column `overhead_percent`).");
    write_matrix(out, rows);
    ar_prose(out, "Every point. *F* is the critical path of the same plan with free communication "
                  "(`free_s`); *bound* the critical path without contention (`bound_s`); *exposed "
                  "comm* is step - F (`exposed_comm_s`); *bubble* the share of F in which a rank "
                  "does not compute, mean over ranks (`bubble_percent`). The last two columns "
                  "split the overhead: what memory I/O and kernel starts add to F, and what is "
                  "added to exposed communication; they need a row of the standard residual on "
                  "the same point.");
    write_points(out, rows);
}
