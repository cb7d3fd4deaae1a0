#ifndef AR_SHOW_H
#define AR_SHOW_H

/* What `attnres plan` prints. csv: rows for programs; else a table for people. */

#include <stdio.h>

#include "planned.h"

void ar_show_totals(const ar_point *point, const ar_layout *layout, bool csv, FILE *out);
void ar_show_hops(const ar_point *point, const ar_layout *layout, bool csv, FILE *out);

/* plans: [stages]; rank -1: all. */
void ar_show_actions(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                     int32_t rank, bool csv, FILE *out);
void ar_show_memory(const ar_point *point, const ar_layout *layout, const ar_plan *plans, bool csv,
                    FILE *out);

/* A text Gantt of the critical path, `columns` characters wide; csv: its events. */
ar_status ar_show_timeline(const ar_point *point, const ar_layout *layout, const ar_plan *plans,
                           const ar_walk_costs *costs, int columns, bool csv, FILE *out,
                           ar_err *err);

#endif
