/* requantize_neon.h: what NEON has of the functions in requantize.h. */
#ifndef OX_LOOPS_REQUANTIZE_NEON_H
#define OX_LOOPS_REQUANTIZE_NEON_H

static inline ox_dot_lanes ox_sums_load(const void *from, int64_t count) {
    ox_dot_lanes lanes = {0};
    if (count >= OX_SUMS_LANES)
        memcpy(&lanes, from, sizeof lanes);
    else if (count > 0)
        memcpy(&lanes, from, (size_t)count * sizeof(uint32_t));
    return lanes;
}

static inline void ox_bytes_store(void *to, int64_t count, ox_dot_lanes bytes) {
    if (count >= OX_DOT_BYTES)
        memcpy(to, &bytes, sizeof bytes);
    else
        ox_copy_run(to, (const char *)&bytes, count);
}

/* What all results have in common. Unsigned bytes are computed as signed ones, 128 less. */
typedef struct ox_ending {
    float32x4_t more;
    uint8x16_t flips;
    uint16x8_t least; /* the least fraction so far */
} ox_ending;

OX_INLINED ox_ending ox_ending_of(float zero, bool is_signed) {
    return (ox_ending){vdupq_n_f32(zero - (is_signed ? 0 : 128) + 0.5F + OX_UNSURE), vdupq_n_u8(is_signed ? 0 : 0x80),
                       vdupq_n_u16(UINT16_MAX)};
}

/* Makes four vectors of sums one of bytes. Results are numbers of 16 bits and as many behind the point, half of one and
 * OX_UNSURE too great: the bits above are the rounded result unless the fraction is below twice OX_UNSURE; that of NaN
 * is 0. */
OX_INLINED uint8x16_t ox_end_sums(ox_ending *e, const uint32x4_t *sums, const float32x4_t *scales) {
    int16x8_t all[4];
    OX_UNROLLED for (int v = 0; v < 4; v++) all[v] =
        (int16x8_t)vcvtq_n_s32_f32(vfmaq_f32(e->more, vcvtq_f32_s32((int32x4_t)sums[v]), scales[v]), 16);
    const int16x8_t low = vuzp2q_s16(all[0], all[1]), high = vuzp2q_s16(all[2], all[3]);
    e->least =
        vminq_u16(e->least, vminq_u16((uint16x8_t)vuzp1q_s16(all[0], all[1]), (uint16x8_t)vuzp1q_s16(all[2], all[3])));
    return veorq_u8((uint8x16_t)vqmovn_high_s16(vqmovn_s16(low), high), e->flips);
}

/* Whether all results so far are what doubles would give. */
OX_INLINED bool ox_is_sure(const ox_ending *e) {
    return vminvq_u16(e->least) >= (uint16_t)(2 * OX_UNSURE * 0x1p16F);
}

/* ---- By integers ------------------------------------------------------------------------------------------------- */

/* A sum, so many bits up, times a factor of 31 bits, of which the upper half of twice the product is taken: 16 bits of
 * a result lie behind the point. Each of these steps saturates, and what does is beyond all bytes; they are off by less
 * than 3 of the last bit. */
#define OX_FIXED_SUMS 1
enum {
    OX_FIXED_POINT = 16,
    OX_FIXED_UNSURE = 4 /* of the last bit */
};
typedef struct ox_fixed_factor {
    uint32x4_t start, column_zero;
    int32x4_t up, factor, more; /* more: half of one and OX_FIXED_UNSURE too great, as in ox_ending */
    uint8x16_t flips;
} ox_fixed_factor;

/* False for factors to which that does not apply: NaN, and those so small or so large that a sum loses its bits. */
static inline bool ox_fixed_factor_of(const ox_requantization *how, ox_fixed_factor *f) {
    const double factor = how->row_scale * (double)*how->column_scales, size = factor < 0 ? -factor : factor;
    uint64_t bits;
    if (!(size >= 0x1p-40 && size <= 0x1p10))
        return false;
    memcpy(&bits, &size, sizeof bits);
    const int exponent = (int)(bits >> 52) - 1023;
    const uint64_t unit = (uint64_t)(30 - exponent + 1023) << 52; /* 2^(30 - exponent) */
    double scale, whole;
    memcpy(&scale, &unit, sizeof scale);
    whole = factor * scale; /* 2^30 to 2^31 */
    const int zero = (int)how->zero - (how->dtype == OX_INT8 ? 0 : 128);
    f->start = vdupq_n_u32(how->more), f->column_zero = vdupq_n_u32(how->column_zero);
    f->up = vdupq_n_s32(exponent + OX_FIXED_POINT + 1), f->factor = vdupq_n_s32((int32_t)whole);
    f->more = vdupq_n_s32((2 * zero + 1) * (1 << (OX_FIXED_POINT - 1)) + OX_FIXED_UNSURE);
    f->flips = vdupq_n_u8(how->dtype == OX_INT8 ? 0 : 0x80);
    return true;
}

