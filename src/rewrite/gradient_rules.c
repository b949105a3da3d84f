/* gradient_rules.c: what operators give back to their inputs, by reverse-mode differentiation. */
#include "gradient.h"

#define OX_AXIS_SUM "ReduceSum<keepdims=1>"

/* To sums over broadcast dimensions: it reduces a, which has the shape to which b was broadcast, to the shape of b.
 * Ones is a list of a ones, Rank a list with the rank. Left and Right make two dimensions of one, as MatMul does, and
 * Product restores the dimensions that its result lacks. Back broadcasts a reduced value: a has the reduced dimensions.
 * Scatter adds g at the indices b of a. */
const ox_macro ox_gradient_macros[] = {
    {"Rank", "Shape(Shape(a))"},
    {"Ones", "Expand([1], a)"},
    {"Padded", "Concat<axis=0>(Ones(Sub(Rank(a), Rank(b))), Shape(b))"},
    {"Repeated", "Reshape(NonZero(Not(Equal(Padded(a, b), Shape(a)))), [-1])"},
    {"As", "Reshape<allowzero=1>(a, Shape(b))"},
    {"To", "As(ReduceSum<keepdims=1,noop_with_empty_axes=1>(a, Repeated(a, b)), b)"},
    {"Like", "Expand(a, Shape(b))"},
    {"Left", "Reshape<allowzero=1>(a, Concat<axis=0>(Ones(Max(Sub([2], Rank(a)), [0])), Shape(a)))"},
    {"Right", "Reshape<allowzero=1>(a, Concat<axis=0>(Shape(a), Ones(Max(Sub([2], Rank(a)), [0]))))"},
    {"Own", "Min(Sub(Rank(a), [1]), [1])"},
    {"Outer", "Slice(Shape(a), [0], Sub(Rank(a), Add(Own(b), Own(c))))"},
    {"Product", "Reshape<allowzero=1>(g, Concat<axis=0>(Outer(g, a, b), Slice(Shape(Left(a)), [-2], [-1]), "
                "Gather(Shape(Right(b)), [-1])))"},
    {"Scatter", "As(ScatterElements<axis=0,reduction=\"add\">(Expand(0, Reshape(Size(a), [1])), Reshape(b, [-1]), "
                "Reshape(g, [-1])), a)"},
    {"Numbers", "As(Range(Squeeze([0]), Size(a), Squeeze([1])), a)"},
    {NULL, NULL}};

enum {
    RULE_INPUTS = 3
};

typedef void rule_fn(ox_derivative *d);

typedef struct rule {
    const char *name;
    int since;                          /* versions before that mean something else */
    rule_fn *derive;                    /* NULL: the texts do */
    const char *gradients[RULE_INPUTS]; /* of inputs, as a, b and c; NULL for none */
} rule;

/* ---- Operators that no text describes ----------------------------------------------------------------------- */

static int32_t zeros_like(ox_derivative *d, int32_t value) {
    return OX_EMIT(&d->emitter, "Like(0, a)", value);
}

static void derive_cast(ox_derivative *d) {
    const int64_t to = ox_emit_int(d->node, "to", OX_UNDEFINED);
    if (to == OX_FLOAT || to == OX_DOUBLE || to == OX_FLOAT16 || to == OX_BFLOAT16)
        d->gradients[0] = OX_EMIT(&d->emitter, "CastLike(g, a)", d->in[0]);
}

static void derive_transpose(ox_derivative *d) {
    const ox_attr *perm = ox_emit_attr(d->node, "perm", OX_ATTR_INTS);
    int64_t *inverse;
    ox_emitter *e = &d->emitter;
    if (!perm) {
        d->gradients[0] = OX_EMIT(e, "Transpose(g)", OX_NONE);
        return;
    }
    if (!e->status)
        e->status = ox_build_get(e->b, e->b->pile, perm->count, sizeof *inverse, &inverse);
    for (size_t i = 0; i < perm->count && !e->status; i++) {
        const int64_t to = perm->u.ints[i];
        if (to < 0 || (uint64_t)to >= perm->count)
            e->status = ox_fail(e->b->error, OX_ERROR_SHAPE, "perm of a node before has an axis %lld of %zu",
                                (long long)to, perm->count);
        else
            inverse[to] = (int64_t)i;
    }
    if (e->status)
        return;
    const ox_attr back = {.name = "perm", .kind = OX_ATTR_INTS, .count = perm->count, .u.ints = inverse};
    ox_emit_op(e, "Transpose", 1, &back, 1, &e->gradient, 1, &d->gradients[0]);
}

