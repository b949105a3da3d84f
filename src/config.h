/* config.h: every limit of the library. Each can be overridden on the compiler's command line. */
#ifndef OX_CONFIG_H
#define OX_CONFIG_H

/* A reduced build says here what it has: OX_TYPES, OX_MOVED_TYPES, OX_REDUCED_TYPES, OX_TABLE and OX_WITH_... */
#ifdef OX_SELECTION
#include OX_SELECTION
#endif

/* The element types that loops are built for, bit 1u << ox_dtype each. */
#ifndef OX_TYPES
#define OX_TYPES (~0u)
#endif

/* The element types of operators that only move elements, whatever they are. */
#ifndef OX_MOVED_TYPES
#define OX_MOVED_TYPES (~0u)
#endif

/* Those of operators that reduce or slide windows: all but elementwise and quantized ones. */
#ifndef OX_REDUCED_TYPES
#define OX_REDUCED_TYPES OX_TYPES
#endif

/* The flags that some row of the operator table has, besides those that all rows of a kind have. */
#ifndef OX_ROW_FLAGS
#define OX_ROW_FLAGS (~0)
#endif

/* The rows of the operator table. */
#ifndef OX_TABLE
#define OX_TABLE "table.inc"
#endif

/* What a reduced build may leave out: the details of error texts, ... */
#ifndef OX_WITH_TEXTS
#define OX_WITH_TEXTS 1
#endif
/* ... operators of the caller's own, ... */
#ifndef OX_WITH_OPERATORS
#define OX_WITH_OPERATORS 1
#endif
/* ... model-local functions, ... */
#ifndef OX_WITH_FUNCTIONS
#define OX_WITH_FUNCTIONS 1
#endif
/* ... data of tensors outside of the model's bytes, */
#ifndef OX_WITH_EXTERNAL
#define OX_WITH_EXTERNAL 1
#endif
/* ... loops of their own for convolutions whose groups have one input channel, on devices, */
#ifndef OX_WITH_DEPTH
#define OX_WITH_DEPTH 1
#endif
/* ... convolutions of bytes as products of columns, which devices need for nothing but ConvInteger and for
 * sizes beyond the limits of their loops for bytes, */
#ifndef OX_WITH_COLUMNS
#define OX_WITH_COLUMNS 1
#endif
/* ... data of tensors in typed fields, float_data and so on, besides raw_data, */
#ifndef OX_WITH_TYPED
#define OX_WITH_TYPED 1
#endif
/* ... the computation of constants when a plan is made: without it each run computes them, */
#ifndef OX_WITH_CONSTANTS
#define OX_WITH_CONSTANTS 1
#endif
/* ... code that reads trees from attributes: `ox embed` lays trees out beforehand, ... */
#ifndef OX_WITH_TREES
#define OX_WITH_TREES 1
#endif
/* ... attributes of nodes, subgraphs among them, values other than tensors, operators that compute (all others are
 * views), elementwise operators. */
#ifndef OX_WITH_ATTRIBUTES
#define OX_WITH_ATTRIBUTES 1
#endif
#ifndef OX_WITH_SUBGRAPHS
#define OX_WITH_SUBGRAPHS 1
#endif
#ifndef OX_WITH_VALUES
#define OX_WITH_VALUES 1
#endif
#ifndef OX_WITH_RUNS
#define OX_WITH_RUNS 1
#endif
#ifndef OX_WITH_PASSES
#define OX_WITH_PASSES 1
#endif
/* Loops that move elements between strides. Without them strided inputs of callers are packed element by element. */
#ifndef OX_WITH_MOVES
#define OX_WITH_MOVES 1
#endif
/* QuantizeLinear and DequantizeLinear of other types than float and integers of 8, 16 and 32 bits. */
#ifndef OX_WITH_SCALES
#define OX_WITH_SCALES 1
#endif

/* 1 for a device: small limits, small blocks of memory, and one body per loop in place of several fast ones. */
#ifndef OX_SMALL
#define OX_SMALL 0
#endif

/* Neighbouring elementwise nodes become one pass. A device runs each by itself, in little code (src/bare/pass.c). */
#ifndef OX_WITH_FUSION
#define OX_WITH_FUSION (!OX_SMALL)
#endif

