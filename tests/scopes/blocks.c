/* blocks.c: MatMulNBits, MatMulBnb4 and GatherBlockQuantized, and products of what DequantizeLinear makes of blocks:
 * weights in blocks, in every build of the loops. */
#include <string.h>

#include "scopes.h"

enum {
    NO_ZEROS,
    PACKED,
    FLOATS,
    ZEROS /* kinds of zero points */
};

static const ox_dtype types[] = {OX_FLOAT, OX_FLOAT16, OX_BFLOAT16};

typedef struct blocks {
    int bits, zeros;
    int64_t block, n, k, rows;
    int level;   /* accuracy_level */
    int isa;     /* of a build, or -1 */
    int weights; /* 0: constant, 1: inputs, 2: any of both */
} blocks;

static int64_t blocks_of(int64_t count, int64_t block) {
    return (count + block - 1) / block;
}

static scope_place any_direct(scope *s) {
    return (scope_place)scope_draw(s, SCOPE_IN_GRAPH);
}

static scope_place place_of(scope *s, int weights) {
    return weights == 0 ? SCOPE_CONSTANT : weights == 1 ? (scope_place)(1 + scope_draw(s, 7)) : any_direct(s);
}

/* Bytes of all values. */
static int give_bytes(scope *s, int rank, const int64_t *dims, scope_place place) {
    const int value = scope_give(s, OX_UINT8, rank, dims, place);
    for (int64_t i = scope_count(rank, dims) - 1; i >= 0; i--)
        s->graph.values[value].numbers[i] = scope_draw(s, 256);
    return value;
}

/* Rows of A. Where they are rounded to bytes, and numbers are to be exact, the greatest of each block is one of a byte.
 */
static int give_rows(scope *s, const blocks *b, ox_dtype dtype) {
    const int64_t dims[] = {2, b->rows, b->k};
    const int batch = scope_draw(s, 3) == 0;
    if (b->level < 4 || !s->graph.exact)
        return scope_give(s, dtype, 2 + batch, dims + !batch, scope_any_place(s));
    const int value = scope_give(s, dtype, 2 + batch, dims + !batch, any_direct(s));
    for (int64_t i = (1 + batch) * b->rows - 1; i >= 0; i--)
        for (int64_t k = 0; k < b->k; k += b->block)
            s->graph.values[value].numbers[i * b->k + k] = scope_draw(s, 2) ? 127 : -127;
    return value;
}

static int give_zeros(scope *s, const blocks *b, ox_dtype dtype) {
    const int64_t count = blocks_of(b->k, b->block), dims[] = {b->n, count},
                  bytes[] = {b->n, (count * b->bits + 7) / 8};
    if (b->zeros == NO_ZEROS)
        return -1;
    return b->zeros == PACKED ? give_bytes(s, 2, bytes, place_of(s, b->weights))
                              : scope_give(s, dtype, 2, dims, place_of(s, b->weights));
}

/* For each of K the number of a block. */
static int give_groups(scope *s, const blocks *b) {
    const int64_t count = blocks_of(b->k, b->block);
    const int value = scope_give(s, OX_INT32, 1, &b->k, place_of(s, b->weights));
    for (int64_t k = 0; k < b->k; k++)
        s->graph.values[value].numbers[k] = scope_draw(s, (int)count);
    return value;
}

static int add_nbits(scope *s, const void *context, ox_dtype dtype) {
    const blocks *b = context;
    const int64_t count = blocks_of(b->k, b->block), data[] = {b->n, count, b->block / 8 * b->bits},
                  scales[] = {b->n, count};
    int in[6] = {give_rows(s, b, dtype),
                 give_bytes(s, 3, data, place_of(s, b->weights)),
                 scope_give(s, dtype, 2, scales, place_of(s, b->weights)),
                 give_zeros(s, b, dtype),
                 -1,
                 -1};
    if (scope_draw(s, 6) == 0)
        in[4] = give_groups(s, b);
    if (scope_draw(s, 2))
        in[5] = scope_give(s, dtype, 1, &b->n, scope_any_place(s));
    const int out = scope_node_of(s, "micro:MatMulNBits", 6, in);
    scope_int(s, "N", b->n);
    scope_int(s, "K", b->k);
    scope_int(s, "bits", b->bits);
    scope_int(s, "block_size", b->block);
    if (b->level)
        scope_int(s, "accuracy_level", b->level);
    s->graph.isa = b->isa;
    return out;
}

