/* block_loops.c: products with weights in blocks. Built once for each kind of processor, and once more for those that
 * add four products of bytes in one instruction. */
#include "loops/block_loops.h"
#include "asserts.h"
#include "loops/lane_loops.h"
#include "loops/simd/x86.h"

#include <float.h>
#include <math.h>

#if !OX_SMALL

typedef ox_indices words;
typedef int32_t integers __attribute__((vector_size(OX_WIDEST)));
typedef ox_floats loose_floats __attribute__((aligned(1), may_alias));
typedef words loose_words __attribute__((aligned(1), may_alias));

enum {
    LANES = OX_WIDEST / 4,
    MOST = 16 /* weights of a word */
};

/* Of a vector of words of a row: how many of them make a block, as a power of two, and for each the number of its block
 * among those that begin with the vector's first, where there are several. */
typedef struct places {
    int log;
    words numbers;
} places;

static inline places find_places(const ox_block_row *row) {
    places p = {.log = 0};
    for (int64_t words_each = row->block * row->bits / 32; words_each > 1; words_each /= 2)
        p.log++;
    for (int l = 0; l < LANES; l++)
        p.numbers[l] = (uint32_t)l;
    p.numbers = p.numbers >> (uint32_t)(p.log < 31 ? p.log : 31);
    return p;
}

/* Scales or zero points of the blocks of the vector that begins with word `at`. */
static inline ox_floats of_lanes(const f32 *values, int64_t at, const places *p) {
    if (1 << p->log >= LANES) {
        uint32_t value; /* bits: a sum with 0 would have to be computed */
        memcpy(&value, values + (at >> p->log), sizeof value);
        return (ox_floats)((words){0} + value);
    }
    return ox_pick_floats(OX_GET(loose_floats, values + (at >> p->log)), p->numbers);
}

/* The words at a place of a row, of which so many bytes are left, less than a vector's, and zeros behind. */
static inline words load_words(const uint8_t *row, int64_t left) {
    words loaded = {0};
    ox_load_first(&loaded, sizeof loaded, row, (size_t)left);
    return loaded;
}

/* Rows are read side by side, each too short for a processor to run ahead of it: the same place of the next ones. They
 * come into the second-level cache, which waits for more lines at once than the first: weights that no cache holds take
 * 0.55 to 0.65 of the time, those that one does 1.02. */
static inline void read_ahead(const ox_block_rows *rows, int i, int64_t v, const places *p) {
    __builtin_prefetch(rows->weights[i] + OX_BLOCK_ROWS * rows->row->bytes + v * OX_WIDEST, 0, 2);
    __builtin_prefetch(rows->scales[i] + OX_BLOCK_ROWS * rows->row->blocks + (v * LANES >> p->log), 0, 2);
}

#define EACH_BITS(M, ...) M(2, __VA_ARGS__) M(4, __VA_ARGS__) M(8, __VA_ARGS__)

#ifdef OX_DOT_ISA

/* ---- Bytes -------------------------------------------------------------------------------------------------- */

/* A vector of words in a row of A: bytes for each part of it; for each word what zero points of 2^(bits - 1) take off
 * its products; and the scale. Behind the last one, for each block the sum of its elements, and zeros up to a whole
 * vector. */
static inline size_t part_bytes(int bits) {
    return (size_t)(8 / bits) * OX_WIDEST + 2 * OX_WIDEST;
}

static inline size_t words_size(const ox_block_row *row) {
    return (size_t)((row->bytes + OX_WIDEST - 1) / OX_WIDEST) * part_bytes(row->bits);
}

static size_t bytes_size(const ox_block_row *row) {
    return words_size(row) + (size_t)((row->blocks + LANES - 1) / LANES) * OX_WIDEST;
}

static inline __attribute__((always_inline)) void lay_words(const int bits, const ox_block_row *row, const int8_t *a,
                                                            const float *scales, char *at) {
    const int each = 32 / bits, parts = 8 / bits;
    int64_t left = row->block, start = 0;
    for (; start * bits < row->bytes * 8; at += part_bytes(bits)) {
        int8_t *bytes = (int8_t *)at;
        int32_t *offsets = (int32_t *)(void *)(at + parts * OX_WIDEST);
        float *scale = (float *)(void *)(offsets + LANES);
        for (int l = 0; l < LANES; l++, start += each) {
            int8_t values[MOST] = {0};
            int32_t sum = 0;
            if (start < row->k)
                memcpy(values, a + start, (size_t)(row->k - start < each ? row->k - start : each));
            for (int i = 0; i < each; i++) {
                bytes[i % parts * OX_WIDEST + l * 4 + i / parts] = values[i];
                sum += values[i];
            }
            offsets[l] = -sum * (1 << (bits - 1));
            scale[l] = start < row->k ? *scales : 0;
            left -= each;
            if (!left)
                left = row->block, scales++;
        }
    }
}

