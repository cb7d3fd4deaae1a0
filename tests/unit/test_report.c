/* The report on made-up results: numbers, failed rows, absent columns, escaping,
 * timelines, and no gnuplot. */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prose.h"
#include "report.h"
#include "rows.h"
#include "table.h"
#include "tap.h"
#include "timeline.h"

/* ---- a directory of results ---- */

static char dir[] = "/tmp/test_report.XXXXXX";

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    if (!file) abort();
    fputs(text, file);
    fclose(file);
}

/* The file's text in a buffer that the next call reuses; "" when it is missing. */
static const char *read_file(const char *name) {
    static char text[200000];
    FILE *file = fopen(path_of(name), "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file) fclose(file);
    return text;
}

static bool exists(const char *name) {
    return access(path_of(name), R_OK) == 0;
}

/* The report for this results.csv; "" and the message in err when it failed. */
static const char *report(const char *csv, ar_err *err) {
    remove(path_of("report.md"));
    write_file("results.csv", csv);
    err->text[0] = '\0';
    return ar_report_write(dir, err) == AR_OK ? read_file("report.md") : "";
}

/* One line of the text has all the parts, in order. */
static bool line_has(const char *text, const char *const *parts) {
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        char line[4096];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
        const char *at = line;
        size_t i = 0;
        while (parts[i] && at && (at = strstr(at, parts[i])) != NULL)
            at += strlen(parts[i++]);
        if (!parts[i]) return true;
    }
    return false;
}
#define LINE(text, ...) line_has(text, (const char *const[]){__VA_ARGS__, NULL})

#define HEADER                                                                                     \
    "model,layers,unit,block,width,streams,tokens,dtype,embedding,mechanism,form,cache,stages,"    \
    "virtual,microbatches,schedule,pass,platform,compute,step_s,standard_step_s,overhead_percent," \
    "free_s,bound_s,exposed_comm_s,bubble_percent,sent_bytes,planned_bytes,messages,hop_blocks,"   \
    "hop_partial,hop_vectors,formula_vectors,peak_hop_vectors,exact_elements,status,reason,"       \
    "timeline,engine,engine_version,commit,date\n"
#define MODEL "toy,16,2,4,64,4,128,bf16,no,"
#define PIPE ",4,2,8,interleaved,train,"
#define END ",ok,,,smpi,SimGrid 3.32,abc123,2026-01-02\n"

/* Two platforms; the cache saves 40 % of the traffic. On fast it changes the step by
 * 0.5 %, on slow the overhead is 10 % to 25 %. */
static const char study[] = HEADER MODEL
    "standard,two-phase,none" PIPE
    "fast,modelled,0.1,0.1,0,0.1,0.1,0,27,700,700,112,0,7,7,7,1,3" END MODEL
    "block,two-phase,none" PIPE
    "fast,modelled,0.1025,0.1,2.5,0.102,0.102,0.0005,27,2800,2800,112,20,8,28,28,6,5.5" END MODEL
    "block,two-phase,own" PIPE
    "fast,modelled,0.102,0.1,2,0.102,0.102,0,27,1680,1680,112,10,8,18,18,3,5.5" END MODEL
    "standard,two-phase,none" PIPE
    "slow,modelled,0.2,0.2,0,0.1,0.19,0.1,27,700,700,112,0,7,7,7,1,3" END MODEL
    "block,two-phase,none" PIPE
    "slow,modelled,0.25,0.2,25,0.102,0.2,0.148,27,2800,2800,112,20,8,28,24.5,6,5.5" END MODEL
    "block,two-phase,own" PIPE
    "slow,modelled,0.22,0.2,10,0.102,0.2,0.118,27,1680,1680,112,10,8,18,18,3,5.5" END MODEL
    "block,two-phase,received" PIPE "slow|<b>,modelled,,,,,,,,,,,,,,,,,failed,\"stopped: a|b, "
    "<script>\",,smpi,SimGrid 3.32,abc123,2026-01-03\n";

