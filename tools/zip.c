/* zip.c: members of a zip archive. Every byte is hostile. */
#include "zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "memory.h"
#include "tool.h"

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    HEADER_BYTES = 30,
    COMMENT_BYTES = 0xFFFF,
    END_SIGN = 0x06054B50,
    END64_SIGN = 0x06064B50,
    LOCATOR_SIGN = 0x07064B50,
    ENTRY_SIGN = 0x02014B50,
    HEADER_SIGN = 0x04034B50,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,    /* of the flags */
    WIDE_EXTRA = 1,   /* the extra field with sizes of 64 bits */
    MOST_RATIO = 1032 /* deflate packs no tighter */
};

/* Where the directory is. */
typedef struct directory {
    uint64_t count, size, offset;
} directory;

static uint64_t get(const unsigned char *at, unsigned size) {
    uint64_t value = 0;
    while (size--)
        value = value << 8 | at[size];
    return value;
}

static ox_status invalid(ox_error *error, const char *what) {
    return ox_tool_fail(error, OX_ERROR_FILE, "not a valid zip archive: %s", what);
}

/* True if the archive has `size` bytes at `offset`. */
static bool has(const ox_zip *zip, uint64_t offset, uint64_t size) {
    return offset <= zip->size && size <= zip->size - offset;
}

bool ox_zip_is(const unsigned char *bytes, size_t size) {
    return size >= END_BYTES && (get(bytes, 4) == HEADER_SIGN || get(bytes, 4) == END_SIGN);
}

void ox_zip_free(ox_zip *zip) {
    free(zip->members);
    *zip = (ox_zip){0};
}

/* ---- The directory ---------------------------------------------------------------------------------------------- */

/* The record at the archive's end, which a comment may follow. */
static const unsigned char *find_end(const ox_zip *zip) {
    for (size_t comment = 0; comment <= COMMENT_BYTES && comment + END_BYTES <= zip->size; comment++) {
        const unsigned char *at = zip->bytes + zip->size - END_BYTES - comment;
        if (get(at, 4) == END_SIGN && get(at + 20, 2) == comment)
            return at;
    }
    return NULL;
}

/* Archives beyond 4 GB or 65,535 members have a second record, and say before the first one where. */
static bool find_wide_end(const ox_zip *zip, const unsigned char *end, directory *found) {
    size_t before = (size_t)(end - zip->bytes);
    if (before < LOCATOR_BYTES || get(end - LOCATOR_BYTES, 4) != LOCATOR_SIGN)
        return false;
    uint64_t offset = get(end - LOCATOR_BYTES + 8, 8);
    if (!has(zip, offset, END64_BYTES) || get(zip->bytes + offset, 4) != END64_SIGN)
        return false;
    const unsigned char *wide = zip->bytes + offset;
    *found = (directory){get(wide + 32, 8), get(wide + 40, 8), get(wide + 48, 8)};
    return true;
}

/* Takes what does not fit 32 bits from the extra field, where it stands in this order. */
static bool widen(ox_zip_member *member, const unsigned char *extra, size_t size) {
    uint64_t *const wanted[] = {&member->size, &member->packed, &member->header};
    while (size >= 4 && get(extra, 2) != WIDE_EXTRA) {
        size_t step = 4 + (size_t)get(extra + 2, 2);
        if (step > size)
            return false;
        extra += step;
        size -= step;
    }
    size_t left = size >= 4 ? (size_t)get(extra + 2, 2) : 0;
    if (left + 4 > size)
        left = 0;
    extra += 4;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (*wanted[i] != UINT32_MAX)
            continue;
        if (left < 8)
            return false;
        *wanted[i] = get(extra, 8);
        extra += 8;
        left -= 8;
    }
    return true;
}

/* Reads the entry at `at`; gives its bytes, 0 if it is none. */
static size_t read_entry(const unsigned char *at, size_t left, ox_zip_member *member) {
    if (left < ENTRY_BYTES || get(at, 4) != ENTRY_SIGN)
        return 0;
    size_t name = (size_t)get(at + 28, 2), extra = (size_t)get(at + 30, 2), comment = (size_t)get(at + 32, 2);
    if (name + extra + comment > left - ENTRY_BYTES)
        return 0;
    *member = (ox_zip_member){.name = (const char *)at + ENTRY_BYTES,
                              .name_size = name,
                              .flags = (unsigned)get(at + 8, 2),
                              .method = (unsigned)get(at + 10, 2),
                              .crc = (uint32_t)get(at + 16, 4),
                              .packed = get(at + 20, 4),
                              .size = get(at + 24, 4),
                              .header = get(at + 42, 4)};
    return widen(member, at + ENTRY_BYTES + name, extra) ? ENTRY_BYTES + name + extra + comment : 0;
}

