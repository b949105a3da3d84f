/* strided MODEL: runs the model `strided` of models.py, one Flatten, in a fixed buffer, on inputs whose elements lie in
 * other orders than row by row: packed by a library that has no loops for it. */
#include <stdio.h>

#include "../../src/ox.h"

enum {
    ROOM = 1 << 16,
    COUNT = 12,
    RANK = 3,
    RUNS = 4
};

static _Alignas(16) unsigned char bytes[ROOM], buffer[ROOM];
static float x[COUNT];
static ox_error error;

/* Element i of the result, and element i of the input, row by row. */
static ox_status run(ox_session *session, const int64_t *dims, const int64_t *strides, int first, bool *right) {
    const ox_tensor input = {.dtype = OX_FLOAT, .rank = RANK, .dims = dims, .strides = strides, .data = x + first};
    ox_tensor y;
    ox_status status = ox_session_set_input(session, 0, &input, &error);
    if (!status)
        status = ox_session_run(session, &error);
    if (!status)
        status = ox_session_output(session, 0, &y, &error);
    if (status)
        return status;
    *right = !y.strides && ox_tensor_count(&y) == dims[0] * dims[1] * dims[2];
    const float *result = y.data;
    for (int64_t i = 0; i < dims[0]; i++)
        for (int64_t j = 0; j < dims[1]; j++)
            for (int64_t k = 0; k < dims[2]; k++)
                *right &= *result++ == (float)first + (float)(i * strides[0] + j * strides[1] + k * strides[2]) / 4;
    return OX_OK;
}

int main(int argc, char **argv) {
    static const int64_t dims[RUNS][RANK] = {{2, 3, 2}, {3, 2, 2}, {2, 0, 2}, {1, 4, 2}};
    static const int64_t strides[RUNS][RANK] = {{4, 8, 24}, {-16, 8, 4}, {4, 4, 8}, {0, 12, -4}};
    static const int first[RUNS] = {0, 8, 0, 1};
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    ox_fixed fixed;
    ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);
    const ox_options options = {.allocator = &allocator};
    ox_model *model;
    ox_session *session = NULL;
    ox_status status = ox_model_load_memory(bytes, size, &options, &model, &error);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i;
    if (!status)
        status = ox_session_create(model, NULL, &session, &error);
    for (int n = 0; n < RUNS && !status; n++) {
        bool right = false;
        status = run(session, dims[n], strides[n], first[n], &right);
        if (!status && !right) {
            printf("run %d is wrong\n", n);
            return 1;
        }
    }
    if (status)
        printf("%s\n", error.text);
    return status != OX_OK;
}