static void test_study(tap *tap_now) {
    ar_err err;
    const char *text = report(study, &err);
    OK(*text, "written %s", err.text);
    OK(strstr(text, "6 points succeeded and 1 failed"), "counts of points");
    OK(LINE(text, "**Block AttnRes** adds 2.00 %", "at best (`fast`,"), "lowest overhead");
    OK(strstr(text, "25.00 % at worst (`slow`, cache"), "highest overhead");
    OK(strstr(text, "Caching saves 40.00 % (own)") && !strstr(text, "(received) and"),
       "traffic saved");
    OK(strstr(text, "holds at 2 of 4 points") && strstr(text, "AttnRes: `fast` (cache"),
       "the claim, by platform");
    OK(strstr(text, "Caching can save much traffic and little time") &&
           strstr(text, "40.00 % of the bytes") && strstr(text, "0.49 %"),
       "surprise: a cache that saves no time");
    OK(strstr(text, "2.00 points"), "surprise: memory I/O");
    OK(LINE(text, "| mechanism", "cache none, %", "cache own, %"), "matrix header");
    OK(LINE(text, "| block", "| slow", " 25.00 |", " 10.00 |"), "matrix row");
    OK(LINE(text, "| slow", "| block", "| own", "220 ms", "102 ms", "200 ms", "118 ms", "27.00",
            "10.00", "1.00", "9.00 |"),
       "every point, with the parts of its overhead");
    OK(LINE(text, "| block", "| none", " 20 |", " 8 |", " 28 |", " 28.00 |", " 0.0 |", " 6 |",
            "2.8 kB", " 112 |", "none: they agree"),
       "wire: agrees");
    OK(LINE(text, "| block", "| own", " 18 |", " 18.00 |", " 35.7 |", " 3 |", "1.68 kB"),
       "wire: saved against none");
    OK(LINE(text, "| block", "| two-phase", "| ", "6.00", "5.50"), "memory: paper and as run");
    OK(LINE(text, "| standard", "3.00", "3.00", "1.00"), "memory: standard");
    OK(LINE(text, "< 4 %", "paper, 4.1", "2.00 % to 25.00 %; below 4 % at 2 of 4 points"),
       "claim: overhead");
    OK(LINE(text, "largest hop 6 vectors without, 3 with cache own"), "claim: largest hop");
    OK(LINE(text, "Full AttnRes practical", "not tested here"), "claim: not tested");
    OK(LINE(text, "|   7 |", "slow\\|&lt;b>", "stopped: a\\|b, &lt;script>"),
       "failed row with its reason, escaped");
    OK(strstr(text, "equal the plan's (`sent_bytes`, `planned_bytes`): 6 of 6") &&
           strstr(text, "(`bound_s`, `step_s`): 6 of 6"),
       "checks");
    OK(strstr(text, "- Engine: SimGrid 3.32") && strstr(text, "- Commit: abc123") &&
           strstr(text, "2026-01-02 to 2026-01-03"),
       "provenance");
    OK(!strstr(text, "nan") && !strstr(text, "inf "), "no nan, no inf");
    size_t longest = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (*at != '|' && *at != '!' && strcspn(at, "\n") > longest) longest = strcspn(at, "\n");
    OK(longest <= 100, "prose is wrapped: %zu", longest);
    OK(exists("plots/overhead.gp") && exists("plots/exposed.gp") && exists("plots/bytes.gp"),
       "scripts of the plots");
    OK(strstr(read_file("plots/overhead.gp"), " 25 \"25\"") != NULL, "a plot's data");
    OK(!exists("report.md.part"), "no leftover");
}

static void test_few_columns(tap *tap_now) {
    ar_err err;
    const char *text = report("mechanism,platform,step_s\nblock,x,0.5\nfull,y,nan\n", &err);
    OK(*text && LINE(text, "| x", "| block", " - |", "500 ms |", " - |"), "few columns");
    OK(LINE(text, "| y", "| full", " - |") && !strstr(text, "nan"), "a cell that is no number");
    OK(strstr(text, "is not tested by") != NULL, "a claim without rows");
    OK(strstr(text, "lacks layers"), "nothing to count for memory");
    text = report("a\n1\n", &err);
    OK(*text != '\0', "unknown columns only");
    text = report("platform,status,reason\nx,failed,\ny,killed,why\n", &err);
    OK(strstr(text, "None of the 2 points succeeded") && LINE(text, "y", "why"), "all failed");
    OK(!*report("a,status\n", &err) && strstr(err.text, "no rows below the header"), "no rows");
    OK(!*report("", &err) && strstr(err.text, "empty"), "empty file");
    OK(!*report("a,b\n1\n", &err) && strstr(err.text, ":2: 1 cells"), "broken row");
    remove(path_of("results.csv"));
    OK(ar_report_write(dir, &err) == AR_EINPUT && strstr(err.text, "cannot be opened"), "no file");
    text =
        report("mechanism,layers,block,width,streams,stages,virtual,hop_vectors,formula_vectors\n"
               "block,-5,0,1e300,x,1,4,0,6\n",
               &err);
    OK(strstr(text, "lacks layers") && LINE(text, "block", "one rank"), "absurd numbers");
}

