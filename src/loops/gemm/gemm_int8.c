/* gemm_int8.c: the kernels of products of bytes, with sums of 32 bits that wrap. Built once for each kind of processor,
 * and once more for those that add four products of bytes in one instruction.
 *
 * Such instructions multiply unsigned bytes by signed ones. Bytes on the left stay what they are, for which there are
 * two kernels; those on the right that are of the same kind have their highest bit flipped, which moves them by 128.
 * NEON's multiply bytes of one kind, and some also unsigned ones by signed ones: those on the right are flipped where
 * they are of another kind. Elsewhere bytes on the left become integers of 16 bits and are what they were; those on the
 * right become that as they are loaded, so that their panels take half the memory, and are signed. */
#include "asserts.h"
#include "gemm_amx.h"
#include "loops/copy_run.h"
#include "loops/simd/intrinsics.h"
#include "loops/lane_loops.h"
#include "loops/simd/x86.h"

#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include "gemm_int8_neon.h"
#define OX_INT8_NEON 1
#else
#define OX_INT8_GROUP OX_DOT_VALUES
#define OX_INT8_VECTORS (OX_DOT_BYTES == 64 ? 4 : 2)
#endif

#ifdef OX_DOT_ISA
#define FIND OX_JOIN(ox_gemm_int8, OX_DOT_ISA)
#else
#define FIND OX_VARIANT(ox_gemm_int8_plain)
#endif

/* Tiles that leave few registers unused. */
#if OX_DOT_BYTES == 64 || defined(__ARM_FEATURE_DOTPROD)
#define EACH_WIDTH(kind, is_signed, M)                                                                                 \
    M(kind, is_signed, 1) M(kind, is_signed, 2) M(kind, is_signed, 3) M(kind, is_signed, 4)
#else
#define EACH_WIDTH(kind, is_signed, M) M(kind, is_signed, 1) M(kind, is_signed, 2)
#endif

enum {
    LANES = OX_DOT_BYTES / 4,
    VECTORS = OX_INT8_VECTORS,
    COLUMNS = LANES * VECTORS,
    GROUP = OX_INT8_GROUP,
    DEPTH = OX_GEMM_DEPTH * (GROUP < 4 ? GROUP : 4),
    A_WIDTH = GROUP == 2 ? 2 : 1, /* bytes of an element of A in a block */
    A_ROW = DEPTH * A_WIDTH + OX_GEMM_PAD,
    B_VECTOR = LANES * GROUP /* bytes of B that make a vector */
};

/* The elements of a column in a group of rows of B. */
#if OX_INT8_GROUP == 8
typedef u64 column_group;
#elif OX_INT8_GROUP == 4
typedef u32 column_group;
#else
typedef u16 column_group;
#endif

#ifndef OX_INT8_NEON
#if OX_UNALIGNED
typedef ox_dot_lanes __attribute__((may_alias, aligned(1))) loose_lanes;
#else
typedef ox_dot_lanes __attribute__((may_alias, aligned(4))) loose_lanes;
#endif
#endif

/* ---- Tiles -------------------------------------------------------------------------------------------------- */

#if defined(OX_INT8_NEON)
#define multiply neon_multiply
#elif defined(__wasm_simd128__)
#include "gemm_int8_wasm.h"
#else
/* Adds the product for one group of k. */
static inline __attribute__((always_inline)) void add_group(const bool is_signed, const int rows, const int vectors,
                                                            const char *a, int64_t a_row, const char *b,
                                                            ox_dot_lanes sum[][VECTORS]) {
    ox_dot_lanes right[VECTORS];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++)
        right[j] = ox_dot_load(b + j * B_VECTOR);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        const ox_dot_lanes left = (ox_dot_lanes){0} + OX_GET(u32, a + i * a_row);
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            sum[i][j] = is_signed ? ox_dot(sum[i][j], right[j], left) : ox_dot(sum[i][j], left, right[j]);
    }
}

/* Writes the sums of a tile, or adds them to what is there. */
static inline __attribute__((always_inline)) void store_sums(const int rows, const int vectors, const ox_gemm_tile *t,
                                                             ox_dot_lanes sum[][VECTORS]) {
#pragma GCC unroll 24
    for (int i = 0; i < rows * vectors; i++) {
        loose_lanes *to = (void *)(t->c + i / vectors * t->c_row + i % vectors * OX_DOT_BYTES);
        ox_dot_lanes all = sum[i / vectors][i % vectors];
        if (t->add)
            all += *to;
        *to = all;
    }
}

