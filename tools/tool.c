/* tool.c: messages. */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

ox_status(ox_tool_fail)(ox_error *error, ox_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
    error->status = status;
    return status;
}

void ox_tool_prefix(ox_error *error, const char *format, ...) {
    ox_text text = {0};
    va_list list;
    va_start(list, format);
    ox_text_vformat(&text, format, list);
    va_end(list);
    ox_text_put(&text, error->text);
    snprintf(error->text, sizeof error->text, "%s", ox_text_get(&text));
    ox_text_free(&text);
}

static void message(const char *format, va_list list) {
    ox_text raw = {0};
    ox_text safe = {0};
    ox_text_vformat(&raw, format, list);
    ox_text_escape(&safe, raw.data, raw.size, "\n");
    fflush(stdout);
    fprintf(stderr, "ox: %s\n", ox_text_get(&safe));
    ox_text_free(&raw);
    ox_text_free(&safe);
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
    return ox_tool_error("cannot write to standard output: %s", strerror(errno));
}
