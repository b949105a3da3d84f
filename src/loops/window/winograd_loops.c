/* winograd_loops.c: the transforms of Winograd's algorithm. A product and a sum may be rounded together, as in matrix
 * products (-ffp-contract in the Makefile). */
#include "asserts.h"
#include "loops/winograd_loops.h"
#include "loops/lane_loops.h"

extern const ox_winograd_loops OX_VARIANT(ox_winograd_loops);

#define UNROLL OX_UNROLLED

enum {
    TAPS = 3, /* of a kernel, in each direction */
    MOST = 6  /* elements that a tile sees in a direction */
};

/* ---- Phases ------------------------------------------------------------------------------------------------- */

OX_INLINED void part_row(const int phases, int64_t count, const float *restrict from, float *restrict to,
                         int64_t to_phase) {
    for (int64_t i = 0; i < count; i++)
        UNROLL for (int p = 0; p < phases; p++) to[p * to_phase + i] = from[i * phases + p];
}

static void part(int64_t phases, int64_t count, const float *from, float *to, int64_t to_phase) {
    if (phases == 4)
        part_row(4, count, from, to, to_phase);
    else
        part_row(2, count, from, to, to_phase);
}

OX_INLINED void weave_row(const int phases, int64_t count, const float *restrict from, int64_t from_phase,
                          float *restrict to) {
    const int64_t whole = count / phases;
    for (int64_t i = 0; i < whole; i++)
        UNROLL for (int p = 0; p < phases; p++) to[i * phases + p] = from[p * from_phase + i];
    for (int64_t i = whole * phases; i < count; i++)
        to[i] = from[i % phases * from_phase + whole];
}

static void weave(int64_t phases, int64_t count, const float *from, int64_t from_phase, float *to) {
    if (phases == 4)
        weave_row(4, count, from, from_phase, to);
    else
        weave_row(2, count, from, from_phase, to);
}

/* ---- Tiles -------------------------------------------------------------------------------------------------- */

/* Rows of small images have few tiles, so that there are loops for vectors of 16, 8 and 4 tiles. */
#define WIDTH 4
#define WINOGRAD(name) name##_of_4
#include "winograd.inc"
#if OX_WIDEST >= 32
#define WIDTH 8
#define WINOGRAD(name) name##_of_8
#include "winograd.inc"
#endif
#if OX_WIDEST >= 64
#define WIDTH 16
#define WINOGRAD(name) name##_of_16
#include "winograd.inc"
#endif

