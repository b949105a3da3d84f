/* attempt.h: one try to load and run what may be no model at all. */
#ifndef OX_TORTURE_ATTEMPT_H
#define OX_TORTURE_ATTEMPT_H

#include "subject.h"

typedef enum outcome {
    OUTCOME_RAN,
    OUTCOME_REFUSED, /* not loaded */
    OUTCOME_FAILED,  /* loaded, but not run */
    OUTCOMES
} outcome;

enum {
    ATTEMPT_BYTES = 256 << 20 /* more memory is not given */
};

typedef struct attempt {
    outcome outcome;
    size_t peak;       /* bytes of memory at once */
    const char *fault; /* what must not be, NULL if all is well; static storage */
    ox_error error;    /* of the load or the run */
} attempt;

/* Loads the bytes and runs the model twice (once if that takes long), on the subject's inputs where they fit and on
 * zeros elsewhere; whole: every step is checked (ox_options.check). */
void attempt_run(const subject *s, const unsigned char *bytes, size_t size, bool whole, attempt *result);

/* What must not be where the bytes are those of a whole model: that it does not run, unless ox lacks something. */
const char *attempt_fault_of_whole(const attempt *result);

#endif
