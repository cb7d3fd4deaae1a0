/* Study files: lists multiply, joined keys vary together, and every mistake is named
 * with file and line before a point is asked. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "points.h"
#include "study.h"

static char file_path[] = "/tmp/test_study.XXXXXX";

static void write_file(const char *text) {
    FILE *out = fopen(file_path, "w");
    if (!out) abort();
    fputs(text, out);
    fclose(out);
}

static ar_study *read_study(const char *text) {
    ar_study *study = NULL;
    ar_err err = {""};
    write_file(text);
    if (ar_study_read(file_path, &study, &err) != AR_OK) printf("# %s\n", err.text);
    return study;
}

/* All points as "engine P M cache split; ..." or the message of one that is refused. */
static const char *points_of(const char *file) {
    static char text[4096];
    ar_study *study = read_study(file);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; study && i < ar_study_points(study); i++) {
        ar_point p;
        ar_asked engine;
        ar_err err;
        const ar_status status = ar_study_point(study, i, &p, &engine, &err);
        if (status == AR_OK)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %lld %lld %s %s; ",
                                     ar_asked_names[engine], (long long)p.stages,
                                     (long long)p.microbatches, ar_cache_names[p.cache], p.split);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "status %d; ", (int)status);
    }
    ar_study_free(study);
    return text;
}

static bool is(const char *points, const char *expected) {
    const bool same = strcmp(points, expected) == 0;
    if (!same) printf("# got:      %s\n# expected: %s\n", points, expected);
    return same;
}

#define SIZES "layers = 8\nwidth = 4\nblock = 2\nunit = 1\n"

static void test_lists(tap *tap_now) {
    OK(is(points_of("[study]\n" SIZES), "sim 4 8 own ; "), "no list: one point, simulated");
    OK(is(points_of("[study]\n" SIZES "stages = 2, 4\nmicrobatches=1,2 , 3\n"),
          "sim 2 1 own ; sim 2 2 own ; sim 2 3 own ; sim 4 1 own ; sim 4 2 own ; sim 4 3 own ; "),
       "lists multiply, the last one varies fastest");
    OK(is(points_of("[study]\nmicrobatches = 1,2\n" SIZES "stages = 2\nengine = run, plan\n"),
          "run 2 1 own ; plan 2 1 own ; run 2 2 own ; plan 2 2 own ; "),
       "the engine is a list too");
    OK(is(points_of("[study]\n" SIZES "stages + cache = 2 : none, 4:own\nmicrobatches = 1,2\n"),
          "sim 2 1 none ; sim 2 2 none ; sim 4 1 own ; sim 4 2 own ; "),
       "joined keys vary together");
    OK(is(points_of("[study]\n" SIZES
                    "stages+microbatches+cache+engine = 2:3:none:plan,1:1:own:run"),
          "plan 2 3 none ; run 1 1 own ; "),
       "four keys joined, the engine among them");
    OK(is(points_of("[study]\n" SIZES "stages = 2\nsplit = 4,4 | 3,5|8,0\n"),
          "sim 2 8 own 4,4; sim 2 8 own 3,5; sim 2 8 own 8,0; "),
       "splits are parted by '|'");
    OK(is(points_of("[study]\n" SIZES "split + stages = 4,4 : 2 | 2,2,2,2 : 4\n"),
          "sim 2 8 own 4,4; sim 4 8 own 2,2,2,2; "),
       "split joined with another key");
    OK(is(points_of("[study]\n" SIZES "stages + split = 2 : 4,4 | 4 : 2,2,2,2\n"),
          "sim 2 8 own 4,4; sim 4 8 own 2,2,2,2; "),
       "in whichever order");
    OK(is(points_of("[study]\n" SIZES "stages = 2, 3\nsplit = 4,4\n"),
          "sim 2 8 own 4,4; status 3; "),
       "a combination that is refused is that point's status");
    OK(is(points_of("[study]\n" SIZES "stages = 2\nhost-stride = 3\nhosts = a:b\n"),
          "sim 2 8 own ; "),
       "'-' for '_'; ':' in the value of a single key");
}

/* Every point once, in the order of counting, however many lists. */
static void test_product(tap *tap_now) {
    ar_study *study = read_study("[study]\n" SIZES "stages = 1,2,3,4\nmicrobatches = 1,2,3,4,5\n"
                                 "cache = none, received, own\npass = forward, train\n"
                                 "seed + prefetch = 5:0, 6:1, 7:2\n");
    int wrong = 0;
    OK(study && ar_study_points(study) == 4 * 5 * 3 * 2 * 3, "4 x 5 x 3 x 2 x 3 points");
    for (size_t i = 0; study && i < ar_study_points(study); i++) {
        ar_point p;
        ar_asked engine;
        ar_err err;
        const ar_status status = ar_study_point(study, i, &p, &engine, &err);
        const int64_t index =
            (((p.stages - 1) * 5 + p.microbatches - 1) * 3 + p.cache) * 6 + p.pass * 3 + p.prefetch;
        wrong += status != AR_OK || index != (int64_t)i || p.seed != p.prefetch + 5;
    }
    OK(study && wrong == 0, "each once, in order");
    ar_study_free(study);
}

