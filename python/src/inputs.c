/* inputs.c: tensors from arrays, in place where nothing can go wrong. */
#include "oxpy.h"

#include <stdlib.h>

enum {
    SMALL_COPY = 4096 /* bytes that cost nothing to copy */
};

void *oxpy_scratch_get(oxpy_scratch *scratch, size_t size) {
    if (size > scratch->size) {
        const size_t room = size + size / 2;
        char *grown = realloc(scratch->bytes, room);
        if (!grown)
            return PyErr_NoMemory();
        scratch->bytes = grown;
        scratch->size = room;
    }
    return scratch->bytes;
}

/* True for types whose elements leave bits of their byte unused; all others may hold any bytes. */
static bool is_tiny(ox_dtype dtype) {
    return ox_dtype_bits(dtype) > 0 && ox_dtype_bits(dtype) < 8;
}

/* Indices and shapes are checked before they are used: another thread must not change them in between. Whatever else
 * changes during a run gives wrong numbers and no more. Elements of a few bits are brought into the library's form. */
static bool needs_copy(PyArrayObject *array, ox_dtype dtype) {
    return dtype == OX_INT64 || dtype == OX_INT32 || dtype == OX_BOOL || is_tiny(dtype) ||
           PyArray_NBYTES(array) <= SMALL_COPY;
}

/* ml_dtypes leaves the upper bits of a byte as they happen to be; the library wants zeros, or copies of the sign. */
static void copy_bits(uint8_t *to, const uint8_t *from, size_t count, ox_dtype dtype) {
    const int bits = ox_dtype_bits(dtype);
    const unsigned mask = (1u << bits) - 1;
    const unsigned sign = dtype == OX_INT4 || dtype == OX_INT2 ? 1u << (bits - 1) : 0;
    for (size_t i = 0; i < count; i++)
        to[i] = (uint8_t)(((from[i] & mask) ^ sign) - sign);
}

static void copy_truths(uint8_t *to, const uint8_t *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] != 0;
}

/* Copies the elements of a packed array. */
static void *copy_elements(oxpy_scratch *scratch, PyArrayObject *array, ox_dtype dtype) {
    const size_t size = (size_t)PyArray_NBYTES(array);
    const void *from = PyArray_DATA(array);
    void *to = oxpy_scratch_get(scratch, size ? size : 1);
    if (!to || !size)
        return to;
    if (dtype == OX_BOOL)
        copy_truths(to, from, size);
    else if (is_tiny(dtype))
        copy_bits(to, from, size, dtype);
    else
        memcpy(to, from, size);
    return to;
}

/* A packed array in the machine's order of bytes with the elements of `array`. */
static PyArrayObject *pack(PyArrayObject *array) {
    PyArray_Descr *descr = PyArray_DescrFromType(PyArray_DESCR(array)->type_num);
    if (!descr)
        return NULL;
    return (PyArrayObject *)PyArray_FromArray(array, descr, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
}

/* Fills the tensor's memory. *array may be replaced by one that is packed. */
static int fill(oxpy_scratch *scratch, PyArrayObject **array, const char *name, ox_tensor *tensor) {
    const bool strings = tensor->dtype == OX_STRING;
    const bool copies = strings || needs_copy(*array, tensor->dtype);
    if (!PyArray_ISNOTSWAPPED(*array) || (copies && !PyArray_IS_C_CONTIGUOUS(*array))) {
        PyArrayObject *packed = pack(*array);
        if (!packed)
            return -1;
        Py_DECREF((PyObject *)*array);
        *array = packed;
    }
    if (strings)
        tensor->data = oxpy_strings_in(scratch, *array, name);
    else
        tensor->data = copies ? copy_elements(scratch, *array, tensor->dtype) : PyArray_DATA(*array);
    return tensor->data ? 0 : -1;
}

static int set_array(oxpy_session *session, size_t index, PyArrayObject **array, const ox_value_info *info) {
    int64_t dims[OX_TENSOR_RANK], strides[OX_TENSOR_RANK];
    ox_error error;
    ox_tensor tensor = {.dtype = info->dtype, .dims = dims};
    if (fill(&session->scratch[index], array, info->name, &tensor))
        return -1;
    tensor.rank = PyArray_NDIM(*array);
    for (int d = 0; d < tensor.rank; d++) {
        dims[d] = PyArray_DIM(*array, d);
        strides[d] = PyArray_STRIDE(*array, d);
    }
    if (!PyArray_IS_C_CONTIGUOUS(*array))
        tensor.strides = strides;
    if (ox_session_set_input(session->session, index, &tensor, &error)) {
        oxpy_raise(&error);
        return -1;
    }
    return 0;
}

/* Whatever is no array of the model's type is left to Python. */
static PyObject *convert(PyObject *object, const ox_value_info *info) {
    static PyObject *converter; /* lives as long as the interpreter */
    if (!converter)
        converter = oxpy_import("oxrt._convert", "to_array");
    if (!converter)
        return NULL;
    PyObject *made = PyObject_CallFunction(converter, "Oss", object, ox_dtype_name(info->dtype), info->name);
    if (made && (!PyArray_Check(made) || oxpy_dtype_of((PyArrayObject *)made) != info->dtype)) {
        oxpy_fail(OX_ERROR_SHAPE, "input %s is no array of %s", info->name, ox_dtype_name(info->dtype));
        Py_CLEAR(made);
    }
    return made;
}

int oxpy_set_input(oxpy_model *self, oxpy_session *session, size_t index, PyObject *object) {
    ox_value_info info = {0};
    ox_model_input(self->model, index, &info);
    if (info.dtype == OX_UNDEFINED) {
        oxpy_fail(OX_ERROR_UNSUPPORTED, "input %s is not stated to be a tensor", info.name);
        return -1;
    }
    PyObject *array = object;
    if (PyArray_Check(object) && oxpy_dtype_of((PyArrayObject *)object) == info.dtype)
        Py_INCREF(array);
    else
        array = convert(object, &info);
    if (!array)
        return -1;
    PyArrayObject *used = (PyArrayObject *)array;
    if (set_array(session, index, &used, &info)) {
        Py_DECREF((PyObject *)used);
        return -1;
    }
    PyObject *before = session->held[index];
    session->held[index] = (PyObject *)used;
    Py_XDECREF(before);
    return 0;
}
