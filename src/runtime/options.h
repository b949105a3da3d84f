/* options.h: what a caller's options say. */
#ifndef OX_RUNTIME_OPTIONS_H
#define OX_RUNTIME_OPTIONS_H

#include "alloc.h"

/* Fails where an option has a value that means nothing. Those that name operators are checked by ox_custom_check. */
ox_status ox_options_check(const ox_options *options, ox_error *error);

/* Makes options, which have been checked, ones that outlive the caller's text of `isa`. */
void ox_options_keep(ox_options *options);

/* The allocator of options, which may be NULL, or the default one; NULL where there is none. */
const ox_allocator *ox_options_allocator(const ox_options *options);

#endif
