/* protobuf-c.h: in place of protobuf-c's header, what the code that protoc-c generates and the loader need of it, in a
 * form that takes little memory. unpack.c has the one function. The names are protobuf-c's. */
#ifndef OX_BARE_PROTOBUF_C_H
#define OX_BARE_PROTOBUF_C_H

#include <stddef.h>
#include <stdint.h>

#define PROTOBUF_C__BEGIN_DECLS
#define PROTOBUF_C__END_DECLS
#define PROTOBUF_C__FORCE_ENUM_TO_BE_INT_SIZE(name) , name##_IS_INT_SIZED = INT32_MAX
#define PROTOBUF_C_VERSION_NUMBER 1004001
#define PROTOBUF_C_MIN_COMPILER_VERSION 1000000

typedef enum ProtobufCLabel {
    PROTOBUF_C_LABEL_REQUIRED,
    PROTOBUF_C_LABEL_OPTIONAL,
    PROTOBUF_C_LABEL_REPEATED,
    PROTOBUF_C_LABEL_NONE
} ProtobufCLabel;

typedef enum ProtobufCType {
    PROTOBUF_C_TYPE_INT32,
    PROTOBUF_C_TYPE_SINT32,
    PROTOBUF_C_TYPE_SFIXED32,
    PROTOBUF_C_TYPE_INT64,
    PROTOBUF_C_TYPE_SINT64,
    PROTOBUF_C_TYPE_SFIXED64,
    PROTOBUF_C_TYPE_UINT32,
    PROTOBUF_C_TYPE_FIXED32,
    PROTOBUF_C_TYPE_UINT64,
    PROTOBUF_C_TYPE_FIXED64,
    PROTOBUF_C_TYPE_FLOAT,
    PROTOBUF_C_TYPE_DOUBLE,
    PROTOBUF_C_TYPE_BOOL,
    PROTOBUF_C_TYPE_ENUM,
    PROTOBUF_C_TYPE_STRING,
    PROTOBUF_C_TYPE_BYTES,
    PROTOBUF_C_TYPE_MESSAGE
} ProtobufCType;

enum {
    PROTOBUF_C_FIELD_FLAG_PACKED = 0,
    PROTOBUF_C_FIELD_FLAG_DEPRECATED = 0,
    PROTOBUF_C_FIELD_FLAG_ONEOF = 1
};

typedef int protobuf_c_boolean;
typedef struct ProtobufCBuffer ProtobufCBuffer;
typedef struct ProtobufCEnumDescriptor ProtobufCEnumDescriptor;

typedef struct ProtobufCAllocator {
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *block);
    void *context;
} ProtobufCAllocator;

typedef struct ProtobufCBinaryData {
    size_t len;
    uint8_t *data;
} ProtobufCBinaryData;

/* A field of a message; there are a hundred of them, so that each takes little. The offsets are in OX_FIELD_UNIT bytes.
 * descriptor is that of the field's messages, NULL for all others. */
typedef struct ProtobufCFieldDescriptor {
    uint8_t id;
    uint8_t label : 2, type : 5, flags : 1;
    uint8_t quantifier_offset, offset;
    const void *descriptor;
} ProtobufCFieldDescriptor;

enum {
    OX_FIELD_UNIT = 4
};

/* Names take too much. */
#define OX_FIELD_NAME(field) ((const char *)NULL)

/* Fields are sorted by number. */
typedef struct ProtobufCMessageDescriptor {
    uint16_t sizeof_message, n_fields;
    const ProtobufCFieldDescriptor *fields;
} ProtobufCMessageDescriptor;

typedef struct ProtobufCMessage {
    const ProtobufCMessageDescriptor *descriptor;
} ProtobufCMessage;

/* Unpacks a message that the walker has checked (loader/wire.h). NULL if the allocator gives no memory; what was
 * allocated by then is not freed. Neither groups nor zigzag numbers: ONNX has none. */
ProtobufCMessage *protobuf_c_message_unpack(const ProtobufCMessageDescriptor *type, ProtobufCAllocator *allocator,
                                            size_t size, const uint8_t *bytes);

#endif
