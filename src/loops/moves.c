/* moves.c: strided copies, one loop per element width. */
#include "copy_run.h"
#include "loops/simd/intrinsics.h"
#include "lane_loops.h"
#include "moves.h"

#include <string.h>

#if OX_SMALL
/* Copies n elements; one loop per element width. */
#define MOVE(type)                                                                                                     \
    static void move_##type(int64_t n, char *dst, int64_t dst_step, const char *src, int64_t src_step) {               \
        for (size_t i = (size_t)n; i; i--, dst += dst_step, src += src_step)                                           \
            *(type *)(void *)dst = *(const type *)(const void *)src;                                                   \
    }
#else
/* Copies n elements; one loop per element width, one body per pair of step kinds. */
#define MOVE(type)                                                                                                     \
    static void move_##type(int64_t n, char *dst, int64_t dst_step, const char *src, int64_t src_step) {               \
        const int64_t w = (int64_t)sizeof(type);                                                                       \
        OX_ASSERT(n >= 0 && (n <= 1 || dst_step >= w || -dst_step >= w));                                              \
        if (dst_step == w && src_step == 0) {                                                                          \
            const type value = *(const type *)(const void *)src;                                                       \
            type *to = (type *)(void *)dst;                                                                            \
            for (int64_t i = 0; i < n; i++)                                                                            \
                to[i] = value;                                                                                         \
        } else if (dst_step == w) {                                                                                    \
            type *restrict to = (type *)(void *)dst;                                                                   \
            for (int64_t i = 0; i < n; i++)                                                                            \
                to[i] = *(const type *)(const void *)(src + i * src_step);                                             \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(type *)(void *)(dst + i * dst_step) = *(const type *)(const void *)(src + i * src_step);             \
        }                                                                                                              \
    }
#endif
MOVE(any8)
MOVE(any16)
MOVE(any32)
MOVE(any64)
MOVE(any128)

ox_move_fn *OX_VARIANT(ox_move_for)(size_t width) {
    return OX_BY_WIDTH(width, move);
}

/* The first and the last line overlap with the others. Long rows that memcpy gives to the processor's instruction for
 * copies take up to thirteen times as long, by how their addresses differ, and rows that lie in no cache 1.7 times as
 * long where a line is loaded at once (Zen 4). */
void OX_VARIANT(ox_copy_bytes)(void *dst, const void *src, size_t size) {
    enum {
        SHORT = 512, /* memcpy is as fast up to here */
        HALF = OX_LINE / 2
    };
    if (OX_SMALL || size < SHORT) {
        memcpy(dst, src, size);
        return;
    }
    char *to = dst;
    const char *from = src;
    memcpy(to, from, OX_LINE);
    for (size_t at = OX_LINE - (uintptr_t)to % OX_LINE; at + OX_LINE <= size; at += OX_LINE) {
        memcpy(to + at, from + at, HALF);
        memcpy(to + at + HALF, from + at + HALF, HALF);
    }
    memcpy(to + size - OX_LINE, from + size - OX_LINE, OX_LINE);
}

#if !OX_SMALL /* devices move element by element */
/* Rows of one element that repeats, one after another: what broadcasting makes most. */
#define REPEAT(type, count)                                                                                            \
    for (int64_t j = 0; j < outer; j++, to += (count)) {                                                               \
        const type value = *(const type *)(const void *)(src + j * outer_step);                                        \
        for (int k = 0; k < (count); k++)                                                                              \
            to[k] = value;                                                                                             \
    }

/* The bytes of a short row, in pieces as wide as they allow; the last two overlap. */
#define COPY_BY(type)                                                                                                  \
    if (bytes >= (int64_t)sizeof(type)) {                                                                              \
        for (int64_t i = 0; i + (int64_t)sizeof(type) <= bytes; i += (int64_t)sizeof(type))                            \
            memcpy(to + i, from + i, sizeof(type));                                                                    \
        memcpy(to + bytes - sizeof(type), from + bytes - sizeof(type), sizeof(type));                                  \
        return;                                                                                                        \
    }
