/* build.h: how the loader's files share the work of making an ox_graph. */
#ifndef OX_LOADER_BUILD_H
#define OX_LOADER_BUILD_H

#include "runtime/graph.h"
#include "names.h"
#include "payload.h"

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
    ox_index outer;               /* index of the value in the outer graph that this one stands for, -1 if none */
    const ox_shape *shape;        /* as stated of an input or a result, NULL if not */
    const ox_tensor *initializer; /* constant data, NULL if none; for an input its default */
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
    int32_t *same;               /* the value that each is, through Identity; NULL where nobody asks */
    int32_t nvalues, value_room, note_room, nnodes, node_room, name_room, ncaptures, capture_room;
    ox_map imports; /* index in the outer graph + 1 -> value */
    ox_map used;    /* names of values, filled when a name has to be made up */
    bool used_ready;
    struct ox_gradient *waiting; /* nodes of Gradient that read what comes later */
    ox_written *written;         /* the nodes before some became integer operators; NULL where none did */
} ox_scope;

typedef struct ox_opset_entry {
    const char *domain; /* interned, "" for "ai.onnx" */
    int version;
    int32_t id; /* of domain and version together */
} ox_opset_entry;

/* The operator sets that a model or a function imports. */
typedef struct ox_opset_table {
    ox_opset_entry *entries;
    int32_t count;
    ox_map index; /* domain -> entry */
    bool ready;
} ox_opset_table;

/* An attribute that a function was called with, or its default. */
typedef struct ox_argument {
    const Onnx__AttributeProto *proto;
    struct ox_env *env; /* what names in it mean */
} ox_argument;

/* What names mean: one per graph, and one per call of a function while it is expanded. */
typedef struct ox_env {
    struct ox_env *outer;  /* where other names are looked up; NULL for the main graph and for functions */
    struct ox_env *caller; /* where the function was called that this is written in; NULL in the main graph */
    ox_scope *scope;
    ox_map names;       /* interned name -> value of the scope, or OX_NONE */
    const char *prefix; /* for names of nodes and values that a function makes */
    const ox_opset_table *opsets;
    const Onnx__FunctionProto *function;
    const ox_argument *arguments;
    ox_map argument_index;   /* interned name -> argument */
    const ox_parsed *parsed; /* what the message being built was unpacked with */
    int depth;               /* of calls and subgraphs */
} ox_env;

typedef struct ox_use_entry {
    ox_op_use use;
    const char *node; /* the first one's name */
} ox_use_entry;

typedef struct ox_builder {
    ox_model *model;
    const Onnx__ModelProto *proto;
    const ox_parsed *parsed; /* the model but for its graphs: functions stay unpacked while their calls are expanded */
    ox_tensor_source source;
    ox_error *error;
    ox_pile *pile;          /* the model's */
    ox_allocator temporary; /* for what follows, and for messages */
    ox_pile scratch;        /* lives until the graph is made */
    ox_pile envs;           /* last in, first out */
    ox_names names;
    bool for_info;
    ox_opset_table opsets;
    ox_opset_table *function_opsets; /* one per function, made when needed */
    size_t *function_sizes;          /* one per function: nodes when expanded, and 1; 0 while nobody has counted */
    ox_map functions;                /* id of domain, name and overload -> index */
    ox_map ids, pairs;               /* small numbers for addresses and for pairs of numbers */
    int32_t next_id;
    const ox_limits *limits;
    size_t most_nodes;
    size_t nodes;
    uint64_t work; /* what the expansion of functions has cost */
    int calls;     /* functions being expanded */
    uint64_t serial;
    size_t sparse_held, sparse_made; /* bytes of values of sparse tensors, and of dense ones made of them */
    uint64_t derived, looked_at;     /* nodes that were written for Gradient, and that it looked at */
    bool located;                    /* the error says in which node it is */
    ox_map cache;                    /* what functions share: AttributeProto or TensorProto of a body -> cached */
    const void **cached;
    int32_t ncached, cache_room;
    ox_map use_index;
    ox_use_entry *uses;
    int32_t nuses, use_room;
} ox_builder;

#define OX_NAME_ROOM 256 /* of made-up names */

/* Expanding functions may take this much work for each node that it may make, and much more for each that it has made:
 * what gives nodes ends at their number, and what gives none ends soon. A unit is a name, or 16 bytes of memory; a node
 * of two names, in two calls of its own, takes 75. */
