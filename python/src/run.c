/* run.c: calls of a model. */
#include "oxpy.h"

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

/* The place of a name in a dict of places; -1 with an exception that lists the names there are. */
static Py_ssize_t place_of(PyObject *places, PyObject *name, const char *what) {
    PyObject *place = PyDict_GetItemWithError(places, name);
    if (place)
        return PyLong_AsSsize_t(place);
    if (!PyErr_Occurred()) {
        PyObject *names = PyDict_Keys(places);
        if (names)
            oxpy_fail(OX_ERROR_ARGUMENT, "the model has no %s %R, only %R", what, name, names);
        Py_XDECREF(names);
    }
    return -1;
}

static int set_positional(oxpy_model *self, oxpy_session *session, PyObject *args) {
    const Py_ssize_t count = PyTuple_Size(args);
    if ((size_t)count > ox_model_input_count(self->model)) {
        oxpy_fail(OX_ERROR_ARGUMENT, "%zd inputs were given, the model has %zu", count,
                  ox_model_input_count(self->model));
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (oxpy_set_input(self, session, (size_t)i, PyTuple_GetItem(args, i)))
            return -1;
    return 0;
}

static int set_named(oxpy_model *self, oxpy_session *session, PyObject *names) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (names && PyDict_Next(names, &at, &name, &value)) {
        const Py_ssize_t place = place_of(self->input_places, name, "input");
        if (place < 0)
            return -1;
        if (session->held[place]) {
            oxpy_fail(OX_ERROR_ARGUMENT, "input %U was given twice", name);
            return -1;
        }
        /* Conversions run Python code, which may change the dict. */
        Py_INCREF(value);
        const int failed = oxpy_set_input(self, session, (size_t)place, value);
        Py_DECREF(value);
        if (failed)
            return -1;
    }
    return 0;
}

static int check_all_set(oxpy_model *self, oxpy_session *session) {
    const size_t count = ox_model_input_count(self->model);
    for (size_t i = 0; i < count; i++) {
        ox_value_info info = {0};
        if (session->held[i] || ox_model_input(self->model, i, &info) || info.optional)
            continue;
        oxpy_fail(OX_ERROR_ARGUMENT, "input %s was not given", info.name);
        return -1;
    }
    return 0;
}

static int set_inputs(oxpy_model *self, oxpy_session *session, PyObject *args, PyObject *names) {
    if (oxpy_need_numpy() || (args && set_positional(self, session, args)) || set_named(self, session, names))
        return -1;
    return check_all_set(self, session);
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

typedef ox_status run_fn(ox_session *session, ox_error *error);

static int explain(oxpy_model *self, const oxpy_watch *watch, const ox_error *error) {
    if (error->status == OX_ERROR_CANCELLED && watch->raised)
        return -1; /* what a signal's handler raised stays */
    if (error->status == OX_ERROR_CANCELLED && watch->late)
        oxpy_fail(OX_ERROR_CANCELLED, "the run took more than %lld ms", (long long)self->milliseconds);
    else
        oxpy_raise(error);
    return -1;
}

/* Runs or prepares without the interpreter's lock. */
static int execute(oxpy_model *self, oxpy_session *session, run_fn *run, const int *flag) {
    ox_error error;
    ox_status status;
    oxpy_watch *watch = &session->watch;
    oxpy_watch_start(watch, flag, self->milliseconds);
    watch->thread = PyEval_SaveThread();
    status = run(session->session, &error);
    PyEval_RestoreThread(watch->thread);
    watch->thread = NULL;
    watch->flag = NULL;
    if (status)
        return explain(self, watch, &error);
    if (session->warned) {
        session->warned = false;
        return oxpy_warn(session->warning);
    }
    return 0;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------ */

static PyObject *get_output(oxpy_model *self, oxpy_session *session, size_t index) {
    ox_error error;
    ox_tensor tensor;
    const ox_value *value = NULL;
    ox_value_info info = {.name = ""};
    ox_model_output(self->model, index, &info);
    if (info.kind != OX_KIND_TENSOR && ox_session_output_value(session->session, index, &value, &error))
        return oxpy_raise(&error);
    if (value)
        return oxpy_value_out(value, info.name);
    return ox_session_output(session->session, index, &tensor, &error) ? oxpy_raise(&error)
                                                                       : oxpy_take(session, index, &tensor, info.name);
}

static size_t output_count(const oxpy_model *self) {
    return ox_model_output_count(self->model) + self->options.extra_output_count;
}

/* One array, or a tuple of several. */
static PyObject *get_result(oxpy_model *self, oxpy_session *session) {
    const size_t count = output_count(self);
    if (count == 1)
        return get_output(self, session, 0);
    PyObject *result = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; result && i < count; i++) {
        PyObject *array = get_output(self, session, i);
        if (!array || PyTuple_SetItem(result, (Py_ssize_t)i, array))
            Py_CLEAR(result);
    }
    return result;
}

/* A list of the outputs that are named; of all for None. */
static PyObject *get_list(oxpy_model *self, oxpy_session *session, PyObject *names) {
    const Py_ssize_t count = names == Py_None ? (Py_ssize_t)output_count(self) : PySequence_Size(names);
    PyObject *result = count < 0 ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        Py_ssize_t place = i;
        PyObject *name = names == Py_None ? NULL : PySequence_GetItem(names, i), *array = NULL;
        if (name)
            place = place_of(self->output_places, name, "output");
        if ((name || names == Py_None) && place >= 0)
            array = get_output(self, session, (size_t)place);
        if (!array || PyList_Append(result, array))
            Py_CLEAR(result);
        Py_XDECREF(array);
        Py_XDECREF(name);
    }
    return result;
}

