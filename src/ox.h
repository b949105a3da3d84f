/* ox.h: the public interface of libox, an ONNX model interpreter in C11.
 *
 * A model is loaded once and never changes; any number of sessions, in any number of threads, may run it. A session
 * owns its working memory and serves one thread at a time:
 *
 *     ox_model *model;  ox_session *session;  ox_tensor out;  ox_error error;
 *     if (ox_model_load_file("model.onnx", NULL, &model, &error) ||
 *         ox_session_create(model, NULL, &session, &error) ||
 *         ox_session_set_input(session, 0, &in, &error) ||
 *         ox_session_run(session, &error) ||
 *         ox_session_output(session, 0, &out, &error))
 *         puts(error.text);
 *
 * Every function that can fail returns an ox_status, OX_OK (0) on success. The `error` argument may be NULL; when given
 * it is always written: the status and, on failure, a text that names file, node, operator and tensor, and the values
 * that disagree. The library never prints, never exits and keeps no global state.
 *
 * A required argument that is NULL, invalid options, indices out of range and calls in the wrong order are
 * OX_ERROR_ARGUMENT. Functions without a status then do nothing, or return 0, NULL, false or zeroed structs, as
 * documented.
 *
 * Copyright 2026 the ox authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef OX_H
#define OX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared library exports. */
#if defined(__GNUC__)
#define OX_API __attribute__((visibility("default")))
#else
#define OX_API
#endif

/* The version of this header; docs/versions.md says what it promises. */
#define OX_VERSION_MAJOR 0
#define OX_VERSION_MINOR 1
#define OX_VERSION_PATCH 0

/* The version of the library as text, "0.1.0". Static storage. */
OX_API const char *ox_version(void);

/* ---- Errors ------------------------------------------------------------------------------------------------- */

/* How a call ended. Later versions may add values: any but OX_OK is an error. */
typedef enum ox_status {
    OX_OK = 0,
    OX_ERROR_ARGUMENT,    /* a call that this interface does not allow */
    OX_ERROR_FILE,        /* a file could not be opened or read */
    OX_ERROR_MODEL,       /* the bytes are not a valid ONNX model */
    OX_ERROR_UNSUPPORTED, /* valid ONNX, but this library lacks the operator, version or type */
    OX_ERROR_SHAPE,       /* shapes, types or values of tensors do not fit together */
    OX_ERROR_VALUE,       /* the data asks for something undefined, such as an integer division by zero */
    OX_ERROR_LIMIT,       /* a limit was reached (ox_limits, config.h); the session stays usable */
    OX_ERROR_MEMORY,      /* an allocation failed; the session stays usable */
    OX_ERROR_CANCELLED,   /* the caller's cancel function returned true; the session stays usable */
    OX_ERROR_CHECK        /* ox_options.check: two algorithms for a step disagree, which is a fault of the library */
} ox_status;

/* "out of memory", "unsupported", ...; "unknown status" for other values of `status`. Static storage. */
OX_API const char *ox_status_name(ox_status status);

enum {
    OX_ERROR_TEXT = 512
};

/* An error, in the caller's memory. */
typedef struct ox_error {
    ox_status status;         /* the same that the function returned */
    char text[OX_ERROR_TEXT]; /* one or two lines, NUL-terminated, no trailing newline; "" on success */
} ox_error;

/* ---- Element types and tensors ------------------------------------------------------------------------------ */

/* Element types. The numbers are ONNX's TensorProto.DataType. */
typedef enum ox_dtype {
    OX_UNDEFINED = 0,
    OX_FLOAT = 1,
    OX_UINT8 = 2,
    OX_INT8 = 3,
    OX_UINT16 = 4,
    OX_INT16 = 5,
    OX_INT32 = 6,
    OX_INT64 = 7,
    OX_STRING = 8,
    OX_BOOL = 9,
    OX_FLOAT16 = 10,
    OX_DOUBLE = 11,
    OX_UINT32 = 12,
    OX_UINT64 = 13,
    OX_COMPLEX64 = 14,
    OX_COMPLEX128 = 15,
    OX_BFLOAT16 = 16,
    OX_FLOAT8E4M3FN = 17,
    OX_FLOAT8E4M3FNUZ = 18,
    OX_FLOAT8E5M2 = 19,
    OX_FLOAT8E5M2FNUZ = 20,
    OX_UINT4 = 21,
    OX_INT4 = 22,
    OX_FLOAT4E2M1 = 23,
    OX_FLOAT8E8M0 = 24,
    OX_UINT2 = 25,
    OX_INT2 = 26,
    OX_FLOAT6E2M3 = 27,
    OX_FLOAT6E3M2 = 28,
    OX_DTYPE_COUNT,
    OX_DTYPE_WIDE = 0x7fffffff /* not a type: makes the enum 32 bits wide on every machine */
} ox_dtype;

/* ONNX's name of an element type: "float", "int64", "bfloat16", ...; "undefined" for anything else. Static storage. */
OX_API const char *ox_dtype_name(ox_dtype dtype);

/* The element type of that name, OX_UNDEFINED if there is none, and for NULL. */
OX_API ox_dtype ox_dtype_from_name(const char *name);

/* Bytes that one element occupies in an ox_tensor. Types of less than 8 bits take one byte per element (value in the
 * low bits, sign-extended for int4 and int2); a string takes sizeof(ox_string). 0 for OX_UNDEFINED. */
