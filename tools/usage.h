/* usage.h: the options of a subcommand, as the usage at the head of its help lists them. */
#ifndef OX_USAGE_H
#define OX_USAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

/* "--threads" and "N"; a flag has an empty value. Views into the help. */
typedef struct ox_usage_option {
    const char *name, *value;
    size_t name_size, value_size;
} ox_usage_option;

/* Takes the next option at or after *at, which starts as the help and moves on. False after the last one. */
bool ox_usage_next(const char **at, ox_usage_option *option);

/* Adds "; did you mean '--threads'?" for an option that the help does not have; nothing if none is near. */
void ox_usage_suggest(const char *help, const char *wanted, ox_text *text);

#endif
