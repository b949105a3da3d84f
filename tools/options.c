/* options.c: options of the command line that say how models run. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_THREADS = 256
};

static int parse_threads(const ox_args *args, const char *text, int *threads) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || end == text || value < 1 || value > MOST_THREADS)
        return ox_tool_usage(args->command, "--threads wants a number from 1 to %d, not '%s'", MOST_THREADS, text);
    *threads = (int)value;
    return OX_EXIT_OK;
}

/* "4096", "64K", "512M" or "2G" */
bool ox_options_read_size(const char *text, size_t *size) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9')
        return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if ((*end && (!unit || end[1])) || !value || value > SIZE_MAX >> shift)
        return false;
    *size = (size_t)value << shift;
    return true;
}

static uint64_t deadline; /* on the clock of ox_tool_now; a command has one */

static bool time_is_up(void *context) {
    return ox_tool_now() >= *(const uint64_t *)context;
}

static int parse_timeout(const ox_args *args, const char *text, ox_limits *limits) {
    enum {
        MOST_SECONDS = 1000000000
    };
    char *end;
    double seconds = strtod(text, &end);
    if (*end || end == text || !(seconds > 0) || seconds > MOST_SECONDS)
        return ox_tool_usage(args->command, "--timeout wants seconds, such as 10 or 0.5, not '%s'", text);
    deadline = ox_tool_now() + (uint64_t)llround(seconds * 1e9);
    limits->cancel = time_is_up;
    limits->cancel_context = &deadline;
    return OX_EXIT_OK;
}

bool ox_options_take_tolerance(ox_args *args, ox_tolerance *tolerance, int *status) {
    const char *text;
    char *end;
    *status = OX_EXIT_OK;
    bool relative = ox_args_option(args, "--rtol", &text);
    if (!relative && !ox_args_option(args, "--atol", &text))
        return false;
    double value = strtod(text, &end);
    if (*end || end == text || !(value >= 0) || isinf(value))
        *status = ox_tool_usage(args->command, "--%s wants a number of 0 and more, such as 1e-5, not '%s'",
                                relative ? "rtol" : "atol", text);
    *(relative ? &tolerance->relative : &tolerance->absolute) = value;
    tolerance->given = true;
    return true;
}

int ox_options_failed(const ox_error *error) {
    if (error->status != OX_ERROR_CANCELLED)
        return ox_tool_failed(error);
    return ox_tool_error("%s: the time of --timeout is over", error->text);
}

bool ox_options_take_limits(ox_args *args, ox_limits *limits, int *status) {
    const char *value;
    *status = OX_EXIT_OK;
    if (ox_args_option(args, "--timeout", &value))
        *status = parse_timeout(args, value, limits);
    else if (!ox_args_option(args, "--max-memory", &value))
        return false;
    else if (!ox_options_read_size(value, &limits->bytes))
        *status = ox_tool_usage(args->command, "--max-memory wants bytes, such as 512M, not '%s'", value);
    return true;
}

bool ox_options_take(ox_args *args, ox_options *options, int *status) {
    const char *value;
    *status = OX_EXIT_OK;
    if (ox_args_flag(args, "--no-fuse"))
        options->no_fuse = true;
    else if (ox_args_flag(args, "--no-winograd"))
        options->no_winograd = true;
    else if (ox_args_flag(args, "--no-integer"))
        options->no_integer = true;
    else if (ox_args_flag(args, "--float16-sums"))
        options->float16_sums = true;
    else if (ox_args_flag(args, "--check"))
        options->check = true;
    else if (ox_args_option(args, "--threads", &value))
        *status = parse_threads(args, value, &options->threads);
    else
        return ox_options_take_limits(args, &options->limits, status);
    return true;
}
