/* reduce_loops.h: what a reduction does to elements, apart from which ones. */
#ifndef OX_LOOPS_REDUCE_LOOPS_H
#define OX_LOOPS_REDUCE_LOOPS_H

#include "element.h"

#include <string.h>

/* The reductions: OX_FOLD_SUM, ... L1 is the sum of absolute values, SQUARES that of squares, L2 the root of that, LOG
 * the logarithm of the sum. */
#define OX_FOLDS(FOLD) FOLD(SUM) FOLD(MEAN) FOLD(PROD) FOLD(MAX) FOLD(MIN) FOLD(L1) FOLD(SQUARES) FOLD(L2) FOLD(LOG)

/* How `rows` folds a row. Element k goes into partial result k % OX_FOLD_WIDE, or k % OX_FOLD_NARROW in shorter rows
 * and at the end of a row. Then the upper half of the partial results goes into the lower one until one is left. Many
 * partial results keep the processor busy and the rounding error low. Sums of floats add eight elements of a block,
 * OX_FOLD_BESIDE apart, in three steps before they make a double: converting takes longer than adding. */
enum {
    OX_FOLD_WIDE = 32,
    OX_FOLD_NARROW = 8,
    OX_FOLD_BESIDE = 16,
    OX_FOLD_BLOCK = 8 * OX_FOLD_BESIDE
};

/* Folds `length` elements, `step` bytes apart, into each of n accumulators; the elements of the next accumulator start
 * `next` bytes further. Never called with length 0. What an accumulator gets does not depend on n. */
typedef void ox_fold_fn(void *sums, int64_t n, const char *from, int64_t next, int64_t length, int64_t step);

/* Turns n accumulators into packed elements of the compute type; `count` elements went into each. */
typedef void ox_fold_end_fn(int64_t n, const void *sums, int64_t count, void *to);

/* How a reduction of elements of a compute type is done. Sums and products are kept in double, and in 64 bits for
 * integers, so that they are rounded or cut once. The greatest and least are kept in the type itself. */
typedef struct ox_folder {
    ox_fold_fn *rows;    /* one accumulator after the other */
    ox_fold_fn *columns; /* side by side, each in order; next is the size of an element */
    ox_fold_fn *squares; /* as `rows`, of the elements' squares in their type; NULL where there is no such loop */
    ox_fold_fn *eights;  /* as `columns`, of 8 * length floats, eight of which are added first; NULL for others */
    ox_fold_end_fn *end;
    bool (*joins)(ox_dtype,
                  struct ox_folder *); /* an ox_folder_fn: what accumulators of partial results are folded by */
    bool ends;                         /* accumulators are elements already */
    ox_dtype sums;                     /* the type of accumulators; integers are of 64 bits, with or without a sign */
    int64_t width;                     /* bytes of an accumulator */
    uint64_t identity;                 /* its first value: these bytes, from the lowest address on */
} ox_folder;

/* Accumulators of any type, as many as are kept on the stack at a time. */
enum {
    OX_FOLD_TILE = OX_SMALL ? 256 : 2048
};
typedef union ox_fold_sums {
    double f64[OX_FOLD_TILE];
    float f32[OX_FOLD_TILE];
    uint64_t u64[OX_FOLD_TILE];
    uint32_t u32[OX_FOLD_TILE];
    uint8_t u8[OX_FOLD_TILE];
} ox_fold_sums;

/* The first values of n accumulators. Widths that the compiler knows are stores; another would be a call for each. */
static inline void ox_fold_start(const ox_folder *folder, int64_t n, void *sums) {
    if (folder->width == sizeof(uint64_t))
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)sums + i * (int64_t)sizeof(uint64_t), &folder->identity, sizeof(uint64_t));
    else if (folder->width == sizeof(uint32_t))
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)sums + i * (int64_t)sizeof(uint32_t), &folder->identity, sizeof(uint32_t));
    else
        memset(sums, *(const uint8_t *)&folder->identity, (size_t)n);
}

/* How a reduction of elements of a type is done; false if the type is not one that reductions are computed in. */
typedef bool ox_folder_fn(ox_dtype compute, ox_folder *folder);

/* The reductions, each with an entry for each build (lanes.h): a program has the loops of those that it names. */
typedef ox_folder_fn *const *ox_fold;
#define FOLD(name) extern ox_folder_fn *const OX_FOLD_##name[];
OX_FOLDS(FOLD)
#undef FOLD

#endif
