/* flag.c: a bool that a run reads while another thread may set it. */
#include "oxpy.h"

typedef struct flag_object {
    PyObject ob_base;
    int value; /* read and written by atomic operations */
} flag_object;

static PyTypeObject *flag_type; /* lives as long as the interpreter */

static PyObject *get_value(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(__atomic_load_n(&((flag_object *)self)->value, __ATOMIC_RELAXED));
}

static int set_value(PyObject *self, PyObject *value, void *closure) {
    (void)closure;
    const int truth = value ? PyObject_IsTrue(value) : 0;
    if (truth < 0)
        return -1;
    __atomic_store_n(&((flag_object *)self)->value, truth, __ATOMIC_RELAXED);
    return 0;
}

static void dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

int oxpy_add_flag(PyObject *module) {
    static PyGetSetDef members[] = {{"value", get_value, set_value, "True ends the runs that were given it.", NULL},
                                    {NULL, NULL, NULL, NULL, NULL}};
    static char doc[] = "Flag()\n--\n\nEnds runs from another thread: give it to Model.run, then set its `value`.";
    static PyType_Slot slots[] = {
        {Py_tp_doc, doc}, {Py_tp_getset, members}, {Py_tp_dealloc, (void *)(uintptr_t)dealloc}, {0, NULL}};
    static PyType_Spec spec = {"oxrt.Flag", sizeof(flag_object), 0, Py_TPFLAGS_DEFAULT, slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    flag_type = (PyTypeObject *)type;
    return type ? PyModule_AddObjectRef(module, "Flag", type) : -1;
}

int oxpy_flag_of(PyObject *object, const int **flag) {
    *flag = NULL;
    if (object == Py_None)
        return 0;
    if (!PyObject_TypeCheck(object, flag_type)) {
        PyErr_SetString(PyExc_TypeError, "a flag must be an oxrt.Flag or None");
        return -1;
    }
    *flag = &((flag_object *)object)->value;
    return 0;
}
