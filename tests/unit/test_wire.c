/* test_wire.c: the walker and the parser: paths of errors, limits, skeletons, payloads. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"
#include "src/loader/parse.h"
#include "tests/unit/clock.h"
#include "tests/unit/onnx_bytes.h"

#define MODEL &onnx__model_proto__descriptor
#define TENSOR &onnx__tensor_proto__descriptor

static ox_error error;
static ox_parsed parsed;

static ox_status parse(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size) {
    error = (ox_error){0};
    return ox_parse(type, bytes, size, ox_default_allocator(), &parsed, &error);
}

static void release(void) {
    ox_parsed_free(&parsed, ox_default_allocator());
}

static void check_text(const char *text) {
    ck_assert_msg(strstr(error.text, text) != NULL, "'%s' is not in '%s'", text, error.text);
}

static void check_fails(const ox_bytes *bytes, const char *text) {
    ck_assert_int_eq(parse(MODEL, bytes->data, bytes->size), OX_ERROR_MODEL);
    check_text(text);
}

START_TEST(errors_are_paths) {
    ox_bytes node = {0}, attr = {0}, tensor = {0}, graph = {0}, model = {0};
    ox_put_bytes(&tensor, 9, "abc", 3);
    tensor.data[1] = 120; /* the length of raw_data */
    ox_put_message(&attr, 5, &tensor);
    ox_put_text(&node, 4, "Constant");
    ox_put_message(&node, 5, &attr);
    ox_put_node(&graph, "Abs", "a", "b", NULL);
    ox_put_message(&graph, 1, &node);
    ox_put_int(&model, 1, 8);
    ox_put_message(&model, 7, &graph);
    check_fails(&model, "graph.node[1].attribute[0].t.raw_data: length 120 exceeds the 3 bytes left");
}
END_TEST

START_TEST(broken_fields_are_refused) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {"\x08", 1, "broken number"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "ir_version: broken number"},
        {"\x02\x01", 2, "field number 0"},
        {"\x3b\x3c", 2, "graph: wire type 3"},
        {"\x0f\x00", 2, "wire type 7"},
        {"\x0a\x01\x00", 3, "ir_version: wire type 2 instead of 0"},
        {"\x10\x01", 2, "producer_name: wire type 0 instead of 2"},
        {"\x12\x02x\x00", 4, "producer_name: a zero byte"},
        {"\x3a\x00\x3a\x00", 4, "graph: given twice"},
        {"\x3a\x05\x2a\x03\x22\x01x", 7,
         "graph.initializer[0].float_data: 1 bytes are not a multiple of the element size"},
        {"\x3a\x05\x2a\x03\x2a\x01\xff", 7, "graph.initializer[0].int32_data: element 0 is broken"},
        {"\xff\xff\xff\xff\xff\xff\x01", 7, "broken field tag"},
        {"\x3a", 1, "graph: broken length"},
        /* Dimension with dim_value and dim_param: graph.input.type.tensor_type.shape.dim */
        {"\x3a\x0f\x5a\x0d\x12\x0b\x0a\x09\x12\x07\x0a\x05\x08\x03\x12\x01n", 17, "excludes it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(parse(MODEL, cases[i].bytes, cases[i].size) == OX_ERROR_MODEL, "case %zu", i);
        check_text(cases[i].text);
    }
}
END_TEST

START_TEST(unknown_fields_are_left_out) {
    ox_bytes model = {0}, tensor = {0};
    ox_wire wire;
    ox_put_int(&model, 1, 8);
    ox_put_text(&model, 1000, "not of ONNX");
    ox_put_int(&model, 999, 7);
    ck_assert_int_eq(ox_wire_check(MODEL, model.data, model.size, &wire, &error), OX_OK);
    ck_assert_uint_eq(wire.skeleton_size, 2);
    ck_assert_int_eq(parse(MODEL, model.data, model.size), OX_OK);
    ck_assert_uint_eq(parsed.message->n_unknown_fields, 0);
    release();
    /* A forged note of a payload: field 255, fixed32. */
    ox_put_int(&tensor, 2, 1);
    memcpy(tensor.data + tensor.size, "\xfd\x0f\x01\x00\x00\x00", 6);
    ck_assert_int_eq(parse(TENSOR, tensor.data, tensor.size + 6), OX_OK);
    ck_assert(!((const Onnx__TensorProto *)parsed.message)->has_ox_payload);
    release();
}
END_TEST

