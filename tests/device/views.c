/* views MODEL: runs the model `views` of models.py in a fixed buffer, by a library that has nothing but Expand: weights
 * that are repeated, and a view of a view of an input, for several shapes in one session. */
#include <stdio.h>
#include <string.h>

#include "../../src/ox.h"

enum {
    ROOM = 1 << 16,
    RANK = 3,
    RUNS = 4
};

static _Alignas(16) unsigned char bytes[ROOM], buffer[ROOM];
static float x[2] = {3, 4};
static const int64_t x_dims[RANK] = {1, 2, 1}, s_dims[1] = {RANK};
static ox_error error;

/* Output 0 are the weights 5 and 7 as [3,2], output 1 is x as [2] and the dims s. */
static bool is_right(const ox_session *session, int k, const int64_t *s) {
    const int64_t dims[2][RANK + 1] = {{3, 2}, {2, s[0], s[1], s[2]}};
    const int rank = k ? RANK + 1 : 2;
    ox_tensor y;
    if (ox_session_output(session, (size_t)k, &y, &error) || y.rank != rank ||
        memcmp(y.dims, dims[k], (size_t)rank * sizeof *y.dims) != 0)
        return false;
    for (int64_t i = 0; i < ox_tensor_count(&y); i++)
        if (((const float *)y.data)[i] != (k ? x[i / s[2] % 2] : (float)(5 + i % 2 * 2)))
            return false;
    return true;
}

/* One run: the first input says the shape, and the second has other elements in each. */
static ox_status run(ox_session *session, const int64_t *s) {
    const ox_tensor input = {.dtype = OX_FLOAT, .rank = RANK, .dims = x_dims, .data = x};
    const ox_tensor shape = {.dtype = OX_INT64, .rank = 1, .dims = s_dims, .data = (void *)(uintptr_t)s};
    x[0] += 1;
    ox_status status = ox_session_set_input(session, 1, &input, &error);
    if (!status)
        status = ox_session_set_input(session, 0, &shape, &error);
    return status ? status : ox_session_run(session, &error);
}

int main(int argc, char **argv) {
    static const int64_t shapes[RUNS][RANK] = {{1, 2, 3}, {1, 2, 3}, {4, 2, 1}, {2, 2, 5}};
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    ox_fixed fixed;
    ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);
    const ox_options options = {.allocator = &allocator};
    ox_model *model;
    ox_session *session = NULL;
    ox_status status = ox_model_load_memory(bytes, size, &options, &model, &error);
    if (!status)
        status = ox_session_create(model, NULL, &session, &error);
    for (int n = 0; n < RUNS && !status; n++) {
        status = run(session, shapes[n]);
        for (int k = 0; k < 2 && !status; k++)
            if (!is_right(session, k, shapes[n])) {
                printf("output %d of run %d is wrong\n", k, n);
                return 1;
            }
    }
    if (status)
        printf("%s\n", error.text);
    return status != OX_OK;
}
