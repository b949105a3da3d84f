/* onnx_bytes.h: serialized models for tests, written field by field. Sizes are small and checked. */
#ifndef OX_TEST_ONNX_BYTES_H
#define OX_TEST_ONNX_BYTES_H

#include "src/ox.h"

typedef struct ox_bytes {
    size_t size;
    unsigned char data[16384];
} ox_bytes;

/* Fields of any message. */
void ox_put_int(ox_bytes *out, int field, int64_t value);
void ox_put_text(ox_bytes *out, int field, const char *text);
void ox_put_bytes(ox_bytes *out, int field, const void *data, size_t size);
/* size bytes of numbers of that width, as the machine holds them; they are written little-endian. */
void ox_put_numbers(ox_bytes *out, int field, const void *numbers, size_t size, size_t width);
void ox_put_message(ox_bytes *out, int field, const ox_bytes *inner);

/* Attributes of a node, to be given to ox_put_node. */
void ox_put_attr_int(ox_bytes *attrs, const char *name, int64_t value);
void ox_put_attr_ints(ox_bytes *attrs, const char *name, size_t count, const int64_t *values);
void ox_put_attr_graph(ox_bytes *attrs, const char *name, const ox_bytes *graph);

/* A node of a graph; inputs and outputs are names with commas between. attrs may be NULL. */
void ox_put_node(ox_bytes *graph, const char *op, const char *inputs, const char *outputs, const ox_bytes *attrs);

/* A graph's input or output; a dim of -1 is symbolic, a rank of -1 leaves the shape out. */
void ox_put_input(ox_bytes *graph, const char *name, ox_dtype dtype, int rank, const int64_t *dims);
void ox_put_output(ox_bytes *graph, const char *name, ox_dtype dtype, int rank, const int64_t *dims);

/* An initializer with raw data. */
void ox_put_initializer(ox_bytes *graph, const char *name, ox_dtype dtype, int rank, const int64_t *dims,
                        const void *data);

/* A model without its graph. */
void ox_put_versions(ox_bytes *model, int opset);

/* A model of one graph. */
void ox_put_model(ox_bytes *model, const ox_bytes *graph, int opset);

#endif
