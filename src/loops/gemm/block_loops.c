/* block_loops.c: products with weights in blocks. Built once for each kind of processor, and once more for those that
 * add four products of bytes in one instruction. */
#include "loops/block_loops.h"
#include "loops/lane_loops.h"
#include "loops/x86.h"

#include <float.h>

#if !OX_SMALL

typedef ox_indices words;
typedef int32_t integers __attribute__((vector_size(OX_WIDEST)));
typedef ox_floats loose_floats __attribute__((aligned(4), may_alias));
typedef words loose_words __attribute__((aligned(1), may_alias));

enum {
    LANES = OX_WIDEST / 4,
    MOST = 16 /* weights of a word */
};

/* For each lane of a vector of words the number of its block among those that begin with the vector's first. */
static inline words block_numbers(int64_t words_each) {
    words numbers;
    for (int l = 0; l < LANES; l++)
        numbers[l] = words_each < LANES ? (uint32_t)(l / words_each) : 0;
    return numbers;
}

/* Scales or zero points of the blocks of the vector that begins with word `at`. */
static inline ox_floats of_lanes(const f32 *values, int64_t at, int64_t words_each, words numbers) {
    if (words_each >= LANES)
        return (ox_floats){0} + values[at / words_each];
    return ox_pick_floats(OX_GET(loose_floats, values + at / words_each), numbers);
}

/* The vector of words at a place of a row, of which so many bytes are left, and zeros behind. */
static inline words load_words(const uint8_t *row, int64_t left) {
    words loaded = {0};
    if (left >= OX_WIDEST)
        return OX_GET(loose_words, row);
    memcpy(&loaded, row, (size_t)left);
    return loaded;
}

/* The same of values of the last blocks. */
static inline const f32 *load_last(const f32 *values, int64_t first, int64_t count, float *room) {
    memset(room, 0, OX_WIDEST);
    memcpy(room, values + first, (size_t)count * sizeof *room);
    return room;
}

#define EACH_BITS(M, ...) M(2, __VA_ARGS__) M(4, __VA_ARGS__) M(8, __VA_ARGS__)

#ifdef OX_DOT_ISA

/* ---- Bytes -------------------------------------------------------------------------------------------------- */

/* A vector of words in a row of A: bytes for each part of it, sums of them for each word, and the scale. */
static inline size_t part_bytes(int bits) {
    return (size_t)(8 / bits) * OX_WIDEST + 2 * OX_WIDEST;
}

static size_t bytes_size(const ox_block_row *row) {
    return (size_t)((row->bytes + OX_WIDEST - 1) / OX_WIDEST) * part_bytes(row->bits);
}

static void lay_bytes(const ox_block_row *row, const int8_t *a, const float *scales, void *to) {
    const int each = 32 / row->bits, parts = 8 / row->bits;
    char *at = to;
    for (int64_t first = 0; first * row->bits < row->bytes * 8; first += LANES * each, at += part_bytes(row->bits)) {
        int8_t *bytes = (int8_t *)at;
        float *sums = (float *)(void *)(at + parts * OX_WIDEST), *scale = sums + LANES;
        for (int l = 0; l < LANES; l++) {
            const int64_t start = first + l * each;
            int32_t sum = 0;
            for (int i = 0; i < each; i++) {
                const int8_t value = start + i < row->k ? a[start + i] : 0;
                bytes[i % parts * OX_WIDEST + l * 4 + i / parts] = value;
                sum += value;
            }
            sums[l] = (float)sum;
            scale[l] = start < row->k ? scales[start / row->block] : 0;
        }
    }
}

/* Products of a vector of words of each row. */
static inline __attribute__((always_inline)) void add_bytes(const int bits, const int count, const bool has_zeros,
                                                            const words *w, const char *a, const ox_floats *scales,
                                                            const ox_floats *zeros, ox_floats *totals) {
    (void)has_zeros;
    const int parts = 8 / bits;
    const words mask = (words){0} + (bits == 2 ? 0x03030303U : bits == 4 ? 0x0f0f0f0fU : 0xffffffffU);
    const ox_floats sums = OX_GET(loose_floats, a + parts * OX_WIDEST),
                    scale = OX_GET(loose_floats, a + (parts + 1) * OX_WIDEST);
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) {
        ox_dot_lanes dots = {0};
#pragma GCC unroll 4
        for (int p = 0; p < parts; p++)
            dots = ox_dot(dots, (ox_dot_lanes)(w[i] >> (uint32_t)(bits * p) & mask),
                          (ox_dot_lanes)OX_GET(loose_words, a + p * OX_WIDEST));
        const ox_floats products = __builtin_convertvector((integers)dots, ox_floats) - zeros[i] * sums;
        totals[i] += products * (scale * scales[i]);
    }
}

