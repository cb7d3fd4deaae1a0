#ifndef AR_ROWS_H
#define AR_ROWS_H

/* results.csv as the report looks at it: which rows succeeded, and which rows are
 * the same point but for some parameters. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csv.h"

/* The parameters that make a point: columns of results.csv. */
typedef enum {
    AR_P_ENGINE,
    AR_P_MODEL,
    AR_P_LAYERS,
    AR_P_UNIT,
    AR_P_BLOCK,
    AR_P_WIDTH,
    AR_P_TOKENS,
    AR_P_DTYPE,
    AR_P_EMBEDDING,
    AR_P_STAGES,
    AR_P_VIRTUAL,
    AR_P_MICROBATCHES,
    AR_P_SCHEDULE,
    AR_P_SPLIT,
    AR_P_REMAINDER,
    AR_P_PASS,
    AR_P_DEVICE,
    AR_P_PLATFORM,
    AR_P_TENSOR_PARALLEL,
    AR_P_COMPUTE,
    AR_P_FORWARD_TIME,
    AR_P_BACKWARD_TIME,
    AR_P_PREFETCH,
    AR_P_SPEED_RATIO,
    AR_P_EFFICIENCY,
    AR_P_ENGINE_MODEL,
    AR_P_MECHANISM,
    AR_P_FORM,
    AR_P_STREAMS,
    AR_P_CACHE,
    AR_PARAMS
} ar_param;

typedef uint64_t ar_params; /* a set of them */
#define AR_PARAM(p) (UINT64_C(1) << (p))

/* What may differ between a point and the standard residual on the same point. */
#define AR_PARAMS_RESIDUAL                                                                         \
    (AR_PARAM(AR_P_MECHANISM) | AR_PARAM(AR_P_FORM) | AR_PARAM(AR_P_STREAMS) |                     \
     AR_PARAM(AR_P_CACHE) | AR_PARAM(AR_P_BLOCK) | AR_PARAM(AR_P_EMBEDDING))

/* The platform's cell also says where on it the ranks sit: "ndr-fat-tree every 8th"
 * host, "mine.xml by hosts.txt"; that is one parameter to a reader. */
typedef struct {
    ar_csv csv;
    char **place; /* [rows]: those cells, owned */
    size_t *good; /* [good_count]: rows that succeeded, in file order */
    size_t good_count;
    int *value; /* [rows][AR_PARAMS]: number of the value among its column's */
} ar_rows;

enum { AR_NO_ROW = -1 };

ar_status ar_rows_read(const char *path, ar_rows *rows, ar_err *err);
void ar_rows_free(ar_rows *rows);

bool ar_rows_good(const ar_rows *rows, size_t row);

/* Cell as text, "-" where it is empty or absent; as a number, NAN there. */
const char *ar_rows_text(const ar_rows *rows, size_t row, const char *column);
const char *ar_rows_param(const ar_rows *rows, size_t row, ar_param param);
double ar_rows_number(const ar_rows *rows, size_t row, const char *column);
const char *ar_param_name(ar_param param);

bool ar_rows_is(const ar_rows *rows, size_t row, ar_param param, const char *value);

/* The two rows are the same point but for the parameters in `except`. */
bool ar_rows_same(const ar_rows *rows, size_t a, size_t b, ar_params except);

/* The first good row that is the same point but for `except`, and the first of all
 * that has param = value; AR_NO_ROW where there is none. */
size_t ar_rows_first(const ar_rows *rows, size_t row, ar_params except);
long ar_rows_find(const ar_rows *rows, size_t row, ar_params except, ar_param param,
                  const char *value);

/* Parameters that differ between good rows and that those in `shown` do not tell. */
ar_params ar_rows_varying(const ar_rows *rows, ar_params shown);

/* Distinct values of param over the good rows, as rows that hold one first, in
 * order of appearance. list: [max]. Returns how many, at most max. */
size_t ar_rows_values(const ar_rows *rows, ar_param param, size_t *list, size_t max);

/* The standard residual on the same point, or AR_NO_ROW. */
long ar_rows_standard(const ar_rows *rows, size_t row);

/* Overhead against it in percent, in two parts that add up to overhead_percent:
 * memory I/O and kernel starts (from free_s), and exposed communication. NAN where
 * there is no standard row. */
typedef struct {
    double memory, communication;
} ar_overhead;
ar_overhead ar_rows_overhead(const ar_rows *rows, size_t row);

#endif
