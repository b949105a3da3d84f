/* check_node.h: running one node of a frame that is checked by itself, in the second frame, on copies. */
#ifndef OX_RUNTIME_CHECK_NODE_H
#define OX_RUNTIME_CHECK_NODE_H

#include "frame/frame.h"

#if OX_WITH_SELF_CHECK

/* Makes the second frame. */
ox_status ox_check_create(ox_frame *frame);
/* Describes the inputs of node n in the second frame: copies, constants, and what earlier nodes of the step gave. */
void ox_check_inputs(ox_frame *frame, int n);
/* Runs node n in the second frame. Its results are in the slots of its outputs, in the pile of the second plan. Errors
 * name the node. Alone: with the algorithm that the node has without fusion, whose bits must be those of the step. */
ox_status ox_check_alone(ox_frame *frame, int n);
/* Plain: on packed inputs, by the plainest algorithm and the base build of the loops; ox_call.checked are the run's. */
ox_status ox_check_plain(ox_frame *frame, int n);

/* The numbers that replace the inputs of a linear operator: their absolute values, whose sums bound rounding errors, or
 * ones, to count the terms of each sum; or none. */
typedef enum ox_check_numbers {
    OX_CHECK_ABSOLUTE,
    OX_CHECK_ONES,
    OX_CHECK_GIVEN
} ox_check_numbers;

/* The first output of node n, which has run alone, of such numbers: packed, in the pile of the second plan. Input
 * `kept` stays as it is; -1: none. */
ox_status ox_check_sums(ox_frame *frame, int n, ox_check_numbers numbers, int kept, ox_tensor *sums);

#endif

#endif
