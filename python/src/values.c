/* values.c: sequences, optionals and maps: lists, None and dicts of Python. */
#include "oxpy.h"

enum {
    MOST_NAME = 200 /* bytes of the name that errors give an item */
};

/* What is read on the way into a value: where it is, for errors, and memory for what cannot be used in place. */
typedef struct reader {
    oxpy_scratch scratch;
    char name[MOST_NAME];
} reader;

static int read_value(reader *r, const char *type, PyObject *object, ox_value **value);

/* ---- Types -------------------------------------------------------------------------------------------------- */

/* The type inside of "seq(...)" and the like, behind its opening bracket; NULL if `type` is of another kind. */
static const char *inside(const char *type, const char *kind) {
    const size_t size = strlen(kind);
    return !strncmp(type, kind, size) && type[size] == '(' ? type + size + 1 : NULL;
}

/* The element type whose name stands at the start of a text. */
static ox_dtype element_type(const char *text) {
    const size_t size = strcspn(text, ",)");
    for (int dtype = OX_UNDEFINED + 1; dtype < OX_DTYPE_COUNT; dtype++) {
        const char *name = ox_dtype_name((ox_dtype)dtype);
        if (strlen(name) == size && !strncmp(name, text, size))
            return (ox_dtype)dtype;
    }
    return OX_UNDEFINED;
}

/* Fails with the type that stands at the start of a text. */
static int refuse(const reader *r, const char *type, PyObject *object) {
    size_t size = strcspn(type, "(");
    int depth = 0;
    do {
        depth += type[size] == '(' ? 1 : type[size] == ')' ? -1 : 0;
        size++;
    } while (depth && type[size]);
    PyObject *text = PyUnicode_FromStringAndSize(type, (Py_ssize_t)size);
    if (text)
        oxpy_fail(OX_ERROR_SHAPE, "input %s: the model wants %U, not %R", r->name, text, Py_TYPE(object));
    Py_XDECREF(text);
    return -1;
}

/* ---- From Python -------------------------------------------------------------------------------------------- */

static int read_tensor(reader *r, ox_dtype dtype, PyObject *object, ox_value **value) {
    oxpy_tensor made;
    ox_error error;
    if (oxpy_tensor_in(&r->scratch, object, dtype, r->name, &made))
        return -1;
    const ox_status status = ox_value_from_tensor(&made.tensor, NULL, value, &error);
    Py_DECREF((PyObject *)made.array);
    if (status)
        oxpy_raise(&error);
    return status ? -1 : 0;
}

static void free_items(ox_value **items, size_t count) {
    for (size_t i = 0; i < count; i++)
        ox_value_free(items[i]);
    PyMem_Free(items);
}

/* A value of the items of a list or tuple, each of the type `type`. */
static int read_items(reader *r, ox_kind kind, const char *type, const ox_tensor *keys, PyObject *objects,
                      ox_value **value) {
    const size_t length = strlen(r->name);
    size_t count = 0;
    ox_error error;
    ox_status status = OX_OK;
    ox_value **items = PyMem_Calloc((size_t)PySequence_Size(objects) + 1, sizeof *items);
    bool failed = !items;
    if (failed)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; !failed && i < PySequence_Size(objects); i++) {
        PyObject *object = PySequence_GetItem(objects, i);
        if (kind != OX_KIND_OPTIONAL)
            PyOS_snprintf(r->name + length, sizeof r->name - length, "[%zd]", i);
        failed = !object || read_value(r, type, object, &items[count]);
        count += failed ? 0 : 1;
        Py_XDECREF(object);
    }
    r->name[length] = 0;
    if (!failed &&
        (status = ox_value_from_items(kind, keys, (const ox_value *const *)items, count, NULL, value, &error)))
        oxpy_raise(&error);
    free_items(items, count);
    return failed || status ? -1 : 0;
}

static int read_sequence(reader *r, const char *type, PyObject *object, ox_value **value) {
    /* A tuple of its own: conversions run Python code, which may change a list. */
    PyObject *items = PySequence_Tuple(object);
    const int failed = !items || read_items(r, OX_KIND_SEQUENCE, type, NULL, items, value);
    Py_XDECREF(items);
    return failed ? -1 : 0;
}

static int read_optional(reader *r, const char *type, PyObject *object, ox_value **value) {
    PyObject *items = object == Py_None ? PyTuple_New(0) : PyTuple_Pack(1, object);
    const int failed = !items || read_items(r, OX_KIND_OPTIONAL, type, NULL, items, value);
    Py_XDECREF(items);
    return failed ? -1 : 0;
}

