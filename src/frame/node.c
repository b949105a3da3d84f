/* node.c: running one node: its inputs are packed, its operator called, its views shown. */
#include "node.h"

#include "iterate/bcast.h"

/* Packs the inputs that need it at the start of the workspace; the rest belongs to the operator. */
static unsigned char *pack_inputs(ox_frame *frame, int n, unsigned char *workspace) {
    size_t packed = 0;
    for (ox_packing *p = ox_frame_prepared(frame, n)->packings; p; p = p->next) {
        frame->work.in[p->input] = &p->to;
        if (p->packed)
            continue;
        p->to.data = workspace + p->offset;
        size_t end = p->offset + ox_aligned((size_t)ox_tensor_count(&p->to) * ox_dtype_size(p->to.dtype));
        packed = end > packed ? end : packed;
        ox_pack(frame->loops, frame->pool, p->from, p->to.data);
    }
    return workspace + packed;
}

static void show_views(ox_frame *frame, int n) {
    const ox_step *step = &frame->plan.steps[n];
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; step->outputs && k < node->nout; k++) {
        const ox_output *output = &step->outputs[k];
        if (node->out[k] < 0 || (output->view != OX_VIEW_SHOWN && output->view != OX_VIEW_COPIED))
            continue;
        ox_tensor seen = output->seen, *out = &ox_frame_own(frame, node->out[k])->tensor;
        seen.data = (char *)ox_frame_slot(frame, node->in[output->input])->tensor.data + output->offset;
        if (output->view == OX_VIEW_SHOWN)
            out->data = seen.data;
        else
            ox_pack(frame->loops, frame->pool, &seen, out->data);
    }
}

/* What a run relies on, and what holds behind it: each piece of workspace that prepare asked for has been taken. */
#if OX_ASSERTIONS
static void begin_run(ox_frame *frame, int n) {
    ox_call *call = &frame->work.call;
    OX_ASSERT(ox_is_aligned(call->workspace) || !frame->plan.steps[n].work);
    call->pieces = &ox_frame_prepared(frame, n)->pieces;
    const int reads = call->op->flags & (OX_OP_SHAPE_ONLY | OX_OP_FUNCTION) ? 0
                      : call->op->flags & OX_OP_LIKE                        ? 1
                                                                            : call->nin;
    for (int i = 0; i < reads; i++)
        OX_ASSERT(!call->in[i] || call->in[i]->data || !ox_tensor_count(call->in[i]));
    for (int k = 0; k < call->nout; k++)
        OX_ASSERT(!call->out[k] || ox_step_view(&frame->plan.steps[n], k) || ox_tensor_is_packed(call->out[k]));
}

static void end_run(ox_frame *frame, int n, bool done) {
    const ox_call *call = &frame->work.call;
    OX_ASSERT(ox_frame_calls(frame, n));
    for (ox_piece *piece = *call->pieces; piece; piece = piece->next) {
        OX_ALLOW((char *)call->workspace + piece->at, ox_aligned(piece->bytes));
        OX_ASSERT(piece->taken || !piece->bytes || !done || ox_pool_cancelled(frame->pool));
        piece->taken = false;
    }
}
#else
static void begin_run(ox_frame *frame, int n) {
    (void)frame, (void)n;
}
static void end_run(ox_frame *frame, int n, bool done) {
    (void)frame, (void)n, (void)done;
}
#endif

ox_status ox_node_run(ox_frame *frame, int n, unsigned char *workspace) {
    if (ox_step_runs(&frame->plan.steps[n])) {
        ox_call *call = ox_frame_call(frame, n, NULL);
        call->workspace = pack_inputs(frame, n, workspace);
        begin_run(frame, n);
        const bool is_program = OX_WITH_FUSION && ox_frame_prepared(frame, n)->is_program;
        ox_status status = is_program ? ox_run_elementwise(call) : call->op->run(call);
        end_run(frame, n, status == OX_OK);
        OX_TRY(status);
    }
    show_views(frame, n);
    return OX_OK;
}
