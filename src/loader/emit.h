/* emit.h: nodes that the loader writes itself, from texts such as "Mul(g, Sub(1, Mul(y, y)))".
 *
 * A text is an expression of
 *   a ... d              the values that it is evaluated with, in that order
 *   g, y                 the values `gradient` and `result`
 *   3, -0.5              a number, in the type of `like`
 *   @alpha:0.01          the same, which is an attribute of `node`, or that number
 *   [2,-1], [@axis:1]    a list of integers; the second is an attribute
 *   Name<p=1,q="x">(..)  an operator of ONNX's own domain, in its newest version, with attributes of integers and text
 *   Name(..)             a text of the list `macros`, with the arguments as its a, b, ...
 * Nodes come in the order in which arguments are written. */
#ifndef OX_LOADER_EMIT_H
#define OX_LOADER_EMIT_H

#include "build.h"

typedef struct ox_macro {
    const char *name, *text;
} ox_macro;

/* Once something failed, nothing more is written, and what is given is OX_NONE. */
typedef struct ox_emitter {
    ox_builder *b;
    ox_scope *scope;
    const char *name;       /* begins the names of nodes and values */
    const ox_macro *macros; /* until one without a name; NULL for none */
    const ox_node *node;    /* has the attributes; NULL for none */
    int32_t like, gradient, result;
    ox_status status;
} ox_emitter;

enum {
    OX_EMIT_VALUES = 4
};

/* The value of a text with these values, at most OX_EMIT_VALUES. */
int32_t ox_emit_text(ox_emitter *e, const char *text, int count, const int32_t *values);
#define OX_EMIT(e, text, ...)                                                                                          \
    ox_emit_text((e), (text), (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)),                         \
                 (const int32_t[]){__VA_ARGS__})

/* Writes a node whose operator and attributes are there, with other inputs and as many new values as outputs. */
void ox_emit_node(ox_emitter *e, const ox_node *node, int nin, const int32_t *in, int nout, int32_t *out);

/* The same for an operator by its name. */
void ox_emit_op(ox_emitter *e, const char *op, int nattrs, const ox_attr *attrs, int nin, const int32_t *in, int nout,
                int32_t *out);

/* An attribute of a node; `otherwise` where there is none of that name and kind. */
int64_t ox_emit_int(const ox_node *node, const char *name, int64_t otherwise);
double ox_emit_float(const ox_node *node, const char *name, double otherwise);
const ox_attr *ox_emit_attr(const ox_node *node, const char *name, ox_attr_kind kind);

#endif