#define ADD add_bytes
#define PART_BYTES(bits) part_bytes(bits)
#define DOTS(bits) bytes_dots_##bits

#else

/* ---- Floats ------------------------------------------------------------------------------------------------- */

static inline size_t part_bytes(int bits) {
    return (size_t)(32 / bits) * OX_WIDEST;
}

static size_t size_of_row(const ox_block_row *row) {
    return (size_t)((row->bytes + OX_WIDEST - 1) / OX_WIDEST) * part_bytes(row->bits);
}

static void lay(const ox_block_row *row, const float *a, void *to) {
    const int each = 32 / row->bits;
    float *values = to;
    for (int64_t first = 0; first * row->bits < row->bytes * 8; first += LANES * each, values += LANES * each)
        for (int l = 0; l < LANES; l++) {
            const int64_t start = first + l * each;
            for (int i = 0; i < each; i++)
                values[i * LANES + l] = start + i < row->k ? a[start + i] : 0;
        }
}

/* Weight i of each word, less 2^(bits - 1). */
static inline __attribute__((always_inline)) ox_floats weights_of(const int bits, words w, const int i) {
#if OX_WIDEST == 64
    if (bits < 8) { /* an index into 16 floats has 4 bits */
        const float m = bits == 4 ? 8 : 2;
        const ox_floats table =
            bits == 4 ? (ox_floats){-m, 1 - m, 2 - m, 3 - m, 4 - m, 5 - m, 6 - m, 7 - m, 0, 1, 2, 3, 4, 5, 6, 7}
                      : (ox_floats){-2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1};
        (void)m;
        return ox_pick_floats(table, w >> (uint32_t)(bits * i));
    }
#endif
    const words flipped = w ^ (bits == 2 ? 0xaaaaaaaaU : bits == 4 ? 0x88888888U : 0x80808080U);
    const integers high = (integers)(flipped << (uint32_t)(32 - bits * (i + 1)));
    return __builtin_convertvector(high >> (32 - bits), ox_floats);
}

