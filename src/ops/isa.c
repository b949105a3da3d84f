/* isa.c: choosing the build of the loops that the processor can run. */
#include "chain.h"
#include "x86.h"

#include <string.h>

#ifdef OX_X86_VARIANTS
#define DECLARE(type, name) extern type name##_base, name##_v3, name##_v4;
#define BUILDS(name)                                                                                                   \
    { &name##_base, &name##_v3, &name##_v4 }
#else
#define DECLARE(type, name) extern type name##_base;
#define BUILDS(name)                                                                                                   \
    { &name##_base }
#endif

DECLARE(const ox_loops, ox_loops)

#define LANE_SET(name)                                                                                                 \
    DECLARE(const ox_lanes, ox_lanes_##name)                                                                           \
    const ox_lanes *const OX_LANES_##name[] = BUILDS(ox_lanes_##name);
#include "lanes.inc"
#undef LANE_SET

DECLARE(ox_where_fn, ox_lane_where)
ox_where_fn *const ox_where_builds[] = BUILDS(ox_lane_where);
#if !OX_SMALL
DECLARE(ox_lane, ox_chain_run)
ox_lane *const ox_chain_builds[] = BUILDS(ox_chain_run);
#endif
DECLARE(ox_folder_fn, ox_folder_find)
ox_folder_fn *const ox_folder_builds[] = BUILDS(ox_folder_find);
DECLARE(ox_softmax_fn, ox_softmax_f32)
ox_softmax_fn *const ox_softmax_f32_builds[] = BUILDS(ox_softmax_f32);
DECLARE(ox_softmax_fn, ox_softmax_f64)
ox_softmax_fn *const ox_softmax_f64_builds[] = BUILDS(ox_softmax_f64);
DECLARE(ox_gemm_kernel_fn, ox_gemm_kernel_for)
ox_gemm_kernel_fn *const ox_gemm_builds[] = BUILDS(ox_gemm_kernel_for);
DECLARE(const ox_integer_loops, ox_integer_loops)
const ox_integer_loops *const ox_integer_builds[] = BUILDS(ox_integer_loops);

#ifdef OX_X86_VARIANTS

static bool runs_v3(void) {
    return OX_CPU_HAS(AVX2) && OX_CPU_HAS(FMA) && OX_CPU_HAS(F16C) && OX_CPU_HAS(BMI1) && OX_CPU_HAS(BMI2);
}

static bool runs_v4(void) {
    return runs_v3() && OX_CPU_HAS(AVX512F) && OX_CPU_HAS(AVX512BW) && OX_CPU_HAS(AVX512CD) && OX_CPU_HAS(AVX512DQ) &&
           OX_CPU_HAS(AVX512VL);
}

const ox_loops *ox_loops_find(const char *name) {
    bool any = !name || (strcmp(name, "base") && strcmp(name, "v3") && strcmp(name, "v4"));
    if (runs_v4() && (any || !strcmp(name, "v4")))
        return &ox_loops_v4;
    if (runs_v3() && (any || !strcmp(name, "v3") || !strcmp(name, "v4")))
        return &ox_loops_v3;
    return &ox_loops_base;
}
#else
const ox_loops *ox_loops_find(const char *name) {
    (void)name;
    return &ox_loops_base;
}
#endif
