/* The smallest what-ifs that surprise: looked for in the rows, most telling first. */

#include <math.h>

#include "prose.h"
#include "sections.h"
#include "words.h"

/* A row against the same point without a cache. */
typedef struct {
    size_t row, none;
    double saved;  /* percent of the bytes */
    double faster; /* percent of the step */
} cached;

static bool compare_with_none(const ar_rows *rows, size_t row, cached *found) {
    const long none = ar_rows_find(rows, row, 0, AR_P_CACHE, "none");
    if (none < 0 || (size_t)none == row || ar_rows_is(rows, row, AR_P_MECHANISM, "standard"))
        return false;
    const size_t base = (size_t)none;
    *found = (cached){
        row, base,
        100 * (1 -
               ar_rows_number(rows, row, "sent_bytes") / ar_rows_number(rows, base, "sent_bytes")),
        100 * (1 - ar_rows_number(rows, row, "step_s") / ar_rows_number(rows, base, "step_s"))};
    return isfinite(found->saved) && isfinite(found->faster);
}

static ar_params where(const ar_rows *rows) {
    const ar_params shown =
        AR_PARAM(AR_P_PLATFORM) | AR_PARAM(AR_P_CACHE) | AR_PARAM(AR_P_MECHANISM);
    return shown | ar_rows_varying(rows, shown);
}

static void write_row_name(FILE *text, const ar_rows *rows, size_t row) {
    ar_words_where(text, rows, row, where(rows));
}

/* A cache that costs time; else one that saves much traffic and next to no time. */
static bool write_cache(FILE *out, const ar_rows *rows) {
    cached slowest = {0}, idle = {0};
    for (size_t i = 0; i < rows->good_count; i++) {
        cached c;
        if (!compare_with_none(rows, rows->good[i], &c)) continue;
        if (c.faster < slowest.faster) slowest = c;
        const bool little = c.saved >= 25 && fabs(c.faster) < c.saved / 10;
        if (little && (idle.saved <= 0 || c.faster < idle.faster)) idle = c;
    }
    const bool slower = slowest.faster < -0.1;
    if (!slower && idle.saved <= 0) return false;
    const cached *c = slower ? &slowest : &idle;
    ar_paragraph p;
    FILE *text = ar_paragraph_begin(&p);
    if (!text) return false;
    fprintf(text, "- Caching %s: it takes away %s of the bytes and makes the step %s %s (",
            slower ? "can cost time" : "can save much traffic and little time",
            ar_show_percent(c->saved).text, ar_show_percent(fabs(c->faster)).text,
            c->faster < 0 ? "longer" : "shorter");
    write_row_name(text, rows, c->row);
    const double exposed = ar_rows_number(rows, c->none, "exposed_comm_s");
    const double step = ar_rows_number(rows, c->none, "step_s");
    fprintf(text, ")");
    if (!slower && isfinite(exposed))
        fprintf(text,
                ": without a cache only %s of a step of %s is exposed communication, the rest "
                "of the traffic is hidden behind compute",
                ar_show(AR_UNIT_S, exposed).text, ar_show(AR_UNIT_S, step).text);
    fprintf(text, ".");
    ar_paragraph_end(&p, out);
    return true;
}

/* The dearest point of those whose overhead is mostly memory I/O. */
static bool write_memory(FILE *out, const ar_rows *rows) {
    double highest = 0;
    size_t found = 0;
    ar_overhead parts = {0};
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        const double overhead = ar_rows_number(rows, row, "overhead_percent");
        const ar_overhead o = ar_rows_overhead(rows, row);
        if (!(o.memory > o.communication && overhead > highest)) continue;
        highest = overhead;
        found = row;
        parts = o;
    }
    if (highest <= 0) return false;
    ar_paragraph p;
    FILE *text = ar_paragraph_begin(&p);
    if (!text) return false;
    fprintf(text, "- No network removes it all: with ");
    write_row_name(text, rows, found);
    fprintf(text,
            " the overhead is %s of the standard step, of which %.2f points remain with free "
            "communication: the mechanism's memory I/O and kernel starts.",
            ar_show_percent(highest).text, parts.memory);
    if (parts.memory >= 4 && ar_rows_is(rows, found, AR_P_MECHANISM, "block"))
        fprintf(text, " That alone is more than the 4 %% of the claim.");
    ar_paragraph_end(&p, out);
    return true;
}

/* Where the claim still holds although most of all is spent waiting for the wire. */
static bool write_slowest_link(FILE *out, const ar_rows *rows) {
    double most = -INFINITY;
    size_t found = 0, fails = 0;
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        if (!ar_rows_is(rows, row, AR_P_MECHANISM, "block") ||
            !ar_rows_is(rows, row, AR_P_PASS, "train"))
            continue;
        const double overhead = ar_rows_number(rows, row, "overhead_percent");
        const double share =
            100 * ar_rows_number(rows, row, "exposed_comm_s") / ar_rows_number(rows, row, "step_s");
        fails += overhead >= 4;
        if (overhead < 4 && share > most) {
            most = share;
            found = row;
        }
    }
    if (!(most > 0) || fails == 0) return false;
    ar_paragraph p;
    FILE *text = ar_paragraph_begin(&p);
    if (!text) return false;
    fprintf(text, "- The link that waits most and still meets the claim: with ");
    write_row_name(text, rows, found);
    fprintf(text, ", %s of the step is exposed communication, and yet the overhead is %s",
            ar_show_percent(most).text,
            ar_show_percent(ar_rows_number(rows, found, "overhead_percent")).text);
    const long standard = ar_rows_standard(rows, found);
    if (standard >= 0)
        fprintf(text, ": the standard residual waits for the same link, for %s of its step",
                ar_show_percent(100 * ar_rows_number(rows, (size_t)standard, "exposed_comm_s") /
                                ar_rows_number(rows, (size_t)standard, "step_s"))
                    .text);
    fprintf(text, ".");
    ar_paragraph_end(&p, out);
    return true;
}

void ar_section_surprise(FILE *out, const ar_rows *rows) {
    fprintf(out, "\n**The smallest what-if that surprises.**\n\n");
    bool any = write_cache(out, rows);
    any |= write_memory(out, rows);
    any |= write_slowest_link(out, rows);
    if (!any)
        ar_prose(out, "- None of the surprises looked for is in these rows: a cache that saves "
                      "traffic but no time, an overhead that is mostly memory I/O, a slow link "
                      "on which the claim still holds.");
    fputc('\n', out);
}
