/* describe.c: what a model says of itself, as Python's objects. */
#include "oxpy.h"

/* The classes live as long as the interpreter. */
static PyTypeObject *value_type, *operator_type, *step_type;

static PyTypeObject *add_type(PyObject *module, const char *name, PyStructSequence_Desc *description) {
    PyTypeObject *type = PyStructSequence_NewType(description);
    if (type && PyModule_AddObjectRef(module, name, (PyObject *)type))
        Py_CLEAR(type);
    return type;
}

int oxpy_add_descriptions(PyObject *module) {
    static PyStructSequence_Field value_fields[] = {
        {"name", "the name in the model"},
        {"type",
         "a tensor's element type (\"float\"), else the type (\"seq(tensor(float))\"); None if it is not stated"},
        {"shape", "a tuple of int, str (a named dimension) and None; None if it is not stated"},
        {"optional", "True for an input that has a default"},
        {NULL, NULL}};
    static PyStructSequence_Field operator_fields[] = {{"domain", "\"\" is ONNX's own"},
                                                       {"name", "such as \"Conv\""},
                                                       {"version", "of the definition in force"},
                                                       {"count", "of nodes"},
                                                       {NULL, NULL}};
    static PyStructSequence_Field step_fields[] = {{"kind", "kernel, pass, view, copy or control"},
                                                   {"depth", "0 in the main graph, 1 in a subgraph, ..."},
                                                   {"nodes", "tuples of name, first output, domain and operator"},
                                                   {"start_ns", "on a clock that only goes forward"},
                                                   {"duration_ns", "subgraphs included"},
                                                   {"bytes_read", "of memory; what broadcasting repeats counts once"},
                                                   {"bytes_written", "of memory"},
                                                   {NULL, NULL}};
    static PyStructSequence_Desc value = {"oxrt.ValueInfo", "An input or output of a model.", value_fields, 4};
    static PyStructSequence_Desc operators = {"oxrt.OperatorUse", "An operator of a model.", operator_fields, 4};
    static PyStructSequence_Desc one_step = {"oxrt.Step", "A step of a run.", step_fields, 7};
    value_type = add_type(module, "ValueInfo", &value);
    operator_type = value_type ? add_type(module, "OperatorUse", &operators) : NULL;
    step_type = operator_type ? add_type(module, "Step", &one_step) : NULL;
    return step_type ? 0 : -1;
}

/* A struct of the values of a tuple, which is taken over. */
static PyObject *make_struct(PyTypeObject *type, PyObject *values) {
    PyObject *made = values ? PyStructSequence_New(type) : NULL;
    for (Py_ssize_t i = 0; made && i < PyTuple_Size(values); i++)
        PyStructSequence_SetItem(made, i, Py_NewRef(PyTuple_GetItem(values, i)));
    Py_XDECREF(values);
    return made;
}

PyObject *oxpy_step_new(const ox_profile_event *e, PyObject *nodes) {
    return make_struct(step_type,
                       Py_BuildValue("siNKKKK", ox_step_kind_name(e->kind), e->depth, nodes,
                                     (unsigned long long)e->start_ns, (unsigned long long)e->duration_ns,
                                     (unsigned long long)e->bytes_read, (unsigned long long)e->bytes_written));
}

