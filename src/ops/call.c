/* call.c: what operators ask of their call: attributes, constant inputs, outputs. */
#include "op.h"
#include "type.h"

#include <stdarg.h>
#include <string.h>

/* ---- Texts -------------------------------------------------------------------------------------------------- */

const char *ox_call_input_text(const ox_call *call, int i, ox_input_buffer *buffer) {
    ox_tensor shown = {0};
    const ox_tensor *t = i < call->nin && call->in[i] ? &shown : NULL;
    if (t)
        shown = *call->in[i];
    const char *name = t && call->show_input ? call->show_input(call, i, &shown) : NULL;
    if (t && ox_is_value(t->dtype))
        ox_format(buffer->text, sizeof buffer->text, name ? "input %d '%.*s' (%s)" : "input %d%.*s (%s)", i, 60,
                  name ? name : "", OX_TYPE(t->dtype));
    else if (t && name)
        ox_format(buffer->text, sizeof buffer->text, "input %d '%.*s' (%s %s)", i, 60, name, ox_dtype_name(t->dtype),
                  OX_DIMS(t->rank, t->dims));
    else if (t)
        ox_format(buffer->text, sizeof buffer->text, "input %d (%s %s)", i, ox_dtype_name(t->dtype),
                  OX_DIMS(t->rank, t->dims));
    else
        ox_format(buffer->text, sizeof buffer->text, "input %d (omitted)", i);
    return buffer->text;
}

ox_status ox_call_fail_briefly(const ox_call *call, ox_status status) {
    return call->attr_status != OX_OK ? call->attr_status : ox_fail_briefly(call->error, status);
}

ox_status(ox_call_fail)(const ox_call *call, ox_status status, const char *format, ...) {
    if (!call || !format)
        return status;
    if (call->attr_status != OX_OK) /* said already, and the reason for what followed */
        return call->attr_status;
    va_list args;
    va_start(args, format);
    ox_fail_list(call->error, status, format, &args);
    va_end(args);
    return status;
}

ox_status ox_call_changed(const ox_call *call, int i) {
    return ox_call_fail(call, OX_ERROR_VALUE, "%s was changed during the run", OX_INPUT(call, i));
}

/* Fails in a function of an operator from outside, unless it is the one that may do this. */
static ox_status check_phase(const ox_call *call, ox_call_phase phase, const char *what) {
    static const char *const names[] = {"any", "infer", "prepare", "run"};
    if (!OX_WITH_OPERATORS || call->phase == OX_CALL_ANY || call->phase == phase)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_ARGUMENT, "%s is called in %s, not in %s", what, names[call->phase],
                        names[phase]);
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

