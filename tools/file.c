/* file.c: reading whole files, and writing files that appear whole or not at all. */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "memory.h"
#include "system.h"
#include "text.h"
#include "tool.h"

static ox_status fail_file(const char *path, const char *what, ox_error *error) {
    return ox_tool_fail(error, OX_ERROR_FILE, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* Where to start: the size of the file, or a page when that is not known. */
static size_t expected_size(FILE *stream) {
    ox_file_info info;
    return ox_system_look_at_stream(stream, &info) && info.is_file && info.size < PTRDIFF_MAX ? (size_t)info.size
                                                                                              : 4096;
}

static bool grow(unsigned char **bytes, size_t *room) {
    unsigned char *moved = *room < PTRDIFF_MAX / 2 ? realloc(*bytes, *room * 2 + 2) : NULL;
    if (!moved)
        return false;
    *bytes = moved;
    *room = *room * 2 + 1;
    return true;
}

static ox_status read_stream(FILE *stream, const char *name, size_t most, unsigned char **bytes, size_t *size,
                             ox_error *error) {
    size_t room = expected_size(stream);
    *size = 0;
    *bytes = room < PTRDIFF_MAX ? malloc(room + 1) : NULL;
    while (*bytes) {
        *size += fread(*bytes + *size, 1, room - *size, stream);
        if (ferror(stream))
            return fail_file(name, "read", error);
        if (*size > most)
            return ox_tool_fail(error, OX_ERROR_LIMIT, "%s: longer than the limit of %zu bytes", name, most);
        int next = *size < room ? EOF : fgetc(stream);
        if (next == EOF) {
            (*bytes)[*size] = 0;
            return OX_OK;
        }
        if (!grow(bytes, &room))
            break;
        (*bytes)[(*size)++] = (unsigned char)next;
    }
    return ox_tool_fail(error, OX_ERROR_MEMORY, "out of memory for '%s'", name);
}

ox_status ox_file_read_most(const char *path, size_t most, unsigned char **bytes, size_t *size, ox_error *error) {
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *stream = is_stdin ? stdin : ox_system_open(path, "rb");
    *bytes = NULL;
    if (!stream)
        return fail_file(path, "open", error);
    if (is_stdin && ox_system_is_terminal(stdin))
        ox_tool_error("waiting for standard input, which is this terminal: ctrl-d ends it");
    ox_status status = read_stream(stream, is_stdin ? "standard input" : path, most, bytes, size, error);
    if (!is_stdin)
        fclose(stream);
    if (status) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

ox_status ox_file_read(const char *path, unsigned char **bytes, size_t *size, ox_error *error) {
    return ox_file_read_most(path, SIZE_MAX, bytes, size, error);
}

bool ox_file_exists(const char *path) {
    ox_file_info info;
    return ox_system_look(path, &info) && !info.is_folder;
}

bool ox_file_is_pb(const char *path) {
    const size_t length = strlen(path);
    return length > 3 && ox_text_alike(path + length - 3, ".pb", 3);
}

bool ox_file_is_npz(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && ox_text_alike(path + length - 4, ".npz", 4);
}

/* What stands behind the folder in a path: the last of the separators, or what is before the first letter. */
static const char *name_of(const char *path) {
    const char *name = path;
    for (; *path; path++)
        if (ox_system_separates(*path))
            name = path + 1;
    return name;
}

/* The folder of a path, "." for none. */
static bool look_at_folder(const char *path, ox_file_info *info) {
    const size_t length = (size_t)(name_of(path) - path);
    char *folder = ox_tool_alloc(length + 2);
    memcpy(folder, path, length);
    memcpy(folder + length, ".", 2);
    const bool found = ox_system_look(folder, info);
    free(folder);
    return found;
}

static bool is_one(const ox_file_info *a, const ox_file_info *b) {
    return (a->device || a->number) && a->device == b->device && a->number == b->number;
}

bool ox_file_is_same(const char *a, const char *b) {
    ox_file_info one, other;
    if (strcmp(a, b) == 0)
        return true;
    const bool there = ox_system_look(a, &one), also = ox_system_look(b, &other);
    if (there && also)
        return one.is_file && is_one(&one, &other);
    return !there && !also && strcmp(name_of(a), name_of(b)) == 0 && look_at_folder(a, &one) &&
           look_at_folder(b, &other) && is_one(&one, &other);
}

ox_status ox_file_folder(const char *path, ox_error *error) {
    ox_file_info info;
    if (ox_system_look(path, &info) && info.is_folder)
        return OX_OK;
    return ox_system_make_folder(path) ? OX_OK : fail_file(path, "create the folder", error);
}

static ox_file_info protected_file; /* zeroed for none */

void ox_file_protect(const char *path) {
    if (!ox_system_look(path, &protected_file) || !protected_file.is_file)
        protected_file = (ox_file_info){0};
}

ox_status ox_file_check_target(const char *path, ox_error *error) {
    ox_file_info info;
    if (ox_system_look(path, &info) && is_one(&protected_file, &info))
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "'%s' is the model: it is not written over", path);
    return OX_OK;
}

static char *copy(const char *text, const char *suffix) {
    size_t length = strlen(text);
    char *result = ox_tool_alloc(length + strlen(suffix) + 1);
    memcpy(result, text, length);
    strcpy(result + length, suffix);
    return result;
}

static void forget(ox_new_file *file) {
    ox_guard_forget(file->temporary);
    free(file->path);
    free(file->temporary);
    *file = (ox_new_file){0};
}

ox_status ox_file_create(ox_new_file *file, const char *path, ox_error *error) {
    ox_file_info info;
    ox_status status = ox_file_check_target(path, error);
    if (status)
        return status;
    bool is_special = ox_system_look(path, &info) && !info.is_file;
    *file = (ox_new_file){.path = copy(path, "")};
    if (!is_special)
        file->temporary = copy(path, ".XXXXXX");
    file->stream = is_special ? ox_system_open(path, "wb") : ox_guard_create(file->temporary);
    if (file->stream)
        return OX_OK;
    forget(file);
    return fail_file(path, "create", error);
}

ox_status ox_file_commit(ox_new_file *file, ox_error *error) {
    bool failed = ferror(file->stream) || fflush(file->stream);
    failed |= fclose(file->stream) != 0;
    if (!failed && file->temporary)
        failed = !ox_system_rename(file->temporary, file->path);
    ox_status status = failed ? fail_file(file->path, "write", error) : OX_OK;
    if (failed && file->temporary)
        ox_system_remove(file->temporary);
    forget(file);
    return status;
}

void ox_file_abandon(ox_new_file *file) {
    fclose(file->stream);
    if (file->temporary)
        ox_system_remove(file->temporary);
    forget(file);
}
