#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A unit's value in base units is times / over: both are exact in binary, so
 * that "3 us" is the double nearest to 3e-6. Prefixes for people are marked. */
typedef struct {
    const char *name;
    double times, over;
    bool human;
} suffix;

static const suffix none[] = {{"", 1, 1, true}, {NULL, 0, 0, false}};

static const suffix seconds[] = {{"s", 1, 1, true},
                                 {"ms", 1, 1e3, true},
                                 {"us", 1, 1e6, true},
                                 {"ns", 1, 1e9, true},
                                 {NULL, 0, 0, false}};

static const suffix bytes[] = {{"TB", 1e12, 1, true},
                               {"GB", 1e9, 1, true},
                               {"MB", 1e6, 1, true},
                               {"kB", 1e3, 1, true},
                               {"B", 1, 1, true},
                               {"KiB", 1024, 1, false},
                               {"MiB", 1048576, 1, false},
                               {"GiB", 1073741824, 1, false},
                               {"TiB", 1099511627776, 1, false},
                               {NULL, 0, 0, false}};

static const suffix bytes_per_second[] = {{"TB/s", 1e12, 1, true},
                                          {"GB/s", 1e9, 1, true},
                                          {"MB/s", 1e6, 1, true},
                                          {"kB/s", 1e3, 1, true},
                                          {"B/s", 1, 1, true},
                                          {"Tb/s", 1e12, 8, false},
                                          {"Gb/s", 1e9, 8, false},
                                          {"Mb/s", 1e6, 8, false},
                                          {"kb/s", 1e3, 8, false},
                                          {"b/s", 1, 8, false},
                                          {"KiB/s", 1024, 1, false},
                                          {"MiB/s", 1048576, 1, false},
                                          {"GiB/s", 1073741824, 1, false},
                                          {"TiB/s", 1099511627776, 1, false},
                                          {NULL, 0, 0, false}};

static const suffix flops[] = {{"PFLOP/s", 1e15, 1, true}, {"TFLOP/s", 1e12, 1, true},
                               {"GFLOP/s", 1e9, 1, true},  {"MFLOP/s", 1e6, 1, true},
                               {"FLOP/s", 1, 1, true},     {NULL, 0, 0, false}};

static const struct {
    const suffix *suffix; /* human ones in falling order */
    const char *base, *example;
} units[] = {[AR_UNIT_NONE] = {none, "", "1.5"},
             [AR_UNIT_S] = {seconds, "s", "2 us"},
             [AR_UNIT_B] = {bytes, "B", "80 GB"},
             [AR_UNIT_BPS] = {bytes_per_second, "B/s", "4.8 TB/s"},
             [AR_UNIT_FLOPS] = {flops, "FLOP/s", "989 TFLOP/s"}};

static const char *skip_digits(const char *text) {
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

static const char *skip_sign(const char *text) {
    return *text == '+' || *text == '-' ? text + 1 : text;
}

static const char *skip_spaces(const char *text) {
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* End of the decimal number that begins text, or NULL: none of strtod's hex, inf and nan. */
static const char *decimal_end(const char *text) {
    const char *begin = skip_sign(text);
    const char *end = skip_digits(begin);
    size_t digits = (size_t)(end - begin);
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits += (size_t)(end - fraction);
    }
    if (digits == 0) return NULL;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = skip_sign(end + 1);
        if (skip_digits(exponent) > exponent) end = skip_digits(exponent);
    }
    return end;
}

bool ar_quantity_parse(ar_unit unit, const char *text, double *value, const char **reason) {
    const char *end = decimal_end(text);
    char *parsed = NULL;
    errno = 0;
    const double number = end ? strtod(text, &parsed) : 0;
    if (!end || parsed != end) {
        *reason = *text ? "not a number" : "empty";
        return false;
    }
    if (!isfinite(number) || (errno == ERANGE && number == 0)) {
        *reason = "number out of range";
        return false;
    }
    const char *name = skip_spaces(end);
    if (unit == AR_UNIT_NONE) name = end;
    const suffix *s = units[unit].suffix;
    while (s->name && strcmp(s->name, name) != 0)
        s++;
    if (!s->name) {
        *reason = unit == AR_UNIT_NONE ? "not a number" : *name ? "unknown unit" : "missing unit";
        return false;
    }
    const double result = number * s->times / s->over;
    if (!isfinite(result)) {
        *reason = "number out of range";
        return false;
    }
    *value = result;
    return true;
}

bool ar_count_parse(const char *text, int64_t *value, const char **reason) {
    static const struct {
        const char *name;
        int64_t times;
    } suffixes[] = {{"", 1},           {"k", 1000},       {"M", 1000000},   {"G", 1000000000},
                    {"Ki", 1LL << 10}, {"Mi", 1LL << 20}, {"Gi", 1LL << 30}};
    const char *digits = skip_sign(text);
    const char *end = skip_digits(digits);
    const char *name = skip_spaces(end);
    const size_t known = sizeof suffixes / sizeof *suffixes;
    size_t i = 0;
    while (i < known && strcmp(suffixes[i].name, name) != 0)
        i++;
    if (end == digits || i == known || (!*name && name != end)) {
        *reason = *text ? "not a whole number" : "empty";
        return false;
    }
    errno = 0;
    const int64_t number = strtoll(text, NULL, 10), times = suffixes[i].times;
    if (errno == ERANGE || number > INT64_MAX / times || number < INT64_MIN / times) {
        *reason = "number out of range";
        return false;
    }
    *value = number * times;
    return true;
}

const char *ar_unit_example(ar_unit unit) {
    return units[unit].example;
}

/* number, a space and the unit; no space where there is no unit */
static void join(char *text, size_t size, const char *number, const char *unit) {
    snprintf(text, size, "%s%s%s", number, *unit ? " " : "", unit);
}

void ar_quantity_format(ar_unit unit, double value, char *text, size_t size) {
    char number[64];
    if (fabs(value) < 1e15 && value == floor(value)) {
        snprintf(number, sizeof number, "%.0f", value);
    } else {
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(number, sizeof number, "%.*g", digits, value);
            if (strtod(number, NULL) == value) break;
        }
    }
    join(text, size, number, units[unit].base);
}

void ar_quantity_human(ar_unit unit, double value, char *text, size_t size) {
    if (!isfinite(value)) {
        snprintf(text, size, "-");
        return;
    }
    char number[400]; /* three digits first, so that 999.9 kB becomes 1 MB */
    snprintf(number, sizeof number, "%.2e", value);
    const double rounded = strtod(number, NULL);
    const suffix *chosen = units[unit].suffix;
    for (const suffix *s = chosen; s->name; s++) {
        if (!s->human) continue;
        chosen = s;
        if (fabs(rounded) * s->over / s->times >= 1) break;
    }
    if (value == 0) {
        join(text, size, "0", units[unit].base);
        return;
    }
    const double scaled = rounded * chosen->over / chosen->times;
    snprintf(number, sizeof number, fabs(scaled) >= 999.5 ? "%.0f" : "%.3g", scaled);
    join(text, size, number, chosen->name);
}
