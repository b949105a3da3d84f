/* byte_loops.c: arithmetic of quantized bytes, and sums of neighbouring bytes. Built once for each kind of processor.
 */
#include "byte_loops.h"
#include "lane_loops.h"

extern const ox_byte_loops OX_VARIANT(ox_byte_loops);

/* ---- Arithmetic --------------------------------------------------------------------------------------------- */

/* Added, it leaves a float of moderate size rounded to a whole number in the lower bits. */
#define MAGIC 0x1.8p23F

/* An operand as unsigned bytes. */
typedef struct operand {
    const u8 *bytes;
    uint8_t flip;
    int32_t zero;
    float scale;
} operand;

static operand operand_of(const ox_byte_scale *scale, const char *bytes) {
    return (operand){(const u8 *)bytes, scale->is_signed ? 0x80 : 0, scale->zero + (scale->is_signed ? 128 : 0),
                     scale->scale};
}

OX_INLINED float number_of(const operand *from, int64_t i) {
    return (float)((int32_t)(from->bytes[i] ^ from->flip) - from->zero) * from->scale;
}

OX_INLINED float result_of(ox_byte_operation operation, float a, float b) {
    switch (operation) {
    case OX_BYTES_ADD:
        return a + b;
    case OX_BYTES_SUB:
        return a - b;
    case OX_BYTES_MUL:
        return a * b;
    default:
        return a / b;
    }
}

/* Limits are whole numbers, so that what is beyond them may be brought to them before it is rounded. */
OX_INLINED void apply(ox_byte_operation operation, int64_t n, const ox_byte_scale *to, operand a, int64_t a_step,
                      operand b, int64_t b_step, u8 *y) {
    const uint8_t flip = to->is_signed ? 0x80 : 0;
    const int32_t zero = to->zero + (to->is_signed ? 128 : 0);
    const float scale = to->scale, low = (float)-zero, high = (float)(255 - zero);
    FOR_N {
        float value = result_of(operation, number_of(&a, i * a_step), number_of(&b, i * b_step)) / scale;
        value = value > low ? value : low;
        value = (value < high ? value : high) + MAGIC;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        y[i] = (uint8_t)((uint8_t)(bits + (uint32_t)zero) ^ flip);
    }
}

OX_INLINED void apply_all(ox_byte_operation operation, int64_t n, const ox_byte_scale *to, const operand *a,
                          int64_t a_step, const operand *b, int64_t b_step, u8 *y) {
    if (!b_step)
        apply(operation, n, to, *a, 1, *b, 0, y);
    else if (!a_step)
        apply(operation, n, to, *a, 0, *b, 1, y);
    else
        apply(operation, n, to, *a, 1, *b, 1, y);
}

static void arithmetic(int64_t n, const ox_byte_arithmetic *how, const char *a, int64_t a_step, const char *b,
                       int64_t b_step, char *y) {
    const operand left = operand_of(&how->a, a), right = operand_of(&how->b, b);
    u8 *to = (u8 *)y;
    switch (how->operation) {
    case OX_BYTES_ADD:
        apply_all(OX_BYTES_ADD, n, &how->y, &left, a_step, &right, b_step, to);
        break;
    case OX_BYTES_SUB:
        apply_all(OX_BYTES_SUB, n, &how->y, &left, a_step, &right, b_step, to);
        break;
    case OX_BYTES_MUL:
        apply_all(OX_BYTES_MUL, n, &how->y, &left, a_step, &right, b_step, to);
        break;
    default:
        apply_all(OX_BYTES_DIV, n, &how->y, &left, a_step, &right, b_step, to);
    }
}

/* ---- Sums --------------------------------------------------------------------------------------------------- */

#if defined(__AVX512BW__)
static uint64_t sum_run(int64_t n, const char *bytes, uint8_t flip) {
    const __m512i flips = _mm512_set1_epi8((char)flip);
    __m512i sums = _mm512_setzero_si512();
    for (int64_t i = 0; i < n; i += 64) {
        const __mmask64 inside = n - i >= 64 ? ~0ULL : (1ULL << (n - i)) - 1;
        const __m512i some = _mm512_xor_si512(_mm512_maskz_loadu_epi8(inside, bytes + i), flips);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(_mm512_maskz_mov_epi8(inside, some), _mm512_setzero_si512()));
    }
    return (uint64_t)_mm512_reduce_add_epi64(sums);
}
#else
enum {
    RUN = 1 << 16 /* bytes whose sum is far from 2^32 */
};

OX_INLINED uint32_t sum_few(int64_t n, const u8 *from, uint8_t flip) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (uint8_t)(from[i] ^ flip);
    return sum;
}

static uint64_t sum_run(int64_t n, const char *bytes, uint8_t flip) {
    uint64_t sum = 0;
    for (int64_t i = 0, some; i < n; i += some) {
        some = LESS_OF(n - i, RUN);
        sum += sum_few(some, (const u8 *)bytes + i, flip);
    }
    return sum;
}
#endif

static void add(int64_t n, const char *bytes, uint8_t flip, uint32_t *sums) {
    const u8 *from = (const u8 *)bytes;
    FOR_N sums[i] += (uint8_t)(from[i] ^ flip);
}

OX_INLINED void slide_by(int64_t n, uint32_t *restrict to, const uint32_t *restrict from, int64_t stride, int64_t taps,
                         int64_t dilation) {
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i * stride];
    for (int64_t k = 1; k < taps; k++)
        for (int64_t i = 0; i < n; i++)
            to[i] += from[i * stride + k * dilation];
}

static void slide(int64_t n, uint32_t *to, const uint32_t *from, int64_t stride, int64_t taps, int64_t dilation) {
    if (stride == 1)
        slide_by(n, to, from, 1, taps, dilation);
    else if (stride == 2)
        slide_by(n, to, from, 2, taps, dilation);
    else
        slide_by(n, to, from, stride, taps, dilation);
}

const ox_byte_loops OX_VARIANT(ox_byte_loops) = {arithmetic, sum_run, add, slide};
