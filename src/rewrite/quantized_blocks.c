/* quantized_blocks.c: weights that a DequantizeLinear makes floats of in blocks are no floats where MatMul and Gemm
 * read them, which become MatMulNBits, with weights that are laid out in planning; nor where Gather does, which then
 * comes in front of the DequantizeLinear. */
#include "quantized.h"

#include "ops/index/pack_rows.h"
#include "ops/index/unpack_bits.h"
#include "ops/product/matmul_blocks.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if OX_WITH_OWN_OPERATORS

enum {
    LEAST_BLOCK = 16, /* of MatMulNBits */
    LARGEST = 512     /* a weight is less times its scale */
};

/* A constant matrix of integers. */
typedef struct codes {
    ox_tensor tensor;        /* UNDEFINED: there is none; no data: it is packed, */
    const ox_tensor *packed; /* in these bytes, */
    int32_t bytes;           /* which are this value; */
    const ox_node *unpack;   /* or there is no such node */
} codes;

/* Weights [K, N] with a scale, and perhaps a zero point, for each block of K: [blocks, N]; or, by row, [N, K] and
 * [N, blocks]. */
typedef struct block_weights {
    const ox_node *node;
    codes weights, zeros;
    const ox_tensor *scales;
    int64_t k, n, block;
    int bits;
    bool is_signed, by_row;
} block_weights;

/* ---- What is known ------------------------------------------------------------------------------------------- */

/* What a value holds, of which an UnpackBits may be in front. */
static codes find_codes(const ox_requantizer *r, int32_t value) {
    const ox_node *node = ox_quant_maker(r, value);
    const ox_tensor *known = ox_quant_known(r, value);
    codes found = {0};
    if (known)
        found.tensor = *known;
    if (!node || node->op != &ox_op_unpack_bits)
        return found;
    const ox_tensor *packed = ox_quant_known(r, node->in[0]);
    if (packed)
        found = (codes){ox_unpacked_tensor(node->attrs, node->nattrs), packed, node->in[0], node};
    return found;
}

static bool has_codes(block_weights *w) {
    static const ox_dtype types[] = {OX_INT2, OX_UINT2, OX_INT4, OX_UINT4, OX_INT8, OX_UINT8};
    for (int i = 0; i < 6; i++)
        if (w->weights.tensor.dtype == types[i]) {
            w->bits = ox_dtype_bits(types[i]);
            w->is_signed = i % 2 == 0;
            return true;
        }
    return false;
}

/* Scales with which a weight is as exact as a float: neither infinite nor below the normal numbers. */
static bool has_normal_scales(const block_weights *w) {
    const int64_t count = ox_tensor_count(w->scales);
    bool are = true;
    for (int64_t i = 0; i < count; i++) {
        const float scale = fabsf(ox_quant_float(w->scales, i));
        are = are && scale <= FLT_MAX / LARGEST && !(scale > 0 && scale < FLT_MIN);
    }
    return are;
}

/* Whether MatMulNBits takes all zero points to be what they are if it is given none. */
static bool has_middle_zeros(const block_weights *w) {
    const bool packed = w->zeros.packed;
    const ox_tensor *held = packed ? w->zeros.packed : &w->zeros.tensor;
    const uint8_t *zeros = held->data;
    uint8_t middle = (uint8_t)(w->is_signed ? 0 : 1 << (w->bits - 1));
    if (packed) /* so many times in a byte */
        middle = (uint8_t)(middle * (0xff / ((1 << w->bits) - 1)));
    const int64_t count = zeros ? ox_tensor_count(held) : 0;
    for (int64_t i = 0; i < count; i++)
        if (zeros[i] != middle)
            return false;
    return zeros || w->is_signed;
}

static bool is_packed_matrix(const ox_tensor *t) {
    return t && t->dtype != OX_UNDEFINED && t->rank == 2 && ox_tensor_is_packed(t) && ox_tensor_count(t) > 0;
}

