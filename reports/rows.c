#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const param_names[AR_PARAMS] = {
    [AR_P_ENGINE] = "engine",
    [AR_P_MODEL] = "model",
    [AR_P_LAYERS] = "layers",
    [AR_P_UNIT] = "unit",
    [AR_P_BLOCK] = "block",
    [AR_P_WIDTH] = "width",
    [AR_P_TOKENS] = "tokens",
    [AR_P_DTYPE] = "dtype",
    [AR_P_EMBEDDING] = "embedding",
    [AR_P_STAGES] = "stages",
    [AR_P_VIRTUAL] = "virtual",
    [AR_P_MICROBATCHES] = "microbatches",
    [AR_P_SCHEDULE] = "schedule",
    [AR_P_SPLIT] = "split",
    [AR_P_REMAINDER] = "remainder",
    [AR_P_PASS] = "pass",
    [AR_P_DEVICE] = "device",
    [AR_P_PLATFORM] = "platform",
    [AR_P_TENSOR_PARALLEL] = "tensor_parallel",
    [AR_P_COMPUTE] = "compute",
    [AR_P_FORWARD_TIME] = "forward_time",
    [AR_P_BACKWARD_TIME] = "backward_time",
    [AR_P_PREFETCH] = "prefetch",
    [AR_P_SPEED_RATIO] = "speed_ratio",
    [AR_P_EFFICIENCY] = "efficiency",
    [AR_P_ENGINE_MODEL] = "engine_model",
    [AR_P_MECHANISM] = "mechanism",
    [AR_P_FORM] = "form",
    [AR_P_STREAMS] = "streams",
    [AR_P_CACHE] = "cache",
};

const char *ar_param_name(ar_param param) {
    return param_names[param];
}

static const char *ordinal(const char *number) {
    const size_t length = strlen(number);
    const char last = length ? number[length - 1] : '0';
    if (length > 1 && number[length - 2] == '1') return "th";
    return last == '1' ? "st" : last == '2' ? "nd" : last == '3' ? "rd" : "th";
}

static bool name_places(ar_rows *rows) {
    const int column = ar_csv_column(&rows->csv, "platform");
    if (column < 0) return true;
    rows->place = calloc(rows->csv.rows, sizeof *rows->place);
    for (size_t row = 0; rows->place && row < rows->csv.rows; row++) {
        const char *stride = ar_csv_get(&rows->csv, row, "host_stride");
        const char *hosts = ar_csv_get(&rows->csv, row, "hosts");
        char **cell = &rows->csv.cell[(row + 1) * rows->csv.columns + (size_t)column];
        const size_t size = strlen(*cell) + strlen(stride) + strlen(hosts) + 16;
        rows->place[row] = malloc(size);
        if (!rows->place[row]) return false;
        if (*hosts)
            snprintf(rows->place[row], size, "%s by %s", *cell, hosts);
        else if (*stride && strcmp(stride, "1") != 0)
            snprintf(rows->place[row], size, "%s every %s%s", *cell, stride, ordinal(stride));
        else
            snprintf(rows->place[row], size, "%s", *cell);
        *cell = rows->place[row];
    }
    return rows->place != NULL;
}

/* Number the values of every parameter by their first row. */
static void number_values(ar_rows *rows) {
    for (size_t p = 0; p < AR_PARAMS; p++) {
        int count = 0;
        for (size_t row = 0; row < rows->csv.rows; row++) {
            const char *value = ar_csv_get(&rows->csv, row, param_names[p]);
            size_t same = 0;
            while (strcmp(ar_csv_get(&rows->csv, same, param_names[p]), value) != 0)
                same++;
            rows->value[row * AR_PARAMS + p] =
                same < row ? rows->value[same * AR_PARAMS + p] : count++;
        }
    }
}

bool ar_rows_good(const ar_rows *rows, size_t row) {
    return ar_csv_column(&rows->csv, "status") < 0 ||
           strcmp(ar_csv_get(&rows->csv, row, "status"), "ok") == 0;
}

