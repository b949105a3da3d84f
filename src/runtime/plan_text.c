/* plan_text.c: writes a session's plan as constants of a C program (planned.h). Memory is planned again: the workspaces
 * of a device have other sizes than those of this machine, and follow the live values. */
#include "planned.h"

#include <string.h>

#include "iterate/bcast.h"
#include "ops/elementwise/byte_arithmetic.h"
#include "ops/index/byte_table.h"
#include "plan_text.h"

enum {
    ALIGNMENT = 8, /* of what lies in the arena of a device, and of constants */
    NOWHERE = -1
};

/* The memory of a value that is computed, or is an input. */
typedef struct home {
    size_t bytes, place;
    int born, dies;
    bool is_placed;
} home;

/* A list in the pile. */
typedef struct list {
    void *at;
    size_t count, room;
} list;

typedef struct constant {
    const unsigned char *bytes;
    size_t size, at;
} constant;

/* A tensor of the program; data is an offset into the arena, or into the constants. */
typedef struct written {
    ox_dtype dtype;
    int rank;
    size_t dims, strides; /* positions in the numbers; SIZE_MAX: packed */
    bool is_constant;
    size_t at;
} written;

typedef struct written_step {
    const ox_node *node; /* NULL: a copy */
    size_t in, out, attrs;
    uint32_t constants;
    size_t place;
} written_step;

typedef struct plan_writer {
    ox_frame *frame;
    ox_plan_writer *to;
    ox_pile pile;
    int *root;      /* by value: whose home it lies in, NOWHERE for constants */
    size_t *offset; /* by value: there */
    home *homes;    /* by value */
    int *tensor_of; /* by value: its position among the tensors, NOWHERE before */
    size_t constants_end;
    list numbers;     /* int64_t: dims, strides and lists of attributes */
    list constants;   /* constant */
    list tensors;     /* written */
    list ends;        /* int: positions of tensors, NOWHERE where one is omitted */
    list attrs;       /* const ox_attr * */
    list strings;     /* ox_string: of attributes */
    list attr_places; /* size_t: of the value of each, where it is a list or a tensor */
    list steps;       /* written_step */
} plan_writer;

/* ---- Lists -------------------------------------------------------------------------------------------------- */

static ox_status out_of_memory(plan_writer *w, size_t size) {
    return ox_fail_memory(w->frame->error, "a written plan", size);
}

/* Grows a list for `more` entries. */
static ox_status grow(plan_writer *w, list *l, size_t more, size_t size) {
    if (l->room - l->count >= more)
        return OX_OK;
    const size_t room = 2 * l->count + more + 16;
    void *grown = ox_pile_array(&w->pile, room, size);
    if (!grown)
        return out_of_memory(w, room);
    if (l->count)
        memcpy(grown, l->at, l->count * size);
    l->at = grown;
    l->room = room;
    return OX_OK;
}

/* The position of so many numbers, which lists with the same share. */
static ox_status add_numbers(plan_writer *w, size_t count, const int64_t *numbers, size_t *at) {
    list *l = &w->numbers;
    for (*at = 0; *at + count <= l->count; ++*at)
        if (!count || !memcmp((int64_t *)l->at + *at, numbers, count * sizeof *numbers))
            return OX_OK;
    OX_TRY(grow(w, l, count, sizeof *numbers));
    *at = l->count;
    if (count)
        memcpy((int64_t *)l->at + *at, numbers, count * sizeof *numbers);
    l->count += count;
    return OX_OK;
}

/* The position of a constant, packed; equal ones are there once. */
static ox_status add_constant(plan_writer *w, const ox_tensor *tensor, size_t *at) {
    const size_t size = (size_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype);
    const unsigned char *bytes = tensor->data;
    if (tensor->dtype == OX_STRING || ox_is_value(tensor->dtype))
        return ox_fail(w->frame->error, OX_ERROR_UNSUPPORTED, "%s: a written plan cannot hold strings",
                       w->frame->model->path);
    if (!ox_tensor_is_packed(tensor)) {
        void *packed = ox_pile_get(&w->pile, size);
        if (!packed)
            return out_of_memory(w, size);
        ox_pack(w->frame->loops, NULL, tensor, packed);
        bytes = packed;
    }
    const constant *all = w->constants.at;
    for (size_t i = 0; i < w->constants.count; i++)
        if (all[i].size == size && (!size || !memcmp(all[i].bytes, bytes, size))) {
            *at = all[i].at;
            return OX_OK;
        }
    OX_TRY(grow(w, &w->constants, 1, sizeof *all));
    *at = w->constants_end;
    ((constant *)w->constants.at)[w->constants.count++] = (constant){bytes, size, *at};
    w->constants_end = ox_round_up(*at + size, ALIGNMENT);
    return OX_OK;
}

