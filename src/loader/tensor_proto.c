/* tensor_proto.c: a tensor from a serialized TensorProto, in one block of memory. */
#include <string.h>

#include "runtime/options.h"
#include "parse.h"
#include "payload.h"

enum {
    ALIGNMENT = 16
};

typedef struct owned {
    size_t size;
    ox_tensor tensor;
} owned;

/* Where the parts of the block are. */
typedef struct layout {
    size_t dims, data, strings, name, total;
} layout;

static size_t aligned(size_t size) {
    return ox_round_up(size, ALIGNMENT);
}

static size_t string_bytes(const ox_tensor *tensor, size_t count) {
    const ox_string *strings = tensor->data;
    size_t total = 0;
    for (size_t i = 0; tensor->dtype == OX_STRING && i < count; i++)
        total += strings[i].size;
    return total;
}

static layout lay_out(const ox_tensor *tensor, size_t count, size_t name_size) {
    layout at;
    at.dims = aligned(sizeof(owned));
    at.data = at.dims + aligned((size_t)tensor->rank * sizeof *tensor->dims);
    at.strings = at.data + aligned(count * ox_dtype_size(tensor->dtype));
    at.name = at.strings + string_bytes(tensor, count);
    at.total = at.name + name_size;
    return at;
}

static void copy_strings(const ox_tensor *tensor, size_t count, ox_string *to, char *bytes) {
    const ox_string *from = tensor->data;
    for (size_t i = 0; i < count; i++) {
        to[i] = (ox_string){bytes, from[i].size};
        memcpy(bytes, from[i].data, from[i].size);
        bytes += from[i].size;
    }
}

static ox_status copy_tensor(const ox_tensor *tensor, const char *name, const ox_allocator *allocator,
                             ox_tensor **result, const char **result_name, ox_error *error) {
    size_t count = (size_t)ox_tensor_count(tensor), name_size = ox_text_size(name, SIZE_MAX) + 1;
    layout at = lay_out(tensor, count, name_size);
    char *block = ox_alloc(allocator, at.total);
    if (!block)
        return ox_fail_memory(error, "a tensor", at.total);
    owned *made = (owned *)(void *)block;
    *made = (owned){at.total, *tensor};
    made->tensor.dims = memcpy(block + at.dims, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims);
    made->tensor.data = block + at.data;
    if (tensor->dtype == OX_STRING)
        copy_strings(tensor, count, (ox_string *)(void *)(block + at.data), block + at.strings);
    else
        memcpy(block + at.data, tensor->data, count * ox_dtype_size(tensor->dtype));
    memcpy(block + at.name, name, name_size);
    *result = &made->tensor;
    if (result_name)
        *result_name = block + at.name;
    return OX_OK;
}

static ox_status take_parsed(const ox_parsed *parsed, const ox_allocator *allocator, ox_tensor **tensor,
                             const char **name, ox_error *error) {
    const Onnx__TensorProto *proto = (const Onnx__TensorProto *)(const void *)parsed->message;
    ox_pile pile;
    ox_tensor found;
    const ox_allocator temporary = ox_temporary(allocator);
    ox_pile_init(&pile, &temporary);
    ox_tensor_source source = {.parsed = parsed, .pile = &pile, .error = error};
    ox_status status = ox_payload_tensor(&source, proto, &found);
    if (!status)
        status = copy_tensor(&found, proto->name ? proto->name : "", allocator, tensor, name, error);
    ox_pile_free(&pile);
    return status;
}

ox_status ox_tensor_from_proto(const void *bytes, size_t size, const ox_options *options, ox_tensor **tensor,
                               const char **name, ox_error *error) {
    const ox_allocator *allocator = ox_options_allocator(options);
    ox_allocator temporary;
    ox_parsed parsed;
    ox_error_clear(error);
    OX_NEED(tensor, error);
    *tensor = NULL;
    if (size)
        OX_NEED(bytes, error);
    OX_TRY(ox_options_check(options, error));
    if (!allocator)
        return ox_fail(error, OX_ERROR_ARGUMENT, "there is no default allocator: give one in the options");
    temporary = ox_temporary(allocator);
    OX_TRY(ox_parse(&onnx__tensor_proto__descriptor, bytes, size, &temporary, &parsed, error));
    ox_status status = take_parsed(&parsed, allocator, tensor, name, error);
    ox_parsed_free(&parsed, &temporary);
    return status;
}

void ox_tensor_free(ox_tensor *tensor, const ox_options *options) {
    const ox_allocator *allocator = ox_options_allocator(options);
    if (!tensor || !allocator)
        return;
    owned *block = (owned *)(void *)((char *)tensor - offsetof(owned, tensor));
    ox_release(allocator, block, block->size);
}
