/* What the paper and others claim, beside what these rows found. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prose.h"
#include "sections.h"
#include "words.h"

static const char not_tested[] = "not tested here";

/* Text of a cell, composed: a stream to write to, then the cell. */
typedef struct {
    char *text;
    size_t size;
    FILE *stream;
} composed;

/* In place: the stream keeps the addresses of text and size. */
static void compose(composed *c) {
    *c = (composed){0};
    c->stream = open_memstream(&c->text, &c->size);
}

static void add_composed(ar_table *table, composed *c) {
    const bool fine = c->stream && fclose(c->stream) == 0;
    ar_table_text(table, fine && c->size ? c->text : not_tested);
    free(c->text);
}

static void add_claim(ar_table *table, const char *claim, const char *source, const char *found) {
    ar_table_text(table, claim);
    ar_table_text(table, source);
    if (found) ar_table_text(table, found);
}

/* "1.20 % to 7.00 %; below 4 % at 3 of 9 points" */
static void add_overhead(ar_table *table, const ar_rows *rows, const char *mechanism,
                         const char *pass, double limit) {
    const ar_extent e = ar_extent_find(rows, mechanism, pass, AR_NO_ROW, AR_NO_ROW, limit);
    composed c;
    compose(&c);
    if (c.stream && e.points) {
        ar_words_range(c.stream, e.low, e.high);
        fprintf(c.stream, "; below %g %% at %zu of %zu points", limit, e.below, e.points);
    }
    add_composed(table, &c);
}

/* Largest hop without a cache and with one, of the point where they differ most. */
static void add_peak(ar_table *table, const ar_rows *rows) {
    composed c;
    compose(&c);
    double most = 1;
    size_t from = 0, to = 0;
    for (size_t i = 0; i < rows->good_count; i++) {
        const size_t row = rows->good[i];
        const long none = ar_rows_find(rows, row, 0, AR_P_CACHE, "none");
        if (none < 0) continue;
        const double ratio = ar_rows_number(rows, (size_t)none, "peak_hop_vectors") /
                             ar_rows_number(rows, row, "peak_hop_vectors");
        if (ratio > most && isfinite(ratio)) {
            most = ratio;
            from = (size_t)none;
            to = row;
        }
    }
    if (c.stream && most > 1)
        fprintf(c.stream, "largest hop %.0f vectors without, %.0f with cache %s (%s stages x %s)",
                ar_rows_number(rows, from, "peak_hop_vectors"),
                ar_rows_number(rows, to, "peak_hop_vectors"), ar_rows_param(rows, to, AR_P_CACHE),
                ar_rows_param(rows, to, AR_P_STAGES), ar_rows_param(rows, to, AR_P_VIRTUAL));
    add_composed(table, &c);
}

void ar_section_claims(FILE *out, const ar_rows *rows) {
    fprintf(out, "## Claims, beside what was found\n\n");
    ar_table table = {.columns = 3};
    add_claim(&table, "claim", "source", "these rows");
    add_claim(&table, "training overhead of Block AttnRes on a pipeline < 4 %", "paper, 4.1", NULL);
    add_overhead(&table, rows, "block", "train", 4);
    add_claim(&table, "caching cuts the largest hop from O(C) to O(P) blocks", "paper, 4.1", NULL);
    add_peak(&table, rows);
    add_claim(&table, "faster interconnects will make Full AttnRes practical", "paper, 3.1", NULL);
    add_overhead(&table, rows, "full", "train", 4);
    add_claim(&table, "inference latency overhead < 2 % (here: a forward pass, no decoding)",
              "paper, 4.2", NULL);
    add_overhead(&table, rows, "block", "forward", 2);
    add_claim(&table, "memory I/O per token and layer (L=128, S=16): 3d, 34d, 24d, 5.5d",
              "paper, Table 1", rows->good_count ? "see Memory I/O" : not_tested);
    add_claim(&table, "about 8 blocks recover most of the gain in loss", "paper", not_tested);
    add_claim(&table, "prefill cache of 128 K tokens: 15 GB, 1.9 GB over 8 devices", "paper, 4.2",
              not_tested);
    add_claim(&table, "4 H100: step 3.662 s without a cache, 3.582 s with one",
              "torchtitan, PR 4312", not_tested);
    add_claim(&table, "8 RTX 5090 over PCIe: slower with the cache", "others' measurement",
              not_tested);
    ar_table_write(&table, out);
    ar_prose(out, "*Not tested here* means that no row speaks to the claim, not that it is wrong. "
                  "Loss and quality are outside what this project runs.");
}
