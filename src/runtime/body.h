/* body.h: what control operators (ops/control.h) see of the frames of their subgraphs. */
#ifndef OX_RUNTIME_BODY_H
#define OX_RUNTIME_BODY_H

#include "frame/frame.h"
#include "frame/inner.h"

void ox_body_ends(const ox_graph *graph, int *nin, int *nout);
ox_status ox_body_open(ox_call *call, int number, const ox_graph *graph, int placed_from, ox_body **body);
int ox_body_input_rank(const ox_body *body, int i);
ox_status ox_body_set(ox_body *body, int i, const ox_tensor *tensor);
ox_status ox_body_hand_in(ox_body *body, int i, int given);
bool ox_body_gives_back(const ox_body *body, int i, int k);
bool ox_body_borrows(const ox_body *body, int k);
ox_status ox_body_room(ox_body *body, int number, size_t size, size_t wish, size_t keep, void **room);
/* Begins a run: no output has a place. */
void ox_body_begin(ox_inner *inner);
/* Asks the operator where output k goes. */
ox_status ox_body_place(ox_inner *inner, int k, const ox_tensor *output, void **place);
/* Ends a run: lists the results, and copies those that were not computed in their final memory. */
ox_status ox_body_finish(ox_inner *inner);
/* Describes output k by the plan, where that knows it, or as the model states it. */
ox_status ox_body_foresee(const ox_inner *inner, int k, bool planned, ox_result *result);

#endif
