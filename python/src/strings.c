/* strings.c: arrays of str and tensors of strings. */
#include "oxpy.h"

/* The bytes of one element, borrowed from the object. */
static int bytes_of(PyObject *object, const char *name, Py_ssize_t at, const char **bytes, Py_ssize_t *size) {
    if (object && PyUnicode_Check(object)) {
        *bytes = PyUnicode_AsUTF8AndSize(object, size);
        if (*bytes || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return *bytes ? 0 : -1;
        PyErr_Clear();
        oxpy_fail(OX_ERROR_VALUE, "input %s: element %zd has characters that UTF-8 has no bytes for", name, at);
        return -1;
    }
    if (object && PyBytes_Check(object)) {
        *size = PyBytes_Size(object);
        *bytes = PyBytes_AsString(object);
        return 0;
    }
    oxpy_fail(OX_ERROR_SHAPE, "input %s: element %zd is no str and no bytes: %R", name, at, object ? object : Py_None);
    return -1;
}

/* Copies one text behind the others. While the run has no lock, elements may be replaced and their texts freed. */
static int put_text(oxpy_scratch *scratch, size_t *used, PyObject *object, const char *name, Py_ssize_t at,
                    size_t *length) {
    const char *bytes;
    Py_ssize_t size;
    if (bytes_of(object, name, at, &bytes, &size))
        return -1;
    *length = (size_t)size;
    if (*length > SIZE_MAX / 2 - *used || !oxpy_scratch_get(scratch, *used + *length))
        return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    memcpy(scratch->bytes + *used, bytes, *length);
    *used += *length;
    return 0;
}

ox_string *oxpy_strings_in(oxpy_scratch *scratch, PyArrayObject *array, const char *name) {
    const Py_ssize_t count = PyArray_SIZE(array);
    PyObject *const *objects = PyArray_DATA(array);
    size_t used = (size_t)count * sizeof(ox_string); /* no more than the pointers take twice */
    if (!oxpy_scratch_get(scratch, used ? used : 1))
        return NULL;
    for (Py_ssize_t at = 0; at < count; at++) {
        size_t length;
        if (put_text(scratch, &used, objects[at], name, at, &length))
            return NULL;
        ((ox_string *)(void *)scratch->bytes)[at].size = length;
    }
    /* The memory moves no more. */
    ox_string *strings = (ox_string *)(void *)scratch->bytes;
    const char *text = scratch->bytes + (size_t)count * sizeof *strings;
    for (Py_ssize_t at = 0; at < count; at++) {
        strings[at].data = text;
        text += strings[at].size;
    }
    return strings;
}

PyObject *oxpy_strings_out(const ox_tensor *tensor) {
    npy_intp dims[OX_TENSOR_RANK];
    const int64_t count = ox_tensor_count(tensor);
    for (int d = 0; d < tensor->rank; d++)
        dims[d] = (npy_intp)tensor->dims[d];
    PyObject *array = PyArray_SimpleNew(tensor->rank, dims, NPY_OBJECT);
    PyObject **objects = array ? PyArray_DATA((PyArrayObject *)array) : NULL;
    for (int64_t at = 0; array && at < count; at++) {
        const ox_string *string = (const ox_string *)tensor->data + at;
        PyObject *text =
            PyUnicode_DecodeUTF8(string->size ? string->data : "", (Py_ssize_t)string->size, "surrogateescape");
        if (!text) {
            Py_DECREF(array);
            return NULL;
        }
        PyObject *old = objects[at];
        objects[at] = text;
        Py_XDECREF(old);
    }
    return array;
}
