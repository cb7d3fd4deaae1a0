/* The table of one instruction set and storage type. */

#include "../pass.h"
#include "vec.h"

#define DECLARE(name) ar_pass_fn AR_SIMD(name)
DECLARE(add);
DECLARE(attend);
DECLARE(merge);
DECLARE(gate);
DECLARE(streams);
DECLARE(attend_back);
DECLARE(coefficients);
DECLARE(combine);
DECLARE(sum);

extern const ar_ops AR_SIMD(ops);
const ar_ops AR_SIMD(ops) = {AR_SIMD(add),          AR_SIMD(attend),  AR_SIMD(merge),
                             AR_SIMD(gate),         AR_SIMD(streams), AR_SIMD(attend_back),
                             AR_SIMD(coefficients), AR_SIMD(combine), AR_SIMD(sum)};