OX_API size_t ox_dtype_size(ox_dtype dtype);

/* Bits that one element takes in the packed form of ONNX's files: 8 * ox_dtype_size, except for types of less than 8
 * bits; 0 for OX_UNDEFINED and strings. */
OX_API int ox_dtype_bits(ox_dtype dtype);

/* An element of a string tensor: bytes, not NUL-terminated. */
typedef struct ox_string {
    const char *data; /* any bytes; UTF-8 by the specification */
    size_t size;      /* their number */
} ox_string;

/* A tensor describes memory that it does not own; copying the struct copies no elements. dims and strides have `rank`
 * entries. Strides are the bytes between neighbours along a dimension, and may be 0 (the element repeats) or negative;
 * strides == NULL means packed row-major. Rank 0 is a scalar. Data need not be aligned to the element size on machines
 * with unaligned loads (all but small microcontrollers). */
typedef struct ox_tensor {
    ox_dtype dtype;         /* of the elements */
    int rank;               /* the number of dimensions, 0 to OX_TENSOR_RANK */
    const int64_t *dims;    /* sizes, the outermost first; may be NULL for rank 0 */
    const int64_t *strides; /* in bytes, NULL if packed */
    void *data;             /* the element whose indices are all 0 */
} ox_tensor;

/* The number of elements; -1 if a dimension is negative, the product overflows, or the shape is invalid: NULL, dims
 * that are NULL, a rank out of range. */
OX_API int64_t ox_tensor_count(const ox_tensor *tensor);

/* True if the elements are packed in row-major order; false if the shape is invalid. */
OX_API bool ox_tensor_is_packed(const ox_tensor *tensor);

/* Writes the `rank` byte strides, packed or not; writes nothing if the shape is invalid. */
OX_API void ox_tensor_strides(const ox_tensor *tensor, int64_t *strides);

/* The highest rank of a tensor, in every build. */
enum {
    OX_TENSOR_RANK = 64
};

struct ox_options;

/* Reads one serialized TensorProto (the .pb files of ONNX's test suite) of `size` bytes, which may be freed afterwards.
 * On success *tensor is one allocation that holds descriptor, dims and data; release it with ox_tensor_free. `name`, if
 * not NULL, receives a NUL-terminated string in the same allocation. Only the allocator of `options` is used. */
OX_API ox_status ox_tensor_from_proto(const void *bytes, size_t size, const struct ox_options *options,
                                      ox_tensor **tensor, const char **name, ox_error *error);

/* Frees a tensor that ox_tensor_from_proto made, with the allocator of the same options. NULL is allowed. */
OX_API void ox_tensor_free(ox_tensor *tensor, const struct ox_options *options);

/* The float value of an element with these bits, for floating types of 16 bits or less; NaN for other types. */
OX_API float ox_float_from_bits(ox_dtype dtype, uint32_t bits);

/* The shortest decimal digits (0 to 9 each) that, read as the floating type, give back a finite positive value: d.ddd
 * times 10 to *exponent. Returns the number of digits; 0 for any other value. */
OX_API int ox_float_digits(ox_dtype dtype, double value, uint8_t digits[17], int *exponent);

/* ---- Values other than tensors ------------------------------------------------------------------------------ */

/* The kind of a value. */
typedef enum ox_kind {
    OX_KIND_UNKNOWN = 0, /* no type stated */
    OX_KIND_TENSOR,
    OX_KIND_SEQUENCE,
    OX_KIND_OPTIONAL,
    OX_KIND_MAP,
    OX_KIND_SPARSE, /* not supported; this and the next exist so that errors can name them */
    OX_KIND_OPAQUE
} ox_kind;

/* Bytes that suffice for the text of any type, such as "seq(map(int64,tensor(float)))". */
enum {
    OX_TYPE_TEXT = 128
};

/* A sequence, an optional, a map, or a tensor, which is also what the others contain. A value never changes, so that
 * any number of threads may read it. */
typedef struct ox_value ox_value;

/* Making values. A value owns a copy of its contents; the originals may be freed or changed afterwards. Free it with
 * ox_value_free, but not before all sessions that have it as an input are done with it: see ox_session_set_value. */

/* A value that is a packed copy of a tensor. */
OX_API ox_status ox_value_from_tensor(const ox_tensor *tensor, const struct ox_options *options, ox_value **value,
                                      ox_error *error);

/* OX_KIND_SEQUENCE: `count` items of one type. OX_KIND_OPTIONAL: one item or none. OX_KIND_MAP: one item for each of
 * the keys, a list of integers or strings; for other kinds, keys is NULL. A sequence or an optional without items fits
 * every input of its kind, for any item type. Types nest up to six deep. */
OX_API ox_status ox_value_from_items(ox_kind kind, const ox_tensor *keys, const ox_value *const *items, size_t count,
                                     const struct ox_options *options, ox_value **value, ox_error *error);

/* Reads one serialized TensorProto, SequenceProto, OptionalProto or MapProto of `size` bytes. `kind` says which: the
 * bytes do not contain it. `name` as in ox_tensor_from_proto. */
OX_API ox_status ox_value_from_proto(ox_kind kind, const void *bytes, size_t size, const struct ox_options *options,
                                     ox_value **value, const char **name, ox_error *error);

/* Frees a value that one of the functions above made, with all its items. NULL is allowed. */
OX_API void ox_value_free(ox_value *value);

/* Reading values. The contents of a value belong to it, and live as long as the value. */

