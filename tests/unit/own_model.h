/* own_model.h: models of one domain besides ONNX's, run with operators from outside. */
#ifndef OX_TEST_OWN_MODEL_H
#define OX_TEST_OWN_MODEL_H

#include "samples.h"

/* A model while it is written and run. Zeroed, then own_begin. */
typedef struct own_model {
    const char *domain;
    int version; /* of the domain that the model imports */
    ox_bytes graph, bytes;
    ox_counter counter;
    ox_options options;
    ox_model *model;
    ox_session *session;
    ox_tensor output;
    ox_error error;
} own_model;

/* Beside the domain the model imports version 21 of ONNX's own; "" is ONNX's own. */
void own_begin(own_model *m, const char *domain, int version);

/* A node of the domain; attrs may be NULL. */
void own_node(own_model *m, const char *op, const char *inputs, const char *outputs, const ox_bytes *attrs);

/* Adds a list of integers to the attributes of a node. */
void own_ints(ox_bytes *attrs, const char *name, size_t count, const int64_t *values);

/* Loads the model, and makes a session. */
ox_status own_load(own_model *m);

/* Runs it on its inputs, in order; m->output is then its first output. */
ox_status own_run(own_model *m, int count, const ox_tensor *inputs);

/* Checks an output of floats, of rank 1 or more. */
void own_check(const own_model *m, int rank, const int64_t *dims, const float *values);

/* Frees session and model; checks that no memory is left. */
void own_end(own_model *m);

#endif
