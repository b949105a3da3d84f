/* tool.h: what all parts of the command share: memory, messages, exit statuses, the command line. */
#ifndef OX_TOOL_H
#define OX_TOOL_H

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

/* malloc and realloc that end the process with a message when memory is out. A size of 0 is allowed. */
void *ox_tool_alloc(size_t size);
void *ox_tool_resize(void *block, size_t size);

/* Zeroed memory for a tensor, on large pages if it is large; NULL if there is none. To be freed with free. */
void *ox_tool_zeroed(size_t size);

/* Nanoseconds of a clock that only goes forward, the one of ox_profile_event. */
uint64_t ox_tool_now(void);

/* A product of sizes; false on overflow. */
bool ox_tool_multiply(size_t a, size_t b, size_t *product);

/* Writes status and text to error and returns status; the library's convention. */
ox_status ox_tool_fail(ox_error *error, ox_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts text before what error already says. */
void ox_tool_prefix(ox_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "ox: ..." to standard error, control characters escaped. Returns OX_EXIT_FAILED. */
int ox_tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a usage error and where to read more. `command` may be NULL. Returns OX_EXIT_USAGE. */
int ox_tool_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Flushes standard output: OX_EXIT_OK, or OX_EXIT_FAILED with a message when something could not be written. */
int ox_tool_flush(void);

/* ---- The command line of a subcommand ----------------------------------------------------------------------- */

typedef struct ox_args {
    const char *command;
    char **at;   /* the next argument; the list ends with NULL */
    bool plain;  /* "--" was seen: no more options */
    bool failed; /* a usage error was printed */
} ox_args;

/* True if the next argument is this flag; takes it. */
bool ox_args_flag(ox_args *args, const char *name);

/* True if the next argument is this option; takes it and its value ("--name value", "--name=value", "-n value"). */
bool ox_args_option(ox_args *args, const char *name, const char **value);

/* True if the next argument is a positional one; takes it. False at the end, and on an unknown option with a usage
 * error. Comes after all flags and options have been tried. */
bool ox_args_positional(ox_args *args, const char **value);

/* ---- Subcommands: each returns the exit status ---------------------------------------------------------------- */

int ox_command_run(ox_args *args);
int ox_command_bench(ox_args *args);
int ox_command_info(ox_args *args);
int ox_command_embed(ox_args *args);
int ox_command_test(ox_args *args);
int ox_command_ops(ox_args *args);

#endif
