/* profile.h: the callbacks for the steps of a run. */
#ifndef OX_RUNTIME_PROFILE_H
#define OX_RUNTIME_PROFILE_H

#include "frame/frame.h"

/* The functions are called before a step and after it. */
struct ox_profile {
    ox_profile_fn *callback; /* NULL: none */
    void *context;
    ox_progress_fn *progress; /* likewise */
    void *progress_context;
    ox_status (*step)(ox_frame *frame, int n, ox_status (*run)(ox_frame *frame, int n)); /* ox_profile_step */
};

/* Does something with node n by way of `run`, and reports it as a step. */
ox_status ox_profile_step(ox_frame *frame, int n, ox_status (*run)(ox_frame *frame, int n));

#endif