/* Scales, or zero points: one for each block. */
static bool is_of_blocks(const ox_tensor *t, ox_dtype dtype, const block_weights *w) {
    const int64_t blocks = (w->k - 1) / w->block + 1;
    return is_packed_matrix(t) && t->dtype == dtype && t->dims[w->by_row] == blocks && t->dims[!w->by_row] == w->n;
}

/* Of rows that are one block, the least size that MatMulNBits knows: they are filled up to it. */
static int64_t block_for(int64_t block, int64_t rows) {
    while (block > LEAST_BLOCK && block / 2 >= rows)
        block /= 2;
    return block;
}

static bool read_weights(const ox_requantizer *r, int32_t value, bool by_row, block_weights *w) {
    const ox_node *node = ox_quant_made_by(r, value, "DequantizeLinear");
    if (!node || !ox_quant_may_go(r, value))
        return false;
    const int64_t dtype = ox_emit_int(node, "output_dtype", 0), axis = ox_emit_int(node, "axis", 1);
    const int32_t zeros = ox_quant_input(node, 2);
    *w = (block_weights){.node = node,
                         .weights = find_codes(r, ox_quant_input(node, 0)),
                         .scales = ox_quant_known(r, ox_quant_input(node, 1)),
                         .zeros = find_codes(r, zeros),
                         .block = ox_emit_int(node, "block_size", 0),
                         .by_row = by_row};
    if (w->block < LEAST_BLOCK || w->block & (w->block - 1) || (axis < 0 ? axis + 2 : axis) != by_row)
        return false;
    if ((dtype && dtype != OX_FLOAT) || !is_packed_matrix(&w->weights.tensor) || !has_codes(w))
        return false;
    w->k = w->weights.tensor.dims[by_row];
    w->n = w->weights.tensor.dims[!by_row];
    const bool fits_zeros = zeros < 0 ? w->is_signed : is_of_blocks(&w->zeros.tensor, w->weights.tensor.dtype, w);
    const bool fits = is_of_blocks(w->scales, OX_FLOAT, w) && fits_zeros && has_normal_scales(w);
    w->block = block_for(w->block, w->k);
    return fits;
}

/* The weights of B: a DequantizeLinear gives it, or a Transpose of what one gives. */
static bool find_weights(const ox_requantizer *r, int32_t b, bool by_row, block_weights *w) {
    const ox_node *transpose = ox_quant_made_by(r, b, "Transpose");
    if (!transpose)
        return read_weights(r, b, by_row, w);
    const ox_attr *perm = ox_emit_attr(transpose, "perm", OX_ATTR_INTS);
    if (perm && (perm->count != 2 || perm->u.ints[0] != 1 || perm->u.ints[1] != 0))
        return false;
    return ox_quant_may_go(r, b) && read_weights(r, ox_quant_input(transpose, 0), !by_row, w);
}

/* A Gemm that is a product and, perhaps, a bias: a constant value for each column. */
static bool is_product(const ox_requantizer *r, const ox_node *gemm, const block_weights *w) {
    const int32_t bias = ox_quant_input(gemm, 2);
    const ox_tensor *known = bias < 0 ? NULL : ox_quant_known(r, bias);
    const ox_attr *alpha = ox_emit_attr(gemm, "alpha", OX_ATTR_FLOAT),
                  *beta = ox_emit_attr(gemm, "beta", OX_ATTR_FLOAT);
    if (ox_emit_int(gemm, "transA", 0) || (alpha && !(alpha->u.f >= 1 && alpha->u.f <= 1)) ||
        (beta && !(beta->u.f >= 1 && beta->u.f <= 1)))
        return false;
    return bias < 0 || (known && known->dtype == OX_FLOAT && known->rank == 1 && known->dims[0] == w->n);
}

/* ---- What is put in ------------------------------------------------------------------------------------------ */

static ox_status keep_attrs(ox_requantizer *r, int count, const ox_attr *attrs, ox_node *node) {
    ox_attr *kept;
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)count, sizeof *kept, &kept));
    memcpy(kept, attrs, (size_t)count * sizeof *kept);
    node->attrs = kept;
    node->nattrs = (ox_index)count;
    return OX_OK;
}

