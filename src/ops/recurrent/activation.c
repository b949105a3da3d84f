/* activation.c: the activations of recurrent operators, by name and with their parameters. */
#include "recurrent.h"

#include <string.h>

/* Those with `after` take a factor before the loop, if there is one, and a factor or an addition after it. */
typedef struct kind {
    const char *name;
    ox_lane_set loop, after;
    int parameters; /* that it takes: none, alpha, or alpha and beta */
    float defaults[2];
} kind;

static const kind kinds[] = {
    {"Affine", NULL, OX_LANES_Add, 2, {1, 0}},
    {"Elu", OX_LANES_Elu, NULL, 1, {1, 0}},
    {"HardSigmoid", OX_LANES_HardSigmoid, NULL, 2, {0.2f, 0.5f}},
    {"LeakyRelu", OX_LANES_LeakyRelu, NULL, 1, {0.01f, 0}},
    {"Relu", OX_LANES_Relu, NULL, 0, {0, 0}},
    {"ScaledTanh", OX_LANES_Tanh, OX_LANES_Mul, 2, {1, 1}},
    {"Sigmoid", OX_LANES_Sigmoid, NULL, 0, {0, 0}},
    {"Softplus", OX_LANES_Softplus, NULL, 0, {0, 0}},
    {"Softsign", OX_LANES_Softsign, NULL, 0, {0, 0}},
    {"Tanh", OX_LANES_Tanh, NULL, 0, {0, 0}},
    {"ThresholdedRelu", OX_LANES_ThresholdedRelu, NULL, 1, {1, 0}},
};

static const kind *find_kind(ox_string name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ox_says(name, kinds[i].name))
            return &kinds[i];
    return NULL;
}

/* A number as an element of the type that is computed in. */
static const void *set_element(double *room, ox_dtype dtype, double value) {
    const float single = (float)value;
    *room = value;
    if (dtype == OX_FLOAT)
        memcpy(room, &single, sizeof single);
    return room;
}

/* The parameters that are given are for those that take some, in order. */
typedef struct parameters {
    const float *value[2];
    size_t left[2];
} parameters;

static float next(parameters *p, int i, float otherwise) {
    if (!p->left[i])
        return otherwise;
    p->left[i]--;
    return *p->value[i]++;
}

/* The last bit of a function may decide which byte a state is quantized to, and all steps behind it depend on that. So
 * what checks quantized products takes the functions of the run that it checks. */
static const ox_loops *loops_of(const ox_call *call) {
#if !OX_SMALL
    if (call->checked && ox_dtype_size(call->in[1]->dtype) == 1)
        return call->checked;
#endif
    return call->loops;
}

static ox_lane *lane_of(const ox_call *call, ox_lane_set set, ox_dtype dtype) {
    return set ? OX_BUILD_OF(loops_of(call), set)->fn[dtype] : NULL;
}

static void set_function(const ox_call *call, const kind *k, parameters *p, ox_dtype dtype, ox_activation *f) {
    for (int i = 0; i < k->parameters; i++)
        f->attr[i] = next(p, i, k->defaults[i]);
    f->loop = lane_of(call, k->loop, dtype);
    f->after = lane_of(call, k->after, dtype);
    if (!k->after)
        return;
    const bool inside = k->loop != NULL; /* alpha * loop(beta * x), or alpha * x + beta */
    f->before = lane_of(call, OX_LANES_Mul, dtype);
    f->before_operand = set_element(&f->before_element, dtype, (double)f->attr[inside]);
    f->after_operand = set_element(&f->after_element, dtype, (double)f->attr[!inside]);
}

ox_status ox_recurrent_functions(ox_call *call, const ox_cell *cell, int directions, ox_dtype dtype,
                                 ox_activation functions[][OX_RECURRENT_FUNCTIONS]) {
    const ox_attr *names = ox_call_attr(call, "activations", OX_ATTR_STRINGS);
    const size_t needed = (size_t)(cell->functions * directions);
    parameters p;
    p.value[0] = ox_call_floats(call, "activation_alpha", &p.left[0]);
    p.value[1] = ox_call_floats(call, "activation_beta", &p.left[1]);
    if (names && names->count != needed)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'activations' has %zu names, %zu are needed", names->count,
                            needed);
    for (size_t i = 0; i < needed; i++) {
        const size_t number = i % (size_t)cell->functions;
        const char *otherwise = cell->defaults[number];
        const ox_string name = names ? names->u.strings[i] : (ox_string){otherwise, strlen(otherwise)};
        const kind *k = find_kind(name);
        if (!k)
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'activations': '%.*s' is not an activation",
                                OX_SHORT(name));
        set_function(call, k, &p, dtype, &functions[i / (size_t)cell->functions][number]);
    }
    return OX_OK;
}

ox_status ox_recurrent_loops(ox_call *call, ox_dtype dtype, ox_gate_loops *loops) {
    const float clip = ox_call_float(call, "clip", 0);
    loops->width = (int64_t)ox_dtype_size(dtype);
    loops->clip = ox_call_has(call, "clip");
    if (loops->clip && !(clip >= 0))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'clip' must be 0 or more, not %g", (double)clip);
    loops->one = set_element(&loops->room[0], dtype, 1);
    loops->low = set_element(&loops->room[1], dtype, -(double)clip);
    loops->high = set_element(&loops->room[2], dtype, (double)clip);
    loops->add = lane_of(call, OX_LANES_Add, dtype);
    loops->sub = lane_of(call, OX_LANES_Sub, dtype);
    loops->mul = lane_of(call, OX_LANES_Mul, dtype);
    loops->min = lane_of(call, OX_LANES_Min, dtype);
    loops->max = lane_of(call, OX_LANES_Max, dtype);
    loops->usual = OX_SMALL ? NULL : OX_BUILD_OF(loops_of(call), ox_cell_builds);
    return OX_OK;
}

/* Whether cells compute in floats, with the default activations and without options. */
bool ox_recurrent_is_usual(ox_call *call, const ox_recurrent *r) {
    const ox_attr *names = ox_call_attr(call, "activations", OX_ATTR_STRINGS);
    const ox_cell *cell = r->cell;
    const bool peeps = cell->peepholes >= 0 && ox_call_given(call, cell->peepholes);
    if (ox_dtype_compute(call->in[0]->dtype) != OX_FLOAT || r->loops.clip || r->input_forget || peeps)
        return false;
    for (size_t i = 0; names && i < names->count; i++)
        if (!ox_says(names->u.strings[i], cell->defaults[i % (size_t)cell->functions]))
            return false;
    return true;
}

void ox_activate(const ox_gate_loops *loops, const ox_activation *f, int64_t n, char *x) {
    const int64_t width = loops->width;
    if (loops->clip) {
        ox_cell_apply(loops->max, n, width, x, x, loops->low, 0);
        ox_cell_apply(loops->min, n, width, x, x, loops->high, 0);
    }
    if (f->before)
        ox_cell_apply(f->before, n, width, x, x, f->before_operand, 0);
    if (f->loop)
        f->loop(n, (char *const[]){x, x}, (const int64_t[]){width, width}, f->attr);
    if (f->after)
        ox_cell_apply(f->after, n, width, x, x, f->after_operand, 0);
}
