#include "timeline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "units.h"

/* ---- read ---- */

static ar_status take_whole(const ar_csv *csv, size_t row, const char *path, const char *column,
                            int64_t *value, ar_err *err) {
    const char *text = ar_csv_get(csv, row, column), *reason;
    int64_t read;
    if (!ar_count_parse(text, &read, &reason) || read < 0 || read > 1000000)
        return ar_fail(err, AR_EINPUT, "%s:%zu: %s = %.50s: legal: 0 to 1000000", path, row + 2,
                       column, text);
    *value = read;
    return AR_OK;
}

static ar_status take_event(const ar_csv *csv, size_t row, const char *path, ar_event *event,
                            ar_err *err) {
    const char *kind = ar_csv_get(csv, row, "kind"), *pass = ar_csv_get(csv, row, "pass");
    ar_status status = take_whole(csv, row, path, "rank", &event->rank, err);
    if (status == AR_OK) status = take_whole(csv, row, path, "chunk", &event->chunk, err);
    if (status == AR_OK) status = take_whole(csv, row, path, "microbatch", &event->microbatch, err);
    if (status != AR_OK) return status;
    event->wait = strcmp(kind, "wait") == 0;
    event->backward = strcmp(pass, "backward") == 0;
    if (!event->wait && strcmp(kind, "compute") != 0)
        return ar_fail(err, AR_EINPUT, "%s:%zu: kind = %.50s: legal: compute, wait", path, row + 2,
                       kind);
    if (!event->backward && strcmp(pass, "forward") != 0)
        return ar_fail(err, AR_EINPUT, "%s:%zu: pass = %.50s: legal: forward, backward", path,
                       row + 2, pass);
    event->start_s = ar_csv_number(csv, row, "start_s");
    event->end_s = ar_csv_number(csv, row, "end_s");
    if (!(event->start_s >= 0 && event->end_s >= event->start_s))
        return ar_fail(err, AR_EINPUT,
                       "%s:%zu: start_s = %.50s, end_s = %.50s: legal: 0 <= start <= end", path,
                       row + 2, ar_csv_get(csv, row, "start_s"), ar_csv_get(csv, row, "end_s"));
    return AR_OK;
}

ar_status ar_timeline_read(const char *path, ar_timeline *timeline, ar_err *err) {
    ar_csv csv;
    ar_status status = ar_csv_read(path, &csv, err);
    if (status != AR_OK) return status;
    ar_timeline read = {0};
    read.event = calloc(csv.rows + 1, sizeof *read.event);
    if (!read.event) status = ar_fail(err, AR_ERUN, "%s: out of memory", path);
    for (; status == AR_OK && read.count < csv.rows; read.count++) {
        ar_event *e = &read.event[read.count];
        status = take_event(&csv, read.count, path, e, err);
        if (status != AR_OK) break;
        if (e->rank >= read.ranks) read.ranks = e->rank + 1;
        if (e->chunk >= read.chunks) read.chunks = e->chunk + 1;
        if (e->end_s > read.end_s) read.end_s = e->end_s;
    }
    ar_csv_free(&csv);
    if (status == AR_OK && !(read.end_s > 0))
        status = ar_fail(err, AR_EINPUT, "%s: no events that take time", path);
    if (status == AR_OK)
        *timeline = read;
    else
        ar_timeline_free(&read);
    return status;
}

void ar_timeline_free(ar_timeline *timeline) {
    free(timeline->event);
    *timeline = (ar_timeline){0};
}

/* ---- write ---- */

static ar_status finish(FILE *out, const char *path, ar_err *err) {
    const bool written = !ferror(out);
    if (fclose(out) != 0 || !written)
        return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", path, strerror(errno));
    return AR_OK;
}

enum { LEFT = 64, TOP = 58, WIDTH = 1000, BOTTOM = 46, SHADES = 4 };

/* Where everything is, in pixels. */
typedef struct {
    double scale; /* pixels a second */
    int lane, height;
} frame;

static const char *const shades[2][SHADES] = {{"#9ecae9", "#6aaed6", "#3787c0", "#105ba4"},
                                              {"#fdc692", "#fda057", "#f3701b", "#c54102"}};
static const char *const ink[SHADES] = {"#000", "#000", "#fff", "#fff"};

/* The how-manieth of its rank's chunks a chunk is, by counting lower ones. */
static int *find_shades(const ar_timeline *t) {
    int *shade = calloc((size_t)t->chunks, sizeof *shade);
    int64_t *owner = malloc((size_t)t->chunks * sizeof *owner);
    int *chunks = calloc((size_t)t->ranks, sizeof *chunks);
    if (shade && owner && chunks) {
        for (int64_t c = 0; c < t->chunks; c++)
            owner[c] = -1;
        for (size_t i = 0; i < t->count; i++)
            if (!t->event[i].wait) owner[t->event[i].chunk] = t->event[i].rank;
        for (int64_t c = 0; c < t->chunks; c++)
            if (owner[c] >= 0) shade[c] = chunks[owner[c]]++ % SHADES;
    } else {
        free(shade);
        shade = NULL;
    }
    free(owner);
    free(chunks);
    return shade;
}

