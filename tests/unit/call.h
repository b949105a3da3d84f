/* call.h: runs one operator by itself, without a model: for the tests of src/ops. */
#ifndef TESTS_UNIT_CALL_H
#define TESTS_UNIT_CALL_H

#include "src/ops/op.h"

enum {
    TEST_CALL_MOST = 16
};

/* One call. Data, strides and attributes are borrowed, dimensions copied; outputs belong to the call. */
typedef struct test_call {
    ox_call call;
    const ox_tensor *in[TEST_CALL_MOST];
    ox_tensor inputs[TEST_CALL_MOST];
    int64_t dims[TEST_CALL_MOST][OX_MAX_RANK];
    ox_tensor *out[TEST_CALL_MOST];
    ox_tensor outputs[TEST_CALL_MOST]; /* after test_call_run: packed */
    ox_attr attrs[TEST_CALL_MOST];
    ox_result results[TEST_CALL_MOST];
    ox_pile pile;
    ox_error error;
} test_call;

/* A rank and its dimensions, as two arguments: DIMS(2, 3); DIMS() is a scalar. */
#define DIMS(...)                                                                                                      \
    ((int)(sizeof((int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t)) - 1), ((const int64_t[]){0, __VA_ARGS__}) + 1

/* Starts a call of an operator as of an opset version; the operator must exist there. */
void test_call_begin(test_call *t, const char *op, int64_t version);
void test_call_end(test_call *t);

/* Adds an input; with data NULL it is not known before the run. */
void test_call_input(test_call *t, ox_dtype dtype, int rank, const int64_t *dims, const void *data);
void test_call_strided(test_call *t, ox_dtype dtype, int rank, const int64_t *dims, const int64_t *strides,
                       const void *data);
void test_call_omit(test_call *t);
/* Adds an input that is a list of int64. */
#define test_call_list(t, ...)                                                                                         \
    test_call_input(t, OX_INT64, 1, (const int64_t[]){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)},             \
                    (const int64_t[]){__VA_ARGS__})

ox_attr *test_call_attr(test_call *t, const char *name, ox_attr_kind kind);
void test_call_int(test_call *t, const char *name, int64_t value);
void test_call_float(test_call *t, const char *name, float value);
void test_call_string(test_call *t, const char *name, const char *value);
void test_call_ints(test_call *t, const char *name, size_t count, const int64_t *values);

/* Infers nout outputs; their shapes are in t->results. */
ox_status test_call_infer(test_call *t, int nout);
/* Infers, prepares and runs; views are copied, so that t->outputs are packed in any case. */
ox_status test_call_run(test_call *t, int nout);

#endif
