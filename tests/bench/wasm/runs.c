/* runs.c: what bench.mjs calls of ox in WebAssembly: one model at a time, whose inputs and outputs lie in the module's
 * memory. Functions give NULL or a negative number where something fails, and runs_error says what. */
#include "../../../src/ox.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default"), used))

enum {
    MOST_INPUTS = 8
};

static ox_model *model;
static ox_session *session;
static ox_error error;
static void *inputs[MOST_INPUTS];
static int32_t sizes[MOST_INPUTS];

EXPORT const char *runs_error(void);
EXPORT const char *runs_error(void) {
    return error.text;
}

EXPORT void *runs_memory(int32_t size);
EXPORT void *runs_memory(int32_t size) {
    return malloc((size_t)size);
}

EXPORT void runs_free(void *memory);
EXPORT void runs_free(void *memory) {
    free(memory);
}

EXPORT void runs_close(void);
EXPORT void runs_close(void) {
    ox_session_free(session);
    ox_model_free(model);
    session = NULL, model = NULL;
    for (int i = 0; i < MOST_INPUTS; i++) {
        free(inputs[i]);
        inputs[i] = NULL;
    }
}

/* Loads a model, which stays where it is, and makes room for its inputs, whose shapes it states. */
EXPORT int32_t runs_open(const void *bytes, int32_t size);
EXPORT int32_t runs_open(const void *bytes, int32_t size) {
    ox_status status = ox_model_load_memory(bytes, (size_t)size, NULL, &model, &error);
    if (!status)
        status = ox_session_create(model, NULL, &session, &error);
    for (size_t i = 0; !status && i < ox_model_input_count(model); i++) {
        ox_value_info info;
        status = ox_model_input(model, i, &info);
        ox_tensor input = {.dtype = info.dtype, .rank = info.rank, .dims = info.dims};
        const size_t bytes_of = (size_t)ox_tensor_count(&input) * ox_dtype_size(info.dtype);
        if (status || i == MOST_INPUTS || !(inputs[i] = calloc(bytes_of, 1)))
            return -1;
        sizes[i] = (int32_t)bytes_of, input.data = inputs[i];
        status = ox_session_set_input(session, i, &input, &error);
    }
    return status ? -1 : 0;
}

EXPORT void *runs_input(int32_t index);
EXPORT void *runs_input(int32_t index) {
    return inputs[index];
}

EXPORT int32_t runs_input_size(int32_t index);
EXPORT int32_t runs_input_size(int32_t index) {
    return sizes[index];
}

EXPORT int32_t runs_run(void);
EXPORT int32_t runs_run(void) {
    return ox_session_run(session, &error) ? -1 : 0;
}

static ox_tensor output(void) {
    ox_tensor tensor = {0};
    ox_session_output(session, 0, &tensor, &error);
    return tensor;
}

EXPORT const void *runs_output(void);
EXPORT const void *runs_output(void) {
    return output().data;
}

EXPORT int32_t runs_output_size(void);
EXPORT int32_t runs_output_size(void) {
    const ox_tensor tensor = output();
    return (int32_t)((size_t)ox_tensor_count(&tensor) * ox_dtype_size(tensor.dtype));
}
