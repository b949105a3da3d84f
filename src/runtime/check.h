/* check.h: the self-check (ox_options.check): every step of a run is also computed by other algorithms, and compared.
 *
 * A checked frame has a second frame of the same graph. After each step of the first frame, every node of the step runs
 * alone in the second, twice: once with the algorithm that it would have without fusion, whose bits the step must
 * equal, and once with the simplest algorithm (ox_call.plain) and the baseline build of the loops, whose result may
 * differ by a bound (check_bounds.h). Both read copies of the step's inputs, made when these were written, so that
 * errors do not accumulate, and the error names the step at fault. Before a step runs, its inputs are compared with
 * these copies: that finds a step that overwrote a value before its last reader.
 *
 * Nodes without a second algorithm run once: nodes of random numbers, nodes that run subgraphs (their bodies are
 * checked), and nodes with sequences, optionals or maps as results. Integer operators that the loader wrote for
 * quantized networks are checked as such, not against the float nodes that they replace, whose inner values they do not
 * have. */
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
