/* planned.c: the networks of network.c by plans that `ox embed --plan` wrote: the same inputs, the same lines. */
#include "board.h"
#include "model.h"

#include <string.h>

static ox_error error;

static void put_line(const char *name, uint32_t number) {
    board_put(name);
    board_put_number(number);
    board_put("\n");
}

/* Numbers from -4 to 4 that no two runs share. */
static void fill(const ox_tensor *tensor, uint32_t seed) {
    for (int64_t i = 0; i < ox_tensor_count(tensor); i++) {
        seed = seed * 1664525 + 1013904223;
        ((float *)tensor->data)[i] = (float)(int32_t)seed / 536870912.0f;
    }
}

static void print_results(void) {
    for (size_t k = 0; k < model_plan.noutputs; k++) {
        const ox_tensor *out = ox_planned_output(&model_plan, k);
        for (int64_t i = 0; i < ox_tensor_count(out); i++) {
            uint32_t bits;
            memcpy(&bits, (const float *)out->data + i, sizeof bits);
            put_line("result: ", bits);
        }
    }
}

static ox_status run(void) {
    size_t bytes = 0;
    ox_status status = ox_planned_check(&model_plan, &error);
    if (!status)
        status = ox_planned_bytes(&model_plan, &bytes, &error);
    for (uint32_t i = 1; i < 3 && !status; i++) {
        fill(ox_planned_input(&model_plan, 0), i);
        const uint32_t before = board_instructions();
        status = ox_planned_run(&model_plan, &error);
        const uint32_t took = board_instructions() - before;
        if (!status)
            print_results();
        put_line("instructions: ", took);
    }
    put_line("bytes of the arena: ", (uint32_t)bytes);
    return status;
}

int main(void) {
    const ox_status status = run();
    board_put(error.text);
    put_line("\nbytes of the stack in use at most: ", (uint32_t)board_stack_used());
    return status != OX_OK;
}
