/* regex.h: RE2, which is C++, as functions of C, and the operators that need it. */
#ifndef OX_PLUGIN_REGEX_H
#define OX_PLUGIN_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "ox.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled pattern. NULL if it is none: `why` then says so, or is empty where memory is out. Of the matches that
 * begin at one place, ox_regex_find gives the longest if `longest`, else the one that the pattern prefers. */
typedef struct ox_regex ox_regex;
ox_regex *ox_regex_create(ox_string pattern, bool longest, char *why, size_t room);
void ox_regex_free(ox_regex *regex);

/* The pattern of an attribute; fails, saying why, if it is none. */
ox_status ox_regex_compile(ox_call *call, const char *attribute, ox_string pattern, bool longest, ox_regex **regex);

/* Whether all of the text matches: 1 or 0, -1 if memory is out. */
int ox_regex_matches(const ox_regex *regex, ox_string text);

/* The first match that begins at byte `from` or behind it: 1 and the match, which is a part of the text; 0 if there is
 * none; -1 if memory is out. */
int ox_regex_find(const ox_regex *regex, ox_string text, size_t from, ox_string *match);

/* Tokenizer of com.microsoft. */
ox_status ox_regex_infer_tokens(ox_call *call);
ox_status ox_regex_run_tokens(ox_call *call);

#ifdef __cplusplus
}
#endif

#endif