/* alpha * A' * B' + beta * C, where A' and B' are transposed or not: each factor is another product like that. */
static int32_t derive_factor(ox_derivative *d, int32_t left, int32_t right, bool trans_left, bool trans_right) {
    const float alpha = (float)ox_emit_float(d->node, "alpha", 1);
    const ox_attr attrs[] = {{.name = "alpha", .kind = OX_ATTR_FLOAT, .u.f = alpha},
                             {.name = "transA", .kind = OX_ATTR_INT, .u.i = trans_left},
                             {.name = "transB", .kind = OX_ATTR_INT, .u.i = trans_right}};
    int32_t made;
    ox_emit_op(&d->emitter, "Gemm", 3, attrs, 2, (const int32_t[]){left, right}, 1, &made);
    return made;
}

static void derive_gemm(ox_derivative *d) {
    const bool trans_a = ox_emit_int(d->node, "transA", 0) != 0, trans_b = ox_emit_int(d->node, "transB", 0) != 0;
    const int32_t a = d->in[0], b = d->in[1], g = d->emitter.gradient;
    if (d->wanted[0])
        d->gradients[0] = trans_a ? derive_factor(d, b, g, trans_b, true) : derive_factor(d, g, b, false, !trans_b);
    if (d->wanted[1])
        d->gradients[1] = trans_b ? derive_factor(d, g, a, true, trans_a) : derive_factor(d, a, g, !trans_a, false);
    if (d->node->nin > 2 && d->wanted[2])
        d->gradients[2] = OX_EMIT(&d->emitter, "To(Mul(g, @beta:1), c)", a, b, d->in[2]);
}

/* What was reduced, with its dimensions: repeated to the shape of the input. */
static int32_t spread(ox_derivative *d, int32_t value) {
    ox_emitter *e = &d->emitter;
    const ox_attr *axes = ox_emit_attr(d->node, "axes", OX_ATTR_INTS);
    int32_t list = d->node->nin > 1 ? d->in[1] : OX_NONE;
    if (axes && list == OX_NONE) {
        const ox_attr kept = {.name = "value_ints", .kind = OX_ATTR_INTS, .count = axes->count, .u.ints = axes->u.ints};
        ox_emit_op(e, "Constant", 1, &kept, 0, NULL, 1, &list);
    }
    if (list != OX_NONE && !ox_emit_int(d->node, "keepdims", 1))
        value = OX_EMIT(e, "Unsqueeze(a, b)", value, list);
    return OX_EMIT(e, "Like(a, b)", value, d->in[0]);
}

/* The text has a: the input, b: what was reduced, c: its gradient, both as large as the input. */
static void derive_reduced(ox_derivative *d, const char *text) {
    const int32_t result = spread(d, d->emitter.result), gradient = spread(d, d->emitter.gradient);
    d->gradients[0] = OX_EMIT(&d->emitter, text, d->in[0], result, gradient);
}

static void derive_reduce_sum(ox_derivative *d) {
    d->gradients[0] = spread(d, d->emitter.gradient);
}

static void derive_reduce_mean(ox_derivative *d) {
    const int32_t share =
        OX_EMIT(&d->emitter, "Mul(g, CastLike(Div(Cast<to=11>(Size(y)), Cast<to=11>(Size(a))), g))", d->in[0]);
    d->gradients[0] = spread(d, share);
}

static void derive_reduce_sum_square(ox_derivative *d) {
    const int32_t gradient = spread(d, d->emitter.gradient);
    d->gradients[0] = OX_EMIT(&d->emitter, "Mul(b, Mul(2, a))", d->in[0], gradient);
}

static void derive_reduce_l1(ox_derivative *d) {
    const int32_t gradient = spread(d, d->emitter.gradient);
    d->gradients[0] = OX_EMIT(&d->emitter, "Mul(b, Sign(a))", d->in[0], gradient);
}

