/* resize.c: Resize and Upsample. An output is made axis by axis: by weights, or by the element that is nearest. */
#include "resize.h"
#include "ops/dense.h"
#include "ops/scalar.h"

ox_status ox_infer_resize(ox_call *call) {
    ox_resize resize;
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_resize_read(call, &resize));
    OX_TRY(ox_call_check_dtype(call, 0,
                               resize.mode == OX_RESIZE_NEAREST ? call->op->dtypes : call->op->dtypes & OX_SET_NUM));
    for (int d = 0; d < resize.rank; d++)
        dims[d] = resize.axis[d].out;
    return ox_call_output(call, 0, call->in[0]->dtype, resize.rank, dims);
}

/* The range of axes that change. */
static ox_status make_maps(ox_call *call, const ox_resize *resize, ox_resize_plan *plan) {
    plan->begin = plan->end = 0;
    plan->maps = ox_pile_array(call->pile, (size_t)resize->rank, sizeof *plan->maps);
    if (!plan->maps)
        return ox_fail_memory(call->error, "a prepared operator", (size_t)resize->rank * sizeof *plan->maps);
    for (int d = 0; d < resize->rank; d++) {
        const ox_resize_axis *axis = &resize->axis[d];
        if (axis->in == axis->out && axis->scale == 1 && resize->place != OX_PLACE_CROP)
            plan->maps[d] = (ox_axis_map){.axis = d, .same = true, .in = axis->in, .out = axis->out};
        else
            OX_TRY(ox_axis_map_make(call, resize, d, &plan->maps[d]));
        plan->crops |= !plan->maps[d].same && (plan->maps[d].inside > 0 || plan->maps[d].inside_end < axis->out);
        if (plan->maps[d].same)
            continue;
        plan->begin = plan->end ? plan->begin : d;
        plan->end = d + 1;
    }
    plan->outer = ox_count(plan->begin, call->in[0]->dims);
    plan->inner = ox_count(resize->rank - plan->end, call->in[0]->dims + plan->end);
    return OX_OK;
}

ox_status ox_prepare_resize(ox_call *call) {
    ox_resize resize;
    ox_resize_plan *plan = ox_call_state(call, sizeof *plan);
    if (!plan)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_resize_read(call, &resize));
    plan->mode = resize.mode;
    if (!ox_tensor_is_packed(call->in[0]))
        OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[0]), ox_dtype_size(call->in[0]->dtype)));
    OX_TRY(make_maps(call, &resize, plan));
    if (plan->begin == plan->end)
        return OX_OK;
    return plan->mode == OX_RESIZE_NEAREST ? ox_nearest_prepare(call, plan) : ox_passes_prepare(call, plan);
}

/* Overwrites what does not lie in the input. */
static void extrapolate(ox_call *call, const ox_resize_plan *plan) {
    const ox_tensor *out = call->out[0];
    int64_t first[OX_MAX_RANK], end[OX_MAX_RANK];
    _Alignas(OX_ELEMENT_MAX) char element[OX_ELEMENT_MAX];
    for (int d = 0; d < out->rank; d++) {
        const ox_axis_map *map = &plan->maps[d];
        first[d] = map->same ? 0 : map->inside;
        end[d] = map->same ? map->out : map->inside_end;
    }
    ox_make_element(out->dtype, ox_call_float(call, "extrapolation_value", 0), element);
    ox_fill_outside(call, out->rank, out->dims, first, end, ox_dtype_size(out->dtype), out->data, element);
}

/* The input, packed: the lists beside it are read by prepare, and so all inputs come as they are. */
static const char *packed_input(const ox_call *call, size_t *used) {
    const ox_tensor *in = call->in[0];
    if (ox_tensor_is_packed(in))
        return in->data;
    char *packed = ox_workspace_take(call, used, ox_tensor_count(in), ox_dtype_size(in->dtype));
    ox_pack(call->loops, call->pool, in, packed);
    return packed;
}

ox_status ox_run_resize(ox_call *call) {
    const ox_resize_plan *plan = call->state;
    size_t used = 0;
    const char *from = packed_input(call, &used);
    if (plan->begin == plan->end)
        ox_pack(call->loops, call->pool, call->in[0], call->out[0]->data);
    else if (plan->mode == OX_RESIZE_NEAREST)
        ox_nearest_run(call, plan, from);
    else
        ox_passes_run(call, plan, from, used);
    if (plan->crops)
        extrapolate(call, plan);
    return OX_OK;
}