/* Elementwise operators after a product run on its blocks (epilogues). */
#define OX_WITH_EPILOGUES (OX_WITH_PASSES && OX_WITH_FUSION)

/* Checks of the model, which devices leave out because they get valid models only: attributes are compared with ONNX's
 * definitions, stated types and shapes with those of the results. */
#ifndef OX_WITH_CHECKS
#define OX_WITH_CHECKS (!OX_SMALL)
#endif

/* A session can run every step in a second way, too, and compare (ox_options.check). */
#ifndef OX_WITH_SELF_CHECK
#define OX_WITH_SELF_CHECK (!OX_SMALL)
#endif

/* Floats of 16 bits may stay floats between nodes (ox_options.float16_sums). */
#ifndef OX_WITH_WIDENING
#define OX_WITH_WIDENING (!OX_SMALL)
#endif

/* Caches of keys and values may be bytes, or packed in 4 bits (GroupQueryAttention). */
#ifndef OX_WITH_BYTE_CACHES
#define OX_WITH_BYTE_CACHES (!OX_SMALL)
#endif

/* A model tells which operators it uses (ox_model_op_use). */
#ifndef OX_WITH_USES
#define OX_WITH_USES (!OX_SMALL)
#endif

/* Nodes are brought into an order in which they can run, if they are in none, as ONNX demands. */
#ifndef OX_WITH_SORTING
#define OX_WITH_SORTING (!OX_SMALL)
#endif

/* Nodes between DequantizeLinear and QuantizeLinear become integer operators. */
#ifndef OX_WITH_QUANTIZED
#define OX_WITH_QUANTIZED 1
#endif

/* Some of them become operators that ONNX lacks: tables of one byte, QLinearGemm. */
#ifndef OX_WITH_OWN_OPERATORS
#define OX_WITH_OWN_OPERATORS (OX_WITH_QUANTIZED && !OX_SMALL)
#endif

/* Average pools between quantizations do, on devices, too, if their list says so. */
#ifndef OX_WITH_MEANS
#define OX_WITH_MEANS 1
#endif
#define OX_WITH_BYTE_MEANS (OX_WITH_OWN_OPERATORS || (OX_SMALL && OX_WITH_MEANS))

/* Gemm between quantizations becomes QLinearGemm, on devices, too, if their list says so. */
#ifndef OX_WITH_GEMMS
#define OX_WITH_GEMMS 1
#endif
#define OX_WITH_BYTE_GEMMS (OX_WITH_OWN_OPERATORS || (OX_SMALL && OX_WITH_GEMMS))
/* Add, Sub, Mul and Div of two tensors of bytes, the same if their list says so. */
#ifndef OX_WITH_ARITHMETIC
#define OX_WITH_ARITHMETIC 1
#endif
#define OX_WITH_BYTE_ARITHMETIC (OX_WITH_OWN_OPERATORS || (OX_SMALL && OX_WITH_ARITHMETIC))
/* Functions of one byte as tables, on devices only where models name them. */
#ifndef OX_WITH_TABLES
#define OX_WITH_TABLES 1
#endif
#define OX_WITH_BYTE_TABLES (OX_WITH_OWN_OPERATORS || (OX_SMALL && OX_WITH_TABLES))
/* Some operator that only models of `ox embed` name is there, ... */
#define OX_WITH_SOME_OWN (OX_WITH_BYTE_MEANS || OX_WITH_BYTE_GEMMS || OX_WITH_BYTE_ARITHMETIC || OX_WITH_BYTE_TABLES)
/* ... and models name them: on devices, if a list has them. */
#ifndef OX_WITH_REWRITTEN
#define OX_WITH_REWRITTEN OX_WITH_SOME_OWN
#endif

/* The nodes as the model has them stay beside, for sessions that want them. */
#ifndef OX_KEEP_WRITTEN
#define OX_KEEP_WRITTEN (OX_WITH_QUANTIZED && !OX_SMALL)
#endif

/* Sparse tensors of a model are made dense when it is loaded. */
#ifndef OX_WITH_SPARSE
#define OX_WITH_SPARSE (!OX_SMALL)
#endif

/* The highest rank of a tensor. */
#ifndef OX_MAX_RANK
#define OX_MAX_RANK (OX_SMALL ? 8 : 64)
#endif