static void test_plots(tap *tap_now) {
    ar_err err;
    const char *text = report("mechanism,cache,platform,overhead_percent,exposed_comm_s\n"
                              "block,none,\"`touch /tmp/x`\"\"\\\",1,0\nblock,own,b,500,0.5\n",
                              &err);
    const char *script = read_file("plots/overhead.gp");
    OK(!strchr(script + strcspn(script, "\n"), '`') && !strstr(script, "\\\""),
       "names cannot leave their quotes");
    OK(strstr(script, "set logscale y") != NULL, "a wide range is logarithmic");
    text = report("mechanism,cache,platform,overhead_percent\nblock,none,a,-1\n", &err);
    script = read_file("plots/overhead.gp");
    OK(!strstr(script, "logscale") && strstr(script, "[*:"), "a negative overhead");

    char *search = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    freopen("/dev/null", "w", stderr);
    text = report(study, &err);
    OK(strstr(text, "(Plot missing: ") && strstr(text, "gnuplot was not found") &&
           strstr(text, "## How this was measured"),
       "without gnuplot the rest is kept");
    setenv("PATH", search, 1);
    free(search);
}

static void test_table(tap *tap_now) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ar_table table = {.columns = 2};
    ar_table_text(&table, "name");
    ar_table_text(&table, "value");
    ar_table_text(&table, "µ|\n<i>");
    ar_table_fixed(&table, -0.001, 2);
    ar_table_text(&table, "b < c");
    ar_table_fixed(&table, NAN, 2);
    ar_table_text(&table, "begun");
    ar_table_write(&table, out);
    ar_table_write(&table, out);
    fclose(out);
    OK(strcmp(text, "| name       | value |\n"
                    "| ---------- |------:|\n"
                    "| µ\\| &lt;i> |  0.00 |\n"
                    "| b < c      |     - |\n\n") == 0,
       "aligned, escaped, no -0.00, an unfinished row left out");
    free(text);

    text = NULL;
    out = open_memstream(&text, &size);
    ar_prose(out, "%0100d 1. %% - + 2) # %d", 0, 0);
    fclose(out);
    OK(LINE(text, " 1. % - + 2) #"), "no line begins like a list");
    free(text);
    OK(strcmp(ar_show_percent(NAN).text, "-") == 0 &&
           strcmp(ar_show_percent(-0.0001).text, "0.00 %") == 0,
       "percent");
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static const char *timeline_message(const char *row) {
    static ar_err err;
    char text[512];
    ar_timeline t;
    snprintf(text, sizeof text, "rank,kind,pass,chunk,microbatch,start_s,end_s\n%s\n", row);
    write_file("bad.csv", text);
    if (ar_timeline_read(path_of("bad.csv"), &t, &err) == AR_OK) {
        ar_timeline_free(&t);
        return "";
    }
    return strstr(err.text, "bad.csv") + strlen("bad.csv");
}

