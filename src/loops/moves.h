/* moves.h: the loops that only move elements, which know them by width, at any address. */
#ifndef OX_LOOPS_MOVES_H
#define OX_LOOPS_MOVES_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t any8;
typedef uint16_t __attribute__((aligned(1), may_alias)) any16;
typedef uint32_t __attribute__((aligned(1), may_alias)) any32;
typedef uint64_t __attribute__((aligned(1), may_alias)) any64;
/* A vector: where such elements are a struct of two numbers, gcc 12 vectorizes loads of more than is there. */
typedef uint64_t __attribute__((vector_size(16), aligned(1), may_alias)) any128;

/* That of five loops which is for elements of `width` bytes: 1, 2, 4, 8, or 16. */
#define OX_BY_WIDTH(width, loop)                                                                                       \
    ((width) == 1   ? loop##_any8                                                                                      \
     : (width) == 2 ? loop##_any16                                                                                     \
     : (width) == 4 ? loop##_any32                                                                                     \
     : (width) == 8 ? loop##_any64                                                                                     \
                    : loop##_any128)

/* Copies n elements along steps in bytes; the loop for an element width (1, 2, 4, 8 or 16). src_step may be 0. */
typedef void ox_move_fn(int64_t n, char *dst, int64_t dst_step, const char *src, int64_t src_step);

/* Copies `outer` short rows of `inner` elements each; those of a row are packed in dst. */
typedef void ox_spread_fn(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,
                          int64_t inner_step, int64_t outer_step);

/* Writes rows one behind the other: each of the `rows` rows of n packed elements of `width` bytes `times` times, and
 * each of its elements `count` times. */
typedef void ox_repeat_fn(size_t width, int64_t n, int64_t count, int64_t rows, int64_t times, char *to,
                          const char *from);

/* Copies a matrix whose rows of `inner` elements are packed in dst, `dst_step` bytes apart, and whose columns of
 * `outer` elements are packed in src, `src_step` apart. `whole` bytes are copied in all, perhaps by many calls; if they
 * are many, ox_stream_end has to follow. */
typedef void ox_transpose_fn(int64_t inner, int64_t outer, char *dst, int64_t dst_step, const char *src,
                             int64_t src_step, size_t whole);

/* Copies size bytes to another place: as memcpy does, or (`stream`) with stores that go past the caches, for large
 * results that are not read soon: whole cache lines of dst are not read first. ox_stream_end has to follow before
 * another thread reads them. */
typedef void ox_copy_fn(void *dst, const void *src, size_t size);

#endif
