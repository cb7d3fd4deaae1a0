#include "discover.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "counters.h"

static void print_size(FILE *out, double bytes) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    while (bytes >= 1024 && i < 4)
        bytes /= 1024, i++;
    fprintf(out, "%.4g %s", bytes, unit[i]);
}

/* ---- system ---- */

/* The first line of a small file, without its end; false if there is none. */
static bool read_line(const char *path, char *text, int size) {
    FILE *in = fopen(path, "r");
    if (!in) return false;
    const bool got = fgets(text, size, in) != NULL;
    fclose(in);
    if (got) text[strcspn(text, "\n")] = '\0';
    return got && *text;
}

/* Does the processor say that it is a virtual one? x86 only. */
static bool has_hypervisor_flag(void) {
    char line[8192];
    bool found = false;
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && !found && fgets(line, sizeof line, in))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor");
    if (in) fclose(in);
    return found;
}

static void print_system(FILE *out) {
    struct utsname name;
    char vendor[256] = "", product[256] = "";
    if (uname(&name) == 0)
        fprintf(out, "kernel: %s %s %s\n", name.sysname, name.release, name.machine);
    read_line("/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor);
    read_line("/sys/class/dmi/id/product_name", product, sizeof product);
    if (*vendor || *product) fprintf(out, "system: %s %s\n", vendor, product);
    const bool virtual = has_hypervisor_flag();
    fprintf(out, "hypervisor: %s\n",
            virtual ? "yes (the processor's flag): measured times may jump" : "no sign of one");
}

/* ---- processor ---- */

static void print_processor(FILE *out, hwloc_topology_t t) {
    const char *model = NULL;
    hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
    if (package) model = hwloc_obj_get_info_by_name(package, "CPUModel");
    if (!model) model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(t), "CPUModel");
    fprintf(out, "processor: %s\n", model ? model : "unknown");
    fprintf(out, "packages: %d\ncores: %d\nhardware threads: %d\n",
            hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE),
            hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE), hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU));
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *list = NULL;
    if (set && hwloc_get_cpubind(t, set, HWLOC_CPUBIND_PROCESS) == 0 &&
        hwloc_bitmap_list_asprintf(&list, set) >= 0)
        fprintf(out, "this process may use: hardware threads %s\n", list);
    free(list);
    hwloc_bitmap_free(set);
}

static void print_caches(FILE *out, hwloc_topology_t t) {
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } cache[] = {{HWLOC_OBJ_L1CACHE, "L1 data"},
                 {HWLOC_OBJ_L2CACHE, "L2"},
                 {HWLOC_OBJ_L3CACHE, "L3"},
                 {HWLOC_OBJ_L4CACHE, "L4"}};
    for (size_t i = 0; i < sizeof cache / sizeof *cache; i++) {
        const int count = hwloc_get_nbobjs_by_type(t, cache[i].type);
        hwloc_obj_t o = hwloc_get_obj_by_type(t, cache[i].type, 0);
        if (!o) continue;
        fprintf(out, "cache %s: %d x ", cache[i].name, count);
        print_size(out, (double)o->attr->cache.size);
        fprintf(out, ", shared by %d hardware threads\n", hwloc_bitmap_weight(o->cpuset));
    }
}

static void print_memory(FILE *out, hwloc_topology_t t) {
    const int count = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
    fprintf(out, "NUMA nodes: %d\n", count);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t o = hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, (unsigned)i);
        char *list = NULL;
        if (!o) continue;
        fprintf(out, "NUMA node %u: ", o->os_index);
        print_size(out, (double)o->attr->numanode.local_memory);
        if (o->cpuset && hwloc_bitmap_list_asprintf(&list, o->cpuset) >= 0)
            fprintf(out, ", hardware threads %s", list);
        fputc('\n', out);
        free(list);
    }
}

/* ---- devices ---- */

/* Network cards, or accelerators. */
static void print_devices(FILE *out, hwloc_topology_t t, const char *key, bool network) {
    int found = 0;
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_osdev(t, o)) != NULL;) {
        const hwloc_obj_osdev_type_t type = o->attr->osdev.type;
        const bool is_network =
            type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS;
        const bool is_accelerator = type == HWLOC_OBJ_OSDEV_GPU || type == HWLOC_OBJ_OSDEV_COPROC;
        if (network ? !is_network : !is_accelerator) continue;
        hwloc_obj_t up = hwloc_get_non_io_ancestor_obj(t, o);
        fprintf(out, "%s: %s", key, o->name ? o->name : "unnamed");
        if (o->parent && o->parent->type == HWLOC_OBJ_PCI_DEVICE) {
            const char *model = hwloc_obj_get_info_by_name(o->parent, "PCIDevice");
            if (model) fprintf(out, ", %s", model);
            if (o->parent->attr->pcidev.linkspeed > 0)
                fprintf(out, ", PCIe %.3g GB/s", (double)o->parent->attr->pcidev.linkspeed);
        }
        if (up && up->nodeset) {
            char *list = NULL;
            if (hwloc_bitmap_list_asprintf(&list, up->nodeset) >= 0)
                fprintf(out, ", near NUMA node %s", list);
            free(list);
        }
        fputc('\n', out);
        found++;
    }
    if (!found) fprintf(out, "%s: none found\n", key);
}

/* The vendor's name as the table of counters knows it; "" if hwloc does not say. */
static const char *cpu_vendor(hwloc_topology_t t) {
    hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
    static const char *const key[] = {"CPUVendor", "CPUImplementer", "CPUModel"};
    for (size_t i = 0; package && i < sizeof key / sizeof *key; i++) {
        const char *value = hwloc_obj_get_info_by_name(package, key[i]);
        if (value) return value;
    }
    return "";
}

ar_status ar_topo_print(FILE *out, ar_err *err) {
    hwloc_topology_t t;
    ar_status status = AR_OK;
    if (hwloc_topology_init(&t) != 0) return ar_fail(err, AR_ERUN, "hwloc: no memory");
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(t) != 0) {
        hwloc_topology_destroy(t);
        return ar_fail(err, AR_ERUN, "hwloc: cannot read this machine's topology");
    }
    const bool real = hwloc_topology_is_thissystem(t);
    if (real)
        print_system(out);
    else
        fprintf(out, "machine: as HWLOC_SYNTHETIC or HWLOC_XMLFILE describes it, not this one\n");
    print_processor(out, t);
    print_caches(out, t);
    print_memory(out, t);
    print_devices(out, t, "network", true);
    print_devices(out, t, "accelerator", false);
    if (real) status = ar_counters_print(cpu_vendor(t), out, err);
    hwloc_topology_destroy(t);
    if (status == AR_OK && (fflush(out) != 0 || ferror(out)))
        status = ar_fail(err, AR_ERUN, "writing the topology failed");
    return status;
}
