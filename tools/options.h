/* options.h: options of the command line that say how models run: run, bench and test have all of them, embed and info
 * the limits. */
#ifndef OX_OPTIONS_H
#define OX_OPTIONS_H

#include "compare.h"
#include "tool.h"

/* Reads bytes, such as 512M; false if the text is no such number. */
bool ox_options_read_size(const char *text, size_t *size);

/* Takes --max-memory SIZE or --timeout SECONDS, whose time starts now. False if the next argument is neither; *status
 * is the exit status, after a usage error. */
bool ox_options_take_limits(ox_args *args, ox_limits *limits, int *status);

/* Takes these, or --threads N, --no-fuse, --no-winograd, --no-integer, --float16-sums,
 * --check. */
bool ox_options_take(ox_args *args, ox_options *options, int *status);

/* Takes --rtol X or --atol X, numbers of 0 and more. */
bool ox_options_take_tolerance(ox_args *args, ox_tolerance *tolerance, int *status);

/* Prints why a model could not be loaded or run. Returns OX_EXIT_FAILED. */
int ox_options_failed(const ox_error *error);

#endif