/* The kind of a value; OX_KIND_UNKNOWN for NULL. */
OX_API ox_kind ox_value_kind(const ox_value *value);

/* "tensor(float)", "seq(tensor(float))", "map(string,tensor(int64))"; the item type of an empty value is "undefined".
 * Writes into `text` and returns it; "" for NULL. */
OX_API const char *ox_value_type(const ox_value *value, char text[OX_TYPE_TEXT]);

/* The value's packed tensor. NULL for other kinds. */
OX_API const ox_tensor *ox_value_tensor(const ox_value *value);

/* The number of items of a sequence, an optional (0 or 1) or a map; 0 for other kinds. */
OX_API size_t ox_value_count(const ox_value *value);

/* Item `index` of a sequence, an optional or a map; NULL where there is none. */
OX_API const ox_value *ox_value_item(const ox_value *value, size_t index);

/* The keys of a map: a tensor of rank 1, of integers or strings, with one key for each item. NULL for other kinds. */
OX_API const ox_tensor *ox_value_keys(const ox_value *value);

/* ---- Memory and limits -------------------------------------------------------------------------------------- */

/* One function in place of malloc, realloc and free. `resize(context, NULL, 0, n)` allocates n bytes aligned for any
 * type, `resize(context, p, n, 0)` frees and returns NULL; any other call reallocates, as realloc does. It returns NULL
 * on failure, and then leaves the old block unchanged. Every thread that uses the library may call it. */
typedef struct ox_allocator {
    void *(*resize)(void *context, void *block, size_t old_size, size_t new_size); /* sizes in bytes */
    void *context;                                                                 /* for that function */
} ox_allocator;

/* An allocator over one fixed buffer, for devices: all of ox's memory is inside it, and OX_ERROR_MEMORY is returned
 * when it is full. The ox_fixed struct and the buffer must outlive everything that was allocated from it. For a NULL
 * struct the allocator has no function, and is refused as an option. */
typedef struct ox_fixed {
    unsigned char *buffer; /* the caller's; any address */
    size_t size;           /* of the buffer in bytes */
    size_t peak; /* most bytes in use, headers and gaps included: a buffer of this size is enough, at any address */
    void *first; /* internal */
} ox_fixed;

/* An allocator over `size` bytes at `buffer`. It starts empty; *fixed is its state. */
OX_API ox_allocator ox_fixed_allocator(ox_fixed *fixed, void *buffer, size_t size);

/* Called repeatedly while a model runs or is prepared, between nodes and inside long ones, mostly every few hundred KB
 * of work; if it returns true, the run ends with OX_ERROR_CANCELLED. It is called in the thread that called
 * ox_session_run or ox_session_prepare, and must not use the session. */
typedef bool ox_cancel_fn(void *context);

/* Limits on the resources of a model. 0 or NULL means the default. Limits that a session's own options leave at 0 come
 * from the options of its model. */
typedef struct ox_limits {
    size_t bytes;         /* held by the model and one session at once, without mapped files; default: none */
    size_t tensor_bytes;  /* of a tensor of a run, repeated elements counted; default: OX_MAX_TENSOR_BYTES */
    size_t file_bytes;    /* of the model's file, and of each file with external data; default: none */
    size_t nodes;         /* after model-local functions are expanded, subgraphs included; default: OX_MAX_NODES, and
                           * for small files fewer: OX_EXPAND_BASE and OX_EXPAND_FACTOR in config.h */
    int depth;            /* of nested subgraphs and function calls; default: OX_MAX_CALLS, at most OX_MOST_CALLS */
    ox_cancel_fn *cancel; /* default: never */
    void *cancel_context; /* for that function */
    /* Plans that a session keeps, for the last shapes of its inputs, the current ones included; at most OX_MOST_PLANS.
     * Default: OX_MAX_PLANS, or 1 if `bytes` is set or memory is a fixed buffer. Plans are dropped if memory is
     * short. */
    size_t plans;
    size_t reserved[3]; /* 0: for limits of later versions, as in ox_options */
} ox_limits;

/* Returns a pointer to `length` bytes of external data, from `offset` on in the data that the model calls `location`.
 * The bytes must stay valid while the model lives. Returns NULL if there are none. */
typedef const void *ox_external_data_fn(void *context, const char *location, size_t offset, size_t length);

/* Called with a warning when something differs from what the model states, but the results are right: once in a session
 * for each output of the model or of a subgraph that has another shape, in the thread that runs the session. The loader
 * calls it if ONNX Runtime saved images in blocks of channels, and shapes fit blocks of both 8 and 16. The text has the
 * form of an error's, and is valid until the function returns. The function must not use the session. */
typedef void ox_warn_fn(void *context, const char *text);

/* Options for loading models and creating sessions. Start from a zeroed struct: 0 or NULL means the default. An unknown
 * build of the loops, threads below 0 or above 256, a depth below 0 and an allocator without a function are errors. */
