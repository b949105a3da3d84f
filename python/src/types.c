/* types.c: element types of ox and of numpy. Those that numpy lacks come from the package ml_dtypes, if it is there. */
#define OXPY_IMPORTS_NUMPY
#include "oxpy.h"

int oxpy_need_numpy(void) {
    return PyArray_API ? 0 : PyArray_ImportNumPyAPI();
}

/* Names in ml_dtypes, by element type. */
static const char *const foreign_names[OX_DTYPE_COUNT] = {
    [OX_BFLOAT16] = "bfloat16",
    [OX_FLOAT8E4M3FN] = "float8_e4m3fn",
    [OX_FLOAT8E4M3FNUZ] = "float8_e4m3fnuz",
    [OX_FLOAT8E5M2] = "float8_e5m2",
    [OX_FLOAT8E5M2FNUZ] = "float8_e5m2fnuz",
    [OX_UINT4] = "uint4",
    [OX_INT4] = "int4",
    [OX_FLOAT4E2M1] = "float4_e2m1fn",
    [OX_FLOAT8E8M0] = "float8_e8m0fnu",
    [OX_UINT2] = "uint2",
    [OX_INT2] = "int2",
    [OX_FLOAT6E2M3] = "float6_e2m3fn",
    [OX_FLOAT6E3M2] = "float6_e3m2fn",
};

/* What ml_dtypes registered with numpy, found out when it is first needed. It stays as long as the process. */
static PyArray_Descr *foreign[OX_DTYPE_COUNT];

static PyArray_Descr *find_foreign(ox_dtype dtype) {
    if (foreign[dtype])
        return foreign[dtype];
    PyObject *scalar = oxpy_import("ml_dtypes", foreign_names[dtype]);
    if (!scalar)
        return NULL;
    if (!PyArray_DescrConverter(scalar, &foreign[dtype]))
        foreign[dtype] = NULL;
    Py_DECREF(scalar);
    return foreign[dtype];
}

static ox_dtype foreign_dtype(PyArray_Descr *descr) {
    for (int dtype = 0; dtype < OX_DTYPE_COUNT; dtype++)
        if (foreign[dtype] && foreign[dtype]->type_num == descr->type_num)
            return (ox_dtype)dtype;
    for (int dtype = 0; dtype < OX_DTYPE_COUNT; dtype++) {
        PyArray_Descr *known = foreign_names[dtype] ? find_foreign((ox_dtype)dtype) : NULL;
        if (known && known->type_num == descr->type_num)
            return (ox_dtype)dtype;
        PyErr_Clear(); /* an older ml_dtypes, or another package's type */
    }
    return OX_UNDEFINED;
}

static ox_dtype integer_dtype(size_t size, bool is_signed) {
    static const ox_dtype of_size[] = {OX_UINT8,  OX_INT8,  OX_UINT16, OX_INT16,
                                       OX_UINT32, OX_INT32, OX_UINT64, OX_INT64};
    int place = 0;
    for (size_t bytes = 1; bytes < size; bytes *= 2)
        place += 2;
    return of_size[place + is_signed];
}

ox_dtype oxpy_dtype_of(PyArrayObject *array) {
    PyArray_Descr *descr = PyArray_DESCR(array);
    const int number = descr->type_num;
    if (number == NPY_BOOL)
        return OX_BOOL;
    if (number >= NPY_BYTE && number <= NPY_ULONGLONG)
        return integer_dtype((size_t)PyArray_ITEMSIZE(array), number % 2 == NPY_BYTE % 2);
    switch (number) {
    case NPY_HALF:
        return OX_FLOAT16;
    case NPY_FLOAT:
        return OX_FLOAT;
    case NPY_DOUBLE:
        return OX_DOUBLE;
    case NPY_CFLOAT:
        return OX_COMPLEX64;
    case NPY_CDOUBLE:
        return OX_COMPLEX128;
    case NPY_OBJECT:
        return OX_STRING;
    default:
        return number >= NPY_USERDEF ? foreign_dtype(descr) : OX_UNDEFINED;
    }
}

static int number_of(ox_dtype dtype) {
    static const int numbers[OX_DTYPE_COUNT] = {
        [OX_FLOAT] = NPY_FLOAT,   [OX_UINT8] = NPY_UINT8,         [OX_INT8] = NPY_INT8,
        [OX_UINT16] = NPY_UINT16, [OX_INT16] = NPY_INT16,         [OX_INT32] = NPY_INT32,
        [OX_INT64] = NPY_INT64,   [OX_STRING] = NPY_OBJECT,       [OX_BOOL] = NPY_BOOL,
        [OX_FLOAT16] = NPY_HALF,  [OX_DOUBLE] = NPY_DOUBLE,       [OX_UINT32] = NPY_UINT32,
        [OX_UINT64] = NPY_UINT64, [OX_COMPLEX64] = NPY_COMPLEX64, [OX_COMPLEX128] = NPY_COMPLEX128,
    };
    return dtype == OX_BOOL || numbers[dtype] ? numbers[dtype] : NPY_NOTYPE;
}

PyArray_Descr *oxpy_descr(ox_dtype dtype) {
    const int number = number_of(dtype);
    if (number != NPY_NOTYPE)
        return PyArray_DescrFromType(number);
    PyArray_Descr *descr = foreign_names[dtype] ? find_foreign(dtype) : NULL;
    if (!descr) {
        PyErr_Clear();
        oxpy_fail(OX_ERROR_UNSUPPORTED, "numpy has no type %s by itself: install the package ml_dtypes",
                  ox_dtype_name(dtype));
    }
    Py_XINCREF((PyObject *)descr);
    return descr;
}
