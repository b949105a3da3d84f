/* x86.h: OX_CPU_HAS(feature), whether the processor has it and the system saves its registers. The C library asked when
 * the process started. The instruction (cpuid) takes 5 microseconds in a virtual machine, and a session 0.25. */
#ifndef OX_LOOPS_X86_H
#define OX_LOOPS_X86_H

#if defined(OX_VARIANTS) && defined(__x86_64__)
#include "host.h"

#include <stdbool.h>

#ifdef __has_include
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

#ifdef CPU_FEATURE_ACTIVE
#define OX_CPU_HAS(feature) ox_cpu_has(x86_cpu_##feature)

/* Instead of CPU_FEATURE_ACTIVE, which shifts a signed 1 by 31 bits. */
static inline bool ox_cpu_has(unsigned bit) {
    return __x86_get_cpuid_feature_leaf(bit / 128)->active_array[bit / 32 % 4] >> bit % 32 & 1;
}
#else
#include <cpuid.h>

#define OX_CPU_HAS(feature) OX_CPU_HAS_##feature
#define OX_CPU_HAS_AVX2 __builtin_cpu_supports("avx2")
#define OX_CPU_HAS_AVX512BW __builtin_cpu_supports("avx512bw")
#define OX_CPU_HAS_AVX512CD __builtin_cpu_supports("avx512cd")
#define OX_CPU_HAS_AVX512DQ __builtin_cpu_supports("avx512dq")
#define OX_CPU_HAS_AVX512F __builtin_cpu_supports("avx512f")
#define OX_CPU_HAS_AVX512VL __builtin_cpu_supports("avx512vl")
#define OX_CPU_HAS_AVX512_VBMI __builtin_cpu_supports("avx512vbmi")
#define OX_CPU_HAS_AMX_TILE false /* the C library has to know them */
#define OX_CPU_HAS_AMX_INT8 false
#define OX_CPU_HAS_AVX512_VNNI __builtin_cpu_supports("avx512vnni")
#define OX_CPU_HAS_BMI1 __builtin_cpu_supports("bmi")
#define OX_CPU_HAS_BMI2 __builtin_cpu_supports("bmi2")
#define OX_CPU_HAS_FMA __builtin_cpu_supports("fma")
#define OX_CPU_HAS_F16C ox_has_f16c()

/* Half-precision conversions, which not every compiler knows by name. */
static inline bool ox_has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

/* The levels of x86-64 that builds.h names. */
#define OX_RUNS_V3 (OX_CPU_HAS(AVX2) && OX_CPU_HAS(FMA) && OX_CPU_HAS(F16C) && OX_CPU_HAS(BMI1) && OX_CPU_HAS(BMI2))
#define OX_RUNS_V4                                                                                                     \
    (OX_RUNS_V3 && OX_CPU_HAS(AVX512F) && OX_CPU_HAS(AVX512BW) && OX_CPU_HAS(AVX512CD) && OX_CPU_HAS(AVX512DQ) &&      \
     OX_CPU_HAS(AVX512VL))
#define OX_RUNS_AMX (OX_CPU_HAS(AMX_TILE) && OX_CPU_HAS(AMX_INT8) && ox_host_matrix_registers())
#endif

#endif