/* How deep messages may nest in a model file; ONNX's own parser stops at 100 too. */
#ifndef OX_MAX_DEPTH
#define OX_MAX_DEPTH (OX_SMALL ? 16 : 100)
#endif

/* Bytes of a tensor that a run describes, repeated elements counted. No honest model comes near. */
#ifndef OX_MAX_TENSOR_BYTES
#define OX_MAX_TENSOR_BYTES (SIZE_MAX > UINT32_MAX ? (size_t)((uint64_t)1 << 38) : SIZE_MAX / 4)
#endif

/* How deep subgraphs may nest in a model file. */
#ifndef OX_MAX_GRAPHS
#define OX_MAX_GRAPHS (OX_SMALL ? 4 : 32)
#endif

/* How deep model-local functions may call each other and subgraphs nest, together: by default, and at most. A
 * level takes up to 2 KB of stack. */
#ifndef OX_MAX_CALLS
#define OX_MAX_CALLS (OX_SMALL ? 4 : 128)
#endif
#ifndef OX_MOST_CALLS
#define OX_MOST_CALLS (OX_SMALL ? 4 : 1024)
#endif

/* Plans that a session keeps, each for other shapes of its inputs: by default, and at most. */
#ifndef OX_MAX_PLANS
#define OX_MAX_PLANS (OX_SMALL ? 1 : 4)
#endif
#ifndef OX_MOST_PLANS
#define OX_MOST_PLANS (OX_SMALL ? 1 : 64)
#endif

/* Nodes of a model after model-local functions are expanded, and no more than OX_EXPAND_BASE + OX_EXPAND_FACTOR * (size
 * of the file without weights): functions that call each other twice double with every 50 bytes. ox_limits.nodes
 * replaces both limits. */
#ifndef OX_MAX_NODES
#define OX_MAX_NODES (1 << 20)
#endif
#ifndef OX_EXPAND_BASE
#define OX_EXPAND_BASE (1 << 16)
#endif
#ifndef OX_EXPAND_FACTOR
#define OX_EXPAND_FACTOR 2
#endif

/* Nodes that the loader writes for Gradient; and it looks at 16 times as many. */
#ifndef OX_MAX_GRADIENT_NODES
#define OX_MAX_GRADIENT_NODES (OX_SMALL ? 1 << 12 : 1 << 16)
#endif

/* Parsing a model may take OX_PARSE_BASE + OX_PARSE_FACTOR * (size of the file without weights) bytes. An honest node
 * takes about eight times its size in the file; a file of empty messages would take a hundred times. */
#ifndef OX_PARSE_BASE
#define OX_PARSE_BASE ((size_t)1 << (OX_SMALL ? 16 : 22))
#endif
#ifndef OX_PARSE_FACTOR
#define OX_PARSE_FACTOR 24
#endif

/* The sparse tensors of a model may take OX_SPARSE_BASE + OX_SPARSE_FACTOR * (bytes of their values in the file) bytes
 * when they are made dense. */
#ifndef OX_SPARSE_BASE
#define OX_SPARSE_BASE ((size_t)1 << 26)
#endif
#ifndef OX_SPARSE_FACTOR
#define OX_SPARSE_FACTOR 1024
#endif

/* Items of a sequence. */
#ifndef OX_MAX_ITEMS
#define OX_MAX_ITEMS ((size_t)1 << (OX_SMALL ? 10 : 20))
#endif

/* Initializers of 4-bit and 2-bit integers that only DequantizeLinear in blocks reads stay packed from so many bytes
 * on. */
#ifndef OX_PACKED_BYTES
#define OX_PACKED_BYTES ((size_t)1 << 16)
#endif

/* Results of nodes that depend only on constants and shapes are computed once, when a plan is made, if they have at
 * most this size; larger ones, too, if a session's bytes are not limited, until a plan has this many bytes of them, or
 * as many as the model. */
#ifndef OX_FOLD_BYTES
#define OX_FOLD_BYTES ((size_t)1 << (OX_SMALL ? 12 : 20))
#endif
#ifndef OX_CONSTANT_BYTES
#define OX_CONSTANT_BYTES ((size_t)1 << 30)
#endif

/* Bytes of first-level cache that one tile of an elementwise pass may use, all its registers together. */
#ifndef OX_TILE_BYTES
#define OX_TILE_BYTES (OX_SMALL ? 512 : 12800)
#endif

