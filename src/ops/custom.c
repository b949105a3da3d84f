/* custom.c: operators from outside: their descriptors are checked, and what their functions return is too. */
#include "custom.h"

#include <string.h>

#include "elementwise.h"

enum {
    FLAGS = OX_OP_STRIDED | OX_OP_IN_PLACE | OX_OP_RANDOM | OX_OP_SHAPE_ONLY
};

/* The detail of a row. */
typedef struct custom {
    ox_elementwise elementwise; /* first: the detail of a row with OX_OP_PASS is one of these */
    const ox_operator *given;
} custom;

static const ox_operator *given(const ox_call *call) {
    return ((const custom *)call->op->detail)->given;
}

/* ---- Calls -------------------------------------------------------------------------------------------------- */

/* A status that is none is not passed on, and every failure has a text. */
static ox_status call_function(ox_call *call, ox_call_fn *fn, ox_call_phase phase) {
    const char *what = phase == OX_CALL_INFER ? "infer" : phase == OX_CALL_PREPARE ? "prepare" : "run";
    if (call->error)
        call->error->text[0] = 0;
    call->phase = phase;
    ox_status status = fn(call);
    call->phase = OX_CALL_ANY;
    if (status == OX_OK)
        return call->attr_status;
    if (status == OX_DEFER && fn == given(call)->infer)
        return status;
    if ((unsigned)status > OX_ERROR_CANCELLED)
        return ox_fail(call->error, OX_ERROR_ARGUMENT, "its %s function returned %d, which is not a status", what,
                       (int)status);
    if (call->error && !call->error->text[0])
        return ox_fail(call->error, status, "its %s function failed: %s", what, ox_status_name(status));
    return status;
}

/* Its infer function sees the elements of constants, and may read them without asking for them. */
static void note_constants(ox_call *call) {
    for (int i = 0; i < call->nin && i < 64 && !call->live; i++)
        if (call->in[i] && call->in[i]->data)
            call->looked_at |= (uint64_t)1 << i;
}

static ox_status infer(ox_call *call) {
    note_constants(call);
    if (call->op->dtypes && call->nin && call->in[0])
        OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    return given(call)->infer ? call_function(call, given(call)->infer, OX_CALL_INFER) : ox_infer_broadcast(call);
}

static ox_status prepare(ox_call *call) {
    const ox_operator *op = given(call);
    if (!op->run)
        return ox_call_fail(call, OX_ERROR_ARGUMENT, "an output is not a view, but the operator has no run function");
    call->state = NULL;
    return op->prepare ? call_function(call, op->prepare, OX_CALL_PREPARE) : OX_OK;
}

static ox_status run(ox_call *call) {
    return call_function(call, given(call)->run, OX_CALL_RUN);
}

/* ---- Elementwise operators ---------------------------------------------------------------------------------- */

static const ox_typed_lane *find_lane(const ox_operator *op, ox_dtype dtype) {
    for (size_t i = 0; i < op->lane_count; i++)
        if (op->lanes[i].dtype == dtype)
            return &op->lanes[i];
    return NULL;
}

/* The types that the loops serve, computed in themselves or in float. */
static ox_dtypes lane_dtypes(const ox_operator *op) {
    ox_dtypes set = 0;
    for (int dtype = 1; dtype < OX_DTYPE_COUNT; dtype++)
        if (find_lane(op, ox_dtype_compute((ox_dtype)dtype)))
            set |= OX_BIT(dtype);
    return set;
}

static ox_reg emit(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_reg args[OX_LANE_INPUTS];
    for (int i = 0; i < call->nin; i++)
        args[i] = ox_pass_widen(b, in[i]);
    const ox_typed_lane *lane = find_lane(given(call), ox_pass_dtype(b, args[0]));
    call->state = NULL;
    if (lane && given(call)->prepare)
        call->attr_status = call_function(call, given(call)->prepare, OX_CALL_PREPARE);
    if (!lane || call->attr_status)
        return -1;
    return ox_pass_apply(b, lane->lane, call->state, lane->result, call->nin, args);
}

/* ---- Descriptors -------------------------------------------------------------------------------------------- */

static bool is_range(int min, int max) {
    return min >= 0 && max >= min && max <= OX_ANY && min < OX_ANY;
}

static bool is_dtype(ox_dtype dtype) {
    return ox_dtype_size(dtype) > 0;
}

/* Why the elementwise operator cannot be used; NULL if it can. */
static const char *lanes_fault(const ox_operator *op) {
    if (op->run || op->flags)
        return "it has loops, and with them no run function and no flags";
    if (op->min_inputs < 1 || op->max_inputs != op->min_inputs || op->max_inputs > OX_LANE_INPUTS)
        return "its loops need a fixed number of inputs, from 1 to 3";
    if (op->min_outputs != 1 || op->max_outputs != 1)
        return "its loops give exactly one output";
    for (size_t i = 0; i < op->lane_count; i++) {
        const ox_typed_lane *lane = &op->lanes[i];
        if (!lane->lane || !is_dtype(lane->dtype) || !is_dtype(lane->result))
            return "a loop is NULL or has no element type";
        if (ox_dtype_compute(lane->dtype) != lane->dtype)
            return "it has a loop for a type that is computed in float";
    }
    return op->dtypes & ~lane_dtypes(op) ? "it has element types without a loop" : NULL;
}

