/* The table of one instruction set and storage type. */

#include "../pass.h"
#include "vec.h"

#define DECLARE(name) ar_pass_fn AR_SIMD(name)
DECLARE(add);
DECLARE(attend);
DECLARE(answer);
DECLARE(merge);
DECLARE(gate);
DECLARE(streams);
DECLARE(dot);
DECLARE(attend_back);
DECLARE(combine);
DECLARE(sum);
DECLARE(partial_back);
DECLARE(gate_back);
DECLARE(streams_back);

ar_roof_fn AR_SIMD(roof);

extern const ar_ops AR_SIMD(ops);
const ar_ops AR_SIMD(ops) = {
    .add = AR_SIMD(add),
    .attend = AR_SIMD(attend),
    .answer = AR_SIMD(answer),
    .merge = AR_SIMD(merge),
    .gate = AR_SIMD(gate),
    .streams = AR_SIMD(streams),
    .dot = AR_SIMD(dot),
    .attend_back = AR_SIMD(attend_back),
    .partial_back = AR_SIMD(partial_back),
    .gate_back = AR_SIMD(gate_back),
    .streams_back = AR_SIMD(streams_back),
    .combine = AR_SIMD(combine),
    .sum = AR_SIMD(sum),
#ifndef AR_STORE_BF16
    .roof = AR_SIMD(roof),
#endif
};
