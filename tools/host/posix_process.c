/* posix_process.c: processes, the terminal's size, and files that only they make. */
#include "posix.h"
#ifdef OX_HAS_POSIX
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../system.h"

enum {
    USUAL_WIDTH = 80,
    LARGE_PAGE = 2 << 20
};

int ox_system_terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2 ? USUAL_WIDTH : size.ws_col;
}

/* mkstemp gives a file that only its owner reads; a result is an ordinary file. */
FILE *ox_system_create(char *path) {
    const int handle = mkstemp(path);
    if (handle < 0)
        return NULL;
    const mode_t mask = umask(0);
    umask(mask);
    FILE *stream = fchmod(handle, 0666 & ~mask) ? NULL : fdopen(handle, "wb");
    if (!stream) {
        close(handle);
        unlink(path);
    }
    return stream;
}

bool ox_system_own_path(char *path, size_t size) {
#ifdef __linux__
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0 || (size_t)length == size - 1)
        return false;
    path[length] = '\0';
    return true;
#else
    (void)path, (void)size;
    return false;
#endif
}

static void call_and_end(bool (*fn)(void *result), void *result, size_t size, int out) {
    const bool done = fn(result) && write(out, result, size) == (ssize_t)size;
    _exit(done ? 0 : 1);
}

bool ox_system_apart(bool (*fn)(void *result), void *result, size_t size) {
    int ends[2], state;
    if (pipe(ends))
        return fn(result);
    const pid_t child = fork();
    if (child == 0)
        call_and_end(fn, result, size, ends[1]);
    close(ends[1]);
    const bool came = child > 0 && read(ends[0], result, size) == (ssize_t)size;
    close(ends[0]);
    if (child < 0)
        return fn(result);
    return waitpid(child, &state, 0) == child && came;
}

void ox_system_on_fork(void (*fn)(void)) {
    pthread_atfork(NULL, NULL, fn);
}

int64_t ox_system_milliseconds(void) {
    struct timespec now;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* a few nanoseconds, some milliseconds late */
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void ox_system_large_pages(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
    const uintptr_t start = ((uintptr_t)block + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    const uintptr_t end = ((uintptr_t)block + size) / LARGE_PAGE * LARGE_PAGE;
    if (end > start)
        madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
    (void)block, (void)size;
#endif
}
#endif