typedef struct line {
    char bytes[OX_LINE];
} line;

static inline void copy_short(char *to, const char *from, int64_t bytes) {
    COPY_BY(line)
    COPY_BY(any128)
    COPY_BY(any64)
    COPY_BY(any32)
    COPY_BY(any16)
    *to = *from;
}

static void copy_rows(int64_t bytes, int64_t outer, char *dst, int64_t dst_step, const char *src, int64_t src_step) {
    for (int64_t j = 0; j < outer; j++)
        copy_short(dst + j * dst_step, src + j * src_step, bytes);
}

/* The widest vectors; their bytes, wherever they lie; and none of a cache line followed by all of it. Wider ones would
 * be put together element by element. */
typedef uint8_t wide_any8 __attribute__((vector_size(OX_WIDEST)));
typedef uint16_t wide_any16 __attribute__((vector_size(OX_WIDEST)));
typedef uint32_t wide_any32 __attribute__((vector_size(OX_WIDEST)));
typedef uint64_t wide_any64 __attribute__((vector_size(OX_WIDEST)));
typedef uint64_t wide_bytes __attribute__((vector_size(OX_WIDEST), aligned(1), may_alias));
static const uint64_t none_and_all[2 * OX_LINE / 8] = {
    [OX_LINE / 8] = UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

static inline void fill_line(char *to, wide_any64 all) {
    for (size_t at = 0; at < OX_LINE; at += OX_WIDEST)
        *(wide_bytes *)(void *)(to + at) = all;
}

/* The same, but the first bytes are others. */
static inline void fill_end_and_line(char *to, wide_any64 before, size_t first, wide_any64 all) {
    const char *bits = (const char *)none_and_all + OX_LINE - first;
    for (size_t at = 0; at < OX_LINE; at += OX_WIDEST) {
        const wide_any64 own = *(const wide_bytes *)(const void *)(bits + at);
        *(wide_bytes *)(void *)(to + at) = (before & ~own) | (all & own);
    }
}

/* Packed elements of `width` bytes, each `count` times, which is less than a line, in whole vectors. Returns how many
 * elements that were. */
static int64_t repeat_by_vectors(int64_t width, int64_t count, int64_t n, char *to, const char *from) {
#ifdef OX_PICKED
    enum {
        BYTES = OX_PICKED * sizeof(uint32_t),
        MOST = OX_LINE / sizeof(uint32_t),
        ONE = 1 << 16
    };
    if (width != 4 && width != 8)
        return 0;
    uint32_t at[MOST][OX_PICKED];
    const uint32_t pair = width == 8, share = ONE / (uint32_t)count + 1; /* of so small numbers, a division */
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = 0; i < OX_PICKED; i++) {
            const uint32_t half = k * OX_PICKED + i;
            at[k][i] = (half >> pair) * share / ONE << pair | (half & pair);
        }
    const int64_t whole = n & -(BYTES / width);
    for (int64_t i = 0; i < whole * width; i += BYTES)
        for (int64_t k = 0; k < count; k++, to += BYTES)
            ox_pick(to, from + i, at[k]);
    return whole;
#else
    (void)width, (void)count, (void)n, (void)to, (void)from;
    return 0;
#endif
}

/* Rows of at least a cache line, each of one element that repeats; the last two pieces of a row overlap. But stores
 * across lines take twice as long: what follows the first of the rows that lie one behind the other is stored by whole
 * lines, which begin with the end of the row before and go on behind the row, where the next one will be stored. */
