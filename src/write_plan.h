/* write_plan.h: writes a session's plan as constants of a C program, for `ox embed --plan`. It is not part of ox.h,
 * because the command and the library are built together. */
#ifndef OX_WRITE_PLAN_H
#define OX_WRITE_PLAN_H

#include "ox.h"

/* Takes a piece of text of `size` bytes. */
typedef void ox_text_fn(void *context, const char *text, size_t size);

/* Called for each operator in the steps of a plan, with its version and element types, bit 1u << ox_dtype each. */
typedef void ox_plan_op_fn(void *context, const char *domain, const char *name, int64_t version, uint32_t types);

/* Where a plan is written to. The sizes are results. */
typedef struct ox_plan_writer {
    const char *name; /* an identifier of C, with which the names of the program begin */
    void *context;    /* for these functions */
    ox_text_fn *text;
    ox_plan_op_fn *op;
    size_t constant_bytes; /* of weights and other constants */
    size_t table_bytes;    /* of steps, tensors and lists, where pointers have 32 bits */
    size_t value_bytes;    /* of the arena, for inputs and all that steps give */
    size_t step_count;
    bool has_strides; /* some tensor is not packed, and may have to be */
} ox_plan_writer;

/* Writes the plan of a session that has been prepared, with no_fuse, for a library of `make device`. Shapes that depend
 * on data, subgraphs, strings and values other than tensors are OX_ERROR_UNSUPPORTED. */
ox_status ox_session_write_plan(ox_session *session, ox_plan_writer *writer, ox_error *error);

/* The greatest number in the attributes of a node that are lists of integers; INT64_MAX if one is negative. */
int64_t ox_node_greatest(const ox_node_info *node);

#endif
