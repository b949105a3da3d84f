/* zip_write.c: archives of uncompressed members. */
#include "zip_write.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tool.h"

static void put(ox_text *text, uint32_t value, int bytes) {
    for (; bytes > 0; bytes--, value >>= 8)
        ox_text_add(text, (const char[]){(char)(value & 255)}, 1);
}

/* The fields that a member's own header and the directory share. */
static void put_member(ox_text *text, uint32_t crc, size_t size, size_t name_size) {
    put(text, 20, 2);           /* the version of the format that it takes to read it */
    put(text, 1 << 11, 2);      /* the name is UTF-8 */
    put(text, 0, 2);            /* stored */
    put(text, 0, 2);            /* time */
    put(text, (1 << 5 | 1), 2); /* the first of January 1980 */
    put(text, crc, 4);
    put(text, (uint32_t)size, 4);
    put(text, (uint32_t)size, 4);
    put(text, (uint32_t)name_size, 2);
    put(text, 0, 2); /* of more */
}

static uint32_t sum_of(const void *bytes, size_t size) {
    uLong crc = crc32(0, NULL, 0);
    for (size_t at = 0; at < size; at += 1 << 30)
        crc = crc32(crc, (const Bytef *)bytes + at, (uInt)(size - at < 1 << 30 ? size - at : 1 << 30));
    return (uint32_t)crc;
}

ox_status ox_zip_add(ox_zip_writer *zip, const char *name, const void *bytes, size_t size, ox_error *error) {
    const uint64_t most = UINT32_MAX - (1 << 20);
    const size_t name_size = strlen(name);
    ox_text head = {0};
    if (size > most || zip->size + size > most || name_size > UINT16_MAX || zip->count == UINT16_MAX - 1)
        return ox_tool_fail(error, OX_ERROR_LIMIT, "an archive of 4 GB and more is not written");
    const uint32_t crc = sum_of(bytes, size);
    put(&head, 0x04034b50, 4);
    put_member(&head, crc, size, name_size);
    ox_text_put(&head, name);
    put(&zip->directory, 0x02014b50, 4);
    put(&zip->directory, 20, 2);
    put_member(&zip->directory, crc, size, name_size);
    put(&zip->directory, 0, 2 + 2 + 2); /* no comment, the first disk, no attributes */
    put(&zip->directory, 0, 4);
    put(&zip->directory, (uint32_t)zip->size, 4);
    ox_text_put(&zip->directory, name);
    fwrite(head.data, 1, head.size, zip->file);
    fwrite(bytes, 1, size, zip->file);
    zip->size += head.size + size;
    zip->count++;
    ox_text_free(&head);
    return OX_OK;
}

void ox_zip_end(ox_zip_writer *zip) {
    ox_text end = {0};
    put(&end, 0x06054b50, 4);
    put(&end, 0, 4);
    put(&end, (uint32_t)zip->count, 2);
    put(&end, (uint32_t)zip->count, 2);
    put(&end, (uint32_t)zip->directory.size, 4);
    put(&end, (uint32_t)zip->size, 4);
    put(&end, 0, 2);
    fwrite(ox_text_get(&zip->directory), 1, zip->directory.size, zip->file);
    fwrite(end.data, 1, end.size, zip->file);
    ox_text_free(&end);
    ox_text_free(&zip->directory);
}