/* By turns products are of floats, and may be of bytes. */
static void check_nbits(scope *s, const blocks *b, bool by_bytes) {
    for (int t = 0; t < 3; t++, by_bytes = !by_bytes)
        if (scope_begin(s)) {
            blocks this = *b;
            this.level = by_bytes ? 4 : 0;
            scope_result(s, add_nbits(s, &this, types[t]));
            scope_check(s);
        }
}

/* Rows as few as have loops of their own, and more, of all tiles; columns about a vector of rows of weights. */
static void each_shape(scope *s, blocks b) {
    static const int64_t ks[] = {1, 3, 15, 16, 17, 32, 33, 70, 129, 300}, ns[] = {1, 3, 4, 5, 18}, rows[] = {1, 3, 15};
    for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
        for (size_t n = 0; n < sizeof ns / sizeof *ns; n++)
            for (size_t m = 0; m < sizeof rows / sizeof *rows; m++) {
                b.k = ks[k], b.n = ns[n], b.rows = rows[m];
                check_nbits(s, &b, (k + n + m) % 2 == 0);
            }
}

static void each_nbits(scope *s) {
    for (int bits = 2; bits <= 8; bits *= 2)
        for (int zeros = 0; zeros < ZEROS; zeros++)
            for (int64_t block = 16; block <= 32; block *= 2)
                for (int isa = 0; isa < s->nisa; isa++)
                    for (int weights = 0; weights < 2; weights++)
                        each_shape(s, (blocks){bits, zeros, block, .isa = isa, .weights = weights});
}

/* Nodes behind a product of few rows, and of many. */
static void behind_nbits(scope *s) {
    static const int64_t sizes[][2] = {{1, 5}, {3, 17}, {9, 18}, {67, 70}};
    for (int bits = 2; bits <= 8; bits *= 2)
        for (int zeros = 0; zeros < ZEROS; zeros++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                const blocks b = {bits, zeros, 16, sizes[i][1], 35, sizes[i][0], zeros == PACKED ? 4 : 0, -1, 2};
                const int64_t dims[] = {b.rows, b.n};
                scope_behind(s, &(scope_dense){add_nbits, &b, 2, dims, 3, types});
            }
}

/* ---- Codes ----------------------------------------------------------------------------------------------------- */

/* Bytes of two codes that stand for numbers with few digits, so that sums are exact. */
static int give_codes(scope *s, int64_t count, int type, scope_place place) {
    static const int codes[2][4] = {{0, 3, 5, 13}, {0, 7, 15, 0}};
    const int64_t bytes = (count + 1) / 2;
    const int value = scope_give(s, OX_UINT8, 1, &bytes, place);
    for (int64_t i = 0; i < bytes; i++)
        s->graph.values[value].numbers[i] =
            s->graph.exact ? codes[type][scope_draw(s, 4)] << 4 | codes[type][scope_draw(s, 4)] : scope_draw(s, 256);
    return value;
}

static void check_codes(scope *s, const blocks *b, int type, bool is_turned, ox_dtype dtype) {
    const int64_t dims[] = {b->rows, is_turned ? b->k : b->n}, scales = blocks_of(b->n * b->k, b->block);
    const int in[] = {scope_give(s, dtype, 2, dims, scope_any_place(s)),
                      give_codes(s, b->n * b->k, type, place_of(s, b->weights)),
                      scope_give(s, dtype, 1, &scales, place_of(s, b->weights))};
    scope_result(s, scope_node_of(s, "micro:MatMulBnb4", 3, in));
    scope_int(s, "N", b->n);
    scope_int(s, "K", b->k);
    scope_int(s, "block_size", b->block);
    scope_int(s, "quant_type", type);
    scope_int(s, "transB", is_turned);
    s->graph.isa = b->isa;
    scope_check(s);
}

