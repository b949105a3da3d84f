/* recurrent.c: RNN, GRU and LSTM. One product before the steps computes what the inputs give to the gates, for all
 * steps. Each step then multiplies the hidden states by their weights, adds both, and applies the cell (cells.c). */
#include "recurrent.h"
#include "ops/retype.h"

#include <string.h>

enum {
    X,
    W,
    R,
    B,
    LENGTHS
};

/* Where run finds its memory, in the type that is computed in. */
struct ox_recurrent_run {
    const ox_call *call;
    const ox_recurrent *r;
    ox_tensor in[OX_RECURRENT_INPUTS];
    char *inputs;                      /* what X gives to the gates, in the order of X's rows */
    char *gates;                       /* of a step: batch x gates */
    char *bias;                        /* of W's product; GRU's of R's last gate follows */
    char *state[OX_RECURRENT_STATES];  /* batch x hidden; GRU: the second is the operand of the last product */
    void *room[OX_RECURRENT_PRODUCTS]; /* the products' workspace */
    ox_quantized_run *quantized;
    const ox_i32 *lengths; /* NULL: all are of full length */
    int direction;
    bool backward;
    int64_t step;
};

/* ---- Plans -------------------------------------------------------------------------------------------------- */

static bool is_native(ox_dtype dtype) {
    return ox_dtype_compute(dtype) == dtype;
}

/* One row reads matrices as they lie. Those that it reads in every step are laid out for it once, if they are
 * constants: sums along their rows need no totals of vectors. */
static ox_status share_rows(ox_call *call, const ox_recurrent *r, int input, ox_recurrent_product *p) {
    ox_gemm *g = &p->gemm;
    const int64_t width = r->loops.width, count = r->shape.directions * p->matrices;
    const ox_tensor from = {call->in[input]->dtype, 3, (const int64_t[]){count, g->k, g->n},
                            (const int64_t[]){(int64_t)p->each, width, g->k * width}, call->in[input]->data};
    if (!(call->weights >> input & 1))
        return OX_OK;
    OX_TRY(ox_packed_once(call->store, call->loops, &from, &p->rows, call->error));
    if (p->rows)
        g->b.row = g->n * width, g->b.col = width;
    return OX_OK;
}

/* A product with matrices of `columns` rows in input `input`, whose elements are transposed so. */
static ox_status plan_product(ox_call *call, const ox_recurrent *r, int input, int64_t columns,
                              ox_recurrent_product *p) {
    const int64_t width = r->loops.width, depth = input == W ? r->shape.input : r->shape.hidden;
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    ox_gemm *g = &p->gemm;
    g->n = columns, g->k = depth;
    if (r->cell->is_quantized)
        return ox_quantized_product(call, r, input == W ? OX_INPUT_PRODUCT : OX_STATE_PRODUCT, p);
    g->a = (ox_gemm_matrix){dtype, NULL, depth * width, width};
    g->b = (ox_gemm_matrix){dtype, NULL, width, depth * width};
    p->each = (size_t)(columns * depth * width);
    const int64_t dims[] = {r->shape.directions, p->matrices},
                  strides[] = {p->matrices * columns * depth * width, columns * depth * width};
    /* Matrices of 16 bits are widened in every run. */
    if (is_native(call->in[0]->dtype) && g->m > 1)
        OX_TRY(ox_gemm_weights(call, input, 2, dims, strides, g, &p->each));
    if (!OX_SMALL && is_native(call->in[0]->dtype) && g->m == 1 && r->shape.sequence > 1)
        OX_TRY(share_rows(call, r, input, p));
    if (!OX_SMALL && g->n > 1 && !ox_call_given(call, LENGTHS) && ox_gemm_can_add(call->loops, g)) {
        g->end = NULL;
        g->c_row = (input == W ? 1 : p->matrices) * columns * width;
    }
    return ox_gemm_prepare(call, g, p->count, &p->plan);
}

static void finish_inputs(const ox_gemm *g, const ox_gemm_block *block);
static void finish_states(const ox_gemm *g, const ox_gemm_block *block);

