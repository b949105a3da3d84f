/* indices.c: inputs of a model whose values are places in other tensors. */
#include "indices.h"

#include <string.h>

/* An operator whose input 1 has indices into its input 0: along one axis, or into all dimensions of an index tuple. */
typedef struct indexing {
    const char *op;
    bool tuples;
} indexing;

static const indexing operators[] = {
    {"Gather", false},  {"GatherElements", false},  {"GatherND", true},
    {"Scatter", false}, {"ScatterElements", false}, {"ScatterND", true},
};

typedef struct search {
    const ox_inputs *inputs;
    const char *name;
    int64_t places;
} search;

/* The dims of a value that are known before anything runs; NULL if there are none. */
static const int64_t *known_dims(const ox_inputs *inputs, const ox_value_info *info) {
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->infos[i].name, info->name) == 0)
            return inputs->infos[i].rank < 0 ? NULL : inputs->dims[i];
    return info->rank < 0 ? NULL : info->dims;
}

static void limit(search *s, int64_t places) {
    if (places > 0 && (!s->places || places < s->places))
        s->places = places;
}

static void visit(void *context, const ox_node_info *node) {
    search *s = context;
    ox_value_info data, indices;
    if (node->depth || *node->domain || ox_node_input(node, 0, &data) || ox_node_input(node, 1, &indices) ||
        strcmp(indices.name, s->name) != 0)
        return;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const int64_t *dims = strcmp(operators[i].op, node->op) == 0 ? known_dims(s->inputs, &data) : NULL;
        int64_t axis = ox_node_int(node, "axis", 0);
        axis += axis < 0 ? data.rank : 0;
        for (int d = 0; dims && d < data.rank; d++)
            if (operators[i].tuples || d == axis)
                limit(s, dims[d]);
    }
}

int64_t ox_index_places(const ox_inputs *inputs, size_t input) {
    search s = {inputs, inputs->infos[input].name, 0};
    ox_model_visit(inputs->model, NULL, visit, &s);
    return s.places;
}
