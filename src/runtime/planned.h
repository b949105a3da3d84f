/* planned.h: a plan as constants of a program, as `ox embed --plan` writes it, and the functions that run it on a
 * device. The device neither parses nor plans: each tensor states its place in the arena, steps run in order, and an
 * operator is prepared before it runs, in the part of the arena that its step does not use. */
#ifndef OX_RUNTIME_PLANNED_H
#define OX_RUNTIME_PLANNED_H

#include "ops/op.h"

/* A step: prepare and run of an operator, or, where op is NULL, a packed copy of in[0] to out[0]. */
typedef struct ox_planned_step {
    const ox_op *op;
    const ox_tensor *const *in; /* NULL where omitted */
    const ox_tensor *const *out;
    const ox_attr *attrs;
    uint32_t constants; /* a bit for each of the first inputs that is a constant */
    uint32_t place;     /* in the arena: no value that is alive lies from there on */
    uint16_t nin, nout, nattrs, version;
} ox_planned_step;

/* A whole plan. */
typedef struct ox_planned {
    uint32_t format;    /* OX_PLANNED_FORMAT as its compiler had it */
    uint32_t alignment; /* of the arena and of all that lies in it */
    unsigned char *arena;
    size_t arena_bytes, value_bytes; /* all, and those that values take */
    const unsigned char *constants;
    size_t constant_bytes;
    const int64_t *numbers; /* dims, strides and lists of attributes */
    size_t number_count;
    uint32_t checksum; /* CRC-32 of the numbers, their low bytes first, and of the constants */
    uint16_t nsteps, ninputs, noutputs;
    const ox_planned_step *steps;
    const ox_tensor *const *inputs, *const *outputs;
} ox_planned;

/* The version of these structs, and how the compiler lays them out. */
#define OX_PLANNED_FORMAT                                                                                              \
    ((uint32_t)((2u << 24) | (sizeof(ox_planned_step) << 16) | (sizeof(ox_planned) << 8) |                             \
                (sizeof(ox_tensor) + sizeof(ox_attr))))

/* A byte more in the checksum, which begins with all bits set and ends with all of them inverted. */
static inline uint32_t ox_planned_add(uint32_t sum, unsigned char byte) {
    sum ^= byte;
    for (int bit = 0; bit < 8; bit++)
        sum = sum >> 1 ^ (0xEDB88320u & (0 - (sum & 1)));
    return sum;
}

/* Refuses a plan that is damaged or was compiled for another build of the library: checks its constants, and the places
 * of the tensors of all steps. It need not be called before each run. */
ox_status ox_planned_check(const ox_planned *plan, ox_error *error);

/* The bytes of the arena that the plan takes on this machine, in *bytes. Writes into the arena. */
ox_status ox_planned_bytes(const ox_planned *plan, size_t *bytes, ox_error *error);

/* Runs the plan. Before each run all inputs have to be written to their memory, which the run may use for others. */
ox_status ox_planned_run(const ox_planned *plan, ox_error *error);

/* Input or output `index`, packed, at its place in the arena (or a constant, for an output); NULL if out of range. */
const ox_tensor *ox_planned_input(const ox_planned *plan, size_t index);
const ox_tensor *ox_planned_output(const ox_planned *plan, size_t index);

#endif
