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

/* What stands for an output: a value that is to be given, or one of these. */
enum {
    NEW = OX_NONE,
    LEFT_OUT = -3
};

/* What is omitted at the end of a list of values is no part of it. */
static int trim(const int32_t *values, int count, int32_t omitted) {
    while (count && values[count - 1] == omitted)
        count--;
    return count;
}

/* Writes a node that gives what `out` says; new values come in its place. */
static void write_node(ox_emitter *e, const ox_node *node, int nin, const int32_t *in, int nout, int32_t *out) {
    nin = trim(in, nin, OX_NONE);
    nout = trim(out, nout, LEFT_OUT);
    ox_index *ends = take(e, (size_t)nin + (size_t)nout, sizeof *ends);
    ox_node made = *node;
    for (int i = 0; i < nin && !e->status; i++)
        ends[i] = (ox_index)in[i];
    for (int k = 0; k < nout && !e->status; k++) {
        if (out[k] == NEW)
            e->status = add_value(e, node->op->name, &out[k]);
        if (!e->status)
            ends[nin + k] = (ox_index)(out[k] == LEFT_OUT ? OX_NONE : out[k]);
    }
    if (!e->status && e->bounded && ++e->b->derived > OX_MAX_GRADIENT_NODES)
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

void ox_emit_node(ox_emitter *e, const ox_node *node, int nin, const int32_t *in, int nout, int32_t *out) {
    for (int k = 0; k < nout; k++)
        out[k] = NEW;
    write_node(e, node, nin, in, nout, out);
}

void ox_emit_to(ox_emitter *e, const char *op, int nattrs, const ox_attr *attrs, int nin, const int32_t *in, int nout,
                int32_t *out) {
    ox_attr *kept = take(e, (size_t)nattrs, sizeof *kept);
    ox_node node = {.attrs = kept, .nattrs = (ox_index)nattrs};
    if (!e->status)
        e->status = ox_build_own_op(e->b, op, e->name, &node);
    if (e->status)
        return;
    if (nattrs)
        memcpy(kept, attrs, (size_t)nattrs * sizeof *kept);
    write_node(e, &node, nin, in, nout, out);
}

void ox_emit_op(ox_emitter *e, const char *op, int nattrs, const ox_attr *attrs, int nin, const int32_t *in, int nout,
                int32_t *out) {
    for (int k = 0; k < nout; k++)
        out[k] = NEW;
    ox_emit_to(e, op, nattrs, attrs, nin, in, nout, out);
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
    MOST_ATTRS = 8,
    MOST_RESULTS = 4, /* of a statement */
    NAME_ROOM = 32
};

/* Where the evaluation is, and what letters mean there. */
typedef struct reader {
    ox_emitter *e;
    const char *at;
    const int32_t *values;
    int count;
    bool skips; /* what is read is not wanted */
} reader;

/* What the last node of an expression is to give, as of write_node. */
typedef struct results {
    int count;
    int32_t *made;
} results;

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

/* A decimal number without an exponent; *point (may be NULL): whether it has a point. */
static double read_plain(reader *r, bool *point) {
    const bool negative = take_char(r, '-');
    double value = 0, unit = 1;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        value = value * 10 + (*r->at - '0');
    if (point)
        *point = *r->at == '.';
    if (*r->at == '.')
        for (r->at++; *r->at >= '0' && *r->at <= '9'; r->at++) {
            value = value * 10 + (*r->at - '0');
            unit *= 10;
        }
    return (negative ? -value : value) / unit;
}

/* The same, or "@name:otherwise", or an element of a list, "@name/1:otherwise". */
static double read_number(reader *r, bool *point) {
    char name[NAME_ROOM];
    if (!take_char(r, '@'))
        return read_plain(r, point);
    read_name(r, name);
    const size_t index = take_char(r, '/') ? (size_t)read_plain(r, NULL) : SIZE_MAX;
    take_char(r, ':');
    const double otherwise = read_plain(r, point);
    const ox_attr *list = ox_emit_attr(r->e->node, name, OX_ATTR_FLOATS),
                  *whole = ox_emit_attr(r->e->node, name, OX_ATTR_INT);
    if (list && index < list->count)
        return (double)list->u.floats[index];
    return whole ? (double)whole->u.i : ox_emit_float(r->e->node, name, otherwise);
}

/* Numbers of a model may be of any size. */
static int64_t whole_of(double number) {
    return !(number > -0x1p63) ? INT64_MIN : number >= 0x1p63 ? INT64_MAX : (int64_t)number;
}

static int32_t read_list(reader *r) {
    int64_t numbers[MOST_NUMBERS];
    int count = 0;
    do {
        const double number = read_number(r, NULL);
        if (count < MOST_NUMBERS)
            numbers[count++] = whole_of(number);
    } while (take_char(r, ','));
    take_char(r, ']');
    return r->skips ? OX_NONE : emit_list(r->e, count, numbers);
}

/* The attribute of the node, of whatever kind. */
static const ox_attr *any_attr(const ox_node *node, const char *name) {
    for (int i = 0; node && i < node->nattrs; i++)
        if (!ox_text_order(node->attrs[i].name, name))
            return &node->attrs[i];
    return NULL;
}

/* A number, an integer if it has no point. */
static void read_number_attr(reader *r, ox_attr *attr) {
    bool point;
    const double number = read_number(r, &point);
    attr->kind = point ? OX_ATTR_FLOAT : OX_ATTR_INT;
    if (point)
        attr->u.f = (float)number;
    else
        attr->u.i = whole_of(number);
}

/* False if it is one that the node does not have. */
static bool read_attr(reader *r, ox_attr *attr) {
    char text[NAME_ROOM];
    *attr = (ox_attr){.kind = OX_ATTR_STRING};
    read_name(r, text);
    take_char(r, '=');
    if (r->at[0] == '@' && !is_letter(r->at[1])) {
        const ox_attr *own = any_attr(r->e->node, text);
        r->at++;
        if (own)
            *attr = *own;
        return own != NULL;
    }
    if (!r->e->status)
        r->e->status = ox_build_intern(r->e->b, text, &attr->name);
    if (!r->e->status)
        r->e->status = ox_build_text(r->e->b, attr->name, &attr->name);
    if (!take_char(r, '"')) {
        read_number_attr(r, attr);
        return true;
    }
    attr->u.s = (ox_string){(char *)(uintptr_t)r->at, 0};
    for (; *r->at && *r->at != '"'; r->at++)
        attr->u.s.size++;
    take_char(r, '"');
    return true;
}

static int read_attrs(reader *r, ox_attr *attrs) {
    int count = 0;
    if (!take_char(r, '<'))
        return 0;
    do {
        ox_attr attr;
        if (read_attr(r, &attr) && count < MOST_ATTRS)
            attrs[count++] = attr;
    } while (take_char(r, ','));
    take_char(r, '>');
    return count;
}

static int32_t evaluate(reader *r, const results *wanted);

static const char *find_macro(const ox_emitter *e, const char *name) {
    for (const ox_macro *m = e->macros; m && m->name; m++)
        if (!ox_text_order(m->name, name))
            return m->text;
    return NULL;
}

static int32_t value_of(const reader *r, char letter) {
    const int at = letter - 'a';
    if (at >= 0 && at < r->count)
        return r->values[at];
    return letter == 'g' ? r->e->gradient : letter == 'y' ? r->e->result : OX_NONE;
}

/* The condition after a name: whether the call is emitted. */
static bool read_condition(reader *r) {
    char name[NAME_ROOM];
    if (!take_char(r, '?'))
        return true;
    read_name(r, name);
    if (!name[1])
        return value_of(r, *name) != OX_NONE;
    return ox_emit_int(r->e->node, name, 0) || ox_emit_attr(r->e->node, name, OX_ATTR_STRING);
}

/* What is read here is not written. */
static void pass_over(reader *r) {
    const bool before = r->skips;
    r->skips = true;
    evaluate(r, NULL);
    r->skips = before;
}

static int32_t write_call(reader *r, const char *name, int nattrs, const ox_attr *attrs, int count,
                          const int32_t *arguments, const results *wanted) {
    const char *macro = find_macro(r->e, name);
    int32_t one = NEW;
    const results alone = {1, &one};
    if (!wanted)
        wanted = &alone;
    if (macro)
        return evaluate(&(reader){r->e, macro, arguments, count, false}, wanted);
    ox_emit_to(r->e, name, nattrs, attrs, count, arguments, wanted->count, wanted->made);
    return r->e->status ? OX_NONE : wanted->made[0];
}

static int32_t read_call(reader *r, const char *name, const results *wanted) {
    ox_attr attrs[MOST_ATTRS];
    int32_t arguments[OX_EMIT_VALUES];
    int count = 0;
    const bool is_there = read_condition(r);
    const int nattrs = read_attrs(r, attrs);
    take_char(r, '(');
    if (!is_there) {
        const int32_t first = evaluate(r, wanted);
        while (take_char(r, ','))
            pass_over(r);
        take_char(r, ')');
        return first;
    }
    while (!take_char(r, ')')) {
        const int32_t argument = evaluate(r, NULL);
        if (count < OX_EMIT_VALUES)
            arguments[count++] = argument;
        take_char(r, ',');
    }
    return r->skips || r->e->status ? OX_NONE : write_call(r, name, nattrs, attrs, count, arguments, wanted);
}

/* A letter, and what stands in for it. */
static int32_t read_value(reader *r, char letter, const results *wanted) {
    const int32_t value = value_of(r, letter);
    if (!take_char(r, '|'))
        return value;
    if (value == OX_NONE)
        return evaluate(r, wanted);
    pass_over(r);
    return value;
}

static int32_t evaluate(reader *r, const results *wanted) {
    char name[NAME_ROOM];
    skip_spaces(r);
    if (take_char(r, '['))
        return read_list(r);
    if (!is_letter(*r->at)) {
        const double number = read_number(r, NULL);
        return r->skips ? OX_NONE : emit_number(r->e, number);
    }
    read_name(r, name);
    return name[1] ? read_call(r, name, wanted) : read_value(r, *name, wanted);
}

int32_t ox_emit_text(ox_emitter *e, const char *text, int count, const int32_t *values) {
    reader r = {e, text, values, count, false};
    return e->status ? OX_NONE : evaluate(&r, NULL);
}

/* ---- Bodies ------------------------------------------------------------------------------------------------- */

typedef struct body {
    reader reader;
    int32_t *values;
    const char *outputs;
    int nout;
    const ox_index *out;
} body;

/* The value of the scope that a letter is to give, OX_NONE for none. */
static int32_t asked_for(const body *b, char letter) {
    const char *found = strchr(b->outputs, letter);
    return found && found - b->outputs < b->nout ? b->out[found - b->outputs] : OX_NONE;
}

/* Outputs after the first one that are only results of the body are left out if they are not requested. */
static void read_statement(body *b) {
    reader *r = &b->reader;
    char letters[MOST_RESULTS];
    int32_t made[MOST_RESULTS];
    int count = 0;
    do {
        skip_spaces(r);
        letters[count] = *r->at++;
        made[count] = asked_for(b, letters[count]);
        if (made[count] == OX_NONE)
            made[count] = count && strchr(b->outputs, letters[count]) ? LEFT_OUT : NEW;
        count++;
    } while (take_char(r, ',') && count < MOST_RESULTS);
    r->skips = take_char(r, '?') && made[0] == NEW;
    take_char(r, '=');
    const int32_t wanted = made[0];
    int32_t value = evaluate(r, &(results){count, made});
    if (!r->skips && wanted != NEW && value != wanted)
        ox_emit_to(r->e, "Identity", 0, NULL, 1, &value, 1, (int32_t[]){wanted});
    made[0] = wanted == NEW ? value : wanted;
    for (int i = 0; i < count; i++)
        b->values[letters[i] - 'a'] = made[i] == LEFT_OUT ? OX_NONE : made[i];
}

void ox_emit_body(ox_emitter *e, const char *text, int32_t values[OX_EMIT_LETTERS], const char *outputs, int nout,
                  const ox_index *out) {
    body b = {{e, text, values, OX_EMIT_LETTERS, false}, values, outputs, nout, out};
    do
        read_statement(&b);
    while (!e->status && take_char(&b.reader, ';'));
}
