/* graph.h: a model in memory, as the loader leaves it and the runtime reads it. Immutable once loaded. */
#ifndef OX_FRAME_GRAPH_H
#define OX_FRAME_GRAPH_H

#include "meter.h"
#include "store.h"
#include "type.h"
#include "ops/op.h"

/* Numbers of values, and how many there are of something: devices make do with 16 bits. */
#if OX_SMALL
typedef int16_t ox_index;
enum {
    OX_MOST_VALUES = INT16_MAX
};
#else
typedef int32_t ox_index;
enum {
    OX_MOST_VALUES = INT32_MAX
};
#endif

/* What a model states of a value's shape. */
typedef struct ox_shape {
    int rank;
    const int64_t *dims;          /* rank entries, -1 where symbolic or not stated */
    const char *const *dim_names; /* rank entries, NULL where not symbolic */
} ox_shape;

/* A value of a graph is a number: of an input, an initializer, a result of a node, or a value of the outer graph that a
 * subgraph reads. This is an input or an output, as the model states it. */
typedef struct ox_port {
    const char *name; /* unique among the inputs, and among the outputs */
    ox_kind kind;
    ox_dtype dtype;           /* or the whole type of a value that is no tensor; OX_UNDEFINED if not stated */
    ox_index value;           /* an output may be listed twice, be an input or an initializer */
    const ox_shape *shape;    /* NULL if not stated */
    const ox_tensor *initial; /* its initializer, NULL if there is none: the default of an input */
} ox_port;

/* A value of the outer graph that a subgraph reads. */
typedef struct ox_capture {
    ox_index value, outer; /* here and there */
} ox_capture;

/* A tensor of a graph, and what is known of it. */
typedef struct ox_slot {
    ox_tensor tensor;  /* what operators see; data is NULL while it is not known */
    bool source : 1;   /* it comes from outside */
    bool constant : 1; /* data is known when the plan is made, and stays */
    bool fixed : 1;    /* it is constant, and the same in all sessions of the model, whatever comes in */
    bool weight : 1;   /* it is fixed, and its data stays as long as the model */
    bool foreign : 1;  /* in memory that others may change: an input, a subgraph's result, or a view of those */
    bool placed : 1;   /* its data is in the arena */
} ox_slot;

typedef struct ox_node {
    const ox_op *op;      /* unsupported ones (ox_op_is_known) are in models loaded for info only */
    const ox_index *in;   /* indices of values, -1 where omitted; trailing omitted ones are dropped */
    const ox_index *out;  /* likewise, but of operators with any number of outputs all are there */
    const ox_attr *attrs; /* references to a function's attributes are resolved */
    ox_index nin, nout, nattrs;
    ox_index version; /* opset version of the domain where the node was written (model or function) */
#if OX_WITH_SUBGRAPHS
    ox_index ncaptures;
    const ox_index *captures; /* values of this graph that the node's subgraphs read, each once */
#endif
} ox_node;

/* The values that a node's subgraphs read. */
static inline int ox_node_ncaptures(const ox_node *node) {
#if OX_WITH_SUBGRAPHS
    return node->ncaptures;
#else
    (void)node;
    return 0;
#endif
}

/* How many values a node names as its inputs, and its subgraphs after them; and value i of those. */
static inline int ox_node_named(const ox_node *node) {
    return node->nin + ox_node_ncaptures(node);
}
static inline int ox_node_value(const ox_node *node, int i) {
#if OX_WITH_SUBGRAPHS
    if (i >= node->nin)
        return node->captures[i - node->nin];
#endif
    return node->in[i];
}

/* The number of values that a node reads, its subgraphs included. A node that uses only shapes reads none: the elements
 * need not exist. */
static inline int ox_node_reads_in_all(const ox_node *node) {
    return node->op->flags & OX_OP_SHAPE_ONLY ? 0 : ox_node_named(node);
}

/* The number of inputs whose elements a node reads: 0 for operators that read only shapes. */
static inline int ox_node_reads(const ox_node *node) {
    return node->op->flags & OX_OP_SHAPE_ONLY ? 0 : ox_op_has(node->op, OX_OP_LIKE) ? 1 : node->nin;
}

