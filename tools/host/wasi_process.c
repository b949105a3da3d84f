/* wasi_process.c: WebAssembly's system has no processes, signals, threads and shared libraries. */
#include "posix.h"
#ifdef __wasi__
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../guard.h"
#include "../system.h"

enum {
    USUAL_WIDTH = 80
};

int ox_system_terminal_width(void) {
    return USUAL_WIDTH;
}

FILE *ox_system_create(char *path) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char bytes[6];
    for (int i = 0; i < 100; i++) {
        if (getentropy(bytes, sizeof bytes))
            return NULL;
        for (size_t k = 0; k < sizeof bytes; k++)
            path[strlen(path) - sizeof bytes + k] = letters[bytes[k] & 31];
        FILE *stream = fopen(path, "wbx");
        if (stream)
            return stream;
    }
    return NULL;
}

bool ox_system_own_path(char *path, size_t size) {
    (void)path, (void)size;
    return false;
}

bool ox_system_apart(bool (*fn)(void *result), void *result, size_t size) {
    (void)size;
    return fn(result);
}

void ox_system_on_fork(void (*fn)(void)) {
    (void)fn;
}

int64_t ox_system_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void ox_system_large_pages(void *block, size_t size) {
    (void)block, (void)size;
}

ox_helper *ox_helper_start(void (*work)(ox_helper *helper, void *context), void *context) {
    (void)work, (void)context;
    return NULL;
}

void ox_helper_lock(ox_helper *helper) {
    (void)helper;
}

void ox_helper_unlock(ox_helper *helper) {
    (void)helper;
}

void ox_helper_wait(ox_helper *helper, uint64_t time) {
    (void)helper, (void)time;
}

void ox_helper_wake(ox_helper *helper) {
    (void)helper;
}

void ox_helper_end(ox_helper *helper) {
    (void)helper;
}

const char ox_library_ending[] = ".so";

void *ox_library_open(const char *path, const char **reason) {
    (void)path;
    *reason = "WebAssembly's system has no shared libraries";
    return NULL;
}

bool ox_library_show(const char *path, const char **reason) {
    return ox_library_open(path, reason) != NULL;
}

void *ox_library_find(void *library, const char *name) {
    (void)library, (void)name;
    return NULL;
}

void ox_library_close(void *library) {
    (void)library;
}

void ox_guard_start(void) {}

FILE *ox_guard_create(char *path) {
    return ox_system_create(path);
}

void ox_guard_forget(const char *path) {
    (void)path;
}

void ox_guard_pipe(void) {}

bool ox_guard_draw(void) {
    return true;
}

void ox_guard_drawn(void) {}

void ox_guard_no_line(void) {}
#endif
