/* embed.h: what "ox embed" writes for a plan. */
#ifndef OX_TOOLS_EMBED_H
#define OX_TOOLS_EMBED_H

#include "inputs.h"
#include "needs.h"
#include "write_plan.h"

/* A plan, and the files that are made of it. */
typedef struct ox_plan_file {
    const char *name; /* an identifier */
    ox_session *session;
    const ox_inputs *inputs;
    ox_needs *needs;   /* get the operators of its steps */
    size_t most_bytes; /* that the arena may take */
    ox_plan_writer sizes;
    size_t arena_bytes; /* that are taken to be enough, or as many as it may take */
    ox_text source, header, program;
} ox_plan_file;

/* Writes the texts; those of the program only if it is wanted. */
ox_status ox_embed_plan(ox_plan_file *file, bool with_program, ox_error *error);

/* Only the sizes that a plan would have. */
ox_status ox_embed_sizes(ox_session *session, ox_plan_writer *sizes, ox_error *error);

/* Of a program: print_elements, and the #ifndef that print_outputs stands in. */
extern const char ox_embed_printing[];

#endif
