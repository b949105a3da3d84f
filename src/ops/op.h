/* op.h: what an operator is, and what it sees when it is called.
 *
 * An operator has up to three functions, called in this order:
 *   infer    knows types and shapes of the inputs (and the data of those that are constant) and says types and shapes
 *            of the outputs. It checks everything that can be wrong. It may be called again at any time.
 *   prepare  for each shape of the inputs, after infer: computes what run needs (iteration plans, choice of loops) into
 *            plan memory.
 *   run      computes. It allocates nothing; what can still fail depends on data (a division by zero, an index).
 * A view operator has only infer: it says that an output is a view of an input, and the runtime copies if it must.
 * Operators that run subgraphs of their node are of another kind: control.h.
 */
#ifndef OX_OPS_OP_H
#define OX_OPS_OP_H

#include "asserts.h"
#include "tensor.h"

struct ox_bodies;                 /* control.h: what runs subgraphs */
struct ox_epilogue;               /* epilogue.h: the elementwise nodes behind a dense operator */
struct ox_loops;                  /* lanes.h: the loops for this processor */
typedef struct ox_graph ox_graph; /* frame/graph.h; operators only hand it on */
typedef struct ox_op ox_op;

/* ---- Attributes --------------------------------------------------------------------------------------------- */

/* Numbers of AttributeProto.AttributeType. */
typedef enum ox_attr_kind {
    OX_ATTR_NONE = 0,
    OX_ATTR_FLOAT = 1,
    OX_ATTR_INT = 2,
    OX_ATTR_STRING = 3,
    OX_ATTR_TENSOR = 4,
    OX_ATTR_GRAPH = 5,
    OX_ATTR_FLOATS = 6,
    OX_ATTR_INTS = 7,
    OX_ATTR_STRINGS = 8,
    OX_ATTR_TENSORS = 9,
    OX_ATTR_GRAPHS = 10,
    OX_ATTR_SPARSE_TENSOR = 11,
    OX_ATTR_SPARSE_TENSORS = 12,
    OX_ATTR_TYPE = 13,
    OX_ATTR_TYPES = 14
} ox_attr_kind;

typedef struct ox_attr {
    const char *name;
    ox_attr_kind kind;
    size_t count; /* of the list kinds */
    union {
        float f;
        int64_t i;
        ox_string s;
        const ox_tensor *tensor;
        ox_graph *graph;
        const float *floats;
        const int64_t *ints;
        const ox_string *strings;
        const ox_tensor *const *tensors;
        ox_dtype type; /* type.h */
        ox_graph *const *graphs;
    } u;
} ox_attr;

/* ---- Calls -------------------------------------------------------------------------------------------------- */

/* What infer says of one output. */
typedef struct ox_result {
    ox_dtype dtype;
    int rank;
    int64_t dims[OX_MAX_RANK];
    int view_of;                  /* the input whose memory this output shows, -1 if none */
    int64_t offset;               /* view: bytes from that input's data */
    int64_t strides[OX_MAX_RANK]; /* view or data: byte strides */
    void *data;                   /* elements that are there already (an attribute, a subgraph's result); or NULL */
} ox_result;

/* The function of an operator from outside that runs, for what is not allowed in every one. The built-in ones know. */
typedef enum ox_call_phase {
    OX_CALL_ANY,
    OX_CALL_INFER,
    OX_CALL_PREPARE,
    OX_CALL_RUN
} ox_call_phase;

/* Asserted are of the contract: run has the data of what it reads, outputs are packed, the workspace begins at
 * OX_ALIGN; of pieces that are asked for by ox_workspace_add, run takes all, of the same sizes, unless it fails or is
 * cancelled. */
#if OX_ASSERTIONS
/* A piece of workspace that prepare asked for. */
typedef struct ox_piece {
    struct ox_piece *next;
    size_t at, bytes;
    bool taken; /* by the run under way */
} ox_piece;
#endif

