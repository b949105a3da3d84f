/* test_plugin.c: operators of one's own, from a list of descriptors: elementwise ones, views, ones that compute, ones
 * that fail, and descriptors that make no sense. */
#include "own_model.h"

#include <check.h>
#include <string.h>

#define DOMAIN "com.test"

static own_model m;

/* ---- The operators -------------------------------------------------------------------------------------------- */

/* scale * x, computed in float or double; minus one has no result. */
#define SCALED(name, type)                                                                                             \
    static int name(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                            \
        int64_t scale;                                                                                                 \
        int fault = 0;                                                                                                 \
        memcpy(&scale, attr, sizeof scale);                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type x;                                                                                                    \
            memcpy(&x, arg[1] + i * step[1], sizeof x);                                                                \
            fault |= x == -1 ? OX_LANE_FAULT : 0;                                                                      \
            x *= (type)scale;                                                                                          \
            memcpy(arg[0] + i * (int64_t)sizeof x, &x, sizeof x);                                                      \
        }                                                                                                              \
        return fault;                                                                                                  \
    }
SCALED(scaled_f32, float)
SCALED(scaled_f64, double)

static ox_status prepare_scaled(ox_call *call) {
    int64_t *scale = ox_call_state(call, sizeof *scale);
    if (!scale)
        return OX_ERROR_MEMORY;
    *scale = ox_call_int(call, "scale", 2);
    return OX_OK;
}

/* 10 * x + y. */
static int digits_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    ck_assert_ptr_null(attr);
    for (int64_t i = 0; i < n; i++) {
        float x, y;
        memcpy(&x, arg[1] + i * step[1], sizeof x);
        memcpy(&y, arg[2] + i * step[2], sizeof y);
        x = 10 * x + y;
        memcpy(arg[0] + i * (int64_t)sizeof x, &x, sizeof x);
    }
    return 0;
}

/* The last axis backwards. */
static ox_status infer_flip(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    int64_t strides[OX_TENSOR_RANK], offset = 0;
    int last;
    ox_status status = ox_call_axis(call, "axis", -1, x->rank, &last);
    if (status)
        return status;
    ox_tensor_strides(x, strides);
    if (x->dims[last])
        offset = (x->dims[last] - 1) * strides[last];
    strides[last] = -strides[last];
    return ox_call_view(call, 0, 0, offset, x->rank, x->dims, strides);
}

/* Sums of the rows of a matrix, times a number of the state; partial sums go through the workspace. */
static ox_status infer_row_sums(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    if (x->rank != 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "a matrix is wanted, not rank %d", x->rank);
    return ox_call_output(call, 0, OX_FLOAT, 1, x->dims);
}

static ox_status prepare_row_sums(ox_call *call) {
    ck_assert_int_eq(ox_call_result(call, 0)->rank, 1);
    ox_call_set_workspace(call, (size_t)ox_call_int(call, "workspace", sizeof(float)));
    return prepare_scaled(call);
}

static ox_status run_row_sums(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    float *sum = ox_call_workspace(call), *out = ox_call_result(call, 0)->data;
    const int64_t *scale = ox_call_get_state(call);
    ck_assert_msg((uintptr_t)sum % 64 == 0, "the workspace of %lld rows lies at %p", (long long)x->dims[0],
                  (void *)sum);
    for (int64_t row = 0; row < x->dims[0]; row++) {
        *sum = 0;
        for (int64_t column = 0; column < x->dims[1]; column++) {
            float element; /* a weight lies at any address */
            memcpy(&element, (const char *)x->data + (row * x->dims[1] + column) * (int64_t)sizeof element,
                   sizeof element);
            *sum += element;
        }
        out[row] = *sum * (float)*scale;
    }
    return OX_OK;
}

/* As many ones as input 0 says: the shape depends on data. */
static ox_status infer_ones(ox_call *call) {
    const ox_tensor *n;
    ox_status status = ox_call_data(call, 0, &n);
    return status ? status : ox_call_output(call, 0, OX_FLOAT, 1, n->data);
}

static ox_status run_ones(ox_call *call) {
    const ox_tensor *y = ox_call_result(call, 0);
    for (int64_t i = 0; i < y->dims[0]; i++)
        ((float *)y->data)[i] = 1;
    return OX_OK;
}

