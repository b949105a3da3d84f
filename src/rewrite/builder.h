/* builder.h: a graph under construction, and its builder: memory, names, limits, values and nodes. It depends on no
 * file format. */
#ifndef OX_REWRITE_BUILDER_H
#define OX_REWRITE_BUILDER_H

#include "frame/graph.h"
#include "names.h"

/* Indices of values: NONE is an omitted input or output, MISSING a name that means nothing. */
enum {
    OX_NONE = -1,
    OX_MISSING = -2
};

/* A value of a graph being made. */
typedef struct ox_declared {
    const char *name; /* unique within its graph once functions are expanded, "" never */
    ox_kind kind;
    ox_dtype dtype;               /* as stated by the model, OX_UNDEFINED if not */
    ox_dtype written;             /* the same before ox_options.float16_sums made floats of it */
    ox_index outer;               /* index of the value in the outer graph that this one stands for, -1 if none */
    const ox_shape *shape;        /* as stated of an input or a result, NULL if not */
    const ox_tensor *initializer; /* constant data, NULL if none; for an input its default */
#if OX_WITH_OWN_OPERATORS
    const void *packed; /* its elements as they lie in the file, while it is not known who reads them; else NULL */
#endif
} ox_declared;

/* Where a value comes from. */
typedef enum ox_origin {
    OX_FROM_INPUT,
    OX_FROM_INITIALIZER,
    OX_FROM_NODE,
    OX_FROM_OUTER
} ox_origin;

typedef struct ox_value_note {
    ox_origin origin;
    int32_t producer;    /* the node, -1 until it is there */
    int32_t captured_by; /* the last node that was found to read it in a subgraph */
} ox_value_note;

/* A graph being made. Names do not matter here: functions are expanded into the graph that calls them. */
typedef struct ox_scope {
    struct ox_scope *outer;
    ox_graph *graph;
    ox_pile pile; /* of the arrays and maps below, and of what values hold */
    ox_declared *values;
    ox_value_note *notes; /* of each value */
    ox_node *nodes;
    const char **node_names;     /* where names are kept */
    const ox_node *placed_nodes; /* where the graph's own array is, if it could be made beforehand */
    ox_index *captures;          /* of the node being made */
    int32_t *inputs, *outputs;   /* the graph's, by value */
    int32_t *ends;               /* those of them that are being listed */
    int32_t *same;               /* the value that each is, through Identity; NULL if not needed */
    int32_t nvalues, value_room, note_room, nnodes, node_room, name_room, ncaptures, capture_room;
    ox_map imports; /* index in the outer graph + 1 -> value */
    ox_map used;    /* names of values, filled when a name has to be made up */
    bool used_ready;
    struct ox_gradient *waiting; /* rewrite.h: nodes of Gradient that read what comes later */
    ox_written *written;         /* the nodes before some became integer operators; NULL where none did */
} ox_scope;

typedef struct ox_use_entry {
    ox_op_use use;
    const char *node; /* the first one's name */
} ox_use_entry;

typedef struct ox_builder {
    ox_model *model;
    ox_error *error;
    ox_pile *pile;          /* the model's */
    ox_allocator temporary; /* for what follows, and for messages */
    ox_pile scratch;        /* lives until the graph is made */
    ox_pile stack;          /* last in, first out */
    ox_names names;
    bool for_info;
    const ox_limits *limits;
    uint64_t model_bytes; /* without weights */
    size_t most_nodes;
    size_t nodes;
    uint64_t work; /* what the expansion of functions has cost */
    int calls;     /* functions being expanded */
    uint64_t serial;
    uint64_t derived, looked_at; /* nodes that were written for Gradient, and that it looked at */
    ox_map use_index;
    ox_use_entry *uses;
    int32_t nuses, use_room;
} ox_builder;

#define OX_NAME_ROOM 256 /* of made-up names */

/* The work that expanding functions may take for each node that it may make, and much more for each that it has made:
 * an expansion that makes nodes ends at the limit of nodes, and one that makes none ends soon. A unit is a name, or 16
 * bytes of memory; a node with two names, in two calls of its own, takes 75. */
enum {
    OX_WORK_AHEAD = 6,
    OX_WORK_PER_NODE = 128,
    OX_WORK_BYTES = 16
};

/* builder.c: small services. Counts some work if a function is being expanded; fails past the limit. */
ox_status ox_build_work(ox_builder *b, uint64_t amount);
/* The one copy of a text; NULL gives "". */
ox_status ox_build_intern(ox_builder *b, const char *text, const char **name);
ox_status ox_build_intern_size(ox_builder *b, const char *text, size_t size, const char **name);
/* An interned text as it lies in the model: itself, or a copy where most names are dropped. */
ox_status ox_build_text(ox_builder *b, const char *interned, const char **kept);
/* size bytes in a pile, or an error. */
ox_status ox_build_get(ox_builder *b, ox_pile *pile, size_t count, size_t size, void *result);
/* Grows an array in a pile for one more element after `count`. `array` is the address of the pointer. */
ox_status ox_build_grow(ox_builder *b, ox_pile *pile, void *array, int32_t count, int32_t *room, size_t size);
ox_status ox_build_set(ox_builder *b, ox_map *map, ox_pile *pile, uintptr_t key, int32_t value);
/* OX_ERROR_LIMIT: the model has more nodes than the limits allow. */
ox_status ox_build_too_many(const ox_builder *b);
/* Appends a node whose fields are complete, and counts it; the name is interned. */
ox_status ox_build_append(ox_builder *b, ox_scope *scope, const ox_node *node, const char *name);

/* scope.c: values. A name is interned. */
ox_status ox_scope_add(ox_builder *b, ox_scope *scope, const char *name, ox_origin origin, int32_t *index);
/* What an initializer holds, of the scope or one around it; NULL if the value is none. */
const ox_tensor *ox_scope_initializer(const ox_scope *scope, int32_t value);
/* A name like `wanted` that no value of the scope has. */
ox_status ox_scope_unique(ox_builder *b, ox_scope *scope, const char *wanted, const char **name);

/* sort.c: sorts the nodes topologically. The order of the file is kept if it is valid. */
ox_status ox_scope_sort(ox_builder *b, ox_scope *scope);

/* uses.c: which operators are used. Counts a node that has this name; `key` is of its operator and version. */
ox_status ox_build_count_use(ox_builder *b, const ox_node *node, const char *name, uintptr_t key);
/* Notes an operator that no node of the model names, in the version of that opset. */
ox_status ox_build_note_op(ox_builder *b, const ox_op *op, int version);
/* True if the node is of that operator of ONNX's own domain. */
bool ox_build_is_op(const ox_node *node, const char *name);
/* Fills in version and op of a node that no model has: the newest of ONNX's own domain; counts it. */
ox_status ox_build_own_op(ox_builder *b, const char *op, const char *name, ox_node *node);
/* Hands the uses to the model; one error for all operators that are missing. */
ox_status ox_build_uses(ox_builder *b);

#endif