static void lay_sums(const ox_block_row *row, const int8_t *a, const float *scales, float *sums) {
    for (int64_t b = 0; b < (row->blocks + LANES - 1) / LANES * LANES; b++) {
        int32_t sum = 0;
        for (int64_t i = b * row->block; i < row->k && i < (b + 1) * row->block; i++)
            sum += a[i];
        sums[b] = b < row->blocks ? (float)sum * scales[b] : 0;
    }
}

static void lay_bytes(const ox_block_row *row, const int8_t *a, const float *scales, void *to) {
    if (row->has_zeros)
        lay_sums(row, a, scales, (float *)(void *)((char *)to + words_size(row)));
    if (row->bits == 2)
        lay_words(2, row, a, scales, to);
    else if (row->bits == 4)
        lay_words(4, row, a, scales, to);
    else
        lay_words(8, row, a, scales, to);
}

/* Products of a vector of words of each row. */
static inline __attribute__((always_inline)) void add_bytes(const int bits, const int count, const words *w,
                                                            const char *a, const ox_floats *scales, ox_floats *totals) {
    const int parts = 8 / bits;
    const words mask = (words){0} + (bits == 2 ? 0x03030303U : bits == 4 ? 0x0f0f0f0fU : 0xffffffffU);
    const ox_dot_lanes offsets = (ox_dot_lanes)OX_GET(loose_words, a + parts * OX_WIDEST);
    const ox_floats scale = OX_GET(loose_floats, a + (parts + 1) * OX_WIDEST);
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) {
        ox_dot_lanes dots = offsets;
#pragma GCC unroll 4
        for (int p = 0; p < parts; p++)
            dots = ox_dot(dots, (ox_dot_lanes)(w[i] >> (uint32_t)(bits * p) & mask),
                          (ox_dot_lanes)OX_GET(loose_words, a + p * OX_WIDEST));
        const ox_floats products = __builtin_convertvector((integers)dots, ox_floats);
        totals[i] += products * scale * scales[i]; /* both scales together may overflow, and underflow */
    }
}

/* Codes for each lane: bytes, or parts of them. */
static inline words codes_in_bytes(const uint8_t *packed) {
    typedef uint8_t bytes __attribute__((vector_size(LANES)));
    bytes codes;
    memcpy(&codes, packed, sizeof codes);
    return __builtin_convertvector(codes, words);
}

static inline __attribute__((always_inline)) words codes_in_word(const int bits, const uint8_t *packed) {
    typedef uint64_t pairs __attribute__((vector_size(OX_WIDEST)));
    uint64_t word = 0;
    words shifts, numbers;
    memcpy(&word, packed, (size_t)(LANES * bits / 8));
#pragma GCC unroll 16
    for (int l = 0; l < LANES; l++)
        shifts[l] = (uint32_t)(l * bits % 32), numbers[l] = (uint32_t)(l * bits / 32);
    return (words)ox_pick_floats((ox_floats)(pairs){word}, numbers) >> shifts & ((1U << bits) - 1);
}

/* Some packed zero points, less 2^(bits - 1): the first `left` of a vector, and anything behind them. */
static inline __attribute__((always_inline)) ox_floats zeros_of(const int bits, const uint8_t *packed, int64_t left) {
    uint8_t held[LANES] = {0};
    if (left < LANES)
        packed = memcpy(held, packed, (size_t)(left * bits + 7) / 8);
    const words codes = bits == 8 ? codes_in_bytes(packed) : codes_in_word(bits, packed);
    return __builtin_convertvector((integers)codes, ox_floats) - (float)(1 << (bits - 1));
}

