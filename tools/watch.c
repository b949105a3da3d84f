/* watch.c: what the command is doing, on a line of the terminal. */
#define _DEFAULT_SOURCE
#include "watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "text.h"

enum {
    SILENT_MS = 1000, /* what is over by then shows no line */
    STEP_MS = 100,
    USUAL_WIDTH = 80
};

static int terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2 ? USUAL_WIDTH : size.ws_col;
}

/* The part of a text that the terminal shows on one line. */
static size_t visible_bytes(const ox_text *text) {
    const size_t most = (size_t)terminal_width() - 1;
    size_t at = 0;
    for (size_t count = 0; count < most && at < text->size; count++) {
        uint32_t code;
        size_t length = ox_utf8_read(text->data + at, text->size - at, &code);
        at += length ? length : 1;
    }
    return at;
}

static void add_node(ox_text *text, const ox_profile_node *node) {
    const char *name = *node->name ? node->name : node->output;
    ox_text_put(text, ", ");
    ox_text_escape(text, node->op, strlen(node->op), NULL);
    ox_text_put(text, *node->name ? " " : " -> ");
    ox_text_escape(text, name, strlen(name), NULL);
}

/* "running, run 3 of 10: 34 %, 12 of 35 nodes, 13 s, Conv stem" */
static void describe(const ox_watch *watch, ox_text *text) {
    ox_text_put(text, watch->what);
    if (watch->turns > 1)
        ox_text_format(text, ", run %" PRIu64 " of %" PRIu64, watch->turn, watch->turns);
    ox_text_put(text, ": ");
    if (watch->total)
        ox_text_format(text, "%zu %%, %zu of %zu nodes, ", 100 * watch->done / watch->total, watch->done, watch->total);
    ox_text_format(text, "%" PRIu64 " s", (ox_tool_now() - watch->start) / 1000000000u);
    if (watch->total)
        add_node(text, &watch->node);
}

static void draw(ox_watch *watch) {
    ox_text text = {0};
    describe(watch, &text);
    ox_guard_line(true);
    fprintf(stderr, "\r%.*s\033[K", (int)visible_bytes(&text), text.data);
    fflush(stderr);
    watch->drawn = true;
    ox_text_free(&text);
}

static void wait_until(ox_watch *watch, uint64_t time) {
    struct timespec end = {.tv_sec = (time_t)(time / 1000000000u), .tv_nsec = (long)(time % 1000000000u)};
    while (!watch->ended && ox_tool_now() < time)
        pthread_cond_timedwait(&watch->wake, &watch->lock, &end);
}

static void *keep_drawing(void *context) {
    ox_watch *watch = context;
    uint64_t next = watch->start + SILENT_MS * UINT64_C(1000000);
    pthread_mutex_lock(&watch->lock);
    while (!watch->ended) {
        wait_until(watch, next);
        if (!watch->ended)
            draw(watch);
        next += STEP_MS * UINT64_C(1000000);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* Signals are for the command's first thread. */
static bool start_thread(ox_watch *watch) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&watch->thread, NULL, keep_drawing, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

void ox_watch_start(ox_watch *watch, const char *what) {
    pthread_condattr_t attributes;
    *watch = (ox_watch){.what = what, .start = ox_tool_now()};
    if (!isatty(STDERR_FILENO) || pthread_condattr_init(&attributes))
        return;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    watch->started = start_thread(watch);
}

void ox_watch_say(ox_watch *watch, const char *what) {
    if (!watch->started)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->what = what;
    watch->turns = 0;
    watch->total = 0;
    pthread_mutex_unlock(&watch->lock);
}

void ox_watch_turn(ox_watch *watch, uint64_t turn, uint64_t turns) {
    if (!watch->started)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->turn = turn;
    watch->turns = turns;
    pthread_mutex_unlock(&watch->lock);
}

static void take_step(void *context, const ox_progress *progress) {
    ox_watch *watch = context;
    pthread_mutex_lock(&watch->lock);
    if (!progress->depth) {
        watch->done = progress->done;
        watch->total = progress->total;
    }
    watch->node = progress->node;
    pthread_mutex_unlock(&watch->lock);
}

void ox_watch_session(ox_watch *watch, ox_session *session, bool on) {
    if (watch->started)
        ox_session_set_progress(session, on ? take_step : NULL, watch);
}

void ox_watch_hold(ox_watch *watch) {
    if (!watch->started)
        return;
    pthread_mutex_lock(&watch->lock);
    if (watch->drawn)
        fputs("\r\033[K", stderr);
}

void ox_watch_go_on(ox_watch *watch) {
    if (watch->started)
        pthread_mutex_unlock(&watch->lock);
}

void ox_watch_stop(ox_watch *watch) {
    if (!watch->started)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->ended = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    watch->started = false;
    if (watch->drawn)
        fputs("\r\033[K", stderr);
    ox_guard_line(false);
}
