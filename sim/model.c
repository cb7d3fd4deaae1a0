#include "model.h"

#include "data.h"

#define COUNT(key, low, high, otherwise, text)                                                     \
    {                                                                                              \
#key, AR_FIELD_COUNT, AR_UNIT_NONE, offsetof(ar_model, key), low, high, NULL, otherwise,   \
            "N", text                                                                              \
    }

static const ar_field model_field[] = {
    {"name", AR_FIELD_TEXT, AR_UNIT_NONE, offsetof(ar_model, name), 0, 0, NULL, NULL, "TEXT",
     "name for people"},
    COUNT(layers, 1, 65536, NULL, "layers (attention and MLP count one each)"),
    COUNT(unit, 1, 64, "2", "layers that stay together in a chunk"),
    COUNT(block, 1, 65536, NULL, "layers in an AttnRes block"),
    COUNT(width, 1, 1 << 20, NULL, "hidden width d"),
    COUNT(streams, 1, 64, "4", "streams of mHC"),
    COUNT(activated_parameters, 1, 1e15, NULL, "parameters that one token uses"),
    COUNT(total_parameters, 1, 1e15, NULL, "all parameters"),
    COUNT(attention_layers, 0, 65536, "0", "layers whose cost grows with the context"),
    COUNT(attention_width, 0, 1 << 20, "0", "heads x head dimension"),
    COUNT(context, 0, 1e9, "0", "sequence length in tokens"),
};

static const ar_fields model_fields = {model_field, sizeof model_field / sizeof *model_field,
                                       "model"};

ar_status ar_model_load(const char *name, ar_model *model, ar_status bad, ar_err *err) {
    char path[1024];
    ar_status status = ar_data_find("models", name, ".ini", path, sizeof path, err, bad);
    if (status != AR_OK) return status;
    ar_model read = {0};
    uint64_t set = 0;
    status = ar_fields_read(&model_fields, path, &read, &set, err);
    if (status != AR_OK) return status;
    if (read.attention_layers > read.layers)
        return ar_fail(err, AR_EINPUT, "%s: attention_layers = %lld: more than layers = %lld", path,
                       (long long)read.attention_layers, (long long)read.layers);
    *model = read;
    return AR_OK;
}

double ar_model_layer_flop(const ar_model *model) {
    const double attention = 2.0 * (double)model->context * (double)model->attention_width *
                             (double)model->attention_layers;
    return (2.0 * (double)model->activated_parameters + attention) / (double)model->layers;
}
