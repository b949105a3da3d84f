/* quantized.h: what the parts of the rewriting of quantized networks share (quantized.c). */
#ifndef OX_REWRITE_QUANTIZED_H
#define OX_REWRITE_QUANTIZED_H

#include "emit.h"
#include "rewrite.h"

enum {
    OX_NOBODY = -1
};

/* The smallest and the largest number of an integer type. */
typedef struct ox_int_range {
    int64_t low, high;
} ox_int_range;

/* Scales and zero points: one for all elements, or one for each entry of an axis. */
typedef struct ox_quantization {
    const ox_node *node;
    ox_index scale, zero;    /* values; zero may be OX_NONE */
    const ox_tensor *scales; /* floats */
    const ox_tensor *zeros;  /* NULL where there are none, which stands for 0 */
    ox_dtype dtype;          /* of the integers, */
    bool is_sure;            /* which is known, not only that of the zero points */
    int64_t count;           /* of the scales */
    const ox_attr *axis;
} ox_quantization;

/* A node that is put in. */
typedef struct ox_put_in {
    ox_node node;
    const char *name;
    int32_t before; /* the node that it comes before */
} ox_put_in;

/* The nodes of a graph, with the readers and the producer of each value. */
typedef struct ox_requantizer {
    ox_builder *b;
    ox_scope *scope;
    int32_t *readers; /* of each value, the graph's outputs counted; */
    int32_t *makers;  /* the node that gives it, OX_NOBODY */
    int32_t reader_room, maker_room;
    bool *gone;       /* of each node: it is left out */
    bool own;         /* operators that devices lack may be made: not for ox embed, which says no_fuse */
    bool tables;      /* functions of one byte may become tables */
    bool changed;     /* some node was replaced */
    ox_put_in *added; /* in the order of `before` */
    int32_t nadded, added_room;
    int32_t bytes[2]; /* values: all bytes in order, signed ones and others; OX_NONE until first used */
} ox_requantizer;

/* ---- quantized_known.c: what is known of values ------------------------------------------------------------- */

ox_int_range ox_quant_range(ox_dtype dtype);
/* The type that a QuantizeLinear gives; OX_UNDEFINED where it is not known. */
ox_dtype ox_quant_written_type(const ox_requantizer *r, const ox_node *node);
/* Input i of a node, OX_NONE if it has none. */
int32_t ox_quant_input(const ox_node *node, int i);
/* The node that gives a value, NULL if none of the model does. */
const ox_node *ox_quant_maker(const ox_requantizer *r, int32_t value);
/* The same if the node is of that operator of ONNX's. */
const ox_node *ox_quant_made_by(const ox_requantizer *r, int32_t value, const char *name);
/* A value that is the same in every run; NULL if it is not known. */
const ox_tensor *ox_quant_known(const ox_requantizer *r, int32_t value);
/* Of a value that would go: the model states no other type than floats, which its node would refuse. */
bool ox_quant_may_go(const ox_requantizer *r, int32_t value);
float ox_quant_float(const ox_tensor *tensor, int64_t i);
/* Of entry i: one scale serves all entries. */
float ox_quant_scale(const ox_quantization *q, int64_t i);
int64_t ox_quant_zero(const ox_quantization *q, int64_t i);

/* Each of its results gives elements of input 0 (Concat: of all inputs; Where: of inputs 1 and 2) as they are, and no
 * others. */
bool ox_quant_is_move(const ox_node *node);

/* What a QuantizeLinear makes of floats, or (back) a DequantizeLinear makes floats of. False where it is not known. */
bool ox_quant_read(const ox_requantizer *r, const ox_node *node, bool back, ox_quantization *q);
/* What the DequantizeLinear that gives a value makes floats of. */
bool ox_quant_source(const ox_requantizer *r, int32_t value, ox_quantization *q);
/* Has one scale for all elements. */
bool ox_quant_is_single(const ox_quantization *q);
bool ox_quant_is_byte(const ox_quantization *q);
/* Has one scale, or one for each entry of that axis of a tensor. */
bool ox_quant_is_along(const ox_quantization *q, const ox_tensor *tensor, int axis);
bool ox_quant_is_same(const ox_quantization *a, const ox_quantization *b);

/* ---- quantized_replace.c: changing the graph ---------------------------------------------------------------- */

/* Notes that the nodes change, and keeps them as they are before the first change. */
ox_status ox_quant_keep_written(ox_requantizer *r);
/* Puts an operator with these inputs where node n is, which quantizes `value`; it has attributes and name of the node
 * that it stands for, `from`. */
ox_status ox_quant_replace(ox_requantizer *r, int32_t n, int32_t value, const ox_node *from, const ox_op *op, int count,
                           const ox_index *in);

/* ---- quantized_put.c: new nodes ----------------------------------------------------------------------------- */

/* Inserts a node before node n, with the operator and attributes of `node` and these inputs. Its result is a new value,
 * named after `like`. */
ox_status ox_quant_put(ox_requantizer *r, int32_t n, const ox_node *node, int count, const int32_t *in, int32_t like,
                       int32_t *out);
/* A value that is all bytes in order, as numbers of that type. */
ox_status ox_quant_bytes(ox_requantizer *r, int32_t n, ox_dtype dtype, int32_t *value);

/* Puts the new nodes into the list of all; makers and others then name other nodes. */
ox_status ox_quant_list_added(ox_requantizer *r);

/* ---- quantized_blocks.c -------------------------------------------------------------------------------------- */

/* Node n, if it reads constant weights in blocks: MatMul and Gemm become MatMulNBits, Gather reads the integers. */
ox_status ox_quant_blocks(ox_requantizer *r, int32_t n);

/* ---- quantized_products.c, quantized_elements.c, quantized_moves.c, quantized_tables.c ----------------------- */

/* Node n is a QuantizeLinear of `value`. Each rewrites what is in front of it, if it can. */
ox_status ox_quant_product(ox_requantizer *r, int32_t n, int32_t value, const ox_quantization *to);
/* The same where `node` computes it, or what Relu or Clip make it of, if saturation does what they do. */
ox_status ox_quant_elements(ox_requantizer *r, int32_t n, int32_t value, const ox_node *node,
                            const ox_quantization *to);
ox_status ox_quant_move(ox_requantizer *r, int32_t n, int32_t value, const ox_node *move, const ox_quantization *to);
ox_status ox_quant_table(ox_requantizer *r, int32_t n, int32_t value, const ox_quantization *to);

#endif
