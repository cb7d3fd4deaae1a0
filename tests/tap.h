#ifndef AR_TAP_H
#define AR_TAP_H

/* Test Anything Protocol: OK() prints one "ok" or "not ok" line; return DONE()
 * from main. A test that stops early lacks its plan line and counts as failed. */

#include <stdio.h>

typedef struct {
    int run, failed;
} tap;

#define TAP_START                                                                                  \
    tap tap_state = {0, 0};                                                                        \
    tap *const tap_now = &tap_state
#define OK(condition, ...)                                                                         \
    do {                                                                                           \
        const int tap_ok = (condition) ? 1 : 0;                                                    \
        tap_now->run++;                                                                            \
        tap_now->failed += !tap_ok;                                                                \
        printf("%s %d - ", tap_ok ? "ok" : "not ok", tap_now->run);                                \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        if (!tap_ok) printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
    } while (0)
#define DONE() (printf("1..%d\n", tap_now->run), tap_now->failed != 0)

#endif