static void derive_reduce_l2(ox_derivative *d) {
    derive_reduced(d, "Where(Equal(b, 0), 0, Mul(c, Div(a, b)))");
}

static void derive_reduce_log_sum(ox_derivative *d) {
    derive_reduced(d, "Div(c, Exp(b))");
}

static void derive_reduce_log_sum_exp(ox_derivative *d) {
    derive_reduced(d, "Mul(c, Exp(Sub(a, b)))");
}

static void derive_sum(ox_derivative *d) {
    for (int i = 0; i < d->node->nin; i++)
        if (d->wanted[i])
            d->gradients[i] = OX_EMIT(&d->emitter, "To(g, a)", d->in[i]);
}

static void derive_mean(ox_derivative *d) {
    char text[OX_NAME_ROOM];
    ox_format(text, sizeof text, "Div(g, %d)", (int)d->node->nin);
    d->emitter.gradient = OX_EMIT(&d->emitter, text, OX_NONE);
    derive_sum(d);
}

static int32_t *take_list(ox_emitter *e, int count) {
    int32_t *list = NULL;
    if (!e->status)
        e->status = ox_build_get(e->b, &e->b->stack, (size_t)count, sizeof *list, &list);
    return list;
}

static void derive_concat(ox_derivative *d) {
    ox_emitter *e = &d->emitter;
    const int count = d->node->nin;
    const ox_attr axis = {.name = "axis", .kind = OX_ATTR_INT, .u.i = ox_emit_int(d->node, "axis", 1)};
    const ox_attr first = {.name = "axis", .kind = OX_ATTR_INT};
    int32_t *sizes = take_list(e, count), *parts = take_list(e, count), split[] = {e->gradient, OX_NONE};
    for (int i = 0; i < count && !e->status; i++)
        sizes[i] = OX_EMIT(e, "Gather(Shape(a), [@axis:1])", d->in[i]);
    if (e->status)
        return;
    ox_emit_op(e, "Concat", 1, &first, count, sizes, 1, &split[1]);
    ox_emit_op(e, "Split", 1, &axis, 2, split, count, parts);
    for (int i = 0; i < count; i++)
        d->gradients[i] = parts[i];
}

static void derive_split(ox_derivative *d) {
    ox_emitter *e = &d->emitter;
    const int count = d->node->nout;
    const ox_attr axis = {.name = "axis", .kind = OX_ATTR_INT, .u.i = ox_emit_int(d->node, "axis", 0)};
    int32_t *parts = take_list(e, count);
    for (int k = 0; k < count && !e->status; k++) {
        parts[k] = d->given[k];
        if (parts[k] != OX_NONE)
            continue;
        if (d->out[k] == OX_NONE)
            e->status =
                ox_fail(e->b->error, OX_ERROR_UNSUPPORTED, "Split without its output %d is not differentiated", k);
        else
            parts[k] = zeros_like(d, d->out[k]);
    }
    if (!e->status)
        ox_emit_op(e, "Concat", 1, &axis, count, parts, 1, &d->gradients[0]);
}

/* An operator that picks elements of its first input: the same one picks their numbers. */
static void derive_pick(ox_derivative *d) {
    ox_emitter *e = &d->emitter;
    const int count = d->node->nin;
    int32_t *in = take_list(e, count), picked;
    for (int i = 0; i < count && !e->status; i++)
        in[i] = i ? d->in[i] : OX_EMIT(e, "Numbers(a)", d->in[0]);
    if (e->status)
        return;
    ox_emit_node(e, d->node, count, in, 1, &picked);
    if (!e->status)
        d->gradients[0] = OX_EMIT(e, "Scatter(a, b)", d->in[0], picked);
}