static PyObject *dim_of(const ox_value_info *info, int d) {
    if (info->dims[d] >= 0)
        return PyLong_FromLongLong(info->dims[d]);
    const char *name = info->dim_names ? info->dim_names[d] : NULL;
    return name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

static PyObject *shape_of(const ox_value_info *info) {
    PyObject *shape = info->rank < 0 ? Py_NewRef(Py_None) : PyTuple_New(info->rank);
    for (int d = 0; shape && d < info->rank; d++) {
        PyObject *dim = dim_of(info, d);
        if (!dim || PyTuple_SetItem(shape, d, dim))
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *describe_value(const ox_value_info *info) {
    const char *type = info->dtype != OX_UNDEFINED ? ox_dtype_name(info->dtype) : *info->type ? info->type : NULL;
    PyObject *shape = shape_of(info);
    return shape ? make_struct(value_type,
                               Py_BuildValue("szNN", info->name, type, shape, PyBool_FromLong(info->optional)))
                 : NULL;
}

typedef ox_status value_fn(const ox_model *model, size_t index, ox_value_info *info);

static PyObject *describe_values(oxpy_model *self, value_fn *get, size_t count, size_t extra) {
    PyObject *values = PyTuple_New((Py_ssize_t)(count + extra));
    for (size_t i = 0; values && i < count + extra; i++) {
        ox_value_info info = {.rank = -1};
        if (i < count)
            get(self->model, i, &info);
        else
            info.name = self->options.extra_outputs[i - count];
        PyObject *value = describe_value(&info);
        if (!value || PyTuple_SetItem(values, (Py_ssize_t)i, value))
            Py_CLEAR(values);
    }
    return values;
}

/* A dict from names to places. */
static PyObject *places_of(PyObject *values) {
    PyObject *places = values ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; places && i < PyTuple_Size(values); i++) {
        PyObject *name = PyStructSequence_GetItem(PyTuple_GetItem(values, i), 0), *place = PyLong_FromSsize_t(i);
        if (!place || PyDict_SetItem(places, name, place))
            Py_CLEAR(places);
        Py_XDECREF(place);
    }
    return places;
}

int oxpy_describe(oxpy_model *self) {
    const size_t inputs = ox_model_input_count(self->model), outputs = ox_model_output_count(self->model);
    self->inputs = describe_values(self, ox_model_input, inputs, 0);
    self->outputs = describe_values(self, ox_model_output, outputs, self->options.extra_output_count);
    self->input_places = places_of(self->inputs);
    self->output_places = places_of(self->outputs);
    return self->input_places && self->output_places ? 0 : -1;
}

PyObject *oxpy_metadata(oxpy_model *self) {
    ox_model_info info;
    PyObject *entries = PyDict_New();
    ox_model_get_info(self->model, &info);
    for (size_t i = 0; entries && i < info.metadata_count; i++) {
        PyObject *value = PyUnicode_FromString(info.metadata[i].value);
        if (!value || PyDict_SetItemString(entries, info.metadata[i].key, value))
            Py_CLEAR(entries);
        Py_XDECREF(value);
    }
    return entries;
}

static PyObject *opsets_of(const ox_model_info *info) {
    PyObject *opsets = PyDict_New();
    for (size_t i = 0; opsets && i < info->opset_count; i++) {
        PyObject *version = PyLong_FromLongLong(info->opsets[i].version);
        if (!version || PyDict_SetItemString(opsets, info->opsets[i].domain, version))
            Py_CLEAR(opsets);
        Py_XDECREF(version);
    }
    return opsets;
}

PyObject *oxpy_info(oxpy_model *self) {
    ox_model_info info;
    ox_model_get_info(self->model, &info);
    PyObject *opsets = opsets_of(&info);
    if (!opsets)
        return NULL;
    return Py_BuildValue("{ss,ss,ss,ss,ss,sL,sL,sN,sn,sL,sL}", "producer_name", info.producer_name, "producer_version",
                         info.producer_version, "domain", info.domain, "graph_name", info.graph_name, "description",
                         info.description, "ir_version", (long long)info.ir_version, "model_version",
                         (long long)info.model_version, "opsets", opsets, "node_count", (Py_ssize_t)info.node_count,
                         "parameter_count", (long long)info.parameter_count, "weight_bytes",
                         (long long)info.weight_bytes);
}

PyObject *oxpy_operators(oxpy_model *self) {
    const size_t count = ox_model_op_use_count(self->model);
    PyObject *list = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        ox_op_use use = {0};
        ox_model_op_use(self->model, i, &use);
        PyObject *made = make_struct(
            operator_type, Py_BuildValue("ssLn", use.domain, use.name, (long long)use.version, (Py_ssize_t)use.count));
        if (!made || PyTuple_SetItem(list, (Py_ssize_t)i, made))
            Py_CLEAR(list);
    }
    return list;
}