static inline __attribute__((always_inline)) void add_floats(const int bits, const int count, const bool has_zeros,
                                                             const words *w, const char *a, const ox_floats *scales,
                                                             const ox_floats *zeros, ox_floats *totals) {
    const int each = 32 / bits;
    const ox_floats middle = (ox_floats){0} + (float)(1 << (bits - 1));
    ox_floats products[OX_BLOCK_ROWS] = {{0}}, shifts[OX_BLOCK_ROWS];
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
        shifts[i] = middle - zeros[i];
#pragma GCC unroll 16
    for (int p = 0; p < each; p++) {
        const ox_floats value = OX_GET(loose_floats, a + p * OX_WIDEST);
#pragma GCC unroll 4
        for (int i = 0; i < count; i++) {
            const ox_floats weights = weights_of(bits, w[i], p);
            products[i] += (has_zeros ? weights + shifts[i] : weights) * value;
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
        totals[i] += products[i] * scales[i];
}

#define ADD add_floats
#define PART_BYTES(bits) part_bytes(bits)
#define DOTS(bits) dots_##bits

#endif

/* ---- Rows --------------------------------------------------------------------------------------------------- */

static inline float total_of(ox_floats values) {
    float total = 0;
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            values[l] += values[l + half];
    total = values[0];
    return total;
}

/* Some rows, with zero points or without, by blocks of several vectors or by several in one. */
static inline __attribute__((always_inline)) void dots(const int bits, const int count, const bool has_zeros,
                                                       const ox_block_rows *rows, const char *a, float *to) {
    const ox_block_row *row = rows->row;
    const int64_t words_each = row->block * bits / 32, vectors = row->bytes / OX_WIDEST;
    const words numbers = block_numbers(words_each);
    const ox_floats middle = (ox_floats){0} + (float)(1 << (bits - 1));
    ox_floats totals[OX_BLOCK_ROWS] = {{0}}, scales[OX_BLOCK_ROWS], zeros[OX_BLOCK_ROWS];
    words w[OX_BLOCK_ROWS];
    int64_t v = 0;
    for (; v < vectors; v++, a += PART_BYTES(bits)) {
#pragma GCC unroll 4
        for (int i = 0; i < count; i++) {
            w[i] = OX_GET(loose_words, rows->weights[i] + v * OX_WIDEST);
            scales[i] = of_lanes(rows->scales[i], v * LANES, words_each, numbers);
            zeros[i] = has_zeros ? of_lanes(rows->zeros[i], v * LANES, words_each, numbers) : middle;
        }
        ADD(bits, count, has_zeros, w, a, scales, zeros, totals);
    }
    if (v * OX_WIDEST < row->bytes) {
        const int64_t first = v * LANES / words_each, left = row->blocks - first;
        float room[LANES];
        for (int i = 0; i < count; i++) {
            w[i] = load_words(rows->weights[i] + v * OX_WIDEST, row->bytes - v * OX_WIDEST);
            scales[i] = of_lanes(load_last(rows->scales[i], first, left, room), 0, words_each, numbers);
            zeros[i] =
                has_zeros ? of_lanes(load_last(rows->zeros[i], first, left, room), 0, words_each, numbers) : middle;
        }
        ADD(bits, count, has_zeros, w, a, scales, zeros, totals);
    }
    for (int i = 0; i < count; i++)
        to[i] = total_of(totals[i]);
}

#define OF_COUNT(bits, number)                                                                                         \
    if (rows->count == (number)) {                                                                                     \
        if (rows->zeros[0])                                                                                            \
            dots(bits, number, true, rows, a, to);                                                                     \
        else                                                                                                           \
            dots(bits, number, false, rows, a, to);                                                                    \
    }
#define OF_BITS(bits, ...)                                                                                             \
    static void DOTS(bits)(const ox_block_rows *rows, const void *a, float *to) {                                      \
        OF_COUNT(bits, 1)                                                                                              \
        OF_COUNT(bits, 4)                                                                                              \
    }
EACH_BITS(OF_BITS, )

static void dots_of(const ox_block_rows *rows, const void *a, float *to) {
    const int bits = rows->row->bits;
    (bits == 2 ? DOTS(2) : bits == 4 ? DOTS(4) : DOTS(8))(rows, a, to);
}

#ifdef OX_DOT_ISA

ox_block_size_fn OX_JOIN(ox_block_bytes_size, OX_DOT_ISA);
ox_block_lay_bytes_fn OX_JOIN(ox_block_lay_bytes, OX_DOT_ISA);
ox_block_dots_fn OX_JOIN(ox_block_bytes_dots, OX_DOT_ISA);

size_t OX_JOIN(ox_block_bytes_size, OX_DOT_ISA)(const ox_block_row *row) {
    return bytes_size(row);
}

void OX_JOIN(ox_block_lay_bytes, OX_DOT_ISA)(const ox_block_row *row, const int8_t *a, const float *scales, void *to) {
    lay_bytes(row, a, scales, to);
}

void OX_JOIN(ox_block_bytes_dots, OX_DOT_ISA)(const ox_block_rows *rows, const void *a, float *to) {
    dots_of(rows, a, to);
}

#else

/* ---- Rounding ----------------------------------------------------------------------------------------------- */

/* Added to a float and taken off again, it leaves a whole number. */
#define MAGIC 0x1.8p23F

static float scale_of(const float *a, int64_t count) {
    float most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fabsf(a[i]) > most ? fabsf(a[i]) : most;
    return most / 127 > FLT_MIN ? most / 127 : FLT_MIN;
}

static bool round_to_bytes(int64_t k, int64_t block, const float *a, int8_t *bytes, float *scales, float *floats) {
    float zeros = 0;
    for (int64_t i = 0; i < k; i++)
        zeros += a[i] * 0;
    if (!(zeros == 0))
        return false;
    for (int64_t first = 0; first < k; first += block) {
        const int64_t end = k - first < block ? k : first + block;
        const float scale = scale_of(a + first, end - first);
        if (scales)
            scales[first / block] = scale;
        for (int64_t i = first; i < end && bytes; i++)
            bytes[i] = (int8_t)(int32_t)((a[i] / scale + MAGIC) - MAGIC);
        for (int64_t i = first; i < end && floats; i++)
            floats[i] = ((a[i] / scale + MAGIC) - MAGIC) * scale;
    }
    return true;
}

/* ---- Columns ------------------------------------------------------------------------------------------------ */

typedef uint32_t eight __attribute__((vector_size(32)));
typedef float eight_floats __attribute__((vector_size(32)));

static void widen_zeros(int bits, int64_t count, const uint8_t *packed, float *to) {
    const uint32_t mask = (1U << bits) - 1;
    const int64_t each = 8 / bits;
    int64_t i = 0;
    for (; bits != 8 && i + 8 <= count; i += 8) {
        uint32_t word = 0;
        memcpy(&word, packed + i / each, (size_t)bits);
        eight codes = (eight){0} + word;
        codes = codes >> ((eight){0, 1, 2, 3, 4, 5, 6, 7} * (uint32_t)bits) & mask;
        const eight_floats values = __builtin_convertvector(codes, eight_floats);
        memcpy(to + i, &values, sizeof values);
    }
    for (; i < count; i++)
        to[i] = (float)(packed[i / each] >> (int)(i % each) * bits & (int)mask);
}

/* Weights of LANES rows, or fewer, that a word of each holds, `at` weights behind the first: rows of the result. */
static inline __attribute__((always_inline)) void widen_words(const int bits, const ox_block_columns *from,
                                                              int64_t columns, int64_t column, int64_t at,
                                                              int64_t count, char *to, int64_t to_row) {
    const int each = 32 / bits;
    const int64_t block = (from->phase + at) / from->row->block;
    words w = {0};
    ox_floats scales = {0}, zeros = (ox_floats){0} + (float)(1 << (bits - 1));
    const ox_floats middle = zeros;
    for (int64_t l = 0; l < columns; l++) {
        uint32_t word;
        memcpy(&word, from->weights + (column + l) * from->row->bytes + at * bits / 8, sizeof word);
        w[l] = word;
        scales[l] = from->scales[(column + l) * from->scales_apart + block];
        if (from->zeros)
            zeros[l] = from->zeros[(column + l) * from->zeros_apart + block];
    }
    const ox_floats shift = middle - zeros;
#pragma GCC unroll 16
    for (int i = 0; i < each; i++) {
        const ox_floats values = (weights_of(bits, w, i) + shift) * scales;
        if (i < count && columns == LANES)
            OX_AT(loose_floats, to + i * to_row) = values;
        else if (i < count)
            memcpy(to + i * to_row, &values, (size_t)columns * sizeof(float));
    }
}

#define WIDEN(bits, ...)                                                                                               \
    static void widen_##bits(const ox_block_columns *from, int64_t count, char *to, int64_t to_row) {                  \
        const int64_t each = 32 / (bits), width = sizeof(float);                                                       \
        for (int64_t j = 0; j < from->columns; j += LANES)                                                             \
            for (int64_t i = 0; i < count; i += each)                                                                  \
                widen_words(bits, from, from->columns - j < LANES ? from->columns - j : LANES, j, i,                   \
                            count - i < each ? count - i : each, to + i * to_row + j * width, to_row);                 \
    }
EACH_BITS(WIDEN, )

static void widen(const ox_block_columns *from, int64_t count, char *to, int64_t to_row) {
    const int bits = from->row->bits;
    (bits == 2 ? widen_2 : bits == 4 ? widen_4 : widen_8)(from, count, to, to_row);
}

/* ---- The build ---------------------------------------------------------------------------------------------- */

#define DECLARE(name, machine, flags, build, runs, ...)                                                                \
    extern ox_block_size_fn ox_block_bytes_size_##name;                                                                \
    extern ox_block_lay_bytes_fn ox_block_lay_bytes_##name;                                                            \
    extern ox_block_dots_fn ox_block_bytes_dots_##name;
OX_DOTS(DECLARE, )

#define FIELDS                                                                                                         \
    .round = round_to_bytes, .zeros = widen_zeros, .size = size_of_row, .lay = lay, .dots = dots_of, .widen = widen

extern ox_block_find_fn OX_VARIANT(ox_block_find);
const ox_block_loops *OX_VARIANT(ox_block_find)(void) {
    static const ox_block_loops loops = {FIELDS};
#define CHOOSE(name, machine, flags, build, runs, ...)                                                                 \
    if (OX_BUILD_##build == OX_JOIN(OX_BUILD, OX_ISA) && runs) {                                                       \
        static const ox_block_loops with_bytes = {FIELDS, .bytes_size = ox_block_bytes_size_##name,                    \
                                                  .lay_bytes = ox_block_lay_bytes_##name,                              \
                                                  .bytes_dots = ox_block_bytes_dots_##name};                           \
        return &with_bytes;                                                                                            \
    }
    OX_DOTS(CHOOSE, )
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? &loops : NULL;
}
#endif

#endif
