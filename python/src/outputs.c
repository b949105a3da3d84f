/* outputs.c: arrays from tensors. An array owns its elements, so that the session that computed them is free for other
 * calls. Large outputs are computed in the memory of the returned array, which is reused after its last reference is
 * gone. */
#include "oxpy.h"

enum {
    LONG_COPY = 64 << 10, /* bytes that are worth letting other threads run meanwhile, and an array made before */
    ALIGNED = 64          /* what ox_session_set_outputs asks for */
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

/* ---- Memory for runs ---------------------------------------------------------------------------------------- */

static bool has_shape(PyArrayObject *array, const ox_tensor *tensor) {
    bool same = oxpy_dtype_of(array) == tensor->dtype && PyArray_NDIM(array) == tensor->rank;
    for (int d = 0; same && d < tensor->rank; d++)
        same = PyArray_DIM(array, d) == tensor->dims[d];
    return same;
}

/* The addresses that an array's elements lie between. */
static void extent(PyArrayObject *array, uintptr_t *first, uintptr_t *end) {
    *first = *end = (uintptr_t)PyArray_DATA(array);
    if (PyArray_SIZE(array) == 0)
        return;
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        const npy_intp way = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        *(way < 0 ? first : end) += (uintptr_t)way;
    }
    *end += (uintptr_t)PyArray_ITEMSIZE(array);
}

static bool meet(PyObject *a, PyObject *b) {
    uintptr_t first, end, its_first, its_end;
    extent((PyArrayObject *)a, &first, &end);
    extent((PyArrayObject *)b, &its_first, &its_end);
    return first < its_end && its_first < end;
}

static bool meets_inputs(const oxpy_session *session, PyObject *array) {
    for (size_t i = 0; i < session->ninputs; i++)
        if (session->held[i] && PyArray_Check(session->held[i]) && meet(session->held[i], array))
            return true;
    return false;
}

bool oxpy_arrays_meet(PyObject *arrays) {
    PyObject *name, *array, *other_name, *other;
    for (Py_ssize_t at = 0; PyDict_Next(arrays, &at, &name, &array);)
        for (Py_ssize_t next = at; PyDict_Next(arrays, &next, &other_name, &other);)
            if (meet(array, other)) {
                oxpy_fail(OX_ERROR_ARGUMENT, "the arrays for outputs %S and %S share memory", name, other_name);
                return true;
            }
    return false;
}

/* A new array whose elements are aligned as loops want them. */
static PyObject *make_aligned(const ox_tensor *tensor, size_t bytes) {
    npy_intp dims[OX_TENSOR_RANK], room = (npy_intp)(bytes + ALIGNED);
    for (int d = 0; d < tensor->rank; d++)
        dims[d] = (npy_intp)tensor->dims[d];
    PyObject *memory = PyArray_SimpleNew(1, &room, NPY_UINT8), *array = NULL;
    PyArray_Descr *descr = memory ? oxpy_descr(tensor->dtype) : NULL;
    if (descr) {
        char *start = PyArray_DATA((PyArrayObject *)memory);
        start += (ALIGNED - (uintptr_t)start % ALIGNED) % ALIGNED;
        array = PyArray_NewFromDescr(&PyArray_Type, descr, tensor->rank, dims, NULL, start, NPY_ARRAY_CARRAY, NULL);
    }
    if (array && !PyArray_SetBaseObject((PyArrayObject *)array, memory))
        return array; /* which has taken the memory over, even if that fails */
    if (!array)
        Py_XDECREF(memory);
    Py_XDECREF(array);
    return NULL;
}

/* Views of an array refer to what owns its memory, not to the array. */
static bool is_held(PyObject *array) {
    return Py_REFCNT(array) > 1 || Py_REFCNT(PyArray_BASE((PyArrayObject *)array)) > 1;
}

/* The array of the run before, if it has that shape and no other reference; else a new one. */
static PyObject *array_for(oxpy_target *target, const ox_tensor *output, size_t bytes) {
    PyObject *before = target->array;
    if (before && !is_held(before) && has_shape((PyArrayObject *)before, output))
        return before;
    target->array = NULL;
    Py_XDECREF(before);
    target->array = output->rank <= OX_TENSOR_RANK ? make_aligned(output, bytes) : NULL;
    PyErr_Clear(); /* the copy behind the run fails then, and says so */
    return target->array;
}

void *oxpy_give(void *context, size_t index, const ox_tensor *output, size_t bytes) {
    oxpy_session *session = context;
    oxpy_target *target = &session->targets[index];
    if (bytes < LONG_COPY && !target->into)
        return NULL;
    PyEval_RestoreThread(session->watch.thread);
    PyArrayObject *array = (PyArrayObject *)target->into;
    if (!array)
        array = (PyArrayObject *)array_for(target, output, bytes);
    else if (!has_shape(array, output) || !PyArray_ISCARRAY(array) || meets_inputs(session, target->into))
        array = NULL;
    void *memory = array ? PyArray_DATA(array) : NULL;
    session->watch.thread = PyEval_SaveThread();
    return memory;
}

static PyObject *copy_into(PyArrayObject *into, const ox_tensor *tensor, const char *name) {
    PyObject *array = NULL;
    if (!has_shape(into, tensor)) {
        PyObject *shape = PyObject_GetAttrString((PyObject *)into, "shape");
        PyObject *own = oxpy_array(tensor, name), *mine = own ? PyObject_GetAttrString(own, "shape") : NULL;
        if (shape && mine)
            oxpy_fail(OX_ERROR_SHAPE, "output %s is %s %R, bound is memory for %S %R", name,
                      ox_dtype_name(tensor->dtype), mine, PyArray_DESCR(into), shape);
        Py_XDECREF(mine);
        Py_XDECREF(own);
        Py_XDECREF(shape);
        return NULL;
    }
    if (PyArray_DATA(into) == tensor->data)
        return Py_NewRef((PyObject *)into);
    array = oxpy_array(tensor, name);
    const int failed = !array || PyArray_CopyInto(into, (PyArrayObject *)array);
    Py_XDECREF(array);
    return failed ? NULL : Py_NewRef((PyObject *)into);
}

PyObject *oxpy_take(oxpy_session *session, size_t index, const ox_tensor *tensor, const char *name) {
    const oxpy_target *target = &session->targets[index];
    if (target->into)
        return copy_into((PyArrayObject *)target->into, tensor, name);
    if (target->array && PyArray_DATA((PyArrayObject *)target->array) == tensor->data)
        return Py_NewRef(target->array);
    return oxpy_array(tensor, name);
}
