/* matmul_blocks_shape.c: MatMulNBits and MatMulBnb4: what their inputs and attributes must agree on. */
#include "matmul_blocks.h"
#include "ops/blocks.h"

#include <string.h>

/* Checks that an input has one of two shapes. */
static ox_status check_dims(ox_call *call, int i, int rank, const int64_t *dims, int other_rank, const int64_t *other) {
    const ox_tensor *t = call->in[i];
    if (ox_same_dims(t->rank, t->dims, rank, dims) || ox_same_dims(t->rank, t->dims, other_rank, other))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s by N, K, bits and block_size", OX_INPUT(call, i),
                        OX_DIMS(rank, dims));
}

/* A matrix with a row for each of N, or the same as a list. */
static ox_status check_rows(ox_call *call, int i, int64_t n, int64_t each) {
    const int64_t dims[] = {n, each};
    int64_t count;
    if (!ox_mul_i64(n, each, &count))
        return ox_call_fail(call, OX_ERROR_LIMIT, "N and K are too large for this machine");
    return check_dims(call, i, 2, dims, 1, &count);
}

static ox_status check_list(ox_call *call, int i, int64_t count, int64_t other) {
    return ox_call_given(call, i) ? check_dims(call, i, 1, &count, 1, &other) : OX_OK;
}

/* Zero points are packed as B is, or one each in the type of A. */
static ox_status check_zeros(ox_call *call, const ox_block_shape *s) {
    if (!ox_call_given(call, OX_BLOCKS_ZEROS))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, OX_BLOCKS_ZEROS, OX_BIT(OX_UINT8) | OX_BIT(call->in[0]->dtype)));
    const bool packed = call->in[OX_BLOCKS_ZEROS]->dtype == OX_UINT8;
    return check_rows(call, OX_BLOCKS_ZEROS, s->n, packed ? ox_bits_bytes(s->blocks, s->bits) : s->blocks);
}

static ox_status check_nbits(ox_call *call, ox_block_shape *s) {
    const int64_t dims[] = {s->n, s->blocks, s->block / 8 * s->bits};
    int64_t padded;
    if (ox_call_int(call, "weight_prepacked", 0) != 0)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "weights that are laid out for a GPU are not supported");
    const int64_t level = ox_call_int(call, "accuracy_level", 0);
    if (level < 0 || level > 4)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute accuracy_level is %lld, not 0 to 4", (long long)level);
    s->is_quick = level == 4;
    OX_TRY(check_dims(call, OX_BLOCKS_B, 3, dims, 3, dims));
    OX_TRY(check_rows(call, OX_BLOCKS_SCALES, s->n, s->blocks));
    OX_TRY(check_zeros(call, s));
    if (ox_call_given(call, OX_BLOCKS_GROUPS))
        OX_TRY(ox_call_check_dtype(call, OX_BLOCKS_GROUPS, OX_BIT(OX_INT32)));
    if (!ox_mul_i64(s->blocks, s->block, &padded))
        return ox_call_fail(call, OX_ERROR_LIMIT, "K is too large for this machine");
    OX_TRY(check_list(call, OX_BLOCKS_GROUPS, s->k, padded));
    if (!ox_call_given(call, OX_BLOCKS_BIAS))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, OX_BLOCKS_BIAS, OX_BIT(call->in[0]->dtype)));
    return check_list(call, OX_BLOCKS_BIAS, s->n, s->n);
}

/* Codes of 4 bits: floats of 4 bits, and places of a normal distribution (arXiv 2305.14314). */
static const float codes[2][16] = {
    {0, 5.208333333e-03F, 0.66666667F, 1, 0.33333333F, 0.5F, 0.16666667F, 0.25F, -0.0F, -5.208333333e-03F, -0.66666667F,
     -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F},
    {-1, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F, -0.28444138169288635F,
     -0.18477343022823334F, -0.09105003625154495F, 0, 0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F,
     0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F, 0.7229568362236023F, 1}};