/* Takes off what zero points are more than 2^(bits - 1), times the sums of A's blocks. */
static inline __attribute__((always_inline)) void take_zeros(const int bits, const int count, const ox_block_rows *rows,
                                                             const char *sums, ox_floats *totals) {
    const int64_t blocks = rows->row->blocks;
    for (int64_t b = 0; b < blocks; b += LANES, sums += OX_WIDEST) {
        const ox_floats sum = OX_GET(loose_floats, sums);
#pragma GCC unroll 4
        for (int i = 0; i < count; i++) {
            ox_floats scales = {0};
            if (blocks - b >= LANES)
                scales = OX_GET(loose_floats, rows->scales[i] + b);
            else
                memcpy(&scales, rows->scales[i] + b, (size_t)(blocks - b) * sizeof(float));
            totals[i] -= zeros_of(bits, rows->packed_zeros[i] + b * bits / 8, blocks - b) * sum * scales;
        }
    }
}

/* The same of row i, word by word, each of whose weights is less its zero point before it is scaled. */
static __attribute__((noinline)) float sum_apart(const ox_block_rows *rows, int i, const char *a) {
    const ox_block_row *row = rows->row;
    const int bits = row->bits, each = 32 / bits, parts = 8 / bits, mask = (1 << bits) - 1;
    float total = 0;
    for (int64_t w = 0; w * each < row->k; w++) {
        const int64_t block = w * each / row->block, l = w % LANES;
        const char *part = a + w / LANES * (int64_t)part_bytes(bits);
        const int zero = rows->packed_zeros[i][block * bits / 8] >> (int)(block * bits % 8) & mask;
        const uint32_t word = OX_GET(ox_u32, rows->weights[i] + w * 4);
        int32_t sum = 0;
        float scale;
        for (int j = 0; j < each; j++)
            sum += ((int)(word >> (uint32_t)(j * bits) & (uint32_t)mask) - zero) *
                   (int8_t)part[j % parts * OX_WIDEST + l * 4 + j / parts];
        memcpy(&scale, part + (parts + 1) * OX_WIDEST + l * 4, sizeof scale);
        total += (float)sum * scale * rows->scales[i][block];
    }
    return total;
}

#define ADD(bits, count, has_zeros, w, a, scales, zeros, totals)                                                       \
    ((void)(zeros), add_bytes(bits, count, w, a, scales, totals))
#define ZEROS_APART true
#define ZEROS(rows) (rows)->packed_zeros[0]
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

static void lay(const ox_block_row *row, const ox_f32 *a, float factor, void *to) {
    const int each = 32 / row->bits;
    float *values = to;
    for (int64_t first = 0; first * row->bits < row->bytes * 8; first += LANES * each, values += LANES * each)
        for (int l = 0; l < LANES; l++) {
            const int64_t start = first + l * each;
            for (int i = 0; i < each; i++)
                values[i * LANES + l] = start + i < row->k ? a[start + i] * factor : 0;
        }
}

/* Weight i of each word, or that less 2^(bits - 1). Zero points are taken off the former, so that the difference is
 * rounded once: of one that is near to a weight, 2^(bits - 1) would leave little. */
static inline __attribute__((always_inline)) ox_floats weights_of(const int bits, const bool has_zeros, words w,
                                                                  const int i) {
#if OX_WIDEST == 64
    if (bits < 8) { /* an index into 16 floats has 4 bits */
        const float m = has_zeros ? 0 : bits == 4 ? 8 : 2;
        const ox_floats table = bits == 4 ? (ox_floats){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} - m
                                          : (ox_floats){0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3} - m;
        return ox_pick_floats(table, w >> (uint32_t)(bits * i));
    }
#endif
    if (has_zeros)
        return __builtin_convertvector((integers)(w << (uint32_t)(32 - bits * (i + 1)) >> (uint32_t)(32 - bits)),
                                       ox_floats);
    const words flipped = w ^ (bits == 2 ? 0xaaaaaaaaU : bits == 4 ? 0x88888888U : 0x80808080U);
    const integers high = (integers)(flipped << (uint32_t)(32 - bits * (i + 1)));
    return __builtin_convertvector(high >> (32 - bits), ox_floats);
}

