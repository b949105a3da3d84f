/* recurrent.c: RNN, GRU and LSTM. One product before the steps computes what the inputs give to the gates, for all
 * steps. Each step then multiplies the hidden states by their weights, and applies the cell (cells.c), which adds both.
 * What lies behind the longest sequence is not computed. */
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
    char *bias;                        /* of W and R; GRU's of R's last gate follows */
    char *state[OX_RECURRENT_STATES];  /* batch x hidden; GRU: the second is the operand of the last product */
    void *room[OX_RECURRENT_PRODUCTS]; /* the products' workspace */
    ox_quantized_run *quantized;
    const int64_t *lengths; /* NULL: all are of full length */
    int64_t steps;          /* of the longest sequence */
    int direction;
    bool backward;
    int64_t step;
};

/* ---- Plans -------------------------------------------------------------------------------------------------- */

static bool is_native(ox_dtype dtype) {
    return ox_dtype_compute(dtype) == dtype;
}

/* An address inside a tensor; one without elements, or whose data comes later, may have none. */
static const char *within(const void *data, size_t bytes) {
    return data && bytes ? (const char *)data + bytes : data;
}

static void scale_sums(const ox_gemm *g, const ox_gemm_block *block);

/* A product with `gates` gates of the matrices in input `input`, which are transposed. */
static ox_status plan_product(ox_call *call, const ox_recurrent *r, int input, int64_t gates, ox_recurrent_product *p) {
    const int64_t width = r->loops.width, depth = input == W ? r->shape.input : r->shape.hidden;
    const int64_t row = depth * width, all = r->cell->gates * r->shape.hidden * row, directions = r->shape.directions;
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    ox_gemm *g = &p->gemm;
    g->n = gates * r->shape.hidden, g->k = depth;
    g->c_row = r->cell->gates * r->shape.hidden * width;
    if (r->cell->is_quantized) {
        g->after.end = scale_sums;
        return ox_quantized_product(call, r, input == W ? OX_INPUT_PRODUCT : OX_STATE_PRODUCT, p);
    }
    p->offset = (size_t)(p->first * r->shape.hidden * row);
    p->each = (size_t)all;
    g->a = (ox_gemm_matrix){dtype, NULL, row, width};
    g->b = (ox_gemm_matrix){dtype, within(call->in[input]->data, p->offset), width, row};
    /* Matrices of 16 bits are widened in every run. */
    if (is_native(call->in[0]->dtype))
        OX_TRY(ox_gemm_find_weights(call, input, 1, &directions, &all, g, &p->each));
    return ox_gemm_prepare(call, g, 1, &p->plan);
}

static ox_status plan_products(ox_call *call, ox_recurrent *r) {
    const ox_recurrent_shape *s = &r->shape;
    const int gates = r->cell->gates, together = r->first ? gates - 1 : gates;
    ox_recurrent_product *p = r->products;
    p[OX_INPUT_PRODUCT] = (ox_recurrent_product){.gemm = {.m = s->sequence * s->batch}};
    p[OX_STATE_PRODUCT] = (ox_recurrent_product){.gemm = {.m = s->batch}};
    p[OX_LAST_PRODUCT] = (ox_recurrent_product){.gemm = {.m = s->batch}, .first = together};
    OX_TRY(plan_product(call, r, W, gates, &p[OX_INPUT_PRODUCT]));
    OX_TRY(plan_product(call, r, R, together, &p[OX_STATE_PRODUCT]));
    return r->first ? plan_product(call, r, R, gates - together, &p[OX_LAST_PRODUCT]) : OX_OK;
}

/* Elements in the workspace, or -1 if they are too many. */
static int64_t elements(int64_t a, int64_t b, int64_t c) {
    return ox_count(3, (const int64_t[]){a, b, c});
}

