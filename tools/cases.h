/* cases.h: finding cases of the ONNX backend test layout, and the list of those that are pending. */
#ifndef OX_CASES_H
#define OX_CASES_H

#include "ox.h"

typedef struct ox_case {
    char *name; /* of its directory */
    char *path;
} ox_case;

typedef struct ox_cases {
    ox_case *at;
    size_t count;
    size_t room;
} ox_cases;

/* Adds the case or all cases below a directory; false if there is none. */
bool ox_cases_add(ox_cases *cases, const char *directory);

/* Sorts by name. */
void ox_cases_sort(ox_cases *cases);
void ox_cases_free(ox_cases *cases);

/* Names of the entries of a directory that start with the prefix, sorted; NULL-terminated, each and all malloced. */
char **ox_list_directory(const char *directory, const char *prefix);
void ox_list_free(char **names);

/* Case names out of a file with one "case reason" a line and # comments; as ox_list_directory. NULL on error. */
char **ox_read_pending(const char *path, ox_error *error);

/* True if the sorted list has the name. */
bool ox_list_has(char *const *names, const char *name);

#endif
