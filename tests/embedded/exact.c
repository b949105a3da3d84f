/* exact.c: the digits model in a buffer of exactly as many bytes as it takes on this board, and in one less, which has
 * to be too few. Ends with the line that tests end with. */
#include "board.h"
#include "model.h"
#include "../../src/ox.h"

enum {
    ROOM = 16384,
    /* 10 KB with the static memory that docs/size.md states. */
    MOST = 10240 - 568
};

static _Alignas(8) unsigned char buffer[ROOM];
static float pixels[64] = {[20] = 16, [28] = 12, [36] = 16};
static ox_error error;

/* Loads and runs in `room` bytes, twice; *peak is what it took. */
static ox_status run(size_t room, size_t *peak) {
    static const int64_t dims[] = {1, 1, 8, 8};
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = 4, .dims = dims, .data = pixels};
    ox_fixed fixed;
    const ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, room);
    const ox_options options = {.allocator = &allocator};
    ox_model *model = NULL;
    ox_session *session = NULL;
    ox_status status = ox_model_load_memory(model_model, sizeof model_model, &options, &model, &error);
    if (!status)
        status = ox_session_create(model, NULL, &session, &error);
    if (!status)
        status = ox_session_set_input(session, 0, &in, &error);
    for (int i = 0; i < 2 && !status; i++)
        status = ox_session_run(session, &error);
    *peak = fixed.peak;
    ox_session_free(session);
    ox_model_free(model);
    return status;
}

int main(void) {
    size_t peak, again, less;
    bool right = run(ROOM, &peak) == OX_OK && run(peak, &again) == OX_OK && again == peak &&
                 run(peak - 1, &less) == OX_ERROR_MEMORY && peak <= MOST;
    board_put("bytes of the buffer: ");
    board_put_number((uint32_t)peak);
    board_put(right ? "\n1 passed, 0 failed, 0 skipped\n" : "\n0 passed, 1 failed, 0 skipped\n");
    return !right;
}