const char *ox_attr_kind_name(ox_attr_kind kind) {
    static const char *const names[] = {"none",           "float", "int",     "string",  "tensor", "graph",
                                        "floats",         "ints",  "strings", "tensors", "graphs", "sparse tensor",
                                        "sparse tensors", "type",  "types"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static const ox_attr *find(const ox_call *call, const char *name) {
    for (size_t i = 0; call && name && i < call->nattrs; i++)
        if (!ox_text_order(call->attrs[i].name, name))
            return &call->attrs[i];
    return NULL;
}

bool ox_call_has(ox_call *call, const char *name) {
    return find(call, name) != NULL;
}

const ox_attr *ox_call_attr(ox_call *call, const char *name, ox_attr_kind kind) {
    const ox_attr *attr = find(call, name);
    if (!attr || attr->kind == kind)
        return attr;
    if (call->attr_status == OX_OK)
        call->attr_status = ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' is of type %s, expected %s", name,
                                         ox_attr_kind_name(attr->kind), ox_attr_kind_name(kind));
    return NULL;
}

int64_t ox_call_int(ox_call *call, const char *name, int64_t otherwise) {
    const ox_attr *attr = ox_call_attr(call, name, OX_ATTR_INT);
    return attr ? attr->u.i : otherwise;
}

float ox_call_float(ox_call *call, const char *name, float otherwise) {
    const ox_attr *attr = ox_call_attr(call, name, OX_ATTR_FLOAT);
    return attr ? attr->u.f : otherwise;
}

ox_string ox_call_string(ox_call *call, const char *name, const char *otherwise) {
    const ox_attr *attr = ox_call_attr(call, name, OX_ATTR_STRING);
    return attr ? attr->u.s : (ox_string){otherwise, otherwise ? ox_text_size(otherwise, SIZE_MAX) : 0};
}

#define LIST_ATTR(name, type, kind, member)                                                                            \
    const type *name(ox_call *call, const char *attr_name, size_t *count) {                                            \
        const ox_attr *attr = ox_call_attr(call, attr_name, kind);                                                     \
        if (count)                                                                                                     \
            *count = attr ? attr->count : 0;                                                                           \
        return attr ? attr->u.member : NULL;                                                                           \
    }
LIST_ATTR(ox_call_ints, int64_t, OX_ATTR_INTS, ints)
LIST_ATTR(ox_call_floats, float, OX_ATTR_FLOATS, floats)
LIST_ATTR(ox_call_strings, ox_string, OX_ATTR_STRINGS, strings)

const ox_tensor *ox_call_tensor(ox_call *call, const char *name) {
    const ox_attr *attr = ox_call_attr(call, name, OX_ATTR_TENSOR);
    return attr ? attr->u.tensor : NULL;
}

bool ox_says(ox_string s, const char *text) {
    return s.size == ox_text_size(text, SIZE_MAX) && !memcmp(s.data, text, s.size);
}

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

int ox_call_version(const ox_call *call) {
    return call ? call->version : 0;
}

int ox_call_input_count(const ox_call *call) {
    return call ? call->nin : 0;
}

const ox_tensor *ox_call_input(const ox_call *call, int index) {
    return call && index >= 0 && index < call->nin ? call->in[index] : NULL;
}

static ox_status check_given(const ox_call *call, int i) {
    if (!call)
        return OX_ERROR_ARGUMENT;
    return ox_call_input(call, i) ? OX_OK
                                  : ox_call_fail(call, OX_ERROR_ARGUMENT, "input %d is asked for, but omitted", i);
}

ox_status ox_call_data(ox_call *call, int i, const ox_tensor **tensor) {
    OX_TRY(check_given(call, i));
    if (!tensor)
        return ox_call_fail(call, OX_ERROR_ARGUMENT, "ox_call_data: tensor is NULL");
    *tensor = call->in[i];
    call->looked_at |= i < 64 ? (uint64_t)1 << i : 0;
    if (call->in[i]->data || ox_tensor_count(call->in[i]) == 0)
        return OX_OK;
    OX_TRY(check_phase(call, OX_CALL_INFER, "ox_call_data"));
    return OX_DEFER;
}

ox_status ox_call_int_list(ox_call *call, int i, int64_t *list, int most, int *count) {
    const ox_tensor *t = call->in[i];
    OX_TRY(ox_call_check_dtype(call, i, OX_BIT(OX_INT64) | OX_BIT(OX_INT32)));
    int64_t n = ox_tensor_count(t);
    if (t->rank > 1 || n > most)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a list of at most %d integers", OX_INPUT(call, i), most);
    OX_TRY(ox_call_data(call, i, &t));
    for (int64_t k = 0; k < n; k++)
        list[k] = ox_tensor_int(t, k);
    *count = (int)n;
    return OX_OK;
}

/* "int32, int64 are"; cut off if it is long. */
static const char *list_types(ox_dtypes set, char *text, size_t size) {
    size_t n = 0;
    for (int dtype = 1; dtype < OX_DTYPE_COUNT; dtype++)
        if (set & OX_BIT(dtype))
            n += ox_format(text + n, size - n, "%s%s", n ? ", " : "", ox_dtype_name((ox_dtype)dtype));
    ox_format(text + n, size - n, set & (set - 1) ? " are" : " is");
    return text;
}

ox_status ox_call_check_dtype(ox_call *call, int i, ox_dtypes set) {
    OX_TRY(check_given(call, i));
    if (!ox_is_value(call->in[i]->dtype) && OX_BIT(call->in[i]->dtype) & set)
        return OX_OK;
    char types[160];
    return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: type %s is not supported here; %s", OX_INPUT(call, i),
                        OX_TYPE(call->in[i]->dtype), list_types(set, types, sizeof types));
}

ox_status ox_call_check_dims(ox_call *call, int i, int rank, const int64_t *dims) {
    return ox_same_dims(call->in[i]->rank, call->in[i]->dims, rank, dims)
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s", OX_INPUT(call, i), OX_DIMS(rank, dims));
}

ox_status ox_call_check_open_dims(ox_call *call, int i, int rank, const int64_t *dims) {
    const ox_tensor *t = call->in[i];
    bool fits = t->rank == rank;
    for (int d = 0; d < rank && fits; d++)
        fits = dims[d] < 0 || t->dims[d] == dims[d];
    return fits ? OX_OK
                : ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s, where -1 is any", OX_INPUT(call, i),
                               OX_DIMS(rank, dims));
}

