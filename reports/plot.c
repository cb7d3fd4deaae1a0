#include "plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, MOST_LABELS = 60, MOST_FLAT = 15 };

/* A gnuplot string: nothing in it may be markup, an escape or a command. */
static void write_string(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        fputc(c < ' ' || strchr("\"\\`", c) ? '_' : c, out);
    }
    fputc('"', out);
}

/* Okabe and Ito's colours, told apart by colour-blind readers too. */
static const char *colour(size_t series) {
    static const char *const colours[] = {"#0072B2", "#E69F00", "#009E73", "#D55E00",
                                          "#56B4E9", "#CC79A7", "#F0E442", "#666666"};
    return colours[series % (sizeof colours / sizeof *colours)];
}

typedef struct {
    double low, high; /* of the values above 0; low > high: none */
    bool negative;
    char prefix[16]; /* the unit that suits the highest value: "GB" */
    double scale;    /* its size */
} range;

static range find_range(const ar_bars *bars) {
    range r = {INFINITY, 0, false, "", 1};
    for (size_t i = 0; i < bars->groups * bars->series; i++) {
        const double v = bars->value[i];
        if (v > 0 && v < r.low) r.low = v;
        if (v > 0 && v > r.high) r.high = v;
        r.negative |= v < 0;
    }
    char text[64];
    const char *reason;
    ar_quantity_human(bars->unit, r.high, text, sizeof text);
    const char *prefix = strchr(text, ' ');
    if (prefix) {
        snprintf(r.prefix, sizeof r.prefix, "%s", prefix + 1);
        snprintf(text, sizeof text, "1 %s", r.prefix);
        ar_quantity_parse(bars->unit, text, &r.scale, &reason);
    }
    return r;
}

static double place(const ar_bars *bars, size_t group, size_t series) {
    return (double)(group * (bars->series + 1) + series);
}

static void write_data(FILE *out, const ar_bars *bars, const range *r) {
    for (size_t s = 0; s < bars->series; s++) {
        fprintf(out, "$bars%zu << EOD\n", s);
        for (size_t g = 0; g < bars->groups; g++) {
            const double v = bars->value[s * bars->groups + g];
            char label[64];
            ar_quantity_human(bars->unit, v, label, sizeof label);
            if (isfinite(v))
                fprintf(out, "%g %.9g \"%s\"\n", place(bars, g, s), v / r->scale, label);
        }
        /* an empty data block is an error to gnuplot: a point out of sight */
        fprintf(out, "-1000 1 \"\"\nEOD\n");
    }
}

static void write_axes(FILE *out, const ar_bars *bars, const range *r) {
    const bool logarithmic = !r->negative && r->high > 30 * r->low;
    char axis[256];
    snprintf(axis, sizeof axis, "%s%s%s", bars->axis, *r->prefix ? ", " : "", r->prefix);
    fprintf(out, "set title ");
    write_string(out, bars->title);
    fprintf(out, " noenhanced\nset ylabel ");
    write_string(out, axis);
    fprintf(out, " noenhanced\nset xrange [-1:%g]\n",
            place(bars, bars->groups - 1, bars->series - 1) + 1);
    const double low = bars->limit < r->low ? bars->limit : r->low;
    if (logarithmic)
        fprintf(out, "set logscale y\nset yrange [%g:%g]\n", low / r->scale / 2,
                r->high / r->scale * 6);
    else
        fprintf(out, "set yrange [%s:%g]\n", r->negative ? "*" : "0",
                r->high > 0 ? r->high / r->scale * 1.25 : 1.0);
    fprintf(out, "set xtics noenhanced nomirror scale 0 %s(",
            bars->groups > 4 ? "rotate by -25 " : "");
    for (size_t g = 0; g < bars->groups; g++) {
        if (g) fprintf(out, ", ");
        write_string(out, bars->group[g]);
        fprintf(out, " %g", place(bars, g, 0) + ((double)bars->series - 1) / 2);
    }
    fprintf(out, ")\n");
}