static void each_codes(scope *s) {
    static const int64_t ks[] = {1, 15, 17, 40}, ns[] = {1, 3, 18}, rows[] = {1, 3, 9};
    for (size_t i = 0; i < 4 * 3 * 3; i++)
        for (int isa = 0; isa < s->nisa; isa++)
            for (int way = 0; way < 3 * 2 * 2 * 2; way++) {
                const blocks b = {4, 0, 16, ns[i / 4 % 3], ks[i % 4], rows[i / 12], 0, isa, way & 1};
                if (scope_begin(s))
                    check_codes(s, &b, way >> 1 & 1, way >> 2 & 1, types[way >> 3]);
            }
}

/* ---- Rows that are picked -------------------------------------------------------------------------------------- */

/* The second to last dimension goes along with the first. */
static void check_gather(scope *s, const blocks *b, int rank, ox_dtype dtype) {
    const int64_t length = b->k, count = blocks_of(length, b->block), each = 8 / b->bits;
    const int64_t data[] = {b->n, 2, length / each}, scales[] = {b->n, 2, count},
                  zeros[] = {b->n, 2, (count + each - 1) / each}, picked[] = {2, 3};
    const int64_t *of[] = {data, scales, zeros};
    int64_t dims[3][3];
    for (int i = 0; i < 3; i++) {
        memcpy(dims[i], of[i], sizeof dims[i]);
        if (rank == 2)
            dims[i][1] = dims[i][2];
    }
    int in[] = {give_bytes(s, rank, dims[0], place_of(s, b->weights)),
                scope_give(s, scope_draw(s, 2) ? OX_INT64 : OX_INT32, scope_draw(s, 3), picked, any_direct(s)),
                scope_give(s, dtype, rank, dims[1], place_of(s, b->weights)), -1};
    scope_value *indices = &s->graph.values[in[1]];
    for (int64_t i = scope_count(indices->rank, indices->dims) - 1; i >= 0; i--)
        indices->numbers[i] = (double)(scope_draw(s, 2 * (int)b->n + 2) - b->n - 1);
    if (b->zeros)
        in[3] = give_bytes(s, rank, dims[2], place_of(s, b->weights));
    scope_result(s, scope_node_of(s, "micro:GatherBlockQuantized", 4, in));
    scope_int(s, "bits", b->bits);
    scope_int(s, "block_size", b->block);
    scope_int(s, "quantize_axis", scope_draw(s, 2) ? -1 : rank - 1);
    s->graph.isa = b->isa;
    scope_check(s);
}

static void each_gather(scope *s) {
    static const int64_t ks[] = {4, 16, 20, 36, 52};
    for (int bits = 2; bits <= 8; bits *= 2)
        for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
            for (int64_t n = 1; n <= 3; n++)
                for (int way = 0; way < 2 * 2 * 2 * 3; way++) {
                    const blocks b = {bits,        way & 1, 16, n, ks[k], 0, 0, (int)(n - 1) % (s->nisa ? s->nisa : 1),
                                      way >> 1 & 1};
                    if (scope_begin(s))
                        check_gather(s, &b, way >> 2 & 1 ? 3 : 2, types[way >> 3]);
                }
}

/* ---- Blocks of DequantizeLinear -------------------------------------------------------------------------------- */

/* What reads a matrix that was made floats: its blocks lie along columns of B, or along rows of what is turned or
 * picked from. */
typedef enum reader {
    MATMUL,
    MATMUL_TURNED,
    GEMM,
    GEMM_TURNED,
    GATHER,
    READERS
} reader;

static int give_integers(scope *s, ox_dtype dtype, const int64_t *dims, scope_place place) {
    const int value = scope_give(s, dtype, 2, dims, place), bits = dtype == OX_INT8 || dtype == OX_UINT8 ? 8 : 4,
              low = dtype == OX_INT8 || dtype == OX_INT4 ? -(1 << (bits - 1)) : 0;
    for (int64_t i = scope_count(2, dims) - 1; i >= 0; i--)
        s->graph.values[value].numbers[i] = low + scope_draw(s, 1 << bits);
    return value;
}

