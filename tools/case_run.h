/* case_run.h: running one case of the ONNX backend test layout. */
#ifndef OX_CASE_RUN_H
#define OX_CASE_RUN_H

#include "compare.h"

typedef enum ox_outcome {
    OX_CASE_PASSED,
    OX_CASE_FAILED,
    OX_CASE_UNSUPPORTED
} ox_outcome;

/* "passed", "failed", "unsupported" */
const char *ox_outcome_name(ox_outcome outcome);

/* Runs every data set of the case in a directory, its model loaded with the options. Adds the reason unless it passes.
 * A tolerance below 0 means the case's own (data.json), or the default. */
ox_outcome ox_case_run(const char *directory, const ox_options *options, ox_tolerance tolerance, ox_text *reason);

#endif
