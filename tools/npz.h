/* npz.h: numpy's .npz files, archives of arrays with names. */
#ifndef OX_NPZ_H
#define OX_NPZ_H

#include "array.h"
#include "zip.h"

typedef struct ox_npz {
    unsigned char *bytes;
    ox_zip zip;
} ox_npz;

/* An array of an archive. */
typedef struct ox_npz_member {
    const ox_npz *archive; /* NULL for none */
    size_t index;
} ox_npz_member;

/* Reads the archive, but for its arrays. To be freed in every case. */
ox_status ox_npz_open(ox_npz *npz, const char *path, ox_error *error);
void ox_npz_free(ox_npz *npz);

/* The name of an array, a view into the archive: that of its member without ".npy". */
const char *ox_npz_name(const ox_npz *npz, size_t index, size_t *size);

/* The array of that name; SIZE_MAX if there is none. */
size_t ox_npz_find(const ox_npz *npz, const char *name);

ox_status ox_npz_read(const ox_npz *npz, size_t index, ox_array *array, ox_error *error);

#endif
