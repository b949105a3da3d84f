/* pass_program.h: a lane program as the builder (pass_build.c) leaves it and the runner (pass.c) reads it. */
#ifndef OX_OPS_PASS_PROGRAM_H
#define OX_OPS_PASS_PROGRAM_H

#include "bcast.h"
#include "pass.h"

typedef struct pass_operand {
    const ox_tensor *tensor; /* its data is read when the pass runs */
    const int64_t *steps;    /* bytes along each dimension of the space */
    int64_t width;           /* of an element */
    ox_move_fn *move;
    ox_spread_fn *spread;
    int reg;
    bool gathered; /* neither packed nor one element within a tile: laid out in the register's tile first */
} pass_operand;

typedef struct pass_reg {
    ox_dtype dtype;
    const void *constant; /* NULL if not one */
    size_t tile;          /* offset of its tile in the scratch memory, if it has one */
    int operand;          /* -1 if not one */
    int writer;           /* the instruction that writes it, -1 if none */
    int last;             /* the last instruction that reads it, -1 if none */
    int store;            /* the store that takes it, -1 if none */
    bool scalar;          /* one element for a whole tile */
} pass_reg;

typedef struct pass_instruction {
    ox_lane *lane;
    const void *attr;
    int tag; /* of the node it comes from */
    int nargs;
    int reg[OX_LANE_ARGS];      /* [0] is written */
    int64_t step[OX_LANE_ARGS]; /* bytes between elements, 0 for one that repeats */
    bool once;                  /* all operands repeat: one element is enough */
    int streamed;               /* the streamed store of its result, -1 if none */
    int64_t piece;              /* elements to compute and stream in turn */
} pass_instruction;

typedef struct pass_store {
    int reg;
    int64_t width;
    const ox_tensor *out;
    bool streamed; /* through a tile */
} pass_store;

/* A tile is dimensions [0, block) of the space and `chunk` entries of dimension `block`. */
struct ox_pass {
    ox_bcast space;
    int block;
    int64_t inner; /* elements in dimensions [0, block) */
    int64_t chunk;
    int64_t rows;  /* tiles along dimension `block` */
    int64_t tiles; /* all of them */
    int noperands, nregs, ncode, nstores;
    pass_operand *operands;
    pass_reg *regs;
    pass_instruction *code;
    pass_store *stores;
    ox_stream_fn *stream;
    size_t tile_bytes; /* of all tiles together */
    size_t scratch;
};

#endif
