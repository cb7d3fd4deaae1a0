#include "cachesim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_LEVEL_B = 1048576, LINE_B = 64 };

ar_case ar_cachesim_case(const ar_case *c) {
    ar_case small = *c;
    const size_t row_B = c->width * ar_store_B(c->store);
    const size_t tokens = (2 * LAST_LEVEL_B + row_B - 1) / row_B;
    small.threads = 1;
    small.tokens = tokens < c->tokens ? tokens : c->tokens;
    return small;
}

/* ---- dumps ---- */

/* The value of the event called name, -1 if it is not among them. events: "Ir Dr ..." */
static double value_of(const char *events, const char *values, const char *name) {
    const size_t length = strlen(name);
    for (;;) {
        events += strspn(events, " \n");
        values += strspn(values, " \n");
        const size_t event = strcspn(events, " \n"), value = strcspn(values, " \n");
        if (event == 0) return -1;
        /* callgrind leaves out zeros at the end of the line */
        if (event == length && strncmp(events, name, length) == 0)
            return value ? strtod(values, NULL) : 0;
        events += event;
        values += value;
    }
}

ar_status ar_cachesim_read(const char *path, ar_cachesim_traffic *traffic, ar_err *err) {
    /* the first is the store that misses */
    static const char *const name[] = {"DLmw", "ILmr", "DLmr", "ILdmr", "DLdmr", "DLdmw"};
    char events[1024] = "", totals[4096] = "", line[4096];
    FILE *in = fopen(path, "r");
    if (!in) return ar_fail(err, AR_ERUN, "%s: cannot be opened: %s", path, strerror(errno));
    while (fgets(line, sizeof line, in)) {
        if (strncmp(line, "events: ", 8) == 0) snprintf(events, sizeof events, "%.1000s", line + 8);
        if (strncmp(line, "totals: ", 8) == 0) snprintf(totals, sizeof totals, "%.4000s", line + 8);
    }
    fclose(in);
    double lines[6];
    for (size_t i = 0; i < 6; i++) {
        lines[i] = value_of(events, totals, name[i]);
        if (!totals[0] || lines[i] < 0)
            return ar_fail(err, AR_ERUN, "%s: no total of the event %s", path, name[i]);
    }
    traffic->allocated_B = LINE_B * lines[0];
    traffic->moved_B = LINE_B * (lines[1] + lines[2] + lines[3] + lines[4] + lines[5]);
    return AR_OK;
}

/* ---- outside ---- */

ar_status ar_cachesim_check(const ar_case *c, ar_err *err) {
    const size_t row_B = c->width * ar_store_B(c->store);
    if (c->tokens * row_B >= LAST_LEVEL_B) return AR_OK;
    return ar_fail(err, AR_EUSAGE,
                   "cachesim: %zu tokens of %zu B stay inside the simulated last-level cache of "
                   "1 MiB; legal: %zu tokens or more",
                   c->tokens, row_B, (LAST_LEVEL_B - 1) / row_B + 1);
}

void ar_cachesim_command_make(const ar_case *c, const char *self, const char *dump,
                              ar_cachesim_command *command) {
    const char *const fixed[] = {"valgrind",        "--tool=callgrind",  "--instr-atstart=no",
                                 "--cache-sim=yes", "--simulate-wb=yes", "--D1=32768,8,64",
                                 "--I1=32768,8,64", "--LL=1048576,16,64"};
    const char *const names[] = {self,
                                 AR_CACHESIM_COMMAND,
                                 ar_mechanism_names[c->mechanism],
                                 ar_form_names[c->form],
                                 ar_store_names[c->store],
                                 ar_direction_names[c->direction],
                                 ar_phase_names[c->phase],
                                 ar_ablation_names[c->ablation]};
    const size_t numbers[] = {c->layers, c->block, c->tokens, c->width, c->streams, c->window};
    const size_t size = sizeof command->text[0];
    size_t n = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        snprintf(command->text[n++], size, "%s", fixed[i]);
    snprintf(command->text[n++], size, "--callgrind-out-file=%s", dump);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        snprintf(command->text[n++], size, "%s", names[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        snprintf(command->text[n++], size, "%zu", numbers[i]);
    snprintf(command->text[n++], size, "%a", c->balance);
    for (size_t i = 0; i < n; i++)
        command->argv[i] = command->text[i];
    command->argv[n] = NULL;
}
