/* integer_loops.c: what surrounds products of bytes, and their making of floats. Built once for each kind of processor.
 */
#include "lane_loops.h"
#include "requantize.h"

enum {
    BAND = 1024 /* columns whose sums stay in the first-level cache */
};

/* ---- Sums --------------------------------------------------------------------------------------------------- */

static inline uint32_t sum_column(const u8 *from, int64_t row, int64_t k, uint8_t flip) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += (uint8_t)(from[i * row] ^ flip);
    return sum;
}

/* Packed rows: some columns at a time. */
static void sum_rows(const u8 *from, int64_t row, int64_t k, int64_t n, uint8_t flip, uint32_t *sums) {
    for (int64_t first = 0; first < n; first += BAND) {
        const int64_t end = n - first < BAND ? n : first + BAND;
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = first; j < end; j++)
                sums[j] += (uint8_t)(from[i * row + j] ^ flip);
    }
}

/* Signed bytes are moved by 128 and summed as unsigned ones. */
static void sum_bytes(const ox_gemm_matrix *matrix, int64_t k, int64_t n, uint32_t more, uint32_t *sums) {
    const uint8_t flip = matrix->dtype == OX_INT8 ? 0x80 : 0;
    const u8 *from = matrix->data;
    for (int64_t j = 0; j < n; j++)
        sums[j] = more - flip * (uint32_t)k;
    if (matrix->col == 1)
        sum_rows(from, matrix->row, k, n, flip, sums);
    else
        for (int64_t j = 0; j < n; j++, from += matrix->col)
            sums[j] += matrix->row == 1 ? sum_column(from, 1, k, flip) : sum_column(from, matrix->row, k, flip);
}

/* ---- Zero points -------------------------------------------------------------------------------------------- */

/* sums[j] -= factor * values[j * step] */
static inline void subtract(int64_t n, uint32_t factor, const uint32_t *values, int64_t step, u32 *sums) {
    for (int64_t j = 0; j < n; j++)
        sums[j] -= factor * values[j * step];
}

static void offset(int64_t n, const ox_zero_points *z, char *row) {
    u32 *sums = (u32 *)(void *)row;
    if (z->column_sums && z->row_zero)
        subtract(n, z->row_zero, z->column_sums, 1, sums);
    if (z->column_zeros && z->step)
        subtract(n, z->row_sum, z->column_zeros, 1, sums);
    else if (z->column_zeros)
        subtract(n, z->row_sum * *z->column_zeros, (const uint32_t[]){1}, 0, sums);
}

/* ---- Requantization ----------------------------------------------------------------------------------------- */

#ifdef OX_SUMS_AT_ONCE
/* The words at an address, of which there are `left`, all that a vector has if it is whole. */
OX_INLINED ox_dot_lanes load_words(bool is_whole, const void *from, int64_t left) {
    ox_dot_lanes words;
    if (!is_whole)
        return ox_sums_load(from, left);
    memcpy(&words, from, sizeof words);
    return words;
}

/* OX_SUMS_AT_ONCE sums at an address, or the `left` ones of these that are there, plus `more`. */
OX_INLINED void load_sums(bool is_whole, const ox_i32 *from, int64_t left, uint32_t more, ox_dot_lanes *sums) {
    OX_UNROLLED for (int v = 0; v < 4; v++) sums[v] =
        more + load_words(is_whole, from + v * OX_SUMS_LANES, left - v * OX_SUMS_LANES);
}

/* Kept out of the loops that call it seldom. */
static __attribute__((noinline)) void requantize_exactly(int64_t n, const ox_requantization *how, const ox_f32 *factors,
                                                         const ox_dot_lanes *sums, char *bytes) {
    ox_requantization part = *how;
    part.more = 0, part.column_scales = factors;
    ox_requantize_exactly(n, &part, (const ox_i32 *)(const void *)sums, (uint8_t *)bytes);
}

typedef enum factor_kind {
    ONE_FACTOR,
    OWN_FACTORS,  /* each column has its own */
    PROVEN_FACTOR /* one, of which floats are known to round as doubles */
} factor_kind;

