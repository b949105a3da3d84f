/* clang-format off */
/* emit.h: nodes that are written from texts such as "Mul(g, Sub(1, Mul(y, y)))".
 *
 * A text is one of these expressions:
 *
 *   a, b, ...            the value that the text is evaluated with at that place; if omitted, an omitted input
 *   g, y                 the values `gradient` and `result` of the emitter, if these letters are beyond the values
 *   c|0                  the value c, or if it is omitted, the expression after the bar
 *   3, -0.5              a number, in the type of `like`
 *   @alpha:0.01          the attribute `alpha` of `node`, or if that has none, the number; in the type of `like`
 *   @list/1:0            element 1 of the attribute `list`, likewise
 *   [2,-1], [@axis:1]    a list of integers, each a number or an attribute
 *   Name(..)             an operator of ONNX's own domain in its newest version, or the text of that name in `macros`,
 *                        evaluated with the arguments as its a, b, ...
 *   Name<p=1,q="x">(..)  the same with attributes of an operator: integers, floats (with a point) and strings
 *   Name<p=@>(..)        the attribute p of `node` as it is, if that has one
 *   Name<p=@q:1>(..)     the number of the attribute q, or 1
 *   Name?c(..)           the same as Name(..) if the value c is given, else the first argument
 *   Name?transA(..)      the same if `node` has that attribute, and it is a string or an integer other than 0
 *
 * Nodes are appended in the order in which arguments are written.
 *
 * A body is a list of statements:
 *
 *   s,m = Name(..); y = Add(s, m)     gives values to letters, which later statements read
 *   v ?= Name(..)                     is left out if its result is not read
 */
/* clang-format on */
#ifndef OX_REWRITE_EMIT_H
#define OX_REWRITE_EMIT_H

#include "builder.h"

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
    OX_EMIT_VALUES = 9,
    OX_EMIT_LETTERS = 26
};

/* The value of a text with these values, at most OX_EMIT_VALUES. */
int32_t ox_emit_text(ox_emitter *e, const char *text, int count, const int32_t *values);
#define OX_EMIT(e, text, ...)                                                                                          \
    ox_emit_text((e), (text), (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)),                         \
                 (const int32_t[]){__VA_ARGS__})

/* Writes the nodes of a body. values: of the letters, OX_NONE for a letter without one. Letter k of `outputs` becomes
 * the value out[k] of the scope, if there is one. */
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

/* An attribute of a node; `otherwise` where there is none of that name and kind. */
int64_t ox_emit_int(const ox_node *node, const char *name, int64_t otherwise);
double ox_emit_float(const ox_node *node, const char *name, double otherwise);
const ox_attr *ox_emit_attr(const ox_node *node, const char *name, ox_attr_kind kind);

#endif