static bool is_same(const written *a, const written *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->dims == b->dims && a->strides == b->strides &&
           a->is_constant == b->is_constant && a->at == b->at;
}

static ox_status add_tensor(plan_writer *w, const ox_tensor *t, bool is_constant, size_t at, int *position) {
    written made = {.dtype = t->dtype, .rank = t->rank, .is_constant = is_constant, .at = at, .strides = SIZE_MAX};
    OX_TRY(add_numbers(w, (size_t)t->rank, t->dims, &made.dims));
    if (t->strides && !is_constant && !ox_tensor_is_packed(t)) {
        OX_TRY(add_numbers(w, (size_t)t->rank, t->strides, &made.strides));
        w->to->has_strides = true;
    }
    if (is_constant)
        OX_TRY(add_constant(w, t, &made.at));
    const written *all = w->tensors.at;
    for (*position = 0; (size_t)*position < w->tensors.count; ++*position)
        if (is_same(&all[*position], &made))
            return OX_OK;
    OX_TRY(grow(w, &w->tensors, 1, sizeof made));
    ((written *)w->tensors.at)[w->tensors.count++] = made;
    return OX_OK;
}

/* ---- Where values lie --------------------------------------------------------------------------------------- */

static void live_until(plan_writer *w, int v, int n) {
    if (v >= 0 && w->root[v] >= 0 && w->homes[w->root[v]].dies < n)
        w->homes[w->root[v]].dies = n;
}

static void make_home(plan_writer *w, int v, int born) {
    const ox_tensor *t = &ox_frame_slot(w->frame, v)->tensor;
    w->root[v] = v;
    w->homes[v] = (home){.bytes = ox_round_up((size_t)ox_tensor_count(t) * ox_dtype_size(t->dtype), ALIGNMENT),
                         .born = born,
                         .dies = born};
}

/* The input in whose memory the plan computes output 0 of a node; NOWHERE if it has its own. */
static int find_overwritten(const plan_writer *w, const ox_node *node, int v) {
    const void *data = ox_frame_own(w->frame, v)->tensor.data;
    for (int i = 0; i < node->nin && node->op->flags & OX_OP_IN_PLACE; i++) {
        const int from = node->in[i];
        if (from >= 0 && w->root[from] >= 0 && w->offset[from] == 0 && w->homes[v].bytes &&
            w->homes[w->root[from]].bytes == w->homes[v].bytes && ox_frame_slot(w->frame, from)->tensor.data == data &&
            ox_frame_slot(w->frame, from)->placed)
            return w->root[from];
    }
    return NOWHERE;
}

/* Whether a list attribute is there and has another number than this. */
static bool has_other(const ox_node *node, const char *name, int64_t number) {
    for (int i = 0; i < node->nattrs; i++)
        for (size_t k = 0; !strcmp(node->attrs[i].name, name) && k < node->attrs[i].count; k++)
            if (node->attrs[i].u.ints[k] != number)
                return true;
    return false;
}

/* Whether a device's table, or its convolution of bytes (src/bare/conv_bytes.c), says that it overwrites its input, as
 * far as can be told here; what it says is looked at in each run. */
static bool overwrites_image(const plan_writer *w, const ox_node *node) {
    enum {
        ROOM = 2048 / sizeof(int16_t) /* of a channel with its padding, in elements */
    };
    if (node->op == &ox_op_byte_table)
        return true;
    if (*node->op->domain || strcmp(node->op->name, "QLinearConv") || node->nin < 4)
        return false;
    const ox_tensor *x = &ox_frame_slot(w->frame, node->in[0])->tensor,
                    *k = &ox_frame_slot(w->frame, node->in[3])->tensor;
    if (x->rank != 4 || has_other(node, "strides", 1) || has_other(node, "dilations", 1))
        return false;
    if (k->dims[2] == 1 && k->dims[3] == 1)
        return !has_other(node, "pads", 0);
    return k->dims[0] == x->dims[1] && k->dims[1] == 1 && k->dims[2] == 3 && k->dims[3] == 3 && x->dims[2] <= ROOM &&
           x->dims[3] <= ROOM && (x->dims[2] + 2) * (x->dims[3] + 5) <= ROOM;
}