/* The bytes of the model's graph, which stays in the file. */
static ox_span left_graph(const ox_bytes *model) {
    ck_assert_int_eq(parse(MODEL, model->data, model->size), OX_OK);
    const ox_payload *left =
        ox_parsed_payload(&parsed, ((const Onnx__ModelProto *)(const void *)parsed.message)->graph->ox_payload);
    ck_assert(left != NULL);
    const ox_span graph = {model->data + left->offset, left->size};
    release();
    return graph;
}

START_TEST(payloads_stay_in_place) {
    ox_bytes graph = {0}, model = {0};
    float data[100] = {0x1.000002p-125F}; /* 01 00 00 01, in either order of bytes */
    ox_put_initializer(&graph, "first", OX_FLOAT, 1, (const int64_t[]){100}, data);
    ox_put_initializer(&graph, "small", OX_FLOAT, 0, NULL, data);
    ox_put_initializer(&graph, "second", OX_FLOAT, 1, (const int64_t[]){99}, data);
    ox_put_model(&model, &graph, 13);
    static const char *const names[] = {"first", "small", "second"};
    static const size_t left[] = {400, 0, 396};
    ox_span rest = left_graph(&model), part;
    ck_assert_uint_eq(ox_wire_count(rest, 5), 3);
    for (size_t i = 0; ox_wire_next(&rest, 5, &part); i++) {
        ck_assert_int_eq(ox_parse_part(TENSOR, part, ox_default_allocator(), &parsed, &error), OX_OK);
        const Onnx__TensorProto *t = (const void *)parsed.message;
        ck_assert_str_eq(t->name, names[i]);
        ck_assert_int_eq(t->has_raw_data, !left[i]);
        ck_assert_uint_eq(t->raw_data.len, left[i] ? 0 : 4);
        ck_assert_uint_eq(parsed.npayloads, left[i] ? 1 : 0);
        if (left[i]) {
            ck_assert_uint_eq(t->ox_payload, 0);
            ck_assert_uint_eq(parsed.payloads[0].size, left[i]);
            ck_assert(!memcmp(parsed.bytes + parsed.payloads[0].offset, data, left[i]));
        }
        release();
    }
    ck_assert(!ox_wire_next(&rest, 5, &part));
}
END_TEST

/* A graph in an attribute counts against the limit of parsing, and is left out of what is unpacked. */
START_TEST(graphs_stay_in_place) {
    ox_bytes inner = {0}, attr = {0}, node = {0}, graph = {0}, model = {0};
    ox_put_text(&inner, 2, "the branch");
    for (int i = 0; i < 100; i++)
        ox_put_node(&inner, "Abs", "a", "b", NULL);
    ox_put_text(&attr, 1, "then_branch");
    ox_put_message(&attr, 6, &inner);
    ox_put_text(&node, 4, "If");
    ox_put_message(&node, 5, &attr);
    ox_put_message(&graph, 1, &node);
    ox_put_model(&model, &graph, 13);
    ox_wire wire;
    ck_assert_int_eq(ox_wire_check(MODEL, model.data, model.size, &wire, &error), OX_OK);
    ck_assert_uint_gt(wire.whole_bytes, 100 * sizeof(Onnx__NodeProto));
    ck_assert_uint_lt(wire.unpack_bytes, 10 * sizeof(Onnx__NodeProto));
    ox_span rest = left_graph(&model), part;
    ck_assert(ox_wire_next(&rest, 1, &part));
    ck_assert_int_eq(ox_parse_part(&onnx__node_proto__descriptor, part, ox_default_allocator(), &parsed, &error),
                     OX_OK);
    const Onnx__NodeProto *made = (const void *)parsed.message;
    ck_assert_str_eq(made->attribute[0]->name, "then_branch");
    ck_assert_uint_eq(made->attribute[0]->g->n_node, 0);
    ck_assert_uint_eq(ox_parsed_payload(&parsed, made->attribute[0]->g->ox_payload)->size, inner.size);
    ck_assert(!ox_parsed_payload(&parsed, 1));
    release();
}
END_TEST

START_TEST(two_payloads_are_copied) {
    ox_bytes tensor = {0};
    ox_put_bytes(&tensor, 9, "0123456789abcdef", 16);
    ox_put_bytes(&tensor, 9, "fedcba9876543210", 16);
    ck_assert_int_eq(parse(TENSOR, tensor.data, tensor.size), OX_OK);
    ck_assert_uint_eq(parsed.npayloads, 0);
    ck_assert_uint_eq(((const Onnx__TensorProto *)parsed.message)->raw_data.data[0], 'f');
    release();
}
END_TEST

