/* Failed points, and how the numbers came about. */

#include <math.h>
#include <string.h>

#include "prose.h"
#include "sections.h"
#include "words.h"

void ar_section_failed(FILE *out, const ar_rows *rows) {
    if (rows->good_count == rows->csv.rows) return;
    const ar_params shown = AR_PARAM(AR_P_PLATFORM) | AR_PARAM(AR_P_MECHANISM) |
                            AR_PARAM(AR_P_CACHE) | AR_PARAM(AR_P_STAGES) | AR_PARAM(AR_P_VIRTUAL) |
                            AR_PARAM(AR_P_MICROBATCHES);
    fprintf(out, "## Points that failed\n\n");
    ar_table table = {.columns = ar_words_count(shown) + 2};
    ar_table_text(&table, "row");
    ar_words_header(&table, shown);
    ar_table_text(&table, "reason");
    for (size_t row = 0; row < rows->csv.rows; row++) {
        if (ar_rows_good(rows, row)) continue;
        ar_table_fixed(&table, (double)row + 1, 0);
        ar_words_cells(&table, rows, row, shown);
        ar_table_text(&table, ar_rows_text(rows, row, "reason"));
    }
    ar_table_write(&table, out);
}

/* The distinct values of a column over all rows, in order of appearance. */
static void write_values(FILE *out, const ar_rows *rows, const char *title, const char *column) {
    enum { MOST = 5 };
    size_t seen[MOST], count = 0;
    ar_paragraph p;
    FILE *text = ar_paragraph_begin(&p);
    if (!text) return;
    fprintf(text, "- %s: ", title);
    for (size_t row = 0; row < rows->csv.rows; row++) {
        const char *value = ar_csv_get(&rows->csv, row, column);
        size_t i = 0;
        while (i < count && strcmp(ar_csv_get(&rows->csv, seen[i], column), value) != 0)
            i++;
        if (i < count || !*value) continue;
        if (count == MOST) {
            fprintf(text, "; and more");
            break;
        }
        fprintf(text, "%s%s", count ? "; " : "", value);
        seen[count++] = row;
    }
    if (count == 0) fprintf(text, "-");
    ar_paragraph_end(&p, out);
}

/* ISO dates compare as text. */
static void write_dates(FILE *out, const ar_rows *rows) {
    const char *first = "", *last = "";
    for (size_t row = 0; row < rows->csv.rows; row++) {
        const char *date = ar_csv_get(&rows->csv, row, "date");
        if (*date && (!*first || strcmp(date, first) < 0)) first = date;
        if (strcmp(date, last) > 0) last = date;
    }
    if (*first)
        ar_prose(out, "- Date: %s%s%s", first, strcmp(first, last) ? " to " : "",
                 strcmp(first, last) ? last : "");
}

/* In how many rows a <= b, within rounding; rows without both numbers do not count. */
static void write_check(FILE *out, const ar_rows *rows, const char *a, const char *b, bool equal,
                        const char *text) {
    size_t points = 0, kept = 0;
    for (size_t i = 0; i < rows->good_count; i++) {
        const double x = ar_rows_number(rows, rows->good[i], a);
        const double y = ar_rows_number(rows, rows->good[i], b);
        if (isnan(x) || isnan(y)) continue;
        const double slack = 1e-9 * fabs(y);
        points++;
        kept += x <= y + slack && (!equal || x >= y - slack);
    }
    if (points) ar_prose(out, "- %s (`%s`, `%s`): %zu of %zu points.", text, a, b, kept, points);
}

static void write_engines(FILE *out, const ar_rows *rows) {
    static const char *const engines[][2] = {
        {"smpi", "*smpi*: the rank program runs under SimGrid's SMPI. Real: the program, its plan, "
                 "the order and size of every message. Simulated: the network, from the platform "
                 "file, and the clock. Payloads are not stored."},
        {"openmpi", "*openmpi*: the same program runs as real processes on the machine below; "
                    "messages and clock are real."},
        {"plan", "*plan*: nothing runs; the lists of actions are walked in the order of their "
                 "dependencies, and no two messages share a link: a lower bound."}};
    static const char *const computes[][2] = {
        {"modelled", "Compute *modelled*: a chunk takes matrix work over the device's measured "
                     "peak, plus residual bytes (exact count) over its memory bandwidth, plus a "
                     "cost for every kernel start; backward is twice forward unless given."},
        {"real", "Compute *real*: the kernels run on real tensors, and their output is compared "
                 "with a run in one process and with a double-precision reference."}};
    for (size_t i = 0; i < 3; i++)
        for (size_t row = 0; row < rows->csv.rows; row++)
            if (ar_rows_is(rows, row, AR_P_ENGINE, engines[i][0])) {
                ar_prose(out, "- %s", engines[i][1]);
                break;
            }
    for (size_t i = 0; i < 2; i++)
        for (size_t row = 0; row < rows->csv.rows; row++)
            if (ar_rows_is(rows, row, AR_P_COMPUTE, computes[i][0])) {
                ar_prose(out, "- %s", computes[i][1]);
                break;
            }
}

void ar_section_method(FILE *out, const ar_rows *rows) {
    fprintf(out, "## How this was measured\n\n");
    write_engines(out, rows);
    write_values(out, rows, "Engine", "engine_version");
    write_values(out, rows, "Engine settings", "engine_settings");
    write_values(out, rows, "Machine", "machine");
    write_values(out, rows, "Version", "version");
    write_values(out, rows, "Commit", "commit");
    write_values(out, rows, "Device", "device");
    write_values(out, rows, "Platform", "platform");
    write_values(out, rows, "Receives posted ahead (prefetch)", "prefetch");
    write_values(out, rows, "Repetitions of a step; the median is reported", "repetitions");
    write_dates(out, rows);
    fprintf(out, "\nWhat was checked:\n\n");
    write_check(out, rows, "sent_bytes", "planned_bytes", true,
                "bytes counted at the MPI call equal the plan's");
    write_check(out, rows, "bound_s", "step_s", false,
                "no step beats the critical path without contention");
    write_check(out, rows, "max_rel_error", "tolerance", false,
                "outputs of real kernels agree with the reference");
    fprintf(out, "\n");
    ar_prose(out, "Every number of this report comes from results.csv beside it, by the columns "
                  "named; `-` is a value that the row does not have. A step ends when its last "
                  "rank does. A hop is the transfer from a chunk of layers to the next; it carries "
                  "the completed blocks that the receiver lacks under the cache policy (`none`: "
                  "keeps nothing, `received`: what it was sent, `own`: also what it completed) "
                  "and, where a chunk ends inside a block, the partial sum.");
}
