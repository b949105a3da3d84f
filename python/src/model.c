/* model.c: the class Model. */
#include "oxpy.h"

#include <stdlib.h>

/* ---- Options ------------------------------------------------------------------------------------------------ */

/* The limit of a dict; 0 without one. Names that no limit has are refused by count. */
static int limit_of(PyObject *limits, const char *name, Py_ssize_t *found, unsigned long long *value) {
    PyObject *number = PyDict_GetItemString(limits, name);
    *value = 0;
    if (!number)
        return 0;
    ++*found;
    *value = PyLong_AsUnsignedLongLong(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_limits(oxpy_model *self, PyObject *limits) {
    static const char *const names[] = {"bytes", "tensor_bytes", "file_bytes", "nodes", "depth"};
    unsigned long long values[5];
    Py_ssize_t found = 0;
    if (!limits || limits == Py_None)
        return 0;
    if (!PyDict_Check(limits)) {
        PyErr_SetString(PyExc_TypeError, "limits must be a dict");
        return -1;
    }
    for (size_t i = 0; i < 5; i++)
        if (limit_of(limits, names[i], &found, &values[i]))
            return -1;
    if (found != PyDict_Size(limits)) {
        oxpy_fail(OX_ERROR_ARGUMENT, "limits are bytes, tensor_bytes, file_bytes, nodes and depth, not %R", limits);
        return -1;
    }
    if (values[4] > INT_MAX) {
        oxpy_fail(OX_ERROR_ARGUMENT, "a depth of %llu is no depth", values[4]);
        return -1;
    }
    self->options.limits = (ox_limits){.bytes = (size_t)values[0],
                                       .tensor_bytes = (size_t)values[1],
                                       .file_bytes = (size_t)values[2],
                                       .nodes = (size_t)values[3],
                                       .depth = (int)values[4]};
    return 0;
}

static int read_timeout(oxpy_model *self, PyObject *timeout) {
    if (!timeout || timeout == Py_None)
        return 0;
    const double seconds = PyFloat_AsDouble(timeout);
    if (PyErr_Occurred())
        return -1;
    if (!(seconds > 0 && seconds < 1e9)) {
        oxpy_fail(OX_ERROR_ARGUMENT, "a timeout must be more than 0 seconds, not %R", timeout);
        return -1;
    }
    self->milliseconds = (int64_t)(seconds * 1000) + 1;
    return 0;
}

/* The names stay where the tuple's texts have them. */
static int read_outputs(oxpy_model *self, PyObject *names) {
    if (!names || names == Py_None)
        return 0;
    self->keep = PySequence_Tuple(names);
    const Py_ssize_t count = self->keep ? PyTuple_Size(self->keep) : 0;
    const char **texts = calloc((size_t)count + 1, sizeof *texts);
    self->options.extra_outputs = texts;
    self->options.extra_output_count = (size_t)count;
    if (!self->keep || !texts)
        return self->keep ? (PyErr_NoMemory(), -1) : -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(self->keep, i), NULL);
        if (!texts[i])
            return -1;
    }
    return 0;
}

/* Paths become text, a ModelProto and other bytes become immutable bytes. */
static PyObject *read_source(PyObject *source) {
    if (PyBytes_Check(source) || PyUnicode_Check(source))
        return Py_NewRef(source);
    if (PyObject_HasAttrString(source, "__fspath__"))
        return PyOS_FSPath(source);
    if (PyObject_HasAttrString(source, "SerializeToString"))
        return PyObject_CallMethod(source, "SerializeToString", NULL);
    if (PyObject_CheckBuffer(source))
        return PyBytes_FromObject(source);
    PyErr_Format(PyExc_TypeError, "a model is a path, bytes or a ModelProto, not %R", Py_TYPE(source));
    return NULL;
}

