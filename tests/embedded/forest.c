/* forest.c: a random forest on a board, or on the machine where the library is built, which has to give the same bits.
 * forest.h and its forest.c are what `ox embed` writes for forest.onnx. Prints the class and the bits of the
 * probabilities of each row, and what that took. */
#include "board.h"
#include "forest.h"
#include "ox.h"

#include <string.h>

#include "forest_rows.inc"

enum {
    ROWS = sizeof rows / sizeof *rows,
    COLUMNS = sizeof *rows / sizeof **rows,
    CLASSES = 3,
    ROOM = sizeof(void *) * 20480 /* lists of texts have pointers */
};

static _Alignas(8) unsigned char buffer[ROOM];
static float row[COLUMNS];
static ox_error error;

/* Prints what the last run gave. */
static ox_status print_result(ox_session *session) {
    ox_tensor label, probabilities;
    uint32_t bits[CLASSES];
    ox_status status = ox_session_output(session, 0, &label, &error);
    if (!status)
        status = ox_session_output(session, 1, &probabilities, &error);
    if (status)
        return status;
    const int64_t *kind = label.data;
    memcpy(bits, probabilities.data, sizeof bits);
    board_put("row: ");
    board_put_number((uint32_t)*kind);
    for (int i = 0; i < CLASSES; i++) {
        board_put(" ");
        board_put_number(bits[i]);
    }
    board_put("\n");
    return OX_OK;
}

static ox_status run_rows(ox_session *session) {
    static const int64_t dims[] = {1, COLUMNS};
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = 2, .dims = dims, .data = row};
    ox_status status = ox_session_set_input(session, 0, &in, &error);
    for (int i = 0; i < ROWS && !status; i++) {
        memcpy(row, rows[i], sizeof row);
        status = ox_session_run(session, &error);
        if (!status)
            status = print_result(session);
    }
    return status;
}

int main(void) {
    ox_model *model = NULL;
    ox_session *session = NULL;
    ox_fixed fixed;
    const ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);
    const ox_options options = {.allocator = &allocator};
    ox_status status = ox_model_load_memory(forest_model, sizeof forest_model, &options, &model, &error);
    if (!status)
        status = ox_session_create(model, NULL, &session, &error);
    if (!status)
        status = run_rows(session);
    board_put(error.text);
    board_put("\nbytes of the buffer in use at most: ");
    board_put_number((uint32_t)fixed.peak);
    board_put("\nbytes of the stack in use at most: ");
    board_put_number((uint32_t)board_stack_used());
    board_put("\n");
    ox_session_free(session);
    ox_model_free(model);
    return status != OX_OK;
}
