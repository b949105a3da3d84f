/* check.h: the self-check (ox_options.check): every step of a run is computed in other ways, too, and compared.
 *
 * A frame that is checked has a second frame of the same graph. Behind each step of the first frame, every node of the
 * step runs there by itself, twice: once with the algorithm that it would have without fusion, whose bits the step
 * must give, and once with the plainest algorithm (ox_call.plain) and the plainest build of the loops, which may
 * differ by a bound (check_bounds.h). Both read copies of the step's inputs, made when these had been written, so that
 * errors do not add up, and the step at fault is the one that is named. Before a step runs, its inputs are compared
 * with these copies: a step that writes over a value that is still to be read is found there.
 *
 * What has no second way is run once: nodes of random numbers, nodes that run subgraphs (their bodies are checked), and
 * those that give sequences, optionals or maps. Integer operators that the loader wrote for quantized networks are
 * checked as they are, not against the floats that they stand for: what lies between has no counterpart there. */
#ifndef OX_RUNTIME_CHECK_H
#define OX_RUNTIME_CHECK_H

#include "frame/frame.h"

/* Whether runs of a frame are checked. */
static inline bool ox_checks(const ox_frame *frame) {
    return OX_WITH_SELF_CHECK && frame->options->check;
}

/* Begins a run: what is known of values is of the run before. */
ox_status ox_check_begin(ox_frame *frame);
/* What node n reads, which runs subgraphs, is as it was written. Errors say where they are. */
ox_status ox_check_reads(ox_frame *frame, int n);
/* Runs a step as ox_step_run does, and checks it. Errors say where they are. */
ox_status ox_check_step(ox_frame *frame, int n);
/* Ends a run: outputs of the graph are as they were written. */
ox_status ox_check_end(ox_frame *frame);

#endif
