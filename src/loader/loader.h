/* loader.h: how the loader's files share the work of making an ox_graph of protobuf-c's structs. */
#ifndef OX_LOADER_LOADER_H
#define OX_LOADER_LOADER_H

#include "rewrite/builder.h"
#include "payload.h"

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

/* What is known of a model while it is loaded. */
typedef struct ox_loader {
    ox_builder b; /* makes the graphs */
    const Onnx__ModelProto *proto;
    const ox_parsed *parsed; /* the model but for its graphs: functions stay unpacked while their calls are expanded */
    ox_tensor_source source;
    ox_opset_table opsets;
    ox_opset_table *function_opsets; /* one per function, made when needed */
    size_t *function_sizes;          /* one per function: nodes when expanded, and 1; 0 until they are counted */
    ox_map functions;                /* id of domain, name and overload -> index */
    ox_map ids, pairs;               /* small numbers for addresses and for pairs of numbers */
    int32_t next_id;
    size_t sparse_held, sparse_made; /* bytes of values of sparse tensors, and of dense ones made of them */
    bool located;                    /* the error says in which node it is */
    ox_map cache;                    /* what functions share: AttributeProto or TensorProto of a body -> cached */
    const void **cached;
    int32_t ncached, cache_room;
} ox_loader;

/* The largest number that ox_load_id gives, and that can be one of a pair. */
enum {
    OX_MOST_IDS = sizeof(uintptr_t) > 4 ? INT32_MAX : (1 << 16) - 1
};

/* loader.c: an interned domain: "ai.onnx" becomes "". */
ox_status ox_load_domain(ox_loader *l, const char *text, const char **name);
/* Small numbers, from 1, that identify an address or a pair of numbers from 0 to OX_MOST_IDS. Equal pairs have the same
 * number, regardless of their meaning. */
ox_status ox_load_id(ox_loader *l, const char *interned, int32_t *id);
ox_status ox_load_pair(ox_loader *l, int32_t first, int32_t second, int32_t *id);
/* The object kept for a message of a function's body, NULL if there is none. `parsed` is the parse that unpacked the
 * message: for temporarily unpacked messages nothing is kept. */
const void *ox_load_cached(const ox_loader *l, const ox_parsed *parsed, const void *proto);
ox_status ox_load_keep(ox_loader *l, const ox_parsed *parsed, const void *proto, const void *made);
/* True if an error found there should say where it is. The innermost and the outermost place are named. */
bool ox_load_locate(ox_loader *l, const ox_env *env);
/* A tensor in the model's pile. */
ox_status ox_load_tensor(ox_loader *l, const ox_parsed *parsed, const Onnx__TensorProto *proto,
                         const ox_tensor **tensor);
/* The same where there is a struct for it already; nothing is cached. */
ox_status ox_load_elements(ox_loader *l, const ox_parsed *parsed, const Onnx__TensorProto *proto, ox_tensor *made);
/* sparse.c: a dense tensor of a sparse one. */
ox_status ox_load_sparse(ox_loader *l, const ox_parsed *parsed, const Onnx__SparseTensorProto *proto, ox_tensor *made);
/* type_proto.c: kind, element type and shape of a value. */
ox_status ox_load_type(ox_loader *l, const Onnx__TypeProto *proto, ox_declared *value);
/* A type that is an attribute. */
ox_status ox_load_type_attr(ox_loader *l, const Onnx__TypeProto *proto, ox_dtype *type);

/* env.c: what names mean. The value that a name means in the env, brought into its scope; OX_NONE or OX_MISSING. */
ox_status ox_env_resolve(ox_loader *l, ox_env *env, const char *name, int32_t *index);
/* The same for what a node or an output reads: it must be there, and of a kind that can be computed with. */
ox_status ox_env_read(ox_loader *l, ox_env *env, const char *text, int32_t *index);
/* Makes a name mean a value; an error if it means something already. */
ox_status ox_env_bind(ox_loader *l, ox_env *env, const char *name, int32_t index);

/* opset.c: operator sets. */
ox_status ox_load_opsets(ox_loader *l, Onnx__OperatorSetIdProto *const *imports, size_t count, ox_opset_table *table);
/* Fills in version and op of a node that has this name; counts it. */
ox_status ox_load_op(ox_loader *l, const ox_env *env, const Onnx__NodeProto *proto, const char *name, ox_node *node);
/* attr.c: the attributes of a node. */
ox_status ox_load_attrs(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto, ox_node *node);
/* The attribute that is meant: itself, or the call's that it refers to; proto is NULL if that was not given. */
ox_status ox_load_argument(ox_loader *l, ox_env *env, const Onnx__AttributeProto *proto, ox_argument *argument);

/* schema.c: checks the attributes of a node, as written and as resolved, against ONNX's definition of its operator;
 * other operators are not checked. */
ox_status ox_load_check_attrs(ox_loader *l, const Onnx__NodeProto *proto, const ox_node *node);

/* call.c: model-local functions. */
ox_status ox_load_functions(ox_loader *l);
/* The function that a node calls, NULL if it is an operator. */
ox_status ox_load_callee(ox_loader *l, const Onnx__NodeProto *proto, const Onnx__FunctionProto **function);
ox_status ox_load_call(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto, const Onnx__FunctionProto *function);

/* node.c: nodes. Declares the values that nodes produce, so that order does not matter. */
ox_status ox_load_node(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto, size_t index);
/* Puts name and operator of a node in front of the error. */
void ox_load_name_node(ox_loader *l, const Onnx__NodeProto *proto, size_t index);
/* packed.c: initializers of 4-bit and 2-bit integers stay as they lie in the file while nodes are built. Where nodes
 * read them in blocks alone, they are bytes then, and a node of UnpackBits gives the integers; others are unpacked. */
#if OX_WITH_OWN_OPERATORS
/* Whether this model may have any. */
bool ox_load_packs(const ox_loader *l);
/* Gives the value its elements, if it is one of them. */
ox_status ox_load_unpack(ox_loader *l, const ox_scope *scope, int32_t value);
/* Decides on each of them, once all nodes and outputs of the graph are there, in no order yet. */
ox_status ox_load_settle(ox_loader *l, ox_scope *scope);
/* How many nodes of a graph are not the model's. */
int ox_load_made(const ox_node *nodes, int count);
#else
static inline bool ox_load_packs(const ox_loader *l) {
    (void)l;
    return false;
}
static inline ox_status ox_load_unpack(ox_loader *l, const ox_scope *scope, int32_t value) {
    (void)l, (void)scope, (void)value;
    return OX_OK;
}
static inline ox_status ox_load_settle(ox_loader *l, ox_scope *scope) {
    (void)l, (void)scope;
    return OX_OK;
}
static inline int ox_load_made(const ox_node *nodes, int count) {
    (void)nodes, (void)count;
    return 0;
}
#endif

/* graph.c: adds a tensor to the parameters that ox_model_info counts. */
ox_status ox_load_count_weights(ox_loader *l, const ox_tensor *tensor);

/* graph.c: a graph, written in the environment `lexical` (NULL for the main graph) and used in the graph `outer`. Its
 * nodes and values are unpacked one at a time, from the graph's bytes in the file. */
ox_status ox_load_graph(ox_loader *l, const ox_parsed *parsed, const Onnx__GraphProto *proto, ox_env *lexical,
                        ox_scope *outer, int depth, ox_graph **graph);

#endif
