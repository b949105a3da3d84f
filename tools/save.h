/* save.h: results as .npy and .pb files. */
#ifndef OX_SAVE_H
#define OX_SAVE_H

#include "datum.h"
#include "text.h"

/* Writes to a file, which is complete or does not exist, or to standard output for "-". A tensor is written as .npy, as
 * a table to a FILE.csv, or as a TensorProto to a FILE.pb; a value that is not a tensor as its message, to a FILE.pb
 * only. */
ox_status ox_save(const char *path, const char *name, const ox_datum *datum, ox_error *error);

/* Writes tensors as an .npz, each under its name. */
ox_status ox_save_npz(const char *path, const char *const *names, const ox_datum *data, size_t count, ox_error *error);

/* True if the ending of the file's name selects a format: .npy, .npz, .csv, .tsv or .pb; also for a device, a pipe or
 * "-", which get a .npy. */
bool ox_save_knows(const char *path);

/* Writes FOLDER/FILE.npy, or FILE.pb for what is no tensor; makes the folder. */
ox_status ox_save_in(const char *folder, const char *file, const char *name, const ox_datum *datum, ox_error *error);

/* True if ox_save writes a message rather than a .npy. `path` may be NULL, for ox_save_in. */
bool ox_save_is_proto(const char *path, const ox_datum *datum);

/* A folder with a file for each value and index.json, which lists them. Starts with the folder, otherwise zeroed. */
typedef struct ox_saved {
    const char *folder;
    size_t count;
    ox_text index;
} ox_saved;

/* Writes a value under its name; characters other than letters, digits, '.', '_' and '-' become %XX, and names that are
 * too long are truncated and numbered. */
ox_status ox_saved_add(ox_saved *saved, const char *name, const ox_datum *datum, ox_error *error);

/* Writes index.json, unless something failed before, and frees it. */
ox_status ox_saved_end(ox_saved *saved, ox_status status, ox_error *error);

/* Warns on standard error if numpy lacks the type, which readers of the file have to know. `what` is "output", say. */
void ox_save_note_raw(const char *what, const char *name, ox_dtype dtype);

#endif
