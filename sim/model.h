#ifndef AR_MODEL_H
#define AR_MODEL_H

/* A model file: sim/models/NAME.ini, section [model]. */

#include "field.h"

typedef struct {
    char name[AR_TEXT_MAX];
    int64_t layers, unit, block, width, streams; /* layers: sub-layers, as the paper counts */
    int64_t activated_parameters, total_parameters;
    int64_t attention_layers; /* layers whose cost grows with the context */
    int64_t attention_width;  /* heads x head dimension */
    int64_t context;          /* tokens */
} ar_model;

ar_status ar_model_load(const char *name_or_path, ar_model *model, ar_status bad, ar_err *err);

/* Forward work of one layer per token, the mean over the layers: 2 flop per
 * activated parameter, and in the attention layers 4 flop per attended token and
 * unit of width, over the mean causal context of half the length. */
double ar_model_layer_flop(const ar_model *model);

#endif
