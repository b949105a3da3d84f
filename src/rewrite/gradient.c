/* gradient.c: Gradient is replaced when a model is loaded. The nodes between the tensors that it names and y are
 * differentiated in reverse mode: the rules of gradient_rules.c compute the gradients of each node's inputs from those
 * of its outputs. If the inputs of Gradient differ from the tensors that it names, the nodes that depend on these are
 * written again for the inputs. Gradient itself stays, and passes the gradients on. */
#include "gradient.h"
#include "rewrite.h"

/* What is known of a value on the way from the named ones to y. */
typedef struct value_state {
    int32_t value;
    int32_t here;     /* the value that stands for it where the gradient is computed */
    int32_t gradient; /* of y, OX_NONE if none yet */
    int32_t named;    /* its number among the named ones, -1 if none */
    bool active;      /* it depends on one of xs */
    bool read;        /* a node on the way reads it */
} value_state;

typedef struct path {
    ox_builder *b;
    ox_scope *scope;
    const ox_gradient *gradient;
    ox_pile pile; /* of what follows */
    ox_map index; /* value + 1 -> its state */
    value_state *values;
    ox_map seen;                   /* node + 1 -> OPEN or DONE */
    int32_t *order, *stack, *next; /* nodes: those before y, and those that are being visited, with the reads done */
    int32_t nvalues, value_room, norder, order_room, depth, stack_room, next_room;
    bool waits; /* for a node that is not built yet */
    ox_emitter emitter;
} path;

enum {
    OPEN = 1,
    DONE = 2,
    LOOKS = 16 /* nodes that Gradient may look at, for each that may be written for it */
};

static const char *name_of(const path *p, int32_t value) {
    return p->scope->values[value].name;
}

/* ---- What is on the way ------------------------------------------------------------------------------------- */

static ox_status state_of(path *p, int32_t value, value_state **state) {
    int32_t at = ox_map_get(&p->index, (uintptr_t)value + 1, -1);
    if (at < 0) {
        OX_TRY(ox_build_grow(p->b, &p->pile, &p->values, p->nvalues, &p->value_room, sizeof *p->values));
        at = p->nvalues++;
        p->values[at] = (value_state){.value = value, .here = value, .gradient = OX_NONE, .named = -1};
        OX_TRY(ox_build_set(p->b, &p->index, &p->pile, (uintptr_t)value + 1, at));
    }
    *state = &p->values[at];
    return OX_OK;
}

/* The state of a value that has one. */
static value_state *known(const path *p, int32_t value) {
    const int32_t at = value < 0 ? -1 : ox_map_get(&p->index, (uintptr_t)value + 1, -1);
    return at < 0 ? NULL : &p->values[at];
}

static ox_status push(path *p, int32_t value) {
    const ox_value_note *note = &p->scope->notes[value];
    if (note->origin != OX_FROM_NODE)
        return OX_OK;
    const int32_t n = note->producer;
    if (n < 0) {
        p->waits = true;
        return OX_OK;
    }
    const int32_t mark = ox_map_get(&p->seen, (uintptr_t)n + 1, 0);
    if (mark == OPEN)
        return ox_fail(p->b->error, OX_ERROR_MODEL, "'%.*s' depends on itself", 60, name_of(p, value));
    if (mark == DONE)
        return OX_OK;
    if (++p->b->looked_at / LOOKS > OX_MAX_GRADIENT_NODES)
        return ox_fail(p->b->error, OX_ERROR_LIMIT, "the gradients look at more than %d nodes",
                       LOOKS * OX_MAX_GRADIENT_NODES);
    OX_TRY(ox_build_set(p->b, &p->seen, &p->pile, (uintptr_t)n + 1, OPEN));
    OX_TRY(ox_build_grow(p->b, &p->pile, &p->stack, p->depth, &p->stack_room, sizeof *p->stack));
    OX_TRY(ox_build_grow(p->b, &p->pile, &p->next, p->depth, &p->next_room, sizeof *p->next));
    p->stack[p->depth] = n;
    p->next[p->depth++] = 0;
    return OX_OK;
}

