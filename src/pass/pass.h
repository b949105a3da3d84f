/* pass.h: lane programs. A pass goes over its output once, tile by tile; for each tile its instructions (loops of
 * lanes.h) run one after another on registers that stay in the first-level cache. One elementwise node is a program of
 * one instruction, or of a few where types are widened. */
#ifndef OX_PASS_PASS_H
#define OX_PASS_PASS_H

#include "loops/lanes.h"

typedef struct ox_pass ox_pass;                 /* ready to run */
typedef struct ox_pass_builder ox_pass_builder; /* being written */

/* A register is a number, or -1 once memory ran out: then every further call does nothing, and ox_pass_end fails. */
typedef int ox_reg;

/* Starts a program over an output of shape dims, made of these loops. The last `row_axes` dimensions are rows that
 * ox_pass_fold reduces; a tile holds whole rows, so they must be neither long nor empty. The finished pass is in
 * `pile`, the builder in `scratch`, which may be the same. */
ox_pass_builder *ox_pass_begin(ox_pile *pile, ox_pile *scratch, const ox_loops *loops, int rank, const int64_t *dims,
                               int row_axes);

/* The loops that the program is made of. */
const ox_loops *ox_pass_loops(const ox_pass_builder *builder);

/* An operand, broadcast to the output's shape; its data may be set later. `shape` has dims and strides that replace the
 * tensor's own (NULL: the tensor's own). The register holds elements of the tensor's type. */
ox_reg ox_pass_load(ox_pass_builder *builder, const ox_tensor *tensor, const ox_tensor *shape);

/* A copy that lives as long as the pass; NULL once memory ran out. */
const void *ox_pass_keep(ox_pass_builder *builder, const void *bytes, size_t size);

/* The elements that ox_pass_run_given is called with, of a type that is computed in; at most one such register. */
ox_reg ox_pass_given(ox_pass_builder *builder, ox_dtype dtype);

/* One element that repeats. */
ox_reg ox_pass_constant(ox_pass_builder *builder, ox_dtype dtype, const void *element);

/* The tag of the instructions that follow: what a fault is reported with. */
void ox_pass_tag(ox_pass_builder *builder, int tag);

/* The result of an instruction. lane may be NULL, for a loop that this build of the library lacks. attr must live as
 * long as the pass; result is the type of the new register. */
ox_reg ox_pass_apply(ox_pass_builder *builder, ox_lane *lane, const void *attr, ox_dtype result, int nargs,
                     const ox_reg *args);

/* The same for a loop of the library, which takes a step[0] below 0 where this build of the loops does
 * (OX_LANES_STREAM). */
ox_reg ox_pass_loop(ox_pass_builder *builder, ox_lane *lane, const void *attr, ox_dtype result, int nargs,
                    const ox_reg *args);

/* Describes the loop that computes `reg`. tile_lane: another loop with the same result, which is faster if its data is
 * in the first-level cache; or NULL. row_lane: a loop for an operand that has one element for each row, of step 0; its
 * attribute is the length of a row (int64_t); or NULL. slow: the loop takes far longer than loading and storing. */
void ox_pass_describe(ox_pass_builder *builder, ox_reg reg, ox_lane *tile_lane, ox_lane *row_lane, bool slow);

/* One element for each row, in the type that the register is computed in: the row reduced, in the order in which
 * ox_run_reduce does it. Wherever it is used, it repeats along the row. */
ox_reg ox_pass_fold(ox_pass_builder *builder, ox_fold fold, ox_reg reg);

/* The softmax of each row, in the type that the register is computed in; the same loop as of ox_run_softmax. */
ox_reg ox_pass_softmax(ox_pass_builder *builder, ox_reg reg);

/* The type that this build of the library has no loop for, which made the builder fail; OX_UNDEFINED otherwise. */
ox_dtype ox_pass_lacking(const ox_pass_builder *builder);

/* A register as another type: widened, narrowed (one rounding) or cast. The same register if nothing is to be done. */
ox_reg ox_pass_convert(ox_pass_builder *builder, ox_reg reg, ox_dtype dtype);

/* The same, saying how it is narrowed. */
ox_reg ox_pass_narrow(ox_pass_builder *builder, ox_reg reg, const ox_narrowing *how);

/* The register as its type is computed in (float for the small floating types). */
ox_reg ox_pass_widen(ox_pass_builder *builder, ox_reg reg);

ox_dtype ox_pass_dtype(const ox_pass_builder *builder, ox_reg reg);

/* Stores a register, converted to the output's type, to a packed tensor of the output's shape, or of one element for
 * each row. */
void ox_pass_store(ox_pass_builder *builder, ox_reg reg, const ox_tensor *out);

/* What is stored to `out` goes past the caches, where that can be done and no instruction reads it again. */
void ox_pass_stream(ox_pass_builder *builder, const ox_tensor *out);

/* True if a tile may read operand `in` after it has stored to `out`: the two must then not share memory. Nodes whose
 * result is the register of their input cause such reads: later nodes know `in` by another name. */
bool ox_pass_reads_later(const ox_pass_builder *builder, const ox_tensor *in, const ox_tensor *out);

/* The element types that the instructions with a tag take and give, bit 1u << ox_dtype each. */
uint32_t ox_pass_types(const ox_pass *pass, int tag);

/* Ends the program. NULL if memory ran out. */
ox_pass *ox_pass_end(ox_pass_builder *builder);

/* Bytes of scratch memory that running the pass takes, for each thread that runs it. */
size_t ox_pass_scratch(const ox_pass *pass);

/* The number of tiles that the output is cut into; 0 if it has no elements. */
int64_t ox_pass_tiles(const ox_pass *pass);

/* The most elements of a tile. */
int64_t ox_pass_tile_size(const ox_pass *pass);

/* Runs tiles [first, end) on the data that the pass's tensors have now. Returns 0, or the fault of a lane (lanes.h) and
 * the tag of the instruction. Different tiles may run at the same time, each with scratch memory of its own. */
int ox_pass_run(const ox_pass *pass, void *scratch, int64_t first, int64_t end, int *tag);

/* How an operand of `count` packed values broadcasts to an output: value v belongs to elements [v * each, (v + 1) *
 * each), and after the last value the first one follows again, until the output ends. count is 0 without an operand. */
typedef struct ox_pass_period {
    int64_t each, count;
} ox_pass_period;

/* A program that computes min(max(given * scale + add + plus, low) + behind, high) in floats, each step rounded; absent
 * steps have neutral values: NULL, infinite limits, -0 for behind. */
typedef struct ox_pass_affine {
    const ox_tensor *scale, *add; /* packed; both broadcast as `period` says, */
    ox_pass_period period;        /* which a product must compare with its own rows, columns and batches */
    const ox_tensor *plus;        /* as many elements as the output has, packed */
    float low, behind, high;
    const ox_tensor *out; /* packed */
} ox_pass_affine;

/* What the pass is as such a program; NULL if it is none. */
const ox_pass_affine *ox_pass_get_affine(const ox_pass *pass);

/* Elements of the output, by number: `rows` runs of `count` elements, the first from `first` on, each `step` after the
 * run before. */
typedef struct ox_pass_part {
    int64_t first, count, rows, step;
} ox_pass_part;

/* The same for a part of the output, wherever tiles would end: `given` holds its elements of the register of
 * ox_pass_given, packed. Not for passes over rows, nor for small builds. */
int ox_pass_run_given(const ox_pass *pass, void *scratch, const void *given, const ox_pass_part *part, int *tag);

#endif