/* A tile of constant size: where this is inlined, all sums are in registers. */
static inline __attribute__((always_inline)) void multiply(const bool is_signed, const int rows, const int vectors,
                                                           const ox_gemm_tile *t) {
    const char *a = t->a, *b = t->b, *ahead = t->ahead;
    const int64_t a_row = t->a_row;
    ox_dot_lanes sum[OX_GEMM_TILE_ROWS][VECTORS];
#pragma GCC unroll 24
    for (int i = 0; i < rows * vectors; i++)
        sum[i / vectors][i % vectors] = (ox_dot_lanes){0};
    int64_t left = t->depth;
    for (; left > (OX_GEMM_STEPS - 1) * GROUP; left -= OX_GEMM_STEPS * GROUP, ahead += t->ahead_step)
#pragma GCC unroll 4
        for (int step = 0; step < OX_GEMM_STEPS; step++, a += 4, b += GROUP * t->b_row) {
            __builtin_prefetch(ahead + step * t->ahead_stream, 0, 3);
            add_group(is_signed, rows, vectors, a, a_row, b, sum);
        }
    for (; left > 0; left -= GROUP, a += 4, b += GROUP * t->b_row)
        add_group(is_signed, rows, vectors, a, a_row, b, sum);
    store_sums(rows, vectors, t, sum);
}
#endif

#define TILE(kind, is_signed, rows, vectors)                                                                           \
    static void tile_##kind##_##rows##_##vectors(const ox_gemm_tile *t) {                                              \
        multiply(is_signed, rows, vectors, t);                                                                         \
    }
#define TILES(kind, is_signed, vectors)                                                                                \
    TILE(kind, is_signed, 1, vectors)                                                                                  \
    TILE(kind, is_signed, 2, vectors)                                                                                  \
    TILE(kind, is_signed, 3, vectors)                                                                                  \
    TILE(kind, is_signed, 4, vectors)                                                                                  \
    OX_ROWS_5_6(TILE(kind, is_signed, 5, vectors) TILE(kind, is_signed, 6, vectors))
#define TILE_NAMES(kind, is_signed, vectors)                                                                           \
    {tile_##kind##_1_##vectors, tile_##kind##_2_##vectors, tile_##kind##_3_##vectors, tile_##kind##_4_##vectors,       \
     OX_ROWS_5_6(tile_##kind##_5_##vectors, tile_##kind##_6_##vectors)},

/* A tile by the function for its size. Where C ends within a vector, the tile is computed beside it. */
static inline __attribute__((always_inline)) void run_tile(ox_gemm_tile_fn *fn, const ox_gemm_tile *t) {
    if (t->columns % LANES == 0) {
        fn(t);
        return;
    }
    uint32_t edge[OX_GEMM_TILE_ROWS][COLUMNS];
    ox_gemm_tile beside = *t;
    beside.c = (char *)edge, beside.c_row = sizeof *edge, beside.add = false;
    fn(&beside);
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < t->columns; j++) {
            u32 *to = (void *)(t->c + i * t->c_row + j * 4);
            *to = t->add ? *to + edge[i][j] : edge[i][j];
        }
}

/* An ox_gemm_tile_fn. */
static inline __attribute__((always_inline)) void tile(ox_gemm_tile_fn *const tiles[][OX_GEMM_TILE_ROWS],
                                                       const ox_gemm_tile *t) {
    OX_ASSERT(t->rows >= 1 && t->rows <= OX_GEMM_TILE_ROWS && t->depth >= 0);
    OX_ASSERT(t->columns >= 1 && t->columns <= COLUMNS);
    OX_ASSERT(!t->finish);
    run_tile(tiles[(t->columns - 1) / LANES][t->rows - 1], t);
}

/* Tiles of woven rows. */
#ifdef OX_INT8_MIXED
#define WOVEN_TILE(kind, is_signed, rows, vectors)                                                                     \
    static void woven_##kind##_##rows##_##vectors(const ox_gemm_tile *t) {                                             \
        neon_multiply_woven(is_signed, rows, vectors, t);                                                              \
    }
#define WOVEN_TILES(kind, is_signed, vectors)                                                                          \
    WOVEN_TILE(kind, is_signed, 5, vectors) WOVEN_TILE(kind, is_signed, 6, vectors)
