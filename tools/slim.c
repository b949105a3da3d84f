/* slim.c: makes a model smaller. Names are collected first, then the model is written again. A name gets the same short
 * name everywhere, in subgraphs, too, so that references stay valid. */
#include "slim.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "message.h"
#include "write_model.h"

enum {
    MOST_DEPTH = 100,
    NAME_ROOM = 12
};

/* Numbers of fields. */
enum {
    MODEL_GRAPH = 7,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_GRAPHS = 11,
    TENSOR_NAME = 8,
    INFO_NAME = 1,
    SPARSE_VALUES = 1
};

/* What the writing leaves out of a message: bit N stands for field N. */
static const uint32_t model_unread = 1u << 2 | 1u << 3 | 1u << 6 | 1u << 14 | 1u << 20 | 1u << 26,
                      graph_unread = 1u << 10 | 1u << 13 | 1u << 14 | 1u << 16,
                      node_unread = 1u << 3 | 1u << 6 | 1u << 9 | 1u << 10, attribute_unread = 1u << 13,
                      tensor_unread = 1u << 12 | 1u << 16, info_unread = 1u << 3 | 1u << 4;

typedef struct name {
    ox_message given;
    bool kept;            /* of an input or an output of the model */
    char text[NAME_ROOM]; /* the short one */
} name;

/* An initializer of the main graph, in order of the file. */
typedef struct weight {
    size_t number;
    ox_text key; /* what it is, but for its name */
    ox_message given;
    bool is_copy; /* there is an equal one before it */
} weight;

typedef struct slimmer {
    name *names;
    size_t count, room;
    weight *weights;
    size_t nweights, weights_room, written;
    bool is_nested; /* there are subgraphs */
    bool says;      /* attributes say names of values, which stay then */
} slimmer;

static size_t size_of(ox_message m) {
    return (size_t)(m.end - m.at);
}

static bool is_unread(uint32_t set, uint64_t number) {
    return number < 32 && set >> number & 1;
}

/* ---- Collecting ------------------------------------------------------------------------------------------------- */

static void add_name(slimmer *s, ox_message given, bool kept) {
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->names = ox_tool_resize(s->names, s->room * sizeof *s->names);
    }
    s->names[s->count++] = (name){given, kept, ""};
}

/* The field of that number, empty where there is none. */
static ox_message find_field(ox_message message, uint64_t number) {
    ox_field field;
    ox_message found = {NULL, NULL};
    while (ox_message_next(&message, &field))
        if (field.number == number && field.kind == OX_MESSAGE_LENGTH)
            found = field.body;
    return found;
}

/* An initializer, with all that it is but its name. */
static void add_weight(slimmer *s, ox_message tensor) {
    ox_field field;
    if (s->nweights == s->weights_room) {
        s->weights_room = s->weights_room ? 2 * s->weights_room : 64;
        s->weights = ox_tool_resize(s->weights, s->weights_room * sizeof *s->weights);
    }
    weight *w = &s->weights[s->nweights];
    *w = (weight){.number = s->nweights, .given = find_field(tensor, TENSOR_NAME)};
    s->nweights++;
    while (ox_message_next(&tensor, &field))
        if (field.number != TENSOR_NAME && !is_unread(tensor_unread, field.number))
            ox_message_put(&w->key, field.whole);
}

static bool collect_graph(slimmer *s, ox_message graph, int depth);

static bool collect_node(slimmer *s, ox_message node, int depth) {
    static const char training[] = "ai.onnx.preview.training";
    ox_field field, inner;
    while (ox_message_next(&node, &field)) {
        if (field.number == NODE_INPUT || field.number == NODE_OUTPUT)
            add_name(s, field.body, false);
        if (field.number == NODE_DOMAIN && size_of(field.body) == strlen(training))
            s->says |= memcmp(field.body.at, training, strlen(training)) == 0;
        ox_message attribute = field.body;
        while (field.number == NODE_ATTRIBUTE && ox_message_next(&attribute, &inner))
            if (inner.number == ATTRIBUTE_GRAPH || inner.number == ATTRIBUTE_GRAPHS) {
                s->is_nested = true;
                if (depth >= MOST_DEPTH || !collect_graph(s, inner.body, depth + 1))
                    return false;
            }
    }
    return node.at == node.end;
}

static bool collect_graph(slimmer *s, ox_message graph, int depth) {
    ox_field field;
    while (ox_message_next(&graph, &field)) {
        if (field.number == GRAPH_INPUT || field.number == GRAPH_OUTPUT)
            add_name(s, find_field(field.body, INFO_NAME), !depth);
        if (field.number == GRAPH_INITIALIZER)
            add_name(s, find_field(field.body, TENSOR_NAME), false);
        if (field.number == GRAPH_INITIALIZER && !depth)
            add_weight(s, field.body);
        if (field.number == GRAPH_SPARSE)
            add_name(s, find_field(find_field(field.body, SPARSE_VALUES), TENSOR_NAME), false);
        if (field.number == GRAPH_NODE && !collect_node(s, field.body, depth))
            return false;
    }
    return graph.at == graph.end;
}

