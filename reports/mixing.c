/* The depth mixing matrices: their ranks beside the paper's, and heat maps. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csv.h"
#include "prose.h"
#include "sections.h"
#include "table.h"
#include "words.h"

enum { PATH_SIZE = 4096, SIDE = 320, LEFT = 44, TOP = 34 };

/* ---- heat map ---- */

/* White for 0 to dark blue for 1; red for negative weights. */
static void colour(double weight, double largest, char text[8]) {
    const double x = largest > 0 ? fmin(1.0, sqrt(fabs(weight) / largest)) : 0;
    const int faded = (int)lround(255 - 225 * x), half = (int)lround(255 - 150 * x);
    if (weight >= 0)
        snprintf(text, 8, "#%02x%02x%02x", faded, half, 255 - (int)lround(105 * x));
    else
        snprintf(text, 8, "#%02x%02x%02x", 255 - (int)lround(60 * x), faded, faded);
}

static bool is_of(const ar_csv *csv, size_t row, const char *mechanism) {
    return strcmp(ar_csv_get(csv, row, "mechanism"), mechanism) == 0;
}

/* Entries of one mechanism to SVG; false: it cannot be written. */
static bool write_svg(const char *path, const ar_csv *csv, const char *mechanism, size_t layers) {
    FILE *out = fopen(path, "w");
    double largest = 0;
    if (!out) return false;
    for (size_t i = 0; i < csv->rows; i++)
        if (is_of(csv, i, mechanism))
            largest = fmax(largest, fabs(ar_csv_number(csv, i, "weight")));
    const double step = (double)SIDE / (double)layers;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"20\">%s, largest |weight| %.3g</text>\n"
            "<text x=\"%d\" y=\"%d\">source i = 0 .. %zu</text>\n"
            "<text transform=\"translate(16 %d) rotate(-90)\">layer l = %zu .. 1</text>\n"
            "<g shape-rendering=\"crispEdges\">\n",
            SIDE + LEFT + 16, SIDE + TOP + 28, LEFT, ar_words_mechanism(mechanism), largest, LEFT,
            TOP + SIDE + 18, layers - 1, TOP + SIDE, layers);
    for (size_t i = 0; i < csv->rows; i++) {
        char fill[8];
        if (!is_of(csv, i, mechanism)) continue;
        const double l = ar_csv_number(csv, i, "layer"), v = ar_csv_number(csv, i, "v");
        colour(ar_csv_number(csv, i, "weight"), largest, fill);
        fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n",
                LEFT + v * step, TOP + (l - 1) * step, step, step, fill);
    }
    fprintf(out,
            "</g>\n<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#888\"/>\n</svg>\n",
            LEFT, TOP, SIDE, SIDE);
    const bool failed = ferror(out);
    return fclose(out) == 0 && !failed;
}

static void write_maps(FILE *out, const ar_csv *ranks, const char *dir) {
    char path[PATH_SIZE];
    ar_csv matrix;
    ar_err err = {{0}};
    snprintf(path, sizeof path, "%s/mixing-matrix.csv", dir);
    if (ar_csv_read(path, &matrix, &err) != AR_OK) {
        ar_prose(out, "No heat maps: %s.", err.text);
        return;
    }
    snprintf(path, sizeof path, "%s/plots", dir);
    mkdir(path, 0777); /* if it cannot be made, writing says so */
    for (size_t i = 0; i < ranks->rows; i++) {
        const char *mechanism = ar_csv_get(ranks, i, "mechanism");
        const double layers = ar_csv_number(ranks, i, "layers");
        if (!(layers >= 1 && layers <= 100000)) continue;
        snprintf(path, sizeof path, "%s/plots/mixing-%.40s.svg", dir, mechanism);
        if (write_svg(path, &matrix, mechanism, (size_t)layers))
            fprintf(out, "![mixing matrix, %s](plots/mixing-%.40s.svg)\n", mechanism, mechanism);
        else
            ar_prose(out, "%s cannot be written: %s.", path, strerror(errno));
    }
    fputc('\n', out);
    ar_csv_free(&matrix);
}

/* ---- ranks ---- */

static void write_ranks(FILE *out, const ar_csv *csv) {
    static const char *const titles[] = {"mechanism", "form",   "from", "rank", "by definition",
                                         "paper",     "agrees", "kept", "cut",  "error"};
    static const char *const columns[] = {"mechanism", "form",   "source", "rank", "expected",
                                          "paper",     "agrees", "kept",   "cut",  "max_error"};
    enum { COLUMNS = sizeof titles / sizeof *titles };
    ar_table table = {.columns = COLUMNS};
    for (size_t c = 0; c < COLUMNS; c++)
        ar_table_text(&table, titles[c]);
    for (size_t i = 0; i < csv->rows; i++)
        for (size_t c = 0; c < COLUMNS; c++) {
            const char *cell = ar_csv_get(csv, i, columns[c]);
            ar_table_text(&table, *cell ? cell : "-");
        }
    ar_table_write(&table, out);
}

void ar_section_mixing(FILE *out, const char *dir) {
    char path[PATH_SIZE];
    ar_csv csv;
    ar_err err = {{0}};
    if (snprintf(path, sizeof path, "%s/mixing.csv", dir) >= PATH_SIZE - 64 ||
        access(path, F_OK) != 0)
        return;
    fprintf(out, "## Mixing over depth\n\n");
    if (ar_csv_read(path, &csv, &err) != AR_OK || csv.rows == 0) {
        ar_prose(out, "%s holds no ranks%s%s.", path, err.text[0] ? ": " : "", err.text);
        return;
    }
    ar_prose(out,
             "h_l = sum of M[l][i] v_i over i < l (paper, section 6.2), L = %s, S = %s, m = %s. M "
             "comes from the running kernels: every v_i is a random key part beside the i-th unit "
             "vector, in components where all queries are zero, so that the weights are those of "
             "one random input and the unit part of h_l is M's row; *definition*: no kernels, "
             "computed in double. *Rank*: the largest numerical rank of a block of rows l >= k and "
             "columns i < k (singular values by LAPACK); *kept* and *cut*: the smallest singular "
             "value that counts and the largest that does not, over the largest of their block; "
             "*error*: of M against the definition in double.",
             ar_csv_get(&csv, 0, "layers"), ar_csv_get(&csv, 0, "block"),
             ar_csv_get(&csv, 0, "streams"));
    write_ranks(out, &csv);
    ar_prose(out,
             "The paper's L says that M has no structure. A block on and below the diagonal of "
             "an L x L matrix is at most ceil(L/2) square, so that is the largest rank there "
             "can be, and \"agrees\" means that every block has the full rank of its shape. "
             "Its N to N + S counts the sources of a layer; in one block of M the finished "
             "blocks, the embedding and the block under way are a column each: N + 1 where S "
             "leaves rows enough.");
    write_maps(out, &csv, dir);
    ar_csv_free(&csv);
}
