/* write_model.h: hands out the main graph of a model as it is once quantized networks are rewritten, for `ox embed`. It
 * is not part of ox.h, because the command and the library are built together. */
#ifndef OX_WRITE_MODEL_H
#define OX_WRITE_MODEL_H

#include "ox.h"

/* The domain of operators that only models of `ox embed` name, in version 1: QLinearGemm, QLinearAdd, QLinearSub,
 * QLinearMul, QLinearDiv, QLinearAveragePool, QLinearGlobalAveragePool, ByteTable. */
#define OX_OWN_DOMAIN "ox"

/* An attribute; kind is a number of AttributeProto.AttributeType. */
typedef struct ox_written_attr {
    const char *name;
    int kind;
    size_t count;             /* of the list that the kind has; 1 for a single number or string */
    const int64_t *ints;      /* INT, INTS */
    const float *floats;      /* FLOAT, FLOATS */
    const ox_string *strings; /* STRING, STRINGS */
    const ox_tensor *tensor;  /* TENSOR: packed, of numbers of whole bytes */
} ox_written_attr;

/* A node: names of values are "" where inputs and outputs are omitted. */
typedef struct ox_written_node {
    const char *domain, *op;
    size_t input_count, output_count, attr_count;
    const char *const *inputs, *const *outputs;
    const ox_written_attr *attrs; /* NULL if some are of kinds that are not handed out: they are as in the file */
} ox_written_node;

/* What is called for each node, in an order in which they can run, and for the name of each initializer that they,
 * their subgraphs or outputs of the graph read. */
typedef struct ox_model_writer {
    void *context;
    void (*node)(void *context, const ox_written_node *node);
    void (*weight)(void *context, const char *name);
    int64_t opset; /* a result: the version of ONNX's own domain that the nodes are written in */
} ox_model_writer;

/* Loads a model with no_fuse to hand it out: functions of one byte become tables, whose entries nodes compute from
 * constants. */
ox_status ox_model_load_to_write(const void *bytes, size_t size, ox_model **model, ox_error *error);

/* Whether nodes of the main graph, or of a subgraph, became operators on integers. */
bool ox_model_is_rewritten(const ox_model *model);

/* Whether a result of a node that devices have, too, is known when the plan is made. */
bool ox_node_is_constant(const ox_node_info *node);

/* Hands out the main graph of a model that was loaded with no_fuse, without nodes whose results are unread.
 * OX_ERROR_UNSUPPORTED if some node cannot be named in a file. */
ox_status ox_model_write(const ox_model *model, ox_model_writer *writer, ox_error *error);

#endif
