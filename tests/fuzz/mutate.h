/* mutate.h: changes to serialized messages that a parser still takes, so that a fuzzer gets behind it. */
#ifndef OX_FUZZ_MUTATE_H
#define OX_FUZZ_MUTATE_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/* Changes a message of `type` in place, `room` bytes at most: numbers to ones that hurt or to others of the message,
 * names to names of other values, operators to others, elements of tensors; drops, repeats and exchanges fields;
 * makes two nodes, one behind the other, of one. Returns the size. */
size_t ox_mutate(const ProtobufCMessageDescriptor *type, uint8_t *data, size_t size, size_t room, unsigned seed);

/* Writes the first message with a field of the second one in place of one of the same kind, or beside it. Returns the
 * size, 0 if that cannot be done. */
size_t ox_cross_over(const ProtobufCMessageDescriptor *type, const uint8_t *first, size_t first_size,
                     const uint8_t *second, size_t second_size, uint8_t *out, size_t room, unsigned seed);

#endif
