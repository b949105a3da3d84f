/* sort.c: topological order. */
#include "builder.h"

#include <string.h>

/* A depth-first walk over what nodes read, with a stack of its own; `next` is how many of a node's reads are done. */
typedef struct walk {
    ox_scope *scope;
    int32_t *stack, *next, *order;
    int32_t depth, done;
} walk;

enum {
    UNSEEN = 0,
    FINISHED = -1
};

/* The node that read k of node n comes from, -1 if from none. */
static int32_t source_of(const ox_scope *scope, int32_t n, int32_t k) {
    const ox_node *node = &scope->nodes[n];
    int32_t value = ox_node_value(node, k);
    return value < 0 ? -1 : scope->notes[value].producer;
}

/* The first node that reads a result of it, or of a node after it; -1 if there is none. */
static int32_t first_unsorted(const ox_scope *scope) {
    for (int32_t n = 0; n < scope->nnodes; n++)
        for (int32_t k = 0; k < ox_node_named(&scope->nodes[n]); k++)
            if (source_of(scope, n, k) >= n)
                return n;
    return -1;
}

static ox_status fail_cycle(ox_builder *b, const ox_scope *scope, int32_t n) {
    const ox_node *node = &scope->nodes[n];
    const char *out = "";
    for (int i = 0; i < node->nout && !*out; i++)
        out = node->out[i] < 0 ? "" : scope->values[node->out[i]].name;
    return ox_fail(b->error, OX_ERROR_MODEL, "node '%.*s' (%.*s), which produces '%.*s', depends on its own output", 60,
                   scope->node_names[n], 40, node->op->name, 60, out);
}

/* Goes one step on from the top of the stack. next[n] is 0 before the first visit, then 1 + reads done. */
static ox_status step(ox_builder *b, walk *w) {
    int32_t n = w->stack[w->depth - 1];
    const ox_node *node = &w->scope->nodes[n];
    int32_t k = w->next[n] - 1;
    if (k == ox_node_named(node)) {
        w->next[n] = FINISHED;
        w->order[w->done++] = n;
        w->depth--;
        return OX_OK;
    }
    w->next[n]++;
    int32_t from = source_of(w->scope, n, k);
    if (from < 0 || w->next[from] == FINISHED)
        return OX_OK;
    if (w->next[from] != UNSEEN)
        return fail_cycle(b, w->scope, from);
    w->next[from] = 1;
    w->stack[w->depth++] = from;
    return OX_OK;
}

static ox_status visit(ox_builder *b, walk *w, int32_t n) {
    if (w->next[n] != UNSEEN)
        return OX_OK;
    w->next[n] = 1;
    w->stack[w->depth++] = n;
    while (w->depth)
        OX_TRY(step(b, w));
    return OX_OK;
}

static ox_status sort(ox_builder *b, ox_scope *scope) {
    walk w = {.scope = scope};
    ox_node *sorted;
    const char **names;
    size_t count = (size_t)scope->nnodes;
    OX_TRY(ox_build_get(b, &scope->pile, count, sizeof *w.stack, &w.stack));
    OX_TRY(ox_build_get(b, &scope->pile, count, sizeof *w.next, &w.next));
    OX_TRY(ox_build_get(b, &scope->pile, count, sizeof *w.order, &w.order));
    OX_TRY(ox_build_get(b, &scope->pile, count, sizeof *sorted, &sorted));
    OX_TRY(ox_build_get(b, &scope->pile, count, sizeof *names, &names));
    for (int32_t n = 0; n < scope->nnodes; n++)
        OX_TRY(visit(b, &w, n));
    for (int32_t n = 0; n < scope->nnodes; n++) {
        sorted[n] = scope->nodes[w.order[n]];
        names[n] = scope->node_names[w.order[n]];
    }
    memcpy(scope->nodes, sorted, count * sizeof *sorted);
    scope->node_names = names;
    scope->name_room = scope->nnodes;
    return OX_OK;
}

ox_status ox_scope_sort(ox_builder *b, ox_scope *scope) {
    const int32_t n = first_unsorted(scope);
    if (n < 0)
        return OX_OK;
    if (OX_WITH_SORTING)
        return sort(b, scope);
    return (ox_fail)(b->error, OX_ERROR_MODEL, "node %d (%.*s) reads what a later node gives", (int)n, 40,
                     scope->nodes[n].op->name);
}