#if OX_WIDEST >= 64
#define BY_WIDTH(name, ...)                                                                                            \
    (tiles > 8 ? name##_of_16(__VA_ARGS__) : tiles > 4 ? name##_of_8(__VA_ARGS__) : name##_of_4(__VA_ARGS__))
#elif OX_WIDEST >= 32
#define BY_WIDTH(name, ...) (tiles > 4 ? name##_of_8(__VA_ARGS__) : name##_of_4(__VA_ARGS__))
#else
#define BY_WIDTH(name, ...) name##_of_4(__VA_ARGS__)
#endif

/* ---- Weights ------------------------------------------------------------------------------------------------ */

/* The same element of as many kernels, in double and as it is rounded. */
typedef double doubles __attribute__((vector_size(OX_WIDEST)));
typedef float rounded __attribute__((vector_size(OX_WIDEST / 2)));

enum {
    DOUBLES = OX_WIDEST / (int)sizeof(double),
    KERNELS = 32 /* that are transformed before their factors go where they belong, each far from the next */
};

/* The polynomial of three taps at the interpolation points. The denominators of the interpolation are divided by here,
 * so that the input transform needs none. */
OX_INLINED void weigh_2(const doubles *g, doubles *u) {
    u[0] = g[0];
    u[1] = (g[0] + g[1] + g[2]) / 2;
    u[2] = (g[0] - g[1] + g[2]) / 2;
    u[3] = g[2];
}

OX_INLINED void weigh_4(const doubles *g, doubles *u) {
    const double a = 1.5, b = 0.75, aa = a * a, bb = b * b;
    const double at_a = 1 / (2 * aa * (aa - bb)), at_b = 1 / (2 * bb * (bb - aa));
    u[0] = g[0] / (aa * bb);
    u[1] = at_a * (g[0] + a * g[1] + aa * g[2]);
    u[2] = at_a * (g[0] - a * g[1] + aa * g[2]);
    u[3] = at_b * (g[0] + b * g[1] + bb * g[2]);
    u[4] = at_b * (g[0] - b * g[1] + bb * g[2]);
    u[5] = g[2];
}

typedef void weigh_fn(const doubles *g, doubles *u);

/* Some kernels, by tap, and their factors. */
typedef union kernel_taps {
    double one[TAPS * TAPS][KERNELS];
    doubles vector[TAPS * TAPS][KERNELS / DOUBLES];
} kernel_taps;
typedef rounded kernel_factors[MOST * MOST][KERNELS / DOUBLES];

OX_INLINED void weigh_vector(const int size, weigh_fn *one, const kernel_taps *taps, int64_t i,
                             kernel_factors factors) {
    const int n = size + TAPS - 1;
    doubles g[TAPS], t[TAPS][MOST], u[MOST];
    UNROLL for (int r = 0; r < TAPS; r++) {
        UNROLL for (int c = 0; c < TAPS; c++) g[c] = taps->vector[r * TAPS + c][i];
        one(g, t[r]);
    }
    UNROLL for (int c = 0; c < n; c++) {
        UNROLL for (int r = 0; r < TAPS; r++) g[r] = t[r][c];
        one(g, u);
        UNROLL for (int r = 0; r < n; r++) factors[r * n + c][i] = __builtin_convertvector(u[r], rounded);
    }
}

/* Taps of kernels that are not there stay as they are. */
static void sort_taps(int64_t count, const ox_f32 *restrict from, kernel_taps *restrict taps) {
    for (int64_t i = 0; i < count; i++, from += TAPS * TAPS)
        UNROLL for (int t = 0; t < TAPS * TAPS; t++) taps->one[t][i] = (double)from[t];
}

OX_INLINED void weigh(const int size, weigh_fn *one, int64_t count, const ox_f32 *from, float *to, int64_t step) {
    const int n = size + TAPS - 1;
    kernel_taps taps = {0};
    kernel_factors factors = {0};
    OX_ASSERT((uintptr_t)to % OX_LINE == 0 && (size_t)step * sizeof *to % OX_LINE == 0);
    OX_ASSERT(count > 0 && count <= step);
    for (int64_t first = 0; first < count; first += KERNELS) {
        const int64_t kernels = count - first < KERNELS ? count - first : KERNELS;
        const size_t lines = ((size_t)kernels * sizeof(float) + OX_LINE - 1) / OX_LINE;
        sort_taps(kernels, from + first * TAPS * TAPS, &taps);
        for (int64_t i = 0; i * DOUBLES < kernels; i++)
            weigh_vector(size, one, &taps, i, factors);
        for (int p = 0; p < n * n; p++)
            ox_stream_lines(to + p * step + first, factors[p], lines * OX_LINE);
    }
    ox_stream_end();
}

/* ---- Of each size ------------------------------------------------------------------------------------------- */

#define OF_SIZE(size)                                                                                                  \
    static void enter_##size(int64_t tiles, const float *from, int64_t row, int64_t phase, float *to, int64_t step) {  \
        OX_ASSERT(tiles > 0 && row > 0 && step >= tiles);                                                              \
        BY_WIDTH(enter, size, tiles, from, row, phase, to, step);                                                      \
    }                                                                                                                  \
    static void leave_##size(int64_t tiles, const float *from, int64_t step, float add, float *to, int64_t phase) {    \
        OX_ASSERT(tiles > 0 && step >= tiles && phase >= tiles);                                                       \
        BY_WIDTH(leave, size, tiles, from, step, add, to, phase);                                                      \
    }                                                                                                                  \
    static void weights_##size(int64_t count, const ox_f32 *from, float *to, int64_t step) {                           \
        weigh(size, weigh_##size, count, from, to, step);                                                              \
    }
OF_SIZE(2)
OF_SIZE(4)

const ox_winograd_loops OX_VARIANT(ox_winograd_loops) = {
    .part = part,
    .weave = weave,
    .two = {enter_2, leave_2, weights_2},
    .four = {enter_4, leave_4, weights_4},
};