/* What is scattered replaces elements, or is added to them. */
static void derive_scatter(ox_derivative *d) {
    ox_emitter *e = &d->emitter;
    const ox_attr *reduction = ox_emit_attr(d->node, "reduction", OX_ATTR_STRING);
    const bool adds = reduction && ox_says(reduction->u.s, "add");
    const ox_attr axis = {.name = "axis", .kind = OX_ATTR_INT, .u.i = ox_emit_int(d->node, "axis", 0)};
    if (!adds && reduction && !ox_says(reduction->u.s, "none") && !e->status)
        e->status = ox_fail(e->b->error, OX_ERROR_UNSUPPORTED, "%s with the reduction '%.*s' is not differentiated",
                            d->node->op->name, OX_SHORT(reduction->u.s));
    const int32_t zeros = adds || !d->wanted[0] ? OX_NONE : zeros_like(d, d->in[2]);
    if (adds)
        d->gradients[0] = e->gradient;
    else if (d->wanted[0])
        ox_emit_op(e, "ScatterElements", 1, &axis, 3, (const int32_t[]){e->gradient, d->in[1], zeros}, 1,
                   &d->gradients[0]);
    ox_emit_op(e, "GatherElements", 1, &axis, 2, (const int32_t[]){e->gradient, d->in[1]}, 1, &d->gradients[2]);
}

/* ---- Einsum ------------------------------------------------------------------------------------------------- */

enum {
    MOST_TERM = 32
};

/* The letters of one tensor; an ellipsis is a letter too. */
typedef struct term {
    char text[MOST_TERM];
    int size;
} term;

/* Reads up to `end`; false where the text is too long, or has a letter twice: a diagonal. */
static bool read_term(ox_string equation, size_t *at, const char *end, term *t) {
    *t = (term){.size = 0};
    const size_t start = *at;
    for (; *at < equation.size && equation.data[*at] != *end; (*at)++) {
        const char c = equation.data[*at];
        const bool dot = c == '.';
        for (int i = 0; i < t->size && c != ' ' && !dot; i++)
            if (t->text[i] == c)
                return false;
        if (t->size + 1 >= MOST_TERM)
            return false;
        if (c != ' ')
            t->text[t->size++] = c;
    }
    const size_t skip = ox_text_size(end, SIZE_MAX);
    *at += *at < equation.size ? skip : 0;
    return *at > start || !skip;
}

static bool has_letter(const term *t, char c) {
    for (int i = 0; i < t->size; i++)
        if (t->text[i] == c)
            return true;
    return false;
}

/* The equation that gives the gradient of one operand: of the result's, and the other operand. */
static bool turn(const term *result, const term *other, const term *wanted, char *equation, size_t size) {
    for (int i = 0; i < wanted->size; i++)
        if (!has_letter(result, wanted->text[i]) && !has_letter(other, wanted->text[i]))
            return false;
    if (!has_letter(wanted, '.') && (has_letter(result, '.') || has_letter(other, '.')))
        return false;
    ox_format(equation, size, "%s,%s->%s", result->text, other->text, wanted->text);
    return true;
}

/* Einsum of two operands. */
static void derive_einsum(ox_derivative *d) {
    ox_emitter *e = &d->emitter;
    const ox_attr *equation = ox_emit_attr(d->node, "equation", OX_ATTR_STRING);
    term t[3];
    size_t at = 0;
    const bool fits = equation && d->node->nin == 2 && read_term(equation->u.s, &at, ",", &t[0]) &&
                      read_term(equation->u.s, &at, "->", &t[1]) && read_term(equation->u.s, &at, "", &t[2]);
    for (int i = 0; i < d->node->nin; i++) {
        char *text = NULL;
        int32_t product;
        if (!d->wanted[i])
            continue;
        if (!e->status)
            e->status = ox_build_get(e->b, e->b->pile, 3 * MOST_TERM, 1, &text);
        if (!e->status && !(fits && turn(&t[2], &t[!i], &t[i], text, 3 * MOST_TERM)))
            e->status = ox_fail(e->b->error, OX_ERROR_UNSUPPORTED,
                                "Einsum is not differentiated but of two operands, each letter once in a term");
        if (e->status)
            return;
        const ox_attr back = {.name = "equation", .kind = OX_ATTR_STRING, .u.s = {text, ox_text_size(text, SIZE_MAX)}};
        ox_emit_op(e, "Einsum", 1, &back, 2, (const int32_t[]){e->gradient, d->in[!i]}, 1, &product);
        d->gradients[i] = OX_EMIT(e, "To(a, b)", product, d->in[i]);
    }
}

/* ---- The rules ---------------------------------------------------------------------------------------------- */

