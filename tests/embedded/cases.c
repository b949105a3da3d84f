/* cases.c: node cases that are part of the image, and shapes that broadcast, in a buffer of a few KB: for boards that
 * have no files and little memory. Prints a line for each, and what it took. */
#include <string.h>

#include "board.h"
#include "../../src/ox.h"

enum {
    INPUTS = 2,
    RANK = 4
};

typedef struct blob {
    const unsigned char *bytes;
    size_t size;
} blob;

typedef struct embedded_case {
    const char *name;
    blob model, inputs[INPUTS], output;
} embedded_case;

#include "cases.inc"

static _Alignas(8) unsigned char buffer[CASES_BUFFER];
static size_t peak;
static ox_error error;

/* ---- One run in the buffer ----------------------------------------------------------------------------------------
 */

typedef struct running {
    ox_fixed fixed;
    ox_allocator allocator;
    ox_options options;
    ox_model *model;
    ox_session *session;
    ox_tensor output;
} running;

static ox_status start(running *r, blob model) {
    *r = (running){0};
    r->allocator = ox_fixed_allocator(&r->fixed, buffer, sizeof buffer);
    r->options.allocator = &r->allocator;
    ox_status status = ox_model_load_memory(model.bytes, model.size, &r->options, &r->model, &error);
    return status ? status : ox_session_create(r->model, &r->options, &r->session, &error);
}

static ox_status finish(running *r) {
    ox_status status = ox_session_run(r->session, &error);
    return status ? status : ox_session_output(r->session, 0, &r->output, &error);
}

static void stop(running *r) {
    ox_session_free(r->session);
    ox_model_free(r->model);
    if (r->fixed.peak > peak)
        peak = r->fixed.peak;
}

/* ---- Cases --------------------------------------------------------------------------------------------------------
 */

static bool same(const ox_tensor *a, const ox_tensor *b) {
    size_t bytes = (size_t)ox_tensor_count(a) * ox_dtype_size(a->dtype);
    return a->dtype == b->dtype && a->rank == b->rank &&
           (!a->rank || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims)) &&
           !memcmp(a->data, b->data, bytes);
}

static ox_status read_tensor(const running *r, blob bytes, ox_tensor **tensor) {
    return ox_tensor_from_proto(bytes.bytes, bytes.size, &r->options, tensor, NULL, &error);
}

/* *instructions are those up to the result. */
static bool run_case(const embedded_case *one, uint32_t *instructions) {
    running r;
    ox_tensor *inputs[INPUTS] = {NULL}, *expected = NULL;
    ox_status status = start(&r, one->model);
    for (size_t i = 0; i < INPUTS && !status && one->inputs[i].bytes; i++) {
        status = read_tensor(&r, one->inputs[i], &inputs[i]);
        if (!status)
            status = ox_session_set_input(r.session, i, inputs[i], &error);
    }
    if (!status)
        status = finish(&r);
    *instructions = board_instructions();
    for (size_t i = 0; i < INPUTS; i++)
        ox_tensor_free(inputs[i], &r.options);
    if (!status)
        status = read_tensor(&r, one->output, &expected);
    bool passed = !status && same(&r.output, expected);
    ox_tensor_free(expected, &r.options);
    stop(&r);
    return passed;
}

/* ---- Shapes that broadcast ----------------------------------------------------------------------------------------
 */

/* y = Add(a, b), opset 13, of floats without stated shapes. */
static const unsigned char add_model[] __attribute__((aligned(8))) =
    "\x08\x08\x42\x02\x10\x0d\x3a\x34"
    "\x0a\x0e\x0a\x01\x61\x0a\x01\x62\x12\x01\x79\x22\x03\x41\x64\x64\x12\x01\x67"
    "\x5a\x09\x0a\x01\x61\x12\x04\x0a\x02\x08\x01"
    "\x5a\x09\x0a\x01\x62\x12\x04\x0a\x02\x08\x01"
    "\x62\x09\x0a\x01\x79\x12\x04\x0a\x02\x08\x01";

typedef struct shape {
    int rank;
    int64_t dims[RANK];
} shape;

/* The examples of ONNX's description of broadcasting; each gives [2,3,4,5]. */
static const shape pairs[][2] = {
    {{4, {2, 3, 4, 5}}, {0, {0}}},       {{4, {2, 3, 4, 5}}, {1, {5}}},       {{2, {4, 5}}, {4, {2, 3, 4, 5}}},
    {{3, {1, 4, 5}}, {4, {2, 3, 1, 1}}}, {{3, {3, 4, 5}}, {4, {2, 1, 1, 1}}},
};
static const int64_t result_dims[RANK] = {2, 3, 4, 5};

enum {
    RESULT_COUNT = 2 * 3 * 4 * 5
};

/* Which element of an operand meets element `index` of the result. */
static int64_t operand_index(const shape *s, const int64_t index[RANK]) {
    int64_t at = 0;
    for (int d = 0; d < s->rank; d++)
        at = at * s->dims[d] + (s->dims[d] == 1 ? 0 : index[RANK - s->rank + d]);
    return at;
}

static bool right_sums(const float *y, const shape pair[2], const float *values) {
    for (int64_t i = 0; i < RESULT_COUNT; i++) {
        int64_t index[RANK], rest = i;
        for (int d = RANK; d-- > 0; rest /= result_dims[d])
            index[d] = rest % result_dims[d];
        if (y[i] != values[operand_index(&pair[0], index)] + values[operand_index(&pair[1], index)])
            return false;
    }
    return true;
}

static bool run_shapes(const shape pair[2]) {
    static float values[RESULT_COUNT]; /* both operands are the first of these */
    running r;
    for (int i = 0; i < RESULT_COUNT; i++)
        values[i] = (float)(i * i) + 0.5f;
    ox_status status = start(&r, (blob){add_model, sizeof add_model - 1});
    for (size_t i = 0; i < 2 && !status; i++)
        status = ox_session_set_input(r.session, i, &(ox_tensor){OX_FLOAT, pair[i].rank, pair[i].dims, NULL, values},
                                      &error);
    if (!status)
        status = finish(&r);
    const ox_tensor expected = {OX_FLOAT, RANK, result_dims, NULL, NULL};
    bool passed = !status && r.output.rank == RANK && !memcmp(r.output.dims, expected.dims, sizeof result_dims) &&
                  right_sums(r.output.data, pair, values);
    stop(&r);
    return passed;
}

/* ---- All of them --------------------------------------------------------------------------------------------------
 */

static int passed, failed;

static void count(const char *name, bool ok) {
    board_put(ok ? "passed " : "FAILED ");
    board_put(name);
    if (!ok && *error.text) {
        board_put(": ");
        board_put(error.text);
    }
    board_put("\n");
    passed += ok;
    failed += !ok;
}

static void put_line(const char *name, size_t number) {
    board_put(name);
    board_put_number((uint32_t)number);
    board_put("\n");
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t instructions;
        bool ok = run_case(&cases[i], &instructions);
        if (i == 0)
            put_line("instructions from reset to the first result: ", instructions);
        count(cases[i].name, ok);
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        count("Add, shapes that broadcast", run_shapes(pairs[i]));
    put_line("bytes of the buffer in use: ", peak);
    put_line("bytes of the stack in use: ", board_stack_used());
    board_put_number((uint32_t)passed);
    board_put(" passed, ");
    board_put_number((uint32_t)failed);
    board_put(" failed, 0 skipped\n");
    return failed != 0;
}
