#include "point.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "model.h"
#include "routing.h"
#include "schedule.h"

static const char *const dtype_names[] = {"fp32", "bf16", "fp16", NULL};
static const char *const yes_names[] = {"no", "yes", NULL};
const char *const ar_cache_names[] = {"none", "received", "own", NULL};
static const char *const schedule_names[] = {"gpipe", "1f1b", "interleaved", NULL};
static const char *const remainder_names[] = {"first", "last", NULL};
static const char *const pass_names[] = {"forward", "train", NULL};
static const char *const compute_names[] = {"modelled", "real", NULL};
static const char *const engine_model_names[] = {"explicit", "default", NULL};

#define AT(member) offsetof(ar_point, member)
#define COUNT(name, member, low, high, otherwise, meta, text)                                      \
    { name, AR_FIELD_COUNT, AR_UNIT_NONE, AT(member), low, high, NULL, otherwise, meta, text }
#define CHOICE(name, member, names, otherwise, text)                                               \
    { name, AR_FIELD_CHOICE, AR_UNIT_NONE, AT(member), 0, 0, names, otherwise, NULL, text }
#define TEXT(name, member, otherwise, meta, text)                                                  \
    { name, AR_FIELD_TEXT, AR_UNIT_NONE, AT(member), 0, 0, NULL, otherwise, meta, text }
#define QUANTITY(name, member, unit, low, high, otherwise, meta, text)                             \
    { name, AR_FIELD_QUANTITY, unit, AT(member), low, high, NULL, otherwise, meta, text }

static const ar_field point_field[] = {
    TEXT("model", model, "", "NAME|FILE", "model; fills layers, unit, block, width, streams"),
    COUNT("layers", layers, 1, 65536, NULL, "L", "layers: an attention or an MLP counts one"),
    COUNT("unit", unit, 1, 64, "2", "K", "layers that stay together in a chunk"),
    COUNT("block", block, 1, 65536, NULL, "S", "layers in an AttnRes block"),
    COUNT("width", width, 1, 1 << 20, NULL, "D", "hidden width d"),
    COUNT("streams", streams, 1, 64, "4", "m", "streams of mHC"),
    COUNT("tokens", tokens, 1, 1 << 30, "4096", "T", "tokens of a micro-batch"),
    CHOICE("dtype", dtype, dtype_names, "bf16", "storage of vectors"),
    CHOICE("embedding", embedding, yes_names, "yes",
           "the embedding is a source that travels; no: every rank makes its own"),
    CHOICE("mechanism", mechanism, ar_mechanism_names, "block", "residual mechanism"),
    CHOICE("form", form, ar_form_names, "two-phase", "how Block, Full AttnRes or mHC is computed"),
    CHOICE("cache", cache, ar_cache_names, "own", "what a rank keeps between its chunks"),
    COUNT("stages", stages, 1, 65536, "4", "P", "pipeline stages (ranks)"),
    COUNT("virtual", virtual_stages, 1, 1024, "1", "V", "chunks on each stage"),
    COUNT("microbatches", microbatches, 1, 1 << 20, "8", "M", "micro-batches of one step"),
    CHOICE("schedule", schedule, schedule_names, "interleaved",
           "order of work on a rank; interleaved with V = 1 is 1f1b"),
    TEXT("split", split, "", "2,3,2,1", "units in each chunk"),
    CHOICE("remainder", remainder, remainder_names, "first",
           "which chunks take the units left over from an even split"),
    CHOICE("pass", pass, pass_names, "train", "forward only, or forward and backward"),
    COUNT("prefetch", prefetch, 0, 1024, "1", "K",
          "post receives this many computes ahead; 0: just before waiting"),
    TEXT("device", device, "h100-sxm", "NAME|FILE", "accelerator that times are modelled for"),
    TEXT("platform", platform, "nvlink-node", "NAME|FILE",
         "interconnect: a name, or a SimGrid XML file"),
    TEXT("hosts", hosts, "", "FILE", "host of each rank, one a line; else in platform order"),
    COUNT("host_stride", host_stride, 0, 65536, "0", "K",
          "ranks sit on every K-th host; 0: tensor-parallel"),
    COUNT("tensor_parallel", tensor_parallel, 1, 1024, "1", "K",
          "divides compute, residual bytes and hop payload"),
    CHOICE("compute", compute, compute_names, "modelled", "modelled seconds, or the real kernels"),
    QUANTITY("forward_time", forward_time_s, AR_UNIT_S, 0, 1e6, "0 s", "TIME",
             "of a chunk and micro-batch, instead of the roofline; 0: roofline"),
    QUANTITY("backward_time", backward_time_s, AR_UNIT_S, 0, 1e6, "0 s", "TIME",
             "the same; 0: twice the forward"),
    QUANTITY("efficiency", efficiency, AR_UNIT_NONE, 1e-6, 1, "1", "X",
             "share of the device's matrix peak that the layers reach"),
    QUANTITY("speed_ratio", speed_ratio, AR_UNIT_NONE, 1e-9, 1e9, "1", "X",
             "sim --compute real: times measured here are multiplied by X"),
    CHOICE("engine_model", engine_model, engine_model_names, "explicit",
           "network model of the simulation: hand-checkable, or SMPI's own fit"),
    COUNT("repetitions", repetitions, 1, 10000, "1", "K", "steps measured, after one warm-up"),
    COUNT("seed", seed, 0, 1 << 30, "1", "K", "of weights and inputs of --compute real"),
    CHOICE("trace", trace, yes_names, "no", "write every compute and wait as a timeline"),
    CHOICE("bind", bind, yes_names, "yes",
           "run: bind each rank to a core, where a node has enough"),
    QUANTITY("time_limit", time_limit_s, AR_UNIT_S, 0.001, 1e6, "600 s", "TIME",
             "a run that takes longer is stopped and recorded as failed"),
};

