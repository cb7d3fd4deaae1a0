#ifndef AR_CMD_H
#define AR_CMD_H

/* The sub-commands of attnres. argv[0] is the sub-command's name. */

#include "err.h"

ar_status ar_cmd_plan(int argc, char **argv, ar_err *err);
ar_status ar_cmd_sim(int argc, char **argv, ar_err *err);
ar_status ar_cmd_run(int argc, char **argv, ar_err *err);
ar_status ar_cmd_study(int argc, char **argv, ar_err *err);
ar_status ar_cmd_report(int argc, char **argv, ar_err *err);
ar_status ar_cmd_bench(int argc, char **argv, ar_err *err);
ar_status ar_cmd_mixing(int argc, char **argv, ar_err *err);
ar_status ar_cmd_topo(int argc, char **argv, ar_err *err);

/* Started by bench under valgrind; not for users. */
ar_status ar_cmd_cachesim_subject(int argc, char **argv, ar_err *err);

#endif
