/* transpose_loops.c: transposes of matrices, one loop per element width. */
#include "intrinsics.h"
#include "lane_loops.h"
#include "moves.h"

#include <string.h>

#if !OX_SMALL /* devices move element by element */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define SHUFFLE(vector, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define UNROLL _Pragma("GCC unroll 16")
#define SHUFFLE(vector, a, b, ...) __builtin_shuffle(a, b, (vector){__VA_ARGS__})
#endif

enum {
    ROW = 16 /* bytes of a row of a block, which has as many rows as those have elements */
};

/* Vectors of one row: the lower and the upper halves of a and b, element by element in turn. */
#define ROW_LOAD(bits, from, below) (*(const loose_##bits *)(const void *)(from))
#define ROW_STORE(bits, to, row) (*(loose_##bits *)(void *)(to) = (row))
#define ROW_LOWER(bits, a, b) LOWER_##bits(a, b)
#define ROW_UPPER(bits, a, b) UPPER_##bits(a, b)
#define LOWER_8(a, b) SHUFFLE(vector_8, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER_8(a, b) SHUFFLE(vector_8, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOWER_16(a, b) SHUFFLE(vector_16, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER_16(a, b) SHUFFLE(vector_16, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOWER_32(a, b) SHUFFLE(vector_32, a, b, 0, 4, 1, 5)
#define UPPER_32(a, b) SHUFFLE(vector_32, a, b, 2, 6, 3, 7)
#define LOWER_64(a, b) SHUFFLE(vector_64, a, b, 0, 2)
#define UPPER_64(a, b) SHUFFLE(vector_64, a, b, 1, 3)

/* A block, or as many as a vector holds rows, one below the other: as many rounds of the same shuffles as there are
 * bits in the number of a row. */
#define TURN(bits, name, vector, OF)                                                                                   \
    static inline void name##_##bits(char *dst, int64_t dst_step, const char *src, int64_t src_step) {                 \
        enum {                                                                                                         \
            N = ROW / sizeof(any##bits)                                                                                \
        };                                                                                                             \
        vector row[N], next[N];                                                                                        \
        UNROLL for (int i = 0; i < N; i++) row[i] = OF##_LOAD(bits, src + i * src_step, src + (i + N) * src_step);     \
        UNROLL for (int round = 1; round < N; round *= 2) {                                                            \
            UNROLL for (int i = 0; i < N / 2; i++) {                                                                   \
                next[2 * i] = OF##_LOWER(bits, row[i], row[i + N / 2]);                                                \
                next[2 * i + 1] = OF##_UPPER(bits, row[i], row[i + N / 2]);                                            \
            }                                                                                                          \
            UNROLL for (int i = 0; i < N; i++) row[i] = next[i];                                                       \
        }                                                                                                              \
        UNROLL for (int i = 0; i < N; i++) OF##_STORE(bits, dst + i * dst_step, row[i]);                               \
    }
