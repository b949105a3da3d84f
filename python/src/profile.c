/* profile.c: the steps of a run as Python's objects. */
#include "oxpy.h"

#include <stdlib.h>

/* A step and its nodes, whose texts live as long as the model. */
typedef struct oxpy_step {
    ox_profile_event event;
    ox_profile_node *nodes;
} step;

/* Called without the interpreter's lock: nothing of Python's is used. */
void oxpy_steps_add(void *context, const ox_profile_event *event) {
    oxpy_steps *all = context;
    if (all->count == all->room) {
        const size_t room = all->room ? 2 * all->room : 64;
        step *grown = realloc(all->steps, room * sizeof *grown);
        if (!grown) {
            all->lost = true;
            return;
        }
        all->steps = grown;
        all->room = room;
    }
    ox_profile_node *nodes = calloc(event->node_count + 1, sizeof *nodes);
    if (!nodes) {
        all->lost = true;
        return;
    }
    for (size_t i = 0; i < event->node_count; i++)
        ox_profile_event_node(event, i, &nodes[i]);
    all->steps[all->count++] = (step){.event = *event, .nodes = nodes};
}

static PyObject *node_tuple(const ox_profile_node *node) {
    return Py_BuildValue("(ssss)", node->name, node->output, node->domain, node->op);
}

static PyObject *nodes_of(const step *from) {
    PyObject *nodes = PyTuple_New((Py_ssize_t)from->event.node_count);
    for (size_t i = 0; nodes && i < from->event.node_count; i++) {
        PyObject *node = node_tuple(&from->nodes[i]);
        if (!node || PyTuple_SetItem(nodes, (Py_ssize_t)i, node))
            Py_CLEAR(nodes);
    }
    return nodes;
}

PyObject *oxpy_steps_list(const oxpy_steps *steps) {
    PyObject *list = steps->lost ? PyErr_NoMemory() : PyList_New(0);
    for (size_t i = 0; list && i < steps->count; i++) {
        PyObject *nodes = nodes_of(&steps->steps[i]);
        PyObject *made = nodes ? oxpy_step_new(&steps->steps[i].event, nodes) : NULL;
        if (!made || PyList_Append(list, made))
            Py_CLEAR(list);
        Py_XDECREF(made);
    }
    return list;
}

void oxpy_steps_free(oxpy_steps *steps) {
    for (size_t i = 0; i < steps->count; i++)
        free(steps->steps[i].nodes);
    free(steps->steps);
}
