/* builds.h: the kinds of processors that the loops are built for: the list. Declarations, tables of builds, the
 * Makefile and the tests are expanded from these rows; a new build is a row, and its intrinsics in the header
 * of its processor (intrinsics.h).
 *
 * BUILD(name, machine, flags, wide, runs)
 *     From the plainest, which every processor of the machine runs, to the best. `flags` are the compiler's; those of
 *     `wide` come behind them for what computes more than it waits for memory. `runs` says whether this processor
 *     has it (x86.h). Processors without PREFETCHW pass over it.
 * DOT(name, machine, flags, build, runs)
 *     The kernels of products of bytes (LOOPS_DOT) once more, for processors of that build that add four products in
 *     one instruction. On x86-64 they are part of that build; on aarch64 each is a build of its own, which shares all
 *     other loops with that one.
 */
#ifndef OX_LOOPS_BUILDS_H
#define OX_LOOPS_BUILDS_H

#if defined(OX_VARIANTS) && defined(__x86_64__)
#define OX_BUILDS(BUILD, ...)                                                                                          \
    BUILD(base, any, "", "", true, __VA_ARGS__)                                                                        \
    BUILD(v3, x86_64, "-march=x86-64-v3 -mprfchw", "", OX_RUNS_V3, __VA_ARGS__)                                        \
    BUILD(v4, x86_64, "-march=x86-64-v4 -mprfchw -mprefer-vector-width=256", "-mprefer-vector-width=512", OX_RUNS_V4,  \
          __VA_ARGS__)
#define OX_DOTS(DOT, ...) DOT(vnni, x86_64, "-march=x86-64-v4 -mavx512vnni", v4, OX_CPU_HAS(AVX512_VNNI), __VA_ARGS__)
#define OX_SHARING(DOT, ...)
#elif defined(OX_VARIANTS) && defined(__aarch64__)
#define OX_BUILDS(BUILD, ...) BUILD(base, any, "", "", true, __VA_ARGS__)
#define OX_DOTS(DOT, ...)
#define OX_SHARING(DOT, ...)                                                                                           \
    DOT(neon_dot, aarch64, "-march=armv8.2-a+dotprod", base, OX_ARM_HAS(DOTPROD), __VA_ARGS__)                         \
    DOT(neon_i8mm, aarch64, "-march=armv8.2-a+dotprod+i8mm", base, OX_ARM_HAS(DOTPROD) && OX_ARM_HAS(I8MM), __VA_ARGS__)
#else
#define OX_BUILDS(BUILD, ...) BUILD(base, any, "", "", true, __VA_ARGS__)
#define OX_DOTS(DOT, ...)
#define OX_SHARING(DOT, ...)
#endif

/* The names as numbers, and how many there are. */
typedef enum ox_build {
#define NUMBER(name, machine, flags, wide, runs, ...) OX_BUILD_##name,
    OX_BUILDS(NUMBER, )
#undef NUMBER
#define NUMBER(name, machine, flags, build, runs, ...) OX_BUILD_##name,
    OX_SHARING(NUMBER, )
#undef NUMBER
        OX_BUILDS_COUNT
} ox_build;

/* The names, in the order of the numbers: "base", ... */
extern const char *const ox_build_names[OX_BUILDS_COUNT];

#endif