/* Fails in the way that the attribute says. */
static ox_status infer_fail(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0), *data;
    switch (ox_call_int(call, "how", 0)) {
    case 0:
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "not on a %s", "Tuesday");
    case 1:
        return OX_ERROR_VALUE;
    case 2:
        return (ox_status)1234;
    case 3:
        return OX_OK;
    case 4:
        return ox_call_output(call, 1, OX_FLOAT, x->rank, x->dims);
    case 5:
        return ox_call_output(call, 0, (ox_dtype)99, x->rank, x->dims);
    case 6:
        return ox_call_view(call, 0, 1, 0, x->rank, x->dims, x->dims);
    case 7:
        return ox_call_data(call, 5, &data);
    default:
        return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
    }
}

static ox_status run_fail(ox_call *call) {
    switch (ox_call_int(call, "how", 0)) {
    case 8:
        return ox_call_fail(call, OX_ERROR_VALUE, "the moon is at %d percent", 40);
    case 9:
        return OX_ERROR_VALUE;
    default:
        return (ox_status)100;
    }
}

#define ONE_TO_ONE .domain = DOMAIN, .since = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 1

static const ox_typed_lane scaled[] = {{OX_FLOAT, OX_FLOAT, scaled_f32}, {OX_DOUBLE, OX_DOUBLE, scaled_f64}};
static const ox_typed_lane digits[] = {{OX_FLOAT, OX_FLOAT, digits_f32}};

static const ox_operator own[] = {
    {ONE_TO_ONE, .name = "Scaled", .prepare = prepare_scaled, .lanes = scaled, .lane_count = 2},
    {.domain = DOMAIN,
     .name = "Digits",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .lanes = digits,
     .lane_count = 1},
    {ONE_TO_ONE, .name = "Flip", .flags = OX_OP_STRIDED, .infer = infer_flip},
    {ONE_TO_ONE, .name = "RowSums", .dtypes = 1u << OX_FLOAT, .infer = infer_row_sums, .prepare = prepare_row_sums,
     .run = run_row_sums},
    {ONE_TO_ONE, .name = "Ones", .dtypes = 1u << OX_INT64, .infer = infer_ones, .run = run_ones},
    {ONE_TO_ONE, .name = "Fail", .infer = infer_fail, .run = run_fail},
};

/* ---- Models ----------------------------------------------------------------------------------------------------- */

static const int64_t two_by_3[] = {2, 3}, three[] = {3}, one[] = {1};

static void begin(void) {
    memset(&m, 0, sizeof m);
    own_begin(&m, DOMAIN, 1);
    m.options.operators = own;
    m.options.operator_count = sizeof own / sizeof *own;
    ox_put_output(&m.graph, "y", OX_UNDEFINED, -1, NULL);
}

static void must(ox_status status) {
    ck_assert_msg(status == OX_OK, "%s", m.error.text);
}

static void must_fail(ox_status status, ox_status wanted, const char *text) {
    ck_assert_msg(status == wanted, "status %d, expected %d: %s", status, wanted, m.error.text);
    ck_assert_msg(strstr(m.error.text, text), "no '%s' in: %s", text, m.error.text);
}

static ox_tensor matrix(float *values) {
    return (ox_tensor){OX_FLOAT, 2, two_by_3, NULL, values};
}

/* An elementwise operator between others, in one pass with them and by itself. */
START_TEST(test_elementwise) {
    float x[] = {7, -2, 3, 4, 5, -6}, row[] = {1, 2, 3};
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "scale", 3);
    m.options.no_fuse = _i;
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_input(&m.graph, "row", OX_FLOAT, 1, three);
    ox_put_node(&m.graph, "Neg", "x", "a", NULL);
    own_node(&m, "Scaled", "a", "b", &attrs);
    own_node(&m, "Digits", "b,row", "c", NULL);
    ox_put_node(&m.graph, "Relu", "c", "y", NULL);
    must(own_load(&m));
    must(own_run(&m, 2, (ox_tensor[]){matrix(x), {OX_FLOAT, 1, three, NULL, row}}));
    own_check(&m, 2, two_by_3, (const float[]){0, 62, 0, 0, 0, 183});
    own_end(&m);
}
END_TEST