const ar_fields ar_point_fields = {point_field, sizeof point_field / sizeof *point_field, "point"};

void ar_point_init(ar_point *point) {
    memset(point, 0, sizeof *point);
    ar_fields_defaults(&ar_point_fields, point);
    point->bad = AR_EUSAGE;
}

bool ar_point_given(const ar_point *point, const char *name) {
    return point->set >> ar_fields_find(&ar_point_fields, name) & 1;
}

ar_status ar_point_set(ar_point *point, const char *name, const char *text, const char *where,
                       ar_err *err) {
    const int i = ar_fields_find(&ar_point_fields, name);
    if (i < 0) return ar_fields_unknown(&ar_point_fields, name, where, point->bad, err);
    if (point->set >> i & 1)
        return ar_fail(err, point->bad, "%s: '%s' is given twice", where, name);
    const ar_status status = ar_field_set(&point_field[i], point, text, where, point->bad, err);
    if (status == AR_OK) point->set |= (uint64_t)1 << i;
    return status;
}

size_t ar_dtype_B(int dtype) {
    return dtype == AR_FP32 ? 4 : 2;
}

static ar_status fill_from_model(ar_point *point, ar_err *err) {
    if (point->model[0] == '\0') {
        const double d = (double)point->width;
        point->layer_flop = 12 * d * d;
        snprintf(point->layer_flop_source, sizeof point->layer_flop_source,
                 "estimate: dense, 12 d^2 flop a layer and token");
        return AR_OK;
    }
    ar_model model;
    const ar_status status = ar_model_load(point->model, &model, point->bad, err);
    if (status != AR_OK) return status;
    if (!ar_point_given(point, "layers")) point->layers = model.layers;
    if (!ar_point_given(point, "unit")) point->unit = model.unit;
    if (!ar_point_given(point, "block")) point->block = model.block;
    if (!ar_point_given(point, "width")) point->width = model.width;
    if (!ar_point_given(point, "streams")) point->streams = model.streams;
    point->layer_flop = ar_model_layer_flop(&model);
    snprintf(point->layer_flop_source, sizeof point->layer_flop_source, "model file");
    return AR_OK;
}

/* Forms of a mechanism, for messages; NULL: it has one only, whatever is asked. */
static const char *forms_of(int mechanism) {
    switch (mechanism) {
    case AR_BLOCK:
        return "two-phase, one-pass, auto";
    case AR_FULL:
        return "two-phase, one-pass";
    case AR_MHC:
        return "fused, unfused";
    default:
        return NULL;
    }
}

/* mHC unless it is told otherwise is unfused, as the paper counts it. */
static ar_status check_form(ar_point *point, ar_err *err) {
    const char *legal = forms_of(point->mechanism);
    if (!legal) return AR_OK;
    if (point->mechanism == AR_MHC && !ar_point_given(point, "form")) point->form = AR_UNFUSED;
    const char *name = ar_form_names[point->form];
    const char *at = strstr(legal, name);
    if (at && (at == legal || at[-1] == ' ')) return AR_OK;
    return ar_fail(err, point->bad, "mechanism = %s with form = %s: legal: %s",
                   ar_mechanism_names[point->mechanism], name, legal);
}