#define WOVEN_NAMES(kind, is_signed, vectors) {woven_##kind##_5_##vectors, woven_##kind##_6_##vectors},
#define WOVEN(kind, is_signed)                                                                                         \
    EACH_WIDTH(kind, is_signed, WOVEN_TILES)                                                                           \
    static void woven_##kind(const ox_gemm_tile *t) {                                                                  \
        static ox_gemm_tile_fn *const tiles[][2] = {EACH_WIDTH(kind, is_signed, WOVEN_NAMES)};                         \
        OX_ASSERT(t->rows >= OX_GEMM_WOVEN_ROWS && t->rows <= OX_GEMM_TILE_ROWS && t->depth >= 0);                     \
        OX_ASSERT(t->columns >= 1 && t->columns <= COLUMNS && !t->finish);                                             \
        run_tile(tiles[(uint64_t)(t->columns - 1) / LANES][t->rows - OX_GEMM_WOVEN_ROWS], t);                          \
    }
#define OF_WOVEN(kind) .weave = ox_gemm_weave, .woven_tile = woven_##kind,
#else
#define WOVEN(kind, is_signed)
#define OF_WOVEN(kind)
#endif

/* ---- Tiles of what lies elsewhere ------------------------------------------------------------------------------ */

#ifdef OX_DOT_PLACES
/* Adds the products for the groups of one place. */
static inline __attribute__((always_inline)) const char *add_place(const bool is_signed, const int rows,
                                                                   const int vectors, const ox_gemm_tile *t,
                                                                   const ox_gemm_place *place, const char *a,
                                                                   ox_dot_lanes fill, ox_dot_lanes sum[][VECTORS]) {
    const uintptr_t step = ((const ox_gemm_places *)(const void *)t->b)->step;
    uintptr_t b = place->from;
    for (int64_t left = place->groups; left > 0; left--, a += GROUP, b += step) {
        ox_dot_lanes right[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            right[j] = ox_dot_load_within(fill, place->within >> (j * LANES), b + (uintptr_t)(j * B_VECTOR));
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            const ox_dot_lanes weights = (ox_dot_lanes){0} + OX_GET(u32, a + i * t->a_row);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++)
                sum[i][j] = is_signed ? ox_dot(sum[i][j], right[j], weights) : ox_dot(sum[i][j], weights, right[j]);
        }
    }
    return a;
}

static inline __attribute__((always_inline)) void multiply_places(const bool is_signed, const int rows,
                                                                  const int vectors, const ox_gemm_tile *t) {
    const ox_gemm_places *places = (const void *)t->b;
    const ox_dot_lanes fill = (ox_dot_lanes){0} + places->fill;
    const char *a = t->a;
    ox_dot_lanes sum[OX_GEMM_TILE_ROWS][VECTORS];
#pragma GCC unroll 24
    for (int i = 0; i < rows * vectors; i++)
        sum[i / vectors][i % vectors] = (ox_dot_lanes){0};
    for (int64_t p = 0; p < places->count; p++)
        a = add_place(is_signed, rows, vectors, t, &places->place[p], a, fill, sum);
    store_sums(rows, vectors, t, sum);
}

#define PLACE_TILE(kind, is_signed, rows, vectors)                                                                     \
    static void place_##kind##_##rows##_##vectors(const ox_gemm_tile *t) {                                             \
        multiply_places(is_signed, rows, vectors, t);                                                                  \
    }
#define PLACE_TILES(kind, is_signed, vectors)                                                                          \
    PLACE_TILE(kind, is_signed, 1, vectors)                                                                            \
    PLACE_TILE(kind, is_signed, 2, vectors)                                                                            \
    PLACE_TILE(kind, is_signed, 3, vectors)                                                                            \
    PLACE_TILE(kind, is_signed, 4, vectors)                                                                            \
    PLACE_TILE(kind, is_signed, 5, vectors)                                                                            \
    PLACE_TILE(kind, is_signed, 6, vectors)
#define PLACE_NAMES(kind, is_signed, vectors)                                                                          \
    {place_##kind##_1_##vectors, place_##kind##_2_##vectors, place_##kind##_3_##vectors,                               \
     place_##kind##_4_##vectors, place_##kind##_5_##vectors, place_##kind##_6_##vectors},
#define PLACES(kind, is_signed)                                                                                        \
    EACH_WIDTH(kind, is_signed, PLACE_TILES)                                                                           \
    static void tile_places_##kind(const ox_gemm_tile *t) {                                                            \
        static ox_gemm_tile_fn *const tiles[][OX_GEMM_TILE_ROWS] = {EACH_WIDTH(kind, is_signed, PLACE_NAMES)};         \
        tile(tiles, t);                                                                                                \
    }
