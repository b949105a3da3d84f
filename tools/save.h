/* save.h: tensors as .npy files in a folder. */
#ifndef OX_SAVE_H
#define OX_SAVE_H

#include "text.h"

/* Writes a .npy to a file, which appears whole or not at all, or to standard output for "-". */
ox_status ox_save(const char *path, const ox_tensor *tensor, ox_error *error);

/* Writes FOLDER/FILE.npy; makes the folder. */
ox_status ox_save_in(const char *folder, const char *file, const ox_tensor *tensor, ox_error *error);

/* A folder with a file for each value and index.json, which lists them. Starts with the folder, otherwise zeroed. */
typedef struct ox_saved {
    const char *folder;
    size_t count;
    ox_text index;
} ox_saved;

/* Writes a value under its name; characters other than letters, digits, '.', '_' and '-' become %XX, and what is too
 * long is cut and numbered. */
ox_status ox_saved_add(ox_saved *saved, const char *name, const ox_tensor *tensor, ox_error *error);

/* Writes index.json, unless something failed before, and frees it. */
ox_status ox_saved_end(ox_saved *saved, ox_status status, ox_error *error);

/* Says on standard error if numpy has no such type: whoever reads the file has to know. `what` is "output", say. */
void ox_save_note_raw(const char *what, const char *name, ox_dtype dtype);

#endif
