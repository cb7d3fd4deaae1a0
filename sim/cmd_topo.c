#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "cmd.h"
#include "discover.h"
#include "generate.h"

static void help(void) {
    printf(
        "Usage: attnres topo\n"
        "       attnres topo generate PRESET|FILE.ini [option ...] > my.xml\n\n"
        "Print this machine: cores, caches, memory, network cards, and which hardware\n"
        "counters of memory traffic start. Or write a platform as SimGrid XML from a\n"
        "preset, with some of its parameters changed, for --platform.\n\nOptions of generate:\n");
    ar_fields_help(&ar_preset_fields, stdout);
}

ar_status ar_cmd_topo(int argc, char **argv, ar_err *err) {
    int wants_help = 0;
    static const ar_fields none = {NULL, 0, "topo"};
    if (argc >= 2 && strcmp(argv[1], "generate") == 0) {
        if (argc < 3) return ar_fail(err, AR_EUSAGE, "topo generate: which preset? See --help");
        ar_preset preset;
        if (strcmp(argv[2], "--help") != 0 && strcmp(argv[2], "-h") != 0) {
            ar_status status = ar_preset_load(argv[2], &preset, AR_EUSAGE, err);
            if (status != AR_OK) return status;
            const ar_arguments arguments = {&ar_preset_fields, &preset, NULL};
            status = ar_arguments_read(&arguments, argc - 2, argv + 2, 0, &wants_help, err);
            if (status != AR_OK) return status;
            if (!wants_help) return ar_preset_write(&preset, stdout, err);
        }
        help();
        return AR_OK;
    }
    const ar_arguments arguments = {&none, NULL, NULL};
    const ar_status status = ar_arguments_read(&arguments, argc, argv, 0, &wants_help, err);
    if (status != AR_OK) return status;
    if (!wants_help) return ar_topo_print(stdout, err);
    help();
    return AR_OK;
}
