/* outputs.c: arrays from tensors. An array owns its elements: the session that computed them is free for other calls.
 */
#include "oxpy.h"

enum {
    LONG_COPY = 64 << 10 /* bytes that are worth letting other threads run meanwhile */
};

static PyObject *copy_packed(const ox_tensor *tensor, PyArray_Descr *descr, npy_intp *dims) {
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, tensor->rank, dims, NULL, NULL, 0, NULL);
    if (!array)
        return NULL;
    const size_t size = (size_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype);
    void *to = PyArray_DATA((PyArrayObject *)array);
    if (size >= LONG_COPY) {
        Py_BEGIN_ALLOW_THREADS memcpy(to, tensor->data, size);
        Py_END_ALLOW_THREADS
    } else if (size) {
        memcpy(to, tensor->data, size);
    }
    return array;
}

/* An output that is an input has the input's strides. */
static PyObject *copy_strided(const ox_tensor *tensor, PyArray_Descr *descr, npy_intp *dims) {
    npy_intp strides[OX_TENSOR_RANK];
    for (int d = 0; d < tensor->rank; d++)
        strides[d] = (npy_intp)tensor->strides[d];
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, descr, tensor->rank, dims, strides, tensor->data, 0, NULL);
    PyObject *array = view ? PyArray_NewCopy((PyArrayObject *)view, NPY_CORDER) : NULL;
    Py_XDECREF(view);
    return array;
}

PyObject *oxpy_array(const ox_tensor *tensor, const char *name) {
    npy_intp dims[OX_TENSOR_RANK];
    if (tensor->rank > OX_TENSOR_RANK)
        return oxpy_fail(OX_ERROR_LIMIT, "output %s has more than %d dimensions", name, OX_TENSOR_RANK);
    if (tensor->dtype == OX_STRING)
        return oxpy_strings_out(tensor);
    for (int d = 0; d < tensor->rank; d++)
        dims[d] = (npy_intp)tensor->dims[d];
    PyArray_Descr *descr = oxpy_descr(tensor->dtype);
    if (!descr)
        return NULL;
    return ox_tensor_is_packed(tensor) ? copy_packed(tensor, descr, dims) : copy_strided(tensor, descr, dims);
}
