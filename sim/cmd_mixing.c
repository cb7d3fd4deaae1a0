#include "cmd.h"
ar_status ar_cmd_mixing(int argc, char **argv, ar_err *err) { (void)argc; (void)argv; return ar_fail(err, AR_ERUN, "not yet"); }
