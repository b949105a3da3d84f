/* emit.h: nodes that the loader writes itself, from texts such as "Mul(g, Sub(1, Mul(y, y)))".
 *
 * A text is an expression of
 *   a, b, ...            the values that it is evaluated with, in that order; an omitted one is an omitted input
 *   g, y                 the values `gradient` and `result`, where there are fewer of those
 *   c|0                  the value c, or where it is omitted what stands behind the line
 *   3, -0.5              a number, in the type of `like`
 *   @alpha:0.01          the same, which is an attribute of `node`, or that number; @list/1:0 is an element of a list
 *   [2,-1], [@axis:1]    a list of integers; the second is an attribute
 *   Name<p=1,q="x">(..)  an operator of ONNX's own domain, in its newest version, with attributes: integers, floats
 * (with a point) and text; `p=@` is that of `node` as it is, if that has it Name(..)             a text of the list
 * `macros`, with the arguments as its a, b, ... Name?c(..)           the same if c is given, or else the first argument
 *   Name?transA(..)      the same if the node has that attribute, which is text or not 0
 * Nodes come in the order in which arguments are written.
 *
 * A body is statements, with a semicolon between them: "s,m = Name(..); y = Add(s, m)". They give values to letters,
 * which later ones read. With ?= in place of = a statement is left out where nobody reads what it gives. */
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
    bool bounded; /* the nodes count as those of gradients, which have a limit */
    ox_status status;
} ox_emitter;

enum {
    OX_EMIT_VALUES = 4,
    OX_EMIT_LETTERS = 26
};

/* The value of a text with these values, at most OX_EMIT_VALUES. */
int32_t ox_emit_text(ox_emitter *e, const char *text, int count, const int32_t *values);
#define OX_EMIT(e, text, ...)                                                                                          \
    ox_emit_text((e), (text), (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)),                         \
                 (const int32_t[]){__VA_ARGS__})

/* Writes the nodes of a body. values: of the letters, OX_NONE where there is none. Letter k of `outputs` is to give the
 * value out[k] of the scope, if it is one. */
void ox_emit_body(ox_emitter *e, const char *text, int32_t values[OX_EMIT_LETTERS], const char *outputs, int nout,
                  const ox_index *out);

/* Writes a node whose operator and attributes are there, with other inputs and as many new values as outputs. */
void ox_emit_node(ox_emitter *e, const ox_node *node, int nin, const int32_t *in, int nout, int32_t *out);

/* The same for an operator by its name. */
void ox_emit_op(ox_emitter *e, const char *op, int nattrs, const ox_attr *attrs, int nin, const int32_t *in, int nout,
                int32_t *out);

/* The same where outputs are values of the scope, or OX_NONE for new ones, whose numbers then come there. */
void ox_emit_to(ox_emitter *e, const char *op, int nattrs, const ox_attr *attrs, int nin, const int32_t *in, int nout,
                int32_t *out);

/* builder.c: an attribute of a node; `otherwise` where there is none of that name and kind. */
int64_t ox_emit_int(const ox_node *node, const char *name, int64_t otherwise);
double ox_emit_float(const ox_node *node, const char *name, double otherwise);
const ox_attr *ox_emit_attr(const ox_node *node, const char *name, ox_attr_kind kind);

#endif
