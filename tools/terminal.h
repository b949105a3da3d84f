/* terminal.h: what is not for terminals. */
#ifndef OX_TERMINAL_H
#define OX_TERMINAL_H

#include "ox.h"

/* Refuses "-o NAME=-" where standard output is a terminal, unless it is given twice; two of the same become one. */
ox_status ox_terminal_check(const char **outputs, size_t *count, ox_error *error);

#endif