/* Some columns of a row: `count` of them are left, at most or, where they are whole, at least OX_SUMS_AT_ONCE. */
typedef struct columns {
    bool is_whole;
    factor_kind kind;
    int64_t count;
    const ox_requantization *how;
    const ox_f32 *factors;
    char *bytes;
} columns;

OX_INLINED void requantize_some(const columns c, const ox_quantizer *q, ox_floats scale, const ox_dot_lanes *sums) {
    ox_floats scales[4] = {scale, scale, scale, scale};
    ox_dot_lanes result;
    if (c.kind == PROVEN_FACTOR) {
        result = ox_quantize_proven(q, sums);
        OX_ASSERT(ox_are_bytes_of(c.how, c.count, sums, &result));
        ox_bytes_store(c.bytes, c.is_whole ? OX_SUMS_AT_ONCE : c.count, result);
        return;
    }
    if (c.kind == OWN_FACTORS)
        OX_UNROLLED for (int v = 0; v < 4; v++) scales[v] =
            q->scale * (ox_floats)load_words(c.is_whole, c.factors + v * OX_SUMS_LANES, c.count - v * OX_SUMS_LANES);
    if (ox_quantize_sums(q, sums, scales, &result))
        ox_bytes_store(c.bytes, c.is_whole ? OX_SUMS_AT_ONCE : c.count, result);
    else
        requantize_exactly(LESS_OF(c.count, OX_SUMS_AT_ONCE), c.how, c.factors, sums, c.bytes);
}

/* The last sums are loaded before bytes are written over them: they are gone over from where a whole number of vectors
 * is left. */
OX_INLINED void requantize_row(const factor_kind kind, int64_t n, const ox_requantization *how, const ox_i32 *sums,
                               char *bytes) {
    const ox_quantizer q = ox_quantizer_of(how);
    const ox_f32 *factors = how->column_scales;
    const ox_floats scale = q.scale * *factors - (ox_floats){0};
    const int64_t last = n - OX_SUMS_AT_ONCE, step = kind == OWN_FACTORS ? 1 : 0;
    const uint32_t more = how->more - (kind == PROVEN_FACTOR ? how->proven.less : 0);
    ox_dot_lanes some[4], end[4];
    if (last < 0) {
        load_sums(false, sums, n, more, some);
        requantize_some((columns){false, kind, n, how, factors, bytes}, &q, scale, some);
        return;
    }
    load_sums(true, sums + last, OX_SUMS_AT_ONCE, more, end);
    for (int64_t j = 0; j < last; j += OX_SUMS_AT_ONCE) {
        load_sums(true, sums + j, OX_SUMS_AT_ONCE, more, some);
        requantize_some((columns){true, kind, OX_SUMS_AT_ONCE, how, factors + j * step, bytes + j}, &q, scale, some);
    }
    requantize_some((columns){true, kind, OX_SUMS_AT_ONCE, how, factors + last * step, bytes + last}, &q, scale, end);
}

#ifdef OX_FIXED_SUMS
/* ---- The same by integers ------------------------------------------------------------------------------------ */

enum {
    FIXED_VECTORS = 4, /* of bytes, that are made together */
    FIXED_SUMS = FIXED_VECTORS * OX_SUMS_AT_ONCE
};

/* Sums from a column of a row on, and where their bytes go. */
typedef struct fixed_sums {
    const ox_u32 *sums, *columns;
    char *bytes;
} fixed_sums;

static fixed_sums sums_from(const fixed_sums *s, int64_t column) {
    return (fixed_sums){s->sums + column, s->columns ? s->columns + column : NULL, s->bytes + column};
}

/* The sums that become one vector of bytes, less what columns take off. */
OX_INLINED void load_fixed(const bool has_columns, const ox_fixed_factor *f, const fixed_sums *s, uint32x4_t *sums) {
    OX_UNROLLED for (int i = 0; i < 4; i++) {
        sums[i] = vaddq_u32(vld1q_u32((const uint32_t *)s->sums + i * OX_SUMS_LANES), f->start);
        if (has_columns)
            sums[i] = vmlsq_u32(sums[i], vld1q_u32((const uint32_t *)s->columns + i * OX_SUMS_LANES), f->column_zero);
    }
}