/* Whether something reads what lies in that home behind node n, or with an input of it but the first. */
static bool is_read_behind(const plan_writer *w, int root, int n) {
    const ox_graph *graph = w->frame->graph;
    for (int m = n; m < graph->nnodes; m++)
        for (int i = m == n; i < graph->nodes[m].nin; i++)
            if (graph->nodes[m].in[i] >= 0 && w->root[graph->nodes[m].in[i]] == root)
                return true;
    for (int i = 0; i < graph->noutputs; i++)
        if (w->root[graph->outputs[i].value] == root)
            return true;
    return false;
}

/* The home of the image that a device overwrites with value v, which node n gives; NOWHERE if it cannot. */
static int find_image(const plan_writer *w, int n, int v) {
    const ox_node *node = &w->frame->graph->nodes[n];
    const int from = node->nin ? node->in[0] : NOWHERE;
    if (from < 0 || w->root[from] < 0 || w->offset[from] || !overwrites_image(w, node))
        return NOWHERE;
    const ox_tensor *x = &ox_frame_slot(w->frame, from)->tensor, *y = &ox_frame_own(w->frame, v)->tensor;
    const bool fits = ox_same_dims(x->rank, x->dims, y->rank, y->dims) && w->homes[v].bytes &&
                      w->homes[w->root[from]].bytes == w->homes[v].bytes;
    return fits && !is_read_behind(w, w->root[from], n) ? w->root[from] : NOWHERE;
}

static ox_status refuse(const plan_writer *w, int n, const char *why) {
    ox_fail(w->frame->error, OX_ERROR_UNSUPPORTED, "%s: load the model on the device instead", why);
    return ox_frame_explain(w->frame, n, OX_ERROR_UNSUPPORTED);
}

static ox_status settle_output(plan_writer *w, int n, int k) {
    const ox_node *node = &w->frame->graph->nodes[n];
    const ox_step *step = &w->frame->plan.steps[n];
    const int v = node->out[k];
    const ox_view view = ox_step_view(step, k);
    if (v < 0 || ox_frame_own(w->frame, v)->constant)
        return OX_OK;
    if (view == OX_VIEW_GIVEN || ox_is_value(ox_frame_own(w->frame, v)->tensor.dtype) ||
        ox_frame_own(w->frame, v)->tensor.dtype == OX_STRING)
        return refuse(w, n, "a written plan cannot hold strings, sequences, optionals or maps");
    make_home(w, v, n);
    if (view == OX_VIEW_SHOWN) {
        const int from = node->in[step->outputs[k].input];
        w->root[v] = w->root[from];
        w->offset[v] = w->offset[from] + (size_t)step->outputs[k].offset;
    } else if (view == OX_VIEW_NONE && k == 0) {
        int over = find_overwritten(w, node, v);
        over = over >= 0 ? over : find_image(w, n, v);
        w->root[v] = over >= 0 ? over : v;
    }
    return OX_OK;
}

static ox_status settle_values(plan_writer *w) {
    const ox_graph *graph = w->frame->graph;
    for (int i = 0; i < graph->ninputs; i++) {
        const ox_slot *slot = ox_frame_slot(w->frame, graph->inputs[i].value);
        if (slot->tensor.dtype == OX_STRING || ox_is_value(slot->tensor.dtype) || !ox_tensor_is_packed(&slot->tensor))
            return ox_fail(w->frame->error, OX_ERROR_UNSUPPORTED,
                           "%s: inputs of a written plan must be packed tensors of numbers", w->frame->model->path);
        if (!slot->constant)
            make_home(w, graph->inputs[i].value, NOWHERE);
    }
    for (int n = 0; n < graph->nnodes; n++) {
        const ox_node *node = &graph->nodes[n];
        if (w->frame->plan.steps[n].skip)
            continue;
        if (node->op->flags & (OX_OP_CONTROL | OX_OP_VALUES | OX_OP_TEXT | OX_OP_FUNCTION) && node->nout)
            return refuse(w, n, "a written plan cannot hold this operator");
        for (int i = 0; i < node->nin; i++)
            live_until(w, node->in[i], n);
        for (int k = 0; k < node->nout; k++) {
            OX_TRY(settle_output(w, n, k));
            live_until(w, node->out[k], n);
        }
    }
    for (int i = 0; i < graph->noutputs; i++)
        live_until(w, graph->outputs[i].value, graph->nnodes);
    return OX_OK;
}

