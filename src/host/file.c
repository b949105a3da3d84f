/* file.c: mapping files, and keeping external data inside the model's directory (POSIX). */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char no_bytes[1];

static ox_status fail_errno(ox_error *error, const char *path, int code) {
    char text[128] = "";
    if (strerror_r(code, text, sizeof text))
        ox_format(text, sizeof text, "error %d", code);
    return ox_fail(error, OX_ERROR_FILE, "%s: %s", path, text);
}

static ox_status map_descriptor(int file, const char *path, const unsigned char **bytes, size_t *size,
                                ox_error *error) {
    struct stat info;
    if (fstat(file, &info))
        return fail_errno(error, path, errno);
    if (!S_ISREG(info.st_mode))
        return ox_fail(error, OX_ERROR_FILE, "%s: not a regular file", path);
    if ((uintmax_t)info.st_size > SIZE_MAX / 2)
        return ox_fail(error, OX_ERROR_LIMIT, "%s: larger than the address space", path);
    *size = (size_t)info.st_size;
    *bytes = no_bytes;
    if (!*size)
        return OX_OK;
    void *map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED)
        return fail_errno(error, path, errno);
    *bytes = map;
    return OX_OK;
}

ox_status ox_host_map(const char *path, const unsigned char **bytes, size_t *size, ox_error *error) {
    /* O_NONBLOCK: opening a named pipe must not hang. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fail_errno(error, path, errno);
    ox_status status = map_descriptor(file, path, bytes, size, error);
    close(file);
    return status;
}

void ox_host_unmap(const unsigned char *bytes, size_t size) {
    if (bytes != no_bytes && size)
        munmap((void *)(uintptr_t)bytes, size);
}

void ox_host_forget(const unsigned char *bytes, size_t size) {
#ifdef MADV_DONTNEED
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)bytes,
                    first = (start + page - 1) / page * page, end = (start + size) / page * page;
    if (first >= end)
        return;
#ifdef MADV_NOHUGEPAGE /* a page beside it, such as that of a bias, would bring 2 MB back */
    madvise((void *)first, end - first, MADV_NOHUGEPAGE);
#endif
    madvise((void *)first, end - first, MADV_DONTNEED);
#else
    (void)bytes, (void)size;
#endif
}

/* True if a path component of location is "..". */
static bool climbs(const char *location) {
    for (const char *p = location; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        p += n + (p[n] == '/');
    }
    return false;
}

/* A resolved directory, with a slash at the end: that of a file, whose path has a slash or none. */
static bool directory_of(const char *path, char directory[PATH_MAX]) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n + 2 > sizeof folder)
        return false;
    memcpy(folder, path, n);
    memcpy(folder + n, ".", 2);
    if (!realpath(folder, directory))
        return false;
    n = strlen(directory);
    if (n + 2 > PATH_MAX)
        return false;
    if (directory[n - 1] != '/')
        memcpy(directory + n, "/", 2);
    return true;
}

/* Where external data may lie: the directory of the path that was given, then that of the file which a link there leads
 * to. They are one where the model is no link. */
typedef struct places {
    char directories[2][PATH_MAX];
} places;

static bool find_places(const char *model_path, places *p) {
    char resolved[PATH_MAX];
    return directory_of(model_path, p->directories[0]) && realpath(model_path, resolved) &&
           directory_of(resolved, p->directories[1]);
}

static bool lies_inside(const places *p, const char *resolved) {
    for (int i = 0; i < 2; i++)
        if (!strncmp(resolved, p->directories[i], strlen(p->directories[i])))
            return true;
    return false;
}

/* Resolves the location in one of the places. */
static ox_status resolve(const char *directory, const char *location, char resolved[PATH_MAX], ox_error *error) {
    char joined[PATH_MAX];
    size_t n = strlen(directory), m = strlen(location);
    if (n + m + 1 > sizeof joined)
        return ox_fail(error, OX_ERROR_FILE, "external data location '%s' is too long", location);
    memcpy(joined, directory, n);
    memcpy(joined + n, location, m + 1);
    if (realpath(joined, resolved))
        return OX_OK;
    ox_status status = fail_errno(error, joined, errno);
    ox_error_prefix(error, "external data '%s': ", location);
    return status;
}

ox_status ox_host_external_path(const char *model_path, const char *location, char *buffer, size_t size,
                                ox_error *error) {
    if (!*location || *location == '/' || climbs(location))
        return ox_fail(error, OX_ERROR_MODEL,
                       "external data location '%s' must be a path inside the model's directory, without '..'",
                       location);
    char resolved[PATH_MAX];
    places p = {.directories = {{0}}};
    if (!find_places(model_path, &p))
        return ox_fail(error, OX_ERROR_FILE, "the directory of %s cannot be resolved", model_path);
    /* What is missing is missed where the caller looks for it. */
    if (resolve(p.directories[0], location, resolved, error) && resolve(p.directories[1], location, resolved, NULL))
        return OX_ERROR_FILE;
    ox_error_clear(error);
    if (!lies_inside(&p, resolved))
        return ox_fail(error, OX_ERROR_MODEL, "external data location '%s' leads out of the model's directory",
                       location);
    if (strlen(resolved) + 1 > size)
        return ox_fail(error, OX_ERROR_FILE, "external data location '%s' is too long", location);
    memcpy(buffer, resolved, strlen(resolved) + 1);
    return OX_OK;
}
