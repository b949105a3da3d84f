/* fuzz_load.c: any bytes as a model: loaded within limits, with all memory given back. */
#include <stdlib.h>

#include "model_fuzzer.h"

typedef struct tally {
    size_t live;
} tally;

static void *count_resize(void *context, void *block, size_t old_size, size_t new_size) {
    tally *t = context;
    if (!new_size) {
        t->live -= old_size;
        free(block);
        return NULL;
    }
    void *moved = realloc(block, new_size);
    if (moved)
        t->live += new_size - (block ? old_size : 0);
    return moved;
}

/* Every text that a loaded model gives is there. */
static size_t read_all(const ox_model *model) {
    ox_model_info info;
    ox_value_info value;
    ox_op_use use;
    size_t read = 0;
    ox_model_get_info(model, &info);
    for (size_t i = 0; ox_model_input(model, i, &value) == OX_OK; i++)
        read += (unsigned char)value.name[0];
    for (size_t i = 0; ox_model_output(model, i, &value) == OX_OK; i++)
        read += (unsigned char)value.name[0];
    for (size_t i = 0; ox_model_op_use(model, i, &use) == OX_OK; i++)
        read += (unsigned char)use.name[0];
    return read + (unsigned char)info.graph_name[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tally t = {0};
    const ox_allocator allocator = {count_resize, &t};
    const ox_options options = {.allocator = &allocator, .limits = {.bytes = 1 << 26, .nodes = 1 << 12}};
    ox_model *model = NULL;
    ox_error error;
    ox_status status = ox_model_load_memory(data, size, &options, &model, &error);
    if ((status == OX_OK) != (model != NULL) || (status != OX_OK && !error.text[0]) || status == OX_ERROR_MEMORY)
        abort();
    if (model && read_all(model) == SIZE_MAX)
        abort();
    ox_model_free(model);
    if (t.live)
        abort();
    return 0;
}