static inline __attribute__((always_inline)) void add_floats(const int bits, const int count, const bool has_zeros,
                                                             const words *w, const char *a, const ox_floats *scales,
                                                             const ox_floats *zeros, ox_floats *totals) {
    const int each = 32 / bits;
    ox_floats products[OX_BLOCK_ROWS] = {{0}};
#pragma GCC unroll 16
    for (int p = 0; p < each; p++) {
        const ox_floats value = OX_GET(loose_floats, a + p * OX_WIDEST);
#pragma GCC unroll 4
        for (int i = 0; i < count; i++) {
            const ox_floats weights = weights_of(bits, has_zeros, w[i], p);
            products[i] += (has_zeros ? weights - zeros[i] : weights) * value;
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
        totals[i] += products[i] * scales[i];
}

#define ADD add_floats
#define ZEROS_APART false
#define ZEROS(rows) (rows)->zeros[0]
#define PART_BYTES(bits) part_bytes(bits)
#define DOTS(bits) dots_##bits

#endif

/* ---- Rows --------------------------------------------------------------------------------------------------- */

/* The sum of the lanes: halves are added to each other. */
static inline __attribute__((always_inline)) float total_of(ox_floats values) {
    typedef float four __attribute__((vector_size(16)));
    four parts[LANES / 4];
    memcpy(parts, &values, sizeof parts);
#pragma GCC unroll 2
    for (int half = LANES / 8; half > 0; half /= 2)
#pragma GCC unroll 2
        for (int l = 0; l < half; l++)
            parts[l] += parts[l + half];
    return (parts[0][0] + parts[0][2]) + (parts[0][1] + parts[0][3]);
}

/* Some rows, with zero points or without, by blocks of several vectors or by several in one. */
static inline __attribute__((always_inline)) void dots(const int bits, const int count, const bool has_zeros,
                                                       const ox_block_rows *rows, const char *laid, float *to) {
    const ox_block_row *row = rows->row;
    const char *a = laid;
    /* Words that hold weights: of those behind them, a scale that is infinite would make no numbers. */
    const int64_t bytes = (row->k + 32 / bits - 1) / (32 / bits) * 4, vectors = bytes / OX_WIDEST;
    const places p = find_places(row);
    const ox_floats middle = (ox_floats){0} + (float)(1 << (bits - 1));
    ox_floats totals[OX_BLOCK_ROWS] = {{0}}, scales[OX_BLOCK_ROWS], zeros[OX_BLOCK_ROWS];
    words w[OX_BLOCK_ROWS];
    int64_t v = 0;
    OX_ASSERT(row->k > 0 && row->block >= 32 / bits && bytes <= row->bytes && (ZEROS(rows) != NULL) == has_zeros);
    for (; v < vectors; v++, a += PART_BYTES(bits)) {
#pragma GCC unroll 4
        for (int i = 0; i < count; i++) {
            read_ahead(rows, i, v, &p);
            w[i] = OX_GET(loose_words, rows->weights[i] + v * OX_WIDEST);
            scales[i] = of_lanes(rows->scales[i], v * LANES, &p);
            zeros[i] = has_zeros && !ZEROS_APART ? of_lanes(rows->zeros[i], v * LANES, &p) : middle;
        }
        ADD(bits, count, has_zeros, w, a, scales, zeros, totals);
    }
    if (v * OX_WIDEST < bytes) { /* what lies behind them counts nothing */
        integers numbers = {0};
        for (int l = 0; l < LANES; l++)
            numbers[l] = l;
        const integers left = (integers){0} + (int32_t)(bytes / 4 - v * LANES);
        const words within = (words)(numbers < left);
        for (int i = 0; i < count; i++) {
            w[i] = load_words(rows->weights[i] + v * OX_WIDEST, bytes - v * OX_WIDEST);
            scales[i] = (ox_floats)((words)of_lanes(rows->scales[i], v * LANES, &p) & within);
            zeros[i] = has_zeros && !ZEROS_APART ? (ox_floats)((words)of_lanes(rows->zeros[i], v * LANES, &p) & within)
                                                 : middle;
        }
        ADD(bits, count, has_zeros, w, a, scales, zeros, totals);
    }
#ifdef OX_DOT_ISA
    if (has_zeros)
        take_zeros(bits, count, rows, laid + words_size(row), totals);
#endif
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
        to[i] = total_of(totals[i]);
#ifdef OX_DOT_ISA
    /* What zero points take off may be infinite where the difference is not, or the other way round. */
    for (int i = 0; has_zeros && i < count; i++)
        if (!isfinite(to[i]))
            to[i] = sum_apart(rows, i, laid);
#endif
}

#define OF_COUNT(bits, number)                                                                                         \
    if (rows->count == (number)) {                                                                                     \
        if (ZEROS(rows))                                                                                               \
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

/* 2^100 as bits, which are in the order of the floats: sums of products of bytes times the scale of smaller numbers do
 * not overflow. Larger elements, infinities and NaN among them, are not rounded. */
#define TOO_LARGE 0x71800000U

/* The greatest absolute value as bits. */
static uint32_t greatest_of(const ox_f32 *a, int64_t count) {
    const u32 *bits = (const u32 *)(const void *)a;
    uint32_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t value = bits[i] & 0x7fffffffU;
        most = value > most ? value : most;
    }
    return most;
}

static float greatest(int64_t k, const ox_f32 *a) {
    const uint32_t bits = greatest_of(a, k);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool round_to_bytes(int64_t k, int64_t block, const ox_f32 *a, int8_t *bytes, float *scales, float *floats) {
    for (int64_t first = 0; first < k; first += block) {
        const int64_t end = k - first < block ? k : first + block;
        const uint32_t most = greatest_of(a + first, end - first);
        float scale;
        if (most >= TOO_LARGE)
            return false;
        memcpy(&scale, &most, sizeof scale);
        scale = scale / 127 > FLT_MIN ? scale / 127 : FLT_MIN;
        if (scales)
            scales[first / block] = scale;
        if (bytes)
            for (int64_t i = first; i < end; i++)
                bytes[i] = (int8_t)(int32_t)((a[i] / scale + MAGIC) - MAGIC);
        if (floats)
            for (int64_t i = first; i < end; i++)
                floats[i] = ((a[i] / scale + MAGIC) - MAGIC) * scale;
    }
    return true;
}

/* ---- Columns ------------------------------------------------------------------------------------------------ */

typedef uint32_t eight __attribute__((vector_size(32)));
typedef int32_t eight_integers __attribute__((vector_size(32)));
typedef float eight_floats __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) void widen_some(const int bits, int64_t count, const uint8_t *packed,
                                                             float *to) {
    const eight shifts = (eight){0, 1, 2, 3, 4, 5, 6, 7} * (uint32_t)bits;
    for (; count >= 8; count -= 8, packed += bits, to += 8) {
        uint32_t word = 0;
        memcpy(&word, packed, bits == 4 ? 4 : 2);
        const eight codes = ((eight){0} + word) >> shifts & (bits == 4 ? 15U : 3U);
        const eight_floats values = __builtin_convertvector((eight_integers)codes, eight_floats);
        memcpy(to, &values, sizeof values);
    }
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)(packed[i * bits >> 3] >> (int)(i * bits & 7) & ((1 << bits) - 1));
}

static void widen_zeros(int bits, int64_t count, const uint8_t *packed, float *to) {
    if (bits == 4)
        widen_some(4, count, packed, to);
    else if (bits == 2)
        widen_some(2, count, packed, to);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)packed[i];
}