static void test_refused(tap *tap_now) {
    static const struct {
        const char *keys, *message; /* the message behind the file's name */
    } bad[] = {
        {"stages = 2, 0\n", ":6: stages = 0: legal: 1 to 65536"},
        {"\nstages = 2\ncache = none, all\n", ":8: cache = all: legal: none, received, own"},
        {"stages = 2,\n", ":6: stages = : empty"},
        {"stages =\n", ":6: stages = : empty"},
        {"stages = 2;4\n", ":6: stages = 2;4: not a whole number"},
        {"stages + cache = 2 : none, 4 : al\n", ":6: cache = al: legal"},
        {"forward_time = 3\n", ":6: forward_time = 3: missing unit"},
        {"engine = plan, simulate\n", ":6: engine = simulate: legal: plan, sim, run"},
        {"stagse = 2\n", ":6: stagse: unknown key 'stagse'; did you mean 'stages'?"},
        {"stages + = 2 : 3\n", ":6: "},
        {"stages = 2\nstages = 4\n", ":7: duplicate key 'stages'; it is in line 6 too"},
        {"host-stride = 2\nhost_stride = 4\n", ":7: duplicate key"},
        {"stages = 2\nstages + cache = 4 : own\n", ":7: stages: 'stages' is given twice"},
        {"cache + cache = none : own\n", ":6: cache: 'cache' is given twice"},
        {"engine = plan\nengine + cache = sim : own\n", ":7: engine"},
        {"engine + engine = sim : run\n", ":6: engine"},
        {"stages + cache = 2 : none, 4\n", ":6: stages + cache: '4' has 1 value for 2 keys"},
        {"stages + cache + pass = 2 : own\n", "'2 : own' has 2 values for 3 keys"},
        {"stages + cache = 2 : none : 4\n",
         ":6: stages + cache: '2 : none : 4' has 3 values for 2 keys"},
        {"stages+cache+pass+seed+unit = 1:own:train:1:1\n", "more than 4 keys vary together"},
        {"nothing\n", ":6: nothing: neither a [section] nor a key = value"},
        {"[other]\n", ":6: unknown section [other]"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        ar_study *study = NULL;
        ar_err err = {""};
        snprintf(text, sizeof text, "[study]\n" SIZES "%s", bad[i].keys);
        write_file(text);
        const ar_status status = ar_study_read(file_path, &study, &err);
        OK(status == AR_EINPUT && !study && strstr(err.text, file_path) == err.text &&
               has(err.text + strlen(file_path), bad[i].message),
           "refused%s", strlen(err.text) > strlen(file_path) ? err.text + strlen(file_path) : "");
        if (status == AR_OK) ar_study_free(study);
    }
}

static void test_files(tap *tap_now) {
    static const struct {
        const char *text, *message;
    } bad[] = {{"", "has no keys; expected a section [study]"},
               {"[study]\n", "has no keys"},
               {"; nothing\n", "has no keys"},
               {"stages = 2\n", ":1: stages = 2: stands before the section [study]"},
               {"[point]\nstages = 2\n", ":1: unknown section [point]; legal: [study]"}};
    ar_study *study = NULL;
    ar_err err = {""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(bad[i].text);
        OK(ar_study_read(file_path, &study, &err) == AR_EINPUT && !study &&
               has(err.text, bad[i].message),
           "file refused: %s", bad[i].message);
    }
    OK(ar_study_read("/no/such/study.ini", &study, &err) == AR_EINPUT && !study &&
           has(err.text, "/no/such/study.ini"),
       "no file");
}

/* 100 x 100 x 100 points are legal, 101 x 100 x 100 are not; so many lines are not. */
static void test_many(tap *tap_now) {
    char hundred[512] = "1", text[8192];
    for (int i = 2; i <= 100; i++)
        snprintf(hundred + strlen(hundred), 16, ",%d", i);
    snprintf(text, sizeof text, "[study]\nseed = %s\nstages = %s\ntokens = %s\n", hundred, hundred,
             hundred);
    ar_study *study = read_study(text);
    OK(study && ar_study_points(study) == 1000000, "a million points");
    ar_study_free(study);
    study = NULL;
    snprintf(text, sizeof text, "[study]\nseed = %s\nstages = %s\ntokens = %s, 101\n", hundred,
             hundred, hundred);
    write_file(text);
    ar_err err = {""};
    OK(ar_study_read(file_path, &study, &err) == AR_EINPUT && !study &&
           has(err.text, "more than 1000000 points"),
       "more are refused");
    snprintf(text, sizeof text, "[study]\n");
    for (int i = 0; i < 70; i++)
        snprintf(text + strlen(text), 32, "key%d = 1\n", i);
    write_file(text);
    OK(ar_study_read(file_path, &study, &err) == AR_EINPUT && !study &&
           has(err.text, ":66: key64: more than 64 keys"),
       "more lines than there are keys");
}

int main(void) {
    TAP_START;
    const int fd = mkstemp(file_path);
    if (fd < 0) return 1;
    close(fd);
    test_lists(tap_now);
    test_product(tap_now);
    test_refused(tap_now);
    test_files(tap_now);
    test_many(tap_now);
    unlink(file_path);
    return DONE();
}
