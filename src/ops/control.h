/* control.h: operators that run subgraphs of their node (OX_OP_CONTROL), and what the runtime does for them.
 *
 * infer of such an operator checks its inputs and the ends of its subgraphs; of its outputs it says nothing, for they
 * are known when it has run. The function of ox_control runs, with the data of all inputs, and gives every output by
 * ox_call_give. What it gives has to stay until the node runs again: results that a body keeps in memory of its own, or
 * rooms. */
#ifndef OX_OPS_CONTROL_H
#define OX_OPS_CONTROL_H

#include "op.h"

/* `detail` of rows of control operators. */
typedef struct ox_control {
    ox_call_fn *run;
} ox_control;

/* Where output k of a body goes, packed: called in each run of the body, before the output is computed, or copied. An
 * output that has been computed elsewhere stays there if `place` is its data. */
typedef ox_status ox_place_fn(void *context, int k, const ox_tensor *output, void **place);

/* A subgraph of the node, with what it needs to run. Its plan stays while the shapes of its inputs stay. */
typedef struct ox_body {
    int nin, nout;
    const ox_tensor *results; /* of the last run, one for each output; they stay until the next run */
    int placed_from;          /* outputs from here on go where `place` says; nout: none. Never changes after `open` */
    ox_place_fn *place;
    void *context;
} ox_body;

/* What a control operator asks of the runtime. */
typedef struct ox_bodies {
    /* Inputs and outputs of a subgraph. */
    void (*ends)(const ox_graph *graph, int *nin, int *nout);
    /* The `number`th subgraph of the node; it sees the values around it as they are now. */
    ox_status (*open)(ox_call *call, int number, const ox_graph *graph, int placed_from, ox_body **body);
    /* The rank that the model states of input i, -1 if none. */
    int (*input_rank)(const ox_body *body, int i);
    /* Input i from now on; the data may be written anew for each run, as long as it is described in the same way. */
    ox_status (*set)(ox_body *body, int i, const ox_tensor *tensor);
    /* The same for what input `given` of the node is: a constant stays one. */
    ox_status (*hand_in)(ox_body *body, int i, int given);
    /* True if the body gives input i back, as it is, as output k. */
    bool (*gives_back)(const ox_body *body, int i, int k);
    /* Runs the body on the inputs that are set. A cancelled run ends here, too. */
    ox_status (*run)(ox_body *body);
    /* True if output k of the last run lies in memory that is not the body's: an input or a value around it. */
    bool (*borrows)(const ox_body *body, int k);
    /* What can be known of output k without a run, for inputs as they are set: unknown dimensions are 0. */
    ox_status (*foresee)(ox_body *body, int k, ox_result *result);
    /* Gives room `number` of the body, memory that stays as long as the session, aligned to OX_ALIGN: at least `size`
     * bytes, `wish` where memory allows that. The first `keep` bytes keep their content when the room moves. Rooms
     * below 3 * nout are for results, and no larger than a tensor may be; room 3 * nout is the operator's own. */
    ox_status (*room)(ox_body *body, int number, size_t size, size_t wish, size_t keep, void **room);
} ox_bodies;

#endif
