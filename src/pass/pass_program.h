/* pass_program.h: a lane program as it is written, laid out and run. The files call each other in one direction:
 *   pass_finish.c  ends a program: lets pass_plan.c lay it out, and copies what a run needs
 *   pass_affine.c  says which programs products can do with their sums
 *   pass_plan.c    levels, tiles and places of registers; by pass_space.c (the space and its rows) and pass_join.c
 *                  (chains)
 *   pass_store.c, pass_rows.c, pass_convert.c   write instructions by means of ...
 *   pass_build.c   ... registers, operands and instructions: the lists that the program is written in
 * pass.c runs what is finished, and knows none of them. */
#ifndef OX_PASS_PASS_PROGRAM_H
#define OX_PASS_PASS_PROGRAM_H

#include "iterate/bcast.h"
#include "loops/chain.h"
#include "pass.h"

/* How often a register changes within a tile. */
typedef enum pass_level {
    PASS_ONCE, /* one element for the whole tile */
    PASS_ROW,  /* one for each row */
    PASS_EACH
} pass_level;

typedef struct pass_operand {
    const ox_tensor *tensor; /* its data is read when the pass runs */
    const int64_t *steps;    /* bytes along each dimension of the space */
    int64_t width;           /* of an element */
    int first;               /* the innermost dimension that is laid out: those of rows are not at PASS_ROW */
    ox_move_fn *move;
    ox_spread_fn *spread;
    int reg;
    bool prefetched; /* for, a tile ahead */
    bool gathered;   /* neither packed nor one element within a tile: laid out in the register's tile first */
} pass_operand;

typedef struct pass_reg {
    ox_dtype dtype;
    const void *constant; /* NULL if not one */
    size_t tile;          /* offset of its tile in the scratch memory, if it has one */
    int operand;          /* -1 if not one */
    int writer;           /* the instruction that writes it, -1 if none */
    int last;             /* the last instruction that reads it, -1 if none */
    int readers;          /* operands of instructions that it is */
    int store;            /* the store that takes it, -1 if none */
    pass_level level;
    bool same_rows; /* an operand that is the same in each row: one of them is there */
    ox_reg spread;  /* the same laid out for each element, -1 if that is not wanted */
} pass_reg;

/* A chain that may still grow. */
typedef struct pass_chain {
    ox_chain chain;
    ox_link links[OX_CHAIN_LINKS];
    int64_t next[OX_CHAIN_ARGS];
} pass_chain;

typedef struct pass_instruction {
    ox_lane *lane;
    ox_lane *tile_lane; /* loop for tiles in the first-level cache, NULL if there is none */
    ox_lane *row_lane;  /* loop for an operand with one element per row; NULL if there is none */
    const void *attr;
    pass_chain *chain; /* what that lies in, where it is a chain's */
    int tag;           /* of the node it comes from */
    int nargs;
    int reg[OX_CHAIN_ARGS];             /* [0] is written */
    int64_t step[OX_CHAIN_ARGS];        /* bytes between elements, 0 for one that repeats */
    int64_t stream_step[OX_CHAIN_ARGS]; /* the steps where its result is streamed; negative: non-temporal */
    int64_t next[OX_CHAIN_ARGS];        /* bytes between rows, where it is called row by row */
    pass_level level;                   /* how many elements it gives */
    bool takes_rows;                    /* its operand is whole rows */
    bool folds;                         /* it gives one element for each of them */
    uint32_t keeps;                     /* bit k: reg[k], which links of its chain may read, is written, too */
    bool by_row;    /* called row by row: an operand is one element, or the same, for each of them */
    bool over_rows; /* its loop goes over such rows by itself */
    bool slow;      /* its loop takes far longer than loading and storing */
    bool streams;   /* its loop can store past the caches, ... */
    bool streamed;  /* ... and is to */
} pass_instruction;

typedef struct pass_store {
    int reg;
    int64_t width;
    const ox_tensor *out;
    pass_level level; /* PASS_EACH, or PASS_ROW */
    bool streamed;    /* past the caches, if the loop can */
} pass_store;

/* What an instruction that takes rows knows besides its operands. */
typedef struct pass_rows {
    int64_t row;                /* elements in a row */
    ox_folder folder, joins;    /* ox_pass_fold: of elements, and of their accumulators */
    const ox_loops *short_rows; /* for rows that are folded many at a time; NULL for others */
    ox_softmax_fn *softmax;
    ox_spread_fn *spread;
} pass_rows;

/* A program while it is written and laid out. Tiles are as in ox_pass. */
typedef struct pass_draft {
    ox_bcast space;
    int row_dims;
    int64_t row; /* elements in a row; 1 if nothing is done by rows */
    int block;
    int64_t inner; /* elements in dimensions [0, block) */
    int64_t chunk;
    int64_t ahead; /* bytes of the next tile that are prefetched before each instruction; 0 for none */
    int64_t rows;  /* tiles along dimension `block` */
    int64_t tiles; /* all of them */
    int noperands, nregs, ncode, nwritten, nstores;
    pass_operand *operands;
    pass_reg *regs;
    pass_instruction *code;
    const pass_instruction *written; /* the instructions before some of them were joined */
    pass_store *stores;
    size_t tile_bytes; /* of all tiles together */
    ox_reg given;      /* of ox_pass_run_given, -1 if the pass does not run by that */
    size_t scratch;
} pass_draft;

