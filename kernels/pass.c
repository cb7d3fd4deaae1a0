#include "pass.h"
#include "simd/tile_size.h"

extern const ar_ops ar_simd_ops_base_fp32, ar_simd_ops_base_bf16;
#ifdef AR_HAVE_X86
extern const ar_ops ar_simd_ops_v3_fp32, ar_simd_ops_v3_bf16;
extern const ar_ops ar_simd_ops_v4_fp32, ar_simd_ops_v4_bf16, ar_simd_ops_v4b_bf16;
#endif

const char *const ar_isa_names[] = {
    "auto", "base", "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512_bf16", NULL};

bool ar_isa_runs(ar_isa isa) {
#ifdef AR_HAVE_X86
    if (isa == AR_ISA_V3) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == AR_ISA_V4)
        return ar_isa_runs(AR_ISA_V3) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (isa == AR_ISA_V4_BF16)
        return ar_isa_runs(AR_ISA_V4) && __builtin_cpu_supports("avx512bf16");
#endif
    return isa == AR_ISA_AUTO || isa == AR_ISA_BASE;
}

const ar_ops *ar_ops_find(ar_isa isa, ar_dtype dtype) {
    const bool half = dtype == AR_BF16;
    if (isa == AR_ISA_AUTO)
        for (isa = AR_ISAS - 1; !ar_isa_runs(isa);)
            isa--;
#ifdef AR_HAVE_X86
    if (isa == AR_ISA_V4_BF16) return half ? &ar_simd_ops_v4b_bf16 : &ar_simd_ops_v4_fp32;
    if (isa == AR_ISA_V4) return half ? &ar_simd_ops_v4_bf16 : &ar_simd_ops_v4_fp32;
    if (isa == AR_ISA_V3) return half ? &ar_simd_ops_v3_bf16 : &ar_simd_ops_v3_fp32;
#endif
    return half ? &ar_simd_ops_base_bf16 : &ar_simd_ops_base_fp32;
}

/* Floats of one thread's scratch, in whole cache lines. */
static size_t scratch_of(const ar_depth *m) {
    const size_t queries = m->block < m->layers ? m->block : m->layers;
    return ar_scratch_floats(m->width, queries > 0 ? queries : 1);
}

size_t ar_depth_scratch(const ar_depth *m) {
    return (m->threads > 1 ? m->threads : 1) * scratch_of(m);
}

void ar_pass_run(const ar_depth *m, ar_pass_fn *pass, const void *args, size_t loads, size_t stores,
                 size_t scratch) {
    const size_t T = m->tokens, threads = m->threads;
    if (m->ledger) {
        m->ledger->loads += loads;
        m->ledger->stores += stores;
        m->ledger->passes++;
    }
    if (threads <= 1) {
        pass(args, 0, T, m->scratch);
        return;
    }
#pragma omp parallel for schedule(static, 1) num_threads((int)threads)
    for (size_t k = 0; k < threads; k++)
        pass(args, T * k / threads, T * (k + 1) / threads, m->scratch + k * scratch);
}

static void run(const ar_depth *m, ar_pass_fn *pass, const void *args, size_t loads,
                size_t stores) {
    ar_pass_run(m, pass, args, loads, stores, scratch_of(m));
}

void ar_pass_add(const ar_depth *m, void *x, const void *v) {
    run(m, ar_ops_find(m->isa, m->dtype)->add, &(ar_add){m->width, x, v}, 2, 1);
}

void ar_pass_attend(const ar_depth *m, const ar_attend *a) {
    const size_t extra = a->v ? 1 : 0;
    run(m, ar_ops_find(m->isa, m->dtype)->attend, a, a->n + extra + (a->own ? 1 : 0), 1 + extra);
}

void ar_pass_answer(const ar_depth *m, const ar_answer *a) {
    run(m, ar_ops_find(m->isa, m->dtype)->answer, a, a->n, a->queries);
}

void ar_pass_merge(const ar_depth *m, const ar_merge *a) {
    const size_t extra = a->v ? 1 : 0;
    run(m, ar_ops_find(m->isa, m->dtype)->merge, a, a->n + 1 + extra, 1 + extra);
}

void ar_pass_gate(const ar_depth *m, const ar_gate *a) {
    run(m, ar_ops_find(m->isa, m->dtype)->gate, a, a->gate ? 3 : 2, 1);
}

void ar_pass_streams(const ar_depth *m, const ar_streams *a) {
    const size_t h = a->h ? 1 : 0;
    run(m, ar_ops_find(m->isa, m->dtype)->streams, a, a->streams + (a->v ? 1 : 0),
        (a->v ? a->streams : 0) + h);
}

void ar_pass_combine(const ar_depth *m, const ar_combine *a) {
    run(m, ar_ops_find(m->isa, m->dtype)->combine, a, a->n, a->outs);
}

void ar_pass_sum(const ar_depth *m, const ar_sum *a) {
    run(m, ar_ops_find(m->isa, m->dtype)->sum, a, 2 * a->n, a->n);
}
