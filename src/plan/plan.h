/* plan.h: planning one node: shapes, views, the prepared operator. */
#ifndef OX_PLAN_PLAN_H
#define OX_PLAN_PLAN_H

#include "frame/frame.h"

/* Infers node n into the results of frame->planning. live: the data of all its inputs is there. OX_DEFER if some is
 * wanted. */
ox_status ox_plan_infer(ox_frame *frame, int n, bool live);
/* Runs node n, of an operator that runs subgraphs, for the same results: the data of all its inputs is there. */
ox_status ox_plan_control(ox_frame *frame, int n);
/* Describes output k of node n from these results. */
ox_status ox_plan_describe(ox_frame *frame, int n, int k);
/* Lets the operator of node n prepare its run, in `pile`; step->work are the bytes that the run wants. once: it runs
 * now and never again, so that nothing is laid out in the store for it. */
ox_status ox_plan_prepare(ox_frame *frame, int n, bool once, ox_pile *pile);

/* True if all inputs of node n are the same in all sessions of the model, whatever comes in. */
bool ox_node_is_fixed(const ox_frame *frame, int n);
/* ox_frame_call while a plan is made: the operator knows which of its inputs are constant, and of no weights yet. */
ox_call *ox_plan_call(ox_frame *frame, int n, ox_pile *pile);

#endif
