/* loading.h: what the tests of the loader share: one model at a time, or the error that it is refused with. */
#ifndef OX_TEST_LOADING_H
#define OX_TEST_LOADING_H

#include "src/frame/graph.h"
#include "tests/unit/onnx_bytes.h"

extern ox_error error;
extern ox_model *model;

/* Loads a model; options may be NULL. */
ox_status load_with(const ox_bytes *bytes, const ox_options *options);

/* The same without options; it has to succeed. */
void load(const ox_bytes *bytes);

/* The last error has that text in it. */
void check_text(const char *text);

/* Loading fails, with that text. */
void check_fails(const ox_bytes *bytes, ox_status status, const char *text);

/* A model of the graph that has x as its input, fails to load with the text. */
void check_graph_fails(const ox_bytes *nodes, ox_status status, const char *text);

/* The value of that name, -1 if there is none. */
int find_value(const ox_graph *graph, const char *name);

/* The elements of an initializer. */
const void *weight(const char *name);

#endif
