/* subcommands.h: the subcommands of ox. */
#ifndef OX_SUBCOMMANDS_H
#define OX_SUBCOMMANDS_H

#include "tool.h"

typedef struct ox_subcommand {
    const char *name;
    int (*run)(ox_args *args); /* returns the exit status */
    const char *summary;
    const char *help; /* begins with the usage, up to an empty line: usage.h */
} ox_subcommand;

extern const ox_subcommand ox_subcommands[];
extern const size_t ox_subcommand_count;

/* NULL if there is none of that name. */
const ox_subcommand *ox_subcommand_find(const char *name);

#endif
