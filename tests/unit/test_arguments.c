/* test_arguments.c: every function of ox.h, called as no caller should: with NULL, with options that mean nothing, with
 * indices out of range, in the wrong order. Each says so, or does nothing; none ends in a signal. `make header` fails
 * for a function that is declared there and not called here. */
#include "builds.h"
#include "own_model.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static own_model m;
static ox_error error;

/* The status, and an error that says the same with that text in it. */
static void check_error(ox_status status, const char *text) {
    ck_assert_int_eq(status, OX_ERROR_ARGUMENT);
    ck_assert_int_eq(error.status, OX_ERROR_ARGUMENT);
    ck_assert_msg(strstr(error.text, text) != NULL, "'%s' is not in '%s'", text, error.text);
    memset(&error, 0x55, sizeof error);
}
#define FAILS(call, text) check_error(call, text)
#define REFUSES(call) ck_assert_int_eq(call, OX_ERROR_ARGUMENT)

/* ---- A model -------------------------------------------------------------------------------------------------- */

static const int64_t two_by_three[] = {2, 3}, three_by_two[] = {3, 2};
static float elements[6] = {1, 2, 3, 4, 5, 6};

static ox_tensor floats(const int64_t *dims) {
    return (ox_tensor){OX_FLOAT, 2, dims, NULL, elements};
}

/* y = -x, and x itself. */
static void begin_model(void) {
    m = (own_model){0};
    own_begin(&m, "", 21);
    ox_put_input(&m.graph, "x", OX_FLOAT, -1, NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ox_put_output(&m.graph, "x", OX_FLOAT, -1, NULL);
    ox_put_node(&m.graph, "Neg", "x", "y", NULL);
    ck_assert_int_eq(own_load(&m), OX_OK);
}

/* ---- Names, types, tensors ------------------------------------------------------------------------------------ */

START_TEST(names_of_anything) {
    char version[64];
    snprintf(version, sizeof version, "%d.%d.%d", OX_VERSION_MAJOR, OX_VERSION_MINOR, OX_VERSION_PATCH);
    ck_assert_str_eq(ox_version(), version);
    ck_assert_str_eq(ox_status_name((ox_status)77), "unknown status");
    ck_assert_str_eq(ox_status_name((ox_status)-1), "unknown status");
    ck_assert_str_eq(ox_dtype_name((ox_dtype)77), "undefined");
    ck_assert_str_eq(ox_dtype_name((ox_dtype)-1), "undefined");
    ck_assert_int_eq(ox_dtype_from_name(NULL), OX_UNDEFINED);
    ck_assert_int_eq(ox_dtype_from_name("float77"), OX_UNDEFINED);
    ck_assert_uint_eq(ox_dtype_size((ox_dtype)77), 0);
    ck_assert_uint_eq(ox_dtype_size((ox_dtype)-1), 0);
    ck_assert_int_eq(ox_dtype_bits((ox_dtype)77), 0);
    ck_assert_int_eq(ox_dtype_bits((ox_dtype)-1), 0);
    ck_assert_str_eq(ox_step_kind_name((ox_step_kind)77), "unknown");
    ck_assert_str_eq(ox_step_kind_name((ox_step_kind)-1), "unknown");
}
END_TEST

START_TEST(tensors_without_a_shape) {
    static const ox_tensor wrong[] = {{OX_FLOAT, 2, NULL, NULL, NULL},
                                      {OX_FLOAT, -1, two_by_three, NULL, NULL},
                                      {OX_FLOAT, 65, two_by_three, NULL, NULL}};
    int64_t strides[2] = {7, 8};
    ck_assert_int_eq(ox_tensor_count(NULL), -1);
    ck_assert(!ox_tensor_is_packed(NULL));
    ox_tensor_strides(NULL, strides);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(ox_tensor_count(&wrong[i]), -1);
        ck_assert(!ox_tensor_is_packed(&wrong[i]));
        ox_tensor_strides(&wrong[i], strides);
    }
    ck_assert(strides[0] == 7 && strides[1] == 8);
    ox_tensor_strides(&(ox_tensor){OX_FLOAT, 2, two_by_three, NULL, NULL}, NULL);
}
END_TEST