typedef struct ox_options {
    const ox_allocator *allocator; /* default: malloc and free; must outlive the model */
    ox_limits limits;              /* on the resources of models */
    const char *isa; /* build of the loops: "base", "v3", "v4", "neon_dot", "neon_i8mm"; default: the best that runs */
    int threads;     /* of a session, the caller's thread included; results are bit-identical for any number */
    bool no_fuse;    /* run elementwise nodes one by one; the results are bit-identical */
    /* Compute 3x3 convolutions with constant weights as plain sums of products, which may take three times as long. The
     * default is Winograd's algorithm where it is faster: its rounding errors are two to eight times those of plain
     * sums, and an infinity in an image becomes NaN. */
    bool no_winograd;
    /* Compute the nodes between DequantizeLinear and QuantizeLinear one by one in floats. The default is integer
     * operators (QLinearConv, QLinearMatMul, moves of the integers) if scales and zero points are constants: their sums
     * are exact, so that a result differs by one quantization step where the float is close to a rounding boundary. A
     * session with extra outputs between such nodes also computes them in floats. Set for a model, the option applies
     * to all its sessions. */
    bool no_integer;
    /* Of sessions: check every run. Each step is computed a second time from copies of its inputs, node by node, and a
     * third time by the simplest algorithms and loops. A difference, or an input that changed since it was written, is
     * an OX_ERROR_CHECK that names the nodes, the element and both values. A run takes many times as long and more than
     * twice the memory, and allocates; it calls the functions of your own operators again. Builds for devices do not
     * have it: there the option is an error. */
    bool check;
    const struct ox_operator *operators; /* operators of your own; they must outlive the model; see below */
    size_t operator_count;               /* entries of operators */
    ox_external_data_fn *external_data;  /* the source of external data, instead of files */
    void *external_context;              /* for that function */
    ox_warn_fn *warn;                    /* default: no warnings */
    void *warn_context;                  /* for that function */
    /* Of sessions: names of values of the main graph that become additional outputs, after those of the model and in
     * this order. The name of an inner value of a model-local function is prefixed with the names of the calls, as
     * ox_model_visit shows it. */
    const char *const *extra_outputs;
    size_t extra_output_count; /* entries of extra_outputs */
    /* Keep values of float16 and bfloat16 as floats between nodes. Only the model's outputs and its own Casts are
     * rounded; ONNX rounds after each node. Results are closer to those of real numbers, runs are faster, and weights
     * take 4 bytes per element. Set for a model, the option applies to all its sessions; extra outputs, and operators
     * of your own, get floats. The model has to state the types of its inputs and outputs; types that do not
     * fit each other are errors as without the option. */
    bool float16_sums;
    uint8_t reserved_flags[sizeof(size_t) - 1]; /* 0: for options of later versions, like `reserved` */
    /* 0: for options of later versions (docs/versions.md). A new option takes words from here; its 0 keeps the
     * behaviour of earlier versions, so that programs run unchanged with later libraries. Anything but 0 is an
     * OX_ERROR_ARGUMENT: the struct was not zeroed, or the program uses an option of a later version. */
    size_t reserved[7];
} ox_options;

/* ---- Models ------------------------------------------------------------------------------------------------- */

/* A loaded model, which never changes. */
typedef struct ox_model ox_model;

/* Loads an .onnx file. The file is mapped, not read: weights are used in place, and the file must not change while the
 * model lives. External data is searched in the file's directory, then, if `path` is a symbolic link, in the directory
 * of its target, and never outside these. On success release *model with ox_model_free. */
OX_API ox_status ox_model_load_file(const char *path, const ox_options *options, ox_model **model, ox_error *error);

/* Loads a model from `size` bytes (a serialized ModelProto), used in place: they must stay unchanged while the model
 * lives. External data is an error, unless ox_options.external_data returns it. */
OX_API ox_status ox_model_load_memory(const void *bytes, size_t size, const ox_options *options, ox_model **model,
                                      ox_error *error);

/* Frees a model. All its sessions must have been freed. NULL is allowed. */
OX_API void ox_model_free(ox_model *model);

/* A model's description of one of its inputs or outputs. All pointers live as long as the model. */
typedef struct ox_value_info {
    const char *name;             /* NUL-terminated */
    ox_kind kind;                 /* OX_KIND_UNKNOWN if not stated */
    char type[OX_TYPE_TEXT];      /* "tensor(float)", "seq(tensor(float))"; "" if not stated */
    ox_dtype dtype;               /* OX_UNDEFINED if not a tensor or not stated */
    int rank;                     /* -1 if not stated */
    const int64_t *dims;          /* rank entries, -1 where symbolic or not stated */
    const char *const *dim_names; /* rank entries, NULL where not symbolic */
    bool optional;                /* an input that has an initializer as its default */
} ox_value_info;

/* The number of inputs that a caller may set. Inputs with an initializer are among them, in graph order, with
 * `optional` true; in IR version 3, all weights are such inputs. */
OX_API size_t ox_model_input_count(const ox_model *model);

/* The number of the model's outputs. */
OX_API size_t ox_model_output_count(const ox_model *model);

/* Describes input `index`, in graph order, in *info. */
OX_API ox_status ox_model_input(const ox_model *model, size_t index, ox_value_info *info);

/* Describes output `index`, in graph order, in *info. */
OX_API ox_status ox_model_output(const ox_model *model, size_t index, ox_value_info *info);

/* An operator set that a model imports. */
typedef struct ox_opset {
    const char *domain; /* "" is ONNX's own */
    int64_t version;    /* of the set */
} ox_opset;

/* An entry of the model's metadata: names of classes, a date, ... */
typedef struct ox_metadata {
    const char *key, *value; /* NUL-terminated, as the file has them */
} ox_metadata;

/* Facts about a model; all are 0 for NULL. All pointers live as long as the model. Builds for devices keep neither
 * metadata nor the description. */