enum {
    AHEAD = 4 /* words of each row that are read before the first of them is taken apart */
};

/* Rows from `column` on, at most LANES of them, as lanes: their scales and zero points in a block. */
typedef struct widened {
    const ox_block_columns *from;
    int64_t column, columns;
    ox_floats scales, zeros;
} widened;

static inline __attribute__((always_inline)) void take_block(const int bits, int64_t block, widened *w) {
    const ox_block_columns *from = w->from;
    w->scales = (ox_floats){0};
    w->zeros = (ox_floats){0} + (float)(1 << (bits - 1));
    for (int64_t l = 0; l < w->columns; l++)
        w->scales[l] = from->scales[(w->column + l) * from->scales_apart + block];
    for (int64_t l = 0; from->zeros && l < w->columns; l++)
        w->zeros[l] = from->zeros[(w->column + l) * from->zeros_apart + block];
}

/* Words of each row, the first of them `at` weights behind the first weight. */
static inline __attribute__((always_inline)) void take_words(const int bits, const widened *w, int64_t at,
                                                             int64_t count, words *to) {
    const uint8_t *weights = w->from->weights + w->column * w->from->row->bytes + at * bits / 8;
    for (int64_t l = 0; l < w->columns; l++, weights += w->from->row->bytes)
        for (int64_t i = 0; i < count; i++)
            memcpy((char *)&to[i] + l * (int64_t)sizeof(uint32_t), weights + i * (int64_t)sizeof(uint32_t),
                   sizeof(uint32_t));
}

