/* session.c: sessions that wait for calls. All lists are changed under the interpreter's lock only. */
#include "oxpy.h"

#include <stdlib.h>

#include "system.h"

enum {
    LOOK_EVERY = 50 /* milliseconds from one look for signals to the next */
};

/* ---- Forks -------------------------------------------------------------------------------------------------- */

/* The number of forks before this process. A child has only one thread: sessions with workers, and locks that another
 * thread held, cannot be used there. */
static unsigned generation;

static void count_fork(void) {
    generation++;
}

/* To be called with the interpreter's lock. */
static void watch_forks(void) {
    static bool watched;
    if (!watched)
        ox_system_on_fork(count_fork);
    watched = true;
}

/* What a child cannot use is left where it is: freeing it would wait for threads that do not exist. */
static int follow_fork(oxpy_model *self) {
    if (self->generation == generation)
        return 0;
    self->generation = generation;
    const bool torn = self->busy > 0;
    self->busy = 0;
    if (torn || self->options.threads > 1)
        self->idle = NULL;
    return torn ? oxpy_load(self) : 0;
}

/* ---- Watches ------------------------------------------------------------------------------------------------ */

void oxpy_watch_start(oxpy_watch *watch, const int *flag, int64_t limit) {
    const int64_t now = ox_system_milliseconds();
    *watch = (oxpy_watch){.flag = flag, .next_look = now + LOOK_EVERY, .deadline = limit ? now + limit : 0};
}

/* Signals are handled by Python's main thread, with the lock. */
static bool look_for_signals(oxpy_watch *watch) {
    PyEval_RestoreThread(watch->thread);
    watch->raised = PyErr_CheckSignals() != 0;
    watch->thread = PyEval_SaveThread();
    return watch->raised;
}

bool oxpy_poll(void *context) {
    oxpy_watch *watch = context;
    if (watch->flag && __atomic_load_n(watch->flag, __ATOMIC_RELAXED))
        return true;
    if (!watch->thread)
        return false;
    const int64_t now = ox_system_milliseconds();
    if (now < watch->next_look)
        return false;
    watch->late = watch->deadline && now >= watch->deadline;
    watch->next_look = now + LOOK_EVERY;
    if (watch->deadline && watch->deadline < watch->next_look)
        watch->next_look = watch->deadline;
    return watch->late || look_for_signals(watch);
}

static void keep_warning(void *context, const char *text) {
    oxpy_session *session = context;
    session->warned = true;
    PyOS_snprintf(session->warning, sizeof session->warning, "%s", text);
}

/* ---- Sessions ----------------------------------------------------------------------------------------------- */

static void free_session(oxpy_session *session, size_t inputs) {
    ox_session_free(session->session);
    for (size_t i = 0; session->scratch && i < inputs; i++)
        oxpy_scratch_free(&session->scratch[i]);
    for (size_t k = 0; session->targets && k < session->ntargets; k++)
        Py_XDECREF(session->targets[k].array);
    free(session->targets);
    free(session->scratch);
    free(session->values);
    free(session->held);
    free(session);
}

static oxpy_session *make_session(oxpy_model *self) {
    const size_t inputs = ox_model_input_count(self->model);
    oxpy_session *made = calloc(1, sizeof *made);
    if (!made)
        return (oxpy_session *)PyErr_NoMemory();
    made->held = calloc(inputs + 1, sizeof *made->held);
    made->values = calloc(inputs + 1, sizeof *made->values);
    made->scratch = calloc(inputs + 1, sizeof *made->scratch);
    made->ninputs = inputs;
    made->ntargets = ox_model_output_count(self->model) + self->options.extra_output_count;
    made->targets = calloc(made->ntargets + 1, sizeof *made->targets);
    ox_options options = self->options;
    options.limits.cancel = oxpy_poll;
    options.limits.cancel_context = &made->watch;
    options.warn = keep_warning;
    options.warn_context = made;
    ox_error error;
    ox_status status = OX_OK;
    if (!made->held || !made->values || !made->scratch || !made->targets)
        PyErr_NoMemory();
    else if ((status = ox_session_create(self->model, &options, &made->session, &error)) ||
             (status = ox_session_set_outputs(made->session, oxpy_give, made, &error)))
        oxpy_raise(&error);
    else
        return made;
    free_session(made, inputs);
    return NULL;
}

oxpy_session *oxpy_acquire(oxpy_model *self) {
    if (follow_fork(self))
        return NULL;
    oxpy_session *session = self->idle;
    if (session)
        self->idle = session->next;
    else
        session = make_session(self);
    if (session)
        self->busy++;
    return session;
}

void oxpy_release(oxpy_model *self, oxpy_session *session) {
    const size_t inputs = ox_model_input_count(self->model);
    for (size_t i = 0; i < inputs; i++)
        if (session->held[i]) {
            ox_session_set_input(session->session, i, NULL, NULL);
            ox_value_free(session->values[i]);
            session->values[i] = NULL;
            Py_CLEAR(session->held[i]);
        }
    session->next = self->idle;
    self->idle = session;
    self->busy--;
}

/* ---- Models ------------------------------------------------------------------------------------------------- */

static ox_status load(oxpy_model *self, const char *path, const char *bytes, Py_ssize_t size, ox_error *error) {
    ox_status status;
    ox_options options = self->options;
    options.extra_outputs = NULL;
    options.extra_output_count = 0;
    Py_BEGIN_ALLOW_THREADS if (path) status = ox_model_load_file(path, &options, &self->model, error);
    else status = ox_model_load_memory(bytes, (size_t)size, &options, &self->model, error);
    Py_END_ALLOW_THREADS return status;
}

int oxpy_load(oxpy_model *self) {
    PyObject *path = NULL;
    ox_error error;
    ox_status status;
    watch_forks();
    if (PyBytes_Check(self->source)) {
        status = load(self, NULL, PyBytes_AsString(self->source), PyBytes_Size(self->source), &error);
    } else if (PyUnicode_FSConverter(self->source, &path)) {
        status = load(self, PyBytes_AsString(path), NULL, 0, &error);
        Py_DECREF(path);
    } else {
        return -1;
    }
    if (status)
        oxpy_raise(&error);
    return status ? -1 : 0;
}

void oxpy_unload(oxpy_model *self) {
    if (self->generation != generation && (self->busy || self->options.threads > 1))
        return;
    const size_t inputs = ox_model_input_count(self->model);
    while (self->idle) {
        oxpy_session *session = self->idle;
        self->idle = session->next;
        free_session(session, inputs);
    }
    ox_model_free(self->model);
    self->model = NULL;
}