static void write_plot(FILE *out, const ar_bars *bars) {
    fprintf(out, "plot");
    for (size_t s = 0; s < bars->series; s++) {
        fprintf(out, "%s $bars%zu using 1:2 with boxes lc rgb \"%s\" title ", s ? ", \\\n " : "", s,
                colour(s));
        write_string(out, bars->name[s]);
    }
    const size_t count = bars->groups * bars->series;
    const char *turn = count > MOST_FLAT ? "rotate by 90 left offset 0,0.4" : "offset 0,0.6";
    for (size_t s = 0; s < bars->series && count <= MOST_LABELS; s++)
        fprintf(out, ", \\\n  $bars%zu using 1:2:3 with labels %s font small notitle", s, turn);
    if (isfinite(bars->limit)) {
        fprintf(out, ", \\\n  %g with lines dt 2 lw 1.5 lc rgb \"#444444\" title ", bars->limit);
        write_string(out, bars->limit_label);
    }
    fprintf(out, "\n");
}

static void write_script(FILE *out, const char *name, const ar_bars *bars) {
    fprintf(out, "# Written by attnres report. Run in this directory: gnuplot %s.gp\n", name);
    const range r = find_range(bars);
    write_data(out, bars, &r);
    fprintf(out,
            "set style fill solid 0.9 border -1\nset boxwidth 0.9\n"
            "set border 3\nset grid ytics lc rgb \"#dddddd\"\nset ytics nomirror\n"
            "set key outside right top vertical noenhanced reverse Left\nset format y \"%%g\"\n");
    write_axes(out, bars, &r);
    fprintf(out,
            "set terminal svg size 1000,440 font \"DejaVu Sans,12\" background \"#ffffff\"\n"
            "set output \"%s.svg\"\nsmall = \",9\"\n",
            name);
    write_plot(out, bars);
    fprintf(out,
            "set terminal pngcairo size 1500,660 font \"DejaVu Sans,16\"\n"
            "set output \"%s.png\"\nsmall = \",12\"\nreplot\n",
            name);
}

/* Run gnuplot on the script, in its directory. */
static ar_status run_gnuplot(const char *dir, const char *script, ar_err *err) {
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) return ar_fail(err, AR_ERUN, "gnuplot: %s", strerror(errno));
    if (child == 0) {
        if (chdir(dir) == 0) execlp("gnuplot", "gnuplot", script, (char *)NULL);
        _exit(127);
    }
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0)
        if (errno != EINTR) return ar_fail(err, AR_ERUN, "gnuplot: %s", strerror(errno));
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return AR_OK;
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 127)
        return ar_fail(err, AR_ERUN, "gnuplot was not found");
    return ar_fail(err, AR_ERUN, "gnuplot failed on %s/%s", dir, script);
}

ar_status ar_plot_bars(const char *dir, const char *name, const ar_bars *bars, ar_err *err) {
    char plots[PATH_SIZE], script[256], path[PATH_SIZE + 256];
    if (snprintf(plots, sizeof plots, "%s/plots", dir) >= (int)sizeof plots ||
        snprintf(script, sizeof script, "%s.gp", name) >= (int)sizeof script)
        return ar_fail(err, AR_ERUN, "%s: path too long", dir);
    snprintf(path, sizeof path, "%s/%s", plots, script);
    if (mkdir(plots, 0777) != 0 && errno != EEXIST)
        return ar_fail(err, AR_ERUN, "%s: cannot be made: %s", plots, strerror(errno));
    FILE *out = fopen(path, "w");
    if (!out) return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", path, strerror(errno));
    write_script(out, name, bars);
    const bool written = !ferror(out);
    if (fclose(out) != 0 || !written)
        return ar_fail(err, AR_ERUN, "%s: cannot be written: %s", path, strerror(errno));
    return run_gnuplot(plots, script, err);
}
