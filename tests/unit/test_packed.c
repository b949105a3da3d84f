/* test_packed.c: integers of 4 and 2 bits that lie packed: UnpackBits, PackRows, and models that keep them so. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/ops/index/pack_rows.h"
#include "src/ops/index/unpack_bits.h"
#include "tests/unit/call.h"
#include "tests/unit/loading.h"

enum {
    MOST = 140 * 136
};

static const ox_dtype types[] = {OX_INT4, OX_UINT4, OX_INT2, OX_UINT2};

/* Integer i of bytes, told bit by bit. */
static int integer(ox_dtype dtype, const uint8_t *bytes, int64_t i) {
    const int bits = ox_dtype_bits(dtype), each = 8 / bits;
    const int value = bytes[i / each] >> (i % each * bits) & ((1 << bits) - 1);
    return (dtype == OX_INT4 || dtype == OX_INT2) && value >> (bits - 1) ? value - (1 << bits) : value;
}

static void fill(uint8_t *bytes, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 167 + i / 256 * 31 + 13);
}

/* A call of an operator that no table has. */
static void begin(test_call *t, const ox_op *op, ox_dtype dtype, int rank, const int64_t *dims, const void *data) {
    test_call_begin(t, "Identity", 13);
    t->call.op = op;
    test_call_input(t, dtype, rank, dims, data);
}

static void begin_unpack(test_call *t, int64_t dtype, int rank, const int64_t *dims, const void *data) {
    begin(t, &ox_op_unpack_bits, OX_UINT8, rank, dims, data);
    test_call_int(t, "dtype", dtype);
}

START_TEST(rows_are_unpacked) {
    static uint8_t bytes[2 * 3 * 12];
    const ox_dtype dtype = types[_i];
    const int64_t each = 8 / ox_dtype_bits(dtype), dims[] = {77, 3, 4 * each};
    test_call t;
    fill(bytes, sizeof bytes);
    begin_unpack(&t, dtype, DIMS(2, 3, 12), bytes);
    test_call_ints(&t, "dims", 3, dims);
    ck_assert_msg(test_call_run(&t, 1) == OX_OK, "%s", t.error.text);
    ck_assert_int_eq(t.outputs[0].dtype, dtype);
    ck_assert(ox_same_dims(t.outputs[0].rank, t.outputs[0].dims, DIMS(2, 3, 3, 4 * each)));
    for (int64_t i = 0; i < (int64_t)sizeof bytes * each; i++)
        ck_assert_int_eq(((const int8_t *)t.outputs[0].data)[i], integer(dtype, bytes, i));
    test_call_end(&t);
}
END_TEST

static void check_error(test_call *t, ox_status status, const char *text) {
    ck_assert_int_eq(test_call_infer(t, 1), status);
    ck_assert_msg(strstr(t->error.text, text) != NULL, "'%s' is not in '%s'", text, t->error.text);
    test_call_end(t);
}

static void check_dims(int rank, const int64_t *dims, const char *text) {
    test_call t;
    begin_unpack(&t, OX_INT4, DIMS(2, 12), NULL);
    test_call_ints(&t, "dims", (size_t)rank, dims);
    check_error(&t, OX_ERROR_SHAPE, text);
}

START_TEST(other_dims_are_errors) {
    check_dims(DIMS(2, 22), "input 0 (uint8 [2,12]) has rows of 12 bytes, which are no rows of int4 [2,22]");
    check_dims(DIMS(2, 23), "[2,23]");
    check_dims(DIMS(2, -24), "[2,-24]");
    check_dims(DIMS(24), "which are no rows of int4 []");
    check_dims(DIMS(), "[]");
    check_dims(DIMS(2, INT64_MAX, 24), "has rows of 12 bytes");
    test_call t;
    begin_unpack(&t, OX_INT4, DIMS(2, 12), NULL);
    check_error(&t, OX_ERROR_SHAPE, "has rows of 12 bytes, which are no rows of int4 []");
    begin_unpack(&t, OX_INT4, DIMS(), NULL);
    test_call_ints(&t, "dims", 2, (const int64_t[]){2, 24});
    check_error(&t, OX_ERROR_SHAPE, "input 0 (uint8 []) has rows of 0 bytes");
    begin_unpack(&t, OX_UINT2, DIMS(2, 0), NULL);
    test_call_ints(&t, "dims", 2, (const int64_t[]){2, 0});
    check_error(&t, OX_ERROR_SHAPE, "has rows of 0 bytes, which are no rows of uint2 [2,0]");
}
END_TEST

