/* unpack_bits.c: UnpackBits. */
#include "unpack_bits.h"

#include <string.h>

#include "ops/dense.h"

#if OX_WITH_OWN_OPERATORS

#define SIGNED (OX_BIT(OX_INT4) | OX_BIT(OX_INT2))

int64_t ox_packed_row(ox_dtype dtype, int rank, const int64_t *dims) {
    const int64_t count = ox_count(rank, dims);
    if (!(OX_BIT(dtype) & OX_SET_PACKED) || count <= 0)
        return 0;
    const int each = 8 / ox_dtype_bits(dtype);
    return count % each ? 0 : count / each;
}

ox_tensor ox_unpacked_tensor(const ox_attr *attrs, int count) {
    ox_tensor t = {.dtype = OX_UNDEFINED};
    for (int i = 0; i < count; i++)
        if (attrs[i].kind == OX_ATTR_INT)
            t.dtype = (ox_dtype)attrs[i].u.i;
        else if (attrs[i].kind == OX_ATTR_INTS)
            t.rank = (int)attrs[i].count, t.dims = attrs[i].u.ints;
    return t.dims ? t : (ox_tensor){.dtype = OX_UNDEFINED};
}

/* Two of 4 bits; `sign` is the bit of their sign, 0 where they have none. */
static void unpack_pairs(unsigned sign, int64_t bytes, const uint8_t *from, uint8_t *to) {
    for (int64_t i = 0; i < bytes; i++) {
        const unsigned low = from[i] & 15, high = from[i] >> 4;
        to[2 * i] = (uint8_t)((low ^ sign) - sign);
        to[2 * i + 1] = (uint8_t)((high ^ sign) - sign);
    }
}

/* Four of 2 bits, which are spread over a word; then the signs of all four are. */
static void unpack_fours(bool is_signed, int64_t bytes, const uint8_t *from, uint8_t *to) {
    const uint32_t filled = is_signed ? 0x7e : 0;
    for (int64_t i = 0; i < bytes; i++) {
        uint32_t word = (from[i] | (uint32_t)from[i] << 12) & 0x000f000f;
        word = (word | word << 6) & 0x03030303;
        word |= (word & 0x02020202) * filled;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap32(word);
#endif
        memcpy(to + 4 * i, &word, sizeof word);
    }
}

void ox_unpack_bits(ox_dtype dtype, int64_t bytes, const uint8_t *from, uint8_t *to) {
    const bool is_signed = OX_BIT(dtype) & SIGNED;
    if (ox_dtype_bits(dtype) == 4)
        unpack_pairs(is_signed ? 8 : 0, bytes, from, to);
    else
        unpack_fours(is_signed, bytes, from, to);
}

static ox_status fail_row(ox_call *call, ox_dtype dtype, const ox_attr *dims) {
    const ox_tensor *x = call->in[0];
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s has rows of %lld bytes, which are no rows of %s %s",
                        OX_INPUT(call, 0), (long long)(x->rank ? x->dims[x->rank - 1] : 0), ox_dtype_name(dtype),
                        OX_DIMS(dims ? (int)dims->count : 0, dims ? dims->u.ints : NULL));
}

static ox_status infer(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const int64_t type = ox_call_int(call, "dtype", 0);
    const ox_attr *given = ox_call_attr(call, "dims", OX_ATTR_INTS);
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_UINT8)));
    if (type <= 0 || type >= OX_DTYPE_COUNT || !(OX_BIT(type) & OX_SET_PACKED))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'dtype' is %lld, no integer of 4 or 2 bits",
                            (long long)type);
    const int least = given && given->count <= OX_MAX_RANK ? (int)given->count - 1 : 0;
    if (least < 1 || !x->rank || x->dims[x->rank - 1] != ox_packed_row((ox_dtype)type, least, given->u.ints + 1) ||
        !x->dims[x->rank - 1])
        return fail_row(call, (ox_dtype)type, least < 1 ? NULL : given);
    const int rank = x->rank - 1 + least;
    if (rank > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the result has rank %d, more than %d", rank, OX_MAX_RANK);
    for (int d = 0; d < rank; d++)
        dims[d] = d < x->rank - 1 ? x->dims[d] : given->u.ints[d - x->rank + 2];
    return ox_call_output(call, 0, (ox_dtype)type, rank, dims);
}

typedef struct unpack_job {
    const uint8_t *from;
    uint8_t *to;
    int64_t bytes;
    ox_dtype dtype;
} unpack_job;

static void unpack_part(void *context, int part, int parts) {
    const unpack_job *job = context;
    const int each = 8 / ox_dtype_bits(job->dtype);
    int64_t first, end;
    ox_pool_range(job->bytes, part, parts, &first, &end);
    ox_unpack_bits(job->dtype, end - first, job->from + first, job->to + first * each);
}

static ox_status run(ox_call *call) {
    unpack_job job = {call->in[0]->data, call->out[0]->data, ox_tensor_count(call->in[0]), call->out[0]->dtype};
    ox_pool_run_pieces(call->pool, (double)ox_tensor_count(call->out[0]), unpack_part, &job);
    return OX_OK;
}

static ox_status prepare(ox_call *call) {
    (void)call;
    return OX_OK;
}

const ox_op ox_op_unpack_bits = {.domain = "",
                                 .name = "UnpackBits",
                                 .since = 1,
                                 .versions = 2,
                                 .min_in = 1,
                                 .max_in = 1,
                                 .min_out = 1,
                                 .max_out = 1,
                                 .dtypes = OX_BIT(OX_UINT8) | OX_SET_PACKED,
                                 .infer = infer,
                                 .prepare = prepare,
                                 .run = run};
#endif