static bool meet(const home *a, const home *b) {
    return a->born <= b->dies && b->born <= a->dies;
}

/* The lowest place at which a home meets none that has its place. */
static size_t find_place(const plan_writer *w, const home *mine) {
    size_t place = 0;
    for (int v = 0; v < w->frame->graph->nvalues; v++) {
        const home *other = &w->homes[v];
        if (!other->is_placed || !meet(mine, other) || other->place >= place + mine->bytes ||
            place >= other->place + other->bytes)
            continue;
        place = other->place + other->bytes;
        v = -1; /* again, from the first one */
    }
    return place;
}

/* The largest first. */
static void place_values(plan_writer *w) {
    for (;;) {
        int next = NOWHERE;
        for (int v = 0; v < w->frame->graph->nvalues; v++)
            if (w->root[v] == v && !w->homes[v].is_placed && (next < 0 || w->homes[v].bytes > w->homes[next].bytes))
                next = v;
        if (next < 0)
            return;
        w->homes[next].place = find_place(w, &w->homes[next]);
        w->homes[next].is_placed = true;
        const size_t end = w->homes[next].place + w->homes[next].bytes;
        w->to->value_bytes = end > w->to->value_bytes ? end : w->to->value_bytes;
    }
}

/* Where the values end that are alive at node n. */
static size_t end_of_values(const plan_writer *w, int n) {
    size_t end = 0;
    for (int v = 0; v < w->frame->graph->nvalues; v++) {
        const home *h = &w->homes[v];
        if (h->is_placed && h->born <= n && n <= h->dies && h->place + h->bytes > end)
            end = h->place + h->bytes;
    }
    return end;
}

/* Whether a row is not in the table: those that the rewriter alone uses have symbols of their own. */
static bool is_own(const ox_op *op) {
    return ox_op_find(op->domain, op->name, op->since, NULL) != op;
}

/* ---- Steps -------------------------------------------------------------------------------------------------- */

static ox_status tensor_of(plan_writer *w, int v, int *position) {
    *position = NOWHERE;
    if (v < 0)
        return OX_OK;
    if (w->tensor_of[v] < 0) {
        const ox_slot *slot = ox_frame_slot(w->frame, v);
        const size_t at = w->root[v] < 0 ? 0 : w->homes[w->root[v]].place + w->offset[v];
        OX_TRY(add_tensor(w, &slot->tensor, w->root[v] < 0, at, &w->tensor_of[v]));
    }
    *position = w->tensor_of[v];
    return OX_OK;
}

static ox_status add_end(plan_writer *w, int position) {
    OX_TRY(grow(w, &w->ends, 1, sizeof position));
    ((int *)w->ends.at)[w->ends.count++] = position;
    return OX_OK;
}

static ox_status add_ends(plan_writer *w, int count, const ox_index *values, size_t *at) {
    int position;
    *at = w->ends.count;
    for (int i = 0; i < count; i++) {
        OX_TRY(tensor_of(w, values[i], &position));
        OX_TRY(add_end(w, position));
    }
    return OX_OK;
}

