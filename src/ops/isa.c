/* isa.c: choosing the build of the loops that the processor can run. */
#include "lanes.h"

#include <string.h>

extern const ox_loops ox_loops_base;

#ifdef OX_X86_VARIANTS
#include <cpuid.h>

extern const ox_loops ox_loops_v3, ox_loops_v4;

/* Half-precision conversions, which not every compiler knows by name. */
static bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static bool runs_v3(void) {
    return has_f16c() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool runs_v4(void) {
    return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

const ox_loops *ox_loops_find(const char *name) {
    bool any = !name || (strcmp(name, "base") && strcmp(name, "v3") && strcmp(name, "v4"));
    if (runs_v4() && (any || !strcmp(name, "v4")))
        return &ox_loops_v4;
    if (runs_v3() && (any || !strcmp(name, "v3") || !strcmp(name, "v4")))
        return &ox_loops_v3;
    return &ox_loops_base;
}

bool ox_streams_beside_reads(void) {
    return !__builtin_cpu_is("amd");
}
#else
const ox_loops *ox_loops_find(const char *name) {
    (void)name;
    return &ox_loops_base;
}

bool ox_streams_beside_reads(void) {
    return true;
}
#endif