START_TEST(overlong_lengths_are_legal) {
    unsigned char bytes[40] = {0x4a, 0xa0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}; /* raw_data of 32 bytes */
    ck_assert_int_eq(parse(TENSOR, bytes, 40), OX_ERROR_MODEL);
    check_text("exceeds the 30 bytes left");
    bytes[1] = 0x9e;
    ck_assert_int_eq(parse(TENSOR, bytes, 40), OX_OK);
    ck_assert_uint_eq(parsed.payloads[0].offset, 10);
    ck_assert_uint_eq(parsed.payloads[0].size, 30);
    release();
}
END_TEST

/* `levels` messages in each other along `period` fields, from the inside out, in memory of its own. */
static unsigned char *nest(int levels, int period, const int *fields, size_t *size) {
    size_t room = (size_t)levels * 12 + 1, at = room;
    unsigned char *bytes = malloc(room);
    for (int level = levels; level-- > 0;) {
        ox_bytes head = {0};
        size_t length = room - at;
        head.data[head.size++] = (unsigned char)(fields[level % period] << 3 | 2);
        for (; length > 127; length >>= 7)
            head.data[head.size++] = (unsigned char)(length | 0x80);
        head.data[head.size++] = (unsigned char)length;
        at -= head.size;
        memcpy(bytes + at, head.data, head.size);
    }
    memmove(bytes, bytes + at, room - at);
    *size = room - at;
    return bytes;
}

/* As deep as it may be, or a level too deep: then a limit, with that text. */
static void check_depth(const ProtobufCMessageDescriptor *type, int levels, int period, const int *fields,
                        const char *text) {
    size_t size;
    unsigned char *bytes = nest(levels, period, fields, &size);
    ck_assert_int_eq(parse(type, bytes, size), text ? OX_ERROR_LIMIT : OX_OK);
    if (text)
        check_text(text);
    else
        release();
    free(bytes);
}

START_TEST(depth_is_bounded) {
    static const int model[3] = {7, 1, 5}, branches[3] = {1, 5, 6}, sequences[2] = {4, 1};
    const ProtobufCMessageDescriptor *graph = &onnx__graph_proto__descriptor, *type = &onnx__type_proto__descriptor;
    check_depth(graph, 3 * OX_MAX_GRAPHS + 2, 3, branches, NULL);
    check_depth(graph, 3 * OX_MAX_GRAPHS + 3, 3, branches, "subgraphs nest deeper than 32");
    check_depth(graph, 100000, 3, branches, "subgraphs nest deeper than 32");
    check_depth(type, OX_MAX_DEPTH, 2, sequences, NULL);
    check_depth(type, OX_MAX_DEPTH + 1, 2, sequences, "messages nest deeper than 100");
    check_depth(type, 9000, 2, sequences, "messages nest deeper than 100");
    check_depth(MODEL, 3, 3, model, NULL);
}
END_TEST

/* Every repeated message field, reached from the top, as often as fits in a megabyte. */
static void check_flood(const int *path, int length) {
    size_t size = (size_t)1 << 20;
    unsigned char *bytes = malloc(size + 64), *flood = bytes + 64;
    for (size_t i = 0; i + 2 < size; i += 2)
        memcpy(flood + i, (unsigned char[]){(unsigned char)(path[length - 1] << 3 | 2), 0}, 2);
    size -= 2;
    for (int level = length - 1; level-- > 0;) {
        ox_bytes head = {0};
        ox_put_int(&head, path[level], (int64_t)size);
        head.data[0] |= 2;
        flood -= head.size;
        memcpy(flood, head.data, head.size);
        size += head.size;
    }
    clock_t start = clock();
    ox_status status = parse(MODEL, flood, size);
    ck_assert_msg(status == OX_OK || status == OX_ERROR_LIMIT, "%s", error.text);
    ck_assert(clock() - start < seconds(1));
    if (status)
        check_text("bytes of memory");
    else
        ck_assert_uint_lt(parsed.block_size, (size_t)32 << 20);
    release();
    free(bytes);
}

