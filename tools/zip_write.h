/* zip_write.h: archives of uncompressed members, of less than 4 GB. */
#ifndef OX_ZIP_WRITE_H
#define OX_ZIP_WRITE_H

#include <stdio.h>

#include "text.h"

/* Starts with the file, otherwise zeroed. Errors of the file are left in it (ferror). */
typedef struct ox_zip_writer {
    FILE *file;
    ox_text directory;
    uint64_t size; /* of what is written */
    size_t count;
} ox_zip_writer;

ox_status ox_zip_add(ox_zip_writer *zip, const char *name, const void *bytes, size_t size, ox_error *error);

/* Writes the directory and frees it; to be called in every case. */
void ox_zip_end(ox_zip_writer *zip);

#endif
