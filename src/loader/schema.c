/* schema.c: the attributes of a node against ONNX's definition of its operator. */
#include "loader.h"

#include <string.h>

/* attributes.inc says what the words of `versions` are. */
typedef struct schema {
    const char *domain, *name, *versions;
} schema;

static const schema schemas[] = {
#define OPERATOR(domain, name, versions) {domain, #name, versions},
#include "attributes.inc"
#undef OPERATOR
};

/* The same of operators that models of `ox embed` name (own_op.h). */
static const schema own_schemas[] = {
    {"", "ByteTable", "1 rank:i x_rank:i"},
    {"", "QLinearAdd", "1"},
    {"", "QLinearAveragePool",
     "1 auto_pad:s ceil_mode:i count_include_pad:i dilations:I kernel_shape:I! pads:I strides:I"},
    {"", "QLinearDiv", "1"},
    {"", "QLinearGemm", "1 transB:i"},
    {"", "QLinearGlobalAveragePool", "1"},
    {"", "QLinearMul", "1"},
    {"", "QLinearSub", "1"},
};

static int schema_order(const schema *row, const ox_op *op) {
    int order = ox_text_order(row->domain, op->domain);
    return order ? order : ox_text_order(row->name, op->name);
}

static const schema *find_schema_in(const schema *rows, size_t count, const ox_op *op) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = schema_order(&rows[middle], op);
        if (!order)
            return &rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static const schema *find_schema(const ox_op *op) {
    const schema *row = find_schema_in(schemas, sizeof schemas / sizeof *schemas, op);
    return row ? row : find_schema_in(own_schemas, sizeof own_schemas / sizeof *own_schemas, op);
}

/* A word of the list of an operator: a version, or an attribute. */
typedef struct word {
    const char *text;
    size_t size; /* of a version: 0 */
    int version;
    ox_attr_kind kind;
    bool required;
} word;

/* The word at *at, which moves past it; false at the end. */
static bool next_word(const char **at, word *next) {
    static const char kinds[] = "fistgFISTGpPyY";
    const char *p = *at;
    *next = (word){.text = p};
    if (!*p)
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        next->version = next->version * 10 + (*p - '0');
    if (p == *at) {
        while (*p != ':')
            p++;
        next->size = (size_t)(p - *at);
        next->kind = (ox_attr_kind)(strchr(kinds, p[1]) - kinds + 1);
        next->required = p[2] == '!';
        p += next->required ? 3 : 2;
    }
    *at = *p ? p + 1 : p;
    return true;
}

/* The attributes in force in a version of the operator set, NULL if it does not have the operator. */
static const char *in_force(const schema *row, int opset) {
    const char *found = NULL;
    word next;
    for (const char *at = row->versions; next_word(&at, &next);)
        if (!next.size && next.version <= opset)
            found = at;
    return found;
}

/* The next attribute of the version that *at is in. */
static bool next_attribute(const char **at, word *next) {
    return next_word(at, next) && next->size;
}

static bool is_named(const word *w, const char *name) {
    return !strncmp(name, w->text, w->size) && !name[w->size];
}

static bool find_attribute(const char *attributes, const char *name, word *found) {
    while (next_attribute(&attributes, found))
        if (is_named(found, name))
            return true;
    return false;
}

/* "axis, keepdims" or "none" */
static const char *list_names(const char *attributes, char *text, size_t size) {
    size_t n = 0;
    word next;
    while (next_attribute(&attributes, &next))
        n += ox_format(text + n, size - n, "%s%.*s", n ? ", " : "", (int)next.size, next.text);
    return n ? text : "none";
}

/* Names that start like this are notes of tools, by ONNX's own checker. */
static bool is_note(const char *name) {
    return name[0] == '_' && name[1] == '_';
}

static ox_status check_names(ox_loader *l, const Onnx__NodeProto *proto, const ox_node *node, const char *attributes) {
    char names[OX_ERROR_TEXT / 2];
    word found;
    for (size_t i = 0; i < proto->n_attribute; i++) {
        const char *name = proto->attribute[i]->name;
        if (!is_note(name) && !find_attribute(attributes, name, &found))
            return ox_fail(l->b.error, OX_ERROR_MODEL, "%s-%d has no attribute '%.*s': it has %s", node->op->name,
                           ox_op_version(node->op, node->version), 60, name,
                           list_names(attributes, names, sizeof names));
    }
    return OX_OK;
}

static ox_status check_kinds(ox_loader *l, const ox_node *node, const char *attributes) {
    word found;
    for (int i = 0; i < node->nattrs; i++) {
        const ox_attr *attr = &node->attrs[i];
        if (find_attribute(attributes, attr->name, &found) && found.kind != attr->kind)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "attribute '%s' is of type %s, but %s-%d wants %s", attr->name,
                           ox_attr_kind_name(attr->kind), node->op->name, ox_op_version(node->op, node->version),
                           ox_attr_kind_name(found.kind));
    }
    return OX_OK;
}

static bool is_given(const ox_node *node, const word *w) {
    for (int i = 0; i < node->nattrs; i++)
        if (is_named(w, node->attrs[i].name))
            return true;
    return false;
}

static ox_status check_required(ox_loader *l, const ox_node *node, const char *attributes) {
    word next;
    while (next_attribute(&attributes, &next))
        if (next.required && !is_given(node, &next))
            return ox_fail(l->b.error, OX_ERROR_MODEL, "attribute '%.*s' is missing, which %s-%d must have",
                           (int)next.size, next.text, node->op->name, ox_op_version(node->op, node->version));
    return OX_OK;
}

ox_status ox_load_check_attrs(ox_loader *l, const Onnx__NodeProto *proto, const ox_node *node) {
    const schema *row = ox_op_is_known(node->op) ? find_schema(node->op) : NULL;
    const char *attributes = row ? in_force(row, node->version) : NULL;
    if (!attributes)
        return OX_OK;
    OX_TRY(check_names(l, proto, node, attributes));
    OX_TRY(check_kinds(l, node, attributes));
    return check_required(l, node, attributes);
}
