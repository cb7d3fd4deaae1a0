#include "bench_options.h"

#include <stdio.h>
#include <string.h>

static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const format_names[] = {"table", "csv", NULL};

#define AT(member) offsetof(ar_bench_asked, member)
#define LIST(key, fallback, meta, help)                                                            \
    { #key, AR_FIELD_TEXT, AR_UNIT_NONE, AT(key), 0, 0, NULL, fallback, meta, help }
#define CHOICE(key, names, fallback, help)                                                         \
    { #key, AR_FIELD_CHOICE, AR_UNIT_NONE, AT(key), 0, 0, names, fallback, NULL, help }
#define COUNT(key, low, high, fallback, meta, help)                                                \
    { #key, AR_FIELD_COUNT, AR_UNIT_NONE, AT(key), low, high, NULL, fallback, meta, help }

static const ar_field field[] = {
    LIST(mechanism, "all", "LIST", "standard, highway, denseformer, mhc, full, block; or all"),
    LIST(form, "all", "LIST", "one-pass, two-phase, ...; or all that the mechanism has"),
    LIST(phase, "all", "LIST",
         "all: the whole walk; 1, 2: a phase of a two-phase form alone (backward: 1 is what goes "
         "to the sources before a segment)"),
    LIST(variant, "none", "LIST",
         "none; Full, Block: sliding-window (Full one-pass), own-query (one-pass), sigmoid, "
         "raw-keys; Highway: scalar-gate; mHC: unconstrained; or all"),
    COUNT(window, 1, 1000000, "8", "W",
          "sources that a sliding window leaves beside the embedding"),
    LIST(layers, "128", "LIST", "L, sub-layers"),
    LIST(block, "16", "LIST", "S, layers of a block (Full: answered together in phase 1)"),
    LIST(tokens, "32768", "LIST", "T, tokens of a micro-batch"),
    LIST(width, "1024", "LIST", "d"),
    LIST(streams, "4", "LIST", "m, streams of mHC"),
    LIST(threads, "1", "LIST", "OpenMP threads, among which the tokens are divided"),
    LIST(dtype, "fp32", "LIST", "storage of vectors: fp32, bf16"),
    LIST(direction, "forward", "LIST", "forward, backward (what the forward keeps is given)"),
    CHOICE(traffic, ar_traffic_names, "none",
           "measure memory traffic: by valgrind's cache simulator, or by PAPI's DRAM counters"),
    COUNT(min_repetitions, 1, 10000, "8", "N", "at least so many (a 99 % interval needs 8)"),
    COUNT(max_repetitions, 1, 10000, "100", "N", "at most so many"),
    {"interval", AR_FIELD_QUANTITY, AR_UNIT_NONE, AT(interval), 0.01, 100, NULL, "5", "PERCENT",
     "stop when the 99 % confidence interval of the median is within this"},
    {"time_limit", AR_FIELD_QUANTITY, AR_UNIT_S, AT(time_limit), 0, 86400, NULL, "20 s", "T",
     "of one case's repetitions; three are made in any case"},
    CHOICE(allow_cached, no_yes, "no", "run although the buffers fit the last-level cache"),
    {"roof_set", AR_FIELD_QUANTITY, AR_UNIT_B, AT(roof_set), 0, 1e13, NULL, "0 B", "SIZE",
     "arrays of the roof's kernels together; 0 B: 4 x last-level cache, at most a quarter of the "
     "free memory"},
    CHOICE(bind, no_yes, "yes", "bind thread i to core i"),
    COUNT(poison, -1, 1000000, "-1", "SOURCE",
          "make a source not a number, to see that the row says so; -1: none"),
    CHOICE(format, format_names, "table", "a table for people, or rows for programs"),
    {"output", AR_FIELD_TEXT, AR_UNIT_NONE, AT(output), 0, 0, NULL, "", "DIR",
     "append each row to DIR/bench.csv as soon as it is known (-o)"},
};
const ar_fields ar_bench_fields = {field, sizeof field / sizeof *field, "bench"};

/* ---- lists ---- */

/* The next word of a list, cut at its size; NULL at the end. */
static const char *next_word(const char *list, char *word, size_t size) {
    const size_t length = strcspn(list, ",");
    snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), list);
    return list[length] ? list + length + 1 : NULL;
}

static ar_status too_many(const char *option, ar_err *err) {
    return ar_fail(err, AR_EUSAGE, "--%s: more than %d values", option, AR_LIST_MAX);
}

static ar_status read_names(const char *option, const char *text, const char *const *names,
                            bool all, ar_list *list, ar_err *err) {
    char word[AR_TEXT_MAX], legal[256] = "";
    list->count = 0;
    if (all && strcmp(text, "all") == 0) {
        while (names[list->count])
            list->value[list->count] = list->count, list->count++;
        return AR_OK;
    }
    for (const char *rest = text; rest;) {
        size_t i = 0;
        rest = next_word(rest, word, sizeof word);
        while (names[i] && strcmp(names[i], word) != 0)
            i++;
        if (!names[i]) {
            for (size_t k = 0, used = 0; names[k] && used < sizeof legal; k++)
                used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%s", k ? ", " : "",
                                         names[k]);
            return ar_fail(err, AR_EUSAGE, "--%s %.100s: legal: %s%s", option, word,
                           all ? "all, or a list of " : "a list of ", legal);
        }
        if (list->count == AR_LIST_MAX) return too_many(option, err);
        list->value[list->count++] = i;
    }
    return AR_OK;
}

