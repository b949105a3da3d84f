/* graph.c: building graphs, and writing them as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scopes.h"

enum {
    SECONDS = 30 /* a graph may take, before it is a failure */
};

/* ---- Numbers drawn ------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static uint64_t draw(scope *s) {
    return mix(s->seed++);
}

int scope_draw(scope *s, int n) {
    return (int)(draw(s) >> 33) % n;
}

bool scope_begin(scope *s) {
    s->index++;
    s->seed = mix((uint64_t)s->index + ((uint64_t)s->round << 48));
    if (s->index <= s->after || (s->only && s->index != s->only) || (!s->only && s->seed % (uint64_t)s->every))
        return false;
    s->counts->index = s->index;
    scope_graph *g = &s->graph;
    g->nvalues = g->nnodes = g->nresults = 0;
    g->used = 0;
    g->rounds = false;
    g->conv = NULL;
    g->isa = -1;
    g->exact = scope_draw(s, 2);
    g->specials = !g->exact && scope_draw(s, 4) == 0;
    g->zeros = !g->exact && !g->specials && scope_draw(s, 3) == 0;
    g->moves = false;
    g->constant = scope_draw(s, 12) == 0;
    if (!s->tell)
        alarm(SECONDS);
    return true;
}

void scope_any_way(scope *s) {
    static const char *const ways[] = {"winograd", "beside", "direct", "rows", "columns"};
    s->graph.conv = scope_draw(s, 2) ? NULL : ways[scope_draw(s, 5)];
}

scope_place scope_any_place(scope *s) {
    return (scope_place)scope_draw(s, SCOPE_PLACES);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

int64_t scope_count(int rank, const int64_t *dims) {
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= dims[d];
    return count;
}

static void fail(const char *what) {
    fprintf(stderr, "scopes: too many %s in a graph\n", what);
    exit(2);
}

static scope_value *add_value(scope_graph *g, int *number) {
    if (g->nvalues == SCOPE_VALUES)
        fail("values");
    *number = g->nvalues;
    g->values[g->nvalues] = (scope_value){.dtype = OX_UNDEFINED};
    return &g->values[g->nvalues++];
}

bool scope_room(scope_graph *g, scope_value *value) {
    static double numbers[SCOPE_NUMBERS];
    const size_t count = (size_t)scope_count(value->rank, value->dims);
    if (count > SCOPE_NUMBERS - g->used)
        return false;
    value->numbers = numbers + g->used;
    g->used += count;
    return true;
}

/* Small integers but 0; few that lie behind each other differ. */
static double whole_number(ox_dtype dtype, uint64_t i) {
    static const double numbers[] = {-2, 1, 3, -1, 2, -3}, positive[] = {1, 4, 2, 5, 3, 6};
    const bool is_signed = scope_is_float(dtype) || dtype == OX_INT32 || dtype == OX_INT64 || dtype == OX_INT8;
    return (is_signed ? numbers : positive)[i % 6];
}

