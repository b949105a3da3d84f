/* extra.c: values that a session gives as outputs, though the model does not. */
#include "extra.h"

#include <string.h>

/* The names that are asked for, and their order. */
typedef struct wanted {
    const char *const *names;
    size_t *order;
    size_t count;
} wanted;

static const char *name_at(const wanted *w, size_t i) {
    return w->names[w->order[i]];
}

/* Brings the entry at `root` of a heap to its place. */
static void sift(const wanted *w, size_t root, size_t end) {
    for (size_t child = 2 * root + 1; child < end; child = 2 * root + 1) {
        if (child + 1 < end && ox_text_order(name_at(w, child), name_at(w, child + 1)) < 0)
            child++;
        if (ox_text_order(name_at(w, root), name_at(w, child)) >= 0)
            return;
        size_t moved = w->order[root];
        w->order[root] = w->order[child];
        w->order[child] = moved;
        root = child;
    }
}

static void sort(const wanted *w) {
    for (size_t i = w->count / 2; i-- > 0;)
        sift(w, i, w->count);
    for (size_t end = w->count; end-- > 1;) {
        size_t last = w->order[end];
        w->order[end] = w->order[0];
        w->order[0] = last;
        sift(w, 0, end);
    }
}

/* The first name in order that is not before this one. */
static size_t first_from(const wanted *w, const char *name) {
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ox_text_order(name_at(w, middle), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fills in the ports of the names that values of the model have; the others keep a value of -1. */
static void find_values(const ox_graph *graph, const wanted *w, ox_port *ports) {
    for (size_t i = 0; i < w->count; i++)
        ports[i] = (ox_port){.name = w->names[i], .kind = OX_KIND_TENSOR, .value = -1};
    const ox_written *written = ox_graph_written(graph);
    const int count = (written ? &written->graph : graph)->nvalues;
    for (int v = 0; v < count; v++) {
        const char *name = ox_graph_name(graph, v);
        for (size_t i = first_from(w, name); i < w->count && !ox_text_order(name_at(w, i), name); i++) {
            ports[w->order[i]].name = name;
            ports[w->order[i]].value = (ox_index)v;
        }
    }
}

static ox_status check_found(const ox_model *model, const ox_port *ports, size_t count, ox_error *error) {
    for (size_t i = 0; i < count; i++)
        if (ports[i].value < 0)
            return ox_fail(error, OX_ERROR_ARGUMENT, "%s: the main graph has no value '%.*s' to give as an output",
                           model->path, 200, ports[i].name);
    return OX_OK;
}

static ox_status find_all(const ox_model *model, const ox_options *options, const ox_allocator *temporary,
                          ox_port *ports, ox_error *error) {
    wanted w = {options->extra_outputs, NULL, options->extra_output_count};
    size_t size = w.count * sizeof *w.order; /* smaller than the ports */
    w.order = ox_alloc(temporary, size);
    if (!w.order)
        return ox_fail_memory(error, "extra outputs", size);
    for (size_t i = 0; i < w.count; i++)
        w.order[i] = i;
    sort(&w);
    find_values(model->graph, &w, ports);
    ox_release(temporary, w.order, size);
    return check_found(model, ports, w.count, error);
}

/* Who wants a value that integer operators leave out gets the nodes that the model has. */
static void give_lost(ox_graph *made, const ox_port *ports, size_t count) {
    const ox_written *written = ox_graph_written(made);
    for (size_t i = 0; i < count && written; i++)
        if (written->lost[ports[i].value]) {
            made->nodes = written->graph.nodes;
            made->nnodes = written->graph.nnodes;
            made->node_names = written->graph.node_names;
            return;
        }
}

ox_status ox_extra_outputs(const ox_model *model, const ox_options *options, const ox_allocator *allocator,
                           const ox_allocator *temporary, ox_graph **result, size_t *size, ox_error *error) {
    const size_t count = options->extra_output_count;
    const ox_graph *graph = ox_graph_for(model->graph, options);
    *result = NULL;
    if (!count)
        return OX_OK;
    if (!OX_KEEP_NAMES)
        return ox_fail(error, OX_ERROR_UNSUPPORTED, "%s: this build of the library keeps no names of values",
                       model->path);
    if (!options->extra_outputs)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: %zu extra outputs, but no names", model->path, count);
    if (count > (size_t)(OX_MOST_VALUES - graph->noutputs))
        return ox_fail(error, OX_ERROR_LIMIT, "%s: more than %d outputs", model->path, (int)OX_MOST_VALUES);
    for (size_t i = 0; i < count; i++)
        if (!options->extra_outputs[i])
            return ox_fail(error, OX_ERROR_ARGUMENT, "%s: extra output %zu has no name", model->path, i);
    if (!ox_mul_size((size_t)graph->noutputs + count, sizeof(ox_port), size) || *size > SIZE_MAX - sizeof *graph)
        return ox_fail_memory(error, "extra outputs", count);
    *size += sizeof *graph;
    ox_graph *made = ox_alloc(allocator, *size);
    if (!made)
        return ox_fail_memory(error, "extra outputs", *size);
    ox_port *ports = (ox_port *)(void *)(made + 1);
    *made = *graph;
    *result = made;
    if (graph->noutputs)
        memcpy(ports, graph->outputs, (size_t)graph->noutputs * sizeof *ports);
    made->outputs = ports;
    made->noutputs += (int)count;
    OX_TRY(find_all(model, options, temporary, ports + graph->noutputs, error));
    give_lost(made, ports + graph->noutputs, count);
    return OX_OK;
}