#define OF_PLACES(kind) tile_places_##kind
#else
#define PLACES(kind, is_signed)
#define OF_PLACES(kind) NULL
#endif

/* ---- Matrix registers ------------------------------------------------------------------------------------------ */

#if defined(OX_AMX) && OX_DOT_VALUES == 4
enum {
    AMX_TILE_ROWS = 2 * OX_AMX_ROWS
};

/* Some rows of a tile, from a group of k on, by the tiles above. */
static void add_rest(ox_gemm_tile_fn *small, const ox_gemm_tile *t, int64_t groups) {
    ox_gemm_tile part = *t;
    part.a += groups * GROUP, part.b += groups * GROUP * t->b_row, part.depth -= groups * GROUP;
    part.add = t->add || groups;
    for (int64_t i = 0; i < t->rows; i += OX_GEMM_TILE_ROWS) {
        part.rows = LESS_OF(OX_GEMM_TILE_ROWS, t->rows - i);
        small(&part);
        part.a += OX_GEMM_TILE_ROWS * t->a_row, part.c += OX_GEMM_TILE_ROWS * t->c_row;
    }
}

/* An ox_gemm_tile_fn of more rows. */
static inline __attribute__((always_inline)) void large_tile(const bool is_signed, ox_gemm_tile_fn *small,
                                                             const ox_gemm_tile *t) {
    OX_ASSERT(t->rows >= 1 && t->rows <= AMX_TILE_ROWS && t->depth >= 0);
    OX_ASSERT(t->columns >= 1 && t->columns <= COLUMNS);
    const int64_t groups = (t->depth + GROUP - 1) / GROUP, step = ox_amx_step(groups);
    if (t->rows < OX_AMX_FEWEST || groups < OX_AMX_FEWEST) {
        add_rest(small, t, 0);
        return;
    }
    uint32_t edge[AMX_TILE_ROWS][COLUMNS];
    const bool is_whole = t->columns % LANES == 0;
    ox_gemm_tile whole = *t;
    whole.columns = (t->columns + LANES - 1) / LANES * LANES;
    if (!is_whole)
        whole.c = (char *)edge, whole.c_row = sizeof *edge, whole.add = false;
    ox_amx_multiply(is_signed, &whole, step, groups / step);
    if (groups % step)
        add_rest(small, &whole, groups / step * step);
    for (int64_t i = 0; i < t->rows && !is_whole; i++)
        for (int64_t j = 0; j < t->columns; j++) {
            u32 *to = (void *)(t->c + i * t->c_row + j * 4);
            *to = t->add ? *to + edge[i][j] : edge[i][j];
        }
}
#endif

/* ---- Packing ------------------------------------------------------------------------------------------------ */

static inline void pack_row(const uint8_t *from, int64_t step, int64_t count, bool is_signed, char *to) {
    const uint8_t flip = is_signed ? 0x80 : 0;
    for (int64_t k = 0; k < count; k++)
        if (A_WIDTH == 1)
            ((u8 *)to)[k] = from[k * step];
        else
            ((u16 *)(void *)to)[k] = (uint16_t)((from[k * step] ^ flip) - flip);
}

/* An ox_gemm_pack_fn. Zeros beyond `columns` make what B has there count nothing. */
static void pack_a(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, char *to,
                   int64_t to_row, char *stage) {
    const uint8_t *data = from->data;
    const int64_t width = (columns + GROUP - 1) & -(int64_t)GROUP;
    const bool is_signed = from->dtype == OX_INT8;
    (void)loops, (void)stage;
    for (int64_t i = 0; i < rows; i++, data += from->row, to += to_row) {
        if (from->col == 1 && A_WIDTH == 1)
            ox_copy_run(to, (const char *)data, columns);
        else if (from->col == 1)
            pack_row(data, 1, columns, is_signed, to);
        else
            pack_row(data, from->col, columns, is_signed, to);
        memset(to + columns * A_WIDTH, 0, (size_t)((width - columns) * A_WIDTH));
    }
}

/* How far up the element of row r of a group is in a word, so that elements lie in memory in the order of rows, as
 * those of A do. */
static inline int bits_below(int r) {
    return (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? GROUP - 1 - r : r) * 8;
}

