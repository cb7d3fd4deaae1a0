/* Plots and timelines: which rows they show, and the files beside the report. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "prose.h"
#include "sections.h"
#include "timeline.h"
#include "words.h"

enum { GROUPS = 16, SERIES = 8, NAME_SIZE = 96, PATH_SIZE = 4096 };

/* ---- plots ---- */

static const ar_params varied =
    AR_PARAM(AR_P_PLATFORM) | AR_PARAM(AR_P_CACHE) | AR_PARAM(AR_P_MECHANISM);

/* Labels in order of appearance; what does not fit is left out. */
typedef struct {
    char text[GROUPS][NAME_SIZE];
    const char *label[GROUPS];
    size_t count;
} labels;

static size_t find_label(labels *l, const char *text, size_t max) {
    size_t i = 0;
    while (i < l->count && strncmp(l->text[i], text, NAME_SIZE - 1) != 0)
        i++;
    if (i < l->count || i == max) return i;
    snprintf(l->text[i], NAME_SIZE, "%s", text);
    l->label[i] = l->text[i];
    l->count++;
    return i;
}

typedef struct {
    labels group, series;
    double value[SERIES][GROUPS];
} grid;

/* Bars of a column over the points like base. By platform: a bar for each mechanism
 * and cache; else, by mechanism, a bar for each cache, of base's platform. */
static void fill(grid *g, const ar_rows *rows, size_t base, const char *column, bool by_platform,
                 bool standard) {
    memset(g, 0, sizeof *g);
    for (size_t s = 0; s < SERIES; s++)
        for (size_t i = 0; i < GROUPS; i++)
            g->value[s][i] = NAN;
    const ar_params free = by_platform ? varied : varied & ~AR_PARAM(AR_P_PLATFORM);
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        const double value = ar_rows_number(rows, row, column);
        const bool is_standard = ar_rows_is(rows, row, AR_P_MECHANISM, "standard");
        if (!ar_rows_same(rows, row, base, free) || isnan(value) || (is_standard && !standard))
            continue;
        char name[NAME_SIZE];
        const char *mechanism = ar_rows_param(rows, row, AR_P_MECHANISM);
        const char *cache = ar_rows_param(rows, row, AR_P_CACHE);
        if (!by_platform)
            snprintf(name, sizeof name, "cache %s", cache);
        else if (is_standard)
            snprintf(name, sizeof name, "standard");
        else
            snprintf(name, sizeof name, "%s, cache %s", mechanism, cache);
        const size_t s = find_label(&g->series, name, SERIES);
        const size_t p = find_label(
            &g->group, by_platform ? ar_rows_param(rows, row, AR_P_PLATFORM) : mechanism, GROUPS);
        if (s < SERIES && p < GROUPS && isnan(g->value[s][p])) g->value[s][p] = value;
    }
}

/* The point whose like, but for what is varied, are the most. */
static size_t find_base(const ar_rows *rows) {
    size_t best = rows->good[0], most = 0;
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        size_t count = 0;
        if (ar_rows_first(rows, row, varied) != row) continue;
        for (size_t j = 0; j < rows->good_count; j++)
            count += ar_rows_same(rows, rows->good[j], row, varied);
        if (count > most) {
            most = count;
            best = row;
        }
    }
    return best;
}

static void write_plot(FILE *out, const grid *g, const char *dir, const char *name,
                       const char *title, const char *axis, ar_unit unit, bool claim) {
    if (g->group.count == 0) return;
    double value[SERIES * GROUPS];
    for (size_t s = 0; s < g->series.count; s++)
        memcpy(value + s * g->group.count, g->value[s], g->group.count * sizeof *value);
    const ar_bars bars = {title,
                          axis,
                          unit,
                          g->group.label,
                          g->group.count,
                          g->series.label,
                          g->series.count,
                          value,
                          claim ? 4 : NAN,
                          "the paper's claim: below 4 %"};
    ar_err err;
    if (ar_plot_bars(dir, name, &bars, &err) == AR_OK) {
        fprintf(out, "![%s](plots/%s.svg)\n\n", title, name);
        ar_prose(out, "[PNG](plots/%s.png), [data and script](plots/%s.gp)", name, name);
        return;
    }
    fprintf(stderr, "report: plot %s is missing: %s\n", name, err.text);
    ar_prose(out,
             "(Plot missing: %s: %s. Where gnuplot is installed, run `gnuplot %s.gp` in "
             "plots/.)",
             title, err.text, name);
}