/* Kept out of the loops that call it seldom. */
static __attribute__((noinline)) void fix_exactly(const ox_requantization *how, const ox_fixed_factor *f,
                                                  const fixed_sums *s) {
    uint32x4_t sums[4];
    if (s->columns)
        load_fixed(true, f, s, sums);
    else
        load_fixed(false, f, s, sums);
    vst1q_u8((uint8_t *)s->bytes, ox_end_exactly((int32_t)how->zero, how->dtype == OX_INT8,
                                                 how->row_scale * (double)*how->column_scales, sums));
}

/* Writes vectors of bytes, or none if one of them may have to be another. */
OX_INLINED bool fix_vectors(const bool has_columns, const int vectors, const ox_fixed_factor *f, const fixed_sums *s) {
    uint16x8_t least = vdupq_n_u16(UINT16_MAX);
    uint8x16_t bytes[FIXED_VECTORS];
    OX_UNROLLED for (int v = 0; v < vectors; v++) {
        const fixed_sums some = sums_from(s, v * OX_SUMS_AT_ONCE);
        uint32x4_t sums[4];
        load_fixed(has_columns, f, &some, sums);
        bytes[v] = ox_fix_sums(f, &least, sums);
    }
    if (!ox_is_sure_fixed(least))
        return false;
    OX_UNROLLED for (int v = 0; v < vectors; v++) vst1q_u8((uint8_t *)s->bytes + v * OX_SUMS_AT_ONCE, bytes[v]);
    return true;
}

OX_INLINED void fix_vector(const bool has_columns, const ox_requantization *how, const ox_fixed_factor *f,
                           const fixed_sums *s) {
    if (!fix_vectors(has_columns, 1, f, s))
        fix_exactly(how, f, s);
}

/* Of at least OX_SUMS_AT_ONCE sums; the last ones as in requantize_row. */
OX_INLINED void fix_row(const bool has_columns, int64_t n, const ox_requantization *how, const ox_fixed_factor *f,
                        const fixed_sums *s) {
    const int64_t last = n - OX_SUMS_AT_ONCE;
    fixed_sums end = sums_from(s, last);
    ox_u32 room[OX_SUMS_AT_ONCE];
    memcpy(room, end.sums, sizeof room);
    end.sums = room;
    int64_t j = 0;
    for (; j + FIXED_SUMS <= n; j += FIXED_SUMS) {
        const fixed_sums at = sums_from(s, j);
        if (fix_vectors(has_columns, FIXED_VECTORS, f, &at))
            continue;
        for (int64_t i = 0; i < FIXED_SUMS; i += OX_SUMS_AT_ONCE) {
            const fixed_sums some = sums_from(&at, i);
            fix_vector(has_columns, how, f, &some);
        }
    }
    for (; j < last; j += OX_SUMS_AT_ONCE) {
        const fixed_sums some = sums_from(s, j);
        fix_vector(has_columns, how, f, &some);
    }
    if (j < n)
        fix_vector(has_columns, how, f, &end);
}

/* False if they are left to others. */
static bool requantize_fixed(int64_t n, const ox_requantization *how, const char *sums, char *bytes) {
    ox_fixed_factor fixed;
    if (n < OX_SUMS_AT_ONCE || how->step || !ox_fixed_factor_of(how, &fixed))
        return false;
    const fixed_sums s = {(const ox_u32 *)(const void *)sums, (const ox_u32 *)(const void *)how->column_sums, bytes};
    if (s.columns)
        fix_row(true, n, how, &fixed, &s);
    else
        fix_row(false, n, how, &fixed, &s);
    return true;
}
#else
static bool requantize_fixed(int64_t n, const ox_requantization *how, const char *sums, char *bytes) {
    (void)n, (void)how, (void)sums, (void)bytes;
    return false;
}
#endif

