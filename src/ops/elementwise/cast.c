/* cast.c: Cast, CastLike and BitCast: an element type for another. */
#include "cast_text.h"
#include "ops/elementwise.h"

#include "iterate/bcast.h"

/* ---- What is asked for -------------------------------------------------------------------------------------- */

/* Cast-1 names the type in capitals. */
static ox_dtype named_dtype(ox_string to) {
    char name[16] = "";
    for (size_t i = 0; i < to.size && i + 1 < sizeof name; i++)
        name[i] = (char)(to.data[i] >= 'A' && to.data[i] <= 'Z' ? to.data[i] - 'A' + 'a' : to.data[i]);
    return ox_dtype_from_name(name);
}

static ox_dtype target_of(ox_call *call) {
    if (ox_op_has(call->op, OX_OP_LIKE))
        return call->in[1]->dtype;
    if (call->op->since == 1)
        return named_dtype(ox_call_string(call, "to", ""));
    int64_t to = ox_call_int(call, "to", OX_UNDEFINED);
    return to > OX_UNDEFINED && to < OX_DTYPE_COUNT ? (ox_dtype)to : OX_UNDEFINED;
}

static bool read_rounding(ox_string mode, ox_rounding *rounding) {
    *rounding = ox_says(mode, "down") ? OX_ROUND_DOWN : ox_says(mode, "nearest") ? OX_ROUND_NEAREST : OX_ROUND_UP;
    return *rounding != OX_ROUND_UP || ox_says(mode, "up");
}

static ox_narrowing narrowing_of(ox_call *call, ox_dtype to) {
    ox_narrowing how = {.dtype = to, .overflow = !ox_call_int(call, "saturate", 1)};
    read_rounding(ox_call_string(call, "round_mode", "up"), &how.rounding);
    return how;
}

ox_status ox_infer_cast(ox_call *call) {
    ox_dtype to = target_of(call);
    ox_string mode = ox_call_string(call, "round_mode", "up");
    ox_rounding rounding;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (to == OX_UNDEFINED)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'to' does not name an element type");
    if (!(OX_BIT(to) & call->op->dtypes))
        return ox_call_fail(call, OX_ERROR_MODEL, "%s cannot be cast to %s", OX_INPUT(call, 0), ox_dtype_name(to));
    if (!read_rounding(mode, &rounding))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'round_mode' must be up, down or nearest, not '%.*s'",
                            OX_SHORT(mode));
    return ox_call_output(call, 0, to, call->in[0]->rank, call->in[0]->dims);
}

/* ---- Cast and CastLike -------------------------------------------------------------------------------------- */

/* What prepare leaves for run if text is to be made. */
typedef struct cast_state {
    ox_pass *pass;
    ox_text_out text;
} cast_state;

static bool makes_text(const ox_call *call) {
    return OX_HAS(OX_STRING) && call->out[0]->dtype == OX_STRING && call->in[0]->dtype != OX_STRING;
}

/* Text takes memory, so that threads cannot make it side by side. */
bool ox_fits_cast(const ox_call *call) {
    return !makes_text(call);
}

static ox_reg emit_parse(ox_call *call, ox_pass_builder *b, ox_reg text) {
    ox_dtype *to = ox_pile_get(call->pile, sizeof *to);
    if (!to)
        return -1;
    *to = call->out[0]->dtype;
    bool real = *to == OX_DOUBLE || ox_dtype_compute(*to) == OX_FLOAT;
    return ox_pass_apply(b, real ? ox_lane_parse_real : ox_lane_parse_int, to, real ? OX_DOUBLE : OX_INT64, 1, &text);
}

