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

static inline bool ox_quantize_sums(const ox_quantizer *q, const ox_dot_lanes *sums, const ox_floats *scales,
                                    ox_dot_lanes *to) {
    const uint32x4_t more = vdupq_n_u32(q->more);
    const int16x8_t zero = vdupq_n_s16(q->zero);
    uint32x4_t most = more;
    int32x4_t whole[4];
    OX_UNROLLED for (int v = 0; v < 4; v++) {
        const int32x4_t sum = (int32x4_t)vaddq_u32((uint32x4_t)sums[v], more);
        const float32x4_t exact = vmulq_f32(vcvtq_f32_s32(sum), (float32x4_t)scales[v]);
        whole[v] = vcvtnq_s32_f32(exact);
        const uint32x4_t apart = (uint32x4_t)vabdq_f32(exact, vcvtq_f32_s32(whole[v]));
        most = v ? vmaxq_u32(most, apart) : apart;
    }
    const int16x8_t low = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(whole[0]), whole[1]), zero),
                    high = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(whole[2]), whole[3]), zero);
    *to = q->is_signed ? (ox_dot_lanes)vqmovn_high_s16(vqmovn_s16(low), high)
                       : (ox_dot_lanes)vqmovun_high_s16(vqmovun_s16(low), high);
    return vmaxvq_u32(most) <= OX_SURE_BITS;
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