static ox_status finish_node(path *p, int32_t n) {
    OX_TRY(ox_build_grow(p->b, &p->pile, &p->order, p->norder, &p->order_room, sizeof *p->order));
    p->order[p->norder++] = n;
    p->depth--;
    return ox_build_set(p->b, &p->seen, &p->pile, (uintptr_t)n + 1, DONE);
}

/* One step on: a value that is read. The named ones end the way; `within`: they must not be met. */
static ox_status step(path *p, bool within) {
    const int32_t n = p->stack[p->depth - 1], k = p->next[p->depth - 1]++;
    const ox_node *node = &p->scope->nodes[n];
    value_state *state;
    if (k == ox_node_named(node))
        return finish_node(p, n);
    const int32_t value = ox_node_value(node, k);
    if (value < 0)
        return OX_OK;
    OX_TRY(state_of(p, value, &state));
    state->read |= !within;
    if (state->named < 0)
        return push(p, value);
    return within ? ox_fail(p->b->error, OX_ERROR_MODEL,
                            "xs and zs name '%.*s' and what is computed from it: they must be independent", 60,
                            name_of(p, value))
                  : OX_OK;
}

/* Nodes that a value depends on, up to the named ones, in an order in which they can run. */
static ox_status walk(path *p, int32_t value, bool within) {
    OX_TRY(push(p, value));
    while (p->depth && !p->waits)
        OX_TRY(step(p, within));
    return OX_OK;
}

/* No tensor that is named depends on another one. */
static ox_status check_independent(path *p) {
    p->seen = (ox_map){0};
    for (int i = 0; i < p->gradient->nnamed && !p->waits; i++)
        OX_TRY(walk(p, p->gradient->named[i], true));
    p->norder = 0;
    p->seen = (ox_map){0};
    return OX_OK;
}

static ox_status start(path *p) {
    const ox_gradient *g = p->gradient;
    value_state *state;
    for (int i = 0; i < g->nnamed; i++) {
        OX_TRY(state_of(p, g->named[i], &state));
        if (state->named >= 0)
            return ox_fail(p->b->error, OX_ERROR_MODEL, "xs and zs name '%.*s' twice", 60, name_of(p, g->named[i]));
        *state = (value_state){g->named[i], g->node.in[i], OX_NONE, i, i < g->nxs, false};
    }
    OX_TRY(state_of(p, g->y, &state));
    state->read = true;
    OX_TRY(check_independent(p));
    return known(p, g->y)->named < 0 && !p->waits ? walk(p, g->y, false) : OX_OK;
}

static ox_status check_read(const path *p) {
    for (int i = 0; i < p->gradient->nxs; i++)
        if (!known(p, p->gradient->named[i])->read)
            return ox_fail(p->b->error, OX_ERROR_MODEL, "'%.*s' does not depend on '%.*s', which xs name", 60,
                           name_of(p, p->gradient->y), 60, name_of(p, p->gradient->named[i]));
    return OX_OK;
}

/* ---- Forwards ----------------------------------------------------------------------------------------------- */

/* The values of a node's inputs or outputs where the gradient is computed. */
static void bring_here(const path *p, const ox_index *values, int count, int32_t *here) {
    for (int i = 0; i < count; i++) {
        const value_state *state = known(p, values[i]);
        here[i] = state ? state->here : values[i];
    }
}

static ox_status mark_outputs(path *p, const ox_node *node, const int32_t *here, bool active) {
    for (int k = 0; k < node->nout; k++) {
        value_state *state;
        if (node->out[k] < 0)
            continue;
        OX_TRY(state_of(p, node->out[k], &state));
        if (state->named >= 0)
            continue;
        state->here = here ? here[k] : node->out[k];
        state->active = active;
    }
    return OX_OK;
}

/* The node for the values that it has here. */
static ox_status write_again(path *p, const ox_node *node, bool active) {
    const size_t count = (size_t)node->nin + (size_t)node->nout;
    int32_t *here;
    OX_TRY(ox_build_get(p->b, &p->pile, count, sizeof *here, &here));
    bring_here(p, node->in, node->nin, here);
    ox_emit_node(&p->emitter, node, node->nin, here, node->nout, here + node->nin);
    OX_TRY(p->emitter.status);
    return mark_outputs(p, node, here + node->nin, active);
}

