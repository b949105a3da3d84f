/* limits.c: what this processor does at most, for one thread: multiply-adds out of registers, and reads of memory.
 * Built for the machine that it runs on. */
#include "../../src/ox.h"

OX_API double bench_multiply_f32(int64_t count);
OX_API double bench_multiply_f64(int64_t count);
OX_API float bench_read(const void *from, int64_t bytes);

#ifdef __AVX512F__
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

/* Enough sums for several units with a latency of a few cycles, few enough for 16 registers. */
enum {
    SUMS = 12
};

/* `count` multiply-adds, or a few more, of one type. */
#define MULTIPLY(name, type)                                                                                           \
    double name(int64_t count) {                                                                                       \
        typedef type vector __attribute__((vector_size(WIDTH)));                                                       \
        enum {                                                                                                         \
            LANES = WIDTH / sizeof(type)                                                                               \
        };                                                                                                             \
        const volatile type unknown = (type)0.75;                                                                      \
        vector sum[SUMS] = {{0}}, factor = sum[0] + unknown;                                                           \
        type total = 0;                                                                                                \
        for (int j = 0; j < SUMS; j++)                                                                                 \
            sum[j] += (type)j;                                                                                         \
        for (int64_t i = 0; i < count; i += SUMS * LANES)                                                              \
            _Pragma("GCC unroll 12") for (int j = 0; j < SUMS; j++) sum[j] = sum[j] * factor + factor;                 \
        for (int j = 0; j < SUMS * LANES; j++)                                                                         \
            total += sum[j / LANES][j % LANES];                                                                        \
        return (double)total;                                                                                          \
    }
MULTIPLY(bench_multiply_f32, float)
MULTIPLY(bench_multiply_f64, double)

/* The sum of floats, of whole kilobytes at an aligned address. */
float bench_read(const void *from, int64_t bytes) {
    typedef float vector __attribute__((vector_size(WIDTH)));
    enum {
        EACH = 1024 / WIDTH / 4
    };
    const vector *next = from, *end = next + bytes / WIDTH;
    vector sum[4] = {{0}};
    for (; next < end; next += 4 * EACH)
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < 4; j++)
                sum[j] += next[j * EACH + i];
    return (sum[0] + sum[1] + sum[2] + sum[3])[0];
}