/* No number, with bits in it that all types have: quiet or not, and six more. */
static double any_nan(scope *s) {
    const uint64_t bits = (uint64_t)0x7ff << 52 | (uint64_t)(scope_draw(s, 127) + 1) << 45 | draw(s) >> 63 << 63;
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static double any_number(scope *s, ox_dtype dtype) {
    static const double specials[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0, 0x1p-130, 3e38};
    if (s->graph.moves && scope_draw(s, 3) == 0)
        return any_nan(s);
    if (s->graph.zeros)
        return scope_draw(s, 2) ? whole_number(dtype, draw(s) >> 8) : scope_draw(s, 2) ? 0.0 : -0.0;
    if (s->graph.specials && scope_draw(s, 8) == 0)
        return scope_round(dtype, specials[scope_draw(s, 7)]);
    return scope_round(dtype, (double)(int64_t)(draw(s) >> 11) * 0x1p-51 - 2);
}

static void fill(scope *s, scope_value *value) {
    const int64_t count = scope_count(value->rank, value->dims);
    const uint64_t first = draw(s) >> 8;
    for (int64_t i = 0; i < count; i++) {
        if (s->graph.exact || !scope_is_float(value->dtype))
            value->numbers[i] = whole_number(value->dtype, count > 6 ? draw(s) >> 8 : first + (uint64_t)i);
        else
            value->numbers[i] = any_number(s, value->dtype);
    }
}

/* A value with data, as it is. */
static int give(scope *s, ox_dtype dtype, int rank, const int64_t *dims, scope_place place) {
    int number;
    scope_value *value = add_value(&s->graph, &number);
    *value = (scope_value){.dtype = dtype, .is_given = true, .rank = rank};
    value->place = s->graph.constant ? SCOPE_CONSTANT : place;
    for (int d = 0; d < rank; d++)
        value->dims[d] = dims[d];
    if (!scope_room(&s->graph, value))
        fail("elements");
    fill(s, value);
    return number;
}

int scope_list(scope *s, ox_dtype dtype, int rank, int count, const int64_t *ints) {
    const int number = give(s, dtype, rank, &(int64_t){count}, SCOPE_CONSTANT);
    for (int i = 0; i < count; i++)
        s->graph.values[number].numbers[i] = (double)ints[i];
    return number;
}

/* The value with its dimensions in reverse order, and a node that turns them. */
static int give_transposed(scope *s, ox_dtype dtype, int rank, const int64_t *dims) {
    int64_t turned[SCOPE_RANK], perm[SCOPE_RANK];
    for (int d = 0; d < rank; d++)
        turned[d] = dims[perm[d] = rank - 1 - d];
    const int from = give(s, dtype, rank, turned, SCOPE_INPUT), to = scope_node_of(s, "Transpose", 1, &from);
    scope_ints(s, "perm", rank, perm);
    return to;
}

/* A part of a value that has an element more at both ends of the last dimension. */
static int give_slice(scope *s, ox_dtype dtype, int rank, const int64_t *dims) {
    int64_t larger[SCOPE_RANK];
    memcpy(larger, dims, (size_t)rank * sizeof *dims);
    larger[rank - 1] += 2;
    const int in[] = {give(s, dtype, rank, larger, SCOPE_INPUT), scope_list(s, OX_INT64, 1, 1, (const int64_t[]){1}),
                      scope_list(s, OX_INT64, 1, 1, (const int64_t[]){1 + dims[rank - 1]}),
                      scope_list(s, OX_INT64, 1, 1, (const int64_t[]){rank - 1})};
    return scope_node_of(s, "Slice", 4, in);
}

/* A copy with the first dimension in the opposite order. */
static int give_gathered(scope *s, ox_dtype dtype, int rank, const int64_t *dims) {
    int64_t order[64];
    for (int64_t i = 0; i < dims[0]; i++)
        order[i] = dims[0] - 1 - i;
    const int in[] = {give(s, dtype, rank, dims, SCOPE_INPUT), scope_list(s, OX_INT64, 1, (int)dims[0], order)};
    return scope_node_of(s, "Gather", 2, in);
}

int scope_give(scope *s, ox_dtype dtype, int rank, const int64_t *dims, scope_place place) {
    const bool is_unsigned = dtype == OX_UINT8 || dtype == OX_UINT32 || dtype == OX_UINT64;
    if (place == SCOPE_NEG && !is_unsigned && !s->graph.moves) {
        const int from = give(s, dtype, rank, dims, SCOPE_INPUT);
        return scope_node_of(s, "Neg", 1, &from);
    }
    if (place == SCOPE_TRANSPOSE && rank > 1)
        return give_transposed(s, dtype, rank, dims);
    if (place == SCOPE_SLICE && rank > 0)
        return give_slice(s, dtype, rank, dims);
    if (place == SCOPE_GATHER && rank > 0 && dims[0] <= 64)
        return give_gathered(s, dtype, rank, dims);
    return give(s, dtype, rank, dims, place < SCOPE_IN_GRAPH ? place : SCOPE_INPUT);
}

/* ---- Nodes --------------------------------------------------------------------------------------------------- */

int scope_node_of(scope *s, const char *op, int nin, const int *in) {
    scope_graph *g = &s->graph;
    if (g->nnodes == SCOPE_NODES || nin > SCOPE_NODE_INPUTS)
        fail("nodes");
    scope_node *node = &g->nodes[g->nnodes++];
    const char *colon = strchr(op, ':');
    *node = (scope_node){.domain = colon ? "com.microsoft" : "", .op = colon ? colon + 1 : op, .nin = nin};
    memcpy(node->in, in, (size_t)nin * sizeof *in);
    return scope_output_of(s);
}

int scope_output_of(scope *s) {
    scope_node *node = &s->graph.nodes[s->graph.nnodes - 1];
    if (node->nout == SCOPE_NODE_OUTPUTS)
        fail("outputs");
    add_value(&s->graph, &node->outs[node->nout]);
    return node->outs[node->nout++];
}

static scope_attribute *add_attribute(scope *s, const char *name, char kind) {
    scope_node *node = &s->graph.nodes[s->graph.nnodes - 1];
    if (node->nattrs == SCOPE_ATTRIBUTES)
        fail("attributes");
    node->attrs[node->nattrs] = (scope_attribute){.name = name, .kind = kind};
    return &node->attrs[node->nattrs++];
}

void scope_ints(scope *s, const char *name, int count, const int64_t *ints) {
    scope_attribute *a = add_attribute(s, name, 'I');
    a->count = count;
    memcpy(a->ints, ints, (size_t)count * sizeof *ints);
}

void scope_int(scope *s, const char *name, int64_t value) {
    scope_attribute *a = add_attribute(s, name, 'i');
    a->count = 1;
    a->ints[0] = value;
}

void scope_float(scope *s, const char *name, float value) {
    add_attribute(s, name, 'f')->number = value;
}

void scope_text(scope *s, const char *name, const char *value) {
    add_attribute(s, name, 's')->text = value;
}

void scope_result(scope *s, int value) {
    for (int i = 0; i < s->graph.nresults; i++)
        if (s->graph.results[i] == value)
            return;
    s->graph.results[s->graph.nresults++] = value;
}

/* ---- Text ---------------------------------------------------------------------------------------------------- */

static void print_value(const scope_value *value, int number) {
    static const char *const places[] = {"constant",
                                         "input",
                                         "input with gaps",
                                         "input turned",
                                         "input backward",
                                         "input behind one element",
                                         "input behind a byte",
                                         "input at a guard"};
    printf("v%02d = %s[", number, ox_dtype_name(value->dtype));
    for (int d = 0; d < value->rank; d++)
        printf("%s%lld", d ? "," : "", (long long)value->dims[d]);
    printf("] %s; ", places[value->place]);
}

static void print_attribute(const scope_attribute *a) {
    printf(" %s=", a->name);
    if (a->kind == 'f')
        printf("%g", (double)a->number);
    if (a->kind == 's')
        printf("%s", a->text);
    for (int i = 0; i < a->count; i++)
        printf("%s%lld", i ? "," : "", (long long)a->ints[i]);
}

static const char *kind_of_data(const scope_graph *g) {
    return g->exact      ? "integers"
           : g->moves    ? "floats of all bits"
           : g->specials ? "any floats"
           : g->zeros    ? "integers and zeros of both signs"
                         : "floats";
}

void scope_print(const scope *s) {
    const scope_graph *g = &s->graph;
    printf("%s %lld", s->family, (long long)s->index);
    if (s->round)
        printf(" of round %lld", (long long)s->round);
    if (g->conv)
        printf(" with OX_CONV=%s", g->conv);
    printf(" (%s): ", kind_of_data(g));
    for (int v = 0; v < g->nvalues; v++)
        if (g->values[v].is_given)
            print_value(&g->values[v], v);
    for (int n = 0; n < g->nnodes; n++) {
        const scope_node *node = &g->nodes[n];
        for (int i = 0; i < node->nout; i++)
            printf("%sv%02d", i ? ", " : "", node->outs[i]);
        printf(" = %s(", node->op);
        for (int i = 0; i < node->nin; i++)
            printf(node->in[i] < 0 ? "%s" : "%sv%02d", i ? ", " : "", node->in[i]);
        for (int i = 0; i < node->nattrs; i++)
            print_attribute(&node->attrs[i]);
        printf("); ");
    }
    printf("results");
    for (int i = 0; i < g->nresults; i++)
        printf(" v%02d", g->results[i]);
    printf("\n");
}
