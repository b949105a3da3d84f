/* check.c: runs a graph in the ways that must give the same bits, and compares. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scopes.h"

enum {
    TOLD = 12,     /* failures of a family that are written out */
    LARGE = 10000, /* elements of graphs that threads share, and of which few are evaluated */
    SELDOM = 8,    /* ... */
    ASKED = 4,     /* one of so many sessions says by which algorithms it computes */
    LIMITED = 4    /* one of so many models has a limit on its memory */
};

/* A way to run a graph. */
typedef struct way {
    bool no_fuse;
    int threads, isa; /* isa: an index, -1 for the best */
    bool again;       /* in memory that the run before has written to */
    scope_place outs; /* of the caller's memory for outputs; SCOPE_CONSTANT: none */
} way;

/* A session that has run. */
typedef struct outcome {
    ox_session *session;
    ox_error error;
    ox_tensor results[SCOPE_RESULTS];
} outcome;

static bool is_large(const scope *s) {
    return s->graph.used > LARGE;
}

static void tell_way(const scope *s, const way *w) {
    static const char *const outs[SCOPE_PLACES] = {[SCOPE_INPUT] = ", outputs in the caller's memory",
                                                   [SCOPE_BYTE] = ", outputs at an odd address",
                                                   [SCOPE_GUARDED] = ", outputs at a guard"};
    printf("%s%s, %d thread%s, %s%s", s->is_limited ? "under a limit, " : "", w->no_fuse ? "plain" : "fused",
           w->threads, w->threads == 1 ? "" : "s", w->isa < 0 ? "best build" : s->isa[w->isa],
           outs[w->outs] ? outs[w->outs] : "");
}

/* Begins the report of a failure; false if there were many. */
static bool tell_failure(scope *s) {
    s->counts->failed++;
    if (s->counts->told++ >= TOLD)
        return false;
    scope_print(s);
    printf("    ");
    return true;
}

/* ---- Running ------------------------------------------------------------------------------------------------- */

/* An ox_output_fn: memory of the caller's. */
static void *give_output(void *context, size_t index, const ox_tensor *output, size_t bytes) {
    const way *w = context;
    (void)output;
    return scope_output((int)index, bytes, w->outs);
}

static ox_status run_inputs(outcome *o, const way *w, int ninputs, const scope_input *inputs) {
    for (int i = 0; i < ninputs; i++)
        if (ox_session_set_input(o->session, (size_t)i, &inputs[i].tensor, &o->error))
            return o->error.status;
    if (w->outs && ox_session_set_outputs(o->session, give_output, (void *)(uintptr_t)w, &o->error))
        return o->error.status;
    if (w->again && ox_session_run(o->session, &o->error))
        return o->error.status;
    return ox_session_run(o->session, &o->error);
}

static void run(scope *s, const ox_model *model, const way *w, int ninputs, const scope_input *inputs, outcome *o) {
    const ox_options options = {
        .no_fuse = w->no_fuse, .threads = w->threads, .isa = w->isa < 0 ? NULL : s->isa[w->isa]};
    s->counts->sessions++;
    o->session = NULL;
    if (ox_session_create(model, &options, &o->session, &o->error) || run_inputs(o, w, ninputs, inputs))
        return;
    if (scope_draw(s, ASKED) == 0)
        ox_model_visit(model, o->session, scope_count_algorithm, s->counts);
    for (int i = 0; i < s->graph.nresults; i++)
        ox_session_output(o->session, (size_t)i, &o->results[i], &o->error);
}

