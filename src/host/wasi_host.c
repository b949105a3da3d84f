/* wasi_host.c: WebAssembly's system, which has files and a clock, but neither threads nor mapped files. */
#ifdef __wasi__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "files.h"
#include "lock.h"
#include "workers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char no_bytes[1];

static ox_status fail_errno(ox_error *error, const char *path, int code) {
    return ox_fail(error, OX_ERROR_FILE, "%s: %s", path, strerror(code));
}

static ox_status read_all(FILE *file, const char *path, const unsigned char **bytes, size_t *size, ox_error *error) {
    struct stat info;
    if (fstat(fileno(file), &info))
        return fail_errno(error, path, errno);
    if (!S_ISREG(info.st_mode))
        return ox_fail(error, OX_ERROR_FILE, "%s: not a regular file", path);
    if ((uintmax_t)info.st_size > SIZE_MAX / 2)
        return ox_fail(error, OX_ERROR_LIMIT, "%s: larger than the address space", path);
    *size = (size_t)info.st_size;
    *bytes = no_bytes;
    if (!*size)
        return OX_OK;
    /* Pages of a file begin at multiples of this, on which weights rely. */
    unsigned char *all = aligned_alloc(OX_ALIGN, ox_round_up(*size, OX_ALIGN));
    if (!all)
        return ox_fail_memory(error, "a file", *size);
    if (fread(all, 1, *size, file) != *size) {
        free(all);
        return ox_fail(error, OX_ERROR_FILE, "%s: it cannot be read", path);
    }
    *bytes = all;
    return OX_OK;
}

ox_status ox_host_map(const char *path, const unsigned char **bytes, size_t *size, ox_error *error) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail_errno(error, path, errno);
    ox_status status = read_all(file, path, bytes, size, error);
    fclose(file);
    return status;
}

void ox_host_unmap(const unsigned char *bytes, size_t size) {
    if (bytes != no_bytes && size)
        free((void *)(uintptr_t)bytes);
}

void ox_host_forget(const unsigned char *bytes, size_t size) {
    (void)bytes, (void)size;
}

/* WASI has neither a root directory nor a call that resolves links: a path without links is its own real path, and a
 * path with a link is refused. */
ox_status ox_host_real_path(const char *path, char real[OX_HOST_PATH], ox_error *error) {
    struct stat info;
    const size_t size = strlen(path) + 1;
    if (size > OX_HOST_PATH)
        return fail_errno(error, path, ENAMETOOLONG);
    memcpy(real, path, size);
    for (char *at = real + 1;; at++) {
        const char c = *at;
        if (c && c != '/')
            continue;
        *at = '\0';
        const int failed = lstat(real, &info);
        *at = c;
        if (failed)
            return fail_errno(error, path, errno);
        if (S_ISLNK(info.st_mode))
            return ox_fail(error, OX_ERROR_FILE, "%s: a link, which WebAssembly's system does not resolve", path);
        if (!c)
            return OX_OK;
    }
}

size_t ox_host_cache(int level) {
    (void)level;
    return 0;
}

ox_status ox_lock_create(const ox_allocator *allocator, ox_lock **lock, ox_error *error) {
    (void)allocator, (void)error;
    *lock = NULL;
    return OX_OK;
}

void ox_lock_free(ox_lock *lock) {
    (void)lock;
}

void ox_lock_take(ox_lock *lock) {
    (void)lock;
}

void ox_lock_give(ox_lock *lock) {
    (void)lock;
}

ox_status ox_workers_start(const ox_allocator *allocator, int threads, void (*idle)(void *context), void *context,
                           ox_workers **workers, ox_error *error) {
    (void)allocator, (void)threads, (void)idle, (void)context, (void)workers;
    return ox_fail(error, OX_ERROR_UNSUPPORTED, "WebAssembly's system has no threads");
}

void ox_workers_stop(ox_workers *workers) {
    (void)workers;
}

bool ox_workers_has_this_thread(const ox_workers *workers) {
    (void)workers;
    return false;
}

void ox_workers_run(ox_workers *workers, ox_pool_fn *fn, void *context) {
    (void)workers, (void)fn, (void)context;
}
#endif