START_TEST(too_many_dims_are_errors) {
    int64_t dims[OX_MAX_RANK + 2];
    test_call t;
    for (int d = 0; d < OX_MAX_RANK + 2; d++)
        dims[d] = d == OX_MAX_RANK - 1 ? 4 : 1;
    begin_unpack(&t, OX_UINT2, DIMS(5, 1, 1), NULL);
    test_call_ints(&t, "dims", OX_MAX_RANK, dims);
    check_error(&t, OX_ERROR_LIMIT, "the result has rank");
    begin_unpack(&t, OX_UINT2, DIMS(5, 1), NULL);
    test_call_ints(&t, "dims", OX_MAX_RANK + 2, dims);
    check_error(&t, OX_ERROR_SHAPE, "has rows of 1 bytes");
}
END_TEST

START_TEST(other_types_are_errors) {
    static const int64_t others[] = {OX_UNDEFINED, OX_INT8, OX_FLOAT4E2M1, OX_DTYPE_COUNT, -1, INT64_MAX, INT64_MIN};
    test_call t;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        begin_unpack(&t, others[i], DIMS(2, 12), NULL);
        test_call_ints(&t, "dims", 2, (const int64_t[]){2, 24});
        check_error(&t, OX_ERROR_MODEL, "no integer of 4 or 2 bits");
        if (!others[i])
            continue;
        begin(&t, &ox_op_pack_rows, OX_UINT8, DIMS(2, 12), NULL);
        test_call_int(&t, "dtype", others[i]);
        check_error(&t, OX_ERROR_MODEL, "no integer of 4 or 2 bits");
    }
    begin(&t, &ox_op_unpack_bits, OX_INT8, DIMS(2, 12), NULL);
    test_call_int(&t, "dtype", OX_INT4);
    check_error(&t, OX_ERROR_UNSUPPORTED, "int8");
    begin(&t, &ox_op_pack_rows, OX_INT4, DIMS(2, 12), NULL);
    test_call_int(&t, "dtype", OX_INT4);
    check_error(&t, OX_ERROR_UNSUPPORTED, "int4");
    begin(&t, &ox_op_pack_rows, OX_UINT8, DIMS(2, INT64_MAX / 2), NULL);
    test_call_int(&t, "dtype", OX_INT2);
    check_error(&t, OX_ERROR_SHAPE, "too many elements");
}
END_TEST

/* PackRows of a matrix as it is, or of its bytes. */
static void pack(test_call *t, ox_dtype dtype, const int64_t *dims, const uint8_t *bytes, const int64_t how[3]) {
    static uint8_t apart[MOST];
    const int64_t each = 8 / ox_dtype_bits(dtype);
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        apart[i] = (uint8_t)integer(dtype, bytes, i);
    if (how[2])
        begin(t, &ox_op_pack_rows, OX_UINT8, DIMS(dims[0], dims[1] / each), bytes);
    else
        begin(t, &ox_op_pack_rows, dtype, 2, dims, apart);
    test_call_int(t, "by_row", how[0]);
    test_call_int(t, "block", how[1]);
    if (how[2])
        test_call_int(t, "dtype", dtype);
    ck_assert_msg(test_call_run(t, 1) == OX_OK, "%s", t->error.text);
}

/* Around the sizes of tiles, of blocks that are filled up, and of a byte. */
START_TEST(rows_are_packed_of_bytes_as_of_integers) {
    static const int64_t sizes[][2] = {{1, 4},   {3, 8},     {63, 64},   {64, 60},
                                       {65, 68}, {128, 128}, {130, 132}, {140, 136}};
    static uint8_t bytes[MOST];
    test_call a, b;
    fill(bytes, MOST);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int64_t block = 0; block <= 64; block = block ? 2 * block : 16)
            for (int64_t by_row = 0; by_row < 2; by_row++) {
                pack(&a, types[_i], sizes[s], bytes, (const int64_t[]){by_row, block, 0});
                pack(&b, types[_i], sizes[s], bytes, (const int64_t[]){by_row, block, 1});
                ck_assert(ox_same_dims(a.outputs[0].rank, a.outputs[0].dims, b.outputs[0].rank, b.outputs[0].dims));
                ck_assert(!memcmp(a.outputs[0].data, b.outputs[0].data, (size_t)ox_tensor_count(&a.outputs[0])));
                test_call_end(&a);
                test_call_end(&b);
            }
}
END_TEST

/* ---- Models -------------------------------------------------------------------------------------------------- */

static uint8_t weights[256 * 256];

static const void *from_here(void *context, const char *location, size_t offset, size_t size) {
    (void)context;
    ck_assert_str_eq(location, "here");
    ck_assert_uint_eq(offset, 0);
    ck_assert_uint_eq(size, sizeof weights);
    return weights;
}

