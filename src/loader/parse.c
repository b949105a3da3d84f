/* parse.c: walks a message, then has protobuf-c unpack its skeleton into one block of memory. */
#include "parse.h"

/* protobuf-c's allocations, one after the other; they are freed together. */
typedef struct bump {
    unsigned char *at;
    size_t left;
    bool full;
} bump;

static void *bump_alloc(void *context, size_t size) {
    bump *b = context;
    size_t padding = (OX_WIRE_GRAIN - size % OX_WIRE_GRAIN) % OX_WIRE_GRAIN;
    if (size > b->left || padding > b->left - size) {
        b->full = true;
        return NULL;
    }
    void *block = b->at;
    b->at += size + padding;
    b->left -= size + padding;
    return block;
}

static void bump_free(void *context, void *block) {
    (void)context;
    (void)block;
}

/* One block of memory: room for the unpacked message, the payloads, the skeleton. */
typedef struct layout {
    size_t room, table, total;
} layout;

static ox_status measure(const ox_wire *wire, layout *sizes, ox_error *error) {
    uint64_t most = OX_PARSE_BASE + (uint64_t)OX_PARSE_FACTOR * wire->whole_size;
    if (wire->whole_bytes > most)
        return ox_fail(error, OX_ERROR_LIMIT,
                       "parsing would take %llu bytes of memory, more than the %llu allowed for a model that has %llu "
                       "bytes without its weights",
                       (unsigned long long)wire->whole_bytes, (unsigned long long)most,
                       (unsigned long long)wire->whole_size);
    uint64_t room = (wire->unpack_bytes + OX_WIRE_GRAIN - 1) / OX_WIRE_GRAIN * OX_WIRE_GRAIN;
    *sizes = (layout){.room = (size_t)room};
    if (sizes->room != room || !ox_mul_size(wire->npayloads, sizeof(ox_payload), &sizes->table) ||
        __builtin_add_overflow(sizes->table, sizes->room, &sizes->total) ||
        __builtin_add_overflow(sizes->total, wire->skeleton_size, &sizes->total))
        return ox_fail(error, OX_ERROR_LIMIT, "the model is too large for this machine's address space");
    return OX_OK;
}

static ox_status unpack(const ox_wire *wire, unsigned char *room, size_t room_size, const unsigned char *skeleton,
                        const ProtobufCMessage **message, ox_error *error) {
    bump b = {room, room_size, false};
    ProtobufCAllocator allocator = {bump_alloc, bump_free, &b};
    *message = protobuf_c_message_unpack(wire->type, &allocator, wire->skeleton_size, skeleton);
    if (*message)
        return OX_OK;
    if (b.full)
        return ox_fail(error, OX_ERROR_LIMIT, "parsing takes more than the %zu bytes of memory foreseen", room_size);
    return ox_fail(error, OX_ERROR_MODEL, "protobuf cannot parse it");
}

static ox_status parse(const ox_wire *wire, const ox_allocator *allocator, ox_parsed *parsed, ox_error *error) {
    layout sizes = {0};
    OX_TRY(measure(wire, &sizes, error));
    unsigned char *block = ox_alloc(allocator, sizes.total);
    if (!block)
        return ox_fail_memory(error, "parsing the model", sizes.total);
    ox_payload *payloads = (ox_payload *)(void *)(block + sizes.room);
    unsigned char *skeleton = block + sizes.room + sizes.table;
    *parsed = (ox_parsed){NULL, wire->bytes, payloads, wire->npayloads, block, sizes.total, wire->whole_size};
    ox_status status = ox_wire_write(wire, skeleton, payloads, error);
    if (!status)
        status = unpack(wire, block, sizes.room, skeleton, &parsed->message, error);
    if (status)
        ox_parsed_free(parsed, allocator);
    return status;
}

ox_status ox_parse(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size,
                   const ox_allocator *allocator, ox_parsed *parsed, ox_error *error) {
    ox_wire wire;
    *parsed = (ox_parsed){0};
    OX_TRY(ox_wire_check(type, bytes, size, &wire, error));
    return parse(&wire, allocator, parsed, error);
}

ox_status ox_parse_part(const ProtobufCMessageDescriptor *type, ox_span part, const ox_allocator *allocator,
                        ox_parsed *parsed, ox_error *error) {
    ox_wire wire;
    *parsed = (ox_parsed){0};
    OX_TRY(ox_wire_check_part(type, part.bytes, part.size, &wire, error));
    return parse(&wire, allocator, parsed, error);
}

const ox_payload *ox_parsed_payload(const ox_parsed *parsed, uint32_t number) {
    return number < parsed->npayloads ? &parsed->payloads[number] : NULL;
}

void ox_parsed_free(ox_parsed *parsed, const ox_allocator *allocator) {
    ox_release(allocator, parsed->block, parsed->block_size);
    *parsed = (ox_parsed){0};
}