START_TEST(numbers) {
    uint8_t digits[17];
    int exponent;
    ck_assert(ox_float_from_bits((ox_dtype)77, 1) != ox_float_from_bits((ox_dtype)77, 1));
    ck_assert(ox_float_from_bits((ox_dtype)-1, 1) != ox_float_from_bits((ox_dtype)-1, 1));
    ck_assert_int_eq(ox_float_digits(OX_FLOAT, 1.5, NULL, &exponent), 0);
    ck_assert_int_eq(ox_float_digits(OX_FLOAT, 1.5, digits, NULL), 0);
    ck_assert_int_eq(ox_float_digits(OX_FLOAT, -1, digits, &exponent), 0);
    (void)ox_float_digits((ox_dtype)77, 1.5, digits, &exponent);
}
END_TEST

START_TEST(tensors_from_nothing) {
    const ox_allocator none = {NULL, NULL};
    const ox_options no_function = {.allocator = &none};
    ox_tensor *tensor = (ox_tensor *)&m;
    const char *name;
    FAILS(ox_tensor_from_proto(NULL, 5, NULL, &tensor, &name, &error), "bytes is NULL");
    ck_assert_ptr_null(tensor);
    FAILS(ox_tensor_from_proto("", 0, NULL, NULL, &name, &error), "tensor is NULL");
    FAILS(ox_tensor_from_proto("", 0, &no_function, &tensor, NULL, &error), "resize is NULL");
    REFUSES(ox_tensor_from_proto(NULL, 5, NULL, NULL, NULL, NULL));
    ox_tensor_free(NULL, NULL);
    ox_tensor_free(NULL, &no_function);
}
END_TEST

/* ---- Memory and options --------------------------------------------------------------------------------------- */

START_TEST(values_from_nothing) {
    const ox_tensor none = {0};
    const ox_options no_function = {.allocator = &(const ox_allocator){0}};
    const ox_value *item = NULL;
    ox_value *value;
    const char *name;
    char type[OX_TYPE_TEXT];
    FAILS(ox_value_from_tensor(NULL, NULL, &value, &error), "tensor is NULL");
    FAILS(ox_value_from_tensor(&none, NULL, &value, &error), "is not described");
    FAILS(ox_value_from_tensor(&none, NULL, NULL, &error), "value is NULL");
    FAILS(ox_value_from_items(OX_KIND_TENSOR, NULL, &item, 1, NULL, &value, &error), "kind 1 has none");
    FAILS(ox_value_from_items((ox_kind)77, NULL, &item, 1, NULL, &value, &error), "kind 77 has none");
    FAILS(ox_value_from_items(OX_KIND_SEQUENCE, NULL, NULL, 1, NULL, &value, &error), "items is NULL");
    FAILS(ox_value_from_items(OX_KIND_SEQUENCE, NULL, &item, 1, NULL, &value, &error), "items[i] is NULL");
    FAILS(ox_value_from_items(OX_KIND_SEQUENCE, &none, NULL, 0, NULL, &value, &error), "only maps have keys");
    FAILS(ox_value_from_items(OX_KIND_MAP, NULL, NULL, 0, NULL, &value, &error), "keys is NULL");
    FAILS(ox_value_from_items(OX_KIND_SEQUENCE, NULL, NULL, 0, NULL, NULL, &error), "value is NULL");
    FAILS(ox_value_from_items(OX_KIND_SEQUENCE, NULL, NULL, 0, &no_function, &value, &error), "resize is NULL");
    FAILS(ox_value_from_proto(OX_KIND_MAP, NULL, 5, NULL, &value, &name, &error), "bytes is NULL");
    FAILS(ox_value_from_proto(OX_KIND_SPARSE, "", 0, NULL, &value, &name, &error),
          "no file format for values of kind 5");
    FAILS(ox_value_from_proto(OX_KIND_MAP, "", 0, NULL, NULL, &name, &error), "value is NULL");
    FAILS(ox_value_from_proto(OX_KIND_MAP, "", 0, &no_function, &value, NULL, &error), "resize is NULL");
    REFUSES(ox_value_from_proto(OX_KIND_MAP, NULL, 5, NULL, NULL, NULL, NULL));
    ox_value_free(NULL);
    ck_assert_int_eq(ox_value_kind(NULL), OX_KIND_UNKNOWN);
    ck_assert_str_eq(ox_value_type(NULL, type), "");
    ck_assert_str_eq(ox_value_type(NULL, NULL), "");
    ck_assert_ptr_null(ox_value_tensor(NULL));
    ck_assert_uint_eq(ox_value_count(NULL), 0);
    ck_assert_ptr_null(ox_value_item(NULL, 0));
    ck_assert_ptr_null(ox_value_keys(NULL));
}
END_TEST