static ox_status add_attr(plan_writer *w, int n, const ox_attr *attr) {
    size_t place = 0;
    int position = 0;
    switch (attr->kind) {
    case OX_ATTR_FLOAT:
    case OX_ATTR_INT:
    case OX_ATTR_STRING:
    case OX_ATTR_TYPE:
        break;
    case OX_ATTR_INTS:
        OX_TRY(add_numbers(w, attr->count, attr->u.ints, &place));
        break;
    case OX_ATTR_FLOATS: {
        const int64_t dims[] = {(int64_t)attr->count};
        OX_TRY(add_constant(w, &(const ox_tensor){OX_FLOAT, 1, dims, NULL, (void *)(uintptr_t)attr->u.floats}, &place));
        break;
    }
    case OX_ATTR_STRINGS:
        OX_TRY(grow(w, &w->strings, attr->count, sizeof *attr->u.strings));
        place = w->strings.count;
        if (attr->count)
            memcpy((ox_string *)w->strings.at + place, attr->u.strings, attr->count * sizeof *attr->u.strings);
        w->strings.count += attr->count;
        break;
    case OX_ATTR_TENSOR:
        OX_TRY(add_tensor(w, attr->u.tensor, true, 0, &position));
        place = (size_t)position;
        break;
    default:
        return refuse(w, n, "a written plan cannot hold attributes of this type");
    }
    OX_TRY(grow(w, &w->attrs, 1, sizeof attr));
    OX_TRY(grow(w, &w->attr_places, 1, sizeof place));
    ((const ox_attr **)w->attrs.at)[w->attrs.count++] = attr;
    ((size_t *)w->attr_places.at)[w->attr_places.count++] = place;
    return OX_OK;
}

static ox_status add_step(plan_writer *w, const written_step *made) {
    OX_TRY(grow(w, &w->steps, 1, sizeof *made));
    ((written_step *)w->steps.at)[w->steps.count++] = *made;
    return OX_OK;
}

static uint32_t types_of(const plan_writer *w, const ox_index *values, int count) {
    uint32_t types = 0;
    for (int i = 0; i < count; i++)
        if (values[i] >= 0)
            types |= OX_BIT(ox_frame_slot(w->frame, values[i])->tensor.dtype);
    return types;
}

/* The step that runs node n. */
static ox_status add_run(plan_writer *w, int n) {
    const ox_node *node = &w->frame->graph->nodes[n];
    written_step made = {.node = node, .attrs = w->attrs.count, .place = end_of_values(w, n)};
    OX_TRY(add_ends(w, node->nin, node->in, &made.in));
    OX_TRY(add_ends(w, node->nout, node->out, &made.out));
    for (int i = 0; i < node->nattrs; i++)
        OX_TRY(add_attr(w, n, &node->attrs[i]));
    for (int i = 0; i < node->nin && i < 32; i++)
        if (node->in[i] >= 0 && w->root[node->in[i]] < 0)
            made.constants |= (uint32_t)1 << i;
    if (!is_own(node->op))
        w->to->op(w->to->context, node->op->domain, node->op->name, ox_op_version(node->op, node->version),
                  types_of(w, node->in, node->nin) | types_of(w, node->out, node->nout) |
                      w->frame->plan.steps[n].types);
    return add_step(w, &made);
}

/* The step that copies a view. */
static ox_status add_copy(plan_writer *w, int n, int k) {
    const ox_node *node = &w->frame->graph->nodes[n];
    const ox_output *output = &w->frame->plan.steps[n].outputs[k];
    const int from = node->in[output->input];
    written_step made = {.in = w->ends.count, .out = w->ends.count + 1};
    int position;
    const size_t at = w->root[from] < 0 ? 0 : w->homes[w->root[from]].place + w->offset[from] + (size_t)output->offset;
    ox_tensor seen = output->seen;
    seen.data = (char *)ox_frame_slot(w->frame, from)->tensor.data + output->offset;
    OX_TRY(add_tensor(w, &seen, w->root[from] < 0, at, &position));
    OX_TRY(add_end(w, position));
    OX_TRY(tensor_of(w, node->out[k], &position));
    OX_TRY(add_end(w, position));
    return add_step(w, &made);
}

static ox_status add_steps(plan_writer *w) {
    for (int n = 0; n < w->frame->graph->nnodes; n++) {
        const ox_step *planned = &w->frame->plan.steps[n];
        if (planned->skip)
            continue;
        if (ox_step_runs(planned))
            OX_TRY(add_run(w, n));
        for (int k = 0; k < w->frame->graph->nodes[n].nout; k++)
            if (ox_step_view(planned, k) == OX_VIEW_COPIED)
                OX_TRY(add_copy(w, n, k));
    }
    return OX_OK;
}

/* ---- Text --------------------------------------------------------------------------------------------------- */

