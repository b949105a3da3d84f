/* scopes.h: tiny graphs, all that there are of a kind. A family goes over its graphs in loops; each graph is made into
 * a model and run in the ways that must give the same bits, and beside a plain evaluation of this folder's own. */
#ifndef OX_TEST_SCOPES_H
#define OX_TEST_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ox.h"

enum {
    SCOPE_RANK = 6,
    SCOPE_VALUES = 64,
    SCOPE_NODES = 24,
    SCOPE_NODE_INPUTS = 9,
    SCOPE_NODE_OUTPUTS = 4,
    SCOPE_ATTRIBUTES = 6,
    SCOPE_LIST = 12,         /* integers of an attribute */
    SCOPE_GIVEN = 12,        /* inputs of a graph */
    SCOPE_RESULTS = 4,       /* outputs of a graph */
    SCOPE_GUARD = 1 << 21,   /* bytes of an input, at most */
    SCOPE_MODEL = 1 << 21,   /* of a model */
    SCOPE_NUMBERS = 1 << 18, /* elements of all values of a graph */
    SCOPE_NAMES = 96         /* algorithms that are counted */
};

/* Where the data of a value is. */
typedef enum scope_place {
    SCOPE_CONSTANT,
    SCOPE_INPUT,    /* packed and aligned */
    SCOPE_GAPS,     /* the caller's strides: something else between the elements */
    SCOPE_TURNED,   /* the last dimension outermost */
    SCOPE_BACKWARD, /* negative strides */
    SCOPE_ODD,      /* an odd number of elements behind what is aligned */
    SCOPE_BYTE,     /* one byte behind it */
    SCOPE_GUARDED,  /* memory ends behind the last element */
    SCOPE_IN_GRAPH, /* what follows is an input and a node */
    SCOPE_TRANSPOSE = SCOPE_IN_GRAPH,
    SCOPE_SLICE,
    SCOPE_GATHER, /* copied by a node, and dead once it has been read */
    SCOPE_NEG,    /* computed by a node that may join a pass */
    SCOPE_PLACES
} scope_place;

typedef struct scope_value {
    ox_dtype dtype;
    bool is_given;     /* a constant or an input */
    scope_place place; /* of what is given: up to SCOPE_GUARDED */
    int rank;
    int64_t dims[SCOPE_RANK];
    double *numbers; /* its elements, packed; of inner values, once they are evaluated */
} scope_value;

typedef struct scope_attribute {
    const char *name;
    char kind; /* 'i': ints[0], 'I': ints, 'f': number, 's': text */
    int count;
    int64_t ints[SCOPE_LIST];
    float number;
    const char *text;
} scope_attribute;

typedef struct scope_node {
    const char *domain, *op;
    int nin, in[SCOPE_NODE_INPUTS], nout, outs[SCOPE_NODE_OUTPUTS]; /* values; -1: left out */
    int nattrs;
    scope_attribute attrs[SCOPE_ATTRIBUTES];
} scope_node;

typedef struct scope_graph {
    int nvalues, nnodes, nresults, results[SCOPE_RESULTS];
    scope_value values[SCOPE_VALUES];
    scope_node nodes[SCOPE_NODES];
    bool exact;       /* elements are small integers, so that sums are exact in any order */
    bool rounds;      /* of such: an algorithm takes fractions to compute them */
    bool specials;    /* elements may be infinite, or no numbers */
    bool zeros;       /* every second element is 0 or -0 */
    bool moves;       /* elements are only moved, so that NaN of all bits are among them, and keep these */
    const char *conv; /* the way that convolutions take wherever they can; NULL: the best one */
    int isa;          /* the build of the loops, of those that the scope has; -1: any */
    bool constant;    /* nothing is an input: all is computed while planning */
    size_t used;      /* of numbers */
} scope_graph;

/* What all processes of a test see. */
typedef struct scope_counts {
    int64_t index;                                             /* of the graph at hand, in its family */
    int64_t graphs, failed, ended, told, sessions, referenced; /* ended: with their process */
    struct {
        char name[96];
        int64_t count;
    } algorithms[SCOPE_NAMES];
} scope_counts;

