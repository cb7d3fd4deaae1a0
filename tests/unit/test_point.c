/* The point: defaults, models, options against files, refusals, and the way to a file
 * and back. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "points.h"

enum { WORDS = 24 };

static char file_path[] = "/tmp/test_point.XXXXXX";

/* "--layers 8 --width 4": read as options, then complete. Words are parted by a space. */
static ar_status from_options(const char *options, ar_point *point, ar_err *err) {
    char text[1024], *argv[WORDS + 2] = {"attnres"};
    int argc = 1, help = 0;
    snprintf(text, sizeof text, "%s", options);
    for (char *word = strtok(text, " "); word && argc <= WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    const ar_arguments arguments = {.point = point};
    ar_point_init(point);
    const ar_status status = ar_arguments_read(&arguments, argc, argv, 0, &help, err);
    return status == AR_OK ? ar_point_complete(point, err) : status;
}

static void write_file(const char *text) {
    FILE *out = fopen(file_path, "w");
    if (!out) abort();
    fputs(text, out);
    fclose(out);
}

/* The same options as keys of a file. */
static ar_status from_file(const char *options, ar_point *point, ar_err *err) {
    char text[1024], keys[2048] = "[point]\n";
    size_t used = strlen(keys);
    snprintf(text, sizeof text, "%s", options);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        const char *value = strtok(NULL, " ");
        used += (size_t)snprintf(keys + used, sizeof keys - used, "%s = %s\n", word + 2, value);
    }
    write_file(keys);
    ar_point_init(point);
    const ar_status status = ar_point_read(point, file_path, err);
    return status == AR_OK ? ar_point_complete(point, err) : status;
}

static void test_defaults(tap *tap_now) {
    ar_point p;
    ar_point_init(&p);
    OK(p.stages == 4 && p.virtual_stages == 1 && p.microbatches == 8 && p.unit == 2 &&
           p.tokens == 4096 && p.streams == 4 && p.prefetch == 1 && p.tensor_parallel == 1 &&
           p.repetitions == 1,
       "defaults: counts");
    OK(p.dtype == AR_BF16 && p.embedding == 1 && p.mechanism == AR_BLOCK &&
           p.cache == AR_CACHE_OWN && p.schedule == AR_INTERLEAVED && p.pass == AR_TRAIN &&
           p.compute == AR_MODELLED && p.engine_model == AR_EXPLICIT &&
           p.remainder == AR_REMAINDER_FIRST,
       "defaults: choices");
    OK(!p.model[0] && !p.split[0] && strcmp(p.device, "h100-sxm") == 0 &&
           strcmp(p.platform, "nvlink-node") == 0,
       "defaults: texts");
    OK(p.set == 0 && p.bad == AR_EUSAGE && !ar_point_given(&p, "stages"), "nothing is given");
    OK(ar_point_fields.count <= 64, "a bit for every field");
    OK(ar_dtype_B(AR_FP32) == 4 && ar_dtype_B(AR_BF16) == 2 && ar_dtype_B(AR_FP16) == 2, "bytes");
}

static void test_model(tap *tap_now) {
    ar_point p;
    ar_err err = {""};
    OK(from_options("--model kimi-k3", &p, &err) == AR_OK && p.layers == 186 && p.unit == 2 &&
           p.block == 24 && p.width == 7168 && p.streams == 4 && p.layer_flop > 2 * 104e9 / 186,
       "the model fills what is not given");
    OK(from_options("--layers 10 --model kimi-k3 --width 64 --block 3 --streams 2 --unit 1", &p,
                    &err) == AR_OK &&
           p.layers == 10 && p.width == 64 && p.block == 3 && p.streams == 2 && p.unit == 1,
       "an option beats the model, in any order");
    OK(ar_point_given(&p, "layers") && !ar_point_given(&p, "stages"), "and is known as given");
    OK(from_options("--layers 8 --width 10 --mechanism standard", &p, &err) == AR_OK &&
           fabs(p.layer_flop - 1200) < 1e-9 && has(p.layer_flop_source, "estimate") &&
           p.block == 8 && p.host_stride == 1,
       "without a model: an estimate that says so");
    OK(from_options("--layers 8 --width 10 --block 99", &p, &err) == AR_OK && p.block == 99,
       "S > L is legal");
    OK(from_options("--model kimi-k3 --tensor-parallel 8", &p, &err) == AR_OK && p.host_stride == 8,
       "ranks sit tensor_parallel hosts apart");
}