START_TEST(no_buffer) {
    ox_fixed fixed;
    ox_model *model;
    ox_allocator allocator = ox_fixed_allocator(NULL, elements, sizeof elements);
    const ox_options options = {.allocator = &allocator};
    begin_model();
    FAILS(ox_model_load_memory(m.bytes.data, m.bytes.size, &options, &model, &error), "resize is NULL");
    allocator = ox_fixed_allocator(&fixed, NULL, 1 << 20);
    ck_assert_int_eq(ox_model_load_memory(m.bytes.data, m.bytes.size, &options, &model, &error), OX_ERROR_MEMORY);
    own_end(&m);
}
END_TEST

typedef struct wrong_option {
    ox_options options;
    const char *text;
} wrong_option;

START_TEST(options_that_mean_nothing) {
    static const ox_allocator no_function = {NULL, NULL};
    static const wrong_option wrong[] = {{{.isa = "avx9"}, "isa 'avx9' is not a build of the loops: base"},
                                         {{.isa = ""}, "isa ''"},
                                         {{.threads = -4}, "-4 threads are out of range (0 to 256"},
                                         {{.threads = 257}, "257 threads"},
                                         {{.limits = {.depth = -1}}, "depth is -1"},
                                         {{.allocator = &no_function}, "resize is NULL"},
                                         {{.reserved = {1}}, "reserved words of the options are not 0"},
                                         {{.reserved = {[6] = 1}}, "needs a later version than"},
                                         {{.reserved_flags = {[sizeof(size_t) - 2] = 2}}, "needs a later version than"},
                                         {{.limits = {.reserved = {1}}}, "reserved words"},
                                         {{.limits = {.reserved = {[2] = SIZE_MAX}}}, "reserved words"}};
    ox_model *model;
    ox_session *session;
    begin_model();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const ox_options *options = &wrong[i].options;
        FAILS(ox_model_load_memory(m.bytes.data, m.bytes.size, options, &model, &error), wrong[i].text);
        ck_assert_ptr_null(model);
        FAILS(ox_model_load_file("none.onnx", options, &model, &error), wrong[i].text);
        FAILS(ox_model_load_for_info("none.onnx", options, &model, &error), wrong[i].text);
        FAILS(ox_session_create(m.model, options, &session, &error), wrong[i].text);
        ck_assert_ptr_null(session);
    }
    FAILS(ox_model_load_memory(m.bytes.data, m.bytes.size, &(ox_options){.operator_count = 2}, &model, &error),
          "the list of 2 operators is NULL");
    own_end(&m);
}
END_TEST

START_TEST(options_that_have_a_meaning) {
    begin_model();
    for (int i = 0; i <= BUILDS; i++) {
        ox_session *session;
        ck_assert_int_eq(
            ox_session_create(m.model, &(ox_options){.isa = i ? builds[i - 1] : NULL, .threads = i}, &session, NULL),
            OX_OK);
        ox_session_free(session);
    }
    own_end(&m);
}
END_TEST

/* ---- Models --------------------------------------------------------------------------------------------------- */

START_TEST(models_from_nothing) {
    ox_model *model = (ox_model *)&m;
    FAILS(ox_model_load_file(NULL, NULL, &model, &error), "ox_model_load_file: path is NULL");
    ck_assert_ptr_null(model);
    FAILS(ox_model_load_file("none.onnx", NULL, NULL, &error), "model is NULL");
    FAILS(ox_model_load_for_info(NULL, NULL, &model, &error), "path is NULL");
    FAILS(ox_model_load_for_info("none.onnx", NULL, NULL, &error), "model is NULL");
    FAILS(ox_model_load_memory(NULL, 5, NULL, &model, &error), "bytes is NULL");
    FAILS(ox_model_load_memory("", 0, NULL, NULL, &error), "model is NULL");
    FAILS(ox_model_load_memory_for_info(NULL, 5, NULL, &model, &error), "ox_model_load_memory_for_info: bytes is NULL");
    FAILS(ox_model_load_memory_for_info("", 0, NULL, NULL, &error), "model is NULL");
    REFUSES(ox_model_load_file(NULL, NULL, NULL, NULL));
    REFUSES(ox_model_load_for_info(NULL, NULL, NULL, NULL));
    REFUSES(ox_model_load_memory(NULL, 5, NULL, NULL, NULL));
    ck_assert_int_ne(ox_model_load_memory(NULL, 0, NULL, &model, NULL), OX_OK);
    ck_assert_int_ne(ox_model_load_file("none.onnx", NULL, &model, NULL), OX_OK);
    ox_model_free(NULL);
}
END_TEST