/* The longest row that a pass reduces; the registers of a pass hold whole rows. */
#ifndef OX_ROW_BYTES
#define OX_ROW_BYTES (64 << 10)
#endif

/* A row of at least this many elements is worth a loop call of its own; shorter rows are gathered into tiles. */
#ifndef OX_ROW_MIN
#define OX_ROW_MIN 256
#endif

/* Blocks of at least this many bytes are mapped in large pages, not taken from malloc. */
#ifndef OX_MAPPED_BYTES
#define OX_MAPPED_BYTES ((size_t)1 << 20)
#endif

/* Results of at least this many bytes are stored past the caches. */
#ifndef OX_STREAM_BYTES
#define OX_STREAM_BYTES ((size_t)32 << 20)
#endif

/* The same for results of the model, which no later node wants in a cache, and for all transposes. */
#ifndef OX_STREAM_RESULT_BYTES
#define OX_STREAM_RESULT_BYTES ((size_t)6 << 20)
#endif

/* Loops whose results go past the caches prefetch operands of at least this many bytes. */
#ifndef OX_PREFETCH_BYTES
#define OX_PREFETCH_BYTES ((size_t)8 << 20)
#endif

/* Passes prefetch the next tile of operands of at least this many bytes, which do not lie in a cache. */
#ifndef OX_AHEAD_BYTES
#define OX_AHEAD_BYTES ((size_t)32 << 20)
#endif

/* Steps that write fewer bytes than this are not worth waking other threads for. */
#ifndef OX_SPLIT_BYTES
#define OX_SPLIT_BYTES ((size_t)128 << 10)
#endif

/* The memory that threads work in is so far apart. */
#ifndef OX_APART_BYTES
#define OX_APART_BYTES ((size_t)64 << 10)
#endif

/* A step polls for cancellation after about so many bytes of work. */
#ifndef OX_POLL_BYTES
#define OX_POLL_BYTES ((size_t)512 << 10)
#endif

/* Bytes of a core's second-level cache where the system does not tell; blocks of matrix products are cut to fit. */
#ifndef OX_CACHE_BYTES
#define OX_CACHE_BYTES ((size_t)256 << 10)
#endif

/* Bytes of the second matrix of a product that are laid out in panels at a time. */
#ifndef OX_PANEL_BYTES
#define OX_PANEL_BYTES ((size_t)4 << 20)
#endif

/* Loops rely on this: all scratch memory that the library gives them begins at a multiple of this, a cache line.
 * Scratch memory is the workspace of an operator, in a run and while a constant is computed, each part of it and each
 * thread's part; the memory of subgraphs; and blocks of the store, such as packed weights. Values are not aligned: an
 * input, a result or a constant may begin at any address that its elements may have (OX_UNALIGNED), because it may be
 * in a file, in the caller's memory or within another value. Loops compute by themselves where cache lines of values
 * begin. */
#ifndef OX_ALIGN
#define OX_ALIGN (OX_SMALL ? 8 : 64)
#endif

/* Alignment of every other block of memory, such as plan memory: that of any element, and what all allocators give. */
#ifndef OX_GRAIN
#define OX_GRAIN (OX_SMALL || _Alignof(max_align_t) < 16 ? 8 : 16) /* armhf, s390x: 8 */
#endif

/* 1: names of nodes and of values between inputs and outputs are kept for error texts and profiles. 0: errors name
 * nodes by their position. */
#ifndef OX_KEEP_NAMES
#define OX_KEEP_NAMES (!OX_SMALL || OX_WITH_TEXTS)
#endif

/* 1: the prepared state of operators is kept with the plan. 0: it is prepared again for each run of a node, in the
 * arena; a plan then takes little more than the shapes of values. */
#ifndef OX_KEEP_STATE
#define OX_KEEP_STATE (!OX_SMALL)
#endif

/* Size of the blocks that plan and model memory grow by. */
#ifndef OX_CHUNK_BYTES
#define OX_CHUNK_BYTES (OX_SMALL ? 256 : 4096)
#endif

/* Typed loads may be at any address where the machine allows it, so that weights are used where they lie in a file. */
#ifndef OX_UNALIGNED
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__s390x__)
#define OX_UNALIGNED 1
#else
#define OX_UNALIGNED 0
#endif
#endif

#endif
