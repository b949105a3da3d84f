/* posix_guard.c: no unfinished file outlives the command, unless it is killed outright. */
#include "posix.h"
#ifdef OX_HAS_POSIX
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "../guard.h"
#include "../system.h"

/* The handler reads the list, so it changes only while signals wait. */
enum {
    MOST_UNFINISHED = 8,
    DRAWING_MS = 200 /* the most that an end waits for a line: a terminal may have stopped */
};
static char *volatile unfinished[MOST_UNFINISHED];
static atomic_bool has_line; /* on the terminal */
static atomic_bool is_drawing, is_ending;

static sigset_t ending_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

static void replace(const char *from, char *to) {
    int i = 0;
    while (i < MOST_UNFINISHED && unfinished[i] != from)
        i++;
    if (i < MOST_UNFINISHED)
        unfinished[i] = to;
}

static void remove_unfinished(void) {
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i])
            unlink(unfinished[i]);
}

static void end(int number) {
    static const char text[] = "\r\033[Kox: interrupted\n";
    atomic_store(&is_ending, true);
    for (int ms = 0; ms < DRAWING_MS && atomic_load(&is_drawing); ms++)
        (void)poll(NULL, 0, 1);
    const size_t skipped = has_line ? 0 : sizeof "\r\033[K" - 1;
    remove_unfinished();
    ssize_t written = write(STDERR_FILENO, text + skipped, sizeof text - 1 - skipped);
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

void ox_guard_start(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = end, .sa_mask = ending_signals()}, before;
    (void)atexit(remove_unfinished); /* where memory is out */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN) /* as nohup wants it */
            sigaction(numbers[i], &action, NULL);
}

FILE *ox_guard_create(char *path) {
    sigset_t before, ending = ending_signals();
    sigprocmask(SIG_BLOCK, &ending, &before);
    FILE *stream = ox_system_create(path);
    if (stream)
        replace(NULL, path);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return stream;
}

void ox_guard_forget(const char *path) {
    sigset_t before, ending = ending_signals();
    if (!path)
        return;
    sigprocmask(SIG_BLOCK, &ending, &before);
    replace(path, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void ox_guard_pipe(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&out, 1, 0) < 1 || !(out.revents & POLLERR))
        return;
    remove_unfinished();
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

bool ox_guard_draw(void) {
    atomic_store(&is_drawing, true);
    if (atomic_load(&is_ending)) {
        atomic_store(&is_drawing, false);
        return false;
    }
    atomic_store(&has_line, true);
    return true;
}

void ox_guard_drawn(void) {
    atomic_store(&is_drawing, false);
}

void ox_guard_no_line(void) {
    atomic_store(&has_line, false);
}
#endif