/* 16-bit types are computed in float, by the loop for float. */
START_TEST(test_half) {
    uint16_t x[] = {0x3c00, 0x4200, 0xc400}; /* 1, 3, -4 */
    ox_put_input(&m.graph, "x", OX_FLOAT16, 1, three);
    own_node(&m, "Scaled", "x", "y", NULL);
    must(own_load(&m));
    must(own_run(&m, 1, &(ox_tensor){OX_FLOAT16, 1, three, NULL, x}));
    ck_assert_int_eq(m.output.dtype, OX_FLOAT16);
    ck_assert_mem_eq(m.output.data, ((const uint16_t[]){0x4000, 0x4600, 0xc800}), sizeof x);
    own_end(&m);
}
END_TEST

START_TEST(test_no_loop) {
    int64_t x[] = {1, 2, 3};
    ox_put_input(&m.graph, "x", OX_INT64, 1, three);
    own_node(&m, "Scaled", "x", "y", NULL);
    must(own_load(&m));
    must_fail(own_run(&m, 1, &(ox_tensor){OX_INT64, 1, three, NULL, x}), OX_ERROR_UNSUPPORTED, "type int64");
    own_end(&m);
}
END_TEST

START_TEST(test_lane_fault) {
    float x[] = {1, 2, -1};
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, three);
    own_node(&m, "Scaled", "x", "y", NULL);
    must(own_load(&m));
    must_fail(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, three, NULL, x}), OX_ERROR_VALUE, "Scaled");
    x[2] = 1;
    must(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, three, NULL, x}));
    own_check(&m, 1, three, (const float[]){2, 4, 2});
    own_end(&m);
}
END_TEST

/* An attribute of a wrong type is noticed where prepare alone reads it. */
START_TEST(test_wrong_attribute) {
    float x[] = {1, 2, 3};
    ox_bytes attrs = {0};
    own_ints(&attrs, "scale", 1, one);
    m.options.no_fuse = _i;
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, three);
    own_node(&m, "Scaled", "x", "y", &attrs);
    must(own_load(&m));
    must_fail(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, three, NULL, x}), OX_ERROR_MODEL,
              "attribute 'scale' is of type ints, expected int");
    own_end(&m);
}
END_TEST

/* A view as an output, of a view, and before an operator that takes no strides. */
START_TEST(test_view) {
    float x[] = {1, 2, 3, 4, 5, 6};
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    own_node(&m, "Flip", "x", "y", NULL);
    ox_put_output(&m.graph, "back", OX_UNDEFINED, -1, NULL);
    own_node(&m, "Flip", "y", "back", NULL);
    ox_put_output(&m.graph, "sums", OX_UNDEFINED, -1, NULL);
    own_node(&m, "RowSums", "y", "sums", NULL);
    must(own_load(&m));
    must(own_run(&m, 1, (ox_tensor[]){matrix(x)}));
    own_check(&m, 2, two_by_3, (const float[]){3, 2, 1, 6, 5, 4});
    must(ox_session_output(m.session, 1, &m.output, &m.error));
    own_check(&m, 2, two_by_3, x);
    must(ox_session_output(m.session, 2, &m.output, &m.error));
    own_check(&m, 1, (const int64_t[]){2}, (const float[]){12, 30});
    own_end(&m);
}
END_TEST

START_TEST(test_computes) {
    float x[] = {1, 2, 3, 4, 5, 6};
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "scale", -1);
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    own_node(&m, "RowSums", "x", "y", &attrs);
    must(own_load(&m));
    must(own_run(&m, 1, (ox_tensor[]){matrix(x)}));
    own_check(&m, 1, (const int64_t[]){2}, (const float[]){-6, -15});
    size_t calls = m.counter.calls;
    must(own_run(&m, 1, (ox_tensor[]){matrix(x)}));
    ck_assert_uint_eq(m.counter.calls, calls);
    own_end(&m);
}
END_TEST

/* Sizes that wrap around to small ones. */
START_TEST(test_too_large) {
    float x[] = {1};
    const int64_t huge[] = {1, (int64_t)(SIZE_MAX / sizeof *x) + 1}, strides[] = {0, 0};
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "workspace", -1);
    ox_put_input(&m.graph, "x", OX_FLOAT, -1, NULL);
    own_node(&m, "RowSums", "x", "y", &attrs);
    must(own_load(&m));
    must_fail(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 2, huge, strides, x}), OX_ERROR_LIMIT, "too large");
    must_fail(own_run(&m, 1, (ox_tensor[]){matrix((float[]){1, 2, 3, 4, 5, 6})}), OX_ERROR_LIMIT, "too large");
    own_end(&m);
}
END_TEST