START_TEST(what_no_model_says) {
    ox_value_info value;
    ox_op_use use;
    ox_model_info info;
    memset(&info, 0x55, sizeof info);
    ck_assert_uint_eq(ox_model_input_count(NULL), 0);
    ck_assert_uint_eq(ox_model_output_count(NULL), 0);
    ck_assert_uint_eq(ox_model_op_use_count(NULL), 0);
    REFUSES(ox_model_input(NULL, 0, &value));
    REFUSES(ox_model_output(NULL, 0, &value));
    REFUSES(ox_model_op_use(NULL, 0, &use));
    ox_model_get_info(NULL, &info);
    ck_assert(info.opset_count == 0 && info.opsets == NULL && info.producer_name == NULL);
    begin_model();
    REFUSES(ox_model_input(m.model, 0, NULL));
    REFUSES(ox_model_input(m.model, 1, &value));
    REFUSES(ox_model_input(m.model, SIZE_MAX, &value));
    REFUSES(ox_model_output(m.model, 0, NULL));
    REFUSES(ox_model_output(m.model, 2, &value));
    REFUSES(ox_model_op_use(m.model, 0, NULL));
    REFUSES(ox_model_op_use(m.model, 1, &use));
    ox_model_get_info(m.model, NULL);
    own_end(&m);
}
END_TEST

START_TEST(rows_that_are_not_there) {
    ox_op_info info;
    REFUSES(ox_op_get(0, NULL));
    REFUSES(ox_op_get(ox_op_count(), &info));
    REFUSES(ox_op_get(SIZE_MAX, &info));
}
END_TEST

/* ---- Sessions ------------------------------------------------------------------------------------------------- */

START_TEST(no_session) {
    ox_session *session = (ox_session *)&m;
    const ox_tensor x = floats(two_by_three);
    ox_tensor y;
    const ox_value *value;
    ox_memory_info memory = {1, 2, 3};
    FAILS(ox_session_create(NULL, NULL, &session, &error), "ox_session_create: model is NULL");
    ck_assert_ptr_null(session);
    FAILS(ox_session_set_input(NULL, 0, &x, &error), "session is NULL");
    FAILS(ox_session_prepare(NULL, &error), "session is NULL");
    FAILS(ox_session_run(NULL, &error), "session is NULL");
    FAILS(ox_session_output(NULL, 0, &y, &error), "session is NULL");
    FAILS(ox_session_set_value(NULL, 0, NULL, &error), "session is NULL");
    FAILS(ox_session_output_value(NULL, 0, &value, &error), "session is NULL");
    REFUSES(ox_session_create(NULL, NULL, NULL, NULL));
    REFUSES(ox_session_set_input(NULL, 0, NULL, NULL));
    REFUSES(ox_session_prepare(NULL, NULL));
    REFUSES(ox_session_run(NULL, NULL));
    REFUSES(ox_session_output(NULL, 0, NULL, NULL));
    FAILS(ox_session_set_outputs(NULL, NULL, NULL, &error), "session is NULL");
    ox_session_memory(NULL, &memory);
    ck_assert(memory.arena_bytes == 0 && memory.plan_bytes == 0 && memory.weight_bytes == 0);
    ox_session_memory(NULL, NULL);
    ck_assert_uint_eq(ox_session_op_types(NULL, 0), 0);
    ox_session_set_profile(NULL, NULL, NULL);
    ox_session_set_progress(NULL, NULL, NULL);
    ox_session_free(NULL);
    begin_model();
    FAILS(ox_session_create(m.model, NULL, NULL, &error), "session is NULL");
    ox_session_memory(m.session, NULL);
    ck_assert_uint_eq(ox_session_op_types(m.session, 77), 0);
    own_end(&m);
}
END_TEST