static ar_status check_real(const ar_point *point, ar_err *err) {
    if (point->compute != AR_REAL) return AR_OK;
    if (point->pass != AR_FORWARD_ONLY)
        return ar_fail(err, point->bad,
                       "compute = real with pass = train: the kernels run the "
                       "forward pass; legal: pass = forward");
    if (point->dtype != AR_FP32 && point->dtype != AR_BF16)
        return ar_fail(err, point->bad,
                       "compute = real with dtype = %s: the kernels store fp32 or bf16; "
                       "legal: fp32, bf16",
                       dtype_names[point->dtype]);
    if (point->tensor_parallel != 1)
        return ar_fail(err, point->bad,
                       "compute = real with tensor_parallel = %lld: the kernels run whole layers; "
                       "legal: tensor_parallel = 1",
                       (long long)point->tensor_parallel);
    const bool works = point->mechanism == AR_STANDARD || point->mechanism == AR_FULL ||
                       point->mechanism == AR_BLOCK;
    if (!works)
        return ar_fail(err, point->bad,
                       "compute = real with mechanism = %s: the layers make no gates or "
                       "coefficients; legal: standard, block, "
                       "full",
                       ar_mechanism_names[point->mechanism]);
    return AR_OK;
}

/* Sizes that later arithmetic and the message layer rely on. */
static ar_status check_sizes(const ar_point *point, ar_err *err) {
    const double chunks = (double)point->stages * (double)point->virtual_stages;
    if (chunks > 1 << 20)
        return ar_fail(err, point->bad, "stages x virtual = %.0f chunks; legal: at most %d", chunks,
                       1 << 20);
    const double elements = (double)point->tokens * (double)point->width;
    if (elements > (double)((int64_t)1 << 40))
        return ar_fail(err, point->bad, "tokens x width = %.3g elements; legal: at most 2^40",
                       elements);
    if (point->tokens * point->width % point->tensor_parallel != 0)
        return ar_fail(
            err, point->bad, "tensor_parallel = %lld does not divide tokens x width = %lld x %lld",
            (long long)point->tensor_parallel, (long long)point->tokens, (long long)point->width);
    return AR_OK;
}

static ar_status check_messages(const ar_point *point, ar_err *err) {
    ar_layout layout;
    const ar_status status = ar_layout_make(point, &layout, err);
    if (status != AR_OK) return status;
    const int64_t peak = ar_routing_total(point, &layout, (ar_cache)point->cache).peak_vectors;
    ar_layout_free(&layout);
    const int64_t bytes = ar_routing_bytes(point, peak);
    if (bytes > INT32_MAX)
        return ar_fail(err, point->bad,
                       "the largest hop carries %lld vectors = %lld bytes in one message; legal: "
                       "less than 2 GiB; lower tokens, or raise tensor_parallel",
                       (long long)peak, (long long)bytes);
    return AR_OK;
}

ar_status ar_point_complete(ar_point *point, ar_err *err) {
    ar_status status = fill_from_model(point, err);
    if (status != AR_OK) return status;
    if (point->layers == 0)
        return ar_fail(err, point->bad, "layers: not given; give a model, or layers and width");
    if (point->width == 0)
        return ar_fail(err, point->bad, "width: not given; give a model, or layers and width");
    if (point->block == 0) {
        if (point->mechanism == AR_BLOCK)
            return ar_fail(err, point->bad,
                           "block: not given; mechanism = block needs the number "
                           "of layers in a block");
        point->block = point->layers; /* Full in one group; no meaning elsewhere */
    }
    if (point->host_stride == 0) point->host_stride = point->tensor_parallel;
    if ((status = check_sizes(point, err)) != AR_OK) return status;
    if ((status = ar_schedule_check(point, err)) != AR_OK) return status;
    if ((status = check_form(point, err)) != AR_OK) return status;
    if ((status = check_real(point, err)) != AR_OK) return status;
    return check_messages(point, err);
}

void ar_point_notes(const ar_point *point) {
    const char *rule = ar_schedule_note(point);
    if (rule) fprintf(stderr, "note: %s\n", rule);
    if (point->mechanism == AR_BLOCK && point->block > point->layers)
        fprintf(stderr, "note: block = %lld is more than layers = %lld: all layers are one block\n",
                (long long)point->block, (long long)point->layers);
}
