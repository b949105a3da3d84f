/* tool.h: what all parts of the command share: messages, exit statuses, the clock; the subcommands. */
#ifndef OX_TOOL_H
#define OX_TOOL_H

#include "args.h"
#include "ox.h"

enum ox_exit {
    OX_EXIT_OK = 0,
    OX_EXIT_FAILED = 1, /* the model or its input */
    OX_EXIT_USAGE = 2
};

/* The highest rank that the command reads and prints; numpy's and the library's limit. */
enum {
    OX_TOOL_RANK = 64
};

/* Nanoseconds of a clock that only goes forward, the one of ox_profile_event. */
uint64_t ox_tool_now(void);

/* Writes status and text to error and returns status; the library's convention. Control characters are escaped. */
ox_status ox_tool_fail(ox_error *error, ox_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts text before what error already says. */
void ox_tool_prefix(ox_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a second line that says what to do; the error's own text is shortened if both are too long. */
void ox_tool_remedy(ox_error *error, const char *remedy);

/* Prints "ox: " and the error's text to standard error. Returns OX_EXIT_FAILED. */
int ox_tool_failed(const ox_error *error);

/* Prints "ox: ..." to standard error, control characters escaped. Returns OX_EXIT_FAILED. */
int ox_tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a usage error and where to read more. `command` may be NULL. Returns OX_EXIT_USAGE. */
int ox_tool_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Flushes standard output: OX_EXIT_OK, or OX_EXIT_FAILED with a message when something could not be written. */
int ox_tool_flush(void);

/* ---- Subcommands: each returns the exit status ---------------------------------------------------------------- */

int ox_command_run(ox_args *args);
int ox_command_bench(ox_args *args);
int ox_command_info(ox_args *args);
int ox_command_embed(ox_args *args);
int ox_command_test(ox_args *args);
int ox_command_ops(ox_args *args);
int ox_command_completion(ox_args *args);

#endif
