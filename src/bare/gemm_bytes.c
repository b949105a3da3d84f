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
#if OX_MVE
    const int8_t *bytes; /* in its place where weights are signed and lie side by side, with their zero point */
    int32_t zero;
#endif
} gemm_bytes;

#if PAIRS
#define PLACE(i) (((i)&1) << 1 | (i) >> 1)

static inline void add_quad(const uint32_t *a, uint32_t word, int32_t *sum) {
    *sum = ox_both(ox_odd_bytes(word), a[1], ox_both(ox_even_bytes(word), a[0], *sum));
}

#if defined(__ARM_FEATURE_SIMD32) && defined(__OPTIMIZE__)
/* Four quads of four columns at a time, up to `end` of the first one. All registers are taken: not inlined. */
static __attribute__((noinline)) const uint32_t *multiply_quads(const uint32_t *a, const int8_t *b, const int8_t *end,
                                                                ptrdiff_t column, int32_t sums[QUAD]) {
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    uint32_t even, odd;
#define WORD_OF_ONE(at, s)                                                                                             \
    "ldr %[odd], " at "\n sxtb16 %[even], %[odd]\n sxtb16 %[odd], %[odd], ror #8\n"                                    \
    "smlad %[" s "], %[even], r0, %[" s "]\n smlad %[" s "], %[odd], r1, %[" s "]\n"
#define QUAD_OF_FOUR                                                                                                   \
    "ldmia %[a]!, {r0, r1}\n" WORD_OF_ONE("[%[b], %[column]]", "s1") WORD_OF_ONE("[%[b], %[column], lsl #1]", "s2")    \
        WORD_OF_ONE("[%[b], %[third]]", "s3") WORD_OF_ONE("[%[b]], #4", "s0")
    __asm__("1:\n" QUAD_OF_FOUR QUAD_OF_FOUR QUAD_OF_FOUR QUAD_OF_FOUR "cmp %[b], %[end]\n bne 1b\n"
            : [a] "+r"(a), [b] "+r"(b), [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [even] "=&r"(even),
              [odd] "=&r"(odd)
            : [end] "r"(end), [column] "r"(column), [third] "r"(3 * column)
            : "r0", "r1", "cc", "memory");
#undef QUAD_OF_FOUR
#undef WORD_OF_ONE
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
    return a;
}
#else
static inline const uint32_t *multiply_quads(const uint32_t *a, const int8_t *b, const int8_t *end, ptrdiff_t column,
                                             int32_t sums[QUAD]) {
    for (; b < end; b += QUAD, a += 2)
        for (int j = 0; j < QUAD; j++)
            add_quad(a, ox_word_at(b + j * column), &sums[j]);
    return a;
}
#endif

/* Sums of four columns, whose elements lie side by side, and the first ones of which are `column` bytes apart. */
static void multiply_rows(const gemm_bytes *g, const int8_t *b, ptrdiff_t column, int32_t sums[QUAD]) {
    const uint32_t *a = (const uint32_t *)(const void *)g->a, flip = g->flip;
    const ptrdiff_t most = flip ? 0 : g->k & ~(ptrdiff_t)(4 * QUAD - 1);
    ptrdiff_t k = g->k - most;
    memset(sums, 0, QUAD * sizeof *sums);
    if (most)
        a = multiply_quads(a, b, b + most, column, sums);
    for (b += most; k >= QUAD; k -= QUAD, b += QUAD, a += 2)
        for (int j = 0; j < QUAD; j++)
            add_quad(a, ox_word_at(b + j * column) ^ flip, &sums[j]);
    for (int j = 0; k && j < QUAD; j++) { /* zeros of A take off what is behind */
        uint32_t word = 0;
        memcpy(&word, b + j * column, (size_t)k);
        add_quad(a, word ^ flip, &sums[j]);
    }
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
static inline int16x8_t eight_at(const int8_t *b, mve_pred16_t there) {
    return vreinterpretq_s16_u16(vldrbq_z_u16((const uint8_t *)b, there));
}
static inline int32x4_t four_at(const int8_t *b, const bool is_signed, mve_pred16_t there) {
    return is_signed ? vldrbq_z_s32(b, there) : vreinterpretq_s32_u32(vldrbq_z_u32((const uint8_t *)b, there));
}
/* The same where all are there. */
static inline int32x4_t four(const int8_t *b, const bool is_signed) {
    return is_signed ? vldrbq_s32(b) : vreinterpretq_s32_u32(vldrbq_u32((const uint8_t *)b));
}

/* Sums of four columns, whose elements lie side by side; those from `count` on are the last one's. */
static inline int32x4_t multiply_rows(const gemm_bytes *g, const int8_t *b, ptrdiff_t count) {
    const ptrdiff_t k = g->k, column = g->column;
    const int8_t *w[QUAD] = {b};
    for (int i = 1; i < QUAD; i++)
        w[i] = w[i - 1] + (count > i ? column : 0);
    if (g->bytes)
        return ox_mve_dots(g->bytes, w, k, g->zero);
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (ptrdiff_t at = 0; at < k; at += OX_MVE_PAIRS) {
        const mve_pred16_t there = vctp16q((uint32_t)(k - at));
        const int16x8_t x = vldrhq_z_s16(g->a + at, there);
        s0 = vmladavaq_s16(s0, x, eight_at(w[0] + at, there));
        s1 = vmladavaq_s16(s1, x, eight_at(w[1] + at, there));
        s2 = vmladavaq_s16(s2, x, eight_at(w[2] + at, there));
        s3 = vmladavaq_s16(s3, x, eight_at(w[3] + at, there));
    }
    return (int32x4_t){s0, s1, s2, s3};
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
        vstrwq_s32(sums, multiply_rows(g, b, count));
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
static inline ptrdiff_t place_of(const gemm_bytes *g, ptrdiff_t i) {
    return PAIRS && g->row == 1 ? (i & ~(ptrdiff_t)(QUAD - 1)) + PLACE(i & (QUAD - 1)) : i;
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
    const bool all = g->n - j >= QUAD;
    if (g->row == 1) { /* one column four times, if there are no others */
        multiply_rows(g, b, all ? g->column : 0, sums);
        return all ? QUAD : 1;
    }
    if (all && g->column == 1) {
        multiply_four(g, b, sums);
        return QUAD;
    }
#endif
    sums[0] = multiply_one(g, b);
    return 1;
}
#endif

/* `count` sums of a row from column j on, less what zero points contribute, with their biases. */
static inline void complete(const gemm_bytes *g, ptrdiff_t j, ptrdiff_t count, int32_t *sums) {
    const char *zeros = g->zeros ? g->zeros + j * g->step : NULL;
    const ox_i32 *bias = g->bias ? g->bias + j : NULL;
    const bool is_signed = !g->flip;
    const uint32_t turn = is_signed || OX_MVE ? 0 : 128, sum = (uint32_t)g->sum;
    for (int32_t *end = sums + count; sums < end; sums++) {
        uint32_t off = 0, more = 0;
        if (zeros) {
            off = is_signed ? (uint32_t)OX_GET(ox_i8, zeros) : OX_GET(ox_u8, zeros);
            zeros += g->step;
        }
        if (bias)
            more = (uint32_t)*bias++;
        *sums = (int32_t)((uint32_t)*sums + more - (off - turn) * sum);
    }
}

#if OX_MVE
/* `count` columns from j on, of which at most four are looked at: sums whole, with biases, which may lie anywhere. */
static inline int32x4_t complete_four(const gemm_bytes *g, ptrdiff_t j, ptrdiff_t count, int32x4_t sums) {
    const mve_pred16_t there = vctp32q((uint32_t)count);
    if (g->bias)
        sums = vaddq_s32(sums, vreinterpretq_s32_u8(vldrbq_z_u8((const uint8_t *)(g->bias + j), there)));
    if (!g->zeros)
        return sums;
    const int8_t *at = (const int8_t *)g->zeros + (g->step ? j : 0);
    const int32x4_t zeros = four_at(at, !g->flip, g->step ? there : vctp32q(1));
    return vmlaq_n_s32(sums, g->step ? zeros : vdupq_n_s32(vgetq_lane_s32(zeros, 0)), -g->sum);
}

/* A row of results of columns whose elements lie side by side. */
static __attribute__((noinline)) void run_row(const gemm_bytes *row, uint8_t *to) {
    const gemm_bytes g = *row;
    const int32x4_t flip = ox_mve_flip(&g.scales);
    for (ptrdiff_t j = 0; j < g.n; j += QUAD) {
        const int32x4_t sums = multiply_rows(&g, g.b + j * g.column, g.n - j);
        ox_mve_store_channels(&g.scales, j, flip, complete_four(&g, j, g.n - j, sums), g.n - j, to + j);
    }
}
#endif

/* The same as bytes. */
static inline void finish(const gemm_bytes *g, ptrdiff_t j, ptrdiff_t count, const int32_t *sums, uint8_t *to) {
    const uint32_t flip = g->scales.flip;
    for (ptrdiff_t end = j + count; j < end; j++) {
        const ox_requantizer q = ox_requantizer_of(&g->scales, ox_factor_now(&g->scales, j));
        *to++ = (uint8_t)((uint32_t)ox_requantize_one(&q, &g->scales, j, *sums++) ^ flip);
    }
}

/* A row of A, as numbers of 16 bits less the zero point, up to whole quads. */
static void lay_row(gemm_bytes *g, const char *from, int16_t *to) {
    const bool is_signed = g->of->a_dtype == OX_INT8;
    const ptrdiff_t k = g->k;
    ptrdiff_t i = 0;
    int32_t sum = 0;
    g->a = to;
#if OX_MVE
    g->bytes = NULL;
    if (g->row == 1 && !g->flip) {
        g->zero = g->of->a_zero - (is_signed ? 0 : 128);
        g->bytes = is_signed ? (const int8_t *)from : ox_mve_turn(from, k, 0x80, (void *)to);
        sum = ox_mve_sum(g->bytes, OX_MVE_BYTES, k, 0) - (int32_t)k * g->zero;
    } else {
        ox_mve_widen(from, k, is_signed ? 0x80 : 0, g->of->a_zero + (is_signed ? 128 : 0), to);
        for (; i < k; i++)
            sum = ox_plus(sum, to[i]);
    }
#else
    const int32_t flip = is_signed ? 0 : 0x80, off = g->of->a_zero - flip; /* of bytes as signed ones */
    const ptrdiff_t room = (ptrdiff_t)ox_byte_product_room(k);
#if PAIRS
    const uint32_t flips = is_signed ? 0 : 0x80808080, offs = ox_bottoms((uint32_t)off, (uint32_t)off);
    for (uint32_t *words = (uint32_t *)(void *)to; g->row == 1 && i + QUAD <= k; i += QUAD) {
        const uint32_t word = ox_word_at(from + i) ^ flips;
        const uint32_t even = ox_less(ox_even_bytes(word), offs), odd = ox_less(ox_odd_bytes(word), offs);
        sum = ox_both(odd, 0x10001, ox_both(even, 0x10001, sum));
        *words++ = even, *words++ = odd;
    }
#endif
    for (; i < room; i++) {
        const int32_t value = i < k ? (int8_t)(from[i] ^ flip) - off : 0;
        to[place_of(g, i)] = (int16_t)value;
        sum = ox_plus(sum, value);
    }
#endif
    g->sum = sum;
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
    for (int64_t m = of->m; m > 0; m--, row += g.k, to += g.n, sum += g.n) {
        lay_row(&g, row, room);
#if OX_MVE
        if (is_scaled && g.row == 1) {
            run_row(&g, to);
            continue;
        }
#endif
        for (ptrdiff_t j = 0, count; j < g.n; j += count) {
            int32_t sums[MOST];
            count = multiply(&g, j, sums);
            complete(&g, j, count, sums);
            if (is_scaled)
                finish(&g, j, count, sums, to + j);
            else
                memcpy(sum + j, sums, (size_t)count * sizeof *sums);
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