struct ox_pass_builder {
    ox_pile *pile;    /* what the pass needs when it runs */
    ox_pile *scratch; /* what is needed until it is finished */
    const ox_loops *loops;
    bool failed;
    ox_dtype lacking; /* a type that this build of the library has no loops for, OX_UNDEFINED if there is none */
    int tag;
    int rank, row_axes;
    const int64_t *dims;
    const int64_t **strides; /* of each operand, rank entries */
    int64_t least_row;       /* rows of fewer elements are laid out for loops that would be called for each */
    int operand_room, reg_room, code_room, store_room;
    pass_draft pass;
};

/* An instruction as it runs; its lists have an entry for the result and one for each argument. */
typedef struct pass_loop {
    ox_lane *lane;
    const void *attr;
    const ox_reg *reg;          /* [0] is written */
    const int64_t *step;        /* bytes between elements, 0 for one that repeats */
    const int64_t *stream_step; /* the steps where its result is streamed; negative: non-temporal; NULL if it is not */
    const int64_t *next;        /* bytes between rows; NULL if it is not called row by row */
    int tag;                    /* of the node it comes from */
    uint8_t nargs;
    uint8_t level; /* a pass_level: how many elements it gives */
} pass_loop;

/* Where a register lies in every tile. */
typedef struct pass_place {
    const void *constant; /* NULL if it is not one */
    size_t tile;          /* offset of its tile in the scratch memory, if it has one */
} pass_place;

/* The element types that the instructions of a node take and give. */
typedef struct pass_types {
    int tag;
    uint32_t types;
} pass_types;

/* A program as it runs. A tile is dimensions [0, block) of the space and `chunk` entries of dimension `block`. */
struct ox_pass {
    const int64_t *dim; /* of the space, ndim of them */
    int ndim, block;
    int64_t row;   /* elements in a row; 1 if nothing is done by rows */
    int64_t inner; /* elements in dimensions [0, block) */
    int64_t chunk;
    int64_t ahead; /* bytes of the next tile that are prefetched before each instruction; 0 for none */
    int64_t rows;  /* tiles along dimension `block` */
    int64_t tiles; /* all of them */
    int noperands, nregs, ncode, nstores, ntypes;
    ox_reg given;       /* of ox_pass_run_given, -1 if the pass does not run by that */
    size_t given_width; /* of its elements */
    pass_operand *operands;
    pass_place *regs;
    pass_loop *code;
    pass_store *stores;
    pass_types *types;
    const ox_pass_affine *affine; /* NULL if it is none */
    ox_chain_rows_fn *chain_rows; /* of the only instruction of a program that runs on what is given; or NULL */
    size_t tile_bytes;            /* of all tiles together */
    size_t scratch;
};

/* pass_build.c: notes that memory ran out, and gives -1; b may be NULL. */
ox_reg ox_pass_fail(ox_pass_builder *builder);

/* One more register, -1 once memory ran out; one more instruction or store, NULL then. */
ox_reg ox_pass_new_reg(ox_pass_builder *builder, ox_dtype dtype);
pass_instruction *ox_pass_new_instruction(ox_pass_builder *builder);
pass_store *ox_pass_new_store(ox_pass_builder *builder);

/* pass_rows.c: an instruction that lays out what changes from row to row for each element. Its attribute is a
 * pass_rows.
 */
ox_lane ox_pass_spread_lane;

/* pass_join.c: makes one instruction of the last two, if one loop can do both; where others want what the first of them
 * gives, a link keeps it. Levels are known, steps are not yet. */
void ox_pass_join(ox_pass_builder *builder);

/* pass_join.c: whether the instructions, as they are written, make one chain. */
bool ox_pass_is_chain(const ox_pass_builder *builder);

/* pass_affine.c: whether the instructions, as they were written, make an ox_pass_affine. */
bool ox_pass_is_affine(const ox_pass_builder *builder, ox_pass_affine *affine);

/* pass_join.c: which operation on floats an instruction is; OX_LINKS if it is none that can be a link. */
ox_link_kind ox_pass_link_of(const ox_pass_builder *builder, const pass_instruction *in);

/* The most elements of a tile, but for those of a row. */
enum {
    OX_LONGEST_TILE = 1 << 15
};

/* pass_space.c: merges the dimensions of the space, and chooses those of rows and of tiles. False if memory ran out. */
bool ox_pass_cut(ox_pass_builder *builder);

/* pass_space.c: bytes of an element of the widest operand or result that has as many of them as the output. */
size_t ox_pass_widest(const ox_pass_builder *builder);

/* pass_plan.c: cuts the space into tiles, and gives registers their places. False if memory ran out. */
bool ox_pass_plan(ox_pass_builder *builder);

#endif
