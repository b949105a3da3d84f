/* model_fuzzer.h: what makes libFuzzer change models as messages; for the targets that take a model. */
#ifndef OX_FUZZ_MODEL_FUZZER_H
#define OX_FUZZ_MODEL_FUZZER_H

#include "mutate.h"
#include "onnx.pb-c.h"
#include "../../src/ox.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    return seed % 16 ? ox_mutate(&onnx__model_proto__descriptor, data, size, room, seed / 16)
                     : LLVMFuzzerMutate(data, size, room);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t room, unsigned seed) {
    return ox_cross_over(&onnx__model_proto__descriptor, first, first_size, second, second_size, out, room, seed);
}

#endif