/* The workspace begins at a cache line, in a run and while a plan is made, whatever a plan has taken before. */
START_TEST(test_workspace_is_aligned) {
    static float values[3 * 5];
    for (int64_t rows = 1; rows <= 5; rows++) {
        char name[] = "w0", sums[] = "s0";
        name[1] = sums[1] = (char)('0' + rows);
        ox_put_initializer(&m.graph, name, OX_FLOAT, 2, (int64_t[]){rows, 3}, values);
        own_node(&m, "RowSums", name, sums, NULL);
    }
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    own_node(&m, "RowSums", "x", "y", NULL);
    must(own_load(&m));
    must(own_run(&m, 1, (ox_tensor[]){matrix((float[]){1, 2, 3, 4, 5, 6})}));
    own_check(&m, 1, (int64_t[]){2}, (float[]){12, 30});
    own_end(&m);
}
END_TEST

START_TEST(test_shape_from_data) {
    int64_t n[] = {1};
    ox_put_input(&m.graph, "n", OX_INT64, 1, one);
    ox_put_node(&m.graph, "Add", "n,n", "twice", NULL);
    own_node(&m, "Ones", "twice", "y", NULL);
    must(own_load(&m));
    for (n[0] = 1; n[0] < 4; n[0]++) {
        must(own_run(&m, 1, &(ox_tensor){OX_INT64, 1, one, NULL, n}));
        own_check(&m, 1, (const int64_t[]){2 * n[0]}, (const float[]){1, 1, 1, 1, 1, 1});
    }
    own_end(&m);
}
END_TEST

/* A constant input: the result is computed once, when the plan is made. */
START_TEST(test_constant) {
    const float x[] = {1, 2, 3, 4, 5, 6};
    ox_put_initializer(&m.graph, "x", OX_FLOAT, 2, two_by_3, x);
    own_node(&m, "RowSums", "x", "s", NULL);
    own_node(&m, "Scaled", "s", "y", NULL);
    must(own_load(&m));
    must(own_run(&m, 0, NULL));
    own_check(&m, 1, (const int64_t[]){2}, (const float[]){24, 60});
    own_end(&m);
}
END_TEST

static const struct {
    ox_status status;
    const char *text;
} failures[] = {
    {OX_ERROR_UNSUPPORTED, "Fail-1): not on a Tuesday"},
    {OX_ERROR_VALUE, "its infer function failed"},
    {OX_ERROR_ARGUMENT, "its infer function returned 1234, which is not a status"},
    {OX_ERROR_MODEL, "no output 0"},
    {OX_ERROR_ARGUMENT, "output 1 of 1 cannot have type float"},
    {OX_ERROR_ARGUMENT, "output 0 of 1 cannot have type undefined"},
    {OX_ERROR_ARGUMENT, "input 1 is asked for, but omitted"},
    {OX_ERROR_ARGUMENT, "input 5 is asked for, but omitted"},
    {OX_ERROR_VALUE, "Fail-1): the moon is at 40 percent"},
    {OX_ERROR_VALUE, "its run function failed"},
    {OX_ERROR_ARGUMENT, "its run function returned 100, which is not a status"},
};

START_TEST(test_failures) {
    float x[] = {1, 2, 3};
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "how", _i);
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, three);
    own_node(&m, "Fail", "x", "y", &attrs);
    must(own_load(&m));
    for (int again = 0; again < 2; again++)
        must_fail(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, three, NULL, x}), failures[_i].status, failures[_i].text);
    own_end(&m);
}
END_TEST

