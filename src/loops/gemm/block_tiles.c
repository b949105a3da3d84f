/* block_tiles.c: tiles of products of bytes with weights in blocks. Built for processors that add four products of
 * bytes in one instruction.
 *
 * A panel has a vector for every four weights of its lanes, and behind them, for each block, the scales and the zero
 * points of all lanes as floats. Of each block, a tile has 16 bytes of each row in turn, then the scales of all rows,
 * and what their bytes add up to. Four weights are those whose bits lie in four bytes of a word of the file at the same
 * place; bytes of A follow them. */
#include "asserts.h"
#include "loops/block_loops.h"
#include "loops/lane_loops.h"

#if defined(OX_DOT_ISA) && !OX_SMALL

typedef int32_t integers __attribute__((vector_size(OX_WIDEST)));
typedef ox_floats loose_floats __attribute__((aligned(1), may_alias));
typedef ox_words loose_words __attribute__((aligned(1), may_alias));

enum {
    LANES = OX_WIDEST / 4,
    CHUNK = 16 /* weights that are multiplied together; a block is a multiple of it */
};

static size_t a_size(const ox_block_row *row) {
    return (size_t)row->blocks * ((size_t)row->block + 2 * sizeof(float));
}

static size_t panel_size(const ox_block_row *row) {
    return (size_t)row->blocks * ((size_t)row->block + 2 * sizeof(float)) * LANES;
}

/* ---- Laying out ------------------------------------------------------------------------------------------------ */

/* The bytes of a chunk in the order of the weights. */
static inline ox_bytes_16 in_order(int bits, ox_bytes_16 a) {
    if (bits == 2)
        return OX_SHUFFLE(bytes, 16, a, a, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    if (bits == 4)
        return OX_SHUFFLE(bytes, 16, a, a, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    return a;
}

static void lay_row(const ox_block_row *row, const int8_t *a, const float *scales, int i, int count, char *tile) {
    OX_ASSERT(i >= 0 && i < count && count <= OX_BLOCK_TILE && row->block % CHUNK == 0);
    int64_t k = 0;
    for (int64_t b = 0; b < row->blocks; b++) {
        int32_t total = 0;
        for (int64_t end = k + row->block; k < end; k += CHUNK, tile += count * CHUNK) {
            ox_bytes_16 bytes = {0};
            if (row->k - k >= CHUNK)
                memcpy(&bytes, a + k, CHUNK);
            else if (row->k > k)
                memcpy(&bytes, a + k, (size_t)(row->k - k));
            int8_t values[CHUNK];
            memcpy(values, &bytes, CHUNK);
            for (int j = 0; j < CHUNK; j++)
                total += values[j];
            bytes = in_order(row->bits, bytes);
            memcpy(tile + i * CHUNK, &bytes, CHUNK);
        }
        const float sum = (float)total;
        memcpy(tile + i * (int)sizeof(float), scales + b, sizeof(float));
        memcpy(tile + (count + i) * (int)sizeof(float), &sum, sizeof sum);
        tile += 2 * count * (int)sizeof(float);
    }
}

/* Writes each of `count` words of `columns` rows, which lie `apart` bytes apart, as lanes of vectors: one for every
 * `bits` of a byte, vectors of words being `step` bytes apart. */
static inline __attribute__((always_inline)) void spread(const int bits, const char *rows, int64_t apart,
                                                         int64_t columns, int64_t count, char *to, int64_t step) {
    const int parts = 8 / bits;
    const ox_words mask = (ox_words){0} + (bits == 2 ? 0x03030303U : bits == 4 ? 0x0f0f0f0fU : 0xffffffffU);
    int64_t i = 0;
    for (; columns == LANES && i + 4 <= count; i += 4) {
        ox_words words[4];
        if (i % (OX_LINE / 4) == 0) /* lines of the next panel: a processor does not follow so many rows by itself */
            for (int64_t l = LANES; l < 2 * LANES; l++)
                __builtin_prefetch(rows + l * apart + i * 4, 0, 2);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            words[j] = ox_load_apart(rows + j * apart + i * 4, 4 * apart);
        ox_turn_words(words);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++, to += step)
#pragma GCC unroll 4
            for (int p = 0; p < parts; p++)
                OX_AT(loose_words, to + p * OX_WIDEST) = words[j] >> (uint32_t)(bits * p) & mask;
    }
    for (; i < count; i++, to += step) {
        ox_words lanes = {0};
        for (int64_t l = 0; l < columns; l++) {
            uint32_t word;
            memcpy(&word, rows + l * apart + i * 4, sizeof word);
            lanes[l] = word;
        }
        for (int p = 0; p < parts; p++)
            OX_AT(loose_words, to + p * OX_WIDEST) = lanes >> (uint32_t)(bits * p) & mask;
    }
}

static void unpack(const ox_block_columns *from, char *panel) {
    const ox_block_row *row = from->row;
    const char *weights = (const char *)from->weights, *scales = (const char *)from->scales;
    const int64_t words = row->bytes / 4, columns = from->columns, width = sizeof(float);
    char *behind = panel + row->blocks * row->block * LANES;
    OX_ASSERT(columns > 0 && columns <= LANES && from->phase == 0 && row->block % CHUNK == 0);
    if (row->bits == 2)
        spread(2, weights, row->bytes, columns, words, panel, 4 * OX_WIDEST);
    else if (row->bits == 4)
        spread(4, weights, row->bytes, columns, words, panel, 2 * OX_WIDEST);
    else
        spread(8, weights, row->bytes, columns, words, panel, OX_WIDEST);
    spread(8, scales, from->scales_apart * width, columns, row->blocks, behind, 2 * OX_WIDEST);
    if (from->zeros)
        spread(8, (const char *)from->zeros, from->zeros_apart * width, columns, row->blocks, behind + OX_WIDEST,
               2 * OX_WIDEST);
    for (int64_t b = 0; b < row->blocks && !from->zeros; b++)
        OX_AT(loose_floats, behind + (2 * b + 1) * OX_WIDEST) = (ox_floats){0} + (float)(1 << (row->bits - 1));
}

/* ---- Multiplying ----------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void add_chunk(const int count, const char *a, const char *panel,
                                                            ox_dot_lanes *dots) {
    ox_dot_lanes w[CHUNK / 4];
#pragma GCC unroll 4
    for (int p = 0; p < CHUNK / 4; p++)
        w[p] = (ox_dot_lanes)OX_GET(loose_words, panel + p * OX_WIDEST);
#pragma GCC unroll 8
    for (int i = 0; i < count; i++)
#pragma GCC unroll 4
        for (int p = 0; p < CHUNK / 4; p++) {
            uint32_t four;
            memcpy(&four, a + i * CHUNK + p * 4, sizeof four);
            dots[i] = ox_dot(dots[i], w[p], (ox_dot_lanes){0} + four);
        }
}

static inline __attribute__((always_inline)) void multiply_rows(const int count, const ox_block_row *row, const char *a,
                                                                const char *panel, ox_floats *totals) {
    const char *behind = panel + row->blocks * row->block * LANES;
    for (int64_t b = 0; b < row->blocks; b++, behind += 2 * OX_WIDEST) {
        ox_dot_lanes dots[OX_BLOCK_TILE] = {{0}};
        for (int64_t k = 0; k < row->block; k += CHUNK, a += count * CHUNK, panel += CHUNK / 4 * OX_WIDEST)
            add_chunk(count, a, panel, dots);
        const ox_floats scales = OX_GET(loose_floats, behind), zeros = OX_GET(loose_floats, behind + OX_WIDEST);
#pragma GCC unroll 8
        for (int i = 0; i < count; i++) {
            float scale, sum;
            memcpy(&scale, a + i * 4, sizeof scale);
            memcpy(&sum, a + (count + i) * 4, sizeof sum);
            const ox_floats products = __builtin_convertvector((integers)dots[i], ox_floats) - zeros * sum;
            totals[i] += products * scale * scales; /* both scales together may overflow, and underflow */
        }
        a += 2 * count * 4;
    }
}

