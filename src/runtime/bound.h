/* bound.h: outputs of a session in the caller's memory (ox_session_set_outputs). */
#ifndef OX_RUNTIME_BOUND_H
#define OX_RUNTIME_BOUND_H

#include "frame/frame.h"
#include "frame/inner.h"
#include "caches.h"

/* Devices leave outputs where the plan places them. */
#define OX_WITH_BOUND (!OX_SMALL)

/* What a frame needs to bring its outputs where the caller wants them; each list has an entry for each output. */
typedef struct ox_bound {
    ox_output_fn *callback; /* NULL where outputs stay in the session's memory */
    void *context;
    ox_tensor *results; /* of the last run */
    void **given;       /* in this run: the caller's memory, NULL for none */
    bool *asked;        /* in this run: for that memory */
    int *caches;        /* the inputs whose memory the outputs may have: caches.h */
    ox_extent *inputs;  /* in this run, if has_inputs: for each of them, not each output */
    bool has_inputs;
    ox_room *rooms; /* for outputs that were to be computed in the caller's memory, and could not be */
} ox_bound;

/* Binds the outputs of a frame, or unbinds them if `callback` is NULL: its plan is made anew if that is a change. */
ox_status ox_bound_set(ox_frame *frame, ox_bound *bound, ox_output_fn *callback, void *context);
/* Begins a run: no output has been asked for. */
void ox_bound_begin(const ox_frame *frame, ox_bound *bound);
/* Ends a run: copies outputs that were not computed in the caller's memory to it, and lists the results. */
ox_status ox_bound_finish(ox_frame *frame, ox_bound *bound);
void ox_bound_free(ox_frame *frame, ox_bound *bound);

#endif