static void write_box(FILE *out, const ar_event *e, int shade, const frame *f) {
    const double x = LEFT + e->start_s * f->scale, width = (e->end_s - e->start_s) * f->scale;
    const long long number = (long long)e->microbatch;
    const int y = TOP + (int)e->rank * f->lane;
    fprintf(out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\">", x, y + 2,
            width, f->lane - 4, shades[e->backward][shade]);
    fprintf(out, "<title>rank %lld, %s, chunk %lld, micro-batch %lld</title></rect>\n",
            (long long)e->rank, e->backward ? "backward" : "forward", (long long)e->chunk, number);
    if (width >= 7.0 * snprintf(NULL, 0, "%lld", number) + 4 && f->lane >= 16)
        fprintf(out, "<text x=\"%.2f\" y=\"%d\" fill=\"%s\" text-anchor=\"middle\">%lld</text>\n",
                x + width / 2, y + f->lane / 2 + 4, ink[shade], number);
}

/* Ticks at 1, 2 or 5 times a power of ten, about ten of them. */
static void write_axis(FILE *out, const ar_timeline *t, const frame *f) {
    const double power = pow(10, floor(log10(t->end_s / 10)));
    const double tenths = t->end_s / 10 / power;
    const double step = power * (tenths <= 1 ? 1 : tenths <= 2 ? 2 : tenths <= 5 ? 5 : 10);
    const int y = TOP + (int)t->ranks * f->lane;
    for (int i = 0; i * step <= t->end_s * (1 + 1e-9); i++) {
        char text[64];
        const double x = LEFT + i * step * f->scale;
        ar_quantity_human(AR_UNIT_S, i * step, text, sizeof text);
        fprintf(out,
                "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" stroke=\"#ccc\"/>\n"
                "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x, TOP, x, y + 5, x, y + 18, text);
    }
    fprintf(out,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">time since the step began</text>\n",
            LEFT + WIDTH / 2, y + 36);
}

static void write_legend(FILE *out, const int *shade, int64_t chunks) {
    int used = 0, x = LEFT;
    for (int64_t c = 0; c < chunks; c++)
        if (shade[c] >= used) used = shade[c] + 1;
    for (int backward = 0; backward < 2; backward++) {
        for (int s = 0; s < used; s++, x += 16)
            fprintf(out, "<rect x=\"%d\" y=\"32\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", x,
                    shades[backward][s]);
        fprintf(out, "<text x=\"%d\" y=\"43\">%s</text>\n", x + 4,
                backward ? "backward" : "forward");
        x += 80;
    }
    fprintf(out, "<text x=\"%d\" y=\"43\">%snumber: micro-batch; blank: idle</text>\n", x,
            used > 1 ? "darker: later chunk of the rank; " : "");
}

static void write_escaped(FILE *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
        }
}

ar_status ar_timeline_svg(const ar_timeline *t, const char *title, const char *path, ar_err *err) {
    if (t->ranks > AR_TIMELINE_RANKS || t->count > AR_TIMELINE_BOXES)
        return ar_fail(
            err, AR_ERUN, "%s: not drawn: %lld ranks and %zu events; drawn are up to %d and %d",
            path, (long long)t->ranks, t->count, (int)AR_TIMELINE_RANKS, (int)AR_TIMELINE_BOXES);
    int *shade = find_shades(t);
    if (!shade) return ar_fail(err, AR_ERUN, "%s: out of memory", path);
    FILE *out = fopen(path, "w");
    if (!out) {
        free(shade);
        return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", path, strerror(errno));
    }
    frame f = {WIDTH / t->end_s, t->ranks <= 16 ? 28 : t->ranks <= 32 ? 18 : 10, 0};
    f.height = TOP + (int)t->ranks * f.lane + BOTTOM;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans,Verdana,sans-serif\" "
            "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"20\" font-size=\"14\">",
            LEFT + WIDTH + 40, f.height, LEFT + WIDTH + 40, f.height, LEFT);
    write_escaped(out, title);
    fprintf(out, "</text>\n");
    write_legend(out, shade, t->chunks);
    write_axis(out, t, &f);
    for (int r = 0; r < (int)t->ranks; r++)
        if (f.lane >= 16 || r % 4 == 0)
            fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">rank %d</text>\n", LEFT - 6,
                    TOP + r * f.lane + f.lane / 2 + 4, r);
    for (size_t i = 0; i < t->count; i++)
        if (!t->event[i].wait) write_box(out, &t->event[i], shade[t->event[i].chunk], &f);
    fprintf(out, "</svg>\n");
    free(shade);
    return finish(out, path, err);
}

ar_status ar_timeline_trace(const ar_timeline *t, const char *path, ar_err *err) {
    FILE *out = fopen(path, "w");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", path, strerror(errno));
    fprintf(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                 "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,"
                 "\"args\":{\"name\":\"pipeline\"}}");
    for (int64_t r = 0; r < t->ranks; r++)
        fprintf(out,
                ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":%lld,"
                "\"args\":{\"name\":\"rank %lld\"}}",
                (long long)r, (long long)r);
    for (size_t i = 0; i < t->count; i++) {
        const ar_event *e = &t->event[i];
        const char *pass = e->backward ? "backward" : "forward";
        fprintf(out,
                ",\n{\"name\":\"%s%s %lld\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":0,\"tid\":%lld,"
                "\"ts\":%.6f,\"dur\":%.6f,\"args\":{\"chunk\":%lld,\"microbatch\":%lld}}",
                e->wait ? "wait " : "", pass, (long long)e->microbatch, e->wait ? "wait" : pass,
                (long long)e->rank, e->start_s * 1e6, (e->end_s - e->start_s) * 1e6,
                (long long)e->chunk, (long long)e->microbatch);
    }
    fprintf(out, "\n]}\n");
    return finish(out, path, err);
}