struct ox_graph {
    const char *name;
    const ox_graph *outer; /* NULL for the main graph */
    int nvalues, nnodes, ninputs, noutputs, ncaptures;
    int nweights, first_weight; /* the values of initializers that are no inputs follow each other */
    const ox_slot *weights;     /* the weights: they never change */
    const ox_node *nodes;       /* topologically sorted */
    const ox_port *inputs, *outputs;
    const ox_capture *captures; /* by value */
    const ox_dtype *dtypes; /* by value: what the model states, OX_UNDEFINED if it does not; NULL if that is dropped */
    /* In builds that keep names: those of the values, unique after functions are expanded; of the nodes, "" if the
     * model gives none. */
    const char *const *names, *const *node_names;
#if OX_WITH_WIDENING
    /* By value, under ox_options.float16_sums: the type that the model states, or that its initializer has there. NULL
     * without that option. */
    const ox_dtype *types_written;
#endif
#if OX_KEEP_WRITTEN
    const struct ox_written *written; /* NULL where the nodes are those of the model */
#endif
};

/* What a graph was before integer operators took the place of nodes. */
typedef struct ox_written {
    ox_graph graph;
    const bool *lost; /* by value: it is given there alone */
} ox_written;

static inline const ox_written *ox_graph_written(const ox_graph *graph) {
#if OX_KEEP_WRITTEN
    return graph->written;
#else
    (void)graph;
    return NULL;
#endif
}

/* The graph that a session with these options runs. */
static inline const ox_graph *ox_graph_for(const ox_graph *graph, const ox_options *options) {
    const ox_written *written = ox_graph_written(graph);
    return written && options->no_integer ? &written->graph : graph;
}

/* The name of a value, "" where it is dropped. */
static inline const char *ox_graph_name(const ox_graph *graph, int v) {
    return OX_KEEP_NAMES ? graph->names[v] : "";
}

/* The same for a node. */
static inline const char *ox_graph_node_name(const ox_graph *graph, int n) {
    return OX_KEEP_NAMES ? graph->node_names[n] : "";
}

/* The type that the model states of a value, OX_UNDEFINED if it does not. */
static inline ox_dtype ox_graph_dtype(const ox_graph *graph, int v) {
    return OX_WITH_CHECKS ? graph->dtypes[v] : OX_UNDEFINED;
}

/* model.c: "[batch,1,8,8]", as the model states it; "of any shape" for NULL. */
const char *ox_shape_text(ox_dims_buffer *buffer, const ox_shape *shape);

/* Whether a tensor has the rank and the fixed dimensions that are stated; NULL states none. */
bool ox_fits_shape(const ox_shape *shape, const ox_tensor *tensor);

#if OX_WITH_WIDENING
/* An attribute of nodes that ox_options.float16_sums changes: the type that their result has in the model. */
#define OX_ATTR_WIDENED "__widened"
#endif

/* The initializer that a value is, NULL if it is none. */
static inline const ox_slot *ox_graph_weight(const ox_graph *graph, int v) {
    const unsigned w = (unsigned)(v - graph->first_weight);
    return w < (unsigned)graph->nweights ? &graph->weights[w] : NULL;
}

/* A file that the model holds on to, unmapped when the model goes. */
typedef struct ox_mapping {
    const unsigned char *bytes;
    size_t size;
    struct ox_mapping *next;
    const char *path; /* in the model's pile */
    void (*unmap)(const unsigned char *bytes, size_t size);
    void (*forget)(const unsigned char *bytes,
                   size_t size); /* gives back the memory of a part, until it is read again */
} ox_mapping;

struct ox_model {
    ox_meter meter;         /* what it holds: once it is loaded, only the store may use it, with its lock held */
    size_t loaded_bytes;    /* what it held when it had been loaded */
    ox_allocator allocator; /* counted by the meter */
    ox_options options;     /* with all limits */
    const ox_op *operators; /* of the options, as rows */
    ox_pile pile;           /* all that hangs below, but the mapped files */
    const char *path;       /* for error texts: the file's name, or "model" */
#if !OX_SMALL
    bool to_write;    /* ox_model_load_to_write */
    const char *conv; /* the way that convolutions take wherever they can, "" for the best one (OX_CONV) */
#endif
    const char *missing; /* a file of external data that is not there, in a model for info; NULL if none */
    const ox_graph *graph;
    ox_model_info info;
    size_t nuses;
    const ox_op_use *uses;
    ox_mapping *mappings;
    ox_store *store; /* weights as sessions laid them out; the only part that changes */
};

#endif