#define MULTIPLY(rows)                                                                                                 \
    static void multiply_##rows(const ox_block_tile *t, char *to, int64_t to_row) {                                    \
        ox_floats totals[OX_BLOCK_TILE] = {{0}};                                                                       \
        multiply_rows(rows, t->row, t->a, t->panel, totals);                                                           \
        for (int i = 0; i < (rows); i++)                                                                               \
            if (t->columns == LANES)                                                                                   \
                OX_AT(loose_floats, to + i * to_row) = totals[i];                                                      \
            else                                                                                                       \
                memcpy(to + i * to_row, &totals[i], (size_t)t->columns * sizeof(float));                               \
    }
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(4)
MULTIPLY(8)

static void multiply(const ox_block_tile *t, char *to, int64_t to_row) {
    OX_ASSERT(t->columns > 0 && t->columns <= LANES && t->row->block % CHUNK == 0);
    OX_ASSERT(t->count == 1 || t->count == 2 || t->count == 4 || t->count == OX_BLOCK_TILE);
    (t->count == OX_BLOCK_TILE ? multiply_8
     : t->count == 4           ? multiply_4
     : t->count == 2           ? multiply_2
                               : multiply_1)(t, to, to_row);
}

extern const ox_block_tiles OX_JOIN(ox_block_tiles, OX_DOT_ISA);
const ox_block_tiles OX_JOIN(ox_block_tiles, OX_DOT_ISA) = {LANES, a_size, panel_size, lay_row, unpack, multiply};

#endif
