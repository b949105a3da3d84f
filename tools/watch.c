/* watch.c: what the command is doing, on a line of the terminal. */
#include "watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "text.h"

enum {
    SILENT_MS = 1000, /* what is over by then shows no line */
    STEP_MS = 100
};

/* The part of a text that the terminal shows on one line. */
static size_t visible_bytes(const ox_text *text) {
    const size_t most = (size_t)ox_system_terminal_width() - 1;
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
    if (ox_guard_draw()) {
        fprintf(stderr, "\r%.*s\033[K", (int)visible_bytes(&text), text.data);
        fflush(stderr);
        watch->drawn = true;
        ox_guard_drawn();
    }
    ox_text_free(&text);
}

static void keep_drawing(ox_helper *helper, void *context) {
    ox_watch *watch = context;
    uint64_t next = watch->start + SILENT_MS * UINT64_C(1000000);
    ox_helper_lock(helper);
    while (!watch->ended) {
        while (!watch->ended && ox_tool_now() < next)
            ox_helper_wait(helper, next);
        if (!watch->ended)
            draw(watch);
        next += STEP_MS * UINT64_C(1000000);
    }
    ox_helper_unlock(helper);
}

void ox_watch_start(ox_watch *watch, const char *what) {
    *watch = (ox_watch){.what = what, .start = ox_tool_now()};
    if (ox_system_is_terminal(stderr))
        watch->helper = ox_helper_start(keep_drawing, watch);
}

void ox_watch_say(ox_watch *watch, const char *what) {
    if (!watch->helper)
        return;
    ox_helper_lock(watch->helper);
    watch->what = what;
    watch->turns = 0;
    watch->total = 0;
    ox_helper_unlock(watch->helper);
}

void ox_watch_turn(ox_watch *watch, uint64_t turn, uint64_t turns) {
    if (!watch->helper)
        return;
    ox_helper_lock(watch->helper);
    watch->turn = turn;
    watch->turns = turns;
    ox_helper_unlock(watch->helper);
}

static void take_step(void *context, const ox_progress *progress) {
    ox_watch *watch = context;
    ox_helper_lock(watch->helper);
    if (!progress->depth) {
        watch->done = progress->done;
        watch->total = progress->total;
    }
    watch->node = progress->node;
    ox_helper_unlock(watch->helper);
}

void ox_watch_session(ox_watch *watch, ox_session *session, bool on) {
    if (watch->helper)
        ox_session_set_progress(session, on ? take_step : NULL, watch);
}

void ox_watch_hold(ox_watch *watch) {
    if (!watch->helper)
        return;
    ox_helper_lock(watch->helper);
    if (watch->drawn)
        fputs("\r\033[K", stderr);
}

void ox_watch_go_on(ox_watch *watch) {
    if (watch->helper)
        ox_helper_unlock(watch->helper);
}

void ox_watch_stop(ox_watch *watch) {
    if (!watch->helper)
        return;
    ox_helper_lock(watch->helper);
    watch->ended = true;
    ox_helper_wake(watch->helper);
    ox_helper_unlock(watch->helper);
    ox_helper_end(watch->helper);
    watch->helper = NULL;
    if (watch->drawn)
        fputs("\r\033[K", stderr);
    ox_guard_no_line();
}