struct ox_call {
    const ox_op *op;
    int version; /* of the opset that the node was written for */
    int nin, nout;
    const ox_tensor *const *in; /* NULL where omitted; ->data is NULL while unknown (infer, prepare) */
    ox_tensor *const *out;      /* NULL where the node has none; packed; described from prepare on, ->data in run */
    size_t nattrs;
    const ox_attr *attrs;
    const struct ox_loops *loops;
    struct ox_pool *pool;   /* threads to split large work over; NULL for none */
    struct ox_store *store; /* prepare: where what is made of weights is kept; NULL for nowhere */
    uint64_t weights;       /* prepare: a bit for each of the first inputs whose data stays as long as the store */
    uint64_t constants;     /* prepare: the same for inputs whose data stays as long as the plan */
    void *state;            /* what prepare left for run */
#if OX_SMALL
    bool overwrites; /* prepare: output 0 may be written over input 0, if that has its shape and element size */
#else
    const char *algorithm; /* prepare: ox_call_name */
    uint32_t types;        /* prepare: element types that programs of the node's own compute in, a bit each */
    bool plain_products;   /* prepare: convolutions are sums of products of their inputs, not of transformed ones */
    bool plain;            /* prepare: ox_call_is_plain */
    /* prepare, if plain: the loops of the run that is checked; NULL otherwise */
    const struct ox_loops *checked;
    bool absolute, ones; /* run of a bound: what is unpacked counts by its absolute value, or as 1 */
    const char *conv;    /* prepare: the way that convolutions take wherever they can (OX_CONV); "": the best one */
    bool is_transformed; /* prepare sets it: an element's rounding errors depend on inputs of its neighbours, too */
#endif
    /* prepare and run of operators with OX_OP_EPILOGUE: takes output 0, which then has no memory of its own; or NULL */
    struct ox_epilogue *epilogue;
    void *workspace;       /* run: the bytes that prepare asked for */
    size_t workspace_size; /* prepare: set it to ask for bytes that live during run only */
#if OX_ASSERTIONS
    ox_piece **pieces; /* prepare and run: of the workspace; NULL where pieces are not counted */
#endif
    ox_pile *pile;    /* prepare: plan memory; infer: the same, to be brought back to where it was */
    ox_pile *strings; /* run: memory for bytes of strings, which lives until the session runs again */
    /* The name that the model gives to input i, NULL where it has none; *shown, that input, takes the type and shape
     * that the model has for it. May be NULL itself. */
    const char *(*show_input)(const ox_call *call, int i, ox_tensor *shown);
    ox_result *results; /* infer: nout entries, through ox_call_output and ox_call_view */
    ox_call_phase phase;
    bool live;          /* infer: it is called in a run, with the data of all inputs */
    uint64_t looked_at; /* infer: a bit for each of the first 64 inputs whose data was asked for */
    ox_error *error;
    ox_status attr_status; /* set when an attribute has the wrong type, with the text; checked after infer */
    const struct ox_bodies
        *bodies; /* what operators with OX_OP_CONTROL ask of the runtime; NULL where there are none */
};

/* Prepare: says in a few words how the node is computed, for listings of a model; static storage. */
static inline void ox_call_name(ox_call *call, const char *algorithm) {
#if OX_SMALL
    (void)call, (void)algorithm;
#else
    call->algorithm = algorithm;
#endif
}

/* Prepare: of several algorithms for the same result, take the plainest, which is what others are checked against. */
static inline bool ox_call_is_plain(const ox_call *call) {
#if OX_SMALL
    (void)call;
    return false;
#else
    return call->plain;
#endif
}

/* "input 0 'x' (float [2,3])" for error texts: input i and its name in the model. */
typedef struct ox_input_buffer {
    char text[224];
} ox_input_buffer;
const char *ox_call_input_text(const ox_call *call, int i, ox_input_buffer *buffer);
#define OX_INPUT(call, i) ox_call_input_text((call), (i), &(ox_input_buffer){{0}})

/* The same without a text: on builds without texts, in place of ox_call_fail. */
ox_status ox_call_fail_briefly(const ox_call *call, ox_status status);
#if !OX_WITH_TEXTS
#define ox_call_fail(call, status, ...)                                                                                \
    (0 ? (ox_call_fail)(call, status, __VA_ARGS__) : ox_call_fail_briefly(call, status))
#endif

/* Fails because input i holds less than it did when its elements were counted: another thread changes it. */
ox_status ox_call_changed(const ox_call *call, int i);

/* The attribute of that name and kind; NULL if missing, or of another kind, which makes the call fail. */
const ox_attr *ox_call_attr(ox_call *call, const char *name, ox_attr_kind kind);

/* "int", "tensors", ...; static storage. */
const char *ox_attr_kind_name(ox_attr_kind kind);

/* True if a string attribute has this value. */
bool ox_says(ox_string s, const char *text);
/* A string for "%.*s" in an error text, cut off if it is long. */
#define OX_SHORT(s) (int)((s).size < 32 ? (s).size : 32), (s).data

/* Infer: input i as a list of integers (a 1-D or scalar tensor of int64 or int32), at most `most` of them; OX_DEFER if
 * it is not known before the run. */
ox_status ox_call_int_list(ox_call *call, int i, int64_t *list, int most, int *count);

/* True if input i is given; -1 stands for an input that the operator does not have. */
static inline bool ox_call_given(const ox_call *call, int i) {
    return i >= 0 && i < call->nin && call->in[i] != NULL;
}

/* Infer: fails unless input i, which is given, has these dims; of the second one, those below 0 are any. */
ox_status ox_call_check_dims(ox_call *call, int i, int rank, const int64_t *dims);
ox_status ox_call_check_open_dims(ox_call *call, int i, int rank, const int64_t *dims);

/* Infer: output k is this very tensor. Its data lives as long as the plan (an attribute) or the node's subgraph. */
ox_status ox_call_give(ox_call *call, int k, const ox_tensor *tensor);

/* ---- Operators ---------------------------------------------------------------------------------------------- */