typedef struct ox_model_info {
    const char *producer_name;    /* the program that wrote the file; this and the next three are "" if not stated */
    const char *producer_version; /* its version */
    const char *domain;           /* of the model's maker: "org.example" */
    const char *graph_name;       /* of the main graph */
    int64_t ir_version;           /* of the file format: 3 to 14 */
    int64_t model_version;        /* as the maker counts */
    size_t opset_count;           /* entries of opsets */
    const ox_opset *opsets;       /* that the model imports */
    size_t node_count;            /* with model-local functions expanded, subgraphs included */
    size_t function_count;        /* model-local functions */
    int64_t parameter_count;      /* elements of all initializers, Constant nodes and lists of ai.onnx.ml's nodes */
    int64_t weight_bytes;         /* their bytes */
    const char *description;      /* "" if there is none */
    size_t metadata_count;        /* entries of metadata */
    const ox_metadata *metadata;  /* in the order of the file */
} ox_model_info;

/* Writes facts about the model to *info. */
OX_API void ox_model_get_info(const ox_model *model, ox_model_info *info);

/* An operator of a model. */
typedef struct ox_op_use {
    const char *domain; /* "" is ONNX's own */
    const char *name;   /* "Add" */
    int64_t version;    /* of the definition in force: Add in opset 20 is 14 */
    size_t count;       /* nodes of the model; 0: an integer operator that replaces other nodes */
    bool supported;     /* ox has it in this version */
} ox_op_use;

/* Loads the .onnx file at `path` without resolving operators: also models that ox_model_load_file refuses as
 * unsupported, and models without their external data. Creating a session for such a model fails, and the error says
 * what is missing. */
OX_API ox_status ox_model_load_for_info(const char *path, const ox_options *options, ox_model **model, ox_error *error);

/* The same for a model in memory: `size` bytes, used in place. */
OX_API ox_status ox_model_load_memory_for_info(const void *bytes, size_t size, const ox_options *options,
                                               ox_model **model, ox_error *error);

/* The number of different operators in a model, its functions and subgraphs included. */
OX_API size_t ox_model_op_use_count(const ox_model *model);

/* Describes operator `index`, in the order of domains and names, in *use. */
OX_API ox_status ox_model_op_use(const ox_model *model, size_t index, ox_op_use *use);

/* A node of a model. Strings live as long as the model, the struct until the callback returns. */
typedef struct ox_node_info {
    int depth;                        /* 0 in the main graph, 1 in a subgraph of one of its nodes, ... */
    const char *name;                 /* "" if the model gives none */
    const char *domain;               /* "" is ONNX's own */
    const char *op;                   /* "Add" */
    int64_t version;                  /* of the definition in force */
    bool supported;                   /* ox has it in this version */
    size_t input_count, output_count; /* omitted ones have the name "" */
    const char *algorithm; /* of a product, convolution or pool, and its memory order, in a few words; "" if unknown */
    const void *node, *graph, *frame; /* internal */
} ox_node_info;

/* Called by ox_model_visit for each node. */
typedef void ox_node_fn(void *context, const ox_node_info *node);

struct ox_session;

/* Calls `visit` for each node in the order of execution; nodes of subgraphs follow the node that contains them. With a
 * session of the model, which may be NULL, types and shapes of values are known as far as ox_session_prepare or
 * ox_session_run inferred them; without one, only those of inputs and initializers are known. */
OX_API void ox_model_visit(const ox_model *model, const struct ox_session *session, ox_node_fn *visit, void *context);

/* Describes input `index` of a node in *info: the name is "" if the input is omitted, and dim_names is NULL if all dims
 * are known. Pointers into a session are valid until its next call. */
OX_API ox_status ox_node_input(const ox_node_info *node, size_t index, ox_value_info *info);

/* The same of output `index`. */
OX_API ox_status ox_node_output(const ox_node_info *node, size_t index, ox_value_info *info);

/* The integer attribute `name` of a node; `otherwise` if the node has no integer attribute of that name. */
OX_API int64_t ox_node_int(const ox_node_info *node, const char *name, int64_t otherwise);

/* ---- Sessions ----------------------------------------------------------------------------------------------- */

/* Runs a model in its own working memory; one thread may use it at a time. */
typedef struct ox_session ox_session;

/* Creates a session; release it with ox_session_free. The model must outlive it. If `options` is NULL, the model's
 * options are used. */
OX_API ox_status ox_session_create(const ox_model *model, const ox_options *options, ox_session **session,
                                   ox_error *error);

/* Frees a session, and with it the memory of its outputs. Inputs belong to the caller. NULL is allowed. */
OX_API void ox_session_free(ox_session *session);

/* Sets input `index` (graph order). The descriptor is copied, the data is borrowed: it must stay valid and unchanged
 * until ox_session_run returns, and, if an output is this very input, as long as that output is read. The element type,
 * the rank and the fixed dimensions must be the model's. Strides are free, and do not change the bits of the results,
 * with one exception, in which rounding may differ: products of floating types with one row or one column (MatMul,
 * Gemm) add in the memory order of the matrix. An input stays set until it is set again; NULL unsets it. */
OX_API ox_status ox_session_set_input(ox_session *session, size_t index, const ox_tensor *tensor, ox_error *error);

/* Sets input `index` to a value of any kind. The value is borrowed: it must live until ox_session_run returns, and as
 * long as outputs that may contain it, or a part of it, are read. */
OX_API ox_status ox_session_set_value(ox_session *session, size_t index, const ox_value *value, ox_error *error);