/* Names are looked up before the run: mistakes in them should not cost one. */
static int check_outputs(oxpy_model *self, PyObject *names) {
    if (names == Py_None)
        return 0;
    if (PyUnicode_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "names of outputs must be a list, not a str");
        return -1;
    }
    const Py_ssize_t count = PySequence_Size(names);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PySequence_GetItem(names, i);
        const bool known = name && place_of(self->output_places, name, "output") >= 0;
        Py_XDECREF(name);
        if (!known)
            return -1;
    }
    return count < 0 ? -1 : 0;
}

/* Sets or unsets the caller's arrays of outputs, by name. */
static int set_targets(oxpy_model *self, oxpy_session *session, PyObject *into, bool set) {
    PyObject *name, *array;
    Py_ssize_t at = 0;
    while (into && PyDict_Next(into, &at, &name, &array)) {
        const Py_ssize_t place = place_of(self->output_places, name, "output");
        if (place < 0)
            return -1;
        session->targets[place].into = set ? array : NULL;
    }
    return 0;
}

/* A dict of writable numpy arrays that no other thread changes: a copy of the caller's. */
static PyObject *check_into(PyObject *into) {
    PyObject *name, *array;
    Py_ssize_t at = 0;
    if (!PyDict_Check(into)) {
        PyErr_Format(PyExc_TypeError, "arrays for outputs must be a dict from names to arrays, not %R", Py_TYPE(into));
        return NULL;
    }
    if (oxpy_need_numpy())
        return NULL;
    while (PyDict_Next(into, &at, &name, &array))
        if (!PyArray_Check(array) || !PyArray_ISWRITEABLE((PyArrayObject *)array)) {
            PyErr_Format(PyExc_TypeError, "output %S goes into a numpy array that can be written to, not %R", name,
                         Py_TYPE(array));
            return NULL;
        }
    return oxpy_arrays_meet(into) ? NULL : PyDict_Copy(into);
}

/* ---- Methods ------------------------------------------------------------------------------------------------ */

PyObject *oxpy_call(PyObject *object, PyObject *args, PyObject *names) {
    oxpy_model *self = (oxpy_model *)object;
    PyObject *result = NULL;
    oxpy_session *session = oxpy_acquire(self);
    if (!session)
        return NULL;
    if (!set_inputs(self, session, args, names) && !execute(self, session, ox_session_run, NULL))
        result = get_result(self, session);
    oxpy_release(self, session);
    return result;
}

/* Runs on the feeds of a dict, and lists the outputs that are named; `into` may be NULL. */
static PyObject *run_named(oxpy_model *self, PyObject *feeds, PyObject *outputs, const int *flag, PyObject *into) {
    PyObject *result = NULL;
    oxpy_session *session = check_outputs(self, outputs) ? NULL : oxpy_acquire(self);
    if (!session)
        return NULL;
    if (!set_targets(self, session, into, true) && !set_inputs(self, session, NULL, feeds) &&
        !execute(self, session, ox_session_run, flag))
        result = get_list(self, session, outputs);
    set_targets(self, session, into, false);
    oxpy_release(self, session);
    return result;
}

PyObject *oxpy_run(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    oxpy_model *self = (oxpy_model *)object;
    PyObject *outputs = count > 1 ? args[1] : Py_None;
    const int *flag = NULL;
    if (count < 1 || count > 4) {
        PyErr_Format(PyExc_TypeError,
                     "run takes a dict of inputs, names of outputs, a flag and arrays for outputs, not %zd arguments",
                     count);
        return NULL;
    }
    if (!PyDict_Check(args[0])) {
        PyErr_Format(PyExc_TypeError, "inputs must be a dict from names to arrays, not %R", Py_TYPE(args[0]));
        return NULL;
    }
    if (count > 2 && oxpy_flag_of(args[2], &flag))
        return NULL;
    PyObject *into = count > 3 && args[3] != Py_None ? check_into(args[3]) : NULL;
    if (PyErr_Occurred())
        return NULL;
    PyObject *result = run_named(self, args[0], outputs, flag, into);
    Py_XDECREF(into);
    return result;
}

PyObject *oxpy_run_into(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    if (count < 2 || count > 3 || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "run_into takes a dict of inputs, a dict of arrays for outputs, and a flag");
        return NULL;
    }
    PyObject *names = PyDict_Keys(args[1]);
    PyObject *const all[] = {args[0], names, count > 2 ? args[2] : Py_None, args[1]};
    PyObject *result = names ? oxpy_run(object, all, 4) : NULL;
    Py_XDECREF(names);
    return result;
}

PyObject *oxpy_prepare(PyObject *object, PyObject *args, PyObject *names) {
    oxpy_model *self = (oxpy_model *)object;
    oxpy_session *session = oxpy_acquire(self);
    if (!session)
        return NULL;
    const bool failed = set_inputs(self, session, args, names) || execute(self, session, ox_session_prepare, NULL);
    oxpy_release(self, session);
    return failed ? NULL : Py_NewRef(Py_None);
}

PyObject *oxpy_profile(PyObject *object, PyObject *args, PyObject *names) {
    oxpy_model *self = (oxpy_model *)object;
    PyObject *result = NULL;
    oxpy_steps steps = {0};
    oxpy_session *session = oxpy_acquire(self);
    if (!session)
        return NULL;
    ox_session_set_profile(session->session, oxpy_steps_add, &steps);
    if (!set_inputs(self, session, args, names) && !execute(self, session, ox_session_run, NULL))
        result = oxpy_steps_list(&steps);
    ox_session_set_profile(session->session, NULL, NULL);
    oxpy_steps_free(&steps);
    oxpy_release(self, session);
    return result;
}