typedef struct scope {
    scope_graph graph;
    scope_counts *counts;
    const char *family;
    int64_t index, after, only; /* graphs up to `after` are left out; of `only`, which is 0 for all, every other one */
    int64_t round;              /* the same graphs, with other types, places and data */
    int64_t every;              /* one of so many */
    int threads;                /* of sessions that share their work */
    int axis;                   /* in expressions */
    bool tell;                  /* graphs are written as text, and not run */
    bool is_limited;            /* the model has a limit on its memory, and so lays out no weights */
    uint64_t seed;
    const char *isa[4];
    int nisa;
} scope;

typedef struct scope_family {
    const char *name, *what;
    void (*run)(scope *s);
} scope_family;

/* ---- Graphs (graph.c) ---------------------------------------------------------------------------------------- */

/* The next graph of the family, empty; false if it is left out. */
bool scope_begin(scope *s);

/* A number in [0, n), which depends on the graph and on how many were drawn before. */
int scope_draw(scope *s, int n);

/* Has convolutions of the graph take any of their ways, or half of the time the best one. */
void scope_any_way(scope *s);

/* A place for data, of any kind, or as callers have it. */
scope_place scope_any_place(scope *s);

/* A value with data; views and what is computed come with their nodes. Returns the value to be read. */
int scope_give(scope *s, ox_dtype dtype, int rank, const int64_t *dims, scope_place place);

/* The same for a list of integers: a constant. */
int scope_list(scope *s, ox_dtype dtype, int rank, int count, const int64_t *ints);

/* A node with one output, which is returned. "micro:Op" is of Microsoft's domain. */
int scope_node_of(scope *s, const char *op, int nin, const int *in);

/* Attributes of the last node. */
void scope_int(scope *s, const char *name, int64_t value);
void scope_ints(scope *s, const char *name, int count, const int64_t *ints);
void scope_float(scope *s, const char *name, float value);
void scope_text(scope *s, const char *name, const char *value);

void scope_result(scope *s, int value);

/* Another output of the last node. */
int scope_output_of(scope *s);

/* Elements of a shape. */
int64_t scope_count(int rank, const int64_t *dims);

/* Writes the graph as one line. */
void scope_print(const scope *s);

/* ---- Expressions (expression.c) --------------------------------------------------------------------------------- */

/* Nodes of an expression; returns the last one's first output. Steps are separated by semicolons:
 *     a=Add(p,y);Mul(a,Softmax[axis=1](a))
 * Letters stand for values, of which those before "=" are set, to the outputs of a node. Lists of integers in braces
 * are constants, and attributes stand in brackets: integers (with colons between the members of a list, and behind that
 * of a list of one), numbers with a point, and words. "@" is s->axis. "micro:Op" is of Microsoft's domain. */
int scope_write(scope *s, const char *expression, int values[26]);

/* Whether an expression has a letter for a value. */
bool scope_reads(const char *expression, char letter);

/* ---- Numbers (number.c) --------------------------------------------------------------------------------------- */

bool scope_is_float(ox_dtype dtype);

/* Rounded to what an element of the type can be. */
double scope_round(ox_dtype dtype, double number);

/* Elements from and to their bytes. */
void scope_encode(ox_dtype dtype, double number, void *to);
double scope_decode(ox_dtype dtype, const void *from);

/* ---- Models and memory (bytes.c, place.c) ---------------------------------------------------------------------- */

/* The model, at the end of `room`, which has SCOPE_MODEL bytes. Returns its size. */
size_t scope_model(const scope_graph *graph, unsigned char *room, const unsigned char **model);

/* The data of the graph's inputs, in the order of the values: each lies in memory of its own until the next call. */
typedef struct scope_input {
    ox_tensor tensor;
    int64_t strides[SCOPE_RANK];
} scope_input;
int scope_lay(const scope_graph *graph, scope_input inputs[SCOPE_GIVEN]);

/* Memory of the caller's for an output, filled with something: SCOPE_INPUT, SCOPE_BYTE or SCOPE_GUARDED. NULL if there
 * is none so large. */
void *scope_output(int output, size_t bytes, scope_place place);

/* ---- Evaluation (evaluate.c, evaluate_....c) ------------------------------------------------------------------- */

/* Computes all values of a graph in doubles, in the plainest way. False if it has a node that is not known, or
 * elements that are no exact numbers. */
bool scope_evaluate(scope_graph *graph);

