/* runs.c: runs MODEL COUNT: runs a model so many times on inputs whose bytes follow from their places, for a program
 * that counts instructions (instructions.c). */
#include "../../../src/ox.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_INPUTS = 8
};

/* Bytes for all types: floats lie in [-2, 2). */
static bool fill(ox_dtype dtype, int64_t count, void *to) {
    for (int64_t i = 0; i < count; i++) {
        const int64_t value = i * 37 % 251;
        if (dtype == OX_FLOAT)
            ((float *)to)[i] = (float)(value - 125) / 64;
        else if (dtype == OX_FLOAT16)
            ((uint16_t *)to)[i] = (uint16_t)(0x3800 + value);
        else if (dtype == OX_UINT8)
            ((uint8_t *)to)[i] = (uint8_t)value;
        else
            return false;
    }
    return true;
}

static ox_status run(const char *path, long count, void *memory[MOST_INPUTS], ox_model **model, ox_session **session,
                     ox_error *error) {
    ox_status status = ox_model_load_file(path, NULL, model, error);
    if (!status)
        status = ox_session_create(*model, NULL, session, error);
    for (size_t i = 0; !status && i < ox_model_input_count(*model); i++) {
        ox_value_info info;
        status = ox_model_input(*model, i, &info);
        ox_tensor input = {.dtype = info.dtype, .rank = info.rank, .dims = info.dims};
        const int64_t elements = ox_tensor_count(&input);
        if (!status && i < MOST_INPUTS)
            input.data = memory[i] = malloc((size_t)elements * ox_dtype_size(info.dtype) + 1);
        if (!status && (!input.data || !fill(info.dtype, elements, input.data)))
            return OX_ERROR_UNSUPPORTED;
        if (!status)
            status = ox_session_set_input(*session, i, &input, error);
    }
    for (long n = 0; !status && n < count; n++)
        status = ox_session_run(*session, error);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: runs MODEL COUNT\n", stderr);
        return 2;
    }
    ox_model *model = NULL;
    ox_session *session = NULL;
    ox_error error = {0};
    void *memory[MOST_INPUTS] = {NULL};
    const ox_status status = run(argv[1], strtol(argv[2], NULL, 10), memory, &model, &session, &error);
    if (status)
        fprintf(stderr, "runs: %s: %s %s\n", argv[1], ox_status_name(status), error.text);
    ox_session_free(session);
    ox_model_free(model);
    for (int i = 0; i < MOST_INPUTS; i++)
        free(memory[i]);
    return status != OX_OK;
}