/* The n-th allocation fails, for every n. */
START_TEST(test_out_of_memory) {
    float x[] = {1, 2, 3, 4, 5, 6};
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    own_node(&m, "Flip", "x", "f", NULL);
    own_node(&m, "RowSums", "f", "s", NULL);
    own_node(&m, "Scaled", "s", "y", NULL);
    for (size_t n = 1;; n++) {
        m.counter.calls = 0;
        m.counter.fail_at = n;
        m.model = NULL;
        m.session = NULL;
        ox_status status = own_load(&m);
        if (!status)
            status = own_run(&m, 1, (ox_tensor[]){matrix(x)});
        bool failed = m.counter.calls >= n;
        ck_assert_int_eq(status, failed ? OX_ERROR_MEMORY : OX_OK);
        if (!failed)
            own_check(&m, 1, (const int64_t[]){2}, (const float[]){24, 60});
        own_end(&m);
        if (!failed)
            return;
    }
}
END_TEST

/* ---- Finding operators ------------------------------------------------------------------------------------------ */

static void put_scaled(const char *op) {
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, three);
    own_node(&m, op, "x", "y", NULL);
}

/* Of two rows the one that the model's version asks for. */
START_TEST(test_versions) {
    ox_operator rows[] = {own[0], own[0]};
    ox_op_use use;
    rows[0].since = 5;
    rows[1].since = 2;
    m.options.operators = rows;
    m.options.operator_count = 2;
    m.version = _i;
    put_scaled("Scaled");
    if (_i < 2) {
        must_fail(own_load(&m), OX_ERROR_UNSUPPORTED, "com.test.Scaled-1");
    } else {
        must(own_load(&m));
        must(ox_model_op_use(m.model, 0, &use));
        ck_assert_int_eq(use.version, _i < 5 ? 2 : 5);
    }
    own_end(&m);
}
END_TEST

START_TEST(test_unknown) {
    put_scaled("Frobnicate");
    must_fail(own_load(&m), OX_ERROR_UNSUPPORTED, "com.test.Frobnicate-1");
    own_end(&m);
}
END_TEST

/* ONNX's own domain can be added to. */
START_TEST(test_onnx_domain) {
    ox_operator row = own[0];
    float x[] = {1, 2, 3};
    row.domain = "";
    m.options.operators = &row;
    m.options.operator_count = 1;
    m.domain = "";
    put_scaled("Scaled");
    must(own_load(&m));
    must(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, three, NULL, x}));
    own_check(&m, 1, three, (const float[]){2, 4, 6});
    own_end(&m);
}
END_TEST

/* An operator from outside comes before ox's own of that domain, and may be of a newer version. */
START_TEST(test_replaces) {
    ox_operator row = own[0];
    float x[] = {1, 2, 3};
    row.domain = "onednn.graph";
    row.name = "StaticUnsqueeze";
    m.options.operators = &row;
    m.options.operator_count = 1;
    m.domain = row.domain;
    m.version = 7;
    put_scaled("StaticUnsqueeze");
    must(own_load(&m));
    must(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, three, NULL, x}));
    own_check(&m, 1, three, (const float[]){2, 4, 6});
    own_end(&m);
}
END_TEST

/* ---- Descriptors ------------------------------------------------------------------------------------------------ */

static const ox_typed_lane half_lane[] = {{OX_FLOAT16, OX_FLOAT16, scaled_f32}},
                           null_lane[] = {{OX_FLOAT, OX_FLOAT, 0}};

static const struct {
    const char *text;
    ox_operator row;
} wrong[] = {
    {"no name", {ONE_TO_ONE, .infer = infer_flip}},
    {"no name", {ONE_TO_ONE, .name = "", .infer = infer_flip}},
    {"no domain", {.name = "X", .since = 1, .infer = infer_flip}},
    {"no domain", {.name = "X", .domain = "ai.onnx", .since = 1, .infer = infer_flip}},
    {"'com.test.X' version 0: its version", {.name = "X", .domain = DOMAIN, .infer = infer_flip}},
    {"its version", {.name = "X", .domain = DOMAIN, .since = 32768, .infer = infer_flip}},
    {"not a range", {.name = "X", .domain = DOMAIN, .since = 1, .min_inputs = 2, .max_inputs = 1, .infer = infer_flip}},
    {"not a range", {.name = "X", .domain = DOMAIN, .since = 1, .min_outputs = -1, .infer = infer_flip}},
    {"not a range", {.name = "X", .domain = DOMAIN, .since = 1, .max_outputs = 128, .infer = infer_flip}},
    {"unknown flags", {ONE_TO_ONE, .name = "X", .flags = 4, .infer = infer_flip}},
    {"cannot be replaced", {.name = "Add", .domain = "", .since = 1, .infer = infer_flip}},
    {"neither an infer function", {ONE_TO_ONE, .name = "X", .run = run_ones}},
    {"no run function", {ONE_TO_ONE, .name = "X", .run = run_ones, .lanes = scaled, .lane_count = 2}},
    {"NULL", {ONE_TO_ONE, .name = "X", .lane_count = 2}},
    {"a loop is NULL", {ONE_TO_ONE, .name = "X", .lanes = null_lane, .lane_count = 1}},
    {"computed in float", {ONE_TO_ONE, .name = "X", .lanes = half_lane, .lane_count = 1}},
    {"without a loop", {ONE_TO_ONE, .name = "X", .dtypes = 1u << OX_INT8, .lanes = scaled, .lane_count = 2}},
    {"number of inputs",
     {.name = "X", .domain = DOMAIN, .since = 1, .max_inputs = 1, .lanes = scaled, .lane_count = 2}},
    {"exactly one output",
     {.name = "X", .domain = DOMAIN, .since = 1, .min_inputs = 1, .max_inputs = 1, .lanes = scaled, .lane_count = 2}},
};