/* ---- refusals ---- */

static void test_values(tap *tap_now) {
    static const char *const bad[] = {"",
                                      "x",
                                      "nan",
                                      "inf",
                                      "1.5",
                                      "1e3",
                                      "0x10",
                                      "1 1",
                                      "1,2",
                                      "--1",
                                      "+",
                                      "1kk",
                                      "99999999999999999999",
                                      "9999999999G",
                                      "-99999999999999999999"};
    int accepted = 0, changed = 0, unnamed = 0, tried = 0;
    for (size_t i = 0; i < ar_point_fields.count; i++) {
        const ar_field *field = &ar_point_fields.field[i];
        char low[64], high[64], longest[AR_TEXT_MAX + 1] = "";
        const char *texts[20] = {low, high, "no such choice", longest};
        size_t count = 4;
        memset(longest, 'x', AR_TEXT_MAX);
        snprintf(low, sizeof low, "%.0f", field->min - 1);
        snprintf(high, sizeof high, "%.0f", field->max + 1);
        if (field->type == AR_FIELD_COUNT)
            for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
                texts[count++] = bad[b];
        if (field->type == AR_FIELD_QUANTITY) {
            snprintf(low, sizeof low, "-1%s", field->unit == AR_UNIT_S ? " s" : "");
            snprintf(high, sizeof high, "1e7%s", field->unit == AR_UNIT_S ? " h" : "e9");
            texts[count++] = "nan";
            texts[count++] = "inf";
            texts[count++] = field->unit == AR_UNIT_S ? "3" : "3 s";
        }
        for (size_t k = 0; k < count; k++) {
            ar_point p, before;
            ar_err err = {""};
            if (field->type == AR_FIELD_TEXT && texts[k] != longest) continue;
            ar_point_init(&p);
            before = p;
            tried++;
            accepted += ar_point_set(&p, field->name, texts[k], "--here", &err) != AR_EUSAGE;
            unnamed += strncmp(err.text, "--here", 6) != 0;
            changed += memcmp(&p, &before, sizeof p) != 0;
        }
    }
    OK(accepted == 0 && tried > 300, "%d bad values: %d accepted", tried, accepted);
    OK(unnamed == 0, "every message begins with its place");
    OK(changed == 0, "and the point is unchanged");
}

/* Point by point: option and message. From options the status is 2, from a file 3. */
static void test_combinations(tap *tap_now) {
    static const struct {
        const char *options, *message;
    } bad[] = {
        {"--width 4", "layers: not given"},
        {"--layers 4 --block 2", "width: not given"},
        {"--layers 4 --width 4", "block: not given"},
        {"--model no-such-model", "unknown model 'no-such-model'"},
        {"--model kimi-k33", "did you mean 'kimi-k3'"},
        {"--model /no/such.ini", "/no/such.ini"},
        {"--model kimi-k3 --virtual 2 --schedule 1f1b", "rule: 1f1b"},
        {"--model kimi-k3 --split 1,2,3", "split = 1,2,3: has 3 entries"},
        {"--model kimi-k3 --split 1,2,3,4", "sums to 10; the model has 93 units"},
        {"--model kimi-k3 --tensor-parallel 7 --width 10 --tokens 3", "tensor_parallel = 7"},
        {"--model kimi-k3 --stages 65536 --virtual 1024", "legal: at most 1048576"},
        {"--model kimi-k3 --tokens 1073741824 --width 1048576", "legal: at most 2^40"},
        {"--model kimi-k3 --tokens 131072", "legal: less than 2 GiB"},
        {"--model kimi-k3 --compute real --dtype fp32", "pass = train"},
        {"--model kimi-k3 --compute real --pass forward --dtype fp16", "dtype = fp16"},
        {"--model kimi-k3 --compute real --pass forward --dtype fp32 --mechanism mhc",
         "mechanism = mhc: the layers make no gates"},
        {"--model kimi-k3 --compute real --pass forward --dtype fp32 --mechanism highway",
         "mechanism = highway"},
        {"--model kimi-k3 --compute real --pass forward --dtype fp32 --tensor-parallel 2",
         "tensor_parallel = 2"},
        {"--layers 4 --width 4 --block 0", "legal: 1 to 65536"},
        {"--layers 65537 --width 4", "legal: 1 to 65536"},
        {"--layers 4 --microbatch 3", "unknown"},
        {"--layers 4 --microbatch 3", "microbatches"},
        {"--layers 4 --layers 4", "layers"}, /* in a file: a duplicate key */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ar_point p;
        ar_err err = {""};
        OK(from_options(bad[i].options, &p, &err) == AR_EUSAGE && has(err.text, bad[i].message),
           "%s: status 2", bad[i].options);
        err.text[0] = '\0';
        OK(from_file(bad[i].options, &p, &err) == AR_EINPUT && has(err.text, bad[i].message),
           "in a file: status 3");
    }
}

