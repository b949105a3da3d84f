/* tool.c: memory, messages and the command line. */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void *ox_tool_resize(void *block, size_t size) {
    void *moved = realloc(block, size ? size : 1);
    if (!moved) {
        fprintf(stderr, "ox: out of memory (%zu bytes)\n", size);
        exit(OX_EXIT_FAILED);
    }
    return moved;
}

void *ox_tool_alloc(size_t size) {
    return ox_tool_resize(NULL, size);
}

bool ox_tool_multiply(size_t a, size_t b, size_t *product) {
    *product = a * b;
    return !b || *product / b == a;
}

ox_status ox_tool_fail(ox_error *error, ox_status status, const char *format, ...) {
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

static bool is_option(const ox_args *args) {
    const char *arg = *args->at;
    return arg && !args->plain && arg[0] == '-' && arg[1];
}

bool ox_args_flag(ox_args *args, const char *name) {
    if (!is_option(args) || strcmp(*args->at, name) != 0)
        return false;
    args->at++;
    return true;
}

bool ox_args_option(ox_args *args, const char *name, const char **value) {
    if (!is_option(args))
        return false;
    const char *arg = *args->at;
    size_t length = strlen(name);
    if (strncmp(arg, name, length) != 0)
        return false;
    if (arg[length] == '=' && name[1] == '-') {
        *value = arg + length + 1;
        args->at++;
        return true;
    }
    if (arg[length])
        return false;
    if (!args->at[1]) {
        args->failed = true;
        ox_tool_usage(args->command, "option %s needs a value", name);
        return false;
    }
    *value = args->at[1];
    args->at += 2;
    return true;
}

bool ox_args_positional(ox_args *args, const char **value) {
    if (!args->failed && is_option(args) && strcmp(*args->at, "--") == 0) {
        args->plain = true;
        args->at++;
    }
    if (args->failed || !*args->at)
        return false;
    if (is_option(args)) {
        args->failed = true;
        ox_tool_usage(args->command, "unknown option '%s'", *args->at);
        return false;
    }
    *value = *args->at++;
    return true;
}
