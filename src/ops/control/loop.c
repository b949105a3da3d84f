/* loop.c: Loop, a body that runs until its condition or the trip count ends it. */
#include "rounds.h"

/* What the body reads besides the values that it carries. */
enum {
    TRIP = 0,
    CONDITION = 1,
    CARRIED = 2
};

static int count_carried(const ox_call *call) {
    return call->nin > CARRIED ? call->nin - CARRIED : 0;
}

static ox_status check_scalar(ox_call *call, int i, ox_dtypes types, const char *what) {
    if (!ox_call_given(call, i))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, i, types));
    if (ox_tensor_count(call->in[i]) != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s, %s, must have one element", what, OX_INPUT(call, i));
    return OX_OK;
}

ox_status ox_infer_loop(ox_call *call) {
    const int carried = count_carried(call);
    int nin, nout;
    OX_TRY(check_scalar(call, TRIP, OX_BIT(OX_INT64), "the trip count"));
    OX_TRY(check_scalar(call, CONDITION, OX_SET_BOOL, "the condition"));
    for (int i = CARRIED; i < call->nin; i++)
        if (!call->in[i])
            return ox_call_fail(call, OX_ERROR_MODEL, "input %d is required, but omitted", i);
    OX_TRY(ox_rounds_ends(call, &nin, &nout));
    if (nin != CARRIED + carried)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "the body has %d inputs: with %d carried values it must have %d, for the round and the "
                            "condition come first",
                            nin, carried, CARRIED + carried);
    if (nout != 1 + call->nout || call->nout < carried)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "the body has %d outputs and the node %d, with %d carried values: the body has the "
                            "condition besides",
                            nout, call->nout, carried);
    return OX_OK;
}

/* What the body reads of the loop itself: scalars, or lists of one where the model states that. */
typedef struct loop_state {
    int64_t round;
    bool going;
} loop_state;

static ox_status set_scalar(const ox_rounds *r, int i, ox_dtype dtype, void *data) {
    static const int64_t one[] = {1};
    const int rank = r->call->bodies->input_rank(r->body, i) == 1;
    return r->call->bodies->set(r->body, i, &(ox_tensor){dtype, rank, one, NULL, data});
}

static ox_status start(ox_rounds *r, loop_state *state) {
    OX_TRY(set_scalar(r, TRIP, OX_INT64, &state->round));
    OX_TRY(set_scalar(r, CONDITION, OX_BOOL, &state->going));
    for (int j = 0; j < r->ncarried; j++)
        OX_TRY(ox_rounds_begin(r, j, CARRIED + j));
    return OX_OK;
}

static ox_status read_condition(const ox_rounds *r, bool *going) {
    const ox_tensor *condition = &r->body->results[0];
    if (condition->dtype != OX_BOOL || ox_tensor_count(condition) != 1)
        return ox_call_fail(r->call, OX_ERROR_MODEL, "output 0 of the body, the condition, is %s %s, not one bool",
                            ox_dtype_name(condition->dtype), OX_DIMS(condition->rank, condition->dims));
    *going = ox_tensor_int(condition, 0) != 0;
    return OX_OK;
}

static ox_status give_stack(ox_rounds *r, int s) {
    const ox_stack *stack = &r->stacks[s];
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_rounds_describe(r, s));
    dims[0] = r->done;
    for (int d = 0; d < stack->rank; d++)
        dims[d + 1] = stack->dims[d];
    return ox_rounds_give_stack(r, r->ncarried + s, stack->rank + 1, dims);
}

/* Loop (1 ... 25). The condition that a body gives counts only where the node has a condition: the table of the
 * specification calls it ignored otherwise. */
ox_status ox_control_loop(ox_call *call) {
    ox_rounds rounds;
    loop_state state = {0, true};
    OX_TRY(ox_rounds_open(&rounds, call, CARRIED, count_carried(call), 1, 0));
    const bool conditional = ox_call_given(call, CONDITION);
    if (ox_call_given(call, TRIP)) {
        const int64_t trips = ox_tensor_int(call->in[TRIP], 0);
        rounds.most = trips < 0 ? 0 : trips;
    }
    if (conditional)
        state.going = ox_tensor_int(call->in[CONDITION], 0) != 0;
    OX_TRY(start(&rounds, &state));
    while (rounds.done < rounds.most && (state.going || !conditional)) {
        state.round = rounds.done;
        OX_TRY(ox_rounds_run(&rounds));
        OX_TRY(read_condition(&rounds, &state.going));
    }
    for (int k = 0; k < rounds.ncarried; k++)
        OX_TRY(ox_rounds_give_carried(&rounds, k));
    for (int s = 0; s < rounds.nstacks; s++)
        OX_TRY(give_stack(&rounds, s));
    return OX_OK;
}