static ox_status put_packed(ox_requantizer *r, int32_t n, int i, const block_weights *w, int32_t *out) {
    const codes *x = i ? &w->zeros : &w->weights;
    const int32_t value = w->node->in[i];
    ox_node node = {.op = &ox_op_pack_rows, .version = 1};
    const ox_attr attrs[] = {{.name = "block", .kind = OX_ATTR_INT, .u.i = i ? 0 : w->block},
                             {.name = "by_row", .kind = OX_ATTR_INT, .u.i = w->by_row},
                             {.name = "dtype", .kind = OX_ATTR_INT, .u.i = x->tensor.dtype}};
    OX_TRY(keep_attrs(r, x->packed ? 3 : 2, attrs, &node));
    return ox_quant_put(r, n, &node, 1, x->packed ? &x->bytes : &value, value, out);
}

static ox_status put_transposed(ox_requantizer *r, int32_t n, int32_t value, int32_t *out) {
    ox_node node = {.version = r->scope->nodes[n].version};
    node.op = ox_op_find("", "Transpose", node.version, NULL);
    return ox_quant_put(r, n, &node, 1, &value, value, out);
}

static ox_status put_product(ox_requantizer *r, int32_t n, const block_weights *w, const ox_op *op) {
    const ox_node *node = &r->scope->nodes[n];
    const bool is_gemm = ox_build_is_op(node, "Gemm"), has_zeros = !has_middle_zeros(w);
    const int32_t a = node->in[0], b = node->in[1], bias = is_gemm ? ox_quant_input(node, 2) : OX_NONE;
    int32_t packed, scales = w->node->in[1], zeros = OX_NONE;
    const ox_attr attrs[] = {{.name = "K", .kind = OX_ATTR_INT, .u.i = w->k},
                             {.name = "N", .kind = OX_ATTR_INT, .u.i = w->n},
                             {.name = "bits", .kind = OX_ATTR_INT, .u.i = w->bits},
                             {.name = "block_size", .kind = OX_ATTR_INT, .u.i = w->block},
                             {.name = OX_ATTR_DEQUANTIZED, .kind = OX_ATTR_INT, .u.i = is_gemm ? 2 : 1}};
    OX_TRY(put_packed(r, n, 0, w, &packed));
    if (!w->by_row)
        OX_TRY(put_transposed(r, n, w->node->in[1], &scales));
    if (has_zeros)
        OX_TRY(put_packed(r, n, 2, w, &zeros));
    const ox_index in[] = {(ox_index)a, (ox_index)packed, (ox_index)scales, (ox_index)zeros, OX_NONE, (ox_index)bias};
    OX_TRY(ox_quant_replace(r, n, b, &r->scope->nodes[n], op, bias >= 0 ? 6 : has_zeros ? 4 : 3, in));
    r->scope->nodes[n].version = 1;
    return keep_attrs(r, sizeof attrs / sizeof *attrs, attrs, &r->scope->nodes[n]);
}