static ox_status plan_products(ox_call *call, ox_recurrent *r) {
    const ox_recurrent_shape *s = &r->shape;
    const int split = r->cell->is_split ? r->cell->gates : 1;
    ox_recurrent_product *p = r->products;
    p[OX_INPUT_PRODUCT] =
        (ox_recurrent_product){.gemm = {.m = s->sequence * s->batch, .end = finish_inputs}, .count = 1, .matrices = 1};
    p[OX_STATE_PRODUCT] = (ox_recurrent_product){
        .gemm = {.m = s->batch, .end = finish_states}, .count = split > 1 ? split - 1 : 1, .matrices = split};
    p[OX_LAST_PRODUCT] = (ox_recurrent_product){
        .gemm = {.m = s->batch, .end = finish_states}, .count = 1, .first = split - 1, .matrices = split};
    const int64_t columns = r->cell->gates * s->hidden;
    OX_TRY(plan_product(call, r, W, columns, &p[OX_INPUT_PRODUCT]));
    OX_TRY(plan_product(call, r, R, columns / split, &p[OX_STATE_PRODUCT]));
    return split > 1 ? plan_product(call, r, R, columns / split, &p[OX_LAST_PRODUCT]) : OX_OK;
}

/* Elements in the workspace, or -1 if they are too many. */
static int64_t elements(int64_t a, int64_t b, int64_t c) {
    return ox_count(3, (const int64_t[]){a, b, c});
}

static ox_status plan_memory(ox_call *call, const ox_recurrent *r) {
    const ox_recurrent_shape *s = &r->shape;
    const size_t width = (size_t)r->loops.width;
    const int64_t gates = r->cell->gates * s->hidden;
    for (int i = 0; i < call->nin; i++)
        if (i != LENGTHS && call->in[i])
            OX_TRY(ox_dense_plan(call, call->in[i]));
    OX_TRY(ox_workspace_add(call, elements(s->sequence, s->batch, gates), width));
    OX_TRY(ox_workspace_add(call, elements(1, s->batch, gates), width));
    OX_TRY(ox_workspace_add(call, gates + s->hidden, width));
    for (int i = 0; i < OX_RECURRENT_STATES; i++)
        OX_TRY(ox_workspace_add(call, elements(1, s->batch, s->hidden), width));
    return r->cell->is_quantized ? ox_quantized_plan(call, r) : OX_OK;
}

ox_status ox_recurrent_prepare(ox_call *call, const ox_cell *cell) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    ox_recurrent *r = ox_call_state(call, sizeof *r);
    if (!r)
        return OX_ERROR_MEMORY;
    r->cell = cell;
    r->linear_before_reset = ox_call_int(call, "linear_before_reset", 0) != 0;
    r->input_forget = ox_call_int(call, "input_forget", 0) != 0;
    OX_TRY(ox_recurrent_shape_of(call, cell, &r->shape));
    OX_TRY(ox_recurrent_functions(call, cell, r->shape.directions, dtype, r->functions));
    OX_TRY(ox_recurrent_loops(call, dtype, &r->loops));
    if (r->shape.batch == 0 || r->shape.hidden == 0)
        return OX_OK;
    OX_TRY(plan_memory(call, r));
    return plan_products(call, r);
}

/* ---- Products ----------------------------------------------------------------------------------------------- */

static int64_t length_of(const ox_recurrent_run *run, int64_t row) {
    return run->lengths ? run->lengths[row] : run->r->shape.sequence;
}

/* The time that a row of the batch is at; of rows that have ended, any. */
static int64_t time_of(const ox_recurrent_run *run, int64_t row) {
    const int64_t length = length_of(run, row);
    if (run->step >= length)
        return 0;
    return run->backward ? length - 1 - run->step : run->step;
}

/* What X gives to the gates of a row, in this step. */
static char *inputs_of(const ox_recurrent_run *run, int64_t row) {
    const ox_recurrent_shape *s = &run->r->shape;
    const int64_t time = time_of(run, row), place = s->by_batch ? row * s->sequence + time : time * s->batch + row;
    return run->inputs + place * run->r->cell->gates * s->hidden * run->r->loops.width;
}

