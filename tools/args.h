/* args.h: the command line of a subcommand. */
#ifndef OX_ARGS_H
#define OX_ARGS_H

#include <stdbool.h>

typedef struct ox_args {
    const char *command;
    const char *help; /* of the subcommand */
    char **at;        /* the next argument; the list ends with NULL */
    bool plain;       /* "--" was seen: no more options */
    bool failed;      /* a usage error was printed */
} ox_args;

/* True if the next argument is this flag; takes it. */
bool ox_args_flag(ox_args *args, const char *name);

/* True if the next argument is this option; takes it and its value ("--name value", "--name=value", "-n value",
 * "-nvalue"). */
bool ox_args_option(ox_args *args, const char *name, const char **value);

/* True if the next argument is a positional one; takes it. False at the end, and on an unknown option with a usage
 * error. Comes after all flags and options have been tried. */
bool ox_args_positional(ox_args *args, const char **value);

#endif