static ox_reg emit_print(ox_call *call, ox_pass_builder *b, ox_reg number) {
    cast_state *state = call->state;
    ox_dtype dtype = ox_pass_dtype(b, number);
    bool real = dtype == OX_DOUBLE || ox_dtype_compute(dtype) == OX_FLOAT;
    bool has_sign = OX_BIT(dtype) & (OX_SET_SINT | OX_BIT(OX_INT4) | OX_BIT(OX_INT2));
    state->text = (ox_text_out){.dtype = dtype, .out = call->out[0]};
    if (dtype == OX_BOOL)
        return ox_pass_apply(b, ox_lane_print_bool, &state->text, OX_STRING, 1, &number);
    number = ox_pass_convert(b, number, real ? OX_DOUBLE : has_sign ? OX_INT64 : OX_UINT64);
    ox_lane *lane = real ? ox_lane_print_real : has_sign ? ox_lane_print_int : ox_lane_print_uint;
    return ox_pass_apply(b, lane, &state->text, OX_STRING, 1, &number);
}

/* Numbers for integers of less than 8 bits: the nearest ones, ties to even. Wider integers take what is left when the
 * fraction is cut off. */
static ox_reg emit_nearest(ox_pass_builder *b, ox_reg number, ox_dtype to) {
    const bool small = OX_BIT(to) & OX_SET_TINY && !(OX_BIT(to) & OX_SET_WIDENED);
    const ox_reg wide = OX_HAS_ANY(OX_SET_TINY) && small ? ox_pass_widen(b, number) : -1;
    const ox_dtype from = ox_pass_dtype(b, wide);
    return from == OX_FLOAT || from == OX_DOUBLE ? ox_elementwise_apply(b, OX_LANES_Round, NULL, from, 1, &wide)
                                                 : number;
}

ox_reg ox_emit_cast(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    ox_narrowing how = narrowing_of(call, call->out[0]->dtype);
    if (makes_text(call))
        return emit_print(call, b, in[0]);
    bool parses = OX_HAS(OX_STRING) && call->in[0]->dtype == OX_STRING && how.dtype != OX_STRING;
    return ox_pass_narrow(b, parses ? emit_parse(call, b, in[0]) : emit_nearest(b, in[0], how.dtype), &how);
}

ox_status ox_prepare_cast(ox_call *call) {
    if (!makes_text(call))
        return ox_prepare_elementwise(call);
    cast_state *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_prepare_elementwise(call));
    state->pass = call->state;
    call->state = state;
    return OX_OK;
}

ox_status ox_run_cast(ox_call *call) {
    if (!makes_text(call))
        return ox_run_elementwise(call);
    cast_state *state = call->state;
    size_t count = (size_t)ox_tensor_count(call->out[0]);
    state->text.room = ox_pile_array(call->strings, count, OX_NUMBER_TEXT);
    if (!state->text.room)
        return ox_fail_memory(call->error, "text", count * OX_NUMBER_TEXT);
    call->state = state->pass;
    ox_status status = ox_run_elementwise(call);
    call->state = state;
    return status;
}

/* ---- BitCast ------------------------------------------------------------------------------------------------ */

/* The same bytes under another name; but types of less than a byte lie in one with or without their sign. */
ox_status ox_infer_bit_cast(ox_call *call) {
    const ox_tensor *x = call->in[0];
    ox_dtype to = target_of(call);
    int64_t strides[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (to == OX_UNDEFINED || !(OX_BIT(to) & call->op->dtypes))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'to' does not name an element type that has bits");
    if (ox_dtype_bits(to) != ox_dtype_bits(x->dtype))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has elements of %d bits, %s of %d", OX_INPUT(call, 0),
                            ox_dtype_bits(x->dtype), ox_dtype_name(to), ox_dtype_bits(to));
    if (ox_dtype_bits(to) < 8)
        return ox_call_output(call, 0, to, x->rank, x->dims);
    ox_tensor_strides(x, strides);
    OX_TRY(ox_call_view(call, 0, 0, 0, x->rank, x->dims, strides));
    call->results[0].dtype = to;
    return OX_OK;
}

ox_status ox_run_bit_cast(ox_call *call) {
    const ox_tensor *out = call->out[0];
    ox_pack(call->loops, call->pool, call->in[0], out->data);
    char *elements = out->data;
    call->loops->wrap(ox_tensor_count(out), (char *[]){elements, elements}, (const int64_t[]){1, 1}, &out->dtype);
    return OX_OK;
}