/* Adds n elements to those of a block, to where they stay. */
static void add_row(const ox_recurrent_run *run, int number, const ox_gemm_block *block, int64_t row, char *to,
                    const char *add) {
    const ox_recurrent *r = run->r;
    const int64_t width = r->loops.width, place = block->column * width;
    char *sums = block->data + row * block->data_row;
    if (r->cell->is_quantized)
        ox_quantized_row(run->call, r, number, run->direction, run->quantized, block->row + row, block->column,
                         block->columns, sums, (const ox_f32 *)(const void *)(add + place),
                         (ox_f32 *)(void *)(to + place));
    else
        ox_cell_apply(r->loops.add, block->columns, width, to + place, sums, add + place, width);
}

/* An ox_gemm_end_fn. */
static void finish_inputs(const ox_gemm *g, const ox_gemm_block *block) {
    const ox_recurrent_run *run = g->context;
    const int64_t to_row = g->n * run->r->loops.width;
    for (int64_t i = 0; i < block->rows; i++)
        add_row(run, OX_INPUT_PRODUCT, block, i, run->inputs + (block->row + i) * to_row, run->bias);
}

/* The bytes from a row's first gate to the one that a product begins with. */
static int64_t gate_offset(const ox_recurrent *r, const ox_recurrent_product *p, int64_t i) {
    return (p->first + i) * p->gemm.n * r->loops.width;
}

/* Which product of a batch it is. */
typedef struct batch_place {
    const ox_recurrent_run *run;
    const ox_recurrent_product *p;
    const char *matrices;
} batch_place;

/* Whether a bias is added to a product of states in place of what X gives, for gates that begin at `offset`. */
static bool is_apart(const ox_recurrent *r, int64_t offset) {
    return r->linear_before_reset && offset == gate_offset(r, &r->products[OX_LAST_PRODUCT], 0);
}

/* An ox_gemm_end_fn: `extra` is where the gates of this product begin in a row. */
static void finish_states(const ox_gemm *g, const ox_gemm_block *block) {
    const ox_recurrent_run *run = g->context;
    const ox_recurrent *r = run->r;
    const int64_t gates = r->cell->gates * r->shape.hidden * r->loops.width;
    const int64_t offset = (const char *)g->extra - run->gates;
    const bool apart = is_apart(r, offset);
    for (int64_t i = 0; i < block->rows; i++) {
        const int64_t row = block->row + i;
        add_row(run, OX_STATE_PRODUCT, block, i, run->gates + row * gates + offset,
                apart ? run->bias + gates : inputs_of(run, row) + offset);
    }
}

/* An ox_gemm_place_fn. */
static void put(const void *places, int64_t i, ox_gemm *g) {
    const batch_place *at = places;
    const int64_t number = at->run->direction * at->p->matrices + at->p->first + i;
    const char *matrix = at->matrices + (size_t)number * at->p->each;
    *(g->panels ? &g->panels : &g->b.data) = matrix;
    g->extra = at->run->gates + gate_offset(at->run->r, at->p, i);
}

/* What is added to sums, and where they are written. Without lengths all rows of a step are at one time. */
static void place_sums(const ox_recurrent_run *run, int number, ox_gemm *g) {
    const ox_recurrent *r = run->r;
    const int64_t gates = r->cell->gates * r->shape.hidden * r->loops.width,
                  offset = (const char *)g->extra - run->gates;
    const bool is_input = number == OX_INPUT_PRODUCT;
    g->c = is_input ? run->inputs : run->gates + offset;
    g->finish.plus_row = 0; /* a bias is the same for all rows */
    if (is_input || is_apart(r, offset)) {
        g->finish.plus = run->bias + (is_input ? 0 : gates);
        return;
    }
    g->finish.plus = inputs_of(run, 0) + offset;
    g->finish.plus_row = r->shape.by_batch ? r->shape.sequence * gates : gates;
}

