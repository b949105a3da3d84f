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

/* Results are numbers of 16 bits and as many behind the point, half of one and OX_UNSURE too great: the bits above are
 * the rounded result unless the fraction is below twice OX_UNSURE; that of NaN is 0. Unsigned bytes are computed as
 * signed ones, 128 less. */
static inline bool ox_quantize_sums(const ox_quantizer *q, const ox_dot_lanes *sums, const ox_floats *scales,
                                    ox_dot_lanes *to) {
    const float32x4_t more = vdupq_n_f32((float)q->zero - (q->is_signed ? 0 : 128) + 0.5F + OX_UNSURE);
    const uint8x16_t flips = vdupq_n_u8(q->is_signed ? 0 : 0x80);
    const uint16_t least_sure = (uint16_t)(2 * OX_UNSURE * 0x1p16F);
    int16x8_t all[4];
    OX_UNROLLED for (int v = 0; v < 4; v++) {
        const float32x4_t number = vcvtq_f32_s32((int32x4_t)sums[v]);
        all[v] = (int16x8_t)vcvtq_n_s32_f32(vfmaq_f32(more, number, (float32x4_t)scales[v]), 16);
    }
    const int16x8_t low = vuzp2q_s16(all[0], all[1]), high = vuzp2q_s16(all[2], all[3]);
    const uint16x8_t fractions =
        vminq_u16((uint16x8_t)vuzp1q_s16(all[0], all[1]), (uint16x8_t)vuzp1q_s16(all[2], all[3]));
    *to = (ox_dot_lanes)veorq_u8((uint8x16_t)vqmovn_high_s16(vqmovn_s16(low), high), flips);
    return vminvq_u16(fractions) >= least_sure;
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