/* The keys become a tensor, the values items. */
static int read_map(reader *r, const char *type, PyObject *object, ox_value **value) {
    oxpy_scratch scratch = {0};
    oxpy_tensor keys;
    const char *item = strchr(type, ',') + 1;
    char keys_name[MOST_NAME];
    PyObject *pairs = PyMapping_Items(object), *lists = NULL;
    int failed = -1;
    if (pairs)
        lists = oxpy_call_python("oxrt._convert", "keys_and_values", pairs);
    PyOS_snprintf(keys_name, sizeof keys_name, "%s: keys", r->name);
    if (lists && !oxpy_tensor_in(&scratch, PyTuple_GetItem(lists, 0), element_type(type), keys_name, &keys)) {
        failed = read_items(r, OX_KIND_MAP, item, &keys.tensor, PyTuple_GetItem(lists, 1), value);
        Py_DECREF((PyObject *)keys.array);
    }
    oxpy_scratch_free(&scratch);
    Py_XDECREF(lists);
    Py_XDECREF(pairs);
    return failed;
}

static bool is_list(PyObject *object) {
    return PyList_Check(object) || PyTuple_Check(object);
}

static bool is_mapping(PyObject *object) {
    return PyMapping_Check(object) && PyObject_HasAttrString(object, "items");
}

static int read_value(reader *r, const char *type, PyObject *object, ox_value **value) {
    const char *of;
    if ((of = inside(type, "optional")))
        return read_optional(r, of, object, value);
    if ((of = inside(type, "seq")))
        return is_list(object) ? read_sequence(r, of, object, value) : refuse(r, type, object);
    if ((of = inside(type, "map")))
        return is_mapping(object) ? read_map(r, of, object, value) : refuse(r, type, object);
    of = inside(type, "tensor");
    if (!of || element_type(of) == OX_UNDEFINED) {
        oxpy_fail(OX_ERROR_UNSUPPORTED, "input %s: its type, %s, is not stated in full", r->name, type);
        return -1;
    }
    return read_tensor(r, element_type(of), object, value);
}

int oxpy_value_in(const char *type, PyObject *object, const char *name, ox_value **value) {
    reader r = {.scratch = {0}};
    PyOS_snprintf(r.name, sizeof r.name, "%s", name);
    const int failed = read_value(&r, type, object, value);
    oxpy_scratch_free(&r.scratch);
    return failed;
}

/* ---- To Python ---------------------------------------------------------------------------------------------- */

static PyObject *list_of(const ox_value *value, const char *name) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < ox_value_count(value); i++) {
        PyObject *item = oxpy_value_out(ox_value_item(value, i), name);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* What a map has for a key: a number or a text rather than an array of one element without dimensions. */
static PyObject *entry_of(const ox_value *item, const char *name) {
    const ox_tensor *tensor = ox_value_tensor(item);
    PyObject *made = oxpy_value_out(item, name);
    if (!made || !tensor || tensor->rank)
        return made;
    PyObject *plain = PyObject_CallMethod(made, "item", NULL);
    Py_DECREF(made);
    return plain;
}

static PyObject *dict_of(const ox_value *value, const char *name) {
    PyObject *array = oxpy_array(ox_value_keys(value), name);
    PyObject *keys = array ? PyObject_CallMethod(array, "tolist", NULL) : NULL;
    PyObject *dict = keys ? PyDict_New() : NULL;
    for (size_t i = 0; dict && i < ox_value_count(value); i++) {
        PyObject *item = entry_of(ox_value_item(value, i), name);
        if (!item || PyDict_SetItem(dict, PyList_GetItem(keys, (Py_ssize_t)i), item))
            Py_CLEAR(dict);
        Py_XDECREF(item);
    }
    Py_XDECREF(keys);
    Py_XDECREF(array);
    return dict;
}

PyObject *oxpy_value_out(const ox_value *value, const char *name) {
    switch (ox_value_kind(value)) {
    case OX_KIND_TENSOR:
        return oxpy_array(ox_value_tensor(value), name);
    case OX_KIND_SEQUENCE:
        return list_of(value, name);
    case OX_KIND_OPTIONAL:
        return ox_value_count(value) ? oxpy_value_out(ox_value_item(value, 0), name) : Py_NewRef(Py_None);
    case OX_KIND_MAP:
        return dict_of(value, name);
    default:
        return oxpy_fail(OX_ERROR_UNSUPPORTED, "output %s is of a type that Python has nothing for", name);
    }
}