/* Infers shapes and plans memory for the inputs that are set. ox_session_run does this by itself when input shapes have
 * changed. Shapes that depend on the inputs' values are inferred in the run. */
OX_API ox_status ox_session_prepare(ox_session *session, ox_error *error);

/* Runs the model on the inputs that are set. A run allocates nothing if types, shapes and strides of the inputs, and
 * data-dependent shapes, are those of the last run or of a kept plan (ox_limits). */
OX_API ox_status ox_session_run(ox_session *session, ox_error *error);

/* Returns memory for output `index`, whose type and shape are in `output`: `bytes` bytes, packed, that nothing else
 * uses until the run ends. It may be that of inputs, if no output shows them: outputs are copied there at the end then.
 * Only what updates a cache (GroupQueryAttention, MultiHeadAttention with past_sequence_length, TensorScatter) writes
 * what it adds alone to memory that is its input's, of the same type and shape, packed, and read by no other node. NULL
 * leaves the output in the session's memory. The function must not use the session. */
typedef void *ox_output_fn(void *context, size_t index, const ox_tensor *output, size_t bytes);

/* Makes runs write outputs to the caller's memory, from the next run on; NULL unsets it. Each run calls `callback` once
 * for each output that is a tensor, but not of strings, in the thread that runs the session. An output is computed in
 * that memory if it is aligned to 64 bytes and no other value shares the output's memory; otherwise it is copied there
 * at the end of the run. ox_session_output then describes that memory, which must stay valid as long as it is read. A
 * run that fails may have written to it. Setting or unsetting makes the next run plan again. Builds for devices refuse
 * it. */
OX_API ox_status ox_session_set_outputs(ox_session *session, ox_output_fn *callback, void *context, ox_error *error);

/* Describes output `index` of the last run; extra outputs follow the model's. It is a packed tensor, or the input's own
 * tensor if the output is an input. The memory belongs to the session and is valid until its next run, prepare or free.
 * Setting inputs for the next run does not invalidate it, except an output that is an input which gets another
 * shape. */
OX_API ox_status ox_session_output(const ox_session *session, size_t index, ox_tensor *tensor, ox_error *error);

/* Output `index` of the last run as a value; NULL if it is a tensor, which ox_session_output describes. The value
 * belongs to the session, and is valid until the next run, prepare or free; do not free it. */
OX_API ox_status ox_session_output_value(const ox_session *session, size_t index, const ox_value **value,
                                         ox_error *error);

/* Bytes of memory that a session holds. */
typedef struct ox_memory_info {
    size_t arena_bytes;  /* activations and workspaces, in one block */
    size_t plan_bytes;   /* descriptors, prepared kernels and folded constants */
    size_t weight_bytes; /* packed weights; the model keeps them for all of its sessions */
} ox_memory_info;

/* Writes to *info the bytes that the session holds now. After ox_session_prepare the arena is exactly what the run
 * needs, unless shapes depend on data. */
OX_API void ox_session_memory(const ox_session *session, ox_memory_info *info);

/* The element types of inputs, outputs and computations of the nodes of operator `use_index` (that of ox_model_op_use),
 * bit 1u << ox_dtype each, after ox_session_prepare; for nodes whose shapes depend on data, after a run. */
OX_API uint32_t ox_session_op_types(const ox_session *session, size_t use_index);

/* ---- Profiles ------------------------------------------------------------------------------------------------ */

/* The kind of a step of a run. */
typedef enum ox_step_kind {
    OX_STEP_KERNEL, /* one node, computed; a product with the elementwise nodes of its epilogue */
    OX_STEP_PASS,   /* several elementwise nodes, fused: values between them are never written to memory */
    OX_STEP_VIEW,   /* one node whose outputs share the memory of its inputs: no bytes move */
    OX_STEP_COPY,   /* one node that would be a view, but its outputs had to be packed */
    OX_STEP_CONTROL /* one node that ran subgraphs; their steps have been reported, one level deeper */
} ox_step_kind;

/* The name of a `kind`: "kernel", "pass", ...; static storage. */
OX_API const char *ox_step_kind_name(ox_step_kind kind);

/* A step that has just been executed. Nodes that were computed during planning are not steps. */
typedef struct ox_profile_event {
    ox_step_kind kind;      /* of the step */
    int depth;              /* 0 in the main graph, 1 in a subgraph of one of its nodes, ... */
    size_t node_count;      /* of a pass: its members; otherwise 1 */
    uint64_t start_ns;      /* on a monotonic clock of the host */
    uint64_t duration_ns;   /* subgraphs included */
    uint64_t bytes_read;    /* in memory; each element counts once, however often broadcasting repeats it */
    uint64_t bytes_written; /* in the same way */
    const void *step;       /* identifies the step in its session, in every run */
    const void *frame;      /* internal */
} ox_profile_event;

/* A node of a step. The pointers live as long as the model. */
typedef struct ox_profile_node {
    const char *name;   /* "" if the model gives none */
    const char *output; /* the name of its first output, "" if that is omitted */
    const char *domain; /* "" is ONNX's own */
    const char *op;     /* "Add" */
} ox_profile_node;

/* Called after each step that succeeded, in the thread that runs the session. It must not use the session. */
typedef void ox_profile_fn(void *context, const ox_profile_event *event);

/* Makes runs report their steps to `callback`, from the next run on. NULL turns profiling off; runs then read no
 * clock. */
