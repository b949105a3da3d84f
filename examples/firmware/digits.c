/* digits.c: handwritten digits on a board without an operating system. The model is used where it lies in flash; all
 * memory comes from one buffer. Prints what each picture shows, and what that took: instructions, memory, stack. */
#include "board.h"
#include "model.h"
#include "ox.h"

/* model.h and model.c are what `ox embed` writes for examples/digits/model.onnx. Pictures of 8 by 8 pixels, written by
 * make: "static const picture pictures[]". */
typedef struct picture {
    int label;
    unsigned char pixels[64];
} picture;
#include "digits_pictures.inc"

enum {
    PIXELS = 64,
    DIGITS = 10,
    PICTURES = sizeof pictures / sizeof *pictures
};

static _Alignas(8) unsigned char buffer[model_BUFFER_BYTES];
static const int64_t dims[] = {1, 1, 8, 8};
static float pixels[PIXELS];
static ox_error error;

static void put_line(const char *name, uint32_t number) {
    board_put(name);
    board_put_number(number);
    board_put("\n");
}

static int best_of(const float *probabilities) {
    int best = 0;
    for (int digit = 1; digit < DIGITS; digit++)
        if (probabilities[digit] > probabilities[best])
            best = digit;
    return best;
}

/* Classifies one picture; -1 after an error. */
static int classify(ox_session *session, const picture *one) {
    ox_tensor out;
    for (int i = 0; i < PIXELS; i++)
        pixels[i] = one->pixels[i];
    if (ox_session_run(session, &error) || ox_session_output(session, 0, &out, &error))
        return -1;
    return best_of(out.data);
}

/* Classifies all pictures and says how many came out right. */
static int classify_all(ox_session *session) {
    int right = 0;
    for (int i = 0; i < PICTURES; i++) {
        uint32_t before = board_instructions();
        int digit = classify(session, &pictures[i]);
        uint32_t took = board_instructions() - before;
        if (digit < 0)
            return right;
        board_put("a ");
        board_put_number((uint32_t)digit);
        board_put(digit == pictures[i].label ? ", right, " : ", wrong, ");
        board_put_number(took);
        board_put(" instructions\n");
        right += digit == pictures[i].label;
    }
    return right;
}

int main(void) {
    ox_model *model = NULL;
    ox_session *session = NULL;
    ox_fixed fixed;
    const ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);
    const ox_options options = {.allocator = &allocator};
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = 4, .dims = dims, .data = pixels};
    int right = 0;
    if (!ox_model_load_memory(model_model, sizeof model_model, &options, &model, &error) &&
        !ox_session_create(model, NULL, &session, &error) && !ox_session_set_input(session, 0, &in, &error) &&
        !ox_session_prepare(session, &error)) {
        put_line("instructions from reset until it is ready: ", board_instructions());
        right = classify_all(session);
    }
    if (error.status) {
        board_put(error.text);
        board_put("\n");
    } else {
        ox_memory_info memory;
        ox_session_memory(session, &memory);
        put_line("bytes of the arena: ", (uint32_t)memory.arena_bytes);
    }
    put_line("bytes of the buffer in use at most: ", (uint32_t)fixed.peak);
    put_line("bytes of the stack in use at most: ", (uint32_t)board_stack_used());
    ox_session_free(session);
    ox_model_free(model);
    return right != PICTURES;
}
