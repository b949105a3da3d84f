/* file.c: reading whole files, and writing files that appear whole or not at all. */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"
#include "memory.h"
#include "tool.h"

static ox_status fail_file(const char *path, const char *what, ox_error *error) {
    return ox_tool_fail(error, OX_ERROR_FILE, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* Where to start: the size of the file, or a page when that is not known. */
static size_t expected_size(FILE *stream) {
    struct stat info;
    if (fstat(fileno(stream), &info) || !S_ISREG(info.st_mode) || info.st_size < 0)
        return 4096;
    return (size_t)info.st_size;
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
    FILE *stream = is_stdin ? stdin : fopen(path, "rb");
    *bytes = NULL;
    if (!stream)
        return fail_file(path, "open", error);
    if (is_stdin && isatty(STDIN_FILENO))
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
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

bool ox_file_is_pb(const char *path) {
    const size_t length = strlen(path);
    return length > 3 && strcasecmp(path + length - 3, ".pb") == 0;
}

bool ox_file_is_npz(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcasecmp(path + length - 4, ".npz") == 0;
}

/* The folder of a path, "." for none. */
static bool stat_folder(const char *path, struct stat *info) {
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    char *folder = ox_tool_alloc(length + 2);
    memcpy(folder, path, length);
    memcpy(folder + length, slash ? "" : ".", slash ? 1 : 2);
    bool found = stat(folder, info) == 0;
    free(folder);
    return found;
}

bool ox_file_is_same(const char *a, const char *b) {
    struct stat one, other;
    if (strcmp(a, b) == 0)
        return true;
    const bool there = stat(a, &one) == 0, also = stat(b, &other) == 0;
    if (there && also)
        return S_ISREG(one.st_mode) && one.st_ino == other.st_ino && one.st_dev == other.st_dev;
    const char *name = strrchr(a, '/'), *other_name = strrchr(b, '/');
    return !there && !also && strcmp(name ? name + 1 : a, other_name ? other_name + 1 : b) == 0 &&
           stat_folder(a, &one) && stat_folder(b, &other) && one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

ox_status ox_file_folder(const char *path, ox_error *error) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return OX_OK;
    return mkdir(path, 0777) ? fail_file(path, "create the folder", error) : OX_OK;
}

static struct stat protected_file; /* zeroed for none */

void ox_file_protect(const char *path) {
    if (stat(path, &protected_file) || !S_ISREG(protected_file.st_mode))
        protected_file = (struct stat){0};
}

ox_status ox_file_check_target(const char *path, ox_error *error) {
    struct stat info;
    if (protected_file.st_ino && !stat(path, &info) && info.st_ino == protected_file.st_ino &&
        info.st_dev == protected_file.st_dev)
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

/* mkstemp gives a file that only its owner reads; a result is an ordinary file. */
static FILE *open_temporary(char *path) {
    int handle = ox_guard_create(path);
    if (handle < 0)
        return NULL;
    mode_t mask = umask(0);
    umask(mask);
    FILE *stream = fchmod(handle, 0666 & ~mask) ? NULL : fdopen(handle, "wb");
    if (!stream) {
        close(handle);
        unlink(path);
    }
    return stream;
}

static void forget(ox_new_file *file) {
    ox_guard_forget(file->temporary);
    free(file->path);
    free(file->temporary);
    *file = (ox_new_file){0};
}

ox_status ox_file_create(ox_new_file *file, const char *path, ox_error *error) {
    struct stat info;
    ox_status status = ox_file_check_target(path, error);
    if (status)
        return status;
    bool is_special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    *file = (ox_new_file){.path = copy(path, "")};
    if (!is_special)
        file->temporary = copy(path, ".XXXXXX");
    file->stream = is_special ? fopen(path, "wb") : open_temporary(file->temporary);
    if (file->stream)
        return OX_OK;
    forget(file);
    return fail_file(path, "create", error);
}

ox_status ox_file_commit(ox_new_file *file, ox_error *error) {
    bool failed = ferror(file->stream) || fflush(file->stream);
    failed |= fclose(file->stream) != 0;
    if (!failed && file->temporary)
        failed = rename(file->temporary, file->path) != 0;
    ox_status status = failed ? fail_file(file->path, "write", error) : OX_OK;
    if (failed && file->temporary)
        unlink(file->temporary);
    forget(file);
    return status;
}

void ox_file_abandon(ox_new_file *file) {
    fclose(file->stream);
    if (file->temporary)
        unlink(file->temporary);
    forget(file);
}
