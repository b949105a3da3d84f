/* emit.c: nodes out of texts. The texts are the library's own, so that what is wrong in one shows in its first test. */
#include "emit.h"

#include <string.h>

/* ---- Attributes --------------------------------------------------------------------------------------------- */

const ox_attr *ox_emit_attr(const ox_node *node, const char *name, ox_attr_kind kind) {
    for (int i = 0; node && i < node->nattrs; i++)
        if (node->attrs[i].kind == kind && !ox_text_order(node->attrs[i].name, name))
            return &node->attrs[i];
    return NULL;
}

int64_t ox_emit_int(const ox_node *node, const char *name, int64_t otherwise) {
    const ox_attr *attr = ox_emit_attr(node, name, OX_ATTR_INT);
    return attr ? attr->u.i : otherwise;
}

double ox_emit_float(const ox_node *node, const char *name, double otherwise) {
    const ox_attr *attr = ox_emit_attr(node, name, OX_ATTR_FLOAT);
    return attr ? (double)attr->u.f : otherwise;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------- */

/* Memory of the model; NULL after a failure. */
static void *take(ox_emitter *e, size_t count, size_t size) {
    void *made = NULL;
    if (!e->status)
        e->status = ox_build_get(e->b, e->b->pile, count, size, &made);
    return e->status ? NULL : made;
}

static ox_status add_value(ox_emitter *e, const char *op, int32_t *value) {
    char text[OX_NAME_ROOM];
    const char *name;
    ox_format(text, sizeof text, "%.*s/%.*s", OX_NAME_ROOM / 2, e->name, OX_NAME_ROOM / 4, op);
    OX_TRY(ox_build_intern(e->b, text, &name));
    OX_TRY(ox_scope_unique(e->b, e->scope, name, &name));
    return ox_scope_add(e->b, e->scope, name, OX_FROM_NODE, value);
}

void ox_emit_node(ox_emitter *e, const ox_node *node, int nin, const int32_t *in, int nout, int32_t *out) {
    ox_index *ends = take(e, (size_t)nin + (size_t)nout, sizeof *ends);
    ox_node made = *node;
    for (int i = 0; i < nin && !e->status; i++)
        ends[i] = (ox_index)in[i];
    for (int k = 0; k < nout && !e->status; k++) {
        e->status = add_value(e, node->op->name, &out[k]);
        if (!e->status)
            ends[nin + k] = (ox_index)out[k];
    }
    if (!e->status && ++e->b->derived > OX_MAX_GRADIENT_NODES)
        e->status =
            ox_fail(e->b->error, OX_ERROR_LIMIT, "the gradients take more than %d nodes", OX_MAX_GRADIENT_NODES);
    if (e->status)
        return;
    made.in = ends;
    made.out = ends + nin;
    made.nin = (ox_index)nin;
    made.nout = (ox_index)nout;
    e->status = ox_build_append(e->b, e->scope, &made, e->name);
}

void ox_emit_op(ox_emitter *e, const char *op, int nattrs, const ox_attr *attrs, int nin, const int32_t *in, int nout,
                int32_t *out) {
    ox_attr *kept = take(e, (size_t)nattrs, sizeof *kept);
    ox_node node = {.attrs = kept, .nattrs = (ox_index)nattrs};
    for (int k = 0; k < nout; k++)
        out[k] = OX_NONE;
    if (!e->status)
        e->status = ox_build_own_op(e->b, op, e->name, &node);
    if (e->status)
        return;
    if (nattrs)
        memcpy(kept, attrs, (size_t)nattrs * sizeof *kept);
    ox_emit_node(e, &node, nin, in, nout, out);
}

/* ---- Constants ---------------------------------------------------------------------------------------------- */

static int32_t emit_one(ox_emitter *e, const char *op, int nattrs, const ox_attr *attrs, int nin, const int32_t *in) {
    int32_t out;
    ox_emit_op(e, op, nattrs, attrs, nin, in, 1, &out);
    return e->status ? OX_NONE : out;
}

static int32_t emit_number(ox_emitter *e, double number) {
    ox_tensor *tensor = take(e, 1, sizeof *tensor);
    double *element = take(e, 1, sizeof *element);
    if (!element)
        return OX_NONE;
    *element = number;
    *tensor = (ox_tensor){.dtype = OX_DOUBLE, .data = element};
    const ox_attr value = {.name = "value", .kind = OX_ATTR_TENSOR, .u.tensor = tensor};
    const int32_t made = emit_one(e, "Constant", 1, &value, 0, NULL);
    return emit_one(e, "CastLike", 0, NULL, 2, (const int32_t[]){made, e->like});
}

static int32_t emit_list(ox_emitter *e, int count, const int64_t *numbers) {
    int64_t *kept = take(e, (size_t)count, sizeof *kept);
    if (!kept)
        return OX_NONE;
    memcpy(kept, numbers, (size_t)count * sizeof *kept);
    const ox_attr value = {.name = "value_ints", .kind = OX_ATTR_INTS, .count = (size_t)count, .u.ints = kept};
    return emit_one(e, "Constant", 1, &value, 0, NULL);
}

/* ---- Texts -------------------------------------------------------------------------------------------------- */

enum {
    MOST_NUMBERS = 4, /* in a list */
    MOST_ATTRS = 4,
    NAME_ROOM = 32
};

/* Where the evaluation is, and what letters mean there. */
typedef struct reader {
    ox_emitter *e;
    const char *at;
    const int32_t *values;
    int count;
} reader;

static void skip_spaces(reader *r) {
    while (*r->at == ' ')
        r->at++;
}

static bool take_char(reader *r, char c) {
    skip_spaces(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void read_name(reader *r, char *name) {
    size_t n = 0;
    skip_spaces(r);
    for (; is_letter(*r->at) || (n && *r->at >= '0' && *r->at <= '9'); r->at++)
        if (n + 1 < NAME_ROOM)
            name[n++] = *r->at;
    name[n] = 0;
}

/* A decimal number without an exponent. */
static double read_plain(reader *r) {
    const bool negative = take_char(r, '-');
    double value = 0, unit = 1;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        value = value * 10 + (*r->at - '0');
    if (*r->at == '.')
        for (r->at++; *r->at >= '0' && *r->at <= '9'; r->at++) {
            value = value * 10 + (*r->at - '0');
            unit *= 10;
        }
    return (negative ? -value : value) / unit;
}

/* The same, or "@name:otherwise". */
static double read_number(reader *r) {
    char name[NAME_ROOM];
    if (!take_char(r, '@'))
        return read_plain(r);
    read_name(r, name);
    take_char(r, ':');
    const double otherwise = read_plain(r);
    const ox_attr *whole = ox_emit_attr(r->e->node, name, OX_ATTR_INT);
    return whole ? (double)whole->u.i : ox_emit_float(r->e->node, name, otherwise);
}

static int32_t read_list(reader *r) {
    int64_t numbers[MOST_NUMBERS];
    int count = 0;
    do {
        const double number = read_number(r);
        if (count < MOST_NUMBERS)
            numbers[count++] = (int64_t)number;
    } while (take_char(r, ','));
    take_char(r, ']');
    return emit_list(r->e, count, numbers);
}

static ox_attr read_attr(reader *r) {
    char text[NAME_ROOM];
    ox_attr attr = {.kind = OX_ATTR_INT};
    read_name(r, text);
    if (!r->e->status)
        r->e->status = ox_build_intern(r->e->b, text, &attr.name);
    if (!r->e->status)
        r->e->status = ox_build_text(r->e->b, attr.name, &attr.name);
    take_char(r, '=');
    if (!take_char(r, '"')) {
        attr.u.i = (int64_t)read_number(r);
        return attr;
    }
    attr.kind = OX_ATTR_STRING;
    attr.u.s = (ox_string){(char *)(uintptr_t)r->at, 0};
    for (; *r->at && *r->at != '"'; r->at++)
        attr.u.s.size++;
    take_char(r, '"');
    return attr;
}

static int read_attrs(reader *r, ox_attr *attrs) {
    int count = 0;
    if (!take_char(r, '<'))
        return 0;
    do {
        const ox_attr attr = read_attr(r);
        if (count < MOST_ATTRS)
            attrs[count++] = attr;
    } while (take_char(r, ','));
    take_char(r, '>');
    return count;
}

static int32_t evaluate(reader *r);

static const char *find_macro(const ox_emitter *e, const char *name) {
    for (const ox_macro *m = e->macros; m && m->name; m++)
        if (!ox_text_order(m->name, name))
            return m->text;
    return NULL;
}

static int32_t read_call(reader *r, const char *name) {
    ox_attr attrs[MOST_ATTRS];
    int32_t arguments[OX_EMIT_VALUES];
    int count = 0;
    const int nattrs = read_attrs(r, attrs);
    take_char(r, '(');
    do {
        const int32_t argument = evaluate(r);
        if (count < OX_EMIT_VALUES)
            arguments[count++] = argument;
    } while (take_char(r, ','));
    take_char(r, ')');
    const char *macro = find_macro(r->e, name);
    return macro ? ox_emit_text(r->e, macro, count, arguments) : emit_one(r->e, name, nattrs, attrs, count, arguments);
}

static int32_t evaluate(reader *r) {
    char name[NAME_ROOM];
    skip_spaces(r);
    if (take_char(r, '['))
        return read_list(r);
    if (!is_letter(*r->at))
        return emit_number(r->e, read_number(r));
    read_name(r, name);
    if (name[1])
        return read_call(r, name);
    const int at = name[0] - 'a';
    if (*name == 'g' || *name == 'y')
        return *name == 'g' ? r->e->gradient : r->e->result;
    return at < r->count ? r->values[at] : OX_NONE;
}

int32_t ox_emit_text(ox_emitter *e, const char *text, int count, const int32_t *values) {
    reader r = {e, text, values, count};
    return e->status ? OX_NONE : evaluate(&r);
}