START_TEST(inputs_that_are_no_tensors) {
    ox_tensor x = floats(NULL);
    begin_model();
    FAILS(ox_session_set_input(m.session, 1, &x, &error), "there is no input 1, the model has 1");
    FAILS(ox_session_set_input(m.session, SIZE_MAX, &x, &error), "there is no input");
    FAILS(ox_session_set_input(m.session, 0, &x, &error), "input 'x' has rank 2, but its dims are NULL");
    x = (ox_tensor){OX_FLOAT, 65, two_by_three, NULL, elements};
    FAILS(ox_session_set_input(m.session, 0, &x, &error), "input 'x': rank 65 is out of range (0 to 64)");
    x.rank = -1;
    FAILS(ox_session_set_input(m.session, 0, &x, &error), "rank -1 is out of range");
    x = (ox_tensor){(ox_dtype)77, 2, two_by_three, NULL, elements};
    FAILS(ox_session_set_input(m.session, 0, &x, &error), "input 'x': 77 is not an element type");
    x = (ox_tensor){OX_FLOAT, 2, two_by_three, NULL, NULL};
    FAILS(ox_session_set_input(m.session, 0, &x, &error), "comes without data");
    x = floats((const int64_t[]){2, -3});
    FAILS(ox_session_set_input(m.session, 0, &x, &error), "is not a shape");
    REFUSES(ox_session_set_input(m.session, 0, &x, NULL));
    own_end(&m);
}
END_TEST

/* The steps of a session in every wrong order. */
START_TEST(wrong_order) {
    ox_tensor x = floats(two_by_three), y;
    const ox_value *value;
    begin_model();
    FAILS(ox_session_output_value(m.session, 0, &value, &error), "before a successful run");
    FAILS(ox_session_output(m.session, 0, &y, &error), "before a successful run");
    FAILS(ox_session_prepare(m.session, &error), "input 'x' (float of any shape) is not set");
    FAILS(ox_session_run(m.session, &error), "is not set");
    FAILS(ox_session_output(m.session, 0, &y, &error), "before a successful run");
    ck_assert_int_eq(own_run(&m, 1, &x), OX_OK);
    FAILS(ox_session_output(m.session, 2, &y, &error), "there is no output 2, the session has 2");
    FAILS(ox_session_output(m.session, 0, NULL, &error), "tensor is NULL");
    FAILS(ox_session_output_value(m.session, 2, &value, &error), "there is no output 2, the session has 2");
    FAILS(ox_session_output_value(m.session, 0, NULL, &error), "value is NULL");
    ck_assert_int_eq(ox_session_output_value(m.session, 0, &value, &error), OX_OK);
    ck_assert_ptr_null(value);
    FAILS(ox_session_set_value(m.session, 5, NULL, &error), "there is no input 5");
    ck_assert_int_eq(ox_session_prepare(m.session, &error), OX_OK);
    FAILS(ox_session_output(m.session, 0, &y, &error), "before a successful run");
    ck_assert_int_eq(ox_session_run(m.session, NULL), OX_OK);
    ck_assert_int_eq(ox_session_set_input(m.session, 0, NULL, &error), OX_OK);
    FAILS(ox_session_run(m.session, &error), "is not set");
    FAILS(ox_session_output(m.session, 0, &y, &error), "before a successful run");
    own_end(&m);
}
END_TEST

/* Outputs stay as they are until the next run, whatever is set for it. */
START_TEST(outputs_outlive_new_inputs) {
    const ox_tensor x = floats(two_by_three), turned = floats(three_by_two);
    ox_tensor y;
    begin_model();
    ck_assert_int_eq(own_run(&m, 1, &x), OX_OK);
    ck_assert_int_eq(ox_session_set_input(m.session, 0, &turned, &error), OX_OK);
    own_check(&m, 2, two_by_three, (const float[]){-1, -2, -3, -4, -5, -6});
    ck_assert_int_eq(ox_session_output(m.session, 0, &m.output, &error), OX_OK);
    own_check(&m, 2, two_by_three, (const float[]){-1, -2, -3, -4, -5, -6});
    FAILS(ox_session_output(m.session, 1, &y, &error), "output 'x' is an input, which has another shape since");
    ck_assert_int_eq(ox_session_run(m.session, &error), OX_OK);
    ck_assert_int_eq(ox_session_output(m.session, 0, &m.output, &error), OX_OK);
    own_check(&m, 2, three_by_two, (const float[]){-1, -2, -3, -4, -5, -6});
    ck_assert_int_eq(ox_session_output(m.session, 1, &m.output, &error), OX_OK);
    own_check(&m, 2, three_by_two, elements);
    own_end(&m);
}
END_TEST

