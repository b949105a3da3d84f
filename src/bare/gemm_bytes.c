/* gemm_bytes.c: products of bytes where weights lie, and QLinearGemm, in place of src/ops/product/matmul_own.c: a row
 * of A is widened to 16 bits less its zero point, and multiplied by the weights of each column of the result. */
#include "ops/byte_scales.h"
#include "ops/dense.h"
#include "ops/product/matmul_integer.h"

#include "mve.h"
#include "requantize.h"

enum {
    QUAD = 4,                 /* products that are added at a time */
    MOST = OX_MVE ? 16 : QUAD /* columns whose sums are computed at a time */
};

/* Products of two numbers of 16 bits, of which one word has two. */
#define PAIRS (OX_DSP && !OX_MVE)

/* ---- Products ---------------------------------------------------------------------------------------------------- */

int64_t ox_byte_product_room(int64_t k) {
    return (k + QUAD - 1) & ~(int64_t)(QUAD - 1);
}

typedef struct gemm_bytes {
    const ox_byte_product *of;
    const int8_t *b;
    const char *zeros;           /* of columns; NULL: there are none */
    ptrdiff_t step;              /* of those: 0 where all columns have the same */
    const ox_i32 *bias;          /* of columns, or NULL */
    uint32_t flip;               /* of four bytes of B, so that they are signed; Helium multiplies them as they are */
    ptrdiff_t k, n, row, column; /* the last two: bytes of B to the next element of a column, and to the next column */
    ox_channel_scales scales;
    const int16_t *a; /* a row, whose quads are in the order in which bytes are widened where B is by rows */
    int32_t sum;      /* of that */
} gemm_bytes;

#if PAIRS
#define PLACE(i) (((i)&1) << 1 | (i) >> 1)

static inline void add_quad(const uint32_t *a, uint32_t word, int32_t *sum) {
    *sum = ox_both(ox_odd_bytes(word), a[1], ox_both(ox_even_bytes(word), a[0], *sum));
}

/* Sums of two columns, whose elements lie side by side. */
static void multiply_rows(const gemm_bytes *g, const int8_t *b, const int8_t *other, int32_t sums[2]) {
    const uint32_t *a = (const uint32_t *)(const void *)g->a, flip = g->flip;
    const int8_t *end = b + (g->k & ~(ptrdiff_t)(QUAD - 1));
    const size_t rest = (size_t)g->k & (QUAD - 1);
    int32_t first = 0, second = 0;
#pragma GCC unroll 2
    for (; b < end; b += QUAD, other += QUAD, a += 2) {
        add_quad(a, ox_word_at(b) ^ flip, &first);
        add_quad(a, ox_word_at(other) ^ flip, &second);
    }
    if (rest) { /* zeros of A take off what is behind */
        uint32_t words[2] = {0, 0};
        memcpy(&words[0], b, rest);
        memcpy(&words[1], other, rest);
        add_quad(a, words[0] ^ flip, &first);
        add_quad(a, words[1] ^ flip, &second);
    }
    sums[0] = first, sums[1] = second;
}