static ox_status rewrite_product(ox_requantizer *r, int32_t n) {
    const ox_node *node = &r->scope->nodes[n];
    const ox_op *op = ox_op_find("com.microsoft", "MatMulNBits", 1, NULL);
    const bool is_gemm = ox_build_is_op(node, "Gemm"), by_row = is_gemm && ox_emit_int(node, "transB", 0);
    block_weights w;
    if (!op || !find_weights(r, ox_quant_input(node, 1), by_row, &w) || (is_gemm && !is_product(r, node, &w)))
        return OX_OK;
    return put_product(r, n, &w, op);
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

/* Rows of a value: where it is unpacked, rows of bytes, which are unpacked then. */
static ox_status put_gather(ox_requantizer *r, int32_t n, int32_t value, int32_t *out) {
    ox_node node = {.version = r->scope->nodes[n].version};
    const codes x = find_codes(r, value);
    const int32_t in[] = {x.packed ? x.bytes : value, r->scope->nodes[n].in[1]};
    node.op = ox_op_find("", "Gather", node.version, NULL);
    OX_TRY(ox_quant_put(r, n, &node, 2, in, value, out));
    if (!x.packed)
        return OX_OK;
    const ox_node unpack = *x.unpack;
    const int32_t rows = *out;
    return ox_quant_put(r, n, &unpack, 1, &rows, value, out);
}

/* The attributes of a DequantizeLinear whose blocks lie along the last axis. */
static ox_status keep_last_axis(ox_requantizer *r, const ox_node *from, ox_node *to) {
    ox_attr attrs[4] = {{.name = "axis", .kind = OX_ATTR_INT, .u.i = -1}};
    int count = 1;
    for (int i = 0; i < (int)from->nattrs && count < 4; i++)
        if (ox_text_order(from->attrs[i].name, "axis"))
            attrs[count++] = from->attrs[i];
    return keep_attrs(r, count, attrs, to);
}

/* Whether the DequantizeLinear takes its inputs as they are: rows of some would not tell. */
static bool has_known_rows(const ox_requantizer *r, const ox_node *dequantize) {
    const int64_t axis = ox_emit_int(dequantize, "axis", 1), block = ox_emit_int(dequantize, "block_size", 0);
    const codes x = find_codes(r, dequantize->in[0]), zeros = find_codes(r, ox_quant_input(dequantize, 2));
    const ox_tensor *scales = ox_quant_known(r, ox_quant_input(dequantize, 1));
    if (!is_packed_matrix(&x.tensor) || !is_packed_matrix(scales) || block < 1 || (axis != 1 && axis != -1))
        return false;
    const block_weights w = {.k = x.tensor.dims[1], .n = x.tensor.dims[0], .block = block, .by_row = true};
    return is_of_blocks(scales, scales->dtype, &w) &&
           (ox_quant_input(dequantize, 2) < 0 || is_of_blocks(&zeros.tensor, x.tensor.dtype, &w));
}

/* Whether the model states no other type of what a DequantizeLinear gives. */
static bool has_stated_type(const ox_requantizer *r, const ox_node *dequantize) {
    const ox_tensor *scales = ox_quant_known(r, ox_quant_input(dequantize, 1));
    const int64_t type = ox_emit_int(dequantize, "output_dtype", 0);
    const int32_t value = dequantize->out[0];
    return ox_quant_may_go(r, value) &&
           (r->scope->values[value].dtype == OX_UNDEFINED || (type ? type : (int64_t)scales->dtype) == OX_FLOAT);
}

/* Rows of a matrix whose blocks lie along them: of its weights, scales and zero points. */
static ox_status rewrite_gather(ox_requantizer *r, int32_t n) {
    const ox_node *node = &r->scope->nodes[n];
    const ox_node *from = ox_quant_made_by(r, ox_quant_input(node, 0), "DequantizeLinear");
    ox_index in[] = {OX_NONE, OX_NONE, OX_NONE};
    if (!from || from->nin > 3 || ox_emit_int(node, "axis", 0) || ox_quant_input(node, 1) < 0 ||
        !has_known_rows(r, from) || !has_stated_type(r, from))
        return OX_OK;
    const ox_node dequantize = *from;
    for (int i = 0; i < dequantize.nin; i++) {
        int32_t rows = OX_NONE;
        if (dequantize.in[i] >= 0)
            OX_TRY(put_gather(r, n, dequantize.in[i], &rows));
        in[i] = (ox_index)rows;
    }
    OX_TRY(ox_quant_replace(r, n, node->in[0], node, dequantize.op, dequantize.nin, in));
    r->scope->nodes[n].version = dequantize.version;
    return keep_last_axis(r, &dequantize, &r->scope->nodes[n]);
}

ox_status ox_quant_blocks(ox_requantizer *r, int32_t n) {
    const ox_node *node = &r->scope->nodes[n];
    if (ox_build_is_op(node, "Gather"))
        return rewrite_gather(r, n);
    return ox_build_is_op(node, "MatMul") || ox_build_is_op(node, "Gemm") ? rewrite_product(r, n) : OX_OK;
}
#endif