ox_status ox_call_check_same(ox_call *call, int first, int last) {
    OX_TRY(check_given(call, first));
    for (int i = first + 1; i <= last && i < call->nin; i++)
        if (call->in[i] && call->in[i]->dtype != call->in[first]->dtype)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type: Cast one of them",
                                OX_INPUT(call, first), OX_INPUT(call, i));
    return OX_OK;
}

ox_status ox_call_axis(ox_call *call, const char *what, int64_t axis, int rank, int *result) {
    if (!call || !result)
        return call ? ox_call_fail(call, OX_ERROR_ARGUMENT, "ox_call_axis: result is NULL") : OX_ERROR_ARGUMENT;
    if (axis < -rank || axis >= rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s %lld is out of range for rank %d (%d to %d)", what,
                            (long long)axis, rank, -rank, rank - 1);
    *result = (int)(axis < 0 ? axis + rank : axis);
    return OX_OK;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------ */

int ox_call_output_count(const ox_call *call) {
    return call ? call->nout : 0;
}

const ox_tensor *ox_call_result(const ox_call *call, int index) {
    const bool described = call && call->phase != OX_CALL_INFER;
    return described && index >= 0 && index < call->nout ? call->out[index] : NULL;
}

/* The list may be the result's own. */
static void take_list(int64_t *to, const int64_t *from, int rank) {
    for (int d = 0; d < rank; d++)
        to[d] = from[d];
}

ox_status ox_call_output(ox_call *call, int k, ox_dtype dtype, int rank, const int64_t *dims) {
    if (!call)
        return OX_ERROR_ARGUMENT;
    OX_TRY(check_phase(call, OX_CALL_INFER, "ox_call_output"));
    if (rank > 0 && !dims)
        return ox_call_fail(call, OX_ERROR_ARGUMENT, "output %d has rank %d, but its dims are NULL", k, rank);
    const bool foreign = ox_is_value(dtype) && (rank || call->phase != OX_CALL_ANY);
    if (k < 0 || k >= call->nout || rank < 0 || !ox_dtype_size(dtype) || foreign)
        return ox_call_fail(call, OX_ERROR_ARGUMENT, "output %d of %d cannot have type %s and rank %d", k, call->nout,
                            OX_TYPE(dtype), rank);
    if (rank > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "output %d would have rank %d, at most %d is supported", k, rank,
                            OX_MAX_RANK);
    if (!ox_can_hold(ox_count(rank, dims), dtype))
        return ox_call_fail(call, OX_ERROR_LIMIT, "output %d would have shape %s, too large for this machine", k,
                            OX_DIMS(rank, dims));
    ox_result *result = &call->results[k];
    result->dtype = dtype;
    result->rank = rank;
    take_list(result->dims, dims, rank);
    result->view_of = -1;
    result->data = NULL;
    return OX_OK;
}

ox_status ox_call_view(ox_call *call, int k, int of, int64_t offset, int rank, const int64_t *dims,
                       const int64_t *strides) {
    OX_TRY(check_given(call, of));
    if (rank > 0 && !strides)
        return ox_call_fail(call, OX_ERROR_ARGUMENT, "output %d has rank %d, but its strides are NULL", k, rank);
    OX_TRY(ox_call_output(call, k, call->in[of]->dtype, rank, dims));
    ox_result *result = &call->results[k];
    result->view_of = of;
    result->offset = offset;
    take_list(result->strides, strides, rank);
    return OX_OK;
}

ox_status ox_call_give(ox_call *call, int k, const ox_tensor *tensor) {
    OX_TRY(ox_call_output(call, k, tensor->dtype, tensor->rank, tensor->dims));
    call->results[k].data = tensor->data;
    ox_tensor_strides(tensor, call->results[k].strides);
    return OX_OK;
}

void *ox_call_state(ox_call *call, size_t size) {
    if (!call || check_phase(call, OX_CALL_PREPARE, "ox_call_state"))
        return NULL;
    call->state = ox_pile_get(call->pile, size);
    if (!call->state)
        ox_fail_memory(call->error, "a prepared operator", size);
    return call->state;
}

void *ox_call_get_state(const ox_call *call) {
    return call ? call->state : NULL;
}

void ox_call_set_workspace(ox_call *call, size_t size) {
    if (call)
        call->workspace_size = size;
}

void *ox_call_workspace(const ox_call *call) {
    return call && (call->phase == OX_CALL_ANY || call->phase == OX_CALL_RUN) ? call->workspace : NULL;
}