/* Sums of four columns that lie side by side. */
static void multiply_four(const gemm_bytes *g, const int8_t *b, int32_t sums[QUAD]) {
    const uint32_t *a = (const uint32_t *)(const void *)g->a, flip = g->flip;
    const ptrdiff_t row = g->row;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (ptrdiff_t left = g->k; left > 0; left -= 2, b += 2 * row, a++) {
        const uint32_t one = ox_word_at(b) ^ flip, other = left > 1 ? ox_word_at(b + row) ^ flip : 0;
        const uint32_t even[] = {ox_even_bytes(one), ox_even_bytes(other)};
        const uint32_t odd[] = {ox_odd_bytes(one), ox_odd_bytes(other)};
        s0 = ox_both(ox_bottoms(even[0], even[1]), *a, s0);
        s1 = ox_both(ox_bottoms(odd[0], odd[1]), *a, s1);
        s2 = ox_both(ox_tops(even[0], even[1]), *a, s2);
        s3 = ox_both(ox_tops(odd[0], odd[1]), *a, s3);
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}
#else
#define PLACE(i) (i)
#endif

#if OX_MVE
/* Eight bytes, or four, of which those that are not `there` are 0. */
static inline int16x8_t eight_at(const int8_t *b, const bool is_signed, mve_pred16_t there) {
    return is_signed ? vldrbq_z_s16(b, there) : vreinterpretq_s16_u16(vldrbq_z_u16((const uint8_t *)b, there));
}
static inline int32x4_t four_at(const int8_t *b, const bool is_signed, mve_pred16_t there) {
    return is_signed ? vldrbq_z_s32(b, there) : vreinterpretq_s32_u32(vldrbq_z_u32((const uint8_t *)b, there));
}
/* The same where all are there. */
static inline int16x8_t eight(const int8_t *b, const bool is_signed) {
    return is_signed ? vldrbq_s16(b) : vreinterpretq_s16_u16(vldrbq_u16((const uint8_t *)b));
}
static inline int32x4_t four(const int8_t *b, const bool is_signed) {
    return is_signed ? vldrbq_s32(b) : vreinterpretq_s32_u32(vldrbq_u32((const uint8_t *)b));
}

/* Sums of four columns, whose elements lie side by side; those from `count` on are the last one's. */
static inline __attribute__((always_inline)) void multiply_rows(const gemm_bytes *g, const int8_t *b, ptrdiff_t count,
                                                                const bool is_signed, int32_t *sums) {
    const ptrdiff_t k = g->k, column = g->column;
    const int8_t *w0 = b, *w1 = count > 1 ? w0 + column : w0, *w2 = count > 2 ? w1 + column : w1,
                 *w3 = count > 3 ? w2 + column : w2;
    const int16_t *a = g->a;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (ptrdiff_t left = k / OX_MVE_PAIRS; left; left--) {
        const int16x8_t x = vldrhq_s16(a);
        s0 = vmladavaq_s16(s0, x, eight(w0, is_signed));
        s1 = vmladavaq_s16(s1, x, eight(w1, is_signed));
        s2 = vmladavaq_s16(s2, x, eight(w2, is_signed));
        s3 = vmladavaq_s16(s3, x, eight(w3, is_signed));
        a += OX_MVE_PAIRS, w0 += OX_MVE_PAIRS, w1 += OX_MVE_PAIRS, w2 += OX_MVE_PAIRS, w3 += OX_MVE_PAIRS;
    }
    if (k & (OX_MVE_PAIRS - 1)) {
        const mve_pred16_t there = vctp16q((uint32_t)(k & (OX_MVE_PAIRS - 1)));
        const int16x8_t x = vldrhq_z_s16(a, there);
        s0 = vmladavaq_s16(s0, x, eight_at(w0, is_signed, there));
        s1 = vmladavaq_s16(s1, x, eight_at(w1, is_signed, there));
        s2 = vmladavaq_s16(s2, x, eight_at(w2, is_signed, there));
        s3 = vmladavaq_s16(s3, x, eight_at(w3, is_signed, there));
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

/* Sums of sixteen columns that lie side by side, and of up to four. */
static inline __attribute__((always_inline)) void multiply_sixteen(const gemm_bytes *g, const int8_t *b,
                                                                   const bool is_signed, int32_t *sums) {
    const ptrdiff_t row = g->row;
    const int16_t *a = g->a;
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0;
    for (ptrdiff_t left = g->k; left; left--, b += row) {
        const int32_t x = *a++;
        s0 = vmlaq_n_s32(s0, four(b, is_signed), x);
        s1 = vmlaq_n_s32(s1, four(b + 4, is_signed), x);
        s2 = vmlaq_n_s32(s2, four(b + 8, is_signed), x);
        s3 = vmlaq_n_s32(s3, four(b + 12, is_signed), x);
    }
    vstrwq_s32(sums, s0), vstrwq_s32(sums + 4, s1), vstrwq_s32(sums + 8, s2), vstrwq_s32(sums + 12, s3);
}
static inline __attribute__((always_inline)) void multiply_four(const gemm_bytes *g, const int8_t *b, ptrdiff_t count,
                                                                const bool is_signed, int32_t *sums) {
    const mve_pred16_t there = vctp32q((uint32_t)count);
    int32x4_t of = vdupq_n_s32(0);
    for (ptrdiff_t i = 0; i < g->k; i++, b += g->row)
        of = vmlaq_n_s32(of, four_at(b, is_signed, there), g->a[i]);
    vstrwq_s32(sums, of);
}

/* Sums from column j on; how many. */
static inline __attribute__((always_inline)) ptrdiff_t multiply_some(const gemm_bytes *g, ptrdiff_t j,
                                                                     const bool is_signed, int32_t *sums) {
    const int8_t *b = g->b + j * g->column;
    const ptrdiff_t left = g->n - j, count = left < QUAD ? left : QUAD;
    if (g->row == 1)
        multiply_rows(g, b, count, is_signed, sums);
    else if (left >= MOST)
        multiply_sixteen(g, b, is_signed, sums);
    else
        multiply_four(g, b, count, is_signed, sums);
    return g->row != 1 && left >= MOST ? MOST : count;
}
static ptrdiff_t multiply(const gemm_bytes *g, ptrdiff_t j, int32_t sums[MOST]) {
    return g->flip ? multiply_some(g, j, false, sums) : multiply_some(g, j, true, sums);
}
#else
/* Where element i of a row of A goes. */
static ptrdiff_t place_of(const gemm_bytes *g, ptrdiff_t i) {
    return g->row == 1 ? (i & ~(ptrdiff_t)(QUAD - 1)) + PLACE(i & (QUAD - 1)) : i;
}

static int32_t multiply_one(const gemm_bytes *g, const int8_t *b) {
    int32_t sum = 0;
    for (ptrdiff_t i = 0; i < g->k; i++, b += g->row)
        sum = ox_plus(sum, g->a[place_of(g, i)] * (int8_t)(*b ^ (int8_t)g->flip));
    return sum;
}

/* Sums from column j on; how many. */
static ptrdiff_t multiply(const gemm_bytes *g, ptrdiff_t j, int32_t sums[MOST]) {
    const int8_t *b = g->b + j * g->column;
#if PAIRS
    if (g->row == 1) {
        const bool both = j + 1 < g->n;
        multiply_rows(g, b, both ? b + g->column : b, sums);
        return both ? 2 : 1;
    }
    if (g->column == 1 && g->n - j >= QUAD) {
        multiply_four(g, b, sums);
        return QUAD;
    }
#endif
    sums[0] = multiply_one(g, b);
    return 1;
}
#endif

/* Sum j of a row less what zero points contribute, with its bias. */
static int32_t whole_sum(const gemm_bytes *g, ptrdiff_t j, int32_t sum) {
    const char *at = g->zeros + j * g->step;
    const int32_t zero = !g->zeros ? 0 : g->flip ? (int32_t)OX_GET(ox_u8, at) : (int32_t)OX_GET(ox_i8, at);
    const uint32_t more = g->bias ? (uint32_t)g->bias[j] : 0, off = (uint32_t)(zero - (g->flip && !OX_MVE ? 128 : 0));
    return (int32_t)((uint32_t)sum + more - off * (uint32_t)g->sum);
}

static uint8_t finish(const gemm_bytes *g, ptrdiff_t j, int32_t sum) {
    const ox_requantizer q = ox_requantizer_of(&g->scales, ox_factor_of(&g->scales, j));
    return (uint8_t)((uint32_t)ox_requantize_one(&q, &g->scales, j, sum) ^ g->scales.flip);
}

/* A row of A. */
static void lay_row(gemm_bytes *g, const char *from, int16_t *to) {
    const bool is_signed = g->of->a_dtype == OX_INT8;
    g->a = to;
    g->sum = 0;
#if OX_MVE
    ox_mve_widen(from, g->k, is_signed ? 0x80 : 0, g->of->a_zero + (is_signed ? 128 : 0), to);
    for (ptrdiff_t i = 0; i < g->k; i++)
        g->sum = ox_plus(g->sum, to[i]);
#else
    const ptrdiff_t room = (ptrdiff_t)ox_byte_product_room(g->k);
    for (ptrdiff_t i = 0; i < room; i++) {
        int32_t value = 0;
        if (i < g->k)
            value = (is_signed ? (int32_t)OX_GET(ox_i8, from + i) : (int32_t)OX_GET(ox_u8, from + i)) - g->of->a_zero;
        to[place_of(g, i)] = (int16_t)value;
        g->sum = ox_plus(g->sum, value);
    }
#endif
}

void ox_byte_product_run(const ox_byte_product *of, bool is_scaled, const void *a, const void *b, void *y, void *room) {
    gemm_bytes g = {.of = of,
                    .b = b,
                    .zeros = of->b_zeros ? of->b_zeros->data : NULL,
                    .step = of->b_zeros && ox_tensor_count(of->b_zeros) > 1,
                    .bias = of->bias ? of->bias->data : NULL,
                    .flip = of->b_dtype == OX_INT8 ? 0 : 0x80808080,
                    .k = (ptrdiff_t)of->k,
                    .n = (ptrdiff_t)of->n};
    g.row = of->by_rows ? 1 : g.n;
    g.column = of->by_rows ? g.k : 1;
    if (is_scaled)
        g.scales = ox_channel_scales_of(of->a_scale, of->b_scales, of->y_scale, true, of->y_dtype, of->y_zero);
    uint8_t *to = y;
    ox_i32 *sum = y;
    const char *row = a;
    for (int64_t m = of->m; m > 0; m--, row += g.k) {
        lay_row(&g, row, room);
        for (ptrdiff_t j = 0, count; j < g.n; j += count) {
            int32_t sums[MOST];
            count = multiply(&g, j, sums);
            for (ptrdiff_t i = 0; i < count; i++) {
                const int32_t whole = whole_sum(&g, j + i, sums[i]);
                if (is_scaled)
                    *to++ = finish(&g, j + i, whole);
                else
                    *sum++ = whole;
            }
        }
    }
}

/* ---- QLinearGemm ------------------------------------------------------------------------------------------------- */

#if OX_WITH_BYTE_GEMMS
enum {
    A,
    A_SCALE,
    A_ZERO,
    B,
    B_SCALE,
    B_ZERO,
    Y_SCALE,
    Y_ZERO,
    BIAS
};

/* Weights are [n,k], as Gemm's attribute transB says, or [k,n]. */
static bool is_by_rows(ox_call *call) {
    return ox_call_int(call, "transB", 0) != 0;
}

static int64_t columns_of(ox_call *call) {
    return call->in[B]->dims[is_by_rows(call) ? 0 : 1];
}

/* One value, or one for each column of the result, if they are given. */
static ox_status check_entries(ox_call *call, int i, ox_dtypes dtypes) {
    if (!ox_call_given(call, i))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, i, dtypes));
    const int64_t count = ox_tensor_count(call->in[i]), columns = columns_of(call);
    if (call->in[i]->rank <= 1 && (count == columns || (count == 1 && i != BIAS)))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have an entry for each column of %s", OX_INPUT(call, i),
                        OX_INPUT(call, B));
}