static bool same_shape(const ox_tensor *a, const ox_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

/* ---- Comparing ----------------------------------------------------------------------------------------------- */

/* How elements are compared. Which of two NaN an operation passes on depends on the compiler's loops. */
typedef struct likeness {
    bool moved;   /* the bits of NaN, too */
    double error; /* negative: everything else by its bits */
} likeness;

static likeness like_others(const scope *s) {
    return (likeness){s->graph.moves, -1};
}

static bool is_same_element(ox_dtype dtype, const void *a, const void *b, likeness like) {
    if (!memcmp(a, b, ox_dtype_size(dtype)))
        return true;
    if (like.moved)
        return false;
    const double x = scope_decode(dtype, a), y = scope_decode(dtype, b);
    return isnan(x) ? isnan(y) : like.error >= 0 && fabs(x - y) <= like.error;
}

static bool same_elements(const ox_tensor *a, const void *b, likeness like) {
    const size_t size = ox_dtype_size(a->dtype), count = (size_t)ox_tensor_count(a);
    if (!memcmp(a->data, b, count * size))
        return true;
    for (size_t i = 0; i < count; i++)
        if (!is_same_element(a->dtype, (const char *)a->data + i * size, (const char *)b + i * size, like))
            return false;
    return true;
}

/* Says which element differs first. */
static void tell_element(const ox_tensor *got, const void *wanted, likeness like) {
    const size_t size = ox_dtype_size(got->dtype);
    const int64_t count = ox_tensor_count(got);
    int64_t first = -1, differ = 0;
    for (int64_t i = 0; i < count; i++)
        if (!is_same_element(got->dtype, (const char *)got->data + (size_t)i * size,
                             (const char *)wanted + (size_t)i * size, like)) {
            first = first < 0 ? i : first;
            differ++;
        }
    const char *a = (const char *)got->data + (size_t)first * size, *b = (const char *)wanted + (size_t)first * size;
    printf("%lld of %lld elements differ; number %lld is %g, not %g", (long long)differ, (long long)count,
           (long long)first, scope_decode(got->dtype, a), scope_decode(got->dtype, b));
    printf(" (bytes");
    for (size_t k = size; k-- > 0;)
        printf(" %02x", ((const unsigned char *)a)[k]);
    printf(", not");
    for (size_t k = size; k-- > 0;)
        printf(" %02x", ((const unsigned char *)b)[k]);
    printf(")\n");
}

/* Whether two ways gave the same: results, or an error with its text. */
static bool compare(scope *s, const outcome *plain, const outcome *other, const way *w) {
    if (plain->error.status || other->error.status) {
        if (plain->error.status == other->error.status && !strcmp(plain->error.text, other->error.text))
            return true;
        if (tell_failure(s)) {
            tell_way(s, w);
            printf(": '%s', plain: '%s'\n", other->error.text, plain->error.text);
        }
        return false;
    }
    for (int i = 0; i < s->graph.nresults; i++) {
        const ox_tensor *a = &plain->results[i], *b = &other->results[i];
        const bool same = same_shape(a, b);
        if (same && same_elements(a, b->data, like_others(s)))
            continue;
        if (tell_failure(s)) {
            tell_way(s, w);
            printf(": result %d: ", i);
            if (same)
                tell_element(b, a->data, like_others(s));
            else
                printf("another type or shape\n");
        }
        return false;
    }
    return true;
}

static double largest_of(const scope_value *value, double largest) {
    for (int64_t i = scope_count(value->rank, value->dims) - 1; i >= 0; i--)
        largest = fmax(largest, fabs(value->numbers[i]));
    return largest;
}

/* The most that an element may be off. Winograd's algorithm is not exact, and its errors are of the largest sums, which
 * a Clip behind them may take away. A sum of 16 bits that lies between two numbers may become the other one, and so may
 * what nodes behind it make of that. */
static double error_of(const scope_graph *g, const scope_value *value) {
    const bool narrow = value->dtype == OX_FLOAT16 || value->dtype == OX_BFLOAT16;
    const double step = value->dtype == OX_FLOAT16 ? 0x1p-10 : 0x1p-7;
    double largest = largest_of(value, 1);
    for (int n = 0; n < g->nnodes; n++)
        if (narrow || !strcmp(g->nodes[n].op, "Conv"))
            largest = largest_of(&g->values[g->nodes[n].outs[0]], largest);
    return g->rounds ? largest * (narrow ? g->nnodes * step : 1e-4) : 0;
}

/* Whether a result has the numbers that the evaluation has; the sign of a zero is not looked at. */
static bool is_as_evaluated(const ox_tensor *got, const scope_value *value, likeness like, char *wanted) {
    const size_t size = ox_dtype_size(got->dtype);
    const int64_t count = ox_tensor_count(got);
    if (got->dtype != value->dtype || got->rank != value->rank ||
        memcmp(got->dims, value->dims, (size_t)got->rank * sizeof *got->dims))
        return false;
    bool same = true;
    for (int64_t i = 0; i < count; i++) {
        char *to = wanted + (size_t)i * size;
        scope_encode(value->dtype, value->numbers[i], to);
        same &= is_same_element(got->dtype, (const char *)got->data + (size_t)i * size, to, like);
    }
    return same;
}

static bool compare_evaluated(scope *s, const outcome *plain) {
    static char wanted[SCOPE_NUMBERS * sizeof(double)];
    if (!(s->graph.exact || s->graph.moves) || (is_large(s) && scope_draw(s, SELDOM)) || !scope_evaluate(&s->graph))
        return true;
    s->counts->referenced++;
    if (plain->error.status) {
        if (tell_failure(s))
            printf("%s\n", plain->error.text);
        return false;
    }
    for (int i = 0; i < s->graph.nresults; i++) {
        const scope_value *value = &s->graph.values[s->graph.results[i]];
        const likeness like = {s->graph.moves, error_of(&s->graph, value)};
        if (is_as_evaluated(&plain->results[i], value, like, wanted))
            continue;
        if (tell_failure(s)) {
            printf("plain%s, beside the evaluation: result %d: ", s->is_limited ? " under a limit" : "", i);
            if (same_shape(&plain->results[i], &(ox_tensor){value->dtype, value->rank, value->dims, NULL, NULL}))
                tell_element(&plain->results[i], wanted, like);
            else
                printf("another type or shape\n");
        }
        return false;
    }
    return true;
}

/* ---- Ways ---------------------------------------------------------------------------------------------------- */

/* Fused, and sometimes by threads, in other builds and twice, each beside the plain nodes in the same build. */
static bool run_ways(scope *s, const ox_model *model, int ninputs, const scope_input *inputs) {
    const int any = scope_draw(s, 3) ? -1 : scope_draw(s, s->nisa), isa = s->graph.isa < 0 ? any : s->graph.isa;
    static const scope_place outs[] = {SCOPE_INPUT, SCOPE_BYTE, SCOPE_GUARDED};
    const scope_place out = scope_draw(s, 3) ? SCOPE_CONSTANT : outs[scope_draw(s, 3)];
    const way ways[] = {{true, 1, isa, false, SCOPE_CONSTANT},
                        {false, 1, isa, !scope_draw(s, 4), out},
                        {false, s->threads, isa, true, SCOPE_CONSTANT},
                        {true, s->threads, isa, false, out}};
    const int nways = scope_draw(s, is_large(s) ? 2 : 6) ? 2 : scope_draw(s, 2) ? 3 : 4;
    outcome plain = {.session = NULL};
    run(s, model, &ways[0], ninputs, inputs, &plain);
    bool same = compare_evaluated(s, &plain);
    for (int i = 1; i < nways && same; i++) {
        outcome other = {.session = NULL};
        run(s, model, &ways[i], ninputs, inputs, &other);
        same = compare(s, &plain, &other, &ways[i]);
        ox_session_free(other.session);
    }
    ox_session_free(plain.session);
    return same;
}

void scope_check(scope *s) {
    static unsigned char room[SCOPE_MODEL];
    const unsigned char *bytes;
    scope_input inputs[SCOPE_GIVEN];
    ox_model *model;
    ox_error error;
    if (s->tell) {
        scope_print(s);
        return;
    }
    const size_t size = scope_model(&s->graph, room, &bytes);
    const ox_options limited = {.limits = {.bytes = SIZE_MAX / 2}};
    s->counts->graphs++;
    s->is_limited = !scope_draw(s, LIMITED);
    setenv("OX_CONV", s->graph.conv ? s->graph.conv : "", 1); /* models are loaded with it */
    if (ox_model_load_memory(bytes, size, s->is_limited ? &limited : NULL, &model, &error)) {
        if (tell_failure(s))
            printf("the model does not load: %s\n", error.text);
        return;
    }
    if (!run_ways(s, model, scope_lay(&s->graph, inputs), inputs))
        fflush(stdout); /* the next graph may end the process */
    ox_model_free(model);
}

bool scope_has_build(scope *s, const char *name) {
    static unsigned char room[SCOPE_MODEL];
    const unsigned char *bytes;
    ox_model *model = NULL;
    ox_session *session = NULL;
    s->every = 1;
    s->tell = true;
    scope_begin(s);
    const int in = scope_give(s, OX_FLOAT, 0, NULL, SCOPE_CONSTANT);
    scope_result(s, scope_node_of(s, "Neg", 1, &in));
    const size_t size = scope_model(&s->graph, room, &bytes);
    const bool has = !ox_model_load_memory(bytes, size, NULL, &model, NULL) &&
                     !ox_session_create(model, &(ox_options){.isa = name}, &session, NULL);
    ox_session_free(session);
    ox_model_free(model);
    return has;
}