/* Bytes may be written over sums. */
static void requantize(int64_t n, const ox_requantization *how, char *row, char *bytes) {
    const ox_i32 *sums = (const ox_i32 *)(const void *)row;
    if (requantize_fixed(n, how, row, bytes))
        return;
    if (how->column_sums)
        subtract(n, how->column_zero, how->column_sums, 1, (u32 *)(void *)row);
    if (OX_PROVING && how->proven.factor > 0)
        requantize_row(PROVEN_FACTOR, n, how, sums, bytes);
    else if (!ox_quantizer_of(how).is_sure)
        ox_requantize_exactly(n, how, sums, (uint8_t *)bytes);
    else if (how->step)
        requantize_row(OWN_FACTORS, n, how, sums, bytes);
    else
        requantize_row(ONE_FACTOR, n, how, sums, bytes);
}

/* ---- Proofs that floats round as doubles ------------------------------------------------------------------------ */

#if OX_PROVING
enum {
    MIDDLES = 256 /* between the results that a byte holds, and one more, for whole vectors */
};
#define LEAST_FACTOR 0x1p-13 /* floats, three times rounded below 2^8, are off by less than half of that */
#define MOST_FACTOR 0.5

/* Whether the sums next to the middles between results become the same bytes by floats as by doubles. Numbers that are
 * added and taken off round to whole ones. */
static bool rounds_alike(const ox_proven *p, double factor, double zero) {
    const double magic = 0x1.8p52, each = 1 / factor, less = (int32_t)p->less;
    const float float_magic = 0x1.8p23F;
    int32_t differ = 0;
    for (int i = 0; i < MIDDLES; i++) {
        const double sum = ((i + 0.5 + INT8_MIN - zero) * each + magic) - magic;
        const float value = (fmaf((float)(sum - less), p->factor, p->rest) + float_magic) - float_magic;
        const int32_t right = (int32_t)((sum * factor + magic) - magic + zero), by_float = (int32_t)value;
        differ |= LESS_OF(MORE_OF(right, INT8_MIN), INT8_MAX) ^ LESS_OF(MORE_OF(by_float, INT8_MIN), INT8_MAX);
    }
    return !differ;
}

/* Results of both kinds grow with sums. So they are the same for all sums if they are for the two around each middle
 * between results; and of these the farther one is half a factor away from it, more than floats are off. */
static ox_proven prove(const ox_requantization *how, int64_t most) {
    const double factor = how->row_scale * (double)*how->column_scales;
    const double zero = how->zero - (how->dtype == OX_INT8 ? 0 : 128);
    if (how->step || !(factor >= LEAST_FACTOR && factor <= MOST_FACTOR))
        return (ox_proven){0};
    const double less = rint(-zero / factor);
    if ((double)most + fabs(less) > INT32_MAX) /* no sum wraps */
        return (ox_proven){0};
    const float factors[] = {(float)factor, nextafterf((float)factor, 0), nextafterf((float)factor, 1)};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        const ox_proven p = {factors[i], (float)(less * factor + zero), (uint32_t)(int32_t)less};
        if (rounds_alike(&p, factor, zero))
            return p;
    }
    return (ox_proven){0};
}
#endif
#else
static void requantize(int64_t n, const ox_requantization *how, char *row, char *bytes) {
    if (how->column_sums)
        subtract(n, how->column_zero, how->column_sums, 1, (u32 *)(void *)row);
    ox_requantize_exactly(n, how, (const ox_i32 *)(const void *)row, (uint8_t *)bytes);
}
#endif

#if !defined(OX_PROVING) || !OX_PROVING
static ox_proven prove(const ox_requantization *how, int64_t most) {
    (void)how, (void)most;
    return (ox_proven){0};
}
#endif

/* ---- Quantization ------------------------------------------------------------------------------------------- */

static void quantize(int64_t n, float scale, float zero, const char *floats, char *bytes) {
    const f32 *x = (const f32 *)(const void *)floats;
    u8 *o = (u8 *)bytes;
    FOR_N {
        float value = rintf(x[i] / scale) + zero;
        value = value > 0 ? value : 0;
        value = value < 255 ? value : 255;
        o[i] = (u8)(int32_t)value;
    }
}

const ox_integer_loops OX_VARIANT(ox_integer_loops) = {sum_bytes, offset, requantize, prove, quantize};