static void test_timeline(tap *tap_now) {
    ar_err err;
    OK(*timeline_message("0,compute,forward,0,99999999,0,1"), "a micro-batch above a million");
    write_file("t.csv", "rank,kind,pass,chunk,microbatch,start_s,end_s\n"
                        "0,compute,forward,0,0,0,0.001\n"
                        "1,wait,forward,1,0,0,0.0015\n"
                        "1,compute,forward,1,0,0.0015,0.0025\n"
                        "0,compute,forward,2,0,0.003,0.004\n"
                        "1,compute,backward,1,123456,0.0025,0.00251\n");
    const char *text = report("mechanism,platform,step_s,timeline\n"
                              "block,a<b&c,0.004,t.csv\nblock,x,1,../t.csv\nblock,y,1,none.csv\n",
                              &err);
    OK(strstr(text, "![timeline](t.svg)") && strstr(text, "(t.trace.json)"), "shown");
    OK(strstr(text, "../t.csv: not beside results.csv"), "no way out of the directory");
    OK(LINE(text, "| y", "missing: ", "none.csv: cannot be opened"), "a missing file is said");
    const char *svg = read_file("t.svg");
    OK(count_of(svg, "<title>") == 4 && count_of(svg, "rank 1</text>") == 1,
       "a box for each compute, none for the wait; a lane for each rank");
    OK(strstr(svg, "x=\"439.00\" y=\"88\" width=\"250.00\" height=\"24\" fill=\"#9ecae9\"") != NULL,
       "place, size and colour of a box");
    OK(strstr(svg, "x=\"814.00\" y=\"60\" width=\"250.00\" height=\"24\" fill=\"#6aaed6\"") != NULL,
       "the rank's second chunk is darker");
    OK(strstr(svg, ">0</text>") && !strstr(svg, ">123456</text>"), "a number where it fits");
    OK(strstr(svg, "a&lt;b&amp;c") && strstr(svg, ">1 ms</text>"), "title escaped, axis with unit");
    const char *trace = read_file("t.trace.json");
    OK(count_of(trace, "\"ph\":\"X\"") == 5 && count_of(trace, "thread_name") == 2 &&
           strstr(trace, "\"name\":\"wait forward 0\"") &&
           strstr(trace, "\"ts\":1500.000000,\"dur\":1000.000000"),
       "trace: events, threads, microseconds");

    OK(strncmp(timeline_message("-1,compute,forward,0,0,0,1"), ":2: rank = -1", 13) == 0, "rank");
    OK(strncmp(timeline_message("0,sleep,forward,0,0,0,1"), ":2: kind = sleep", 16) == 0, "kind");
    OK(strncmp(timeline_message("0,wait,up,0,0,0,1"), ":2: pass = up", 13) == 0, "pass");
    OK(strncmp(timeline_message("0,wait,forward,0,0,2,1"), ":2: start_s = 2", 15) == 0,
       "ends before it starts");
    OK(strncmp(timeline_message("0,wait,forward,0,0,nan,1"), ":2: start_s = nan", 17) == 0, "nan");
    OK(strstr(timeline_message("0,compute,forward,0,0,0,0"), "no events that take time") != NULL,
       "no time");
    ar_event many = {.rank = AR_TIMELINE_RANKS, .end_s = 1};
    const ar_timeline wide = {&many, 1, AR_TIMELINE_RANKS + 1, 1, 1};
    OK(ar_timeline_svg(&wide, "", path_of("wide.svg"), &err) == AR_ERUN &&
           strstr(err.text, "not drawn"),
       "too many ranks to draw");
    OK(ar_timeline_trace(&wide, "/nonexistent/x.json", &err) == AR_ERUN, "cannot be written");
    OK(access("/dev/full", W_OK) != 0 || ar_timeline_trace(&wide, "/dev/full", &err) == AR_ERUN,
       "a full disk");
}

static void test_rows(tap *tap_now) {
    ar_rows rows;
    ar_err err;
    write_file("r.csv", "model,layers,platform,mechanism,cache\nm,1,a,block,none\nm,1,a,block,own\n"
                        "n,2,a,block,none\nn,2,b,standard,none\n");
    OK(ar_rows_read(path_of("r.csv"), &rows, &err) == AR_OK && rows.good_count == 4, "read");
    OK(ar_rows_varying(&rows, AR_PARAM(AR_P_MECHANISM) | AR_PARAM(AR_P_CACHE)) ==
           (AR_PARAM(AR_P_MODEL)),
       "the model tells the layers, the mechanism the platform");
    OK(ar_rows_find(&rows, 0, 0, AR_P_CACHE, "own") == 1 &&
           ar_rows_find(&rows, 2, 0, AR_P_CACHE, "own") == AR_NO_ROW,
       "the same point with another cache");
    OK(ar_rows_standard(&rows, 2) == AR_NO_ROW && ar_rows_standard(&rows, 3) == 3, "standard");
    OK(isnan(ar_rows_overhead(&rows, 3).memory), "overhead without numbers");
    ar_rows_free(&rows);
}

int main(void) {
    TAP_START;
    if (!mkdtemp(dir)) return 1;
    test_table(tap_now);
    test_rows(tap_now);
    test_study(tap_now);
    test_few_columns(tap_now);
    test_timeline(tap_now);
    test_plots(tap_now);
    static const char *const files[] = {"results.csv",
                                        "report.md",
                                        "r.csv",
                                        "t.csv",
                                        "bad.csv",
                                        "t.svg",
                                        "t.trace.json",
                                        "plots/overhead.gp",
                                        "plots/overhead.svg",
                                        "plots/overhead.png",
                                        "plots/exposed.gp",
                                        "plots/exposed.svg",
                                        "plots/exposed.png",
                                        "plots/bytes.gp",
                                        "plots/bytes.svg",
                                        "plots/bytes.png",
                                        "plots",
                                        ""};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        remove(path_of(files[i]));
    return DONE();
}
