/* digits.c: handwritten digits. The model is used where it lies in flash; all memory comes from one buffer. */
#include "digits.h"
#include "model.h"
#include "pictures.h"
#include <ox.h>

static _Alignas(8) unsigned char buffer[16384];
static const int64_t dims[] = {1, 1, 8, 8};
static float pixels[64];
static ox_fixed fixed;
static ox_allocator allocator;
static ox_error error;
static ox_model *model;
static ox_session *session;

const char *digits_begin(void) {
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = 4, .dims = dims, .data = pixels};
    allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);
    const ox_options options = {.allocator = &allocator};
    if (ox_model_load_memory(model_model, sizeof model_model, &options, &model, &error) ||
        ox_session_create(model, NULL, &session, &error) || ox_session_set_input(session, 0, &in, &error))
        return error.text;
    return NULL;
}

int digits_count(void) {
    return (int)(sizeof pictures / sizeof *pictures);
}

int digits_label(int at) {
    return pictures[at].label;
}

int digits_classify(int at) {
    ox_tensor out;
    for (int i = 0; i < 64; i++)
        pixels[i] = pictures[at].pixels[i];
    if (ox_session_run(session, &error) || ox_session_output(session, 0, &out, &error))
        return -1;
    const float *probabilities = out.data;
    int best = 0;
    for (int digit = 1; digit < 10; digit++)
        if (probabilities[digit] > probabilities[best])
            best = digit;
    return best;
}

unsigned digits_bytes(void) {
    return (unsigned)fixed.peak;
}