enum {
    OX_WORK_AHEAD = 6,
    OX_WORK_PER_NODE = 128,
    OX_WORK_BYTES = 16
};

/* The largest number that ox_build_id gives, and that can be one of a pair. */
enum {
    OX_MOST_IDS = sizeof(uintptr_t) > 4 ? INT32_MAX : (1 << 16) - 1
};

/* builder.c: small services. Counts some work if a function is being expanded; fails past the limit. */
ox_status ox_build_work(ox_builder *b, uint64_t amount);
/* The one copy of a text; NULL gives "". */
ox_status ox_build_intern(ox_builder *b, const char *text, const char **name);
ox_status ox_build_intern_span(ox_builder *b, ox_span text, const char **name);
/* An interned text as it lies in the model: itself, or a copy where most names are dropped. */
ox_status ox_build_text(ox_builder *b, const char *interned, const char **kept);
/* An interned domain: "ai.onnx" becomes "". */
ox_status ox_build_domain(ox_builder *b, const char *text, const char **name);
/* size bytes in a pile, or an error. */
ox_status ox_build_get(ox_builder *b, ox_pile *pile, size_t count, size_t size, void *result);
/* Makes room for one more element behind `count` in an array that lives in a pile. `array` is the address of the
 * pointer. */
ox_status ox_build_grow(ox_builder *b, ox_pile *pile, void *array, int32_t count, int32_t *room, size_t size);
ox_status ox_build_set(ox_builder *b, ox_map *map, ox_pile *pile, uintptr_t key, int32_t value);
/* Small numbers, from 1, that stand for an address or for a pair of numbers from 0 to OX_MOST_IDS. Equal pairs have one
 * number whatever they mean. */
ox_status ox_build_id(ox_builder *b, const char *interned, int32_t *id);
ox_status ox_build_pair(ox_builder *b, int32_t first, int32_t second, int32_t *id);
/* What was kept for a message of a function's body, NULL if nothing. `parsed` is what it was unpacked with: what was
 * unpacked for a while is never kept. */
const void *ox_build_cached(const ox_builder *b, const ox_parsed *parsed, const void *proto);
ox_status ox_build_keep(ox_builder *b, const ox_parsed *parsed, const void *proto, const void *made);
/* True if an error found there should say where it is. The innermost and the outermost place are named. */
bool ox_build_locate(ox_builder *b, const ox_env *env);
/* A tensor in the model's pile. */
ox_status ox_build_tensor(ox_builder *b, const ox_parsed *parsed, const Onnx__TensorProto *proto,
                          const ox_tensor **tensor);
/* The same where there is a struct for it already; nothing is cached. */
ox_status ox_build_elements(ox_builder *b, const ox_parsed *parsed, const Onnx__TensorProto *proto, ox_tensor *made);
/* sparse.c: a dense tensor of a sparse one. */
ox_status ox_build_sparse(ox_builder *b, const ox_parsed *parsed, const Onnx__SparseTensorProto *proto,
                          ox_tensor *made);
/* Kind, element type and shape of a value. */
ox_status ox_build_type(ox_builder *b, const Onnx__TypeProto *proto, ox_declared *value);
/* A type that is an attribute. */
ox_status ox_build_type_attr(ox_builder *b, const Onnx__TypeProto *proto, ox_dtype *type);

/* scope.c: values. A name is interned. */
ox_status ox_scope_add(ox_builder *b, ox_scope *scope, const char *name, ox_origin origin, int32_t *index);
/* A name like `wanted` that no value of the scope has. */
ox_status ox_scope_unique(ox_builder *b, ox_scope *scope, const char *wanted, const char **name);
/* The value that a name means in the env, brought into its scope; OX_NONE or OX_MISSING. */
ox_status ox_env_resolve(ox_builder *b, ox_env *env, const char *name, int32_t *index);
/* The same for what a node or an output reads: it must be there, and of a kind that can be computed with. */
ox_status ox_env_read(ox_builder *b, ox_env *env, const char *text, int32_t *index);
/* Makes a name mean a value; an error if it means something already. */
ox_status ox_env_bind(ox_builder *b, ox_env *env, const char *name, int32_t index);

