/* attention_lay.h: queries, keys and values as the products of Attention read them: as they lie in inputs, or with a
 * bias, normalised and rotated, and behind what caches have. */
#ifndef OX_OPS_ATTENTION_ATTENTION_LAY_H
#define OX_OPS_ATTENTION_ATTENTION_LAY_H

#include "attention.h"
#include "loops/blend_loops.h"
#include "loops/lanes.h"

enum {
    OX_LAID_Q,
    OX_LAID_K,
    OX_LAID_V,
    OX_LAID
};

/* Queries, keys or values in the type that is computed in: bytes from one batch, head and step to the next. */
typedef struct ox_stretch {
    const char *data;
    int64_t batch, head, step;
} ox_stretch;

typedef struct ox_attention_lay {
    ox_dtype dtype;                     /* that is computed in */
    bool moved[OX_LAID], made[OX_LAID]; /* rows lie elsewhere than in the input; and are others than there */
    int64_t room;                       /* bytes for each thread */
    ox_rotate_fn *turn;
} ox_attention_lay;

/* What run knows of the steps before. */
typedef struct ox_attention_steps {
    const int64_t *before;    /* for each of the batch; NULL: s->before */
    const int64_t *positions; /* of queries, for each of the batch and each step; NULL: those behind the steps before */
} ox_attention_steps;

/* Prepare: asks for the workspace of ox_attention_lay_out. */
ox_status ox_attention_plan_lay(ox_call *call, const ox_attention_shape *s, ox_dtype dtype, ox_attention_lay *lay);

/* Where rows will lie, without data. */
ox_stretch ox_attention_stretch(const ox_attention_shape *s, const ox_attention_lay *lay, int which);

/* Run: lays all three out, and fills the caches that the node gives. */
void ox_attention_lay_out(const ox_call *call, size_t *used, const ox_attention_shape *s, const ox_attention_lay *lay,
                          const ox_attention_steps *steps, ox_stretch to[OX_LAID]);

#endif