#if defined(OX_PAIR_LOAD)
enum {
    MOST = 2 * ROW /* bytes of a column of blocks */
};
#define BLOCKS(bits) TURN(bits, blocks, ox_row_pair, OX_PAIR)
#else
enum {
    MOST = ROW
};
#define BLOCKS(bits) TURN(bits, blocks, vector_##bits, ROW)
#endif
#define BLOCK(bits)                                                                                                    \
    typedef uint##bits##_t vector_##bits __attribute__((vector_size(ROW)));                                            \
    typedef uint##bits##_t loose_##bits __attribute__((vector_size(ROW), aligned(1), may_alias));                      \
    TURN(bits, block, vector_##bits, ROW)                                                                              \
    BLOCKS(bits)

/* A part of a matrix: blocks, and what is left of them. */
#define PART(bits)                                                                                                     \
    static void part_##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,                \
                            int64_t src_step) {                                                                        \
        const int64_t w = (int64_t)sizeof(any##bits), n = ROW / w, most = MOST / w;                                    \
        for (int64_t j = 0; j < outer; j += n) {                                                                       \
            int64_t i = 0;                                                                                             \
            for (; outer - j >= n && inner - i >= most; i += most)                                                     \
                blocks_##bits(dst + j * dst_step + i * w, dst_step, src + i * src_step + j * w, src_step);             \
            for (; most > n && outer - j >= n && inner - i >= n; i += n)                                               \
                block_##bits(dst + j * dst_step + i * w, dst_step, src + i * src_step + j * w, src_step);              \
            for (; i < inner; i++)                                                                                     \
                for (int64_t k = j; k < outer && k < j + n; k++)                                                       \
                    OX_AT(any##bits, dst + k * dst_step + i * w) = OX_GET(any##bits, src + i * src_step + k * w);      \
        }                                                                                                              \
    }

/* Few rows on one side, packed on the other as the channels of an image are: n times `count` elements. */
#define EACH_2(DO) DO(0) DO(1)
#define EACH_3(DO) EACH_2(DO) DO(2)
#define EACH_4(DO) EACH_3(DO) DO(3)
#define ROW(c) one *restrict row_##c = (one *)(void *)((char *)rows + (c)*step);
#define TAKE_PACKED(c) const one value_##c = packed[i + (c)];
#define GIVE_PACKED(c) packed[i + (c)] = value_##c;
#define TAKE_ROW(c) const one value_##c = row_##c[k];
#define GIVE_ROW(c) row_##c[k] = value_##c;
#define FEW(bits, count)                                                                                               \
    static void split_##bits##_##count(int64_t n, void *rows, int64_t step, const void *from) {                        \
        typedef any##bits one;                                                                                         \
        const one *restrict packed = from;                                                                             \
        EACH_##count(ROW) for (int64_t k = 0, i = 0; k < n; k++, i += (count)) {                                       \
            EACH_##count(TAKE_PACKED) EACH_##count(GIVE_ROW)                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void join_##bits##_##count(int64_t n, void *to, const void *rows, int64_t step) {                           \
        typedef any##bits one;                                                                                         \
        one *restrict packed = to;                                                                                     \
        EACH_##count(ROW) for (int64_t k = 0, i = 0; k < n; k++, i += (count)) {                                       \
            EACH_##count(TAKE_ROW) EACH_##count(GIVE_PACKED)                                                           \
        }                                                                                                              \
    }
#define FEW_CASE(bits, count)                                                                                          \
    if (outer == (count) && src_step == (count)*w) {                                                                   \
        split_##bits##_##count(inner, dst, dst_step, src);                                                             \
        return;                                                                                                        \
    }                                                                                                                  \
    if (inner == (count) && dst_step == (count)*w) {                                                                   \
        join_##bits##_##count(outer, dst, src, src_step);                                                              \
        return;                                                                                                        \
    }

/* A matrix is copied in squares of one cache line each way, and these in bands that lie in few pages. Large matrices
 * are stored past the caches, whole lines at a time: square by square, or, where rows do not begin at lines, RUN bytes
 * of ROWS rows; smaller ones of these, which the last cache keeps, go down TALL rows block by block, so that what is
 * stored makes few streams. Lines that are a multiple of NEAR bytes apart share few places of a cache: such squares go
 * by way of a small matrix, so that all of a line is read and written at once. */
enum {
    BAND = 512,
    WIDE_BAND = 2048,
    LARGE = 2 << 20,
    KEPT = 8 << 20,
    TALL = 512,
    RUN = 512,
    ROWS = 64,
    NEAR = 512
};

