/* attnres mixing: the depth mixing matrix, from the running kernels. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "bench_row.h"
#include "cmd.h"
#include "csv.h"
#include "mixing.h"
#include "rowfile.h"

static const char *const format_names[] = {"table", "csv", NULL};
static const char *const all_names[] = {"all",  "standard", "highway", "denseformer", "mhc",
                                        "full", "block",    NULL}; /* all, then ar_mechanism_id */

typedef struct {
    int mechanism, form, format;
    int64_t layers, block, streams;
    char output[AR_TEXT_MAX];
} mixing_options;

#define AT(member) offsetof(mixing_options, member)
static const ar_field mixing_field[] = {
    {"mechanism", AR_FIELD_CHOICE, AR_UNIT_NONE, AT(mechanism), 0, 0, all_names, "all", NULL,
     "whose matrix"},
    {"form", AR_FIELD_CHOICE, AR_UNIT_NONE, AT(form), 0, 0, ar_form_names, "two-phase", NULL,
     "how Block and Full AttnRes are computed"},
    {"layers", AR_FIELD_COUNT, AR_UNIT_NONE, AT(layers), 1, 512, NULL, "32", "L", "sub-layers"},
    {"block", AR_FIELD_COUNT, AR_UNIT_NONE, AT(block), 1, 512, NULL, "8", "S", "layers of a block"},
    {"streams", AR_FIELD_COUNT, AR_UNIT_NONE, AT(streams), 1, 64, NULL, "4", "m", "streams of mHC"},
    {"format", AR_FIELD_CHOICE, AR_UNIT_NONE, AT(format), 0, 0, format_names, "table", NULL,
     "table: the ranks; csv: the matrices, an entry a line"},
    {"output", AR_FIELD_TEXT, AR_UNIT_NONE, AT(output), 0, 0, NULL, "", "DIR",
     "write DIR/mixing.csv (ranks) and DIR/mixing-matrix.csv, for the report (-o)"},
};
static const ar_fields mixing_fields = {mixing_field, sizeof mixing_field / sizeof *mixing_field,
                                        "mixing"};

static void help(void) {
    printf("Usage: attnres mixing [option ...]\n\n"
           "M of h_l = sum of M[l][i] v_i, i < l, by feeding unit outputs to the running kernels\n"
           "on one random input (to the definition in double, where there are no kernels), and\n"
           "its semiseparable rank: the largest numerical rank of its blocks below the diagonal,\n"
           "beside the paper's section 6.2.\n\nOptions:\n");
    ar_fields_help(&mixing_fields, stdout);
}

typedef struct {
    ar_case about;
    bool kernels;     /* else by the definition */
    double error;     /* of the kernels' matrix against the definition's, largest; or NAN */
    double *m, *room; /* [L][L], owned */
    ar_mixing_rank rank;
    char paper[64];
    bool agrees;
} mixing;

static ar_status find(mixing *x, ar_err *err) {
    const size_t size = x->about.layers * x->about.layers;
    const char *why;
    /* mHC's own mixes soon make its streams alike: M then has rank m only in theory */
    x->kernels = x->about.mechanism != AR_MHC && ar_subject_exists(&x->about, &why);
    x->error = NAN;
    ar_status status = x->kernels ? ar_mixing_from_kernels(&x->about, x->m, err)
                                  : ar_mixing_from_definition(&x->about, x->m, err);
    if (status == AR_OK && x->kernels &&
        ar_mixing_from_definition(&x->about, x->room, NULL) == AR_OK) {
        x->error = 0;
        for (size_t i = 0; i < size; i++)
            x->error = fmax(x->error, fabs(x->m[i] - x->room[i]));
    }
    /* fp32 rounds at 6e-8: a softmax with its exp to a few of these */
    const double noise = x->kernels ? 4e-6 : 1e-13;
    if (status == AR_OK) status = ar_mixing_rank_find(x->about.layers, x->m, noise, &x->rank, err);
    if (status == AR_OK)
        x->agrees = ar_mixing_rank_agrees(&x->about, &x->rank, x->paper, sizeof x->paper) &&
                    x->rank.rank == ar_mixing_rank_expected(&x->about);
    return status;
}

/* ---- output ---- */

/* mHC's matrix is of its definition, whatever the form. */
static const char *form_of(const ar_case *c) {
    return c->mechanism != AR_MHC && ar_subject_has_forms(c->mechanism) ? ar_form_names[c->form]
                                                                        : "-";
}

static void write_matrix(FILE *out, const mixing *x) {
    const size_t L = x->about.layers;
    for (size_t l = 1; l <= L; l++)
        for (size_t i = 0; i < l; i++)
            fprintf(out, "%s,%s,%s,%zu,%zu,%.9g\n", ar_mechanism_names[x->about.mechanism],
                    form_of(&x->about), x->kernels ? "kernels" : "definition", l, i,
                    x->m[(l - 1) * L + i]);
}