/* w, int4 [256,512], in blocks of 32; op: what else reads it, NULL for nothing; or it is the default of an input. */
static void put_model(ox_bytes *bytes, const char *op, bool is_input) {
    ox_bytes tensor = {0}, entry = {0}, graph = {0}, attrs = {0};
    ox_put_int(&tensor, 1, 256);
    ox_put_int(&tensor, 1, 512);
    ox_put_int(&tensor, 2, OX_INT4);
    ox_put_text(&tensor, 8, "w");
    ox_put_text(&entry, 1, "location");
    ox_put_text(&entry, 2, "here");
    ox_put_message(&tensor, 13, &entry);
    ox_put_int(&tensor, 14, 1);
    ox_put_message(&graph, 5, &tensor);
    if (is_input)
        ox_put_input(&graph, "w", OX_INT4, 2, (const int64_t[]){256, 512});
    ox_put_input(&graph, "s", OX_FLOAT, 2, (const int64_t[]){8, 512});
    ox_put_attr_int(&attrs, "axis", 0);
    ox_put_attr_int(&attrs, "block_size", 32);
    ox_put_node(&graph, "DequantizeLinear", "w,s", "y", &attrs);
    if (op)
        ox_put_node(&graph, op, "w", "v", NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_model(bytes, &graph, 21);
}

static void count_nodes(void *context, const ox_node_info *node) {
    ox_value_info info;
    ck_assert_int_eq(ox_node_input(node, 0, &info), OX_OK);
    ck_assert_str_eq(info.name, "w");
    ck_assert_int_eq(info.dtype, OX_INT4);
    ck_assert(ox_same_dims(info.rank, info.dims, DIMS(256, 512)));
    ++*(int *)context;
}

/* The model with one option of those that say how; `packed`: w lies so in memory. */
static void check_model(const ox_options *options, const char *op, bool packed) {
    ox_bytes bytes = {0};
    ox_options given = *options;
    ox_model_info info;
    int count = 0;
    put_model(&bytes, op, false);
    given.external_data = from_here;
    given.limits.nodes = op ? 2 : 1;
    ck_assert_msg(load_with(&bytes, &given) == OX_OK, "%s", error.text);
    ox_model_get_info(model, &info);
    ck_assert_uint_eq(info.node_count, given.limits.nodes);
    ck_assert_int_eq(info.parameter_count, 256 * 512);
    ck_assert_int_eq(info.weight_bytes, 256 * 256);
    ox_model_visit(model, NULL, count_nodes, &count);
    ck_assert_int_eq(count, (int)given.limits.nodes);
    const ox_slot *slot = ox_graph_weight(model->graph, find_value(model->graph, "w"));
    ck_assert((slot == NULL) == packed);
    ck_assert((model->loaded_bytes < sizeof weights) == packed);
    ck_assert(model->graph->weights[0].tensor.data == weights || !packed);
    ox_model_free(model);
}

START_TEST(weights_in_blocks_stay_packed) {
    check_model(&(ox_options){0}, NULL, true);
}
END_TEST

START_TEST(weights_that_others_read_are_unpacked) {
    check_model(&(ox_options){0}, "Identity", false);
    check_model(&(ox_options){0}, "Shape", false);
}
END_TEST

START_TEST(defaults_of_inputs_are_unpacked) {
    ox_bytes bytes = {0};
    ox_value_info info;
    put_model(&bytes, NULL, true);
    ck_assert_int_eq(load_with(&bytes, &(ox_options){.external_data = from_here}), OX_OK);
    ck_assert_int_eq(ox_model_input(model, 0, &info), OX_OK);
    ck_assert_str_eq(info.name, "w");
    ck_assert_int_eq(info.dtype, OX_INT4);
    ck_assert_uint_gt(model->loaded_bytes, 2 * sizeof weights);
    ox_model_free(model);
}
END_TEST

START_TEST(weights_are_unpacked_where_nothing_is_rewritten) {
    check_model(&(ox_options){.no_fuse = true}, NULL, false);
    check_model(&(ox_options){.no_integer = true}, NULL, false);
}
END_TEST

Suite *ox_suite_packed(void);
Suite *ox_suite_packed(void) {
    Suite *suite = suite_create("packed");
    TCase *tests = tcase_create("packed");
    tcase_add_loop_test(tests, rows_are_unpacked, 0, 4);
    tcase_add_test(tests, other_dims_are_errors);
    tcase_add_test(tests, too_many_dims_are_errors);
    tcase_add_test(tests, other_types_are_errors);
    tcase_add_loop_test(tests, rows_are_packed_of_bytes_as_of_integers, 0, 4);
    tcase_add_test(tests, weights_in_blocks_stay_packed);
    tcase_add_test(tests, weights_that_others_read_are_unpacked);
    tcase_add_test(tests, defaults_of_inputs_are_unpacked);
    tcase_add_test(tests, weights_are_unpacked_where_nothing_is_rewritten);
    suite_add_tcase(suite, tests);
    return suite;
}