/* Flags beyond those of ox.h. */
enum {
    OX_OP_PASS = 4,           /* elementwise: `detail` is an ox_elementwise, which says whether it always is */
    OX_OP_CONTROL = 8,        /* runs subgraphs: `detail` is an ox_control */
    OX_OP_LEGACY = 64,        /* input 1 is broadcast by the attributes `broadcast` and `axis` (before opset 7) */
    OX_OP_LEGACY_SLOPE = 128, /* input 1, of one dimension, belongs to the channels (PRelu before opset 7) */
    OX_OP_AXIS = 256,         /* later inputs, of one dimension, belong to that of the attribute `axis` */
    OX_OP_LIKE = 512,         /* of input 1 only the type counts */
    OX_OP_TEXT = 1024,        /* strings that it gives take memory in every run: they are never folded */
    OX_OP_PICKS = 2048,       /* reads no more of input 0 than it gives */
    OX_OP_LIST = 4096,        /* input 1 is a list that infer reads, not run */
    OX_OP_EPILOGUE = 8192,    /* hands its one output to call->epilogue, if that is set; `detail` is an ox_dense */
    OX_OP_NO_ATTRS = 16384,   /* ONNX gives it no attributes: reduced builds of such operators alone do not read any */
    OX_OP_LOADS = 32768,      /* its emit function loads inputs but the first by itself */
    OX_OP_CHECKS = 65536,     /* refuses elements of its inputs: prepared and run even if no output has an element */
    OX_OP_VALUES = 131072,    /* takes or gives sequences, optionals or maps, which are made in every run */
    OX_OP_ANY_VALUE = 262144, /* passes values of every kind on as they are */
    OX_OP_PARTS = 524288,     /* its output is its inputs behind each other on one axis; those in place stay there */
    OX_OP_BODIES = 1048576,   /* where its node has subgraphs, the row in `detail`, of a control operator, serves it */
    OX_OP_DERIVED = 2097152,  /* the loader writes the nodes that compute its inputs: Gradient */
    OX_OP_GAPS = 4194304,     /* may omit inputs before those that it must have, and sees to that itself */
    OX_OP_FUNCTION = 8388608, /* the loader writes the nodes that compute its outputs; infer alone stays, to check */
    OX_OP_PLACES = 16777216,  /* input 1 may be places in the image of a pool, whose shape the loader then adds */
    /* Which of two operators that share their functions a row is. */
    OX_OP_QUANTIZED = 33554432, /* each of its tensors has a scale and a zero point: QLinearConv, not ConvInteger */
    OX_OP_CODES = 67108864,     /* its weights are places of numbers in a table: MatMulBnb4, not MatMulNBits */
    OX_OP_MIXED = 536870912,    /* each step has three positions: MRotaryEmbedding, not RotaryEmbedding */
    OX_OP_CHOOSES = 134217728,  /* prepare looks at attributes alone, and refuses some while the model is loaded, too */
    OX_OP_BLOCKS = 268435456 /* reads or gives images in blocks of channels: its nodes are written when all are there */
};

struct ox_op {
    const char *domain; /* "" is ONNX's own */
    const char *name;
    int16_t since;
    uint64_t versions; /* a bit for each version of the specification that the row serves */
    int8_t min_in, max_in, min_out, max_out;
    ox_dtypes dtypes; /* of the main input, for listing; infer checks */
    ox_call_fn *infer, *prepare, *run;
    const void *detail;
    unsigned flags;
};

/* False for what stands in for an operator that there is no row of. */
static inline bool ox_op_is_known(const ox_op *op) {
    return op->infer != NULL;
}

/* Whether the operator has one of these flags, which rows name themselves; a constant where no row does. */
static inline bool ox_op_has(const ox_op *op, unsigned flags) {
    return (op->flags & flags & (unsigned)(OX_ROW_FLAGS)) != 0;
}

/* Whether a row of this build may have one of them. */
static inline bool ox_ops_have(unsigned flags) {
    return (flags & (unsigned)(OX_ROW_FLAGS)) != 0;
}

/* Whether the row has an input i. Shapes and axes were attributes before they were inputs. */
static inline bool ox_op_takes(const ox_op *op, int i) {
    return op->max_in == OX_ANY || i < op->max_in;
}

/* True if this build of the library can do it with elements of that type: a reduced build has loops for some types
 * alone, and moves some. */
static inline bool ox_op_builds(const ox_op *op, ox_dtype dtype) {
    const uint32_t types = op->dtypes == OX_SET_ALL ? OX_MOVED_TYPES : OX_BUILT_TYPES;
    return ox_is_value(dtype) || types & OX_BIT(dtype);
}

/* The row in force for an operator in an opset version; NULL if there is none. *newer (may be NULL) is set if the
 * table has the operator, but only from a later version on. */
const ox_op *ox_op_find(const char *domain, const char *name, int version, bool *newer);

/* The same in a list of rows sorted by ox_op_order. */
const ox_op *ox_op_find_in(const ox_op *rows, size_t count, const char *domain, const char *name, int version,
                           bool *newer);

/* Below, at or above 0 as a row comes before, is, or comes after the rows of that domain and name. */
int ox_op_order(const ox_op *row, const char *domain, const char *name);

/* The version of the specification that is in force for a row in that version of its operator set: 14 for Add in 20. */
int ox_op_version(const ox_op *op, int opset);

/* The newest opset version of a domain that the table knows; 0 for an unknown domain. */
int ox_newest_opset(const char *domain);

#endif
