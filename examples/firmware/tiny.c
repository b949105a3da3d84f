/* tiny.c: one of the networks of examples/tiny on a board without an operating system, or on the machine where the
 * library is built. Prints the class of each sample, and what that took: instructions, memory, stack. */
#include "board.h"
#include "model.h"
#include "ox.h"

/* model.h and model.c are what `ox embed` writes. Samples are written by make: "static const sample samples[]". */
typedef struct sample {
    int kind; /* its class */
    int16_t numbers[TINY_NUMBERS];
} sample;
#include "samples.inc"

enum {
    SAMPLES = sizeof samples / sizeof *samples,
    MOST_DIMS = 4
};

static _Alignas(8) unsigned char buffer[TINY_BUFFER];
static float numbers[TINY_NUMBERS];
static int64_t dims[MOST_DIMS];
static ox_error error;

static void put_line(const char *name, uint32_t number) {
    board_put(name);
    board_put_number(number);
    board_put("\n");
}

/* The class with the largest score; -1 after an error. */
static int classify(ox_session *session, const sample *one) {
    ox_tensor out;
    int best = 0;
    for (int i = 0; i < TINY_NUMBERS; i++)
        numbers[i] = one->numbers[i];
    if (ox_session_run(session, &error) || ox_session_output(session, 0, &out, &error))
        return -1;
    const float *scores = out.data;
    for (int i = 1; i < ox_tensor_count(&out); i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

static void classify_all(ox_session *session) {
    uint32_t right = 0, took = 0;
    for (int i = 0; i < SAMPLES && !error.status; i++) {
        const uint32_t before = board_instructions();
        const int kind = classify(session, &samples[i]);
        took = board_instructions() - before;
        right += kind == samples[i].kind;
        put_line("result: ", (uint32_t)kind);
    }
    put_line("samples: ", SAMPLES);
    put_line("right: ", right);
    put_line("instructions: ", took);
}

static ox_status start(ox_session *session, ox_model *model) {
    ox_value_info info;
    ox_status status = ox_model_input(model, 0, &info);
    if (status || info.rank > MOST_DIMS)
        return OX_ERROR_ARGUMENT;
    for (int d = 0; d < info.rank; d++)
        dims[d] = info.dims[d];
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = info.rank, .dims = dims, .data = numbers};
    if (ox_tensor_count(&in) != TINY_NUMBERS)
        return OX_ERROR_SHAPE;
    status = ox_session_set_input(session, 0, &in, &error);
    return status ? status : ox_session_prepare(session, &error);
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
        status = start(session, model);
    if (!status)
        classify_all(session);
    board_put(error.text);
    put_line("\nbytes of the buffer in use at most: ", (uint32_t)fixed.peak);
    put_line("bytes of the stack in use at most: ", (uint32_t)board_stack_used());
    ox_session_free(session);
    ox_model_free(model);
    return status || error.status;
}
