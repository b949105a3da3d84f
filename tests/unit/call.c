/* call.c: one operator by itself. What the runtime does for it in earnest is done here in the plainest way. */
#include "tests/unit/call.h"

#include "src/host.h"
#include "src/iterate/bcast.h"
#include "src/loops/lanes.h"

#include <stdlib.h>
#include <string.h>

void test_call_begin(test_call *t, const char *op, int64_t version) {
    memset(t, 0, sizeof *t);
    t->call.op = ox_op_find("", op, version, NULL);
    if (!t->call.op)
        abort();
    t->call.version = (int)version;
    t->call.in = t->in;
    t->call.out = t->out;
    t->call.attrs = t->attrs;
    t->call.results = t->results;
    t->call.error = &t->error;
    t->call.pile = &t->pile;
    t->call.strings = &t->pile;
    t->call.loops = ox_loops_find(ox_default_isa());
    ox_pile_init(&t->pile, ox_default_allocator());
}

void test_call_end(test_call *t) {
    for (int k = 0; k < TEST_CALL_MOST; k++)
        free(t->outputs[k].data);
    ox_pile_free(&t->pile);
}

void test_call_strided(test_call *t, ox_dtype dtype, int rank, const int64_t *dims, const int64_t *strides,
                       const void *data) {
    int i = t->call.nin++;
    memcpy(t->dims[i], dims, (size_t)rank * sizeof *dims);
    t->inputs[i] = (ox_tensor){dtype, rank, t->dims[i], strides, (void *)(uintptr_t)data};
    t->in[i] = &t->inputs[i];
}

void test_call_input(test_call *t, ox_dtype dtype, int rank, const int64_t *dims, const void *data) {
    test_call_strided(t, dtype, rank, dims, NULL, data);
}

void test_call_omit(test_call *t) {
    t->call.nin++;
}

ox_attr *test_call_attr(test_call *t, const char *name, ox_attr_kind kind) {
    ox_attr *attr = &t->attrs[t->call.nattrs++];
    attr->name = name;
    attr->kind = kind;
    return attr;
}

void test_call_int(test_call *t, const char *name, int64_t value) {
    test_call_attr(t, name, OX_ATTR_INT)->u.i = value;
}

void test_call_float(test_call *t, const char *name, float value) {
    test_call_attr(t, name, OX_ATTR_FLOAT)->u.f = value;
}

void test_call_string(test_call *t, const char *name, const char *value) {
    test_call_attr(t, name, OX_ATTR_STRING)->u.s = (ox_string){value, strlen(value)};
}

void test_call_ints(test_call *t, const char *name, size_t count, const int64_t *values) {
    ox_attr *attr = test_call_attr(t, name, OX_ATTR_INTS);
    attr->count = count;
    attr->u.ints = values;
}

ox_status test_call_infer(test_call *t, int nout) {
    t->call.nout = nout;
    for (int k = 0; k < nout; k++)
        t->results[k].view_of = -1;
    OX_TRY(t->call.op->infer(&t->call));
    return t->call.attr_status;
}

/* A block of exactly the bytes that are needed, so that a sanitizer sees what goes beyond. */
static void make_output(test_call *t, int k) {
    const ox_result *r = &t->results[k];
    ox_tensor *out = &t->outputs[k];
    size_t size = (size_t)ox_count(r->rank, r->dims) * ox_dtype_size(r->dtype);
    free(out->data);
    *out = (ox_tensor){r->dtype, r->rank, r->dims, NULL, malloc(size ? size : 1)};
    if (!out->data)
        abort();
    memset(out->data, 0xAB, size);
    t->out[k] = out;
}

static void take_output(test_call *t, int k) {
    const ox_result *r = &t->results[k];
    ox_tensor *out = &t->outputs[k];
    if (ox_tensor_count(out) == 0)
        return;
    if (r->view_of >= 0) {
        ox_tensor view = {r->dtype, r->rank, r->dims, r->strides, (char *)t->in[r->view_of]->data + r->offset};
        ox_pack(t->call.loops, NULL, &view, out->data);
    } else if (r->data) {
        memcpy(out->data, r->data, (size_t)ox_tensor_count(out) * ox_dtype_size(out->dtype));
    }
}

ox_status test_call_run(test_call *t, int nout) {
    OX_TRY(test_call_infer(t, nout));
    bool computed = false;
    for (int k = 0; k < nout; k++) {
        make_output(t, k);
        computed |= t->results[k].view_of < 0 && !t->results[k].data;
    }
    if (computed) {
        t->call.workspace_size = 0;
        OX_TRY(t->call.op->prepare(&t->call));
        size_t size = t->call.workspace_size;
        t->call.workspace = aligned_alloc(OX_ALIGN, (size / OX_ALIGN + 1) * OX_ALIGN);
        memset(t->call.workspace, 0xAB, size);
        ox_status status = t->call.op->run(&t->call);
        free(t->call.workspace);
        OX_TRY(status);
    }
    for (int k = 0; k < nout; k++)
        take_output(t, k);
    return OX_OK;
}