/* ---- Profiles ------------------------------------------------------------------------------------------------- */

static int events;

static void note_event(void *context, const ox_profile_event *event) {
    ox_profile_event more = *event;
    ox_profile_node node;
    ck_assert_ptr_null(context);
    more.node_count = 1000;
    ck_assert_int_eq(ox_profile_event_node(event, 0, &node), OX_OK);
    ck_assert_str_eq(node.op, "Neg");
    REFUSES(ox_profile_event_node(event, 1, &node));
    REFUSES(ox_profile_event_node(event, SIZE_MAX, &node));
    REFUSES(ox_profile_event_node(event, 0, NULL));
    REFUSES(ox_profile_event_node(&more, 999, &node));
    events++;
}

static void note_node(void *context, const ox_node_info *node) {
    ox_value_info info;
    ++*(int *)context;
    REFUSES(ox_node_input(node, 1, &info));
    REFUSES(ox_node_output(node, 1, &info));
    REFUSES(ox_node_input(node, 0, NULL));
    REFUSES(ox_node_output(node, 0, NULL));
    ck_assert_int_eq(ox_node_int(node, NULL, 7), 7);
    ck_assert_int_eq(ox_node_int(node, "none", 7), 7);
}

START_TEST(nodes_that_are_none) {
    ox_value_info info;
    int nodes = 0;
    REFUSES(ox_node_input(NULL, 0, &info));
    REFUSES(ox_node_output(NULL, 0, &info));
    ck_assert_int_eq(ox_node_int(NULL, "axis", 7), 7);
    ox_model_visit(NULL, NULL, note_node, &nodes);
    begin_model();
    ox_model_visit(m.model, NULL, NULL, &nodes);
    ck_assert_int_eq(nodes, 0);
    ox_model_visit(m.model, NULL, note_node, &nodes);
    ox_model_visit(NULL, m.session, note_node, &nodes);
    ck_assert_int_eq(nodes, 2);
    own_end(&m);
}
END_TEST

