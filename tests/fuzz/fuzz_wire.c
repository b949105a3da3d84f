/* fuzz_wire.c: any bytes through the walker. What it accepts, it copies within the sizes that it announced, and what it
 * leaves in place lies inside the bytes. */
#include <stdlib.h>

#include "../../src/loader/parse.h"
#include "mutate.h"
#include "onnx.pb-c.h"

static void check_payloads(const ox_wire *wire, const ox_payload *payloads) {
    for (size_t i = 0; i < wire->npayloads; i++)
        if (payloads[i].offset > wire->size || payloads[i].size > wire->size - payloads[i].offset)
            abort();
}

static void walk(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size) {
    ox_error error;
    ox_wire wire;
    if (ox_wire_check(type, data, size, &wire, &error))
        return;
    unsigned char *skeleton = malloc(wire.skeleton_size + 1);
    ox_payload *payloads = malloc((wire.npayloads + 1) * sizeof *payloads);
    if (!skeleton || !payloads || wire.skeleton_size > size + 16 * wire.npayloads)
        abort();
    if (ox_wire_write(&wire, skeleton, payloads, &error))
        abort();
    check_payloads(&wire, payloads);
    free(skeleton);
    free(payloads);
    ox_parsed parsed;
    if (!ox_parse(type, data, size, ox_default_allocator(), &parsed, &error))
        ox_parsed_free(&parsed, ox_default_allocator());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    walk(&onnx__model_proto__descriptor, data, size);
    walk(&onnx__tensor_proto__descriptor, data, size);
    return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    return seed % 2 ? ox_mutate(&onnx__model_proto__descriptor, data, size, room, seed / 2)
                    : LLVMFuzzerMutate(data, size, room);
}
