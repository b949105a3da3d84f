/* values.c: the values of a model that can be asked for by name: inputs, outputs, and all between. */
#include "values.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "nearest.h"

/* Visits the nodes that the model has: others take the place of some, between values that no model names. A session
 * that is asked for what these leave out runs the former. */
static void visit_written(const ox_model *model, ox_node_fn *visit, void *context) {
    const ox_options written = {.no_integer = true};
    ox_session *session = NULL;
    ox_error error;
    if (ox_session_create(model, &written, &session, &error))
        session = NULL;
    ox_model_visit(model, session, visit, context);
    ox_session_free(session);
}

/* Calls the function for the name of each value, some more than once. */
typedef struct each {
    void (*take)(void *context, const char *name);
    void *context;
} each;

static void visit(void *context, const ox_node_info *node) {
    const each *e = context;
    ox_value_info info;
    if (node->depth)
        return;
    for (size_t i = 0; i < node->input_count; i++)
        if (!ox_node_input(node, i, &info) && *info.name)
            e->take(e->context, info.name);
    for (size_t i = 0; i < node->output_count; i++)
        if (!ox_node_output(node, i, &info) && *info.name)
            e->take(e->context, info.name);
}

static void for_each(const ox_model *model, void (*take)(void *context, const char *name), void *context) {
    each e = {take, context};
    ox_value_info info;
    for (size_t i = 0; !ox_model_input(model, i, &info); i++)
        take(context, info.name);
    for (size_t i = 0; !ox_model_output(model, i, &info); i++)
        take(context, info.name);
    visit_written(model, visit, &e);
}

typedef struct search {
    const char *text, *name;
    size_t length;
} search;

static void match(void *context, const char *name) {
    search *s = context;
    size_t length = strlen(name);
    bool begins = strncmp(s->text, name, length) == 0 && (s->text[length] == '=' || !s->text[length]);
    if (!begins || (s->name && length <= s->length))
        return;
    s->name = name;
    s->length = length;
}

bool ox_values_find(const ox_model *model, const char *text, const char **name, const char **rest) {
    search s = {text, NULL, 0};
    for_each(model, match, &s);
    *name = s.name;
    *rest = s.name && text[s.length] ? text + s.length + 1 : NULL;
    return s.name != NULL;
}

/* ---- Suggestions ------------------------------------------------------------------------------------------------- */

static void look_at(void *context, const char *name) {
    ox_nearest_add(context, name);
}

typedef struct node_search {
    const char *name;
    ox_text *outputs;
} node_search;

static void match_node(void *context, const ox_node_info *node) {
    const node_search *s = context;
    ox_value_info info;
    if (node->depth || !*node->name || strcmp(node->name, s->name) != 0)
        return;
    for (size_t i = 0; i < node->output_count; i++)
        if (!ox_node_output(node, i, &info) && *info.name)
            ox_text_format(s->outputs, "%s'%s'", s->outputs->size ? ", " : "", info.name);
}

void ox_values_suggest(const ox_model *model, const char *name, ox_text *text) {
    ox_text outputs = {0};
    node_search s = {name, &outputs};
    ox_nearest nearest = {.wanted = name};
    visit_written(model, match_node, &s);
    for_each(model, look_at, &nearest);
    if (outputs.size)
        ox_text_format(text, "; it is a node, which gives %s", outputs.data);
    else
        ox_nearest_put(&nearest, text);
    ox_text_free(&outputs);
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

typedef struct list {
    const char **names;
    size_t count, room;
} list;

static void add_outputs(void *context, const ox_node_info *node) {
    list *l = context;
    ox_value_info info;
    for (size_t i = 0; !node->depth && i < node->output_count; i++) {
        if (ox_node_output(node, i, &info) || !*info.name)
            continue;
        if (l->count == l->room) {
            l->room = l->room ? 2 * l->room : 64;
            l->names = ox_tool_resize((void *)l->names, l->room * sizeof *l->names);
        }
        l->names[l->count++] = info.name;
    }
}

const char **ox_values_list(const ox_model *model, size_t *count) {
    list l = {0};
    visit_written(model, add_outputs, &l);
    *count = l.count;
    return l.names;
}