/* An ox_gemm_place_fn of a product that has been placed. */
static void stay(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

static void multiply(const ox_recurrent_run *run, int number, const ox_tensor *weights, const char *a) {
    const ox_recurrent_product *p = &run->r->products[number];
    ox_gemm g = p->gemm;
    batch_place at = {run, p, g.panels ? g.panels : p->rows ? p->rows : weights->data};
    g.a.data = a;
    if (run->r->cell->is_quantized) {
        ox_quantized_operand(run->call, &g, (const ox_f32 *)(const void *)a, run->quantized);
        g.a.data = run->quantized->operand;
    }
    g.context = run;
    if (OX_SMALL || g.end) {
        ox_gemm_run(&p->plan, &g, p->count, put, &at, run->room[number]);
        return;
    }
    for (int64_t i = 0; i < p->count; i++) {
        put(&at, i, &g);
        place_sums(run, number, &g);
        ox_gemm_run(&p->plan, &g, 1, stay, NULL, run->room[number]);
    }
}

/* ---- Steps -------------------------------------------------------------------------------------------------- */

/* n elements to an output that somebody asked for. */
static void store(const ox_call *call, int output, int64_t at, int64_t n, const char *from) {
    ox_store_row(call, output < call->nout ? call->out[output] : NULL, at, n, from);
}

/* The element of Y at which a row of a time begins. */
static int64_t place_in_all(const ox_recurrent_run *run, int64_t row, int64_t time) {
    const ox_recurrent_shape *s = &run->r->shape;
    const int64_t place = s->by_batch ? (row * s->sequence + time) * s->directions + run->direction
                                      : (time * s->directions + run->direction) * s->batch + row;
    return place * s->hidden;
}

static int64_t place_in_state(const ox_recurrent_run *run, int64_t row) {
    const ox_recurrent_shape *s = &run->r->shape;
    return (s->by_batch ? row * s->directions + run->direction : run->direction * s->batch + row) * s->hidden;
}

static ox_cell_row row_at(const ox_recurrent_run *run, int64_t row) {
    const ox_recurrent *r = run->r;
    const int64_t n = r->shape.hidden, width = r->loops.width, state = row * n * width;
    const ox_tensor *peepholes = r->cell->peepholes < 0 ? NULL : &run->in[r->cell->peepholes];
    return (ox_cell_row){.gates = run->gates + row * r->cell->gates * n * width,
                         .hidden = run->state[0] + state,
                         .cell = run->state[1] + state,
                         .inputs = inputs_of(run, row) + (r->cell->gates - 1) * n * width,
                         .peepholes = peepholes && peepholes->data
                                          ? (const char *)peepholes->data + run->direction * 3 * n * width
                                          : NULL,
                         .n = n};
}

typedef struct cells_job {
    const ox_recurrent_run *run;
    bool first;
} cells_job;

static void cells_part(void *context, int part, int parts) {
    const cells_job *job = context;
    const ox_recurrent_run *run = job->run;
    const ox_recurrent *r = run->r;
    int64_t row, end;
    ox_pool_range(r->shape.batch, part, parts, &row, &end);
    for (; row < end; row++) {
        if (run->step >= length_of(run, row))
            continue;
        const ox_cell_row cell = row_at(run, row);
        (job->first ? r->cell->first : r->cell->last)(r, r->functions[run->direction], &cell);
        if (!job->first)
            store(run->call, 0, place_in_all(run, row, time_of(run, row)), cell.n, cell.hidden);
    }
}

/* Passes over the gates of all rows. An element of a gate takes about as long as moving this many bytes. */
static void pass(const ox_recurrent_run *run, bool first) {
    const double work = 16;
    const ox_recurrent *r = run->r;
    cells_job job = {run, first};
    ox_pool_run_pieces(run->call->pool, work * (double)r->shape.batch * (double)(r->cell->gates * r->shape.hidden),
                       cells_part, &job);
}

static void take_step(const ox_recurrent_run *run) {
    multiply(run, OX_STATE_PRODUCT, &run->in[R], run->state[0]);
    if (run->r->cell->is_split) {
        pass(run, true);
        multiply(run, OX_LAST_PRODUCT, &run->in[R], run->state[1]);
    }
    pass(run, false);
}

/* ---- Directions --------------------------------------------------------------------------------------------- */

/* Biases of W and R together; GRU's of the hidden gate stay apart where the reset gate comes between. */
static void set_bias(const ox_recurrent_run *run) {
    const ox_recurrent *r = run->r;
    const int64_t n = r->shape.hidden, width = r->loops.width, gates = r->cell->gates * n;
    const int64_t together = r->linear_before_reset ? gates - n : gates;
    memset(run->bias, 0, (size_t)((gates + n) * width));
    if (!run->in[B].data)
        return;
    const char *w = (const char *)run->in[B].data + run->direction * 2 * gates * width, *of_r = w + gates * width;
    memcpy(run->bias, w, (size_t)(gates * width));
    ox_cell_apply(r->loops.add, together, width, run->bias, w, of_r, width);
    memcpy(run->bias + gates * width, of_r + (gates - n) * width, (size_t)(n * width));
}

static void set_states(const ox_recurrent_run *run) {
    const ox_recurrent *r = run->r;
    const size_t size = (size_t)(r->shape.hidden * r->loops.width);
    for (int i = 0; i < OX_RECURRENT_STATES; i++)
        for (int64_t row = 0; row < r->shape.batch; row++) {
            const char *from = i < r->cell->states ? run->in[r->cell->initial + i].data : NULL;
            char *to = run->state[i] + (size_t)row * size;
            if (from)
                memcpy(to, from + place_in_state(run, row) * r->loops.width, size);
            else
                memset(to, 0, size);
        }
}

static void run_direction(ox_recurrent_run *run, int direction) {
    const ox_recurrent *r = run->r;
    run->direction = direction;
    run->backward = direction ? true : r->shape.backward;
    run->step = 0;
    set_bias(run);
    set_states(run);
    if (r->shape.sequence > 0)
        multiply(run, OX_INPUT_PRODUCT, &run->in[W], run->in[X].data);
    for (; run->step < r->shape.sequence && !ox_pool_poll(run->call->pool); run->step++)
        take_step(run);
    for (int64_t row = 0; row < r->shape.batch; row++)
        for (int i = 0; i < r->cell->states; i++)
            store(run->call, 1 + i, place_in_state(run, row), r->shape.hidden,
                  run->state[i] + row * r->shape.hidden * r->loops.width);
}

static ox_status check_lengths(ox_call *call, ox_recurrent_run *run) {
    const ox_recurrent_shape *s = &run->r->shape;
    if (!ox_call_given(call, LENGTHS))
        return OX_OK;
    run->lengths = call->in[LENGTHS]->data;
    for (int64_t i = 0; i < s->batch; i++)
        if (run->lengths[i] < 0 || run->lengths[i] > s->sequence)
            return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of %s is %lld, but sequences have 0 to %lld steps",
                                (long long)i, OX_INPUT(call, LENGTHS), (long long)run->lengths[i],
                                (long long)s->sequence);
    if (call->nout > 0 && call->out[0])
        memset(call->out[0]->data, 0, (size_t)ox_tensor_count(call->out[0]) * ox_dtype_size(call->out[0]->dtype));
    return OX_OK;
}

