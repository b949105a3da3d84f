/* errors.c: an exception for each status. */
#include "oxpy.h"

#include <stdarg.h>

/* A row has the exception's name, its built-in base class and its description. On Windows the addresses of Python's
 * variables are known only at run time. */
typedef struct error_row {
    const char *name;
    PyObject *(*base)(void); /* NULL for none */
    const char *doc;
} error_row;

#define BASE(name)                                                                                                     \
    static PyObject *base_##name(void) {                                                                               \
        return PyExc_##name;                                                                                           \
    }
BASE(ArithmeticError)
BASE(AssertionError)
BASE(MemoryError)
BASE(NotImplementedError)
BASE(OSError)
BASE(RuntimeError)
BASE(ValueError)

static const error_row rows[] = {
    [OX_OK] = {"oxrt.Error", NULL, "The base of all exceptions of oxrt; `status` is the library's name of the kind."},
    [OX_ERROR_ARGUMENT] = {"oxrt.ArgumentError", base_ValueError, "Options, names or calls that mean nothing."},
    [OX_ERROR_FILE] = {"oxrt.FileError", base_OSError, "A file could not be opened or read."},
    [OX_ERROR_MODEL] = {"oxrt.ModelError", base_ValueError, "The bytes are not a valid ONNX model."},
    [OX_ERROR_UNSUPPORTED] = {"oxrt.UnsupportedError", base_NotImplementedError,
                              "Valid ONNX, but ox lacks the operator, version or type."},
    [OX_ERROR_SHAPE] = {"oxrt.ShapeError", base_ValueError, "Shapes, types or values of tensors do not fit."},
    [OX_ERROR_VALUE] = {"oxrt.DataError", base_ArithmeticError,
                        "The data asks for something undefined, such as an integer division by zero."},
    [OX_ERROR_LIMIT] = {"oxrt.LimitError", base_RuntimeError, "A limit was met; the model stays usable."},
    [OX_ERROR_MEMORY] = {"oxrt.OutOfMemoryError", base_MemoryError, "An allocation failed; the model stays usable."},
    [OX_ERROR_CANCELLED] = {"oxrt.CancelledError", base_RuntimeError, "A run was ended by a flag or its time."},
    [OX_ERROR_CHECK] = {"oxrt.CheckError", base_AssertionError,
                        "Two ways to compute a step differ (check=True): a fault of ox."},
};

enum {
    ROWS = sizeof rows / sizeof *rows
};

/* The classes live as long as the interpreter. */
static PyObject *classes[ROWS];
static PyObject *warning_class;

static PyObject *make_class(size_t row) {
    const char *status = row ? ox_status_name((ox_status)row) : "";
    PyObject *members = Py_BuildValue("{ss}", "status", status), *bases = NULL, *made = NULL;
    if (row && rows[row].base)
        bases = PyTuple_Pack(2, classes[OX_OK], rows[row].base());
    else
        bases = PyTuple_Pack(1, row ? classes[OX_OK] : PyExc_Exception);
    if (members && bases)
        made = PyErr_NewExceptionWithDoc(rows[row].name, rows[row].doc, bases, members);
    Py_XDECREF(members);
    Py_XDECREF(bases);
    return made;
}

int oxpy_add_errors(PyObject *module) {
    const size_t package = sizeof "oxrt." - 1;
    for (size_t row = 0; row < ROWS; row++) {
        classes[row] = make_class(row);
        if (!classes[row] || PyModule_AddObjectRef(module, rows[row].name + package, classes[row]))
            return -1;
    }
    warning_class = PyErr_NewExceptionWithDoc(
        "oxrt.ModelWarning", "A model does what it does not state; its results are right.", PyExc_UserWarning, NULL);
    return warning_class ? PyModule_AddObjectRef(module, "ModelWarning", warning_class) : -1;
}

static PyObject *class_of(ox_status status) {
    return (size_t)status < ROWS ? classes[status] : classes[OX_OK];
}

/* Names in texts are the model's: they may hold anything. */
PyObject *oxpy_raise(const ox_error *error) {
    PyObject *text = PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace");
    if (text)
        PyErr_SetObject(class_of(error->status), text);
    Py_XDECREF(text);
    return NULL;
}

PyObject *oxpy_fail(ox_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(class_of(status), format, arguments);
    va_end(arguments);
    return NULL;
}

bool oxpy_is_unsupported(void) {
    return PyErr_ExceptionMatches(classes[OX_ERROR_UNSUPPORTED]) != 0;
}

int oxpy_warn(const char *text) {
    return PyErr_WarnEx(warning_class, text, 1);
}