#define STEP(name)                                                                                                     \
    {                                                                                                                  \
        name, 1, NULL, {                                                                                               \
            NULL                                                                                                       \
        }                                                                                                              \
    } /* constant where it has a derivative */
#define BY(name, since, derive)                                                                                        \
    {                                                                                                                  \
        name, since, derive, {                                                                                         \
            NULL                                                                                                       \
        }                                                                                                              \
    }
#define UNARY(name, text)                                                                                              \
    {                                                                                                                  \
        name, 1, NULL, {                                                                                               \
            text                                                                                                       \
        }                                                                                                              \
    }
#define SHAPED(name)                                                                                                   \
    {                                                                                                                  \
        name, 1, NULL, {                                                                                               \
            "As(g, a)"                                                                                                 \
        }                                                                                                              \
    }

static const rule rules[] = {
    UNARY("Abs", "Mul(g, Sign(a))"),
    UNARY("Acos", "Neg(Div(g, Sqrt(Sub(1, Mul(a, a)))))"),
    UNARY("Acosh", "Div(g, Sqrt(Sub(Mul(a, a), 1)))"),
    {"Add", 1, NULL, {"To(g, a)", "To(g, b)"}},
    STEP("And"),
    STEP("ArgMax"),
    STEP("ArgMin"),
    UNARY("Asin", "Div(g, Sqrt(Sub(1, Mul(a, a))))"),
    UNARY("Asinh", "Div(g, Sqrt(Add(Mul(a, a), 1)))"),
    UNARY("Atan", "Div(g, Add(1, Mul(a, a)))"),
    UNARY("Atanh", "Div(g, Sub(1, Mul(a, a)))"),
    BY("Cast", 6, derive_cast),
    {"CastLike", 1, NULL, {"CastLike(g, a)"}},
    STEP("Ceil"),
    {"Clip", 1, NULL, {"Where(Equal(y, a), g, 0)"}},
    BY("Compress", 1, derive_pick),
    BY("Concat", 1, derive_concat),
    UNARY("Cos", "Neg(Mul(g, Sin(a)))"),
    UNARY("Cosh", "Mul(g, Sinh(a))"),
    BY("DepthToSpace", 1, derive_pick),
    {"Div", 1, NULL, {"To(Div(g, b), a)", "To(Neg(Div(Mul(g, y), b)), b)"}},
    BY("Einsum", 12, derive_einsum),
    UNARY("Elu", "Where(Greater(a, 0), g, Mul(g, Add(y, @alpha:1)))"),
    STEP("Equal"),
    UNARY("Erf", "Mul(Mul(g, 1.1283791670955126), Exp(Neg(Mul(a, a))))"),
    UNARY("Exp", "Mul(g, y)"),
    {"Expand", 1, NULL, {"To(g, a)"}},
    SHAPED("Flatten"),
    STEP("Floor"),
    BY("Gather", 1, derive_pick),
    BY("GatherElements", 1, derive_pick),
    BY("GatherND", 1, derive_pick),
    BY("Gemm", 7, derive_gemm),
    STEP("Greater"),
    STEP("GreaterOrEqual"),
    UNARY("Identity", "Identity(g)"),
    STEP("IsInf"),
    STEP("IsNaN"),
    UNARY("LeakyRelu", "Where(Greater(a, 0), g, Mul(g, @alpha:0.01))"),
    STEP("Less"),
    STEP("LessOrEqual"),
    UNARY("Log", "Div(g, a)"),
    {"LogSoftmax", 13, NULL, {"Sub(g, Mul(Exp(y), " OX_AXIS_SUM "(g, [@axis:-1])))"}},
    {"MatMul",
     1,
     NULL,
     {"To(Einsum<equation=\"...mn,...kn->...mk\">(Product(a, b), Right(b)), a)",
      "As(To(Einsum<equation=\"...mk,...mn->...kn\">(Left(a), Product(a, b)), Right(b)), b)"}},
    BY("Mean", 8, derive_mean),
    {"Mul", 1, NULL, {"To(Mul(g, b), a)", "To(Mul(g, a), b)"}},
    UNARY("Neg", "Neg(g)"),
    STEP("Not"),
    STEP("Or"),
    {"PRelu", 7, NULL, {"Where(Greater(a, 0), g, Mul(g, b))", "To(Where(Greater(a, 0), 0, Mul(g, a)), b)"}},
    {"Pow",
     1,
     NULL,
     {"To(Where(Equal(CastLike(b, a), 0), 0, Mul(g, Mul(CastLike(b, a), Pow(a, Sub(CastLike(b, a), 1))))), a)",
      "To(Where(And(Equal(a, 0), GreaterOrEqual(CastLike(b, a), 0)), 0, Mul(g, Mul(y, Log(a)))), b)"}},
    UNARY("Reciprocal", "Neg(Mul(g, Mul(y, y)))"),
    BY("ReduceL1", 1, derive_reduce_l1),
    BY("ReduceL2", 1, derive_reduce_l2),
    BY("ReduceLogSum", 1, derive_reduce_log_sum),
    BY("ReduceLogSumExp", 1, derive_reduce_log_sum_exp),
    BY("ReduceMean", 1, derive_reduce_mean),
    BY("ReduceSum", 1, derive_reduce_sum),
    BY("ReduceSumSquare", 1, derive_reduce_sum_square),
    UNARY("Relu", "Where(Greater(a, 0), g, 0)"),
    SHAPED("Reshape"),
    STEP("Round"),
    BY("ScatterElements", 11, derive_scatter),
    STEP("Shape"),
    UNARY("Sigmoid", "Mul(g, Mul(y, Sub(1, y)))"),
    STEP("Sign"),
    UNARY("Sin", "Mul(g, Cos(a))"),
    UNARY("Sinh", "Mul(g, Cosh(a))"),
    STEP("Size"),
    BY("Slice", 1, derive_pick),
    {"Softmax", 13, NULL, {"Mul(y, Sub(g, " OX_AXIS_SUM "(Mul(g, y), [@axis:-1])))"}},
    UNARY("Softplus", "Mul(g, Sigmoid(a))"),
    UNARY("Softsign", "Div(g, Mul(Add(1, Abs(a)), Add(1, Abs(a))))"),
    BY("SpaceToDepth", 1, derive_pick),
    BY("Split", 2, derive_split),
    UNARY("Sqrt", "Div(Mul(g, 0.5), y)"),
    SHAPED("Squeeze"),
    {"Sub", 1, NULL, {"To(g, a)", "To(Neg(g), b)"}},
    BY("Sum", 8, derive_sum),
    UNARY("Tan", "Mul(g, Add(1, Mul(y, y)))"),
    UNARY("Tanh", "Mul(g, Sub(1, Mul(y, y)))"),
    BY("Tile", 6, derive_pick),
    BY("Transpose", 1, derive_transpose),
    SHAPED("Unsqueeze"),
    {"Where", 1, NULL, {NULL, "To(Where(a, g, 0), b)", "To(Where(a, 0, g), c)"}},
};

