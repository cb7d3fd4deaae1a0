/* topologies and sim/base/data: files of devices and presets, the generated
 * platforms and their routes, bad XML, this machine. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bind.h"
#include "data.h"
#include "device.h"
#include "discover.h"
#include "generate.h"
#include "hosts.h"
#include "route.h"
#include "route_engine.h"
#include "tap.h"

static char dir[] = "/tmp/attnres-test-XXXXXX";

/* Write a file of the test's folder. The path lives until the next call. */
static const char *file(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    if (!out) return path;
    fputs(text, out);
    fclose(out);
    return path;
}

static int close_to(double a, double b) {
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* ---- devices ---- */

static void test_devices(tap *tap_now) {
    static const struct {
        const char *name;
        double memory_TBps, peak, measured, link_GBps, nic_Gbps, capacity_GB;
    } want[] = {
        {"a100-80g-sxm", 2.04, 312, 271, 300, 200, 80}, {"h100-sxm", 3.35, 989, 794, 450, 400, 80},
        {"h200", 4.8, 989, 0, 450, 400, 141},           {"b200", 8, 2250, 1745, 900, 400, 180},
        {"gb200", 8, 2500, 1822, 900, 400, 186},        {"mi300x", 5.3, 1307, 668, 448, 400, 192},
        {"gaudi3", 3.67, 1677, 0, 600, 4800, 128},      {"tpu-v5p", 2.765, 459, 0, 600, 50, 95},
        {"ascend-910b", 1.6, 354, 0, 196, 400, 64},     {"ascend-910c", 3.2, 752, 0, 392, 400, 128},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        ar_device d;
        ar_err err = {""};
        const ar_status status = ar_device_load(want[i].name, &d, AR_EINPUT, &err);
        OK(status == AR_OK && close_to(d.memory_Bps, want[i].memory_TBps * 1e12) &&
               close_to(d.matrix_flops, want[i].peak * 1e12) &&
               fabs(d.measured_flops - want[i].measured * 1e12) < 1 &&
               close_to(d.link_Bps, want[i].link_GBps * 1e9) &&
               close_to(d.nic_Bps, want[i].nic_Gbps * 1e9 / 8) &&
               close_to(d.memory_B, want[i].capacity_GB * 1e9) && d.kernel_launch_s > 0,
           "device %s has the reference values %s", want[i].name, err.text);
        if (status == AR_OK)
            OK(ar_device_matrix_flops(&d) ==
                   (want[i].measured > 0 ? d.measured_flops : d.matrix_flops),
               "device %s: measured matrix rate first", want[i].name);
    }
}

static void test_bad_devices(tap *tap_now) {
    static const char good[] =
        "[device]\nname = x\nmemory_bandwidth = 1 TB/s\nmatrix_peak = 1 TFLOP/s\n"
        "memory_capacity = 1 GB\nlink_bandwidth = 1 GB/s\n";
    static const struct {
        const char *last, *says;
    } bad[] = {
        {"kernel_launch = 4", "bad.ini:7: kernel_launch = 4: "},
        {"kernel_launch = 0 us", "bad.ini:7: kernel_launch = 0 us"},
        {"kernel_launch = -1 us", "bad.ini:7: kernel_launch = -1 us"},
        {"kernel_launch = nan us", "bad.ini:7: kernel_launch = nan us"},
        {"kernel_launch = 1e999 us", "bad.ini:7: kernel_launch"},
        {"kernel_launch = 4 us\nnic_bandwidth = 0 Gb/s", "bad.ini:8: nic_bandwidth = 0 Gb/s"},
        {"kernel_launch = 4 us\nname = y", "bad.ini:8"},
        {"kernel_lunch = 4 us", "did you mean 'kernel_launch'"},
        {"", "lacks the key 'kernel_launch'"},
        {"kernel_launch = 4 us\n[model]\nwidth = 3", "bad.ini:8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1024];
        ar_err err = {""};
        ar_device d = {.memory_B = 42};
        snprintf(text, sizeof text, "%s%s\n", good, bad[i].last);
        const ar_status status = ar_device_load(file("bad.ini", text), &d, AR_EINPUT, &err);
        OK(status == AR_EINPUT && strstr(err.text, bad[i].says) && d.memory_B == 42, "refused: %s",
           err.text);
    }
}

/* ---- data ---- */

static void test_data(tap *tap_now) {
    char path[4096];
    ar_err err;
    static const char *const kinds[][3] = {{"models", "kimi-linear-48b", ".ini"},
                                           {"models", "kimi-k3", ".ini"},
                                           {"presets", "ndr-fat-tree", ".ini"},
                                           {"platforms", "torus-3d", ".xml"},
                                           {"platforms", "free", ".xml"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        OK(ar_data_find(kinds[i][0], kinds[i][1], kinds[i][2], path, sizeof path, &err,
                        AR_EINPUT) == AR_OK &&
               access(path, R_OK) == 0,
           "%s %s is found", kinds[i][0], kinds[i][1]);
    OK(ar_data_find("devices", "h100", ".ini", path, sizeof path, &err, AR_EUSAGE) == AR_EUSAGE &&
           strstr(err.text, "did you mean 'h100-sxm'") && strstr(err.text, "legal: a100-80g-sxm, "),
       "unknown device: %s", err.text);
    OK(ar_data_find("devices", "h2000", ".ini", path, sizeof path, &err, AR_EINPUT) == AR_EINPUT &&
           strstr(err.text, "did you mean 'h200'"),
       "typing error");
    OK(ar_data_find("devices", "", ".ini", path, sizeof path, &err, AR_EINPUT) == AR_EINPUT,
       "empty name");
    OK(ar_data_find("devices", "h200", ".ini", path, 8, &err, AR_EINPUT) == AR_EINPUT,
       "path longer than its place");
    OK(ar_data_find("devices", "/nowhere/x", ".ini", path, sizeof path, &err, AR_EINPUT) ==
               AR_EINPUT &&
           strstr(err.text, "No such file"),
       "missing path: %s", err.text);
    OK(ar_data_find("devices", "/tmp", ".ini", path, sizeof path, &err, AR_EINPUT) == AR_EINPUT,
       "folder: %s", err.text);
    char name[5000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    OK(ar_data_find("devices", name, ".ini", path, sizeof path, &err, AR_EINPUT) == AR_EINPUT,
       "a name of 5,000 bytes");
    char own[300];
    snprintf(own, sizeof own, "mkdir -p %s/devices", dir);
    if (system(own) != 0) return;
    file("devices/h200.ini", "");
    setenv("ATTNRES_DATA", dir, 1);
    OK(ar_data_find("devices", "h200", ".ini", path, sizeof path, &err, AR_EINPUT) == AR_OK &&
           strncmp(path, dir, strlen(dir)) == 0,
       "ATTNRES_DATA comes first");
    unsetenv("ATTNRES_DATA");
}

/* ---- platforms ---- */

/* Generate a preset with some keys changed ("nodes=3 leaf=2") and open it. */
static ar_platform *generated(const char *name, const char *changes, ar_preset *preset) {
    ar_err err = {""};
    ar_platform *platform = NULL;
    char key[64], value[64];
    ar_status status = ar_preset_load(name, preset, AR_EINPUT, &err);
    for (int used = 0;
         status == AR_OK && sscanf(changes, " %63[^=]=%63s%n", key, value, &used) == 2;
         changes += used)
        status = ar_field_set(&ar_preset_fields.field[ar_fields_find(&ar_preset_fields, key)],
                              preset, value, key, AR_EUSAGE, &err);
    const char *path = file("generated.xml", "");
    FILE *out = fopen(path, "w");
    if (status == AR_OK && out) status = ar_preset_write(preset, out, &err);
    if (out) fclose(out);
    if (status == AR_OK) status = ar_platform_open(path, &platform, &err);
    if (status != AR_OK) printf("# %s %s: %s\n", name, changes, err.text);
    return platform;
}

static int routed(ar_platform *p, size_t i, size_t j, double latency_s, double Bps) {
    double got_s = -1, got_Bps = -1;
    ar_err err = {""};
    if (ar_platform_route(p, i, j, &got_s, &got_Bps, &err) != AR_OK) printf("# %s\n", err.text);
    const int right = fabs(got_s - latency_s) < 1e-15 && (got_Bps == Bps || close_to(got_Bps, Bps));
    if (!right) printf("# %zu to %zu: %.15g s, %.15g B/s\n", i, j, got_s, got_Bps);
    return right;
}

static void test_generated(tap *tap_now) {
    static const struct {
        const char *preset, *changes;
        size_t hosts, from, to;
        double latency_s, Bps;
        const char *last;
    } want[] = {
        {"nvlink-node", "", 8, 0, 7, 2e-6, 450e9, "node0.7"},
        {"pcie-node", "", 32, 0, 7, 1e-6, 64e9, "node3.7"},
        {"pcie-node", "", 32, 3, 31, 3e-6, 50e9, "node3.7"},
        {"pcie-node", "sites=2 nodes=1", 16, 0, 8, 10.003e-3, 12.5e9, "node1.7"},
        {"ndr-fat-tree", "", 512, 8, 15, 2e-6, 450e9, "node63.7"},
        {"ndr-fat-tree", "", 512, 0, 255, 2e-6, 50e9, "node63.7"},
        {"ndr-fat-tree", "", 512, 511, 0, 3e-6, 50e9, "node63.7"},
        {"ndr-fat-tree", "nodes=5 leaf=2", 40, 0, 39, 3e-6, 50e9, "node4.7"},
        {"ndr-fat-tree", "nodes=4 leaf=2 oversubscription=16", 32, 0, 31, 3e-6, 50e9, "node3.7"},
        {"ndr-fat-tree", "nodes=4 leaf=2 oversubscription=32", 32, 0, 31, 3e-6, 25e9, "node3.7"},
        {"ethernet-25g", "", 128, 0, 15, 10e-6, 3.125e9, "node127.0"},
        {"ethernet-25g", "", 128, 0, 16, 13e-6, 3.125e9, "node127.0"},
        {"ethernet-100g", "oversubscription=32", 128, 0, 127, 9e-6, 6.25e9, "node127.0"},
        {"two-datacentres", "", 64, 0, 31, 2e-6, 50e9, "node7.7"},
        {"two-datacentres", "", 64, 0, 32, 10.002e-3, 12.5e9, "node7.7"},
        {"two-datacentres", "sites=3 leaf=2", 96, 95, 0, 10.003e-3, 12.5e9, "node11.7"},
        {"nvlink-node", "accelerators=1", 1, 0, 0, 0, INFINITY, "node0.0"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        ar_preset preset;
        ar_platform *p = generated(want[i].preset, want[i].changes, &preset);
        OK(p && ar_platform_hosts(p) == want[i].hosts &&
               ar_preset_hosts(&preset) == (int64_t)want[i].hosts,
           "%s %s: %zu hosts", want[i].preset, want[i].changes, want[i].hosts);
        if (!p) continue;
        size_t ordered = 0;
        for (size_t h = 0; h < want[i].hosts; h++) {
            char name[64];
            snprintf(name, sizeof name, "node%zu.%zu", h / (size_t)preset.accelerators,
                     h % (size_t)preset.accelerators);
            ordered += strcmp(ar_platform_host(p, h), name) == 0;
        }
        OK(ordered == want[i].hosts && ar_platform_find(p, want[i].last) == want[i].hosts - 1 &&
               ar_platform_find(p, "nobody") == want[i].hosts,
           "hosts are in file order, %s last", want[i].last);
        OK(routed(p, want[i].from, want[i].to, want[i].latency_s, want[i].Bps),
           "route %zu to %zu: %g s, %g B/s", want[i].from, want[i].to, want[i].latency_s,
           want[i].Bps);
        ar_platform_close(p);
    }
}

static void test_shipped(tap *tap_now) {
    static const struct {
        const char *name;
        size_t hosts, from, to;
        double latency_s, Bps;
    } want[] = {{"free", 1024, 0, 1023, 0, 1e18},
                {"torus-3d", 512, 0, 7, 1e-6, 100e9},
                {"torus-3d", 512, 7, 8, 2e-6, 100e9},
                {"torus-3d", 512, 0, 292, 12e-6, 100e9}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        char path[4096];
        ar_err err = {""};
        ar_platform *p = NULL;
        ar_status status =
            ar_data_find("platforms", want[i].name, ".xml", path, sizeof path, &err, AR_EINPUT);
        if (status == AR_OK) status = ar_platform_open(path, &p, &err);
        OK(p && ar_platform_hosts(p) == want[i].hosts &&
               routed(p, want[i].from, want[i].to, want[i].latency_s, want[i].Bps),
           "%s: %zu hosts, route %zu to %zu %s", want[i].name, want[i].hosts, want[i].from,
           want[i].to, err.text);
        ar_platform_close(p);
    }
}

#define XML                                                                                        \
    "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"      \
    "<platform version=\"4.1\">\n"
#define PAIR(bandwidth, route)                                                                     \
    XML "<zone id=\"z\" routing=\"Full\">\n<!-- <host id=\"no\"/> > -->\n"                         \
        "<host id='zeta' speed='1Gf'/><host\n id=\"alpha\" speed=\"1Gf\"/>\n"                      \
        "<link id=\"wire\" bandwidth=\"" bandwidth "\" latency=\"1us\"/>\n" route                  \
        "</zone></platform>\n"
#define ROUTE "<route src=\"zeta\" dst=\"alpha\"><link_ctn id=\"wire\"/></route>"

/* Two zones without a route between them. */
#define APART                                                                                      \
    XML "<zone id=\"w\" routing=\"Floyd\"><zone id=\"a\" routing=\"Full\"><host id=\"h\" "         \
        "speed=\"1Gf\"/></zone><zone id=\"b\" routing=\"Full\"><host id=\"i\" speed=\"1Gf\"/>"     \
        "</zone></zone></platform>\n"

static void test_bad_platforms(tap *tap_now) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "SimGrid: "},
        {"<platform", ":1: tag without its end"},
        {"not XML at all", "SimGrid: "},
        {XML "<zone id=\"z\" routing=\"Full\">\n", "SimGrid: "},
        {XML "<zone id=\"z\" routing=\"Full\"></zone></platform>", "no host"},
        {XML "<zone id=\"z\" routing=\"Nonsense\"></zone></platform>", "SimGrid: "},
        {PAIR("0Bps", ROUTE), "'wire' has bandwidth 0 B/s"},
        {PAIR("-1Bps", ROUTE), "'wire' has bandwidth -1 B/s"},
        {PAIR("nanBps", ROUTE), "'wire' has bandwidth nan B/s"},
        {PAIR("infBps", ROUTE), "'wire' has bandwidth inf B/s"},
        {PAIR("fast", ROUTE), "SimGrid: "},
        {PAIR("1GBps", "<route src=\"zeta\" dst=\"nobody\"><link_ctn id=\"wire\"/></route>"),
         "nobody"},
        {XML "<zone id=\"z\" routing=\"Full\"><cluster id=\"c\" prefix=\"a\" suffix=\"\" "
             "radical=\"7-3\" speed=\"1Gf\" bw=\"1Bps\" lat=\"0s\"/></zone></platform>",
         "bad.xml:4: radical"},
        {XML "<zone id=\"z\" routing=\"Full\"><cluster id=\"c\" prefix=\"a\" suffix=\"\" "
             "radical=\"0-99999999\" speed=\"1Gf\" bw=\"1Bps\" lat=\"0s\"/></zone></platform>",
         "more than 1,048,576 hosts"},
    };
    ar_platform *p = NULL;
    ar_err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const ar_status status = ar_platform_open(file("bad.xml", bad[i].text), &p, &err);
        OK(status == AR_EINPUT && !p && strstr(err.text, "bad.xml") &&
               strstr(err.text, bad[i].says),
           "refused: %s", err.text);
    }
    OK(ar_platform_open("/nowhere.xml", &p, &err) == AR_EINPUT && strstr(err.text, "No such file"),
       "refused: %s", err.text);
    OK(ar_platform_open("/tmp", &p, &err) == AR_EINPUT, "refused: %s", err.text);
}

static void test_files(tap *tap_now) {
    ar_platform *p = NULL, *q = NULL;
    ar_err err = {""};
    double s, Bps;
    OK(ar_platform_open(file("pair.xml", PAIR("1GBps", ROUTE)), &p, &err) == AR_OK &&
           strcmp(ar_platform_host(p, 0), "zeta") == 0 && routed(p, 0, 1, 1e-6, 1e9),
       "hosts are in file order, comments skipped %s", err.text);
    OK(ar_platform_open(file("other.xml", PAIR("2GBps", "")), &q, &err) == AR_OK,
       "a second platform is open at once %s", err.text);
    if (!p || !q) return;
    const ar_status status = ar_platform_route(q, 0, 1, &s, &Bps, &err);
    OK(status == AR_EINPUT && strstr(err.text, "route from 'zeta' to 'alpha': has no links"),
       "no route: %s", err.text);
    OK(ar_platform_route(p, 0, 2, &s, &Bps, &err) == AR_EINPUT, "no such host: %s", err.text);
    OK(routed(p, 1, 0, 1e-6, 1e9), "the first one still answers");
    const pid_t pid = fork(); /* a program started meanwhile must not keep it open */
    if (pid == 0) {
        execlp("sleep", "sleep", "1", (char *)NULL);
        _exit(1);
    }
    ar_platform_close(p);
    OK(waitpid(pid, NULL, WNOHANG) == 0, "closing waits for no other process");
    waitpid(pid, NULL, 0);
    ar_platform_close(q);
    p = q = NULL;
    if (ar_platform_open(file("apart.xml", APART), &p, &err) != AR_OK) return;
    OK(ar_platform_route(p, 0, 1, &s, &Bps, &err) == AR_EINPUT && strstr(err.text, "SimGrid: "),
       "SimGrid fails on a question: %s", err.text);
    OK(ar_platform_route(p, 1, 0, &s, &Bps, &err) == AR_EINPUT && strstr(err.text, "has ended"),
       "and then: %s", err.text);
    ar_platform_close(p);
    ar_platform_close(NULL);
}

/* ---- this machine ---- */

static void test_machine(tap *tap_now) {
    ar_err err = {""};
    char text[16384] = "", where[256] = "";
    FILE *out = tmpfile();
    if (!out) return;
    /* hwloc 2.9's PCI plugin leaks, and is unloaded before LeakSanitizer can name it */
    setenv("HWLOC_COMPONENTS", "-pci", 1);
    OK(ar_topo_print(out, &err) == AR_OK, "this machine is printed %s", err.text);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    OK(strstr(text, "kernel: ") && strstr(text, "cores: ") && strstr(text, "counters: "),
       "kernel, cores and counters are there");
    fclose(out);
    out = tmpfile();
    if (!out) return;
    unsetenv("HWLOC_COMPONENTS");
    setenv("HWLOC_SYNTHETIC", "pack:2 numa:1(memory=64GiB) l3:1(size=32MiB) core:4 pu:2", 1);
    OK(ar_topo_print(out, &err) == AR_OK, "a described machine is printed");
    rewind(out);
    memset(text, 0, sizeof text);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    OK(strstr(text, "packages: 2\n") && strstr(text, "cores: 8\n") &&
           strstr(text, "hardware threads: 16\n") && strstr(text, "NUMA nodes: 2\n") &&
           strstr(text, "cache L3: 2 x 32 MiB, shared by 8 hardware threads\n") &&
           !strstr(text, "kernel: "),
       "with its figures, not this one's");
    OK(ar_bind_core(13, where, sizeof where, &err) == AR_OK &&
           strncmp(where, "core 5 of package 1, hardware threads 10-11, shared", 51) == 0,
       "rank 13 of 8 cores: %s", where);
    unsetenv("HWLOC_SYNTHETIC");
    OK(ar_bind_core(0, where, sizeof where, &err) == AR_OK, "rank 0 is bound to %s%s", where,
       err.text);
    OK(ar_bind_core(1, where, sizeof where, &err) == AR_OK && strstr(where, ", shared"),
       "rank 1 then finds one core only: %s", where);
    OK(ar_bind_core(-1, where, sizeof where, &err) == AR_EUSAGE, "rank -1 is refused");
}

int main(void) {
    TAP_START;
    if (!mkdtemp(dir)) return 1;
    test_devices(tap_now);
    test_bad_devices(tap_now);
    test_data(tap_now);
    if (ar_route_engine_built()) {
        test_generated(tap_now);
        test_shipped(tap_now);
        test_bad_platforms(tap_now);
        test_files(tap_now);
    } else {
        ar_platform *p;
        ar_err err;
        OK(ar_platform_open(file("pair.xml", PAIR("1GBps", ROUTE)), &p, &err) == AR_ERUN &&
               strstr(err.text, "built without SimGrid"),
           "%s", err.text);
    }
    test_machine(tap_now);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    OK(system(command) == 0, "the test's folder is removed");
    return DONE();
}