#define PUT(w, ...)                                                                                                    \
    do {                                                                                                               \
        char text_[512];                                                                                               \
        (w)->to->text((w)->to->context, text_, ox_format(text_, sizeof text_, __VA_ARGS__));                           \
    } while (0)

/* A list of C ends with one more entry, so that none is empty. */
static uint32_t put_numbers(const plan_writer *w) {
    const int64_t *all = w->numbers.at;
    uint32_t sum = ~(uint32_t)0;
    PUT(w, "\nstatic const int64_t numbers[] = {");
    for (size_t i = 0; i <= w->numbers.count; i++) {
        const int64_t number = i < w->numbers.count ? all[i] : 0;
        for (int shift = 0; shift < 64; shift += 8)
            sum = ox_planned_add(sum, (unsigned char)((uint64_t)number >> shift));
        if (i < w->numbers.count)
            PUT(w, i % 16 ? " %lld," : "\n    %lld,", (long long)number);
    }
    PUT(w, " 0};\n");
    return sum;
}

static uint32_t put_constants(const plan_writer *w, uint32_t sum) {
    size_t at = 0;
    PUT(w, "\n_Alignas(%d) static const unsigned char constants[%zu] = {", (int)ALIGNMENT,
        w->constants_end + ALIGNMENT);
    for (size_t c = 0; c < w->constants.count; c++) {
        const constant *each = &((constant *)w->constants.at)[c];
        const size_t padded = ox_round_up(each->size, ALIGNMENT);
        for (size_t i = 0; i < padded; i++, at++) {
            const unsigned char byte = i < each->size ? each->bytes[i] : 0;
            sum = ox_planned_add(sum, byte);
            PUT(w, at % 24 ? " %u," : "\n    %u,", byte);
        }
    }
    for (int i = 0; i < ALIGNMENT; i++)
        sum = ox_planned_add(sum, 0);
    PUT(w, " 0};\n");
    return ~sum;
}

static void put_tensors(const plan_writer *w) {
    const written *all = w->tensors.at;
    PUT(w, "\nstatic const ox_tensor tensors[] = {\n");
    for (size_t i = 0; i < w->tensors.count; i++) {
        PUT(w, "    {(ox_dtype)%d, %d, numbers + %zu, ", (int)all[i].dtype, all[i].rank, all[i].dims);
        if (all[i].strides == SIZE_MAX)
            PUT(w, "0, ");
        else
            PUT(w, "numbers + %zu, ", all[i].strides);
        PUT(w, all[i].is_constant ? "(void *)(constants + %zu)},\n" : "arena + %zu},\n", all[i].at);
    }
    PUT(w, "    {(ox_dtype)0, 0, numbers, 0, 0}};\n\nstatic const ox_tensor *const ends[] = {");
    for (size_t i = 0; i < w->ends.count; i++) {
        const int position = ((int *)w->ends.at)[i];
        if (position < 0)
            PUT(w, i % 8 ? " 0," : "\n    0,");
        else
            PUT(w, i % 8 ? " tensors + %d," : "\n    tensors + %d,", position);
    }
    PUT(w, " 0};\n");
}

/* Exactly, as C reads it. */
static void put_float(const plan_writer *w, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t exponent = bits >> 23 & 255, fraction = bits & 0x7fffff;
    const char *sign = bits >> 31 ? "-" : "";
    if (exponent == 255)
        PUT(w, fraction ? "%s__builtin_nanf(\"\")" : "%s__builtin_inff()", sign);
    else
        PUT(w, "%s0x%xp%df", sign, exponent ? fraction | 0x800000 : fraction, (int)(exponent ? exponent : 1) - 150);
}

static void put_string(const plan_writer *w, const char *data, size_t size) {
    PUT(w, "\"");
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)data[i];
        const bool is_plain = c > ' ' && c < 127 && c != '"' && c != '\\' && c != '?';
        if (is_plain)
            PUT(w, "%c", c);
        else
            PUT(w, "\\%u%u%u", c >> 6, c >> 3 & 7, c & 7);
    }
    PUT(w, "\"");
}

static void put_counted(const plan_writer *w, const ox_string *string) {
    PUT(w, "{");
    put_string(w, string->data, string->size);
    PUT(w, ", %zu}", string->size);
}