static const rule *find_rule(const ox_node *node) {
    const bool aligned = ox_op_has(node->op, OX_OP_LEGACY | OX_OP_LEGACY_SLOPE) && ox_emit_int(node, "broadcast", 0);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !*node->op->domain && !aligned; i++)
        if (!ox_text_order(rules[i].name, node->op->name))
            return ox_op_version(node->op, node->version) >= rules[i].since ? &rules[i] : NULL;
    return NULL;
}

/* The gradients that another node of Gradient handed on. */
static void derive_derived(ox_derivative *d) {
    for (int i = 0; i < d->node->nin; i++)
        d->gradients[i] = d->given[i];
}

bool ox_derive(ox_derivative *d) {
    static const rule derived = BY("Gradient", 1, derive_derived);
    const rule *r = ox_op_has(d->node->op, OX_OP_DERIVED) ? &derived : find_rule(d->node);
    int32_t in[RULE_INPUTS];
    if (!r)
        return false;
    if (r->derive) {
        r->derive(d);
        return true;
    }
    for (int i = 0; i < RULE_INPUTS; i++)
        in[i] = i < d->node->nin ? d->in[i] : OX_NONE;
    for (int i = 0; i < RULE_INPUTS && i < d->node->nin; i++)
        if (d->wanted[i] && r->gradients[i])
            d->gradients[i] = ox_emit_text(&d->emitter, r->gradients[i], RULE_INPUTS, in);
    return true;
}