#define FILL(type, repeated)                                                                                           \
    static void fill_##type(int64_t bytes, int64_t outer, char *dst, int64_t dst_step, const char *src,                \
                            int64_t src_step) {                                                                        \
        const int64_t most = (bytes + OX_LINE - 1 - (int64_t)sizeof(type)) / OX_LINE * OX_LINE;                        \
        const bool packed = dst_step == bytes && bytes % OX_LINE && (uintptr_t)dst % sizeof(type) == 0;                \
        for (; outer > 0; outer--, dst += dst_step, src += src_step) {                                                 \
            type value = *(const type *)(const void *)src;                                                             \
            wide_any64 all = repeated;                                                                                 \
            for (int64_t at = 0; at + OX_LINE < bytes; at += OX_LINE)                                                  \
                fill_line(dst + at, all);                                                                              \
            fill_line(dst + bytes - OX_LINE, all);                                                                     \
            while (packed && (outer - 1) * bytes >= most + OX_LINE) {                                                  \
                outer--, dst += bytes, src += src_step;                                                                \
                const uintptr_t first = (uintptr_t)dst % OX_LINE;                                                      \
                const wide_any64 before = all;                                                                         \
                value = *(const type *)(const void *)src;                                                              \
                all = repeated;                                                                                        \
                fill_end_and_line(dst - first, before, first, all);                                                    \
                for (int64_t at = OX_LINE; at <= most; at += OX_LINE)                                                  \
                    fill_line(dst - first + at, all);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Shorter rows, one behind the other: copies a line from the start of each row on, and the next row overwrites the
 * rest. Returns how many rows were copied: a line at the last rows would go beyond the end. */
#define FILL_SHORT(type, repeated)                                                                                     \
    static int64_t fill_short_##type(int64_t bytes, int64_t outer, char *dst, const char *src, int64_t src_step) {     \
        int64_t j = 0;                                                                                                 \
        for (; (outer - j) * bytes >= OX_LINE; j++, dst += bytes, src += src_step) {                                   \
            const type value = *(const type *)(const void *)src;                                                       \
            fill_line(dst, repeated);                                                                                  \
        }                                                                                                              \
        return j;                                                                                                      \
    }
#define FILLS(type, repeated) FILL(type, repeated) FILL_SHORT(type, repeated)
#define REPEATED(type) (wide_any64)((wide_##type){0} + value)
FILLS(any8, REPEATED(any8))
FILLS(any16, REPEATED(any16))
FILLS(any32, REPEATED(any32))
FILLS(any64, REPEATED(any64))
static inline wide_any64 repeated_any128(any128 value) {
    wide_any64 all;
    for (size_t i = 0; i < OX_WIDEST / sizeof(uint64_t); i++)
        all[i] = value[i % 2];
    return all;
}
FILLS(any128, repeated_any128(value))

#define SPREAD(type)                                                                                                   \
    static void spread_##type(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,              \
                              int64_t inner_step, int64_t outer_step) {                                                \
        const int64_t w = (int64_t)sizeof(type);                                                                       \
        OX_ASSERT(inner >= 0 && outer >= 0 && (outer <= 1 || dst_step >= inner * w));                                  \
        const bool repeats = inner_step == 0 && dst_step == inner * w;                                                 \
        if (repeats && inner > 1 && inner * w < OX_LINE) {                                                             \
            int64_t done = outer_step == w ? repeat_by_vectors(w, inner, outer, dst, src) : 0;                         \
            if (!done && inner > 4)                                                                                    \
                done = fill_short_##type(inner * w, outer, dst, src, outer_step);                                      \
            dst += done * dst_step, src += done * outer_step, outer -= done;                                           \
        }                                                                                                              \
        type *to = (type *)(void *)dst;                                                                                \
        if (repeats && inner == 2)                                                                                     \
            REPEAT(type, 2)                                                                                            \
        else if (repeats && inner == 3)                                                                                \
            REPEAT(type, 3)                                                                                            \
        else if (repeats && inner == 4)                                                                                \
            REPEAT(type, 4)                                                                                            \
        else if (inner_step == 0 && inner * w >= OX_LINE)                                                              \
            fill_##type(inner *w, outer, dst, dst_step, src, outer_step);                                              \
        else if (inner_step == w)                                                                                      \
            copy_rows(inner *w, outer, dst, dst_step, src, outer_step);                                                \
        else                                                                                                           \
            for (int64_t j = 0; j < outer; j++)                                                                        \
                move_##type(inner, dst + j * dst_step, w, src + j * outer_step, inner_step);                           \
    }
SPREAD(any8)
SPREAD(any16)
SPREAD(any32)
SPREAD(any64)
SPREAD(any128)

ox_spread_fn *OX_VARIANT(ox_spread_for)(size_t width) {
    return OX_BY_WIDTH(width, spread);
}

/* ---- Rows that repeat --------------------------------------------------------------------------------------- */

/* Elements of 4 bytes twice: halves of vectors are shuffled fast everywhere, and nothing is read again. */
static inline void double_some(char *to, int64_t row, int64_t times, const char *from) {
    const ox_words_4 x = *(const ox_any_words_4 *)(const void *)from;
    const ox_words_4 low = OX_SHUFFLE(words, 4, x, x, 0, 0, 1, 1), high = OX_SHUFFLE(words, 4, x, x, 2, 2, 3, 3);
    for (; times > 0; times--, to += row) {
        *(ox_any_words_4 *)(void *)to = low;
        *(ox_any_words_4 *)(void *)(to + sizeof low) = high;
    }
}

static void double_rows(int64_t n, int64_t rows, int64_t times, char *to, const char *from) {
    const int64_t some = sizeof(ox_words_4), row = n * (int64_t)sizeof(uint32_t);
    for (; rows > 0; rows--, from += row, to += times * 2 * row) {
        for (int64_t at = 0; at <= row - some; at += some)
            double_some(to + 2 * at, 2 * row, times, from + at);
        double_some(to + 2 * (row - some), 2 * row, times, from + row - some);
    }
}

/* Rows are widened to the end of their block of the result first, and copied to their places from there. No copy
 * reaches a row that is still to be read. */
void OX_VARIANT(ox_repeat_rows)(size_t width, int64_t n, int64_t count, int64_t rows, int64_t times, char *to,
                                const char *from) {
    enum {
        BLOCK = 1 << 14 /* bytes of the result, that stay in the first-level cache */
    };
    const int64_t w = (int64_t)width, row = n * count * w, most = BLOCK / (row * times) + 1;
    ox_spread_fn *spread = OX_VARIANT(ox_spread_for)(width);
    OX_ASSERT(n > 0 && count > 0 && rows >= 0 && times > 0);
    if (width == sizeof(uint32_t) && count == 2 && n >= (int64_t)(sizeof(ox_words_4) / sizeof(uint32_t))) {
        double_rows(n, rows, times, to, from);
        return;
    }
    for (int64_t some; rows > 0; rows -= some, from += some * n * w) {
        some = LESS_OF(rows, most);
        char *wide = to + some * (times - 1) * row;
        spread(count, some * n, wide, count * w, from, 0, w);
        for (int64_t i = 0; i < some; i++, wide += row)
            for (int64_t k = 0; k < times; k++, to += row)
                if (to != wide)
                    ox_copy_run(to, wide, row);
    }
}

/* ---- Streaming ---------------------------------------------------------------------------------------------- */

void OX_VARIANT(ox_stream)(void *dst, const void *src, size_t size) {
    char *to = dst;
    const char *from = src;
    size_t head = (OX_LINE - (uintptr_t)to % OX_LINE) % OX_LINE;
    if (size >= OX_LINE + head) {
        memcpy(to, from, head);
        to += head;
        from += head;
        size -= head;
        const size_t lines = size / OX_LINE * OX_LINE;
        ox_stream_lines(to, from, lines);
        to += lines;
        from += lines;
        size -= lines;
    }
    memcpy(to, from, size);
}
#endif