static void put_attr(const plan_writer *w, const ox_attr *attr, size_t place) {
    PUT(w, "    {");
    put_string(w, attr->name, ox_text_size(attr->name, SIZE_MAX));
    PUT(w, ", (ox_attr_kind)%d, %zu, {", (int)attr->kind, attr->count);
    switch (attr->kind) {
    case OX_ATTR_FLOAT:
        PUT(w, ".f = ");
        put_float(w, attr->u.f);
        break;
    case OX_ATTR_INT:
        if (attr->u.i == INT64_MIN)
            PUT(w, ".i = INT64_MIN");
        else
            PUT(w, ".i = %lldLL", (long long)attr->u.i);
        break;
    case OX_ATTR_STRING:
        PUT(w, ".s = ");
        put_counted(w, &attr->u.s);
        break;
    case OX_ATTR_TYPE:
        PUT(w, ".type = (ox_dtype)%d", (int)attr->u.type);
        break;
    case OX_ATTR_STRINGS:
        PUT(w, ".strings = strings + %zu", place);
        break;
    case OX_ATTR_INTS:
        PUT(w, ".ints = numbers + %zu", place);
        break;
    case OX_ATTR_FLOATS:
        PUT(w, ".floats = (const float *)(const void *)(constants + %zu)", place);
        break;
    default:
        PUT(w, ".tensor = tensors + %zu", place);
    }
    PUT(w, "}},\n");
}

static void put_attrs(const plan_writer *w) {
    if (w->strings.count)
        PUT(w, "\nstatic const ox_string strings[] = {\n");
    for (size_t i = 0; i < w->strings.count; i++) {
        PUT(w, "    ");
        put_counted(w, &((ox_string *)w->strings.at)[i]);
        PUT(w, i + 1 < w->strings.count ? ",\n" : "};\n");
    }
    PUT(w, "\nstatic const ox_attr attrs[] = {\n");
    for (size_t i = 0; i < w->attrs.count; i++)
        put_attr(w, ((const ox_attr **)w->attrs.at)[i], ((size_t *)w->attr_places.at)[i]);
    PUT(w, "    {0}};\n\n");
}

/* The symbol of an own row: ox_op_qlinear_average_pool of QLinearAveragePool. */
static void put_own_row(const plan_writer *w, const char *name) {
    PUT(w, "ox_op_");
    for (const char *c = name; *c; c++) {
        const bool is_capital = *c >= 'A' && *c <= 'Z';
        if (is_capital && c > name + 1)
            PUT(w, "_");
        PUT(w, "%c", is_capital ? *c - 'A' + 'a' : *c);
    }
}

/* The symbol of an operator's row, as select.awk makes it. */
static void put_row(const plan_writer *w, const ox_op *op) {
    if (is_own(op)) {
        put_own_row(w, op->name);
        return;
    }
    PUT(w, "ox_row_");
    for (const char *c = op->domain; *c; c++)
        PUT(w, "%c", *c == '.' || *c == '-' ? '_' : *c);
    PUT(w, "_%s_%d", op->name, (int)op->since);
}

static void put_steps(const plan_writer *w) {
    const written_step *all = w->steps.at;
    for (size_t i = 0; i < w->steps.count; i++)
        if (all[i].node) {
            PUT(w, "extern const ox_op ");
            put_row(w, all[i].node->op);
            PUT(w, ";\n");
        }
    PUT(w, "\nstatic const ox_planned_step steps[] = {\n");
    for (size_t i = 0; i < w->steps.count; i++) {
        const ox_node *node = all[i].node;
        PUT(w, node ? "    {&" : "    {0");
        if (node)
            put_row(w, node->op);
        PUT(w, ", ends + %zu, ends + %zu, attrs + %zu, %uu, %zu, ", all[i].in, all[i].out, all[i].attrs,
            all[i].constants, all[i].place);
        PUT(w, "%d, %d, %d, %d},\n", node ? node->nin : 1, node ? node->nout : 1, node ? node->nattrs : 0,
            node ? node->version : 0);
    }
    PUT(w, "    {0, ends, ends, attrs, 0, 0, 0, 0, 0, 0}};\n");
}