static ox_status plan_memory(ox_call *call, const ox_recurrent *r) {
    const ox_recurrent_shape *s = &r->shape;
    const size_t width = (size_t)r->loops.width;
    const int64_t gates = r->cell->gates * s->hidden;
    OX_TRY(ox_list_plan(call, LENGTHS));
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

static void choose_cell(ox_call *call, ox_recurrent *r) {
    const ox_cell *cell = r->cell;
    const bool usual = cell->usual_last && !ox_call_is_plain(call) && ox_recurrent_is_usual(call, r);
    if (cell->has_reset && !r->linear_before_reset)
        r->first = usual ? cell->usual_first : cell->first;
    r->last = usual ? cell->usual_last : cell->last;
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
    choose_cell(call, r);
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

/* An ox_gemm_end_fn of quantized products. */
static void scale_sums(const ox_gemm *g, const ox_gemm_block *block) {
    const ox_recurrent_run *run = g->context;
    const int number = *(const int *)g->extra;
    for (int64_t i = 0; i < block->rows; i++)
        ox_quantized_row(run->call, run->r, number, run->direction, run->quantized, block->row + i, block->column,
                         block->columns, block->data + i * block->data_row,
                         (ox_f32 *)(void *)ox_gemm_out(g, block, i, run->r->loops.width));
}

/* An ox_gemm_place_fn of a product that has been placed. */
static void stay(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

/* The product of `rows` rows with matrices of this direction, to the gates that it gives of rows of all gates. */
static void multiply(const ox_recurrent_run *run, int number, const void *weights, int64_t rows, const char *a,
                     char *to) {
    const ox_recurrent *r = run->r;
    const ox_recurrent_product *p = &r->products[number];
    const size_t place = (size_t)run->direction * p->each;
    ox_gemm g = p->gemm;
    g.m = rows;
    g.a.data = a;
    if (g.panels)
        g.panels = (const char *)g.panels + place;
    else
        g.b.data = within(weights, p->offset + place);
    g.c = to + p->first * r->shape.hidden * r->loops.width;
    g.context = run;
    g.extra = &number;
    if (r->cell->is_quantized) {
        ox_quantized_operand(run->call, &g, (const ox_f32 *)(const void *)a, run->quantized);
        g.a.data = run->quantized->operand;
    }
    ox_gemm_run(&p->plan, &g, 1, stay, NULL, run->room[number]);
}

/* What X gives to the gates, in the steps of the longest sequence. */
static void multiply_inputs(const ox_recurrent_run *run) {
    const ox_recurrent_shape *s = &run->r->shape;
    const bool apart = s->by_batch && run->steps < s->sequence;
    const int64_t pieces = apart ? s->batch : 1, rows = apart ? run->steps : run->steps * s->batch,
                  from = s->sequence * s->input * run->r->loops.width,
                  to = s->sequence * run->r->cell->gates * s->hidden * run->r->loops.width;
    for (int64_t i = 0; i < pieces; i++)
        multiply(run, OX_INPUT_PRODUCT, run->in[W].data, rows, within(run->in[X].data, (size_t)(i * from)),
                 run->inputs + i * to);
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
                         .inputs = inputs_of(run, row),
                         .bias = run->bias,
                         .hidden = run->state[0] + state,
                         .cell = run->state[1] + state,
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
        (job->first ? r->first : r->last)(r, r->functions[run->direction], &cell);
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
    const int64_t rows = run->r->shape.batch;
    multiply(run, OX_STATE_PRODUCT, run->in[R].data, rows, run->state[0], run->gates);
    if (run->r->first) {
        pass(run, true);
        multiply(run, OX_LAST_PRODUCT, run->in[R].data, rows, run->state[1], run->gates);
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
    multiply_inputs(run);
    for (; run->step < run->steps && !ox_pool_poll(run->call->pool); run->step++)
        take_step(run);
    for (int64_t row = 0; row < r->shape.batch; row++)
        for (int i = 0; i < r->cell->states; i++)
            store(run->call, 1 + i, place_in_state(run, row), r->shape.hidden,
                  run->state[i] + row * r->shape.hidden * r->loops.width);
}

static ox_status read_lengths(ox_call *call, size_t *used, ox_recurrent_run *run) {
    const ox_recurrent_shape *s = &run->r->shape;
    run->steps = s->sequence;
    run->lengths = ox_list_take(call, used, LENGTHS);
    if (!run->lengths)
        return OX_OK;
    run->steps = 0;
    for (int64_t i = 0; i < s->batch; i++) {
        if (run->lengths[i] < 0 || run->lengths[i] > s->sequence)
            return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of %s is %lld, but sequences have 0 to %lld steps",
                                (long long)i, OX_INPUT(call, LENGTHS), (long long)run->lengths[i],
                                (long long)s->sequence);
        if (run->lengths[i] > run->steps)
            run->steps = run->lengths[i];
    }
    if (call->nout > 0 && call->out[0])
        memset(call->out[0]->data, 0, (size_t)ox_tensor_count(call->out[0]) * ox_dtype_size(call->out[0]->dtype));
    return OX_OK;
}

static void take_memory(ox_call *call, size_t *used, ox_recurrent_run *run) {
    const ox_recurrent *r = run->r;
    const ox_recurrent_shape *s = &r->shape;
    const size_t width = (size_t)r->loops.width;
    const int64_t gates = r->cell->gates * s->hidden;
    for (int i = 0; i < call->nin; i++)
        if (i != LENGTHS && call->in[i])
            run->in[i] = ox_dense_in(call, used, call->in[i]);
    run->inputs = ox_workspace_take(call, used, elements(s->sequence, s->batch, gates), width);
    run->gates = ox_workspace_take(call, used, elements(1, s->batch, gates), width);
    run->bias = ox_workspace_take(call, used, gates + s->hidden, width);
    for (int i = 0; i < OX_RECURRENT_STATES; i++)
        run->state[i] = ox_workspace_take(call, used, elements(1, s->batch, s->hidden), width);
    if (r->cell->is_quantized)
        ox_quantized_take(call, r, used, run->quantized);
    for (int i = 0; i < (r->first ? OX_RECURRENT_PRODUCTS : OX_LAST_PRODUCT); i++)
        run->room[i] = ox_gemm_take(call, used, &r->products[i].plan);
}

ox_status ox_run_recurrent(ox_call *call) {
    ox_quantized_run quantized;
    ox_recurrent_run run = {.call = call, .r = call->state, .quantized = &quantized};
    const ox_recurrent_shape *s = &run.r->shape;
    if (s->batch == 0 || s->hidden == 0)
        return OX_OK;
    size_t used = 0;
    OX_TRY(read_lengths(call, &used, &run));
    take_memory(call, &used, &run);
    for (int d = 0; d < s->directions; d++)
        run_direction(&run, d);
    return OX_OK;
}