/* A matrix of integers as floats; its blocks lie along dimension `axis`. */
static int add_floats(scope *s, const blocks *b, ox_dtype dtype, int axis) {
    const int64_t count = blocks_of(b->k, b->block), dims[] = {axis ? b->n : b->k, axis ? b->k : b->n},
                  scales[] = {axis ? b->n : count, axis ? count : b->n};
    const int in[] = {give_integers(s, dtype, dims, place_of(s, b->weights)),
                      scope_give(s, OX_FLOAT, 2, scales, place_of(s, b->weights)),
                      b->zeros ? give_integers(s, dtype, scales, place_of(s, b->weights)) : -1};
    const int out = scope_node_of(s, "DequantizeLinear", 3, in);
    scope_int(s, "axis", scope_draw(s, 2) ? axis : axis - 2);
    scope_int(s, "block_size", b->block);
    return out;
}

static int give_picked(scope *s, const blocks *b) {
    const int value = scope_give(s, OX_INT64, 1, &b->rows, any_direct(s));
    for (int64_t i = 0; i < b->rows; i++)
        s->graph.values[value].numbers[i] = scope_draw(s, 2 * (int)b->n) - (double)b->n;
    return value;
}

static void check_floats(scope *s, const blocks *b, ox_dtype dtype, reader by) {
    const bool is_turned = by == MATMUL_TURNED || by == GEMM_TURNED || by == GATHER;
    const int64_t dims[] = {2, b->rows, b->k};
    const int batch = by < GEMM && scope_draw(s, 3) == 0;
    int in[3] = {-1, -1, -1};
    s->graph.exact = true; /* products of floats and of blocks round elsewhere */
    s->graph.isa = b->isa;
    in[1] = add_floats(s, b, dtype, is_turned);
    if (scope_draw(s, 8) == 0) /* it is an output, too */
        scope_result(s, in[1]);
    if (by == MATMUL_TURNED) {
        in[1] = scope_node_of(s, "Transpose", 1, &in[1]);
        scope_ints(s, "perm", 2, (const int64_t[]){1, 0});
    }
    if (by == GATHER) {
        in[0] = in[1], in[1] = give_picked(s, b);
        scope_result(s, scope_node_of(s, "Gather", 2, in));
        scope_check(s);
        return;
    }
    in[0] = scope_give(s, OX_FLOAT, 2 + batch, dims + !batch, scope_any_place(s));
    if (by >= GEMM && scope_draw(s, 2))
        in[2] = scope_give(s, OX_FLOAT, 1, &b->n, place_of(s, 2));
    scope_result(s, scope_node_of(s, by < GEMM ? "MatMul" : "Gemm", by < GEMM ? 2 : 3, in));
    if (by == GEMM_TURNED)
        scope_int(s, "transB", 1);
    scope_check(s);
}

static void each_floats(scope *s) {
    static const ox_dtype integers[] = {OX_INT4, OX_UINT4, OX_INT8, OX_UINT8};
    static const int64_t ks[] = {1, 15, 16, 17, 40, 300}, ns[] = {1, 2, 18}, rows[] = {1, 3, 9};
    for (int way = 0; way < 4 * READERS * 2 * 2 * 2; way++)
        for (size_t i = 0; i < 6 * 3 * 3; i++) {
            const blocks b = {.zeros = way >> 1 & 1,
                              .block = 16 << (way & 1),
                              .n = ns[i / 6 % 3],
                              .k = ks[i % 6],
                              .rows = rows[i / 18],
                              .isa = (int)i % (s->nisa ? s->nisa : 1),
                              .weights = way >> 2 & 1};
            if (scope_begin(s))
                check_floats(s, &b, integers[way >> 3 & 3], (reader)(way >> 5));
        }
}

void scope_blocks(scope *s) {
    each_nbits(s);
    behind_nbits(s);
    each_codes(s);
    each_gather(s);
    each_floats(s);
}