static ox_status infer(ox_call *call) {
    OX_TRY(ox_check_bytes(call, A));
    OX_TRY(ox_check_bytes_out(call, Y_SCALE));
    OX_TRY(ox_call_check_dtype(call, B, OX_BYTE_TYPES));
    const ox_tensor *a = call->in[A], *b = call->in[B];
    if (a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[is_by_rows(call) ? 1 : 0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must be matrices of as many columns as rows",
                            OX_INPUT(call, A), OX_INPUT(call, B));
    OX_TRY(check_entries(call, B_SCALE, OX_BIT(OX_FLOAT)));
    OX_TRY(check_entries(call, B_ZERO, OX_BIT(b->dtype)));
    OX_TRY(check_entries(call, BIAS, OX_BIT(OX_INT32)));
    return ox_call_output(call, 0, call->in[Y_ZERO]->dtype, 2, (const int64_t[]){a->dims[0], columns_of(call)});
}

static ox_status prepare(ox_call *call) {
    return ox_workspace_add(call, ox_byte_product_room(call->in[A]->dims[1]), sizeof(int16_t));
}

static ox_status run(ox_call *call) {
    const ox_tensor *a = call->in[A], *b = call->in[B];
    const ox_byte_scale from = ox_byte_scale_of(call, a->dtype, A_SCALE);
    const ox_byte_scale y = ox_byte_scale_of(call, call->out[0]->dtype, Y_SCALE);
    const ox_byte_product product = {.a_dtype = a->dtype,
                                     .b_dtype = b->dtype,
                                     .y_dtype = call->out[0]->dtype,
                                     .by_rows = is_by_rows(call),
                                     .m = a->dims[0],
                                     .n = columns_of(call),
                                     .k = a->dims[1],
                                     .a_zero = from.zero,
                                     .y_zero = y.zero,
                                     .a_scale = from.scale,
                                     .y_scale = y.scale,
                                     .b_scales = call->in[B_SCALE],
                                     .b_zeros = ox_call_given(call, B_ZERO) ? call->in[B_ZERO] : NULL,
                                     .bias = ox_call_given(call, BIAS) ? call->in[BIAS] : NULL};
    size_t used = 0;
    int16_t *room = ox_workspace_take(call, &used, ox_byte_product_room(product.k), sizeof *room);
    ox_byte_product_run(&product, true, a->data, b->data, call->out[0]->data, room);
    return OX_OK;
}

const ox_op ox_op_qlinear_gemm = {.domain = "",
                                  .name = "QLinearGemm",
                                  .since = 21,
                                  .versions = (uint64_t)1 << 21,
                                  .min_in = 8,
                                  .max_in = 9,
                                  .min_out = 1,
                                  .max_out = 1,
                                  .dtypes = OX_BYTE_TYPES,
                                  .infer = infer,
                                  .prepare = prepare,
                                  .run = run,
                                  .flags = OX_OP_QUANTIZED | OX_OP_GAPS};
#endif
