/* regex.h: RE2, which is C++, as two functions of C. */
#ifndef OX_PLUGIN_REGEX_H
#define OX_PLUGIN_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "ox.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled pattern. NULL if it is none: `why` then says so, or is empty where memory is out. */
typedef struct ox_regex ox_regex;
ox_regex *ox_regex_create(ox_string pattern, char *why, size_t room);
void ox_regex_free(ox_regex *regex);

/* Whether all of the text matches: 1 or 0, -1 if memory is out. */
int ox_regex_matches(const ox_regex *regex, ox_string text);

#ifdef __cplusplus
}
#endif

#endif