ar_status ar_rows_read(const char *path, ar_rows *rows, ar_err *err) {
    ar_rows read = {0};
    const ar_status status = ar_csv_read(path, &read.csv, err);
    if (status != AR_OK) return status;
    const size_t count = read.csv.rows;
    if (count == 0) {
        ar_csv_free(&read.csv);
        return ar_fail(err, AR_EINPUT, "%s: no rows below the header: nothing to report", path);
    }
    read.good = calloc(count, sizeof *read.good);
    read.value = calloc(count, AR_PARAMS * sizeof *read.value);
    if (!read.good || !read.value || !name_places(&read)) {
        ar_rows_free(&read);
        return ar_fail(err, AR_ERUN, "%s: out of memory for %zu rows", path, count);
    }
    for (size_t row = 0; row < count; row++)
        if (ar_rows_good(&read, row)) read.good[read.good_count++] = row;
    number_values(&read);
    *rows = read;
    return AR_OK;
}

void ar_rows_free(ar_rows *rows) {
    for (size_t row = 0; rows->place && row < rows->csv.rows; row++)
        free(rows->place[row]);
    free(rows->place);
    ar_csv_free(&rows->csv);
    free(rows->good);
    free(rows->value);
    *rows = (ar_rows){0};
}

const char *ar_rows_text(const ar_rows *rows, size_t row, const char *column) {
    const char *text = ar_csv_get(&rows->csv, row, column);
    return *text ? text : "-";
}

const char *ar_rows_param(const ar_rows *rows, size_t row, ar_param param) {
    return ar_rows_text(rows, row, param_names[param]);
}

double ar_rows_number(const ar_rows *rows, size_t row, const char *column) {
    return ar_csv_number(&rows->csv, row, column);
}

bool ar_rows_is(const ar_rows *rows, size_t row, ar_param param, const char *value) {
    return strcmp(ar_csv_get(&rows->csv, row, param_names[param]), value) == 0;
}

bool ar_rows_same(const ar_rows *rows, size_t a, size_t b, ar_params except) {
    for (size_t p = 0; p < AR_PARAMS; p++)
        if (!(except >> p & 1) && rows->value[a * AR_PARAMS + p] != rows->value[b * AR_PARAMS + p])
            return false;
    return true;
}

size_t ar_rows_first(const ar_rows *rows, size_t row, ar_params except) {
    for (size_t i = 0; i < rows->good_count; i++)
        if (ar_rows_same(rows, rows->good[i], row, except)) return rows->good[i];
    return row;
}

long ar_rows_find(const ar_rows *rows, size_t row, ar_params except, ar_param param,
                  const char *value) {
    for (size_t i = 0; i < rows->good_count; i++)
        if (ar_rows_same(rows, rows->good[i], row, except | AR_PARAM(param)) &&
            ar_rows_is(rows, rows->good[i], param, value))
            return (long)rows->good[i];
    return AR_NO_ROW;
}

ar_params ar_rows_varying(const ar_rows *rows, ar_params shown) {
    const ar_params all = AR_PARAM(AR_PARAMS) - 1;
    ar_params varying = 0;
    for (size_t p = 0; p < AR_PARAMS; p++) {
        const ar_params known = shown | varying;
        bool told = (known >> p & 1) != 0;
        /* told: rows that agree in what is known agree in this one too */
        for (size_t i = 0; i < rows->good_count && !told; i++) {
            const size_t first = ar_rows_first(rows, rows->good[i], all & ~known);
            if (!ar_rows_same(rows, rows->good[i], first, all & ~AR_PARAM(p))) {
                varying |= AR_PARAM(p);
                break;
            }
        }
    }
    return varying;
}

size_t ar_rows_values(const ar_rows *rows, ar_param param, size_t *list, size_t max) {
    const ar_params others = (AR_PARAM(AR_PARAMS) - 1) & ~AR_PARAM(param);
    size_t count = 0;
    for (size_t i = 0; i < rows->good_count && count < max; i++)
        if (ar_rows_first(rows, rows->good[i], others) == rows->good[i])
            list[count++] = rows->good[i];
    return count;
}

long ar_rows_standard(const ar_rows *rows, size_t row) {
    return ar_rows_find(rows, row, AR_PARAMS_RESIDUAL, AR_P_MECHANISM, "standard");
}

ar_overhead ar_rows_overhead(const ar_rows *rows, size_t row) {
    const long standard = ar_rows_standard(rows, row);
    if (standard < 0) return (ar_overhead){NAN, NAN};
    const size_t base = (size_t)standard;
    const double step = ar_rows_number(rows, base, "step_s") / 100;
    return (ar_overhead){
        (ar_rows_number(rows, row, "free_s") - ar_rows_number(rows, base, "free_s")) / step,
        (ar_rows_number(rows, row, "exposed_comm_s") -
         ar_rows_number(rows, base, "exposed_comm_s")) /
            step};
}
