/* onnx_bytes.c: see onnx_bytes.h. */
#include "onnx_bytes.h"

#include <check.h>
#include <string.h>

/* Field numbers of ONNX's messages. */
enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9
};

static void put_raw(ox_bytes *out, const void *data, size_t size) {
    ck_assert_uint_le(size, sizeof out->data - out->size);
    if (size)
        memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void put_varint(ox_bytes *out, uint64_t value) {
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put_raw(out, &byte, 1);
        value >>= 7;
    } while (value);
}

void ox_put_int(ox_bytes *out, int field, int64_t value) {
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, (uint64_t)value);
}

void ox_put_bytes(ox_bytes *out, int field, const void *data, size_t size) {
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, size);
    put_raw(out, data, size);
}

void ox_put_numbers(ox_bytes *out, int field, const void *numbers, size_t size, size_t width) {
    ox_put_bytes(out, field, numbers, size);
    unsigned char *first = out->data + out->size - size;
    for (size_t i = 0; __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && i < size; i++)
        first[i] = ((const unsigned char *)numbers)[i - i % width + (width - 1 - i % width)];
}

void ox_put_text(ox_bytes *out, int field, const char *text) {
    ox_put_bytes(out, field, text, strlen(text));
}

void ox_put_message(ox_bytes *out, int field, const ox_bytes *inner) {
    ox_put_bytes(out, field, inner->data, inner->size);
}

void ox_put_attr_int(ox_bytes *attrs, const char *name, int64_t value) {
    ox_bytes attr = {0};
    ox_put_text(&attr, ATTRIBUTE_NAME, name);
    ox_put_int(&attr, ATTRIBUTE_INT, value);
    ox_put_int(&attr, ATTRIBUTE_TYPE, 2);
    ox_put_message(attrs, NODE_ATTRIBUTE, &attr);
}

void ox_put_attr_ints(ox_bytes *attrs, const char *name, size_t count, const int64_t *values) {
    ox_bytes attr = {0};
    ox_put_text(&attr, ATTRIBUTE_NAME, name);
    for (size_t i = 0; i < count; i++)
        ox_put_int(&attr, ATTRIBUTE_INTS, values[i]);
    ox_put_int(&attr, ATTRIBUTE_TYPE, 7);
    ox_put_message(attrs, NODE_ATTRIBUTE, &attr);
}

void ox_put_attr_graph(ox_bytes *attrs, const char *name, const ox_bytes *graph) {
    ox_bytes attr = {0};
    ox_put_text(&attr, ATTRIBUTE_NAME, name);
    ox_put_message(&attr, ATTRIBUTE_GRAPH, graph);
    ox_put_int(&attr, ATTRIBUTE_TYPE, 5);
    ox_put_message(attrs, NODE_ATTRIBUTE, &attr);
}

static void put_names(ox_bytes *out, int field, const char *names) {
    while (*names) {
        size_t length = strcspn(names, ",");
        ox_put_bytes(out, field, names, length);
        names += length + (names[length] == ',');
    }
}

void ox_put_node(ox_bytes *graph, const char *op, const char *inputs, const char *outputs, const ox_bytes *attrs) {
    ox_bytes node = {0};
    put_names(&node, NODE_INPUT, inputs);
    put_names(&node, NODE_OUTPUT, outputs);
    ox_put_text(&node, NODE_OP, op);
    if (attrs)
        put_raw(&node, attrs->data, attrs->size);
    ox_put_message(graph, GRAPH_NODE, &node);
}

static void put_value(ox_bytes *graph, int field, const char *name, ox_dtype dtype, int rank, const int64_t *dims) {
    ox_bytes shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (int d = 0; d < rank; d++) {
        ox_bytes dim = {0};
        if (dims[d] >= 0)
            ox_put_int(&dim, 1, dims[d]);
        else
            ox_put_text(&dim, 2, "n");
        ox_put_message(&shape, 1, &dim);
    }
    ox_put_int(&tensor, 1, dtype);
    if (rank >= 0)
        ox_put_message(&tensor, 2, &shape);
    ox_put_message(&type, 1, &tensor);
    ox_put_text(&value, 1, name);
    ox_put_message(&value, 2, &type);
    ox_put_message(graph, field, &value);
}

void ox_put_input(ox_bytes *graph, const char *name, ox_dtype dtype, int rank, const int64_t *dims) {
    put_value(graph, GRAPH_INPUT, name, dtype, rank, dims);
}

void ox_put_output(ox_bytes *graph, const char *name, ox_dtype dtype, int rank, const int64_t *dims) {
    put_value(graph, GRAPH_OUTPUT, name, dtype, rank, dims);
}

void ox_put_initializer(ox_bytes *graph, const char *name, ox_dtype dtype, int rank, const int64_t *dims,
                        const void *data) {
    ox_bytes tensor = {0};
    size_t count = 1;
    for (int d = 0; d < rank; d++) {
        ox_put_int(&tensor, TENSOR_DIMS, dims[d]);
        count *= (size_t)dims[d];
    }
    ox_put_int(&tensor, TENSOR_TYPE, dtype);
    ox_put_text(&tensor, TENSOR_NAME, name);
    size_t size = ox_dtype_size(dtype);
    size_t width = dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128 ? size / 2 : size;
    ox_put_numbers(&tensor, TENSOR_RAW, data, count * size, width);
    ox_put_message(graph, GRAPH_INITIALIZER, &tensor);
}

void ox_put_versions(ox_bytes *model, int opset) {
    ox_bytes import = {0};
    ox_put_int(&import, OPSET_VERSION, opset);
    ox_put_int(model, MODEL_IR, 8);
    ox_put_message(model, MODEL_OPSET, &import);
}

void ox_put_model(ox_bytes *model, const ox_bytes *graph, int opset) {
    ox_bytes named = *graph;
    ox_put_text(&named, GRAPH_NAME, "graph");
    ox_put_versions(model, opset);
    ox_put_message(model, MODEL_GRAPH, &named);
}
