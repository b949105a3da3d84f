/* loading.c: loads a model for a test. */
#include "tests/unit/loading.h"

#include <check.h>
#include <string.h>

ox_error error;
ox_model *model;

ox_status load_with(const ox_bytes *bytes, const ox_options *options) {
    return ox_model_load_memory(bytes->data, bytes->size, options, &model, &error);
}

void load(const ox_bytes *bytes) {
    ck_assert_msg(load_with(bytes, NULL) == OX_OK, "%s", error.text);
}

void check_text(const char *text) {
    ck_assert_msg(strstr(error.text, text) != NULL, "'%s' is not in '%s'", text, error.text);
}

void check_fails(const ox_bytes *bytes, ox_status status, const char *text) {
    ck_assert_msg(load_with(bytes, NULL) == status, "%d: %s", error.status, error.text);
    ck_assert(!model);
    check_text(text);
}

void check_graph_fails(const ox_bytes *nodes, ox_status status, const char *text) {
    ox_bytes graph = *nodes, bytes = {0};
    ox_put_input(&graph, "x", OX_FLOAT, -1, NULL);
    ox_put_model(&bytes, &graph, 13);
    check_fails(&bytes, status, text);
}

int find_value(const ox_graph *graph, const char *name) {
    for (int i = 0; i < graph->nvalues; i++)
        if (!strcmp(ox_graph_name(graph, i), name))
            return i;
    return -1;
}

const void *weight(const char *name) {
    const ox_slot *slot = ox_graph_weight(model->graph, find_value(model->graph, name));
    ck_assert_ptr_nonnull(slot);
    return slot->tensor.data;
}