static ox_status go_forward(path *p, int32_t n) {
    const ox_node node = p->scope->nodes[n]; /* the array may move */
    bool active = false, moved = false;
    for (int i = 0; i < ox_node_named(&node); i++) {
        const value_state *state = known(p, ox_node_value(&node, i));
        active |= state && state->active;
        moved |= state && state->here != state->value;
        if (i >= node.nin && state && (state->active || state->here != state->value))
            return ox_fail(p->b->error, OX_ERROR_UNSUPPORTED,
                           "'%.*s' is read in a subgraph of %s-%d, which is not differentiated", 60,
                           name_of(p, state->value), node.op->name, ox_op_version(node.op, node.version));
    }
    return moved ? write_again(p, &node, active) : mark_outputs(p, &node, NULL, active);
}

/* ---- Backwards ---------------------------------------------------------------------------------------------- */

static void add_gradient(path *p, value_state *state, int32_t gradient) {
    state->gradient =
        state->gradient == OX_NONE ? gradient : OX_EMIT(&p->emitter, "Add(a, b)", state->gradient, gradient);
}

/* What one node is differentiated with: its lists, in memory that goes with the path. */
typedef struct lists {
    int32_t *in, *out, *given, *gradients;
    bool *wanted;
} lists;

static ox_status take_lists(path *p, const ox_node *node, lists *l) {
    const size_t nin = (size_t)node->nin, nout = (size_t)node->nout;
    OX_TRY(ox_build_get(p->b, &p->pile, 2 * (nin + nout), sizeof *l->in, &l->in));
    OX_TRY(ox_build_get(p->b, &p->pile, nin, sizeof *l->wanted, &l->wanted));
    l->gradients = l->in + nin;
    l->out = l->gradients + nin;
    l->given = l->out + nout;
    bring_here(p, node->in, node->nin, l->in);
    bring_here(p, node->out, node->nout, l->out);
    for (int i = 0; i < node->nin; i++) {
        const value_state *state = known(p, node->in[i]);
        l->gradients[i] = OX_NONE;
        l->wanted[i] = state && state->active;
    }
    return OX_OK;
}

/* The first output that is read; every node on the path has one. */
static int32_t first_output(const ox_node *node) {
    int k = 0;
    while (node->out[k] < 0)
        k++;
    return node->out[k];
}

static ox_status derive(path *p, const ox_node *node, const lists *l) {
    ox_derivative d = {p->emitter, node, l->in, l->out, l->given, l->wanted, l->gradients};
    d.emitter.node = node;
    d.emitter.result = l->out[0];
    d.emitter.gradient = d.emitter.like = l->given[0];
    for (int k = 1; k < node->nout && d.emitter.like == OX_NONE; k++)
        d.emitter.like = l->given[k];
    const bool found = ox_derive(&d);
    p->emitter.status = d.emitter.status;
    if (!found)
        return ox_fail(p->b->error, OX_ERROR_UNSUPPORTED,
                       "'%.*s' depends on xs by '%.*s', which %.*s-%d gives: ox does not differentiate that", 60,
                       name_of(p, p->gradient->y), 60, name_of(p, first_output(node)), 40, node->op->name,
                       ox_op_is_known(node->op) ? ox_op_version(node->op, node->version) : node->version);
    return p->emitter.status;
}

/* Hands gradients of the outputs of a node on to what it reads. */
static ox_status go_back(path *p, int32_t n) {
    const ox_node node = p->scope->nodes[n];
    lists l;
    bool any = false, active = false;
    for (int k = 0; k < node.nout; k++) {
        const value_state *state = known(p, node.out[k]);
        any |= state && state->gradient != OX_NONE;
        active |= state && state->active;
    }
    if (!any || !active)
        return OX_OK;
    OX_TRY(take_lists(p, &node, &l));
    for (int k = 0; k < node.nout; k++) {
        const value_state *state = known(p, node.out[k]);
        l.given[k] = state ? state->gradient : OX_NONE;
    }
    OX_TRY(derive(p, &node, &l));
    for (int i = 0; i < node.nin; i++)
        if (l.wanted[i] && l.gradients[i] != OX_NONE)
            add_gradient(p, known(p, node.in[i]), l.gradients[i]);
    return p->emitter.status;
}

