#include "bind.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Describe a core. set: the hardware threads bound to. */
static void describe(hwloc_topology_t t, hwloc_obj_t core, hwloc_const_bitmap_t set, int shared,
                     char *where, size_t size) {
    char *list = NULL;
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, core);
    if (hwloc_bitmap_list_asprintf(&list, set) < 0) list = NULL;
    snprintf(where, size, "core %u of package %u, hardware threads %s%s%s", core->logical_index,
             package ? package->logical_index : 0, list ? list : "?", shared ? ", shared" : "",
             hwloc_topology_is_thissystem(t) ? "" : ", of a described machine: not bound");
    free(list);
}

static ar_status bind(hwloc_topology_t t, int local_rank, hwloc_bitmap_t allowed, char *where,
                      size_t size, ar_err *err) {
    if (hwloc_get_cpubind(t, allowed, HWLOC_CPUBIND_PROCESS) != 0)
        hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(t));
    unsigned cores = 0;
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core)) != NULL)
        cores += hwloc_bitmap_intersects(core->cpuset, allowed) != 0;
    if (cores == 0) return ar_fail(err, AR_ERUN, "binding: hwloc sees no core to use");
    unsigned left = (unsigned)local_rank % cores + 1;
    while (left && (core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core)) != NULL)
        left -= hwloc_bitmap_intersects(core->cpuset, allowed) != 0;
    if (!core) return ar_fail(err, AR_ERUN, "binding: hwloc lost a core");
    hwloc_bitmap_and(allowed, allowed, core->cpuset);
    if (hwloc_set_cpubind(t, allowed, HWLOC_CPUBIND_PROCESS) != 0)
        return ar_fail(err, AR_ERUN, "binding to core %u: %s", core->logical_index,
                       strerror(errno));
    describe(t, core, allowed, (unsigned)local_rank >= cores, where, size);
    return AR_OK;
}

ar_status ar_bind_core(int local_rank, char *where, size_t size, ar_err *err) {
    hwloc_topology_t t;
    if (local_rank < 0) return ar_fail(err, AR_EUSAGE, "binding: local rank %d", local_rank);
    if (hwloc_topology_init(&t) != 0) return ar_fail(err, AR_ERUN, "hwloc: no memory");
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    ar_status status = AR_OK;
    if (!allowed || hwloc_topology_load(t) != 0)
        status = ar_fail(err, AR_ERUN, "hwloc: cannot read this machine's topology");
    if (status == AR_OK) status = bind(t, local_rank, allowed, where, size, err);
    hwloc_bitmap_free(allowed);
    hwloc_topology_destroy(t);
    return status;
}