/* As ox_end_sums. */
OX_INLINED uint8x16_t ox_fix_sums(const ox_fixed_factor *f, uint16x8_t *least, const uint32x4_t *sums) {
    int16x8_t all[4];
    OX_UNROLLED for (int v = 0; v < 4; v++) all[v] =
        (int16x8_t)vqaddq_s32(vqdmulhq_s32(vqshlq_s32((int32x4_t)sums[v], f->up), f->factor), f->more);
    const int16x8_t low = vuzp2q_s16(all[0], all[1]), high = vuzp2q_s16(all[2], all[3]);
    *least =
        vminq_u16(*least, vminq_u16((uint16x8_t)vuzp1q_s16(all[0], all[1]), (uint16x8_t)vuzp1q_s16(all[2], all[3])));
    return veorq_u8((uint8x16_t)vqmovn_high_s16(vqmovn_s16(low), high), f->flips);
}

OX_INLINED bool ox_is_sure_fixed(uint16x8_t least) {
    return vminvq_u16(least) >= 2 * OX_FIXED_UNSURE;
}

/* ---- By doubles -------------------------------------------------------------------------------------------------- */

/* The same by doubles, of a finite factor. */
OX_INLINED uint8x16_t ox_end_exactly(int32_t zero, bool is_signed, double factor, const uint32x4_t *sums) {
    const float64x2_t scale = vdupq_n_f64(factor);
    int16x4_t all[4];
    OX_UNROLLED for (int v = 0; v < 4; v++) {
        const float64x2_t low = vcvtq_f64_s64(vmovl_s32(vget_low_s32((int32x4_t)sums[v]))),
                          high = vcvtq_f64_s64(vmovl_high_s32((int32x4_t)sums[v]));
        const int32x4_t whole =
            vqmovn_high_s64(vqmovn_s64(vcvtnq_s64_f64(vmulq_f64(low, scale))), vcvtnq_s64_f64(vmulq_f64(high, scale)));
        all[v] = vqmovn_s32(vqaddq_s32(whole, vdupq_n_s32(zero)));
    }
    const int16x8_t low = vcombine_s16(all[0], all[1]), high = vcombine_s16(all[2], all[3]);
    return is_signed ? (uint8x16_t)vqmovn_high_s16(vqmovn_s16(low), high) : vqmovun_high_s16(vqmovun_s16(low), high);
}

static inline bool ox_quantize_sums(const ox_quantizer *q, const ox_dot_lanes *sums, const ox_floats *scales,
                                    ox_dot_lanes *to) {
    ox_ending e = ox_ending_of((float)q->zero, q->is_signed);
    *to = (ox_dot_lanes)ox_end_sums(&e, (const uint32x4_t *)sums, (const float32x4_t *)scales);
    return ox_is_sure(&e);
}

static inline void ox_turn_bytes(uint8_t *to, const uint8_t *from, int64_t count, uint8_t flip) {
    const uint8x16_t flips = vdupq_n_u8(flip);
    for (; count >= 16; count -= 16, to += 16, from += 16)
        vst1q_u8(to, veorq_u8(vld1q_u8(from), flips));
    if (flip)
        for (int64_t i = 0; i < count; i++)
            to[i] = (uint8_t)(from[i] ^ flip);
    else
        ox_copy_run((char *)to, (const char *)from, count);
}

/* Four windows see no more than a vector of bytes: their words are in order. */
static inline ox_dot_lanes ox_pick_taps(const ox_picker *p, const void *from) {
    return (ox_dot_lanes)vqtbl1q_u8(vld1q_u8(from), (uint8x16_t)p->bytes);
}

#endif
