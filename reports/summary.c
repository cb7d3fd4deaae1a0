#include <math.h>
#include <string.h>

#include "prose.h"
#include "sections.h"
#include "words.h"

enum { MAX_VALUES = 64, MAX_PLACES = 6 }; /* platforms, caches, mechanisms that the text names */

ar_extent ar_extent_find(const ar_rows *rows, const char *mechanism, const char *pass,
                         long platform, long cache, double limit_percent) {
    ar_extent extent = {0};
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        const double overhead = ar_rows_number(rows, row, "overhead_percent");
        if (isnan(overhead) || !ar_rows_is(rows, row, AR_P_MECHANISM, mechanism)) continue;
        if (pass && !ar_rows_is(rows, row, AR_P_PASS, pass)) continue;
        if (platform >= 0 && !ar_rows_is(rows, row, AR_P_PLATFORM,
                                         ar_csv_get(&rows->csv, (size_t)platform, "platform")))
            continue;
        if (cache >= 0 &&
            !ar_rows_is(rows, row, AR_P_CACHE, ar_csv_get(&rows->csv, (size_t)cache, "cache")))
            continue;
        if (extent.points == 0 || overhead < extent.low) {
            extent.low = overhead;
            extent.lowest = row;
        }
        if (extent.points == 0 || overhead > extent.high) {
            extent.high = overhead;
            extent.highest = row;
        }
        extent.points++;
        extent.below += overhead < limit_percent;
    }
    return extent;
}

static void write_extremes(FILE *out, const ar_rows *rows) {
    size_t mechanism[MAX_VALUES];
    const size_t count = ar_rows_values(rows, AR_P_MECHANISM, mechanism, MAX_VALUES);
    const ar_params shown = AR_PARAM(AR_P_PLATFORM) | AR_PARAM(AR_P_CACHE);
    const ar_params where = shown | ar_rows_varying(rows, shown | AR_PARAM(AR_P_MECHANISM));
    for (size_t i = 0; i < count; i++) {
        const char *name = ar_rows_param(rows, mechanism[i], AR_P_MECHANISM);
        const ar_extent extent = ar_extent_find(rows, name, NULL, AR_NO_ROW, AR_NO_ROW, INFINITY);
        if (extent.points == 0 || strcmp(name, "standard") == 0) continue;
        ar_paragraph p;
        FILE *text = ar_paragraph_begin(&p);
        if (!text) return;
        fprintf(text, "- **%s** adds %s to the step of the standard residual at best (",
                ar_words_mechanism(name), ar_show_percent(extent.low).text);
        ar_words_where(text, rows, extent.lowest, where);
        fprintf(text, ")");
        if (extent.points > 1) {
            fprintf(text, " and %s at worst (", ar_show_percent(extent.high).text);
            ar_words_where(text, rows, extent.highest, where);
            fprintf(text, ")");
        }
        fprintf(text, ".");
        ar_paragraph_end(&p, out);
    }
}

/* " 50.30 % (received)": the share of the bytes that a cache saves against none, over
 * the rows of a mechanism. False: no two rows tell. */
static bool write_saving(FILE *text, const char *before, const ar_rows *rows, const char *mechanism,
                         const char *cache) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        if (!ar_rows_is(rows, row, AR_P_MECHANISM, mechanism) ||
            !ar_rows_is(rows, row, AR_P_CACHE, cache))
            continue;
        const long none = ar_rows_find(rows, row, 0, AR_P_CACHE, "none");
        const double sent = ar_rows_number(rows, row, "sent_bytes");
        const double all = none < 0 ? NAN : ar_rows_number(rows, (size_t)none, "sent_bytes");
        if (isnan(sent) || isnan(all)) continue;
        const double saved = all > 0 ? 100 * (1 - sent / all) : 0;
        low = saved < low ? saved : low;
        high = saved > high ? saved : high;
    }
    if (low > high) return false;
    fprintf(text, "%s", before);
    ar_words_range(text, low, high);
    fprintf(text, " (%s)", cache);
    return true;
}

static void write_savings(FILE *out, const ar_rows *rows) {
    static const char *const with_blocks[] = {"block", "full", "denseformer"};
    for (size_t i = 0; i < sizeof with_blocks / sizeof *with_blocks; i++) {
        const char *name = with_blocks[i];
        ar_paragraph p;
        FILE *text = ar_paragraph_begin(&p);
        if (!text) return;
        bool any = write_saving(text, "- Caching saves ", rows, name, "received");
        any |= write_saving(text, any ? " and " : "- Caching saves ", rows, name, "own");
        if (any) fprintf(text, " of the bytes that %s sends in a step.", ar_words_mechanism(name));
        ar_paragraph_end(&p, out);
    }
}