void ar_section_plots(FILE *out, const ar_rows *rows, const char *dir) {
    if (rows->good_count == 0) return;
    const size_t base = find_base(rows);
    const ar_params extra = ar_rows_varying(rows, varied);
    fprintf(out, "## Plots\n\n");
    if (extra) {
        ar_paragraph p;
        FILE *text = ar_paragraph_begin(&p);
        if (text) {
            fprintf(text, "Of the points with ");
            ar_words_where(text, rows, base, extra);
            fprintf(text, ":");
        }
        ar_paragraph_end(&p, out);
    }
    grid g;
    fill(&g, rows, base, "overhead_percent", true, false);
    write_plot(out, &g, dir, "overhead", "Overhead against the standard residual, by interconnect",
               "overhead, %", AR_UNIT_NONE, true);
    fill(&g, rows, base, "exposed_comm_s", true, true);
    write_plot(out, &g, dir, "exposed", "Exposed communication in a step, by interconnect",
               "step - F", AR_UNIT_S, false);
    fill(&g, rows, base, "sent_bytes", false, true);
    write_plot(out, &g, dir, "bytes", "Bytes sent in a step, by cache policy", "sent in a step",
               AR_UNIT_B, false);
}

/* ---- timelines ---- */

/* A file beside results.csv: no way out of the directory. */
static bool is_inside(const char *name) {
    return name[0] != '/' && !strstr(name, "..");
}

/* name without ".csv", with another ending */
static void beside(char *path, size_t size, const char *name, const char *ending) {
    const size_t length = strlen(name);
    const bool csv = length > 4 && strcmp(name + length - 4, ".csv") == 0;
    snprintf(path, size, "%.*s%s", (int)(csv ? length - 4 : length), name, ending);
}

static void write_title(FILE *text, const ar_rows *rows, size_t row) {
    fprintf(text, "%s, ", ar_words_mechanism(ar_rows_param(rows, row, AR_P_MECHANISM)));
    fprintf(text, "cache %s, ", ar_rows_param(rows, row, AR_P_CACHE));
    fprintf(text, "%s, ", ar_rows_param(rows, row, AR_P_PLATFORM));
    fprintf(text, "%s stages x %s chunks, ", ar_rows_param(rows, row, AR_P_STAGES),
            ar_rows_param(rows, row, AR_P_VIRTUAL));
    fprintf(text, "%s micro-batches", ar_rows_param(rows, row, AR_P_MICROBATCHES));
}

static ar_status join(char path[PATH_SIZE], const char *dir, const char *name, ar_err *err) {
    if (snprintf(path, PATH_SIZE, "%s/%s", dir, name) < PATH_SIZE) return AR_OK;
    return ar_fail(err, AR_EINPUT, "%.200s/%.200s: path too long", dir, name);
}

static ar_status write_files(const ar_rows *rows, size_t row, const char *dir, const char *name,
                             const char *svg, const char *trace, ar_err *err) {
    char path[PATH_SIZE], *title = NULL;
    size_t size = 0;
    ar_timeline timeline;
    if (!is_inside(name)) return ar_fail(err, AR_EINPUT, "%.200s: not beside results.csv", name);
    ar_status status = join(path, dir, name, err);
    if (status == AR_OK) status = ar_timeline_read(path, &timeline, err);
    if (status != AR_OK) return status;
    FILE *text = open_memstream(&title, &size);
    if (text) {
        write_title(text, rows, row);
        fclose(text);
    }
    status = join(path, dir, trace, err);
    if (status == AR_OK) status = ar_timeline_trace(&timeline, path, err);
    if (status == AR_OK) status = join(path, dir, svg, err);
    if (status == AR_OK) status = ar_timeline_svg(&timeline, title ? title : "", path, err);
    ar_timeline_free(&timeline);
    free(title);
    return status;
}