static void write_rank(FILE *out, const mixing *x) {
    char text[32] = "";
    if (!isnan(x->error)) snprintf(text, sizeof text, "%.3g", x->error);
    fprintf(out, "%s,%s,%s,%zu,%zu,%zu,%zu,%zu,%s,%s,%.3g,%.3g,%s,%s\n",
            ar_mechanism_names[x->about.mechanism], form_of(&x->about),
            x->kernels ? "kernels" : "definition", x->about.layers, x->about.block,
            x->about.streams, x->rank.rank, ar_mixing_rank_expected(&x->about), x->paper,
            x->rank.full ? "yes" : "no", x->rank.kept, x->rank.cut, text, x->agrees ? "yes" : "no");
}

static void print_rank(const mixing *x) {
    char error[32] = "-";
    if (!isnan(x->error)) snprintf(error, sizeof error, "%.0e", x->error);
    printf("%-11s %-9s %-10s %4zu %8zu  %-21s %-4s %8.1e %8.1e %6s %s\n",
           ar_mechanism_names[x->about.mechanism], form_of(&x->about),
           x->kernels ? "kernels" : "definition", x->rank.rank, ar_mixing_rank_expected(&x->about),
           x->paper, x->rank.full ? "yes" : "no", x->rank.kept, x->rank.cut, error,
           x->agrees ? "yes" : "NO");
}

static FILE *create(const char *dir, const char *name, ar_err *err) {
    char path[AR_TEXT_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    if (!out) ar_fail(err, AR_ERUN, "%s: cannot write: %s", path, strerror(errno));
    return out;
}

typedef struct {
    FILE *ranks, *matrix; /* either may be NULL */
} files;

static ar_status open_files(const mixing_options *options, files *f, ar_err *err) {
    static const char titles[] = "mechanism,form,source,layer,v,weight\n";
    *f = (files){NULL, NULL};
    if (options->format) fputs(titles, stdout);
    if (!options->output[0]) return AR_OK;
    ar_status status = ar_directory_make(options->output, err);
    if (status != AR_OK) return status;
    f->ranks = create(options->output, "mixing.csv", err);
    if (f->ranks) f->matrix = create(options->output, "mixing-matrix.csv", err);
    if (!f->ranks || !f->matrix) return AR_ERUN;
    fputs("mechanism,form,source,layers,block,streams,rank,expected,paper,full,kept,cut,"
          "max_error,agrees\n",
          f->ranks);
    fputs(titles, f->matrix);
    return AR_OK;
}

static ar_status close_files(files *f, ar_status status, ar_err *err) {
    bool written = true;
    if (f->ranks) written = fclose(f->ranks) == 0 && written;
    if (f->matrix) written = fclose(f->matrix) == 0 && written;
    return written || status != AR_OK ? status : ar_fail(err, AR_ERUN, "mixing: cannot write");
}

static ar_status find_all(const mixing_options *options, files *f, mixing *x, ar_err *err) {
    size_t wrong = 0;
    ar_status status = AR_OK;
    if (!options->format)
        printf("%-11s %-9s %-10s %4s %8s  %-21s %-4s %8s %8s %6s %s\n", "mechanism", "form",
               "source", "rank", "expected", "paper", "full", "kept", "cut", "error", "agrees");
    for (int i = 1; status == AR_OK && all_names[i]; i++) {
        if (options->mechanism != 0 && options->mechanism != i) continue;
        x->about.mechanism = (ar_mechanism_id)(i - 1);
        status = find(x, err);
        if (status != AR_OK) break;
        wrong += !x->agrees;
        options->format ? write_matrix(stdout, x) : print_rank(x);
        if (f->ranks) write_rank(f->ranks, x);
        if (f->matrix) write_matrix(f->matrix, x);
    }
    if (status == AR_OK && wrong)
        status =
            ar_fail(err, AR_ECHECK, "mixing: %zu ranks are not what the definition gives", wrong);
    return status;
}

ar_status ar_cmd_mixing(int argc, char **argv, ar_err *err) {
    mixing_options options = {0};
    int wants_help = 0;
    files f;
    ar_fields_defaults(&mixing_fields, &options);
    const ar_arguments arguments = {&mixing_fields, &options, NULL};
    ar_status status = ar_arguments_read(&arguments, argc, argv, 0, &wants_help, err);
    if (status != AR_OK) return status;
    if (wants_help) {
        help();
        return AR_OK;
    }
    mixing x = {.about = {.form = (ar_form)options.form,
                          .layers = (size_t)options.layers,
                          .block = (size_t)options.block,
                          .streams = (size_t)options.streams,
                          .tokens = 1,
                          .width = 1,
                          .threads = 1}};
    const size_t size = x.about.layers * x.about.layers;
    x.m = malloc(size * sizeof *x.m);
    x.room = malloc(size * sizeof *x.room);
    status = open_files(&options, &f, err);
    if (status == AR_OK)
        status = x.m && x.room ? find_all(&options, &f, &x, err)
                               : ar_fail(err, AR_ERUN, "mixing: no memory");
    status = close_files(&f, status, err);
    free(x.m);
    free(x.room);
    return status;
}
