#include "host.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>

static const char *isa(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return "avx512";
    if (__builtin_cpu_supports("avx2")) return "avx2";
    return "sse2";
#elif defined(__aarch64__)
    return "neon";
#else
    return "scalar";
#endif
}

static double free_memory_B(void) {
    char line[256];
    double kB = 0;
    FILE *in = fopen("/proc/meminfo", "r");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "MemAvailable: %lf", &kB) == 1) break;
    if (in) fclose(in);
    return 1024 * kB;
}

static void copy_info(hwloc_topology_t t, const char *key, char *text, size_t size) {
    hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
    const char *value = package ? hwloc_obj_get_info_by_name(package, key) : NULL;
    if (!value) value = hwloc_obj_get_info_by_name(hwloc_get_root_obj(t), key);
    snprintf(text, size, "%s", value ? value : "");
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
}

static hwloc_obj_t last_cache(hwloc_topology_t t) {
    static const hwloc_obj_type_t level[] = {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
                                             HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE};
    for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(t, level[i], 0);
        if (cache) return cache;
    }
    return NULL;
}

static size_t cores_inside(hwloc_topology_t t, hwloc_const_bitmap_t set) {
    size_t cores = 0;
    for (hwloc_obj_t c = NULL; (c = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, c)) != NULL;)
        cores += hwloc_bitmap_intersects(c->cpuset, set) != 0;
    return cores;
}

static ar_status load(hwloc_topology_t *t, ar_err *err) {
    if (hwloc_topology_init(t) != 0) return ar_fail(err, AR_ERUN, "hwloc: no memory");
    if (hwloc_topology_load(*t) == 0) return AR_OK;
    hwloc_topology_destroy(*t);
    return ar_fail(err, AR_ERUN, "hwloc: cannot read this machine's topology");
}

ar_status ar_host_read(ar_host *host, ar_err *err) {
    hwloc_topology_t t;
    const ar_status status = load(&t, err);
    if (status != AR_OK) return status;
    memset(host, 0, sizeof *host);
    copy_info(t, "CPUModel", host->processor, sizeof host->processor);
    copy_info(t, "CPUVendor", host->vendor, sizeof host->vendor);
    host->isa = isa();
    host->free_B = free_memory_B();
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(t);
    host->cores = cores_inside(t, allowed);
    if (host->cores == 0) host->cores = 1;
    host->numa_nodes = (size_t)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
    host->cores_per_cache = 1;
    hwloc_obj_t cache = last_cache(t);
    if (cache) {
        host->cache_B = (double)cache->attr->cache.size;
        const size_t inside = cores_inside(t, cache->cpuset);
        if (inside > 0) host->cores_per_cache = inside;
    }
    hwloc_topology_destroy(t);
    return AR_OK;
}

double ar_host_cache_B(const ar_host *host, size_t threads) {
    return host->cache_B * (double)((threads + host->cores_per_cache - 1) / host->cores_per_cache);
}

/* Bind this thread to core `index` of the allowed ones; SIZE_MAX: to all of them. */
static int bind_thread(hwloc_topology_t t, size_t index) {
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(t);
    if (index == SIZE_MAX) return hwloc_set_cpubind(t, allowed, HWLOC_CPUBIND_THREAD);
    for (hwloc_obj_t c = NULL; (c = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, c)) != NULL;) {
        if (!hwloc_bitmap_intersects(c->cpuset, allowed)) continue;
        if (index-- == 0) return hwloc_set_cpubind(t, c->cpuset, HWLOC_CPUBIND_THREAD);
    }
    return -1;
}

ar_status ar_host_bind(size_t threads, ar_err *err) {
    hwloc_topology_t t;
    const ar_status status = load(&t, err);
    if (status != AR_OK) return status;
    int failed = 0;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1) reduction(+ : failed)
    for (size_t i = 0; i < threads; i++)
        failed += bind_thread(t, i) != 0;
    hwloc_topology_destroy(t);
    if (failed)
        return ar_fail(err, AR_ERUN, "%d of %zu threads could not be bound to a core", failed,
                       threads);
    return AR_OK;
}

void ar_host_unbind(size_t threads) {
    hwloc_topology_t t;
    if (load(&t, NULL) != AR_OK) return;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (size_t i = 0; i < threads; i++)
        bind_thread(t, SIZE_MAX);
    hwloc_topology_destroy(t);
}
