/* bytes.c: a graph as the bytes of a model, written from their end to their beginning: so the size of a message is
 * known where it is written. */
#include <string.h>

#include "scopes.h"

/* Field numbers of ONNX's messages. */
enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_DOMAIN = 1,
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
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_TEXT = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_ELEMENT = 1
};

static void put_raw(unsigned char **at, const void *data, size_t size) {
    *at -= size;
    memcpy(*at, data, size);
}

static void put_varint(unsigned char **at, uint64_t value) {
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    put_raw(at, bytes, n);
}

static void put_int(unsigned char **at, int field, int64_t value) {
    put_varint(at, (uint64_t)value);
    put_varint(at, (uint64_t)field << 3);
}

/* Ends what was written since `end`: a message, or bytes. */
static void close_field(unsigned char **at, int field, const unsigned char *end) {
    put_varint(at, (uint64_t)(end - *at));
    put_varint(at, (uint64_t)field << 3 | 2);
}

static void put_text(unsigned char **at, int field, const char *text) {
    const unsigned char *end = *at;
    put_raw(at, text, strlen(text));
    close_field(at, field, end);
}

/* A value's name: v and its number; that of an omitted input is empty. */
static void put_name(unsigned char **at, int field, int value) {
    const char name[] = {'v', (char)('0' + value / 10), (char)('0' + value % 10), 0};
    put_text(at, field, value < 0 ? "" : name);
}

static void put_attribute(unsigned char **at, const scope_attribute *a) {
    static const char kinds[] = " fis   I"; /* where ONNX's numbers of types are their places */
    const unsigned char *end = *at;
    put_int(at, ATTRIBUTE_TYPE, strchr(kinds, a->kind) - kinds);
    if (a->kind == 'f') {
        uint32_t bits;
        memcpy(&bits, &a->number, sizeof bits);
        put_raw(at,
                (const unsigned char[]){(unsigned char)bits, (unsigned char)(bits >> 8), (unsigned char)(bits >> 16),
                                        (unsigned char)(bits >> 24)},
                4);
        put_varint(at, ATTRIBUTE_FLOAT << 3 | 5);
    } else if (a->kind == 's') {
        put_text(at, ATTRIBUTE_TEXT, a->text);
    } else {
        for (int i = a->count - 1; i >= 0; i--)
            put_int(at, a->kind == 'i' ? ATTRIBUTE_INT : ATTRIBUTE_INTS, a->ints[i]);
    }
    put_text(at, ATTRIBUTE_NAME, a->name);
    close_field(at, NODE_ATTRIBUTE, end);
}

static void put_node(unsigned char **at, const scope_node *node) {
    const unsigned char *end = *at;
    put_text(at, NODE_DOMAIN, node->domain);
    for (int i = node->nattrs - 1; i >= 0; i--)
        put_attribute(at, &node->attrs[i]);
    put_text(at, NODE_OP, node->op);
    for (int i = node->nout - 1; i >= 0; i--)
        put_name(at, NODE_OUTPUT, node->outs[i]);
    for (int i = node->nin - 1; i >= 0; i--)
        put_name(at, NODE_INPUT, node->in[i]);
    close_field(at, GRAPH_NODE, end);
}

/* Two to a byte, the first one in the lower bits. */
static void put_pairs(unsigned char **at, const scope_value *value) {
    const int64_t count = scope_count(value->rank, value->dims);
    for (int64_t i = (count - 1) & ~(int64_t)1; i >= 0; i -= 2) {
        const unsigned low = (unsigned)(int)value->numbers[i] & 15,
                       high = i + 1 < count ? (unsigned)(int)value->numbers[i + 1] & 15 : 0;
        put_raw(at, &(unsigned char){(unsigned char)(high << 4 | low)}, 1);
    }
}

/* Elements as files have them: little-endian. */
static void put_elements(unsigned char **at, const scope_value *value) {
    const size_t size = ox_dtype_size(value->dtype);
    if (value->dtype == OX_INT4 || value->dtype == OX_UINT4) {
        put_pairs(at, value);
        return;
    }
    for (int64_t i = scope_count(value->rank, value->dims) - 1; i >= 0; i--) {
        unsigned char element[8], turned[8];
        scope_encode(value->dtype, value->numbers[i], element);
        for (size_t k = 0; k < size; k++)
            turned[k] = element[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size - 1 - k : k];
        put_raw(at, turned, size);
    }
}

static void put_initializer(unsigned char **at, const scope_value *value, int number) {
    const unsigned char *end = *at, *raw = *at;
    put_elements(at, value);
    close_field(at, TENSOR_RAW, raw);
    put_name(at, TENSOR_NAME, number);
    put_int(at, TENSOR_TYPE, value->dtype);
    for (int d = value->rank - 1; d >= 0; d--)
        put_int(at, TENSOR_DIMS, value->dims[d]);
    close_field(at, GRAPH_INITIALIZER, end);
}

static void put_input(unsigned char **at, const scope_value *value, int number) {
    const unsigned char *end = *at;
    put_int(at, TYPE_ELEMENT, value->dtype);
    close_field(at, TYPE_TENSOR, end);
    close_field(at, VALUE_TYPE, end);
    put_name(at, VALUE_NAME, number);
    close_field(at, GRAPH_INPUT, end);
}

static void put_graph(unsigned char **at, const scope_graph *graph) {
    const unsigned char *end = *at;
    for (int i = graph->nresults - 1; i >= 0; i--) {
        const unsigned char *output = *at;
        put_name(at, VALUE_NAME, graph->results[i]);
        close_field(at, GRAPH_OUTPUT, output);
    }
    for (int v = graph->nvalues - 1; v >= 0; v--)
        if (graph->values[v].is_given && graph->values[v].place != SCOPE_CONSTANT)
            put_input(at, &graph->values[v], v);
    for (int v = graph->nvalues - 1; v >= 0; v--)
        if (graph->values[v].is_given && graph->values[v].place == SCOPE_CONSTANT)
            put_initializer(at, &graph->values[v], v);
    put_text(at, GRAPH_NAME, "g");
    for (int n = graph->nnodes - 1; n >= 0; n--)
        put_node(at, &graph->nodes[n]);
    close_field(at, MODEL_GRAPH, end);
}

static void put_opset(unsigned char **at, const char *domain, int version) {
    const unsigned char *end = *at;
    put_int(at, OPSET_VERSION, version);
    put_text(at, OPSET_DOMAIN, domain);
    close_field(at, MODEL_OPSET, end);
}

size_t scope_model(const scope_graph *graph, unsigned char *room, const unsigned char **model) {
    unsigned char *const end = room + SCOPE_MODEL, *at = end;
    put_opset(&at, "com.microsoft", 1);
    put_opset(&at, "", 23);
    put_graph(&at, graph);
    put_int(&at, MODEL_IR, 10);
    *model = at;
    return (size_t)(end - at);
}
