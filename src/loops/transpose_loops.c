/* transpose_loops.c: transposes of matrices, one loop per element width. */
#include "asserts.h"
#include "loops/simd/intrinsics.h"
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

/* Where what is left of `count` elements begins when some were moved: whole blocks may move some of them once more. */
static inline int64_t rest_of(int64_t count, int64_t moved, int64_t block) {
    return moved == count || count < block ? moved : LESS_OF(moved, count - block);
}

/* A part of a matrix: blocks, of which the last ones overlap those before them; less than a block goes by elements. */
#define PART(bits)                                                                                                     \
    static void part_##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,                \
                            int64_t src_step) {                                                                        \
        const int64_t w = (int64_t)sizeof(any##bits), n = ROW / w, most = MOST / w;                                    \
        if (inner < n || outer < n) {                                                                                  \
            for (int64_t j = 0; j < outer; j++)                                                                        \
                for (int64_t i = 0; i < inner; i++)                                                                    \
                    OX_AT(any##bits, dst + j * dst_step + i * w) = OX_GET(any##bits, src + i * src_step + j * w);      \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t next = 0; next < outer; next += n) {                                                              \
            const int64_t j = LESS_OF(next, outer - n);                                                                \
            char *to = dst + j * dst_step;                                                                             \
            const char *from = src + j * w;                                                                            \
            int64_t i = 0;                                                                                             \
            for (; inner - i >= most; i += most)                                                                       \
                blocks_##bits(to + i * w, dst_step, from + i * src_step, src_step);                                    \
            for (; i < inner; i += n) {                                                                                \
                const int64_t k = LESS_OF(i, inner - n);                                                               \
                block_##bits(to + k * w, dst_step, from + k * src_step, src_step);                                     \
            }                                                                                                          \
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

/* Three algorithms, by the size of the matrix and the distance between its rows:
 * - A matrix that fits the last cache is copied strip by strip. A strip is one cache line wide and TALL rows high: one
 *   stream of stores for each element of the line. Meanwhile the next two lines of each row are prefetched; the strips
 *   of two lines share that work, each for a part of the rows (`odd` columns of the two lines are copied before).
 * - Rows of the result that are a multiple of NEAR bytes times the size of an element apart share too few places of a
 *   cache: fewer of them are written at a time. If the rows that are read share places, too, squares are copied by way
 *   of a small matrix.
 * - A matrix that is too large for the last cache is stored past the caches, line by line. Lines a multiple of CROWDED
 *   bytes apart lie in few parts of the memory and take two to three times as long: there, rows of the result get DEEP
 *   bytes at a time. */
enum {
    SMALL = 16 << 10, /* bytes of a matrix that needs no strips */
    TALL = 512,
    NEAR = 1024,
    SHARED = 512, /* bytes between rows that share places when they are read */
    BAND = 2048,  /* bytes of each row that are gone down together, so that they lie in few pages */
    HELD = 512,   /* rows of the result of which the end of a line is held until the rest of it comes */
    CROWDED = 512,
    DEEP = 8 * OX_LINE,
    PAIR = 2 * OX_LINE,
    LONG = 4 * PAIR /* bytes of a row that is mostly whole lines, wherever it begins */
};

/* Stores past the caches, at an address where a line need not begin, what follows the first line of `from`, which holds
 * what was before it unless a row begins. The end of the last line is left for the next call, or for end_held. */
static inline void stream_behind(char *to, const char *from, size_t bytes, bool begins) {
    const size_t past = (uintptr_t)to % OX_LINE, first = begins && past != 0 ? OX_LINE : 0;
    if (first)
        memcpy(to, from + OX_LINE, OX_LINE - past);
    ox_stream_lines(to - past + first, from + OX_LINE - past + first, bytes - first);
}

/* Stores the ends of some rows, of each of which the last line was held. */
static void end_held(int64_t rows, char *dst, int64_t step, const char *held, int64_t held_step) {
    for (int64_t r = 0; r < rows; r++) {
        const size_t past = (uintptr_t)(dst + r * step) % OX_LINE;
        memcpy(dst + r * step - past, held + r * held_step + OX_LINE - past, past);
    }
}

#define TRANSPOSE(bits)                                                                                                \
    BLOCK(bits)                                                                                                        \
    PART(bits)                                                                                                         \
    FEW(bits, 2)                                                                                                       \
    FEW(bits, 3)                                                                                                       \
    FEW(bits, 4)                                                                                                       \
    static void rest_##bits(int64_t inner, int64_t rows, int64_t outer, int64_t columns, char *dst, int64_t dst_step,  \
                            const char *src, int64_t src_step) {                                                       \
        const int64_t w = (int64_t)sizeof(any##bits), i = rest_of(inner, rows, ROW / w),                               \
                      j = rest_of(outer, columns, ROW / w);                                                            \
        if (i < inner)                                                                                                 \
            part_##bits(inner - i, columns, dst + i * w, dst_step, src + i * src_step, src_step);                      \
        for (int64_t k = 0; k < inner && j < outer; k += TALL)                                                         \
            part_##bits(LESS_OF(inner - k, TALL), outer - j, dst + j * dst_step + k * w, dst_step,                     \
                        src + j * w + k * src_step, src_step);                                                         \
    }                                                                                                                  \
    static inline void square_##bits(char *dst, int64_t dst_step, const char *src, int64_t src_step) {                 \
        const int w = (int)sizeof(any##bits), n = ROW / w, most = MOST / w, side = OX_LINE / w;                        \
        for (int i = 0; i < side; i += most)                                                                           \
            for (int j = 0; j < side; j += n)                                                                          \
                blocks_##bits(dst + j * dst_step + i * w, dst_step, src + i * src_step + j * w, src_step);             \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void down_##bits(int64_t rows, int columns, bool squares, char *dst,  \
                                                                  int64_t dst_step, const char *src, int64_t src_step, \
                                                                  uintptr_t next) {                                    \
        const int w = (int)sizeof(any##bits), n = ROW / w, side = OX_LINE / w, step = squares ? side : MOST / w;       \
        const int share = step * columns / (2 * side);                                                                 \
        _Alignas(OX_LINE) char lines[OX_LINE / sizeof(any##bits)][OX_LINE];                                            \
        for (int64_t i = 0; i < rows; i += step) {                                                                     \
            char *to = dst + i * w;                                                                                    \
            const char *from = src + i * src_step;                                                                     \
            ox_prefetch_rows(next + (uintptr_t)(i / step * share * src_step), src_step, share, PAIR);                  \
            if (squares) {                                                                                             \
                square_##bits(lines[0], OX_LINE, from, src_step);                                                      \
                for (int j = 0; j < side; j++)                                                                         \
                    memcpy(to + j * dst_step, lines[j], OX_LINE);                                                      \
            } else {                                                                                                   \
                UNROLL for (int j = 0; j < columns; j += n)                                                            \
                    blocks_##bits(to + j * dst_step, dst_step, from + j * w, src_step);                                \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void keep_##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,                \
                            int64_t src_step) {                                                                        \
        const int w = (int)sizeof(any##bits), n = ROW / w, most = MOST / w, side = OX_LINE / w;                        \
        const bool near = dst_step % (NEAR * w) == 0, squares = near && src_step % SHARED == 0;                        \
        const int step = squares ? side : most, some = near && !squares ? n : side;                                    \
        const int64_t rows = inner / step * step, columns = outer / side * side;                                       \
        for (int64_t first = 0; first < rows; first += TALL)                                                           \
            for (int64_t j = 0; j < columns; j += some) {                                                              \
                const int64_t count = LESS_OF(rows - first, TALL), odd = j % (2 * side);                               \
                const char *from = src + first * src_step + j * w;                                                     \
                const uintptr_t next =                                                                                 \
                    (uintptr_t)from + (uintptr_t)(odd * TALL / (2 * side) * src_step - odd * w + PAIR);                \
                char *to = dst + j * dst_step + first * w;                                                             \
                if (squares)                                                                                           \
                    down_##bits(count, side, true, to, dst_step, from, src_step, next);                                \
                else if (near)                                                                                         \
                    down_##bits(count, n, false, to, dst_step, from, src_step, next);                                  \
                else                                                                                                   \
                    down_##bits(count, side, false, to, dst_step, from, src_step, next);                               \
            }                                                                                                          \
        rest_##bits(inner, rows, outer, columns, dst, dst_step, src, src_step);                                        \
    }                                                                                                                  \
    static void stream_##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,              \
                              int64_t src_step, bool at_lines) {                                                       \
        const int w = (int)sizeof(any##bits), side = OX_LINE / w;                                                      \
        const int64_t rows = inner / side * side, columns = outer / side * side;                                       \
        const int64_t band = at_lines ? BAND / w : HELD;                                                               \
        _Alignas(OX_LINE) char held[HELD * PAIR];                                                                      \
        for (int64_t first = 0; first < columns; first += band) {                                                      \
            const int64_t end = LESS_OF(first + band, columns);                                                        \
            for (int64_t i = 0; i < rows; i += side)                                                                   \
                for (int64_t j = first; j < end; j += side) {                                                          \
                    const char *from = src + i * src_step + j * w;                                                     \
                    char *to = dst + j * dst_step + i * w, *lines = held + (j - first) * PAIR;                         \
                    ox_prefetch_rows((uintptr_t)from + (uintptr_t)(side * src_step), src_step, side, OX_LINE);         \
                    ox_prefetch_rows((uintptr_t)from + 4 * OX_LINE, src_step, side, OX_LINE);                          \
                    if (at_lines) {                                                                                    \
                        square_##bits(held, OX_LINE, from, src_step);                                                  \
                        for (int c = 0; c < side; c++)                                                                 \
                            ox_stream_lines(to + c * dst_step, held + c * OX_LINE, OX_LINE);                           \
                    } else {                                                                                           \
                        square_##bits(lines + OX_LINE, PAIR, from, src_step);                                          \
                        for (int c = 0; c < side; c++, lines += PAIR) {                                                \
                            stream_behind(to + c * dst_step, lines, OX_LINE, i == 0);                                  \
                            memcpy(lines, lines + OX_LINE, OX_LINE);                                                   \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
            if (!at_lines && rows > 0)                                                                                 \
                end_held(end - first, dst + first * dst_step + rows * w, dst_step, held, PAIR);                        \
        }                                                                                                              \
        rest_##bits(inner, rows, outer, columns, dst, dst_step, src, src_step);                                        \
    }                                                                                                                  \
    static void stream_deep_##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,         \
                                   int64_t src_step) {                                                                 \
        const int w = (int)sizeof(any##bits), side = OX_LINE / w;                                                      \
        const int64_t rows = inner / side * side, columns = outer / side * side;                                       \
        _Alignas(OX_LINE) char held[HELD][OX_LINE], lines[OX_LINE / sizeof(any##bits)][OX_LINE + DEEP];                \
        for (int64_t first = 0; first < columns; first += HELD) {                                                      \
            const int64_t end = LESS_OF(first + HELD, columns);                                                        \
            for (int64_t top = 0; top < rows; top += DEEP / w)                                                         \
                for (int64_t j = first; j < end; j += side) {                                                          \
                    const int64_t count = LESS_OF(rows - top, DEEP / w);                                               \
                    const char *from = src + top * src_step + j * w;                                                   \
                    char *to = dst + j * dst_step + top * w;                                                           \
                    for (int64_t i = 0; i < count; i += side) {                                                        \
                        ox_prefetch_rows((uintptr_t)from + (uintptr_t)(i * src_step + OX_LINE), src_step, side,        \
                                         OX_LINE);                                                                     \
                        square_##bits(lines[0] + OX_LINE + i * w, sizeof lines[0], from + i * src_step, src_step);     \
                    }                                                                                                  \
                    for (int c = 0; c < side; c++) {                                                                   \
                        memcpy(lines[c], held[j - first + c], OX_LINE);                                                \
                        stream_behind(to + c * dst_step, lines[c], (size_t)(count * w), top == 0);                     \
                        memcpy(held[j - first + c], lines[c] + count * w, OX_LINE);                                    \
                    }                                                                                                  \
                }                                                                                                      \
            if (rows > 0)                                                                                              \
                end_held(end - first, dst + first * dst_step + rows * w, dst_step, held[0], OX_LINE);                  \
        }                                                                                                              \
        rest_##bits(inner, rows, outer, columns, dst, dst_step, src, src_step);                                        \
    }                                                                                                                  \
    static void transpose_any##bits(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,        \
                                    int64_t src_step, size_t whole) {                                                  \
        const int64_t w = (int64_t)sizeof(any##bits);                                                                  \
        const bool at_lines = (uintptr_t)dst % OX_LINE == 0 && dst_step % OX_LINE == 0;                                \
        OX_ASSERT(inner >= 0 && outer >= 0 && (outer <= 1 || dst_step >= inner * w));                                  \
        FEW_CASE(bits, 2)                                                                                              \
        FEW_CASE(bits, 3)                                                                                              \
        FEW_CASE(bits, 4)                                                                                              \
        if (inner * outer * w <= SMALL)                                                                                \
            part_##bits(inner, outer, dst, dst_step, src, src_step);                                                   \
        else if (whole < OX_STREAM_RESULT_BYTES || (!at_lines && inner * w < LONG))                                    \
            keep_##bits(inner, outer, dst, dst_step, src, src_step);                                                   \
        else if (dst_step % CROWDED == 0)                                                                              \
            stream_deep_##bits(inner, outer, dst, dst_step, src, src_step);                                            \
        else                                                                                                           \
            stream_##bits(inner, outer, dst, dst_step, src, src_step, at_lines);                                       \
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