START_TEST(floods_of_empty_messages_are_bounded) {
    static const int paths[][4] = {{8},        {14},         {7, 1},        {7, 5},        {7, 11},      {7, 12},
                                   {7, 13},    {7, 14},      {7, 15},       {7, 1, 1},     {7, 1, 5},    {7, 5, 6},
                                   {7, 5, 13}, {7, 1, 5, 9}, {7, 1, 5, 10}, {7, 1, 5, 11}, {7, 1, 5, 15}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int length = 0;
        while (length < 4 && paths[i][length])
            length++;
        check_flood(paths[i], length);
    }
}
END_TEST

START_TEST(lists_of_numbers_both_ways) {
    ox_bytes attr = {0};
    ox_put_int(&attr, 8, 5);
    ox_put_int(&attr, 8, -1);
    ox_put_bytes(&attr, 8, "\x07\x80\x01", 3);
    ck_assert_int_eq(parse(&onnx__attribute_proto__descriptor, attr.data, attr.size), OX_OK);
    const Onnx__AttributeProto *p = (const Onnx__AttributeProto *)parsed.message;
    ck_assert_uint_eq(p->n_ints, 4);
    ck_assert_int_eq(p->ints[1], -1);
    ck_assert_int_eq(p->ints[3], 128);
    release();
}
END_TEST

START_TEST(long_lists_of_single_numbers) {
    enum {
        COUNT = 300000
    };
    unsigned char *bytes = malloc(COUNT * 2 + 9);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(bytes + 2 * i, (unsigned char[]){8 << 3, (unsigned char)(i % 100)}, 2);
    memcpy(bytes + COUNT * 2, "\x3d\x00\x00\x80\x3f\x40\xff\x01", 8); /* floats: 1; ints: 255 */
    ck_assert_msg(parse(&onnx__attribute_proto__descriptor, bytes, COUNT * 2 + 8) == OX_OK, "%s", error.text);
    const Onnx__AttributeProto *p = (const Onnx__AttributeProto *)parsed.message;
    ck_assert_uint_eq(p->n_ints, COUNT + 1);
    ck_assert_uint_eq(p->n_floats, 1);
    ck_assert_int_eq(p->ints[99], 99);
    ck_assert_int_eq(p->ints[COUNT], 255);
    ck_assert(p->floats[0] == 1);
    release();
    ck_assert_int_eq(parse(&onnx__attribute_proto__descriptor, bytes, COUNT * 2 + 7), OX_ERROR_MODEL);
    check_text("ints: broken number");
    free(bytes);
}
END_TEST

START_TEST(every_truncation_is_refused_or_right) {
    ox_bytes graph = {0}, model = {0}, attrs = {0};
    float data[8] = {0};
    ox_put_attr_int(&attrs, "axis", -1);
    ox_put_initializer(&graph, "w", OX_FLOAT, 1, (const int64_t[]){8}, data);
    ox_put_node(&graph, "Add", "x,w", "y", &attrs);
    ox_put_input(&graph, "x", OX_FLOAT, 1, (const int64_t[]){8});
    ox_put_model(&model, &graph, 13);
    for (size_t size = 0; size <= model.size; size++) {
        unsigned char *copy = malloc(size + 1); /* its end is where the sanitizer looks */
        memcpy(copy, model.data, size);
        ox_status status = parse(MODEL, copy, size);
        ck_assert(status == OX_OK || (status == OX_ERROR_MODEL && *error.text));
        release();
        free(copy);
    }
}
END_TEST

Suite *ox_suite_wire(void);
Suite *ox_suite_wire(void) {
    Suite *suite = suite_create("wire");
    TCase *tests = tcase_create("wire");
    tcase_add_test(tests, errors_are_paths);
    tcase_add_test(tests, broken_fields_are_refused);
    tcase_add_test(tests, unknown_fields_are_left_out);
    tcase_add_test(tests, payloads_stay_in_place);
    tcase_add_test(tests, graphs_stay_in_place);
    tcase_add_test(tests, two_payloads_are_copied);
    tcase_add_test(tests, overlong_lengths_are_legal);
    tcase_add_test(tests, depth_is_bounded);
    tcase_add_test(tests, lists_of_numbers_both_ways);
    tcase_add_test(tests, every_truncation_is_refused_or_right);
    suite_add_tcase(suite, tests);
    TCase *floods = tcase_create("wire, floods");
    tcase_set_tags(floods, "long");
    tcase_add_test(floods, floods_of_empty_messages_are_bounded);
    tcase_add_test(floods, long_lists_of_single_numbers);
    suite_add_tcase(suite, floods);
    return suite;
}