/* Lays out GROUP rows together; `at` has the start of each. */
static inline void pack_group(const uint8_t *const *at, int64_t step, int64_t columns, uint8_t flip, column_group *to) {
    int64_t j = 0;
#ifdef OX_INT8_NEON
    for (; step == 1 && j + OX_WOVEN <= columns; j += OX_WOVEN)
        neon_weave(at, j, flip, to + j);
#elif defined(OX_WOVEN)
    const ox_dot_lanes flips = (ox_dot_lanes){0} + flip * 0x01010101U;
    for (; step == 1 && j + OX_WOVEN <= columns; j += OX_WOVEN) {
        ox_dot_lanes words;
        ox_weave(&words, at[0] + j, at[1] + j, at[2] + j, at[3] + j);
        words ^= flips;
        memcpy(to + j, &words, sizeof words);
    }
#endif
    for (; j < columns; j++) {
        uint64_t word = 0;
#pragma GCC unroll 8
        for (int r = 0; r < GROUP; r++)
            word |= (uint64_t)(at[r][j * step] ^ flip) << bits_below(r);
        to[j] = (column_group)word;
    }
}

#ifdef OX_INT8_NEON
/* Whole groups of packed rows, of whole OX_WOVEN columns. */
static __attribute__((noinline)) void pack_groups(const ox_gemm_matrix *from, int64_t groups, int64_t columns,
                                                  uint8_t flip, char *to) {
    const int64_t row = from->row;
    const uint8_t *first = from->data;
    for (; groups > 0; groups--, first += GROUP * row)
        for (int64_t j = 0; j < columns; j += OX_WOVEN, to += OX_WOVEN * GROUP) {
            const uint8_t *at[GROUP] = {first + j};
            OX_UNROLLED for (int r = 1; r < GROUP; r++) at[r] = at[r - 1] + row;
            neon_weave(at, 0, flip, to);
        }
}
#endif

/* Rows beyond the last are as that one, since A has zeros there. */
static __attribute__((noinline)) void pack_rest(const ox_gemm_matrix *from, int64_t rows, int64_t columns, uint8_t flip,
                                                char *to, int64_t to_row) {
    for (int64_t k = 0; k < rows; k += GROUP, to += GROUP * to_row) {
        const uint8_t *at[GROUP], *first = (const uint8_t *)from->data + k * from->row;
        const int64_t last = rows - 1 - k;
        OX_UNROLLED for (int64_t r = 0; r < GROUP; r++) at[r] =
            first + (last < GROUP ? LESS_OF(r, last) : r) * from->row;
        column_group *words = (column_group *)(void *)to;
        if (from->col == 1)
            pack_group(at, 1, columns, flip, words);
        else
            pack_group(at, from->col, columns, flip, words);
        if (to_row > columns)
            memset(words + columns, 0, (size_t)(to_row - columns) * sizeof *words);
    }
}

static void pack_rows(const ox_gemm_matrix *from, int64_t rows, int64_t columns, uint8_t flip, char *to,
                      int64_t to_row) {
    ox_gemm_matrix rest = *from;
#ifdef OX_INT8_NEON
    if (from->col == 1 && columns == to_row && columns % OX_WOVEN == 0) {
        const int64_t groups = rows / GROUP;
        pack_groups(from, groups, columns, flip, to);
        rest.data = (const char *)from->data + groups * GROUP * from->row;
        rows -= groups * GROUP, to += groups * GROUP * to_row;
    }
#endif
    if (rows > 0)
        pack_rest(&rest, rows, columns, flip, to, to_row);
}

/* ---- Kernels ------------------------------------------------------------------------------------------------- */

static void pack_b(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, char *to,
                   int64_t to_row, char *stage) {
    (void)loops, (void)stage;
    pack_rows(from, rows, columns, 0, to, to_row);
}
static void pack_b_moved(const ox_loops *loops, const ox_gemm_matrix *from, int64_t rows, int64_t columns, char *to,
                         int64_t to_row, char *stage) {
    (void)loops, (void)stage;
    pack_rows(from, rows, columns, 0x80, to, to_row);
}

#define ROW(kind, left, right, row_count, row_pack, row_shift, row_places)                                             \
    {                                                                                                                  \
        .a = left, .b = right, .c = OX_INT32, .rows = row_count, .columns = COLUMNS, .unit = LANES, .depth = DEPTH,    \
        .group = GROUP, .a_row = A_ROW, .tile = tile_##kind, OF_WOVEN(kind).place_tile = row_places,                   \
        .packed_size = ox_gemm_size_of_panels, .find_panel = ox_gemm_find_panel, .pack_a = pack_a, .pack_b = row_pack, \
        .shift = row_shift                                                                                             \
    }

