/* args.c: the command line of a subcommand. */
#include "args.h"

#include <string.h>

#include "tool.h"
#include "usage.h"

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
    if ((arg[length] == '=' && name[1] == '-') || (arg[length] && name[1] != '-')) {
        *value = arg + length + (arg[length] == '=');
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
        ox_text near = {0};
        if (args->help)
            ox_usage_suggest(args->help, *args->at, &near);
        ox_tool_usage(args->command, "unknown option '%s'%s", *args->at, ox_text_get(&near));
        ox_text_free(&near);
        return false;
    }
    *value = *args->at++;
    return true;
}