static ox_status check_codes(ox_call *call, ox_block_shape *s) {
    const int64_t type = ox_call_int(call, "quant_type", -1);
    int64_t count;
    if (type != 0 && type != 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute quant_type is %lld, but 0 (FP4) or 1 (NF4) are known",
                            (long long)type);
    if (!ox_mul_i64(s->n, s->k, &count))
        return ox_call_fail(call, OX_ERROR_LIMIT, "N and K are too large for this machine");
    s->table = codes[type];
    s->bits = 4;
    s->is_transposed = ox_call_int(call, "transB", 1) == 0;
    OX_TRY(check_list(call, OX_BLOCKS_B, (count - 1) / 2 + 1, (count - 1) / 2 + 1));
    return check_list(call, OX_BLOCKS_SCALES, (count - 1) / s->block + 1, (count - 1) / s->block + 1);
}

/* A size that the model must state. */
static ox_status read_size(ox_call *call, const char *name, int64_t *size) {
    *size = ox_call_int(call, name, 0);
    return *size > 0 ? OX_OK : ox_call_fail(call, OX_ERROR_MODEL, "attribute %s must be given, and be above 0", name);
}

/* A of a MatMul or a Gemm of the model, which know of no attributes. */
static ox_status check_dequantized(ox_call *call, const ox_block_shape *s, bool is_gemm) {
    const ox_tensor *a = call->in[OX_BLOCKS_A];
    const ox_dtype type = call->in[OX_BLOCKS_SCALES]->dtype;
    const char *weights = OX_DIMS(2, ((int64_t[]){s->k, s->n}));
    if (a->dtype != type)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "%s and the weights (%s %s) must have the same type: Cast one of them",
                            OX_INPUT(call, OX_BLOCKS_A), ox_dtype_name(type), weights);
    if (a->rank == 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and the weights (%s %s): a scalar is not a matrix",
                            OX_INPUT(call, OX_BLOCKS_A), ox_dtype_name(type), weights);
    if (is_gemm && a->rank != 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have rank 2", OX_INPUT(call, OX_BLOCKS_A));
    const int64_t depth = a->dims[a->rank - 1];
    return depth == s->k
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "%s and the weights (%s %s): inner dimensions %lld and %lld differ",
                              OX_INPUT(call, OX_BLOCKS_A), ox_dtype_name(type), weights, (long long)depth,
                              (long long)s->k);
}

ox_status ox_block_shape_of(ox_call *call, ox_block_shape *s) {
    const bool has_codes = ox_op_has(call->op, OX_OP_CODES);
    *s = (ox_block_shape){0};
    OX_TRY(read_size(call, "N", &s->n));
    OX_TRY(read_size(call, "K", &s->k));
    OX_TRY(ox_block_size(call, 0, &s->block));
    s->blocks = (s->k - 1) / s->block + 1;
    if (!has_codes)
        OX_TRY(ox_block_bits(call, &s->bits));
    const int64_t stands_for = ox_call_int(call, OX_ATTR_DEQUANTIZED, 0);
    if (stands_for)
        OX_TRY(check_dequantized(call, s, stands_for == 2));
    OX_TRY(ox_call_check_dtype(call, OX_BLOCKS_A, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, OX_BLOCKS_B, OX_BIT(OX_UINT8)));
    OX_TRY(ox_call_check_dtype(call, OX_BLOCKS_SCALES, OX_BIT(call->in[0]->dtype)));
    OX_TRY(has_codes ? check_codes(call, s) : check_nbits(call, s));
    const ox_tensor *a = call->in[0];
    const int64_t depth = s->is_transposed ? s->n : s->k;
    if (a->rank == 0 || a->dims[a->rank - 1] != depth)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have %lld elements in its rows (attribute %s)",
                            OX_INPUT(call, 0), (long long)depth, s->is_transposed ? "N" : "K");
    return OX_OK;
}

ox_status ox_infer_matmul_blocks(ox_call *call) {
    ox_block_shape s;
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_block_shape_of(call, &s));
    const ox_tensor *a = call->in[0];
    for (int d = 0; d < a->rank; d++)
        dims[d] = a->dims[d];
    dims[a->rank - 1] = s.is_transposed ? s.k : s.n;
    return ox_call_output(call, 0, a->dtype, a->rank, dims);
}