/* One node of some kinds; false if it is of another. */
bool scope_evaluate_product(scope_graph *graph, const scope_node *node);
bool scope_evaluate_window(scope_graph *graph, const scope_node *node);
bool scope_evaluate_move(scope_graph *graph, const scope_node *node);
bool scope_evaluate_pool(scope_graph *graph, const scope_node *node);
bool scope_evaluate_norm(scope_graph *graph, const scope_node *node);
bool scope_evaluate_quantized(scope_graph *graph, const scope_node *node);
bool scope_evaluate_blocks(scope_graph *graph, const scope_node *node);
bool scope_evaluate_sample(scope_graph *graph, const scope_node *node);
bool scope_evaluate_layer(scope_graph *graph, const scope_node *node);

/* Makes a value one of such dims and type, with room. */
bool scope_shape_like(scope_graph *graph, scope_value *value, const scope_value *like);

/* The steps of a value through a space that it broadcasts to, in elements, and the next index of a space: what `at` has
 * for each of n operands follows. */
void scope_steps(const scope_value *value, int rank, int64_t *steps);
void scope_step_on(int rank, const int64_t *dims, int64_t *index, int n, int64_t (*steps)[SCOPE_RANK], int64_t *at);

/* Element i of an input, the first if there is only one; 0 if there is none. */
double scope_first(const scope_graph *graph, const scope_node *node, int input, int64_t i);

/* An attribute; NULL if the node lacks it. */
const scope_attribute *scope_find(const scope_node *node, const char *name);
int64_t scope_find_int(const scope_node *node, const char *name, int64_t otherwise);

/* Room for the elements of a value whose shape is set; false if there is none. */
bool scope_room(scope_graph *graph, scope_value *value);

/* ---- Running (check.c) ------------------------------------------------------------------------------------------ */

/* Runs the graph in all ways, and counts it. */
void scope_check(scope *s);

/* Whether sessions take a build of the loops by that name; makes a graph for that. */
bool scope_has_build(scope *s, const char *name);

/* ---- What stands behind a dense node (behind.c) ----------------------------------------------------------------- */

/* Adds the node to the graph and returns what it gives, of `dtype`. */
typedef int scope_dense_fn(scope *s, const void *context, ox_dtype dtype);

typedef struct scope_dense {
    scope_dense_fn *add;
    const void *context;
    int rank; /* of its result */
    const int64_t *dims;
    int ntypes; /* of the result */
    const ox_dtype *types;
} scope_dense;

/* All graphs of the node with elementwise nodes behind it. */
void scope_behind(scope *s, const scope_dense *dense);

/* Calls a function with every shape that broadcasts to one. */
typedef void scope_shape_fn(scope *s, const void *context, int rank, const int64_t *dims);
void scope_shapes(scope *s, int rank, const int64_t *dims, scope_shape_fn *fn, const void *context);

/* A value of any such shape, in any place. */
int scope_give_any(scope *s, ox_dtype dtype, int rank, const int64_t *dims);

/* Lower and upper limits for a Clip: among them 0 of both signs, and an upper one below the lower. */
void scope_give_limits(scope *s, ox_dtype dtype, int values[26]);

/* The type, or another where ONNX has an operator of the expression not for unsigned integers. */
ox_dtype scope_fitting(ox_dtype dtype, const char *expression);

/* A scalar constant. */
int scope_give_number(scope *s, ox_dtype dtype, double number);

/* The types of floats that the dense operators take, and those with integers. */
extern const ox_dtype scope_floats[4], scope_numbers[8];

void scope_products(scope *s);
void scope_gemms(scope *s);
void scope_convs(scope *s);
void scope_givers(scope *s);
void scope_blocks(scope *s);
void scope_quantized(scope *s);
void scope_rows(scope *s);
void scope_parts(scope *s);
void scope_moves(scope *s);
void scope_stages(scope *s);

/* ---- Algorithms (algorithms.c) ---------------------------------------------------------------------------------- */

/* An ox_node_fn, whose context are scope_counts: counts the algorithm of a node. */
void scope_count_algorithm(void *counts, const ox_node_info *node);

/* Writes how often each was taken. Of all graphs (`is_whole`), returns how many algorithms of this machine were not,
 * each of which is printed. */
int scope_tell_algorithms(const scope_counts *counts, bool is_whole);

#endif
