/* posix_file.c: mapping files, and where links lead. */
#include "posix.h"
#ifdef OX_HOST_POSIX
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char no_bytes[1];

/* strerror_r of POSIX gives a status, and that of GNU the text. */
static inline const char *text_of_status(int status, const char *buffer) {
    return status ? "unknown error" : buffer;
}

static inline const char *text_as_it_is(const char *text, const char *buffer) {
    (void)buffer;
    return text;
}

static ox_status fail_errno(ox_error *error, const char *path, int code) {
    char text[128] = "";
    const char *said = _Generic(strerror_r(code, text, sizeof text), char *
                                : text_as_it_is, default
                                : text_of_status)(strerror_r(code, text, sizeof text), text);
    return ox_fail(error, OX_ERROR_FILE, "%s: %s", path, said);
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

_Static_assert(OX_HOST_PATH >= PATH_MAX, "realpath writes up to PATH_MAX bytes");

ox_status ox_host_real_path(const char *path, char real[OX_HOST_PATH], ox_error *error) {
    return realpath(path, real) ? OX_OK : fail_errno(error, path, errno);
}
#endif