static ox_status read_directory(ox_zip *zip, const directory *found, ox_error *error) {
    if (!has(zip, found->offset, found->size))
        return invalid(error, "its directory lies outside the file");
    if (found->count > found->size / ENTRY_BYTES)
        return invalid(error, "its directory is shorter than its number of members");
    const unsigned char *at = zip->bytes + found->offset;
    size_t left = (size_t)found->size;
    zip->members = ox_tool_alloc((size_t)found->count * sizeof *zip->members);
    for (; zip->count < found->count; zip->count++) {
        size_t step = read_entry(at, left, &zip->members[zip->count]);
        if (!step)
            return invalid(error, "its directory is damaged");
        at += step;
        left -= step;
    }
    return OX_OK;
}

ox_status ox_zip_open(ox_zip *zip, const unsigned char *bytes, size_t size, ox_error *error) {
    *zip = (ox_zip){.bytes = bytes, .size = size};
    const unsigned char *end = find_end(zip);
    if (!end)
        return invalid(error, "it has no directory, or is cut off");
    directory found = {get(end + 10, 2), get(end + 12, 4), get(end + 16, 4)};
    find_wide_end(zip, end, &found);
    return read_directory(zip, &found, error);
}

/* ---- Members ---------------------------------------------------------------------------------------------------- */

/* The member's packed bytes, which follow its own header. */
static const unsigned char *find_packed(const ox_zip *zip, const ox_zip_member *member) {
    if (!has(zip, member->header, HEADER_BYTES) || get(zip->bytes + member->header, 4) != HEADER_SIGN)
        return NULL;
    const unsigned char *header = zip->bytes + member->header;
    uint64_t start = member->header + HEADER_BYTES + get(header + 26, 2) + get(header + 28, 2);
    return has(zip, start, member->packed) ? zip->bytes + start : NULL;
}

/* zlib counts in 32 bits. */
static uInt piece(uint64_t left) {
    return left < 1u << 30 ? (uInt)left : 1u << 30;
}

/* True if the packed bytes give exactly `size` ones; `bytes` has room for one more, to notice too many. */
static bool inflate_all(const unsigned char *packed, uint64_t packed_size, unsigned char *bytes, uint64_t size) {
    z_stream stream = {0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    int status = Z_OK;
    stream.next_in = (unsigned char *)(uintptr_t)packed;
    stream.next_out = bytes;
    while (status == Z_OK) {
        stream.avail_in = piece(packed_size - (uint64_t)(stream.next_in - packed));
        stream.avail_out = piece(size + 1 - (uint64_t)(stream.next_out - bytes));
        status = inflate(&stream, Z_NO_FLUSH);
    }
    bool whole = stream.next_out == bytes + size;
    inflateEnd(&stream);
    return status == Z_STREAM_END && whole;
}

static uint32_t sum(const unsigned char *bytes, uint64_t size) {
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t at = 0; at < size; at += piece(size - at))
        crc = crc32(crc, bytes + at, piece(size - at));
    return (uint32_t)crc;
}

static ox_status check(const ox_zip_member *member, ox_error *error) {
    if (member->flags & ENCRYPTED)
        return ox_tool_fail(error, OX_ERROR_UNSUPPORTED, "it is encrypted");
    if (member->method != STORED && member->method != DEFLATED)
        return ox_tool_fail(error, OX_ERROR_UNSUPPORTED, "it is packed by method %u (stored and deflated are known)",
                            member->method);
    if (member->method == STORED ? member->size != member->packed : member->size / MOST_RATIO > member->packed)
        return invalid(error, "its sizes disagree");
    return OX_OK;
}

static ox_status unpack(const ox_zip_member *member, const unsigned char *packed, unsigned char *bytes,
                        ox_error *error) {
    if (member->method == STORED) {
        memcpy(bytes, packed, (size_t)member->size);
    } else if (!inflate_all(packed, member->packed, bytes, member->size)) {
        return invalid(error, "packed data are damaged");
    }
    return sum(bytes, member->size) == member->crc ? OX_OK : invalid(error, "a check sum disagrees");
}

ox_status ox_zip_read(const ox_zip *zip, size_t index, unsigned char **bytes, size_t *size, ox_error *error) {
    const ox_zip_member *member = &zip->members[index];
    const unsigned char *packed = find_packed(zip, member);
    *bytes = NULL;
    ox_status status = packed ? check(member, error) : invalid(error, "a member lies outside the file");
    if (status)
        return status;
    *size = (size_t)member->size;
    *bytes = member->size < PTRDIFF_MAX ? malloc(*size + 1) : NULL;
    if (!*bytes)
        return ox_tool_fail(error, OX_ERROR_MEMORY, "out of memory: %llu bytes to unpack",
                            (unsigned long long)member->size);
    status = unpack(member, packed, *bytes, error);
    (*bytes)[*size] = 0;
    if (status) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}
