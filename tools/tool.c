/* tool.c: messages. */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "text.h"

/* Names come from models and files: a text that has them is one line, and harmless on a terminal. */
static void add_safe(ox_text *text, const char *format, va_list list) {
    ox_text raw = {0};
    ox_text_vformat(&raw, format, list);
    ox_text_escape(text, ox_text_get(&raw), raw.size, NULL);
    ox_text_free(&raw);
}

static void set_text(ox_error *error, ox_text *text) {
    snprintf(error->text, sizeof error->text, "%s", ox_text_get(text));
    ox_text_free(text);
}

ox_status(ox_tool_fail)(ox_error *error, ox_status status, const char *format, ...) {
    ox_text text = {0};
    va_list list;
    va_start(list, format);
    add_safe(&text, format, list);
    va_end(list);
    set_text(error, &text);
    error->status = status;
    return status;
}

void ox_tool_prefix(ox_error *error, const char *format, ...) {
    ox_text text = {0};
    va_list list;
    va_start(list, format);
    add_safe(&text, format, list);
    va_end(list);
    ox_text_put(&text, error->text);
    set_text(error, &text);
}

void ox_tool_remedy(ox_error *error, const char *remedy) {
    ox_text text = {0};
    size_t room = sizeof error->text - 1 - strlen(remedy);
    ox_text_add(&text, error->text, ox_text_length(error->text, room - 1));
    ox_text_format(&text, "\n%s", remedy);
    set_text(error, &text);
}

static void message(const char *format, va_list list) {
    ox_text safe = {0};
    add_safe(&safe, format, list);
    fflush(stdout);
    fprintf(stderr, "ox: %s\n", ox_text_get(&safe));
    ox_text_free(&safe);
}

int ox_tool_failed(const ox_error *error) {
    ox_text safe = {0};
    ox_text_escape(&safe, error->text, strlen(error->text), "\n");
    fflush(stdout);
    fprintf(stderr, "ox: %s\n", ox_text_get(&safe));
    ox_text_free(&safe);
    return OX_EXIT_FAILED;
}

int ox_tool_error(const char *format, ...) {
    va_list list;
    va_start(list, format);
    message(format, list);
    va_end(list);
    return OX_EXIT_FAILED;
}

int ox_tool_usage(const char *command, const char *format, ...) {
    va_list list;
    va_start(list, format);
    message(format, list);
    va_end(list);
    fprintf(stderr, "try 'ox help%s%s'\n", command ? " " : "", command ? command : "");
    return OX_EXIT_USAGE;
}

int ox_tool_flush(void) {
    if (!fflush(stdout) && !ferror(stdout))
        return OX_EXIT_OK;
    ox_guard_pipe();
    return ox_tool_error("cannot write to standard output: %s", strerror(errno));
}