static ar_status read_counts(const char *option, const char *text, int64_t max, ar_list *list,
                             ar_err *err) {
    char word[AR_TEXT_MAX];
    list->count = 0;
    for (const char *rest = text; rest;) {
        const char *reason = "out of range";
        int64_t value = 0;
        rest = next_word(rest, word, sizeof word);
        if (!ar_count_parse(word, &value, &reason) || value < 1 || value > max)
            return ar_fail(err, AR_EUSAGE, "--%s %.100s: %s; legal: a list of 1 to %lld", option,
                           word, reason, (long long)max);
        if (list->count == AR_LIST_MAX) return too_many(option, err);
        list->value[list->count++] = (size_t)value;
    }
    return AR_OK;
}

ar_status ar_bench_sweep_read(const ar_bench_asked *asked, ar_bench_sweep *sweep, ar_err *err) {
    const struct {
        const char *option, *text;
        const char *const *names;
        bool all;
        ar_list *list;
    } names[] = {
        {"mechanism", asked->mechanism, ar_mechanism_names, true, &sweep->mechanism},
        {"form", asked->form, ar_form_names, true, &sweep->form},
        {"phase", asked->phase, ar_phase_names, false, &sweep->phase},
        {"variant", asked->variant, ar_ablation_names, true, &sweep->variant},
        {"dtype", asked->dtype, ar_store_names, true, &sweep->dtype},
        {"direction", asked->direction, ar_direction_names, true, &sweep->direction},
    };
    const struct {
        const char *option, *text;
        int64_t max;
        ar_list *list;
    } counts[] = {
        {"layers", asked->layers, 100000, &sweep->layers},
        {"block", asked->block, 100000, &sweep->block},
        {"tokens", asked->tokens, 1 << 30, &sweep->tokens},
        {"width", asked->width, 1 << 20, &sweep->width},
        {"streams", asked->streams, 64, &sweep->streams},
        {"threads", asked->threads, 1024, &sweep->threads},
    };
    ar_status status = AR_OK;
    for (size_t i = 0; status == AR_OK && i < sizeof names / sizeof *names; i++)
        status = read_names(names[i].option, names[i].text, names[i].names, names[i].all,
                            names[i].list, err);
    for (size_t i = 0; status == AR_OK && i < sizeof counts / sizeof *counts; i++)
        status = read_counts(counts[i].option, counts[i].text, counts[i].max, counts[i].list, err);
    sweep->window = (size_t)asked->window;
    sweep->named = strcmp(asked->mechanism, "all") != 0;
    return status;
}

/* ---- cases ---- */

enum { AXES = 12 };

/* The axes, the slowest first. */
static void axes(const ar_bench_sweep *s, const ar_list *axis[AXES]) {
    const ar_list *const all[AXES] = {&s->threads, &s->direction, &s->dtype, &s->width,
                                      &s->tokens,  &s->layers,    &s->block, &s->streams,
                                      &s->variant, &s->mechanism, &s->form,  &s->phase};
    memcpy(axis, all, sizeof all);
}

size_t ar_bench_sweep_count(const ar_bench_sweep *sweep) {
    const ar_list *axis[AXES];
    size_t count = 1;
    axes(sweep, axis);
    for (size_t i = 0; i < AXES; i++)
        count *= axis[i]->count;
    return count;
}

bool ar_bench_sweep_case(const ar_bench_sweep *sweep, size_t i, ar_case *c) {
    const ar_list *axis[AXES];
    size_t index[AXES], v[AXES];
    axes(sweep, axis);
    for (size_t k = AXES; k-- > 0;) {
        index[k] = i % axis[k]->count;
        v[k] = axis[k]->value[index[k]];
        i /= axis[k]->count;
    }
    *c = (ar_case){.threads = v[0],
                   .direction = (ar_direction)v[1],
                   .store = (ar_store)v[2],
                   .width = v[3],
                   .tokens = v[4],
                   .layers = v[5],
                   .block = v[6],
                   .streams = v[7],
                   .ablation = (ar_ablation)v[8],
                   .window = sweep->window,
                   .mechanism = (ar_mechanism_id)v[9],
                   .form = (ar_form)v[10],
                   .phase = (ar_phase)v[11]};
    if (c->threads > c->tokens) c->threads = c->tokens;
    if (!ar_mechanism_has_blocks(c->mechanism) && index[6] > 0) return false;
    if (c->mechanism != AR_MHC && index[7] > 0) return false;
    if (!ar_subject_has_forms(c->mechanism)) { /* asked for once, whatever forms are listed */
        c->form = ar_subject_only_form(c->mechanism);
        return index[10] == 0 && index[11] == 0 &&
               ar_subject_has_ablation(c->mechanism, c->form, c->ablation);
    }
    if (!ar_subject_has_ablation(c->mechanism, c->form, c->ablation)) return false;
    if (!ar_subject_has_form(c->mechanism, c->form, c->direction)) return false;
    return c->phase == AR_PHASE_ALL || c->form == AR_TWO_PHASE;
}
