/* zip.h: members of a zip archive, stored or deflated. */
#ifndef OX_ZIP_H
#define OX_ZIP_H

#include "ox.h"

/* A member, as the archive's directory describes it. */
typedef struct ox_zip_member {
    const char *name; /* in the archive's bytes, not NUL-terminated */
    size_t name_size;
    unsigned flags;
    unsigned method;
    uint32_t crc;
    uint64_t packed; /* bytes in the archive */
    uint64_t size;   /* bytes when unpacked */
    uint64_t header; /* where its own header starts */
} ox_zip_member;

/* Starts zeroed. The bytes are the caller's, and must stay. */
typedef struct ox_zip {
    const unsigned char *bytes;
    size_t size;
    ox_zip_member *members;
    size_t count;
} ox_zip;

/* True if the bytes start as an archive does. */
bool ox_zip_is(const unsigned char *bytes, size_t size);

/* Reads the directory. To be freed in every case. */
ox_status ox_zip_open(ox_zip *zip, const unsigned char *bytes, size_t size, ox_error *error);
void ox_zip_free(ox_zip *zip);

/* Unpacks a member and checks its sum. *bytes is malloced. */
ox_status ox_zip_read(const ox_zip *zip, size_t index, unsigned char **bytes, size_t *size, ox_error *error);

#endif
