/* oxpy.h: declarations shared by the files of the extension module. All functions need the interpreter's lock, and
 * those that return NULL or -1 have set an exception. */
#ifndef OXPY_H
#define OXPY_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL oxpy_numpy
#ifndef OXPY_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <stdbool.h>
#include <string.h>

#include "ox.h"

/* ---- Errors (errors.c) -------------------------------------------------------------------------------------- */

/* Makes the exception classes and adds them to the module. */
int oxpy_add_errors(PyObject *module);

/* Sets the exception of the error's status, and returns NULL. */
PyObject *oxpy_raise(const ox_error *error);

/* Whether the exception that is set says that ox lacks something. */
bool oxpy_is_unsupported(void);

/* Sets the exception of a status with a text in Python's own format, and returns NULL. */
PyObject *oxpy_fail(ox_status status, const char *format, ...);

/* Issues a ModelWarning; -1 if warnings are errors. */
int oxpy_warn(const char *text);

/* ---- Element types (types.c) -------------------------------------------------------------------------------- */

/* Loads numpy, which only arrays need: importing the package and loading a model do without. */
int oxpy_need_numpy(void);

/* The element type of an array's elements, OX_STRING for objects; OX_UNDEFINED if there is none. */
ox_dtype oxpy_dtype_of(PyArrayObject *array);

/* A new reference to numpy's description of the elements; NULL if it has none (ml_dtypes is missing). */
PyArray_Descr *oxpy_descr(ox_dtype dtype);

/* ---- Sessions (session.c) ----------------------------------------------------------------------------------- */

/* Memory of a session for what cannot be used in place; it grows and stays. */
typedef struct oxpy_scratch {
    char *bytes;
    size_t size;
} oxpy_scratch;

/* What ends a run: the caller's flag, a deadline, or a signal that Python handles. */
typedef struct oxpy_watch {
    PyThreadState *thread; /* of the run, saved while it has no lock */
    const int *flag;       /* may be NULL */
    int64_t deadline;      /* in milliseconds on the watch's clock, 0 for none */
    int64_t next_look;     /* when signals are looked for again */
    bool raised, late;     /* why a run ended */
} oxpy_watch;

/* Where an output of a call goes. */
typedef struct oxpy_target {
    PyObject *array; /* of the run before: its memory is reused once it has no other reference; or NULL */
    PyObject *into;  /* in this call: the caller's array, or NULL; a borrowed reference */
} oxpy_target;

/* A session with what it needs for a call. It serves one call at a time and waits in its model's list between them. */
typedef struct oxpy_session {
    struct oxpy_session *next;
    ox_session *session;
    PyObject **held;       /* for each input what its tensor borrows from, NULL where the input is not set */
    ox_value **values;     /* for each input what it is if it is no tensor, else NULL */
    oxpy_scratch *scratch; /* for each input */
    oxpy_target *targets;  /* for each output, extra ones included */
    size_t ntargets, ninputs;
    oxpy_watch watch;
    char warning[OX_ERROR_TEXT];
    bool warned;
} oxpy_session;

/* oxrt.Model. */
typedef struct oxpy_model {
    PyObject ob_base;
    ox_model *model;
    oxpy_session *idle;
    int busy;                /* calls that are loading, preparing or running now, in all threads */
    unsigned generation;     /* the number of forks that the sessions know of */
    ox_options options;      /* of the model and of its sessions */
    int64_t milliseconds;    /* that a run may take, 0 for any */
    PyObject *source;        /* a path as text, or bytes, which the model borrows */
    PyObject *settings;      /* the keywords that the model was made with, for pickle */
    PyObject *keep;          /* what the options point into */
    ox_operator *operators;  /* of plug-ins; the options point there */
    PyObject *inputs;        /* tuples of ValueInfo */
    PyObject *outputs;       /* those of extra outputs are behind the model's */
    PyObject *input_places;  /* dict: name to place */
    PyObject *output_places; /* dict: name to place */
} oxpy_model;

/* Loads what the model's source names. */
int oxpy_load(oxpy_model *self);

/* Takes an idle session out of the list, or makes one. */
oxpy_session *oxpy_acquire(oxpy_model *self);

/* Puts it back, without its inputs. */
void oxpy_release(oxpy_model *self, oxpy_session *session);

/* Frees the idle sessions and the model. */
void oxpy_unload(oxpy_model *self);

/* What a session calls while it runs (ox_cancel_fn). */
bool oxpy_poll(void *context);

/* Starts the watch of a run. */
void oxpy_watch_start(oxpy_watch *watch, const int *flag, int64_t milliseconds);

/* ---- Arrays (inputs.c, outputs.c, strings.c) ---------------------------------------------------------------- */

/* A tensor that looks at an array. */
typedef struct oxpy_tensor {
    PyArrayObject *array; /* a reference of the caller's */
    ox_tensor tensor;     /* its elements lie in the array or in scratch memory */
    int64_t dims[OX_TENSOR_RANK], strides[OX_TENSOR_RANK];
} oxpy_tensor;