OX_API void ox_session_set_profile(ox_session *session, ox_profile_fn *callback, void *context);

/* Describes node `index` of a step in *node, in the order of execution. Call it only in the callback for the event. */
OX_API ox_status ox_profile_event_node(const ox_profile_event *event, size_t index, ox_profile_node *node);

/* A step that is about to be executed. */
typedef struct ox_progress {
    int depth;            /* as in ox_profile_event */
    size_t done, total;   /* nodes of its graph: those that are finished, and all */
    ox_profile_node node; /* the step's node; the last one of a pass */
} ox_progress;

/* Called before each step of a run with its `progress`, in the thread that runs the session. It must not use the
 * session. */
typedef void ox_progress_fn(void *context, const ox_progress *progress);

/* Makes runs report each step to `callback` before it starts. NULL turns that off. */
OX_API void ox_session_set_progress(ox_session *session, ox_progress_fn *callback, void *context);

/* ---- The operator table ------------------------------------------------------------------------------------- */

/* A row of the operator table. */
typedef struct ox_op_info {
    const char *domain; /* "" is ONNX's own */
    const char *name;   /* "Add" */
    uint64_t versions;  /* bit 1 << v for each version of the specification that this row serves */
    uint32_t dtypes;    /* bit 1u << ox_dtype for each element type of its main input */
    int min_inputs, max_inputs, min_outputs, max_outputs; /* OX_ANY for no bound */
} ox_op_info;

/* The number of rows of the operator table. */
OX_API size_t ox_op_count(void);

/* Row `index` of the table, which is sorted by domain, name and version, in *info. */
OX_API ox_status ox_op_get(size_t index, ox_op_info *info);

/* ---- Operators of your own ---------------------------------------------------------------------------------- */

/* A model may use operators that ox does not have: describe each by an ox_operator, and set the list in ox_options when
 * the model is loaded. docs/operators-of-your-own.md is a guide with a complete example. An operator has up to three
 * functions; each gets a call, which represents one node of the model:
 *   infer    gets types and shapes of the inputs, and sets types and shapes of the outputs. It checks everything that
 *            can be wrong, and may be called again at any time.
 *   prepare  is called after infer, when a plan is made for new shapes of the inputs. It computes state for run in
 *            memory of the plan. May be NULL.
 *   run      computes. It allocates nothing. NULL if every output is a view.
 * They return OX_OK, or the status that a function of the call returned. One session calls them from one thread, but
 * several sessions may do so at the same time. */
typedef struct ox_call ox_call;

/* One of these functions. */
typedef ox_status ox_call_fn(ox_call *call);

/* The loop of an elementwise operator for one element type: computes n elements. arg[0] is the result, packed;
 * arg[1...] are the operands, step[1...] their strides in bytes: the size of an element, or 0 if one element repeats.
 * The result may be the memory of an operand. Elements may be at any address on machines with unaligned loads. attr is
 * the state that prepare got from ox_call_state, or NULL. A result must depend only on its operands, not on n or on its
 * position. Returns 0, or OX_LANE_FAULT for operands without a result. */
typedef int ox_lane(int64_t n, char *const arg[], const int64_t step[], const void *attr);

enum {
    OX_LANE_FAULT = 4,
    OX_LANE_INPUTS = 3 /* the most operands of a loop */
};

/* A loop with its types. */
typedef struct ox_typed_lane {
    ox_dtype dtype;  /* of the operands; loops for OX_FLOAT serve all floating types of 16 bits and less */
    ox_dtype result; /* of what it computes, converted to the output's type: mostly the same */
    ox_lane *lane;   /* the loop */
} ox_typed_lane;

/* What the library may do with an operator; bits of ox_operator.flags. */
typedef enum ox_op_flags {
    OX_OP_STRIDED = 1,    /* takes inputs with any strides; without it, inputs are packed */
    OX_OP_IN_PLACE = 2,   /* output 0 may share the memory of an input of its shape and element size */
    OX_OP_RANDOM = 16,    /* gives other results each time: never folded as a constant */
    OX_OP_SHAPE_ONLY = 32 /* reads only the shapes of its inputs */
} ox_op_flags;

enum {
    OX_ANY = 127 /* any number of inputs or outputs */
};

/* Start from a zeroed struct. In ONNX's own domain operators may be added, but not replaced; in all other domains yours
 * take precedence. Of several with one name, the newest one whose `since` is not above the model's opset version is
 * used. */
typedef struct ox_operator {
    const char *domain; /* "org.example"; "" is ONNX's own */
    const char *name;   /* of the operator */
    int since;          /* the first version of the domain's operator set that has it: 1 and more */
    int min_inputs, max_inputs, min_outputs, max_outputs; /* OX_ANY for no bound */
    uint32_t dtypes;                   /* bit 1u << ox_dtype for each element type of input 0; 0: infer checks them */
    unsigned flags;                    /* ox_op_flags */
    ox_call_fn *infer, *prepare, *run; /* see above; prepare may be NULL */
    /* Elementwise operators have loops instead of run and flags. They broadcast, and are fused with their neighbours.
     * They have min_inputs == max_inputs inputs, of one type unless infer allows others; the first input's type selects
     * the loop. infer may be NULL: the output then has the inputs' type and their broadcast shape. */
    const ox_typed_lane *lanes;
    size_t lane_count; /* entries of lanes */
} ox_operator;

/* The node of a call. An input is NULL if the node omits it, and has data == NULL while its data is unknown (infer,
 * prepare). An output is NULL if it is not requested; it is packed, described from prepare on, and has data in run. */