/* The Gradient node itself, which reads the requested gradients. */
static ox_status hand_on(path *p) {
    const ox_gradient *g = p->gradient;
    ox_node node = g->node;
    ox_index *ends;
    OX_TRY(ox_build_get(p->b, p->b->pile, 2 * (size_t)node.nout, sizeof *ends, &ends));
    node.nin = 0;
    for (int i = 0; i < g->node.nout; i++) {
        const value_state *x = known(p, g->named[i]);
        if (g->node.out[i] < 0)
            continue;
        p->emitter.like = x->here;
        const int32_t gradient = x->gradient == OX_NONE ? OX_EMIT(&p->emitter, "Like(0, a)", x->here) : x->gradient;
        OX_TRY(p->emitter.status);
        ends[node.nin] = (ox_index)gradient;
        ends[g->node.nout + node.nin++] = g->node.out[i];
    }
    node.nout = node.nin;
    node.in = ends;
    node.out = ends + g->node.nout;
    node.attrs = NULL;
    node.nattrs = 0;
    return ox_build_append(p->b, p->scope, &node, g->name);
}

static ox_status differentiate(path *p) {
    OX_TRY(start(p));
    if (p->waits)
        return OX_OK;
    OX_TRY(check_read(p));
    for (int32_t i = 0; i < p->norder; i++)
        OX_TRY(go_forward(p, p->order[i]));
    value_state *y = known(p, p->gradient->y);
    p->emitter.like = y->here;
    y->gradient = OX_EMIT(&p->emitter, "Like(1, a)", y->here);
    OX_TRY(p->emitter.status);
    for (int32_t i = p->norder; i-- > 0;)
        OX_TRY(go_back(p, p->order[i]));
    return hand_on(p);
}

static ox_status expand(ox_builder *b, ox_scope *scope, const ox_gradient *gradient, bool *waits) {
    path p = {.b = b, .scope = scope, .gradient = gradient};
    p.emitter = (ox_emitter){.b = b,
                             .scope = scope,
                             .name = gradient->name,
                             .macros = ox_gradient_macros,
                             .like = OX_NONE,
                             .gradient = OX_NONE,
                             .result = OX_NONE,
                             .bounded = true};
    ox_pile_init(&p.pile, &b->temporary);
    b->looked_at++;
    ox_status status = differentiate(&p);
    *waits = p.waits;
    ox_pile_free(&p.pile);
    return status;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------- */

ox_status ox_rewrite_gradient(ox_builder *b, ox_scope *scope, const ox_gradient *gradient) {
    ox_gradient *g;
    bool waits;
    OX_TRY(ox_build_get(b, &scope->pile, 1, sizeof *g, &g));
    *g = *gradient;
    g->next = scope->waiting;
    if (!*g->name)
        OX_TRY(ox_build_intern(b, g->node.op->name, &g->name));
    OX_TRY(expand(b, scope, g, &waits));
    if (waits)
        scope->waiting = g;
    return OX_OK;
}

/* One of those that wait; *any is set if it could be built. */
static ox_status build_waiting(ox_builder *b, ox_scope *scope, ox_gradient **at, bool *any) {
    const ox_gradient *g = *at;
    bool waits;
    ox_status status = expand(b, scope, g, &waits);
    if (status)
        ox_error_prefix(b->error, "node '%.*s' (%s): ", 60, g->name, g->node.op->name);
    else if (!waits)
        *at = g->next;
    *any |= !waits;
    return status;
}

ox_status ox_rewrite_waiting(ox_builder *b, ox_scope *scope) {
    for (bool any = true; any && scope->waiting;) {
        any = false;
        for (ox_gradient **at = &scope->waiting; *at;) {
            ox_gradient *const before = *at;
            OX_TRY(build_waiting(b, scope, at, &any));
            if (*at == before)
                at = &before->next;
        }
    }
    if (!scope->waiting)
        return OX_OK;
    return ox_fail(b->error, OX_ERROR_MODEL, "node '%.*s' (Gradient) depends on its own output", 60,
                   scope->waiting->name);
}
