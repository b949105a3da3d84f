/* message.h: the fields of a serialized protobuf message, one after the other. */
#ifndef OX_MESSAGE_H
#define OX_MESSAGE_H

#include <stdint.h>

#include "text.h"

/* How fields are written. */
enum {
    OX_MESSAGE_VARINT = 0,
    OX_MESSAGE_FIXED64 = 1,
    OX_MESSAGE_LENGTH = 2,
    OX_MESSAGE_FIXED32 = 5
};

/* What is left of a message. */
typedef struct ox_message {
    const unsigned char *at, *end;
} ox_message;

typedef struct ox_field {
    uint64_t number;
    int kind;
    ox_message body;  /* the content, without tag and length; empty for a varint */
    ox_message whole; /* all of it */
} ox_field;

/* The next field of a message, which moves past it. False at the end, and if the bytes are not a valid field: the
 * message is then not at its end. */
bool ox_message_next(ox_message *message, ox_field *field);

/* Adds a number of 7 bits a byte, in as few bytes as it takes. */
void ox_message_put_varint(ox_text *out, uint64_t value);

/* Adds the bytes of a message, or those of a field with a length that has it as content. */
void ox_message_put(ox_text *out, ox_message bytes);
void ox_message_put_field(ox_text *out, uint64_t number, ox_message content);

#endif