/* Weights of a word of each row: rows of the result. */
static inline __attribute__((always_inline)) void widen_words(const int bits, const widened *w, words word,
                                                              int64_t count, char *to, int64_t to_row) {
    const int each = 32 / bits;
#pragma GCC unroll 16
    for (int i = 0; i < each; i++) {
        const ox_floats values = (weights_of(bits, true, word, i) - w->zeros) * w->scales;
        if (i < count && w->columns == LANES)
            OX_AT(loose_floats, to + i * to_row) = values;
        else if (i < count)
            memcpy(to + i * to_row, &values, (size_t)w->columns * sizeof(float));
    }
}

static inline __attribute__((always_inline)) void widen_lanes(const int bits, widened *w, int64_t count, char *to,
                                                              int64_t to_row) {
    const int64_t each = 32 / bits, block = w->from->row->block;
    words word[AHEAD] = {{0}};
    int64_t ahead = 0;
    for (int64_t i = 0, n = 0; i < count; i += each, n++) {
        if (n % AHEAD == 0) {
            ahead = (count - i + each - 1) / each;
            take_words(bits, w, i, ahead < AHEAD ? ahead : AHEAD, word);
        }
        if (i == 0 || (w->from->phase + i) % block == 0)
            take_block(bits, (w->from->phase + i) / block, w);
        widen_words(bits, w, word[n % AHEAD], count - i < each ? count - i : each, to + i * to_row, to_row);
    }
}

#define WIDEN(bits, ...)                                                                                               \
    static void widen_##bits(const ox_block_columns *from, int64_t count, char *to, int64_t to_row) {                  \
        const int64_t width = sizeof(float);                                                                           \
        for (int64_t j = 0; j < from->columns; j += LANES) {                                                           \
            widened w = {.from = from, .column = j};                                                                   \
            w.columns = from->columns - j < LANES ? from->columns - j : LANES;                                         \
            widen_lanes(bits, &w, count, to + j * width, to_row);                                                      \
        }                                                                                                              \
    }
EACH_BITS(WIDEN, )

static void widen(const ox_block_columns *from, int64_t count, char *to, int64_t to_row) {
    const int bits = from->row->bits;
    OX_ASSERT(count > 0 && from->columns > 0 && from->phase >= 0 && from->phase < from->row->block);
    OX_ASSERT(from->phase % (32 / bits) == 0 && to_row >= from->columns * (int64_t)sizeof(float));
    (bits == 2 ? widen_2 : bits == 4 ? widen_4 : widen_8)(from, count, to, to_row);
}

/* ---- The build ---------------------------------------------------------------------------------------------- */

#define DECLARE(name, machine, flags, build, runs, ...)                                                                \
    extern ox_block_size_fn ox_block_bytes_size_##name;                                                                \
    extern ox_block_lay_bytes_fn ox_block_lay_bytes_##name;                                                            \
    extern ox_block_dots_fn ox_block_bytes_dots_##name;                                                                \
    extern const ox_block_tiles ox_block_tiles_##name;
OX_DOTS(DECLARE, )
OX_SHARING(DECLARE, )

#define FIELDS                                                                                                         \
    .round = round_to_bytes, .greatest = greatest, .zeros = widen_zeros, .size = size_of_row, .lay = lay,              \
    .dots = dots_of, .widen = widen

extern ox_block_find_fn OX_VARIANT(ox_block_find);
const ox_block_loops *OX_VARIANT(ox_block_find)(void) {
    static const ox_block_loops loops = {FIELDS};
#define WITH_BYTES(name)                                                                                               \
    static const ox_block_loops with_bytes = {                                                                         \
        FIELDS, .bytes_size = ox_block_bytes_size_##name, .lay_bytes = ox_block_lay_bytes_##name,                      \
        .bytes_dots = ox_block_bytes_dots_##name, .tiles = &ox_block_tiles_##name};                                    \
    return &with_bytes;
#define CHOOSE(name, machine, flags, build, runs, ...)                                                                 \
    if (OX_BUILD_##build == OX_JOIN(OX_BUILD, OX_ISA) && runs) {                                                       \
        WITH_BYTES(name)                                                                                               \
    }
    OX_DOTS(CHOOSE, )
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? &loops : NULL;
}

#define SHARING(name, machine, flags, build, runs, ...)                                                                \
    extern ox_block_find_fn ox_block_find_##name;                                                                      \
    const ox_block_loops *ox_block_find_##name(void) {                                                                 \
        WITH_BYTES(name)                                                                                               \
    }
OX_SHARING(SHARING, )
#endif

#endif