/* Of right matrices that are of the panels' kind, and of the other one. */
#define ROWS(kind, left, right, rows, places)                                                                          \
    {                                                                                                                  \
        ROW(kind, left, right, rows, pack_b, 0, places),                                                               \
            ROW(kind, left, right, rows, pack_b_moved, (right) == OX_INT8 ? 0U - 128 : 128, places)                    \
    }

#if defined(OX_AMX) && OX_DOT_VALUES == 4
#define LARGE_KERNELS(kind, is_signed, left, right)                                                                    \
    static void tile_large_##kind(const ox_gemm_tile *t) {                                                             \
        large_tile(is_signed, tile_##kind, t);                                                                         \
    }                                                                                                                  \
    static const ox_gemm_kernel large_kernels_##kind[] = ROWS(large_##kind, left, right, AMX_TILE_ROWS, NULL);
#else
#define LARGE_KERNELS(kind, is_signed, left, right)
#endif

/* Of left matrices of one kind of bytes, and panels of another. */
#define KERNELS(kind, is_signed, left, right)                                                                          \
    EACH_WIDTH(kind, is_signed, TILES)                                                                                 \
    static void tile_##kind(const ox_gemm_tile *t) {                                                                   \
        static ox_gemm_tile_fn *const tiles[][OX_GEMM_TILE_ROWS] = {EACH_WIDTH(kind, is_signed, TILE_NAMES)};          \
        tile(tiles, t);                                                                                                \
    }                                                                                                                  \
    PLACES(kind, is_signed)                                                                                            \
    LARGE_KERNELS(kind, is_signed, left, right)                                                                        \
    WOVEN(kind, is_signed)                                                                                             \
    static const ox_gemm_kernel kernels_##kind[] = ROWS(kind, left, right, OX_GEMM_TILE_ROWS, OF_PLACES(kind));

ox_gemm_kernel_fn FIND;
#if OX_INT8_GROUP > 2
#if !defined(OX_INT8_NEON)
KERNELS(unsigned, false, OX_UINT8, OX_INT8)
KERNELS(signed, true, OX_INT8, OX_UINT8)
#elif defined(OX_INT8_MIXED)
KERNELS(unsigned, false, OX_UINT8, OX_INT8)
KERNELS(signed, true, OX_INT8, OX_INT8)
#else
KERNELS(unsigned, false, OX_UINT8, OX_UINT8)
KERNELS(signed, true, OX_INT8, OX_INT8)
#endif

const ox_gemm_kernel *FIND(ox_dtype a, ox_dtype b) {
    const ox_gemm_kernel *kernels = a == OX_INT8 ? kernels_signed : kernels_unsigned;
#ifdef OX_AMX
    if (OX_RUNS_AMX)
        kernels = a == OX_INT8 ? large_kernels_signed : large_kernels_unsigned;
#endif
    return &kernels[b != kernels->b];
}
#else
KERNELS(words, false, OX_INT16, OX_INT8)

const ox_gemm_kernel *FIND(ox_dtype a, ox_dtype b) {
    (void)a;
    return &kernels_words[b != kernels_words->b];
}
#endif

#ifndef OX_DOT_ISA
#define DECLARE(name, machine, flags, build, runs, ...) extern ox_gemm_kernel_fn ox_gemm_int8_##name;
OX_DOTS(DECLARE, )
OX_SHARING(DECLARE, )

const ox_gemm_kernel *OX_VARIANT(ox_gemm_int8_find)(ox_dtype a, ox_dtype b) {
#define CHOOSE(name, machine, flags, build, runs, ...)                                                                 \
    if (OX_BUILD_##build == OX_JOIN(OX_BUILD, OX_ISA) && runs)                                                         \
        return ox_gemm_int8_##name(a, b);
    OX_DOTS(CHOOSE, )
    return FIND(a, b);
}

/* Builds that share the loops of this one have the same products of other types. */
#define SHARING(name, machine, flags, build, runs, ...)                                                                \
    extern ox_gemm_kernel_fn ox_gemm_kernel_for_##name;                                                                \
    const ox_gemm_kernel *ox_gemm_kernel_for_##name(ox_dtype a, ox_dtype b) {                                          \
        const bool is_byte = a == OX_INT8 || a == OX_UINT8;                                                            \
        return is_byte ? ox_gemm_int8_##name(a, b) : ox_gemm_kernel_for_##build(a, b);                                 \
    }
OX_SHARING(SHARING, )
#endif
