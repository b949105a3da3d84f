/* own_model.c: see own_model.h. */
#include "own_model.h"

#include <check.h>
#include <string.h>

enum {
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    TYPE_INTS = 7,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    MODEL_OPSET = 8
};

void own_begin(own_model *m, const char *domain, int version) {
    m->domain = domain;
    m->version = version;
    ox_counter_init(&m->counter);
    m->options.allocator = &m->counter.allocator;
}

void own_node(own_model *m, const char *op, const char *inputs, const char *outputs, const ox_bytes *attrs) {
    ox_bytes fields = {0};
    if (attrs)
        fields = *attrs;
    ox_put_text(&fields, NODE_DOMAIN, m->domain);
    ox_put_node(&m->graph, op, inputs, outputs, &fields);
}

void own_ints(ox_bytes *attrs, const char *name, size_t count, const int64_t *values) {
    ox_bytes attr = {0};
    ox_put_text(&attr, ATTRIBUTE_NAME, name);
    for (size_t i = 0; i < count; i++)
        ox_put_int(&attr, ATTRIBUTE_INTS, values[i]);
    ox_put_int(&attr, ATTRIBUTE_TYPE, TYPE_INTS);
    ox_put_message(attrs, NODE_ATTRIBUTE, &attr);
}

ox_status own_load(own_model *m) {
    ox_bytes import = {0};
    m->bytes.size = 0;
    ox_put_text(&import, OPSET_DOMAIN, m->domain);
    ox_put_int(&import, OPSET_VERSION, m->version);
    ox_put_model(&m->bytes, &m->graph, *m->domain ? 21 : m->version);
    if (*m->domain)
        ox_put_message(&m->bytes, MODEL_OPSET, &import);
    ox_status status = ox_model_load_memory(m->bytes.data, m->bytes.size, &m->options, &m->model, &m->error);
    return status ? status : ox_session_create(m->model, &m->options, &m->session, &m->error);
}

ox_status own_run(own_model *m, int count, const ox_tensor *inputs) {
    for (int i = 0; i < count; i++) {
        ox_status status = ox_session_set_input(m->session, (size_t)i, &inputs[i], &m->error);
        if (status)
            return status;
    }
    ox_status status = ox_session_run(m->session, &m->error);
    return status ? status : ox_session_output(m->session, 0, &m->output, &m->error);
}

void own_check(const own_model *m, int rank, const int64_t *dims, const float *values) {
    ck_assert_int_eq(m->output.dtype, OX_FLOAT);
    ck_assert_int_eq(m->output.rank, rank);
    for (int d = 0; d < rank; d++)
        ck_assert_int_eq(m->output.dims[d], dims[d]);
    ck_assert(ox_tensor_is_packed(&m->output));
    for (int64_t i = 0; i < ox_tensor_count(&m->output); i++)
        ck_assert_msg(((const float *)m->output.data)[i] == values[i], "element %d is %g, expected %g", (int)i,
                      (double)((const float *)m->output.data)[i], (double)values[i]);
}

void own_end(own_model *m) {
    ox_session_free(m->session);
    ox_model_free(m->model);
    ck_assert_uint_eq(m->counter.live, 0);
}