static void put_plan(const plan_writer *w, size_t inputs, size_t outputs) {
    const char *name = w->to->name;
    PUT(w, "_Alignas(16) static unsigned char arena[%s_ARENA_BYTES];\n", name);
    const uint32_t sum = put_constants(w, put_numbers(w));
    put_tensors(w);
    put_attrs(w);
    put_steps(w);
    PUT(w,
        "\nconst ox_planned %s_plan = {OX_PLANNED_FORMAT, %d, arena, sizeof arena, %zu, constants, sizeof constants, ",
        name, (int)ALIGNMENT, w->to->value_bytes);
    PUT(w, "numbers, sizeof numbers / sizeof *numbers, %uu, %zu, %d, %d, steps, ends + %zu, ends + %zu};\n", sum,
        w->steps.count, w->frame->graph->ninputs, w->frame->graph->noutputs, inputs, outputs);
}

/* ---- The whole ---------------------------------------------------------------------------------------------- */

/* Steps, and what they read and write, have numbers of 16 bits. */
static ox_status check_count(const plan_writer *w, size_t count) {
    return count <= UINT16_MAX ? OX_OK
                               : ox_fail(w->frame->error, OX_ERROR_LIMIT,
                                         "%s: a written plan has at most %d steps and tensors, not %zu",
                                         w->frame->model->path, UINT16_MAX, count);
}

static ox_status write_all(plan_writer *w) {
    const ox_graph *graph = w->frame->graph;
    const size_t count = (size_t)graph->nvalues;
    size_t inputs = 0, outputs = w->ends.count;
    OX_TRY(check_count(w, (size_t)graph->nnodes));
    w->root = ox_pile_array(&w->pile, count, sizeof *w->root);
    w->offset = ox_pile_array(&w->pile, count, sizeof *w->offset);
    w->homes = ox_pile_array(&w->pile, count, sizeof *w->homes);
    w->tensor_of = ox_pile_array(&w->pile, count, sizeof *w->tensor_of);
    if (!w->root || !w->offset || !w->homes || !w->tensor_of)
        return out_of_memory(w, count * sizeof *w->homes);
    for (size_t v = 0; v < count; v++)
        w->root[v] = w->tensor_of[v] = NOWHERE;
    OX_TRY(settle_values(w));
    place_values(w);
    OX_TRY(add_steps(w));
    inputs = w->ends.count;
    for (int i = 0, position; i < graph->ninputs; i++) { /* a constant is no input of the program */
        const int v = graph->inputs[i].value;
        OX_TRY(tensor_of(w, w->root[v] < 0 ? NOWHERE : v, &position));
        OX_TRY(add_end(w, position));
    }
    outputs = w->ends.count;
    for (int i = 0, position; i < graph->noutputs; i++) {
        OX_TRY(tensor_of(w, graph->outputs[i].value, &position));
        OX_TRY(add_end(w, position));
    }
    OX_TRY(check_count(w, w->steps.count));
    OX_TRY(check_count(w, w->ends.count));
    w->to->constant_bytes = w->constants_end;
    w->to->step_count = w->steps.count;
    w->to->table_bytes =
        8 * w->numbers.count + 20 * w->tensors.count + 4 * w->ends.count + 24 * w->attrs.count + 32 * w->steps.count;
    put_plan(w, inputs, outputs);
    return OX_OK;
}

ox_status ox_frame_write(ox_frame *frame, const ox_allocator *allocator, ox_plan_writer *to) {
    const ox_graph *graph = frame->graph;
    if (!frame->plan.stages || frame->plan.stale || !frame->options->no_fuse)
        return ox_fail(frame->error, OX_ERROR_ARGUMENT,
                       "%s: a plan can be written of a prepared session with no_fuse only", frame->model->path);
    if (frame->plan.stages->end < graph->nnodes)
        return refuse(&(plan_writer){.frame = frame}, frame->plan.stages->end,
                      ox_op_has(graph->nodes[frame->plan.stages->end].op, OX_OP_CONTROL)
                          ? "a written plan cannot hold this operator"
                          : "a shape depends on data, and a written plan is for one");
    plan_writer w = {.frame = frame, .to = to};
    ox_pile_init(&w.pile, allocator);
    to->constant_bytes = to->table_bytes = to->value_bytes = to->step_count = 0;
    const ox_status status = write_all(&w);
    ox_pile_free(&w.pile);
    return status;
}