/* The version of the operator's domain that the model imports. */
OX_API int ox_call_version(const ox_call *call);

/* The number of the node's inputs, omitted ones included. */
OX_API int ox_call_input_count(const ox_call *call);

/* The number of the node's outputs, omitted ones included. */
OX_API int ox_call_output_count(const ox_call *call);

/* Input `index`, as far as it is known; NULL if the node omits it. */
OX_API const ox_tensor *ox_call_input(const ox_call *call, int index);

/* Output `index`, which run writes to; NULL if it is not requested. */
OX_API const ox_tensor *ox_call_result(const ox_call *call, int index);

/* Attributes by `name`. For a missing one the functions return `otherwise` (for lists: NULL, and a `count` of 0); for
 * one of another type they do so too, and the call fails. Returned pointers live as long as the model. */

/* True if the node has an attribute `name`, of any type. */
OX_API bool ox_call_has(ox_call *call, const char *name);

/* The integer `name`, or `otherwise`. */
OX_API int64_t ox_call_int(ox_call *call, const char *name, int64_t otherwise);

/* The float `name`, or `otherwise`. */
OX_API float ox_call_float(ox_call *call, const char *name, float otherwise);

/* The string `name`, or `otherwise`. */
OX_API ox_string ox_call_string(ox_call *call, const char *name, const char *otherwise);

/* The list of integers `name`, with `count` entries; NULL without one. */
OX_API const int64_t *ox_call_ints(ox_call *call, const char *name, size_t *count);

/* The list of floats `name`, with `count` entries; NULL without one. */
OX_API const float *ox_call_floats(ox_call *call, const char *name, size_t *count);

/* The list of strings `name`, with `count` entries; NULL without one. */
OX_API const ox_string *ox_call_strings(ox_call *call, const char *name, size_t *count);

/* The tensor `name`; NULL without one. */
OX_API const ox_tensor *ox_call_tensor(ox_call *call, const char *name);

/* Fails with a status and a text, to which node and operator are added, and returns the `status`. The `format` supports
 * %s %.*s %d %u %ld %lu %lld %llu %zu %c %g %x %%. */
OX_API ox_status ox_call_fail(const ox_call *call, ox_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Infer: input `index` with its data. Return any status other than OX_OK unchanged: the data is then unknown before the
 * run, and infer is called again when it is known. */
OX_API ox_status ox_call_data(ox_call *call, int index, const ox_tensor **tensor);

/* Infer: fails unless input `index` has an element type of the `set` (bits 1u << ox_dtype). */
OX_API ox_status ox_call_check_dtype(ox_call *call, int index, uint32_t set);

/* Infer: fails unless the given inputs from `first` to `last` have the type of the first. */
OX_API ox_status ox_call_check_same(ox_call *call, int first, int last);

/* Infer: normalizes an `axis` in [-`rank`, `rank`-1] to [0, `rank`-1], in *result, or fails. `what` names it in the
 * error ("axis"). */
OX_API ox_status ox_call_axis(ox_call *call, const char *what, int64_t axis, int rank, int *result);

/* Infer: output `index` is a new tensor of `rank` dimensions `dims`, which are copied. Outputs that are not
 * requested may be described too. */
OX_API ox_status ox_call_output(ox_call *call, int index, ox_dtype dtype, int rank, const int64_t *dims);

/* Infer: output `index` is a view of the memory of input `of`, and must stay within it: element 0 is at `offset` bytes;
 * `rank`, `dims` and the byte `strides` give the others. */
OX_API ox_status ox_call_view(ox_call *call, int index, int of, int64_t offset, int rank, const int64_t *dims,
                              const int64_t *strides);

/* Prepare: `size` zeroed bytes of plan memory, which run gets from ox_call_get_state; NULL if out of memory: then
 * return OX_ERROR_MEMORY. Returns NULL in infer and run. */
OX_API void *ox_call_state(ox_call *call, size_t size);

/* Run: the state that prepare got from ox_call_state, or NULL. */
OX_API void *ox_call_get_state(const ox_call *call);

/* Prepare: requests `size` bytes of workspace for run, aligned to a cache line. Does nothing in infer and run. */
OX_API void ox_call_set_workspace(ox_call *call, size_t size);

/* Run: the workspace that prepare requested; NULL in infer and prepare. */
OX_API void *ox_call_workspace(const ox_call *call);

/* A shared object with operators, for `ox run --plugin FILE` or your own program, exports one function,
 * ox_plugin_entry. Its descriptors are static. A program that loads plug-ins must export the functions of this header
 * to them, as the command ox and every program that uses the shared library do. */
#define OX_PLUGIN_ABI 1

/* The result of a shared object's ox_plugin_entry. */
typedef struct ox_plugin {
    uint32_t abi;     /* OX_PLUGIN_ABI, which changes when this section changes so that plug-ins have to be rebuilt */
    const char *name; /* for errors */
    const ox_operator *operators; /* static */
    size_t operator_count;        /* entries of operators */
} ox_plugin;

/* The plug-in's operators. Each shared object defines this function; the library does not. */
extern OX_API const ox_plugin *ox_plugin_entry(void);

/* Checks the result of a `plugin`'s entry point: ABI and operators. */
OX_API ox_status ox_plugin_check(const ox_plugin *plugin, ox_error *error);

#ifdef __cplusplus
}
#endif

#endif