/* opset.c: operator sets, and which operators are used. */
ox_status ox_build_opsets(ox_builder *b, Onnx__OperatorSetIdProto *const *imports, size_t count, ox_opset_table *table);
/* Fills in version and op of a node that has this name; counts it. */
ox_status ox_build_op(ox_builder *b, const ox_env *env, const Onnx__NodeProto *proto, const char *name, ox_node *node);
/* True if the node is of that operator of ONNX's own domain. */
bool ox_build_is_op(const ox_node *node, const char *name);
/* Fills in version and op of a node that the loader writes itself: the newest of ONNX's own domain. */
ox_status ox_build_own_op(ox_builder *b, const char *op, const char *name, ox_node *node);
/* Hands the uses to the model; one error for all operators that are missing. */
ox_status ox_build_uses(ox_builder *b);

/* attr.c: the attributes of a node. */
ox_status ox_build_attrs(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto, ox_node *node);
/* The attribute that is meant: itself, or the call's that it refers to; proto is NULL if that was not given. */
ox_status ox_build_argument(ox_builder *b, ox_env *env, const Onnx__AttributeProto *proto, ox_argument *argument);

/* gradient.c: a node of Gradient, which is complete but for what it reads: writes the nodes that compute the gradients,
 * and the node behind them. Where what it looks at is not built yet, it waits for ox_build_waiting. */
ox_status ox_build_gradient(ox_builder *b, ox_env *env, const ox_node *node, const char *name);
/* Builds what waits, once all nodes of the graph are there. */
ox_status ox_build_waiting(ox_builder *b, ox_scope *scope);

/* function.c: a node with OX_OP_FUNCTION: writes the nodes that it stands for. */
ox_status ox_build_function(ox_builder *b, ox_scope *scope, const ox_node *node, const char *name);

/* quantized.c: makes integer operators of nodes between DequantizeLinear and QuantizeLinear, where they compute the
 * same. The nodes are sorted, and the outputs known. */
ox_status ox_build_quantized(ox_builder *b, ox_scope *scope);

/* unpool.c: tells MaxUnpool of the image that its indices count in, where a MaxPool gives them. The nodes are sorted.
 */
ox_status ox_build_unpools(ox_builder *b, ox_scope *scope);

/* schema.c: the attributes of a node, as it is written and as they are resolved, against ONNX's definition of its
 * operator; operators that are not ONNX's pass. */
ox_status ox_build_check_attrs(ox_builder *b, const Onnx__NodeProto *proto, const ox_node *node);

/* call.c: model-local functions. */
ox_status ox_build_functions(ox_builder *b);
/* The function that a node calls, NULL if it is an operator. */
ox_status ox_build_callee(ox_builder *b, const Onnx__NodeProto *proto, const Onnx__FunctionProto **function);
ox_status ox_build_call(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto, const Onnx__FunctionProto *function);

/* node.c: nodes. Declares the values that nodes produce, so that order does not matter. */
ox_status ox_build_node(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto, size_t index);
/* Puts name and operator of a node in front of the error. */
void ox_build_name_node(ox_builder *b, const Onnx__NodeProto *proto, size_t index);
/* The nodes that a model may have, of so many bytes without weights. */
size_t ox_build_most_nodes(const ox_limits *limits, uint64_t size);
/* OX_ERROR_LIMIT: the model has more nodes than the limits allow. */
ox_status ox_build_too_many(const ox_builder *b);
/* Appends a node whose fields are complete, and counts it; the name is interned. */
ox_status ox_build_append(ox_builder *b, ox_scope *scope, const ox_node *node, const char *name);

/* graph.c: adds a tensor to the parameters that ox_model_info counts. */
ox_status ox_build_count_weights(ox_builder *b, const ox_tensor *tensor);

/* graph.c: a graph, written in the environment `lexical` (NULL for the main graph) and used in the graph `outer`. Its
 * nodes and values are unpacked one at a time, out of where the graph was left in the file. */
ox_status ox_build_graph(ox_builder *b, const ox_parsed *parsed, const Onnx__GraphProto *proto, ox_env *lexical,
                         ox_scope *outer, int depth, ox_graph **graph);

/* sort.c: sorts the nodes: each comes after the nodes that it reads from. The order of the file stays if it is such an
 * order. */
ox_status ox_scope_sort(ox_builder *b, ox_scope *scope);

#endif
