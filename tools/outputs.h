/* outputs.h: where the results of a run go. */
#ifndef OX_OUTPUTS_H
#define OX_OUTPUTS_H

#include "compare.h"
#include "top.h"

/* A result, or another value that was asked for. */
typedef struct ox_output_goal {
    const char *name;
    const char *path; /* the file of -o, NULL if none, "-" for standard output */
    bool shown;       /* -o names it without a file */
} ox_output_goal;

/* --expect */
typedef struct ox_expectation {
    size_t output;
    const char *source;
} ox_expectation;

typedef struct ox_outputs {
    const ox_model *model;
    size_t own;   /* outputs of the model, ... */
    size_t count; /* ... and with the extra outputs of the session */
    ox_output_goal *goals;
    ox_expectation *expected;
    size_t expected_count;
    ox_tolerance tolerance;
    ox_top top;
    const char *save;     /* the directory of --save, or NULL */
    const char *save_all; /* the same of --save-all */
    bool quiet, json, stats;
    bool selects;     /* only what is `shown` is printed */
    bool uses_stdout; /* a .npy goes to standard output, so nothing else does */
} ox_outputs;

/* To be freed in every case. */
ox_outputs ox_outputs_create(const ox_model *model);
void ox_outputs_free(ox_outputs *outputs);

/* Takes "NAME=FILE", or "NAME" to print it; any value of the main graph has a name. */
ox_status ox_outputs_assign(ox_outputs *outputs, const char *text, ox_error *error);

/* Takes "NAME=SOURCE", what a value is to be. */
ox_status ox_outputs_expect(ox_outputs *outputs, const char *text, ox_error *error);

/* Asks for every value, for --save-all. */
void ox_outputs_add_all(ox_outputs *outputs);

/* The names of the extra outputs, in order; free it. */
const char **ox_outputs_extra(const ox_outputs *outputs);

/* Writes and prints the outputs of the session; `more` follows the outputs in JSON. (outputs_write.c) */
ox_status ox_outputs_write(const ox_outputs *outputs, const ox_session *session, const char *more, ox_error *error);

/* Compares with what was expected, and says what differs; *differ is increased by the number of values that do. */
ox_status ox_outputs_compare(const ox_outputs *outputs, const ox_session *session, size_t *differ, ox_error *error);

#endif
