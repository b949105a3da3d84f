/* network.c: a network with one float input, whose outputs are floats, on a board, or on the machine where the library
 * is built. model.h and its model.c are what `ox embed` writes. Prints the bits of the outputs of two runs, and what
 * the second one took, which finds everything prepared. */
#include "board.h"
#include "model.h"
#include "ox.h"

#include <string.h>

enum {
    MOST_INPUTS = 3 * 96 * 96
};

static _Alignas(8) unsigned char buffer[NETWORK_BUFFER];
static float pixels[MOST_INPUTS];
static int64_t dims[8];
static ox_error error;

static void put_line(const char *name, uint32_t number) {
    board_put(name);
    board_put_number(number);
    board_put("\n");
}

/* Numbers from -4 to 4 that no two runs share. */
static void fill(int64_t count, uint32_t seed) {
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        pixels[i] = (float)(int32_t)seed / 536870912.0f;
    }
}

static void print_results(ox_session *session) {
    ox_tensor out;
    for (size_t k = 0; !ox_session_output(session, k, &out, NULL); k++)
        for (int64_t i = 0; i < ox_tensor_count(&out); i++) {
            uint32_t bits;
            memcpy(&bits, (const float *)out.data + i, sizeof bits);
            put_line("result: ", bits);
        }
}

static ox_status run(ox_model *model, ox_session *session) {
    ox_value_info info;
    ox_status status = ox_model_input(model, 0, &info);
    if (status || info.rank > 8)
        return OX_ERROR_ARGUMENT;
    for (int d = 0; d < info.rank; d++)
        dims[d] = info.dims[d];
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = info.rank, .dims = dims, .data = pixels};
    status = ox_session_set_input(session, 0, &in, &error);
    if (!status)
        status = ox_session_prepare(session, &error);
    for (uint32_t i = 1; i < 3 && !status; i++) {
        fill(ox_tensor_count(&in), i);
        const uint32_t before = board_instructions();
        status = ox_session_run(session, &error);
        const uint32_t took = board_instructions() - before;
        if (!status)
            print_results(session);
        put_line("instructions: ", took);
    }
    ox_memory_info memory;
    ox_session_memory(session, &memory);
    put_line("bytes of the arena: ", (uint32_t)memory.arena_bytes);
    return status;
}

int main(void) {
    ox_model *model = NULL;
    ox_session *session = NULL;
    ox_fixed fixed;
    const ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);
    const ox_options options = {.allocator = &allocator};
    ox_status status = ox_model_load_memory(model_model, sizeof model_model, &options, &model, &error);
    if (!status)
        status = ox_session_create(model, NULL, &session, &error);
    if (!status)
        status = run(model, session);
    board_put(error.text);
    put_line("\nbytes of the buffer in use at most: ", (uint32_t)fixed.peak);
    put_line("bytes of the stack in use at most: ", (uint32_t)board_stack_used());
    ox_session_free(session);
    ox_model_free(model);
    return status != OX_OK;
}
