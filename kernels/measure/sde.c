#include "sde.h"

#ifdef HAVE_SDE

#include <sde_lib.h>

static void *counter(papi_handle_t library, const char *name, const char *what) {
    void *handle = NULL;
    if (papi_sde_create_counter(library, name, PAPI_SDE_DELTA, &handle) != SDE_OK) return NULL;
    papi_sde_describe_counter(library, name, what);
    return handle;
}

ar_sde ar_sde_open(void) {
    const papi_handle_t library = papi_sde_init("attnres");
    if (!library) return (ar_sde){NULL, NULL, NULL};
    return (ar_sde){
        counter(library, "LOADED_BYTES", "bytes that the passes of the residual mechanism loaded"),
        counter(library, "STORED_BYTES", "bytes that the passes of the residual mechanism stored"),
        counter(library, "PASSES", "passes over all tokens (no unit)")};
}

static void count(void *counter, size_t amount) {
    if (counter) papi_sde_inc_counter(counter, (long long)amount);
}

void ar_sde_add(const ar_sde *sde, const ar_ledger *gained, size_t vector_B) {
    count(sde->loaded, gained->loads * vector_B);
    count(sde->stored, gained->stores * vector_B);
    count(sde->passes, gained->passes);
}

#else

ar_sde ar_sde_open(void) {
    return (ar_sde){NULL, NULL, NULL};
}

void ar_sde_add(const ar_sde *sde, const ar_ledger *gained, size_t vector_B) {
    (void)sde, (void)gained, (void)vector_B;
}

#endif