#define TRANSPOSE(bits)                                                                                                \
    BLOCK(bits)                                                                                                        \
    PART(bits)                                                                                                         \
    FEW(bits, 2)                                                                                                       \
    FEW(bits, 3)                                                                                                       \
    FEW(bits, 4)                                                                                                       \
    static void square_##bits(char *dst, int64_t dst_step, const char *src, int64_t src_step, bool past) {             \
        const int w = (int)sizeof(any##bits), n = ROW / w, most = MOST / w, side = OX_LINE / w;                        \
        _Alignas(OX_LINE) char lines[OX_LINE / sizeof(any##bits)][OX_LINE];                                            \
        for (int i = 0; i < side; i += most)                                                                           \
            for (int j = 0; j < side; j += n)                                                                          \
                blocks_##bits(lines[j] + i * w, OX_LINE, src + i * src_step + j * w, src_step);                        \
        for (int j = 0; j < side; j++)                                                                                 \
            if (past)                                                                                                  \
                ox_stream_lines(dst + j * dst_step, lines[j], OX_LINE);                                                \
            else                                                                                                       \
                memcpy(dst + j * dst_step, lines[j], OX_LINE);                                                         \
    }                                                                                                                  \
    static void stream_##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,              \
                              int64_t src_step) {                                                                      \
        const int64_t w = (int64_t)sizeof(any##bits), side = OX_LINE / w, run = RUN / w;                               \
        _Alignas(OX_LINE) char rows[ROWS][RUN];                                                                        \
        for (int64_t first = 0; first < inner; first += run)                                                           \
            for (int64_t j = 0; j < outer; j += ROWS) {                                                                \
                const int64_t length = LESS_OF(inner - first, run), count = LESS_OF(outer - j, ROWS);                  \
                const char *from = src + first * src_step + j * w;                                                     \
                char *to = dst + j * dst_step + first * w;                                                             \
                for (int64_t i = 0; i < length; i += side) {                                                           \
                    const int64_t some = LESS_OF(length - i, side);                                                    \
                    ox_ask_rows((uintptr_t)(from + i * src_step) + (uintptr_t)(ROWS * w), src_step, some, ROWS * w);   \
                    part_##bits(some, count, rows[0] + i * w, RUN, from + i * src_step, src_step);                     \
                }                                                                                                      \
                for (int64_t k = 0; k < count; k++)                                                                    \
                    OX_VARIANT(ox_stream)(to + k * dst_step, rows[k], (size_t)(length * w));                           \
            }                                                                                                          \
    }                                                                                                                  \
    static void transpose_any##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,        \
                                    int64_t src_step, size_t whole) {                                                  \
        const int64_t w = (int64_t)sizeof(any##bits), side = OX_LINE / w;                                              \
        const bool past = whole >= LARGE, at_lines = (uintptr_t)dst % OX_LINE == 0 && dst_step % OX_LINE == 0;         \
        const bool near = past || dst_step % NEAR == 0;                                                                \
        const int64_t band = (past ? WIDE_BAND : BAND) / w;                                                            \
        FEW_CASE(bits, 2)                                                                                              \
        FEW_CASE(bits, 3)                                                                                              \
        FEW_CASE(bits, 4)                                                                                              \
        if (past && whole < KEPT && !at_lines && src_step % NEAR != 0) {                                               \
            for (int64_t i = 0; i < inner; i += TALL)                                                                  \
                part_##bits(LESS_OF(inner - i, TALL), outer, dst + i * w, dst_step, src + i * src_step, src_step);     \
            return;                                                                                                    \
        }                                                                                                              \
        if (past && !at_lines) {                                                                                       \
            stream_##bits(inner, outer, dst, dst_step, src, src_step);                                                 \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t first = 0; first < outer; first += band)                                                          \
            for (int64_t i = 0; i < inner; i += side)                                                                  \
                for (int64_t j = first; j < outer && j < first + band; j += side) {                                    \
                    char *to = dst + j * dst_step + i * w;                                                             \
                    const char *from = src + i * src_step + j * w;                                                     \
                    const int64_t rows = LESS_OF(inner - i, side), columns = LESS_OF(outer - j, side);                 \
                    if (past) {                                                                                        \
                        ox_ask_rows((uintptr_t)from + (uintptr_t)(side * src_step), src_step, side, OX_LINE);          \
                        ox_ask_rows((uintptr_t)from + 4 * OX_LINE, src_step, side, OX_LINE);                           \
                    }                                                                                                  \
                    if (near && rows == side && columns == side)                                                       \
                        square_##bits(to, dst_step, from, src_step, past);                                             \
                    else                                                                                               \
                        part_##bits(rows, columns, to, dst_step, from, src_step);                                      \
                }                                                                                                      \
    }
TRANSPOSE(8)
TRANSPOSE(16)
TRANSPOSE(32)
TRANSPOSE(64)

/* Elements of 16 bytes are vectors by themselves. */
static void transpose_any128(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,
                             int64_t src_step, size_t whole) {
    (void)whole;
    for (int64_t j = 0; j < outer; j++)
        for (int64_t i = 0; i < inner; i++)
            OX_AT(any128, dst + j * dst_step + i * ROW) = OX_GET(any128, src + i * src_step + j * ROW);
}

ox_transpose_fn *OX_VARIANT(ox_transpose_for)(size_t width) {
    return OX_BY_WIDTH(width, transpose);
}
#endif
