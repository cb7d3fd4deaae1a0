/* The table of one instruction set and storage type. */

#include "../pass.h"
#include "vec.h"

#define DECLARE(name) ar_pass_fn AR_SIMD(name)
DECLARE(add);
DECLARE(attend);
DECLARE(merge);
DECLARE(gate);
DECLARE(streams);
DECLARE(dot);
DECLARE(attend_back);
DECLARE(partial_back);
DECLARE(gate_back);
DECLARE(streams_back);

extern const ar_ops AR_SIMD(ops);
const ar_ops AR_SIMD(ops) = {AR_SIMD(add),         AR_SIMD(attend),       AR_SIMD(merge),
                             AR_SIMD(gate),        AR_SIMD(streams),      AR_SIMD(dot),
                             AR_SIMD(attend_back), AR_SIMD(partial_back), AR_SIMD(gate_back),
                             AR_SIMD(streams_back)};