static bool meets_claim(const ar_rows *rows, size_t row) {
    return ar_rows_is(rows, row, AR_P_MECHANISM, "block") &&
           ar_rows_is(rows, row, AR_P_PASS, "train") &&
           ar_rows_number(rows, row, "overhead_percent") < 4;
}

/* ": `x`, efficiency 0.4 (cache none, own); `y` (cache own)": where it holds. */
static void write_claim_places(FILE *text, const ar_rows *rows) {
    const ar_params cache = AR_PARAM(AR_P_CACHE);
    const ar_params place = AR_PARAM(AR_P_PLATFORM);
    const ar_params where =
        (place | ar_rows_varying(rows, place)) & ~(AR_PARAM(AR_P_MECHANISM) | cache);
    size_t places = 0;
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        if (!meets_claim(rows, row)) continue;
        size_t first = 0; /* of those that meet it and differ in the cache alone */
        while (!meets_claim(rows, rows->good[first]) ||
               !ar_rows_same(rows, rows->good[first], row, cache))
            first++;
        if (first < i || ++places > MAX_PLACES) continue;
        fprintf(text, places == 1 ? ": " : "; ");
        ar_words_where(text, rows, row, where);
        const char *between = " (cache ";
        for (size_t k = i; k < rows->good_count; k++) {
            const size_t other = rows->good[k];
            if (!meets_claim(rows, other) || !ar_rows_same(rows, other, row, cache)) continue;
            fprintf(text, "%s%s", between, ar_rows_param(rows, other, AR_P_CACHE));
            between = ", ";
        }
        fprintf(text, ")");
    }
    if (places > MAX_PLACES) fprintf(text, "; and %zu more settings", places - MAX_PLACES);
}

static void write_claim(FILE *out, const ar_rows *rows) {
    const ar_extent all = ar_extent_find(rows, "block", "train", AR_NO_ROW, AR_NO_ROW, 4);
    if (all.points == 0) {
        ar_prose(out, "- The paper's claim of less than 4 %% training overhead is not tested by "
                      "these rows: none is Block AttnRes in training with an overhead.");
        return;
    }
    ar_paragraph p;
    FILE *text = ar_paragraph_begin(&p);
    if (!text) return;
    fprintf(text, "- The paper's claim of **less than 4 %% training overhead** holds at ");
    if (all.below == all.points)
        fprintf(text, "all %zu points of Block AttnRes", all.points);
    else if (all.below > 0)
        fprintf(text, "%zu of %zu points of Block AttnRes", all.below, all.points);
    else {
        fprintf(text, "none of %zu points of Block AttnRes; nearest is %s (", all.points,
                ar_show_percent(all.low).text);
        ar_words_where(text, rows, all.lowest, AR_PARAM(AR_P_PLATFORM) | AR_PARAM(AR_P_CACHE));
        fprintf(text, ")");
    }
    if (all.below > 0 && all.below < all.points) write_claim_places(text, rows);
    fprintf(text, ".");
    ar_paragraph_end(&p, out);
}

void ar_section_summary(FILE *out, const ar_rows *rows) {
    fprintf(out, "## In short\n\n");
    const size_t failed = rows->csv.rows - rows->good_count;
    if (rows->good_count == 0) {
        ar_prose(out, "None of the %zu points succeeded; the reasons are below.", failed);
        return;
    }
    const ar_params varying = ar_rows_varying(rows, 0);
    ar_paragraph p;
    FILE *text = ar_paragraph_begin(&p);
    if (!text) return;
    fprintf(text,
            "What does a residual mechanism that attends over depth cost a training or "
            "inference step on a pipeline of accelerators? %zu point%s succeeded",
            rows->good_count, rows->good_count == 1 ? "" : "s");
    if (failed) fprintf(text, " and %zu failed (listed below)", failed);
    fprintf(text, ": ");
    ar_words_point(text, rows, rows->good[0]);
    if (varying) {
        fprintf(text, ". The points differ in ");
        const char *between = "";
        for (ar_param q = 0; q < AR_PARAMS; q++)
            if (varying >> q & 1) {
                fprintf(text, "%s%s", between, ar_param_name(q));
                between = ", ";
            }
        if (varying & ~(AR_PARAMS_RESIDUAL | AR_PARAM(AR_P_PLATFORM)))
            fprintf(text, "; the values above are the first point's");
    }
    fprintf(text, ".");
    ar_paragraph_end(&p, out);

    write_extremes(out, rows);
    write_savings(out, rows);
    write_claim(out, rows);
    ar_section_surprise(out, rows);
}