static const char *fault_of(const ox_operator *op) {
    if (op->since < 1 || op->since > INT16_MAX)
        return "its version is not between 1 and 32767";
    if (!is_range(op->min_inputs, op->max_inputs) || !is_range(op->min_outputs, op->max_outputs))
        return "its numbers of inputs or outputs are not a range";
    if (op->flags & ~(unsigned)FLAGS)
        return "it has unknown flags";
    if (!*op->domain && ox_op_find("", op->name, INT16_MAX, NULL))
        return "operators of ONNX itself cannot be replaced";
    if (op->lane_count)
        return op->lanes ? lanes_fault(op) : "its list of loops is NULL";
    return op->infer ? NULL : "it has neither an infer function nor loops";
}

static bool same(const ox_operator *a, const ox_operator *b) {
    return a->since == b->since && !ox_text_order(a->name, b->name) && !ox_text_order(a->domain, b->domain);
}

ox_status ox_custom_check(const ox_operator *operators, size_t count, ox_error *error) {
    if (count && !operators)
        return ox_fail(error, OX_ERROR_ARGUMENT, "the list of %zu operators is NULL", count);
    for (size_t i = 0; i < count; i++) {
        const ox_operator *op = &operators[i];
        if (!op->domain || !op->name || !*op->name || !ox_text_order(op->domain, "ai.onnx"))
            return ox_fail(error, OX_ERROR_ARGUMENT,
                           "operator %zu of the list has no name, or no domain (\"\" is ONNX's)", i);
        const char *fault = fault_of(op);
        for (size_t k = 0; k < i && !fault; k++)
            fault = same(op, &operators[k]) ? "it is given twice" : NULL;
        if (fault)
            return ox_fail(error, OX_ERROR_ARGUMENT, "operator '%.*s%s%.*s' version %d: %s", 80, op->domain,
                           *op->domain ? "." : "", 80, op->name, op->since, fault);
    }
    return OX_OK;
}

static ox_op make_row(const ox_operator *op, const custom *detail) {
    bool lanes = op->lane_count > 0;
    return (ox_op){.domain = op->domain,
                   .name = op->name,
                   .since = (int16_t)op->since,
                   .min_in = (int8_t)op->min_inputs,
                   .max_in = (int8_t)op->max_inputs,
                   .min_out = (int8_t)op->min_outputs,
                   .max_out = (int8_t)op->max_outputs,
                   .dtypes = op->dtypes || !lanes ? op->dtypes : lane_dtypes(op),
                   .infer = infer,
                   .prepare = lanes ? ox_prepare_elementwise : prepare,
                   .run = lanes ? ox_run_elementwise : run,
                   .detail = detail,
                   .flags = lanes ? OX_OP_STRIDED | OX_OP_IN_PLACE | OX_OP_PASS : op->flags | OX_OP_CHECKS};
}

static bool row_before(const ox_op *a, const ox_op *b) {
    int order = ox_op_order(a, b->domain, b->name);
    return order < 0 || (!order && a->since < b->since);
}

ox_status ox_custom_rows(ox_pile *pile, const ox_operator *operators, size_t count, const ox_op **rows,
                         ox_error *error) {
    OX_TRY(ox_custom_check(operators, count, error));
    ox_op *made = ox_pile_array(pile, count, sizeof *made);
    custom *details = ox_pile_array(pile, count, sizeof *details);
    if (!made || !details)
        return ox_fail_memory(error, "the operators", count * (sizeof *made + sizeof *details));
    for (size_t i = 0; i < count; i++) {
        details[i] = (custom){{.emit = emit, .lanes = OX_LANES_none}, &operators[i]};
        ox_op row = make_row(&operators[i], &details[i]);
        size_t at = i;
        for (; at > 0 && row_before(&row, &made[at - 1]); at--)
            made[at] = made[at - 1];
        made[at] = row;
    }
    *rows = made;
    return OX_OK;
}

ox_status ox_plugin_check(const ox_plugin *plugin, ox_error *error) {
    if (error)
        *error = (ox_error){0};
    if (!plugin)
        return ox_fail(error, OX_ERROR_ARGUMENT, "the plug-in's entry point gave NULL");
    if (plugin->abi != OX_PLUGIN_ABI)
        return ox_fail(error, OX_ERROR_UNSUPPORTED, "the plug-in was built for plug-in ABI %u, this is %u: rebuild it",
                       (unsigned)plugin->abi, OX_PLUGIN_ABI);
    return ox_custom_check(plugin->operators, plugin->operator_count, error);
}
