/* npz.c: numpy's .npz files. */
#include "npz.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "kind.h"
#include "npy.h"
#include "tool.h"

static const char ending[] = ".npy";

ox_status ox_npz_open(ox_npz *npz, const char *path, ox_error *error) {
    size_t size;
    *npz = (ox_npz){0};
    ox_status status = ox_file_read(path, &npz->bytes, &size, error);
    if (status)
        return status;
    if (!ox_zip_is(npz->bytes, size)) {
        const char *kind = ox_kind_of(npz->bytes, size)->name;
        status = ox_tool_fail(error, OX_ERROR_FILE, "not an .npz file, which is a zip archive%s%s",
                              kind ? ", but " : "", kind ? kind : "");
    } else {
        status = ox_zip_open(&npz->zip, npz->bytes, size, error);
    }
    if (status)
        ox_tool_prefix(error, "%s: ", path);
    return status;
}

void ox_npz_free(ox_npz *npz) {
    ox_zip_free(&npz->zip);
    free(npz->bytes);
    *npz = (ox_npz){0};
}

const char *ox_npz_name(const ox_npz *npz, size_t index, size_t *size) {
    const ox_zip_member *member = &npz->zip.members[index];
    size_t tail = sizeof ending - 1;
    *size = member->name_size;
    if (*size >= tail && memcmp(member->name + *size - tail, ending, tail) == 0)
        *size -= tail;
    return member->name;
}

size_t ox_npz_find(const ox_npz *npz, const char *name) {
    for (size_t i = 0; i < npz->zip.count; i++) {
        size_t size;
        const char *found = ox_npz_name(npz, i, &size);
        if (size == strlen(name) && memcmp(found, name, size) == 0)
            return i;
    }
    return SIZE_MAX;
}

ox_status ox_npz_read(const ox_npz *npz, size_t index, ox_array *array, ox_error *error) {
    unsigned char *bytes;
    size_t size;
    *array = (ox_array){0};
    ox_status status = ox_zip_read(&npz->zip, index, &bytes, &size, error);
    if (status)
        return status;
    status = ox_npy_read(bytes, size, array, error);
    if (status)
        free(bytes);
    return status;
}