static void take_memory(ox_call *call, ox_recurrent_run *run) {
    const ox_recurrent *r = run->r;
    const ox_recurrent_shape *s = &r->shape;
    const size_t width = (size_t)r->loops.width;
    const int64_t gates = r->cell->gates * s->hidden;
    size_t used = 0;
    for (int i = 0; i < call->nin; i++)
        if (i != LENGTHS && call->in[i])
            run->in[i] = ox_dense_in(call, &used, call->in[i]);
    run->inputs = ox_workspace_take(call, &used, elements(s->sequence, s->batch, gates), width);
    run->gates = ox_workspace_take(call, &used, elements(1, s->batch, gates), width);
    run->bias = ox_workspace_take(call, &used, gates + s->hidden, width);
    for (int i = 0; i < OX_RECURRENT_STATES; i++)
        run->state[i] = ox_workspace_take(call, &used, elements(1, s->batch, s->hidden), width);
    if (r->cell->is_quantized)
        ox_quantized_take(call, r, &used, run->quantized);
    for (int i = 0; i < (r->cell->is_split ? OX_RECURRENT_PRODUCTS : OX_LAST_PRODUCT); i++)
        run->room[i] = ox_gemm_take(call, &used, &r->products[i].plan);
}

ox_status ox_run_recurrent(ox_call *call) {
    ox_quantized_run quantized;
    ox_recurrent_run run = {.call = call, .r = call->state, .quantized = &quantized};
    const ox_recurrent_shape *s = &run.r->shape;
    if (s->batch == 0 || s->hidden == 0)
        return OX_OK;
    OX_TRY(check_lengths(call, &run));
    take_memory(call, &run);
    for (int d = 0; d < s->directions; d++)
        run_direction(&run, d);
    return OX_OK;
}