/* Models and sessions keep nothing that lies in the caller's text: a subgraph is prepared when it first runs. */
START_TEST(texts_of_options_end_with_the_call) {
    char isa[] = "base";
    ox_session *session = NULL;
    m = (own_model){.options.isa = isa};
    own_begin(&m, "", 21);
    ox_put_input(&m.graph, "x", OX_FLOAT, -1, NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ox_put_node(&m.graph, "Neg", "x", "y", NULL);
    ck_assert_int_eq(own_load(&m), OX_OK);
    memset(isa, 'z', sizeof isa - 1);
    ck_assert_int_eq(ox_session_create(m.model, NULL, &session, &error), OX_OK);
    ox_session_free(session);
    own_end(&m);
}
END_TEST

START_TEST(extra_outputs_that_are_none) {
    static const char *const names[] = {"x", NULL};
    ox_session *session;
    ox_options options = {.extra_output_count = 1};
    begin_model();
    FAILS(ox_session_create(m.model, &options, &session, &error), "1 extra outputs, but no names");
    options = (ox_options){.extra_outputs = names, .extra_output_count = 2};
    FAILS(ox_session_create(m.model, &options, &session, &error), "extra output 1 has no name");
    own_end(&m);
}
END_TEST

START_TEST(events_that_are_none) {
    const ox_profile_event none = {.node_count = 1};
    const ox_tensor x = floats(two_by_three);
    ox_profile_node node;
    REFUSES(ox_profile_event_node(NULL, 0, &node));
    REFUSES(ox_profile_event_node(&none, 0, &node));
    begin_model();
    ox_session_set_profile(m.session, note_event, NULL);
    ck_assert_int_eq(own_run(&m, 1, &x), OX_OK);
    ck_assert_int_eq(events, 1);
    ox_session_set_profile(m.session, NULL, NULL);
    ck_assert_int_eq(own_run(&m, 1, &x), OX_OK);
    ck_assert_int_eq(events, 1);
    own_end(&m);
}
END_TEST

/* ---- Operators from outside ----------------------------------------------------------------------------------- */

START_TEST(no_call) {
    const ox_tensor *tensor;
    size_t count;
    int axis;
    ck_assert_int_eq(ox_call_version(NULL), 0);
    ck_assert_int_eq(ox_call_input_count(NULL), 0);
    ck_assert_int_eq(ox_call_output_count(NULL), 0);
    ck_assert_ptr_null(ox_call_input(NULL, 0));
    ck_assert_ptr_null(ox_call_result(NULL, 0));
    ck_assert(!ox_call_has(NULL, "axis"));
    ck_assert_int_eq(ox_call_int(NULL, "axis", 3), 3);
    ck_assert(ox_call_float(NULL, "alpha", 0.5F) == 0.5F);
    ck_assert_str_eq(ox_call_string(NULL, "mode", "m").data, "m");
    ck_assert_ptr_null(ox_call_string(NULL, "mode", NULL).data);
    ck_assert_ptr_null(ox_call_ints(NULL, "axes", &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(ox_call_floats(NULL, "scales", NULL));
    ck_assert_ptr_null(ox_call_strings(NULL, "names", NULL));
    ck_assert_ptr_null(ox_call_tensor(NULL, "value"));
    ck_assert_int_eq(ox_call_fail(NULL, OX_ERROR_SHAPE, "%d", 1), OX_ERROR_SHAPE);
    REFUSES(ox_call_data(NULL, 0, &tensor));
    REFUSES(ox_call_check_dtype(NULL, 0, ~0u));
    REFUSES(ox_call_check_same(NULL, 0, 1));
    REFUSES(ox_call_axis(NULL, "axis", 0, 1, &axis));
    REFUSES(ox_call_output(NULL, 0, OX_FLOAT, 0, NULL));
    REFUSES(ox_call_view(NULL, 0, 0, 0, 0, NULL, NULL));
    ck_assert_ptr_null(ox_call_state(NULL, 8));
    ck_assert_ptr_null(ox_call_get_state(NULL));
    ox_call_set_workspace(NULL, 8);
    ck_assert_ptr_null(ox_call_workspace(NULL));
}
END_TEST

/* What every function of an operator may ask, wrongly. */
static void ask_wrongly(ox_call *call) {
    size_t count;
    ck_assert_ptr_null(ox_call_input(call, -1));
    ck_assert_ptr_null(ox_call_input(call, 77));
    ck_assert_ptr_null(ox_call_result(call, -1));
    ck_assert_ptr_null(ox_call_result(call, 77));
    ck_assert(!ox_call_has(call, NULL));
    ck_assert_int_eq(ox_call_int(call, NULL, 3), 3);
    ck_assert(ox_call_float(call, NULL, 0.5F) == 0.5F);
    ck_assert_ptr_null(ox_call_string(call, "mode", NULL).data);
    ck_assert_ptr_null(ox_call_ints(call, NULL, NULL));
    ck_assert_ptr_null(ox_call_floats(call, NULL, &count));
    ck_assert_ptr_null(ox_call_strings(call, NULL, &count));
    ck_assert_ptr_null(ox_call_tensor(call, NULL));
    REFUSES(ox_call_fail(call, OX_ERROR_ARGUMENT, NULL));
    REFUSES(ox_call_data(call, 0, NULL));
    REFUSES(ox_call_data(call, -1, &(const ox_tensor *){NULL}));
    REFUSES(ox_call_data(call, 77, &(const ox_tensor *){NULL}));
    REFUSES(ox_call_check_dtype(call, -1, ~0u));
    REFUSES(ox_call_check_dtype(call, 77, ~0u));
    REFUSES(ox_call_check_same(call, -1, 1));
    REFUSES(ox_call_check_same(call, 77, 78));
    REFUSES(ox_call_axis(call, NULL, 0, 1, NULL));
    ck_assert_int_ne(ox_call_axis(call, NULL, 0, -1, &(int){0}), OX_OK);
}

static ox_status infer_wrongly(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    ask_wrongly(call);
    REFUSES(ox_call_output(call, -1, OX_FLOAT, 2, x->dims));
    REFUSES(ox_call_output(call, 1, OX_FLOAT, 2, x->dims));
    REFUSES(ox_call_output(call, 0, (ox_dtype)77, 2, x->dims));
    REFUSES(ox_call_output(call, 0, OX_FLOAT, -2, x->dims));
    REFUSES(ox_call_output(call, 0, OX_FLOAT, 2, NULL));
    REFUSES(ox_call_view(call, 0, 77, 0, 2, x->dims, x->dims));
    REFUSES(ox_call_view(call, 0, 0, 0, 2, NULL, x->dims));
    REFUSES(ox_call_view(call, 0, 0, 0, 2, x->dims, NULL));
    ck_assert_ptr_null(ox_call_result(call, 0));
    ck_assert_ptr_null(ox_call_state(call, 8));
    ck_assert_ptr_null(ox_call_workspace(call));
    return ox_call_output(call, 0, OX_FLOAT, 2, x->dims);
}

static ox_status prepare_wrongly(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    ask_wrongly(call);
    REFUSES(ox_call_output(call, 0, OX_FLOAT, 2, x->dims));
    REFUSES(ox_call_view(call, 0, 0, 0, 2, x->dims, x->dims));
    REFUSES(ox_call_data(call, 0, &x));
    ck_assert_ptr_null(ox_call_state(call, SIZE_MAX));
    ck_assert_ptr_null(ox_call_get_state(call));
    ck_assert_ptr_null(ox_call_workspace(call));
    return ox_call_state(call, 8) ? OX_OK : OX_ERROR_MEMORY;
}

static ox_status run_wrongly(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    void *state = ox_call_get_state(call);
    ask_wrongly(call);
    REFUSES(ox_call_output(call, 0, OX_FLOAT, 2, x->dims));
    REFUSES(ox_call_view(call, 0, 0, 0, 2, x->dims, x->dims));
    ck_assert_ptr_null(ox_call_state(call, 8));
    ck_assert_ptr_eq(ox_call_get_state(call), state);
    ox_call_set_workspace(call, SIZE_MAX);
    memset(ox_call_result(call, 0)->data, 0, 6 * sizeof(float));
    return OX_OK;
}

START_TEST(calls_at_the_wrong_time) {
    const ox_operator op = {.domain = "com.test",
                            .name = "Wrong",
                            .since = 1,
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .min_outputs = 1,
                            .max_outputs = 1,
                            .infer = infer_wrongly,
                            .prepare = prepare_wrongly,
                            .run = run_wrongly};
    const ox_tensor x = floats(two_by_three);
    m = (own_model){0};
    own_begin(&m, "com.test", 1);
    m.options.operators = &op;
    m.options.operator_count = 1;
    ox_put_input(&m.graph, "x", OX_FLOAT, -1, NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    own_node(&m, "Wrong", "x", "y", NULL);
    ck_assert_int_eq(own_load(&m), OX_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(own_run(&m, 1, &x) == OX_OK, "%s", m.error.text);
        own_check(&m, 2, two_by_three, (const float[6]){0});
    }
    own_end(&m);
}
END_TEST

START_TEST(plugins_that_are_none) {
    const ox_plugin empty = {.abi = OX_PLUGIN_ABI, .operator_count = 2}, nothing = {.abi = OX_PLUGIN_ABI};
    FAILS(ox_plugin_check(NULL, &error), "gave NULL");
    FAILS(ox_plugin_check(&empty, &error), "the list of 2 operators is NULL");
    REFUSES(ox_plugin_check(NULL, NULL));
    ck_assert_int_eq(ox_plugin_check(&nothing, &error), OX_OK);
    ck_assert_str_eq(error.text, "");
}
END_TEST

Suite *ox_suite_arguments(void);
Suite *ox_suite_arguments(void) {
    const TTest *const all[] = {names_of_anything,
                                tensors_without_a_shape,
                                numbers,
                                tensors_from_nothing,
                                values_from_nothing,
                                no_buffer,
                                options_that_mean_nothing,
                                options_that_have_a_meaning,
                                models_from_nothing,
                                what_no_model_says,
                                rows_that_are_not_there,
                                no_session,
                                inputs_that_are_no_tensors,
                                wrong_order,
                                outputs_outlive_new_inputs,
                                events_that_are_none,
                                nodes_that_are_none,
                                texts_of_options_end_with_the_call,
                                extra_outputs_that_are_none,
                                no_call,
                                calls_at_the_wrong_time,
                                plugins_that_are_none};
    Suite *suite = suite_create("arguments");
    TCase *tests = tcase_create("arguments");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tcase_add_test(tests, all[i]);
    suite_add_tcase(suite, tests);
    return suite;
}
