/* inputs.c: inputs of a call: tensors from arrays, in place where nothing can go wrong, and other values. */
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

void oxpy_scratch_free(oxpy_scratch *scratch) {
    free(scratch->bytes);
    *scratch = (oxpy_scratch){0};
}

/* True for types whose elements leave bits of their byte unused; all others may hold any bytes. */
static bool is_tiny(ox_dtype dtype) {
    return ox_dtype_bits(dtype) > 0 && ox_dtype_bits(dtype) < 8;
}

/* Indices and shapes are checked before they are used, and another thread must not change them in between. Other
 * changes during a run only give wrong numbers. Elements of fewer than 8 bits are converted to the library's form. */
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

/* Whatever is no array of the wanted type is left to Python. */
static PyObject *convert(PyObject *object, ox_dtype dtype, const char *name) {
    static PyObject *converter; /* lives as long as the interpreter */
    if (!converter)
        converter = oxpy_import("oxrt._convert", "to_array");
    if (!converter)
        return NULL;
    PyObject *made = PyObject_CallFunction(converter, "Oss", object, ox_dtype_name(dtype), name);
    if (made && (!PyArray_Check(made) || oxpy_dtype_of((PyArrayObject *)made) != dtype)) {
        oxpy_fail(OX_ERROR_SHAPE, "input %s is no array of %s", name, ox_dtype_name(dtype));
        Py_CLEAR(made);
    }
    return made;
}

int oxpy_tensor_in(oxpy_scratch *scratch, PyObject *object, ox_dtype dtype, const char *name, oxpy_tensor *made) {
    PyObject *array = object;
    if (PyArray_Check(object) && oxpy_dtype_of((PyArrayObject *)object) == dtype)
        Py_INCREF(array);
    else
        array = convert(object, dtype, name);
    if (!array)
        return -1;
    made->array = (PyArrayObject *)array;
    made->tensor = (ox_tensor){.dtype = dtype, .dims = made->dims};
    if (fill(scratch, &made->array, name, &made->tensor)) {
        Py_DECREF((PyObject *)made->array);
        return -1;
    }
    made->tensor.rank = PyArray_NDIM(made->array);
    for (int d = 0; d < made->tensor.rank; d++) {
        made->dims[d] = PyArray_DIM(made->array, d);
        made->strides[d] = PyArray_STRIDE(made->array, d);
    }
    if (!PyArray_IS_C_CONTIGUOUS(made->array))
        made->tensor.strides = made->strides;
    return 0;
}

/* `held` is taken over where the input was set. */
static int keep(oxpy_session *session, size_t index, ox_status status, PyObject *held, const ox_error *error) {
    if (status) {
        Py_DECREF(held);
        oxpy_raise(error);
        return -1;
    }
    PyObject *before = session->held[index];
    session->held[index] = held;
    Py_XDECREF(before);
    return 0;
}

static int set_value(oxpy_session *session, size_t index, PyObject *object, const ox_value_info *info) {
    ox_value *value, *before = session->values[index];
    ox_error error;
    if (oxpy_value_in(info->type, object, info->name, &value))
        return -1;
    const ox_status status = ox_session_set_value(session->session, index, value, &error);
    if (!status)
        session->values[index] = value;
    ox_value_free(status ? value : before);
    return keep(session, index, status, Py_NewRef(Py_None), &error);
}

int oxpy_set_input(oxpy_model *self, oxpy_session *session, size_t index, PyObject *object) {
    oxpy_tensor made;
    ox_error error;
    ox_value_info info = {0};
    ox_model_input(self->model, index, &info);
    if (info.kind == OX_KIND_SEQUENCE || info.kind == OX_KIND_OPTIONAL || info.kind == OX_KIND_MAP)
        return set_value(session, index, object, &info);
    if (info.dtype == OX_UNDEFINED) {
        oxpy_fail(OX_ERROR_UNSUPPORTED, "input %s is not stated to be a tensor, a sequence, an optional or a map",
                  info.name);
        return -1;
    }
    if (oxpy_tensor_in(&session->scratch[index], object, info.dtype, info.name, &made))
        return -1;
    const ox_status status = ox_session_set_input(session->session, index, &made.tensor, &error);
    return keep(session, index, status, (PyObject *)made.array, &error);
}