/* A tensor of any object that is or becomes an array of that element type; `name` is for errors. It must not move. */
int oxpy_tensor_in(oxpy_scratch *scratch, PyObject *object, ox_dtype dtype, const char *name, oxpy_tensor *made);

/* Sets input `index` from any object that fits. */
int oxpy_set_input(oxpy_model *self, oxpy_session *session, size_t index, PyObject *object);

/* `size` bytes of scratch; NULL with an exception if there is no memory. */
void *oxpy_scratch_get(oxpy_scratch *scratch, size_t size);
void oxpy_scratch_free(oxpy_scratch *scratch);

/* The elements of a packed array of objects (str or bytes) as strings in scratch memory. */
ox_string *oxpy_strings_in(oxpy_scratch *scratch, PyArrayObject *array, const char *name);

/* An array of str from strings. Bytes that are no UTF-8 become what surrogateescape makes of them. */
PyObject *oxpy_strings_out(const ox_tensor *tensor);

/* A new array that owns a copy of the tensor's elements. */
PyObject *oxpy_array(const ox_tensor *tensor, const char *name);

/* True, with an exception, if two arrays of a dict share memory. */
bool oxpy_arrays_meet(PyObject *arrays);

/* Returns memory for output `index` of a run (ox_output_fn; the context is an oxpy_session): that of the caller's
 * array, or of an array that the call will return. Small outputs stay in the session and are copied. */
void *oxpy_give(void *context, size_t index, const ox_tensor *output, size_t bytes);

/* The array of output `index`, whose tensor the run has left where oxpy_give said, or elsewhere. */
PyObject *oxpy_take(oxpy_session *session, size_t index, const ox_tensor *tensor, const char *name);

/* ---- Sequences, optionals and maps (values.c) ---------------------------------------------------------------- */

/* A value of a type ("seq(tensor(float))") with copies of what a list, None or a mapping holds. */
int oxpy_value_in(const char *type, PyObject *object, const char *name, ox_value **value);

/* A list, None or a dict of new arrays that own their elements; those of maps without dimensions are plain numbers. */
PyObject *oxpy_value_out(const ox_value *value, const char *name);

/* ---- Calls (run.c), profiles (profile.c) -------------------------------------------------------------------- */

/* Model.__call__, run, run_into, prepare and profile. */
PyObject *oxpy_call(PyObject *self, PyObject *args, PyObject *names);
PyObject *oxpy_run(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *oxpy_run_into(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *oxpy_prepare(PyObject *self, PyObject *args, PyObject *names);
PyObject *oxpy_profile(PyObject *self, PyObject *args, PyObject *names);

/* The steps of a run, as they are reported. */
typedef struct oxpy_steps {
    struct oxpy_step *steps;
    size_t count, room;
    bool lost; /* memory ran out */
} oxpy_steps;

/* Collects steps (ox_profile_fn; the context is an oxpy_steps), makes a list of Step of them, frees them. */
void oxpy_steps_add(void *context, const ox_profile_event *event);
PyObject *oxpy_steps_list(const oxpy_steps *steps);
void oxpy_steps_free(oxpy_steps *steps);

/* ---- Descriptions (describe.c) ------------------------------------------------------------------------------ */

/* Makes ValueInfo, OperatorUse and Step, and adds them to the module. */
int oxpy_add_descriptions(PyObject *module);

/* Fills the tuples and dicts of inputs and outputs. */
int oxpy_describe(oxpy_model *self);

/* Facts, metadata and operators of a model. */
PyObject *oxpy_info(oxpy_model *self);
PyObject *oxpy_metadata(oxpy_model *self);
PyObject *oxpy_operators(oxpy_model *self);

/* A Step of its kind, its depth, its nodes and its figures; nodes is taken over. */
PyObject *oxpy_step_new(const ox_profile_event *event, PyObject *nodes);

/* ---- Plug-ins (plugins.c) ------------------------------------------------------------------------------------ */

/* Opens the shared objects of a list of paths, which stay loaded until the process ends, and adds their operators to
 * the model's options. */
int oxpy_load_plugins(oxpy_model *self, PyObject *paths);

/* The same for the plug-ins that belong to ox, where they are found: 1 if they have operators that the model lacked, 0
 * if not. */
int oxpy_add_own_plugins(oxpy_model *self);

/* ---- The module (module.c), its types (model.c, flag.c) ----------------------------------------------------- */

/* Imports a module, gets an attribute; a new reference. */
PyObject *oxpy_import(const char *module, const char *name);

/* Calls a function of a module with one argument. */
PyObject *oxpy_call_python(const char *module, const char *name, PyObject *argument);

int oxpy_add_model(PyObject *module);

/* Flag: a bool that a run reads without the interpreter's lock. */
int oxpy_add_flag(PyObject *module);

/* Its value's address, NULL for None; -1 for other objects. */
int oxpy_flag_of(PyObject *object, const int **flag);

#endif