static void test_messages(tap *tap_now) {
    ar_point p;
    ar_err err = {""};
    OK(from_options("--stages=2 --stages 2", &p, &err) == AR_EUSAGE && has(err.text, "--stages") &&
           has(err.text, "twice"),
       "an option twice");
    OK(from_options("--stagse 2", &p, &err) == AR_EUSAGE &&
           has(err.text, "--stagse: unknown option '--stagse'; did you mean '--stages'?"),
       "an unknown option: the nearest one");
    write_file("[point]\nlayers = 8\nstagse = 2\n");
    ar_point_init(&p);
    OK(ar_point_read(&p, file_path, &err) == AR_EINPUT &&
           strncmp(err.text, file_path, strlen(file_path)) == 0 &&
           has(err.text + strlen(file_path), ":3: unknown key 'stagse'; did you mean 'stages'?"),
       "an unknown key: file, line, the nearest one");
    write_file("[point]\nlayers = 8\n\nstages = 0\n");
    ar_point_init(&p);
    OK(ar_point_read(&p, file_path, &err) == AR_EINPUT &&
           has(err.text + strlen(file_path), ":4: stages = 0: legal: 1 to 65536"),
       "a bad value: file, line, key, value, legal range");
    OK(ar_point_read(&p, "/no/such/file", &err) == AR_EINPUT && has(err.text, "/no/such/file"),
       "no file");
}

/* 2^31 bytes are refused, 2^31 - 1024 are not. */
static void test_2_GiB(tap *tap_now) {
    ar_point p;
    ar_err err = {""};
    OK(from_options("--layers 4 --width 512 --tokens 2097151 --mechanism standard", &p, &err) ==
           AR_OK,
       "one vector of 2 GiB - 1 KiB");
    OK(from_options("--layers 4 --width 512 --tokens 2097152 --mechanism standard", &p, &err) ==
               AR_EUSAGE &&
           has(err.text, "1 vectors = 2147483648 bytes"),
       "one vector of 2 GiB");
    OK(from_options("--layers 4 --width 512 --tokens 2097152 --mechanism standard "
                    "--tensor-parallel 2",
                    &p, &err) == AR_OK,
       "shared by two");
    OK(from_options("--layers 4 --width 512 --tokens 2097152 --mechanism standard --stages 1", &p,
                    &err) == AR_OK,
       "one rank sends nothing");
    fflush(stdout); /* UBSan may end the test here */
    OK(from_options("--layers 65536 --unit 1 --block 1 --width 1048576 --tokens 1048576 --stages "
                    "1024 --virtual 64 --cache none",
                    &p, &err) == AR_EUSAGE &&
           has(err.text, "less than 2 GiB"),
       "sizes whose total is beyond 64 bits");
}

int main(void) {
    TAP_START;
    const int fd = mkstemp(file_path);
    if (fd < 0) return 1;
    close(fd);
    test_defaults(tap_now);
    test_model(tap_now);
    test_values(tap_now);
    test_combinations(tap_now);
    test_messages(tap_now);
    test_2_GiB(tap_now);
    unlink(file_path);
    return DONE();
}
