/* image.c: the smallest program that uses the library, to measure its size: it loads a model, whose size is not
 * counted, runs it and stores the address of the result. */
#include "ox.h"

#ifndef BUFFER_BYTES
#define BUFFER_BYTES 8
#endif

extern const unsigned char image_model[];
extern const size_t image_model_size;

_Alignas(16) static unsigned char buffer[BUFFER_BYTES];
static ox_error error;
ox_tensor image_input, image_output;

int main(void) {
    ox_fixed fixed;
    ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);
    const ox_options options = {.allocator = &allocator};
    ox_model *model;
    ox_session *session;
    return ox_model_load_memory(image_model, image_model_size, &options, &model, &error) ||
           ox_session_create(model, NULL, &session, &error) || ox_session_set_input(session, 0, &image_input, &error) ||
           ox_session_run(session, &error) || ox_session_output(session, 0, &image_output, &error);
}