/* ---- Short names ------------------------------------------------------------------------------------------------ */

static int compare_bytes(const void *a, size_t a_size, const void *b, size_t b_size) {
    const size_t least = a_size < b_size ? a_size : b_size;
    const int order = least ? memcmp(a, b, least) : 0;
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_names(const void *a, const void *b) {
    const name *x = a, *y = b;
    return compare_bytes(x->given.at, size_of(x->given), y->given.at, size_of(y->given));
}

static name *find_name(const slimmer *s, ox_message given) {
    const name wanted = {.given = given};
    return bsearch(&wanted, s->names, s->count, sizeof *s->names, compare_names);
}

/* a, b, ... z, ba, bb, ... */
static void spell(size_t number, char *text) {
    char digits[NAME_ROOM];
    size_t n = 0, at = 0;
    for (; !n || number; number /= 26)
        digits[n++] = (char)('a' + number % 26);
    while (n)
        text[at++] = digits[--n];
    text[at] = 0;
}

static bool is_kept(const slimmer *s, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    const name *found = find_name(s, (ox_message){at, at + strlen(text)});
    return found && found->kept;
}

static void shorten(slimmer *s) {
    size_t count = 0, number = 0;
    if (s->count)
        qsort(s->names, s->count, sizeof *s->names, compare_names);
    for (size_t i = 0; i < s->count; i++)
        if (count && !compare_names(&s->names[i], &s->names[count - 1]))
            s->names[count - 1].kept |= s->names[i].kept;
        else
            s->names[count++] = s->names[i];
    s->count = count;
    for (size_t i = 0; i < count; i++)
        if (!s->names[i].kept && size_of(s->names[i].given))
            do
                spell(number++, s->names[i].text);
            while (is_kept(s, s->names[i].text));
}

/* ---- Equal initializers ----------------------------------------------------------------------------------------- */

static int compare_weights(const void *a, const void *b) {
    const weight *x = a, *y = b;
    const int order = compare_bytes(x->key.data, x->key.size, y->key.data, y->key.size);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int compare_numbers(const void *a, const void *b) {
    const weight *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Inputs may get other values, and outputs have to stay. */
static bool may_be_joined(const slimmer *s, const weight *w) {
    const name *found = find_name(s, w->given);
    return found && !found->kept && size_of(w->given);
}

/* Names of equal ones become that of the first. In subgraphs another value might have that name. */
static void join_weights(slimmer *s) {
    const weight *first = NULL;
    if (s->nweights && !s->is_nested)
        qsort(s->weights, s->nweights, sizeof *s->weights, compare_weights);
    for (size_t i = 0; i < s->nweights && !s->is_nested; i++) {
        weight *w = &s->weights[i];
        if (!may_be_joined(s, w))
            continue;
        if (first && first->key.size == w->key.size &&
            !compare_bytes(first->key.data, w->key.size, w->key.data, w->key.size)) {
            w->is_copy = true;
            memcpy(find_name(s, w->given)->text, find_name(s, first->given)->text, NAME_ROOM);
        } else {
            first = w;
        }
    }
    if (s->nweights)
        qsort(s->weights, s->nweights, sizeof *s->weights, compare_numbers);
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static void put_name(const slimmer *s, ox_text *out, uint64_t number, ox_message given) {
    const name *found = find_name(s, given);
    const unsigned char *text = (const unsigned char *)(found ? found->text : "");
    const bool stays = s->says || !found || !*text;
    ox_message_put_field(out, number, stays ? given : (ox_message){text, text + strlen((const char *)text)});
}

static void put_text(ox_text *out, uint64_t number, ox_text *content) {
    const unsigned char *at = (const unsigned char *)ox_text_get(content);
    ox_message_put_field(out, number, (ox_message){at, at + content->size});
    ox_text_free(content);
}

/* A message, with another name in the field of that number. */
static void put_named(const slimmer *s, ox_text *out, uint64_t number, ox_message message, uint64_t named,
                      uint32_t unread) {
    ox_text made = {0};
    ox_field field;
    while (ox_message_next(&message, &field))
        if (field.number == named)
            put_name(s, &made, named, field.body);
        else if (!is_unread(unread, field.number))
            ox_message_put(&made, field.whole);
    put_text(out, number, &made);
}

static void put_sparse(const slimmer *s, ox_text *out, ox_message sparse) {
    ox_text made = {0};
    ox_field field;
    while (ox_message_next(&sparse, &field))
        if (field.number == SPARSE_VALUES)
            put_named(s, &made, SPARSE_VALUES, field.body, TENSOR_NAME, tensor_unread);
        else
            ox_message_put(&made, field.whole);
    put_text(out, GRAPH_SPARSE, &made);
}

static void put_graph(slimmer *s, ox_text *out, uint64_t number, ox_message graph, int depth);

static void put_attribute(slimmer *s, ox_text *out, ox_message attribute, int depth) {
    ox_text made = {0};
    ox_field field;
    while (ox_message_next(&attribute, &field))
        if (field.number == ATTRIBUTE_GRAPH || field.number == ATTRIBUTE_GRAPHS)
            put_graph(s, &made, field.number, field.body, depth + 1);
        else if (!is_unread(attribute_unread, field.number))
            ox_message_put(&made, field.whole);
    put_text(out, NODE_ATTRIBUTE, &made);
}

static bool is_text(ox_message m, const char *text) {
    return size_of(m) == strlen(text) && !memcmp(m.at, text, size_of(m));
}

/* Whether all integers of an attribute are that number, which is less than 128. */
static bool holds_only(ox_message attribute, unsigned char number) {
    ox_field field;
    while (ox_message_next(&attribute, &field)) {
        if (field.number != ATTRIBUTE_INT && field.number != ATTRIBUTE_INTS)
            continue;
        const bool is_packed = field.kind == OX_MESSAGE_LENGTH;
        for (const unsigned char *at = is_packed ? field.body.at : field.whole.at + 1;
             at < (is_packed ? field.body.end : field.whole.end); at++)
            if (*at != number)
                return false;
    }
    return true;
}

/* Whether convolutions and pools are the same without the attribute. */
static bool is_default(ox_message node, ox_message attribute) {
    static const char *const convolutions[] = {"Conv", "ConvInteger", "QLinearConv"};
    static const char *const pools[] = {"AveragePool", "MaxPool", "QLinearAveragePool"};
    static const struct {
        const char *name;
        unsigned char number;
    } defaults[] = {{"group", 1}, {"dilations", 1}, {"strides", 1}, {"pads", 0}};
    const ox_message op = find_field(node, NODE_OP), called = find_field(attribute, ATTRIBUTE_NAME);
    const ox_message domain = find_field(node, NODE_DOMAIN);
    bool has_weights = false, is_window = false;
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        has_weights |= is_text(op, convolutions[i]);
        is_window |= is_text(op, convolutions[i]) || is_text(op, pools[i]);
    }
    if (size_of(domain) && !is_text(domain, "ai.onnx") && !is_text(domain, OX_OWN_DOMAIN))
        return false;
    if (!is_window || (has_weights && is_text(called, "kernel_shape"))) /* the weights have it */
        return is_window;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (is_text(called, defaults[i].name))
            return holds_only(attribute, defaults[i].number);
    return false;
}

static void put_node(slimmer *s, ox_text *out, ox_message node, int depth) {
    const ox_message whole = node;
    ox_text made = {0};
    ox_field field;
    while (ox_message_next(&node, &field))
        if (field.number == NODE_INPUT || field.number == NODE_OUTPUT)
            put_name(s, &made, field.number, field.body);
        else if (field.number == NODE_ATTRIBUTE && !is_default(whole, field.body))
            put_attribute(s, &made, field.body, depth);
        else if (field.number == NODE_ATTRIBUTE)
            continue;
        else if (!is_unread(node_unread, field.number))
            ox_message_put(&made, field.whole);
    put_text(out, GRAPH_NODE, &made);
}

static void put_graph(slimmer *s, ox_text *out, uint64_t number, ox_message graph, int depth) {
    ox_text made = {0};
    ox_field field;
    while (ox_message_next(&graph, &field))
        if (field.number == GRAPH_NODE)
            put_node(s, &made, field.body, depth);
        else if (field.number == GRAPH_INPUT || field.number == GRAPH_OUTPUT)
            put_named(s, &made, field.number, field.body, INFO_NAME, info_unread);
        else if (field.number == GRAPH_SPARSE)
            put_sparse(s, &made, field.body);
        else if (field.number == GRAPH_INITIALIZER && !depth && !s->says && s->weights[s->written++].is_copy)
            continue;
        else if (field.number == GRAPH_INITIALIZER)
            put_named(s, &made, field.number, field.body, TENSOR_NAME, tensor_unread);
        else if (!is_unread(graph_unread, field.number))
            ox_message_put(&made, field.whole);
    put_text(out, number, &made);
}

/* ---- All of it -------------------------------------------------------------------------------------------------- */

static bool collect_model(slimmer *s, ox_message model) {
    ox_field field;
    while (ox_message_next(&model, &field))
        if (field.number == MODEL_GRAPH && !collect_graph(s, field.body, 0))
            return false;
    return model.at == model.end;
}

static void free_slimmer(slimmer *s) {
    for (size_t i = 0; i < s->nweights; i++)
        ox_text_free(&s->weights[i].key);
    free(s->weights);
    free(s->names);
}

bool ox_slim_model(ox_text *out, const unsigned char *bytes, size_t size) {
    slimmer s = {0};
    ox_message model = {bytes, bytes + size};
    ox_field field;
    const bool done = collect_model(&s, model);
    if (done) {
        shorten(&s);
        join_weights(&s);
        while (ox_message_next(&model, &field))
            if (field.number == MODEL_GRAPH)
                put_graph(&s, out, MODEL_GRAPH, field.body, 0);
            else if (!is_unread(model_unread, field.number))
                ox_message_put(out, field.whole);
    }
    free_slimmer(&s);
    return done;
}