START_TEST(test_wrong_descriptor) {
    ox_operator rows[] = {own[0], wrong[_i].row};
    m.options.operators = rows;
    m.options.operator_count = 2;
    put_scaled("Scaled");
    must_fail(own_load(&m), OX_ERROR_ARGUMENT, wrong[_i].text);
    own_end(&m);
}
END_TEST

START_TEST(test_twice) {
    ox_operator rows[] = {own[0], own[1], own[0]};
    m.options.operators = rows;
    m.options.operator_count = 3;
    put_scaled("Scaled");
    must_fail(own_load(&m), OX_ERROR_ARGUMENT, "'com.test.Scaled' version 1: it is given twice");
    m.options.operators = NULL;
    must_fail(own_load(&m), OX_ERROR_ARGUMENT, "the list of 3 operators is NULL");
    own_end(&m);
}
END_TEST

START_TEST(test_abi) {
    ox_plugin plugin = {OX_PLUGIN_ABI, "test", own, sizeof own / sizeof *own};
    must(ox_plugin_check(&plugin, &m.error));
    plugin.abi++;
    must_fail(ox_plugin_check(&plugin, &m.error), OX_ERROR_UNSUPPORTED, "plug-in ABI 2, this is 1");
    must_fail(ox_plugin_check(NULL, &m.error), OX_ERROR_ARGUMENT, "NULL");
    ox_plugin broken = {OX_PLUGIN_ABI, "test", &wrong[4].row, 1};
    must_fail(ox_plugin_check(&broken, &m.error), OX_ERROR_ARGUMENT, wrong[4].text);
    ck_assert_int_eq(ox_plugin_check(&broken, NULL), OX_ERROR_ARGUMENT);
}
END_TEST

Suite *ox_suite_plugin(void) {
    Suite *suite = suite_create("plugin");
    TCase *tests = tcase_create("plugin");
    tcase_add_checked_fixture(tests, begin, NULL);
    tcase_add_loop_test(tests, test_elementwise, 0, 2);
    tcase_add_test(tests, test_half);
    tcase_add_test(tests, test_no_loop);
    tcase_add_test(tests, test_lane_fault);
    tcase_add_loop_test(tests, test_wrong_attribute, 0, 2);
    tcase_add_test(tests, test_view);
    tcase_add_test(tests, test_computes);
    tcase_add_test(tests, test_too_large);
    tcase_add_test(tests, test_workspace_is_aligned);
    tcase_add_test(tests, test_shape_from_data);
    tcase_add_test(tests, test_constant);
    tcase_add_loop_test(tests, test_failures, 0, sizeof failures / sizeof *failures);
    tcase_add_test(tests, test_out_of_memory);
    tcase_add_loop_test(tests, test_versions, 1, 7);
    tcase_add_test(tests, test_unknown);
    tcase_add_test(tests, test_onnx_domain);
    tcase_add_test(tests, test_replaces);
    tcase_add_loop_test(tests, test_wrong_descriptor, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(tests, test_twice);
    tcase_add_test(tests, test_abi);
    suite_add_tcase(suite, tests);
    return suite;
}