/* A path as bytes would be taken for a model. */
static int check_source(PyObject *source) {
    if (source && !PyBytes_Check(source) && !PyUnicode_Check(source)) {
        PyErr_SetString(PyExc_TypeError, "a model is a path, bytes or a ModelProto");
        return -1;
    }
    return source ? 0 : -1;
}

/* ---- Life --------------------------------------------------------------------------------------------------- */

static int read_arguments(oxpy_model *self, PyObject *args, PyObject *names) {
    static char *keywords[] = {"source",        "threads", "isa",     "fuse",    "integer",      "check",
                               "extra_outputs", "limits",  "timeout", "plugins", "float16_sums", NULL};
    PyObject *source, *outputs = NULL, *limits = NULL, *timeout = NULL, *plugins = NULL;
    int threads = 0, fuse = 1, integer = 1, check = 0, sums = 0;
    const char *isa = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, names, "O|$izpppOOOOp:Model", keywords, &source, &threads, &isa, &fuse,
                                     &integer, &check, &outputs, &limits, &timeout, &plugins, &sums))
        return -1;
    self->settings = names ? PyDict_Copy(names) : PyDict_New();
    if (self->settings && PyDict_GetItemString(self->settings, "source"))
        PyDict_DelItemString(self->settings, "source");
    self->options.threads = threads;
    self->options.isa = isa; /* the text lies in the settings */
    self->options.no_fuse = !fuse;
    self->options.no_integer = !integer;
    self->options.check = check;
    self->options.float16_sums = sums;
    self->source = read_source(source);
    if (!self->settings || check_source(self->source) || read_limits(self, limits) || read_timeout(self, timeout) ||
        oxpy_load_plugins(self, plugins))
        return -1;
    return read_outputs(self, outputs);
}

/* As the command does, a model with an operator that ox lacks is loaded once more with those of ox's own plug-ins. The
 * first error stays if that does not help. */
static int load_with_own(oxpy_model *self) {
    PyObject *type, *value, *traceback;
    if (!oxpy_load(self))
        return 0;
    if (!oxpy_is_unsupported())
        return -1;
    PyErr_Fetch(&type, &value, &traceback);
    if (oxpy_add_own_plugins(self) > 0 && !oxpy_load(self)) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return 0;
    }
    PyErr_Restore(type, value, traceback);
    return -1;
}

/* A first session finds out whether there are extra outputs of those names; calls need one anyway. */
static int check_options(oxpy_model *self) {
    oxpy_session *session = oxpy_acquire(self);
    if (!session)
        return -1;
    oxpy_release(self, session);
    return 0;
}

static PyObject *new_model(PyTypeObject *type, PyObject *args, PyObject *names) {
    allocfunc allocate = (allocfunc)(uintptr_t)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *made = allocate(type, 0);
    oxpy_model *self = (oxpy_model *)made;
    if (made &&
        (read_arguments(self, args, names) || load_with_own(self) || oxpy_describe(self) || check_options(self)))
        Py_CLEAR(made);
    return made;
}

