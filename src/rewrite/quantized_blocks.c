/* quantized_blocks.c: products with weights that a DequantizeLinear makes floats of in blocks become MatMulNBits: the
 * weights keep their few bits, and are laid out in planning. */
#include "quantized.h"

#include "ops/index/pack_rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if OX_WITH_OWN_OPERATORS

enum {
    LEAST_BLOCK = 16, /* of MatMulNBits */
    LARGEST = 512     /* a weight is less times its scale */
};

/* Weights [K, N] with a scale, and perhaps a zero point, for each block of rows: [blocks, N]. */
typedef struct block_weights {
    const ox_node *node;
    const ox_tensor *weights, *scales, *zeros; /* no zero points: NULL */
    int64_t block;
    int bits;
    bool is_signed;
} block_weights;

/* ---- What is known ------------------------------------------------------------------------------------------- */

static bool has_codes(block_weights *w) {
    static const ox_dtype types[] = {OX_INT2, OX_UINT2, OX_INT4, OX_UINT4, OX_INT8, OX_UINT8};
    for (int i = 0; i < 6; i++)
        if (w->weights->dtype == types[i]) {
            w->bits = ox_dtype_bits(types[i]);
            w->is_signed = i % 2 == 0;
            return true;
        }
    return false;
}

/* Scales with which a weight is as exact as a float: neither infinite nor below the normal numbers. */
static bool has_normal_scales(const block_weights *w) {
    for (int64_t i = 0; i < ox_tensor_count(w->scales); i++) {
        const float scale = fabsf(ox_quant_float(w->scales, i));
        if (!(scale <= FLT_MAX / LARGEST) || (scale > 0 && scale < FLT_MIN))
            return false;
    }
    return true;
}

/* Whether MatMulNBits takes all zero points to be what they are if it is given none. */
static bool has_middle_zeros(const block_weights *w) {
    const uint8_t middle = w->is_signed ? 0 : (uint8_t)(1 << (w->bits - 1));
    const uint8_t *zeros = w->zeros ? w->zeros->data : NULL;
    for (int64_t i = 0; zeros && i < ox_tensor_count(w->zeros); i++)
        if (zeros[i] != middle)
            return false;
    return zeros || w->is_signed;
}

static bool is_packed_matrix(const ox_tensor *t) {
    return t && t->rank == 2 && ox_tensor_is_packed(t);
}

static bool read_weights(const ox_requantizer *r, int32_t value, block_weights *w) {
    const ox_node *node = ox_quant_made_by(r, value, "DequantizeLinear");
    if (!node || !ox_quant_may_go(r, value))
        return false;
    const int64_t dtype = ox_emit_int(node, "output_dtype", 0), axis = ox_emit_int(node, "axis", 1);
    *w = (block_weights){.node = node,
                         .weights = ox_quant_known(r, ox_quant_input(node, 0)),
                         .scales = ox_quant_known(r, ox_quant_input(node, 1)),
                         .block = ox_emit_int(node, "block_size", 0)};
    const int32_t zeros = ox_quant_input(node, 2);
    if (zeros >= 0 && !(w->zeros = ox_quant_known(r, zeros)))
        return false;
    if (w->block < LEAST_BLOCK || w->block & (w->block - 1) || (axis != 0 && axis != -2) ||
        (dtype && dtype != OX_FLOAT))
        return false;
    if (!is_packed_matrix(w->weights) || !has_codes(w) || ox_tensor_count(w->weights) < 1)
        return false;
    const int64_t dims[] = {(w->weights->dims[0] - 1) / w->block + 1, w->weights->dims[1]};
    if (!is_packed_matrix(w->scales) || w->scales->dtype != OX_FLOAT || !ox_same_dims(2, w->scales->dims, 2, dims))
        return false;
    if (w->zeros && (!is_packed_matrix(w->zeros) || w->zeros->dtype != w->weights->dtype ||
                     !ox_same_dims(2, w->zeros->dims, 2, dims)))
        return false;
    return has_normal_scales(w) && (w->zeros || w->is_signed);
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

static ox_status put_packed(ox_requantizer *r, int32_t n, int32_t value, int64_t block, int32_t *out) {
    ox_node node = {.op = &ox_op_pack_rows, .version = 1};
    const ox_attr attrs[] = {{.name = "block", .kind = OX_ATTR_INT, .u.i = block}};
    OX_TRY(keep_attrs(r, block ? 1 : 0, attrs, &node));
    return ox_quant_put(r, n, &node, 1, &value, value, out);
}

static ox_status put_transposed(ox_requantizer *r, int32_t n, int32_t value, int32_t *out) {
    ox_node node = {.version = r->scope->nodes[n].version};
    node.op = ox_op_find("", "Transpose", node.version, NULL);
    return ox_quant_put(r, n, &node, 1, &value, value, out);
}

static ox_status put_product(ox_requantizer *r, int32_t n, const block_weights *w, const ox_op *op) {
    const ox_node *node = &r->scope->nodes[n];
    const int32_t a = node->in[0], b = node->in[1];
    int32_t packed, scales, zeros = OX_NONE;
    const ox_attr attrs[] = {{.name = "K", .kind = OX_ATTR_INT, .u.i = w->weights->dims[0]},
                             {.name = "N", .kind = OX_ATTR_INT, .u.i = w->weights->dims[1]},
                             {.name = "bits", .kind = OX_ATTR_INT, .u.i = w->bits},
                             {.name = "block_size", .kind = OX_ATTR_INT, .u.i = w->block}};
    OX_TRY(put_packed(r, n, w->node->in[0], w->block, &packed));
    OX_TRY(put_transposed(r, n, w->node->in[1], &scales));
    const bool has_zeros = !has_middle_zeros(w);
    if (has_zeros)
        OX_TRY(put_packed(r, n, w->node->in[2], 0, &zeros));
    const ox_index in[] = {(ox_index)a, (ox_index)packed, (ox_index)scales, (ox_index)zeros};
    OX_TRY(ox_quant_replace(r, n, b, &r->scope->nodes[n], op, has_zeros ? 4 : 3, in));
    r->scope->nodes[n].version = 1;
    return keep_attrs(r, sizeof attrs / sizeof *attrs, attrs, &r->scope->nodes[n]);
}

ox_status ox_quant_blocks(ox_requantizer *r, int32_t n) {
    const ox_op *op = ox_op_find("com.microsoft", "MatMulNBits", 1, NULL);
    block_weights w;
    if (!op || !read_weights(r, ox_quant_input(&r->scope->nodes[n], 1), &w))
        return OX_OK;
    return put_product(r, n, &w, op);
}
#endif
