/* exact MODEL: runs a model with one float input in a fixed buffer, then in exactly as many bytes as that took, then in
 * one less, which has to be too few. The input has the digits' shape. */
#include <stdio.h>
#include <string.h>

#include "../../src/ox.h"

enum {
    ROOM = 1 << 20
};

static _Alignas(16) unsigned char bytes[ROOM], buffer[ROOM];
static ox_error error;

/* Loads and runs in `room` bytes; *peak is what it took, and result the sum of the output. */
static ox_status run(size_t size, size_t room, size_t *peak, float *result) {
    static const int64_t dims[] = {1, 1, 8, 8};
    static float image[64] = {[20] = 16, [28] = 12, [36] = 16};
    const ox_tensor input = {.dtype = OX_FLOAT, .rank = 4, .dims = dims, .data = image};
    ox_fixed fixed;
    ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, room);
    const ox_options options = {.allocator = &allocator};
    ox_model *model;
    ox_session *session = NULL;
    ox_tensor output;
    memset(buffer, 0xa5, sizeof buffer);
    ox_status status = ox_model_load_memory(bytes, size, &options, &model, &error);
    if (status == OX_OK)
        status = ox_session_create(model, NULL, &session, &error);
    if (status == OX_OK)
        status = ox_session_set_input(session, 0, &input, &error);
    for (int i = 0; i < 2 && status == OX_OK; i++)
        status = ox_session_run(session, &error);
    if (status == OX_OK)
        status = ox_session_output(session, 0, &output, &error);
    for (int64_t i = 0; status == OX_OK && i < ox_tensor_count(&output); i++)
        *result += (float)(i + 1) * ((const float *)output.data)[i];
    *peak = fixed.peak;
    return status;
}

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0, peak, again;
    float first = 0, second = 0;
    if (run(size, ROOM, &peak, &first) != OX_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    printf("%zu bytes\n", peak);
    if (run(size, peak, &again, &second) != OX_OK || again != peak || memcmp(&first, &second, sizeof first) != 0) {
        printf("not with exactly %zu bytes: %s\n", peak, error.text);
        return 1;
    }
    if (run(size, peak - 1, &again, &second) != OX_ERROR_MEMORY) {
        printf("%zu bytes are enough\n", peak - 1);
        return 1;
    }
    return 0;
}