static void dealloc(PyObject *object) {
    oxpy_model *self = (oxpy_model *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    oxpy_unload(self);
    free((void *)(uintptr_t)self->options.extra_outputs);
    free(self->operators);
    PyObject *members[] = {self->source,  self->settings,     self->keep,         self->inputs,
                           self->outputs, self->input_places, self->output_places};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        Py_XDECREF(members[i]);
    release(object);
    Py_DECREF(type);
}

/* ---- Members ------------------------------------------------------------------------------------------------ */

static PyObject *get_inputs(PyObject *self, void *closure) {
    (void)closure;
    return Py_NewRef(((oxpy_model *)self)->inputs);
}

static PyObject *get_outputs(PyObject *self, void *closure) {
    (void)closure;
    return Py_NewRef(((oxpy_model *)self)->outputs);
}

static PyObject *get_metadata(PyObject *self, void *closure) {
    (void)closure;
    return oxpy_metadata((oxpy_model *)self);
}

static PyObject *get_info(PyObject *self, void *closure) {
    (void)closure;
    return oxpy_info((oxpy_model *)self);
}

static PyObject *get_operators(PyObject *self, void *closure) {
    (void)closure;
    return oxpy_operators((oxpy_model *)self);
}

static PyObject *get_source(PyObject *self, void *closure) {
    (void)closure;
    return Py_NewRef(((oxpy_model *)self)->source);
}

/* The memory of the sessions that wait for a call. */
static PyObject *get_memory(PyObject *object, void *closure) {
    size_t sessions = 0, arena = 0, plan = 0, weights = 0;
    (void)closure;
    for (const oxpy_session *s = ((oxpy_model *)object)->idle; s; s = s->next) {
        ox_memory_info info = {0};
        ox_session_memory(s->session, &info);
        sessions++;
        arena += info.arena_bytes;
        plan += info.plan_bytes;
        weights = info.weight_bytes; /* all sessions share them */
    }
    return Py_BuildValue("{sn,sn,sn,sn}", "sessions", (Py_ssize_t)sessions, "arena_bytes", (Py_ssize_t)arena,
                         "plan_bytes", (Py_ssize_t)plan, "weight_bytes", (Py_ssize_t)weights);
}

/* Pickled by the path, or by the bytes, and the options. */
static PyObject *reduce(PyObject *object, PyObject *unused) {
    oxpy_model *self = (oxpy_model *)object;
    (void)unused;
    PyObject *restore = oxpy_import("oxrt._ox", "_restore");
    return restore ? Py_BuildValue("N(OOO)", restore, (PyObject *)Py_TYPE(object), self->source, self->settings) : NULL;
}

static PyObject *represent(PyObject *object) {
    const oxpy_model *self = (oxpy_model *)object;
    if (PyBytes_Check(self->source))
        return PyUnicode_FromFormat("<oxrt.Model of %zd bytes>", PyBytes_Size(self->source));
    return PyUnicode_FromFormat("<oxrt.Model %R>", self->source);
}

/* ---- The class ---------------------------------------------------------------------------------------------- */

static char doc[] =
    "Model(source, *, threads=0, isa=None, fuse=True, integer=True, check=False, extra_outputs=None, limits=None, "
    "timeout=None, plugins=None, float16_sums=False)\n--\n\n"
    "An ONNX model that is ready to run.\n\n"
    "source is the path of an .onnx file, which is mapped and must not change while the model lives, or bytes, or an\n"
    "onnx.ModelProto. threads is how many a call may use, its own included. isa names a build of the loops (\"base\",\n"
    "\"v3\", \"v4\"; on aarch64 \"neon_dot\", \"neon_i8mm\"; the best by itself). fuse=False runs nodes one by one.\n"
    "integer=False computes in floats between DequantizeLinear and QuantizeLinear; results may differ by one step of\n"
    "the quantization. check=True computes every step in other ways, too, and raises a CheckError where they differ; it\n"
    "is slow. float16_sums=True keeps float16 and bfloat16 as floats between nodes, and rounds outputs alone: faster, and\n"
    "nearer to real numbers than nodes that round, as ONNX has them. extra_outputs names values\n"
    "of the main graph that become outputs behind the model's; those between such nodes imply integer=False. limits is a\n"
    "dict with bytes, tensor_bytes, file_bytes, nodes, depth. timeout is in seconds, for each call. None of the others\n"
    "changes a result. plugins is a list of paths of shared objects\n"
    "with operators of your own (docs/operators-of-your-own.md), which stay loaded; those of ox's own plug-ins\n"
    "(ImageDecoder, RegexFullMatch) are found by themselves where they are installed.\n\n"
    "A call takes arrays by place or by name and gives an array, or a tuple of several:\n\n"
    "    y = model(x)            y = model(x=x)            y = model(**{\"a name\": x})\n\n"
    "Inputs have the element type, rank and fixed dimensions that the model states (`inputs`). Arrays of that type are\n"
    "used in place, whatever their strides; int32, int64 and small ones are copied. Lists, numbers and objects with\n"
    "DLPack or the buffer protocol become arrays first. An input must not change before the call returns: numbers would\n"
    "be wrong. Outputs are arrays of the caller's alone: a later call writes to the memory of an array only when no\n"
    "reference to it is left. Text comes as arrays of str. A sequence is a list or tuple, an\n"
    "optional None or the value, a map any mapping; what these hold is copied, in and out. Elements that numpy has no type\n"
    "for are those of ml_dtypes.\n\n"
    "One model serves any number of threads at a time; other Python threads run while it loads, prepares and runs.\n"
    "It can be pickled (by its path, or with its bytes), and used in forked processes. Errors are subclasses of\n"
    "oxrt.Error: ArgumentError, FileError, ModelError, UnsupportedError, ShapeError, DataError, LimitError,\n"
    "OutOfMemoryError, CancelledError, CheckError.";

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))oxpy_run, METH_FASTCALL,
     "run($self, feeds, outputs=None, flag=None, into=None, /)\n--\n\n"
     "A list of the outputs that are named (all for None) for a dict from names to arrays. Setting the `value` of an\n"
     "oxrt.Flag from another thread ends the run with a CancelledError. `into` has arrays for some outputs, as run_into."},
    {"run_into", (PyCFunction)(void (*)(void))oxpy_run_into, METH_FASTCALL,
     "run_into($self, feeds, outputs, flag=None, /)\n--\n\n"
     "Writes outputs to arrays: `outputs` is a dict from names to arrays of the outputs' types and shapes. Gives a list of\n"
     "these arrays. Packed arrays that begin at a multiple of 64 bytes and share no memory with an input are computed in\n"
     "place, others are copied. After an exception their elements may be anything."},
    {"prepare", (PyCFunction)(void (*)(void))oxpy_prepare, METH_VARARGS | METH_KEYWORDS,
     "prepare($self, /, *arrays, **named)\n--\n\nPlans for the shapes of these arrays, as the first call with them would do."},
    {"profile", (PyCFunction)(void (*)(void))oxpy_profile, METH_VARARGS | METH_KEYWORDS,
     "profile($self, /, *arrays, **named)\n--\n\nRuns once, and gives a list of Step: what was executed, and how long it took."},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {
    {"inputs", get_inputs, NULL, "A tuple of ValueInfo: name, type, shape, optional.", NULL},
    {"outputs", get_outputs, NULL, "A tuple of ValueInfo; extra outputs come last, without type and shape.", NULL},
    {"metadata", get_metadata, NULL, "What the maker of the model wrote on it: a dict of str.", NULL},
    {"info", get_info, NULL, "Facts about the model: a dict with producer, versions, opsets, counts.", NULL},
    {"operators", get_operators, NULL, "A tuple of OperatorUse: domain, name, version, count.", NULL},
    {"source", get_source, NULL, "The path as str, or the bytes.", NULL},
    {"memory", get_memory, NULL,
     "Bytes that the sessions hold which wait for a call: a dict with sessions, arena_bytes, plan_bytes, weight_bytes.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

int oxpy_add_model(PyObject *module) {
    static PyType_Slot slots[] = {{Py_tp_doc, doc},
                                  {Py_tp_new, (void *)(uintptr_t)new_model},
                                  {Py_tp_dealloc, (void *)(uintptr_t)dealloc},
                                  {Py_tp_call, (void *)(uintptr_t)oxpy_call},
                                  {Py_tp_repr, (void *)(uintptr_t)represent},
                                  {Py_tp_methods, methods},
                                  {Py_tp_getset, members},
                                  {0, NULL}};
    static PyType_Spec spec = {"oxrt.Model", sizeof(oxpy_model), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    return type ? PyModule_AddObjectRef(module, "Model", type) : -1;
}