/* Of the points with a timeline the one with the lowest and highest overhead, the
 * standard residual left aside: these are worth a picture. AR_NO_ROW: none. */
static void find_pictures(const ar_rows *rows, long picture[2]) {
    double low = INFINITY, high = -INFINITY;
    picture[0] = picture[1] = AR_NO_ROW;
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        double overhead = ar_rows_number(rows, row, "overhead_percent");
        if (!*ar_csv_get(&rows->csv, row, "timeline")) continue;
        if (isnan(overhead) || ar_rows_is(rows, row, AR_P_MECHANISM, "standard")) {
            if (picture[0] < 0) picture[0] = picture[1] = (long)row;
            continue;
        }
        if (overhead < low) picture[0] = (long)row;
        if (overhead > high) picture[1] = (long)row;
        low = overhead < low ? overhead : low;
        high = overhead > high ? overhead : high;
    }
}

static void write_picture(FILE *out, const ar_rows *rows, size_t row) {
    char svg[PATH_SIZE];
    beside(svg, sizeof svg, ar_csv_get(&rows->csv, row, "timeline"), ".svg");
    ar_paragraph p;
    FILE *text = ar_paragraph_begin(&p);
    if (!text) return;
    write_title(text, rows, row);
    fprintf(text, " (step %s, overhead %s):",
            ar_show(AR_UNIT_S, ar_rows_number(rows, row, "step_s")).text,
            ar_show_percent(ar_rows_number(rows, row, "overhead_percent")).text);
    ar_paragraph_end(&p, out);
    fprintf(out, "![timeline](%s)\n\n", svg);
}

/* A table line with links to the files of a row, or with why there are none. */
static bool add_files(ar_table *table, const ar_rows *rows, size_t row, const char *dir) {
    const char *name = ar_csv_get(&rows->csv, row, "timeline");
    char svg[PATH_SIZE], trace[PATH_SIZE], links[3 * PATH_SIZE];
    ar_err err;
    beside(svg, sizeof svg, name, ".svg");
    beside(trace, sizeof trace, name, ".trace.json");
    ar_words_cells(table, rows, row, varied);
    if (write_files(rows, row, dir, name, svg, trace, &err) != AR_OK) {
        fprintf(stderr, "report: timeline is missing: %s\n", err.text);
        snprintf(links, sizeof links, "missing: %s", err.text);
        ar_table_text(table, links);
        return false;
    }
    snprintf(links, sizeof links, "[SVG](%s), [trace](%s), [data](%s)", svg, trace, name);
    ar_table_text(table, links);
    return true;
}

void ar_section_timelines(FILE *out, const ar_rows *rows, const char *dir) {
    long picture[2];
    find_pictures(rows, picture);
    if (picture[0] < 0) return;
    fprintf(out, "## Timeline\n\n");
    ar_prose(out, "One lane for each rank, a box for each computation; what is blank is idle: the "
                  "bubble and exposed communication. The traces open in Perfetto "
                  "(ui.perfetto.dev).");
    ar_table table = {.columns = ar_words_count(varied) + 1};
    ar_words_header(&table, varied);
    ar_table_text(&table, "files");
    bool drawn[2] = {false, false};
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        if (!*ar_csv_get(&rows->csv, row, "timeline")) continue;
        const bool fine = add_files(&table, rows, row, dir);
        for (int k = 0; k < 2; k++)
            drawn[k] |= fine && picture[k] == (long)row;
    }
    if (drawn[0]) write_picture(out, rows, (size_t)picture[0]);
    if (drawn[1] && picture[1] != picture[0]) write_picture(out, rows, (size_t)picture[1]);
    ar_table_write(&table, out);
}
