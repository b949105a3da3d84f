/* file.h: reading whole files, and writing files that appear whole or not at all. */
#ifndef OX_FILE_H
#define OX_FILE_H

#include <stdio.h>

#include "ox.h"

/* Reads a file, or standard input for "-". *bytes is malloced, with a zero after the last byte. */
ox_status ox_file_read(const char *path, unsigned char **bytes, size_t *size, ox_error *error);

/* The same; more than `most` bytes are an error. */
ox_status ox_file_read_most(const char *path, size_t most, unsigned char **bytes, size_t *size, ox_error *error);

bool ox_file_exists(const char *path);

/* True for a .pb file by its name. */
bool ox_file_is_pb(const char *path);

/* True for an .npz file by its name. */
bool ox_file_is_npz(const char *path);

/* True if both paths name one file, which need not be there yet. */
bool ox_file_is_same(const char *a, const char *b);

/* From now on, creating a file at this path is an error: it is the model that runs. */
void ox_file_protect(const char *path);

/* An error if a file cannot be created there, as it is protected. */
ox_status ox_file_check_target(const char *path, ox_error *error);

/* Makes a folder if there is none; the folder around it must exist. */
ox_status ox_file_folder(const char *path, ox_error *error);

/* A file that has a temporary name in the same directory until it is complete. An existing file that is not a regular
 * one (a device, a pipe) is written directly. */
typedef struct ox_new_file {
    FILE *stream;
    char *path;
    char *temporary; /* NULL when written directly */
} ox_new_file;

ox_status ox_file_create(ox_new_file *file, const char *path, ox_error *error);

/* Closes the file and gives it its name; on failure nothing of it is left. */
ox_status ox_file_commit(ox_new_file *file, ox_error *error);

/* Closes and removes the unfinished file. */
void ox_file_abandon(ox_new_file *file);

#endif
