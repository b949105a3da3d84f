/* pass_plan.c: laying out lane programs: what changes how often, how long tiles are, and where registers lie. */
#include "loops/simd/intrinsics.h"
#include "pass_program.h"

#include <string.h>

/* A tile that one instruction leaves to the next takes at most MOST_BYTES of each operand or result that is as large as
 * the output: memory is faster when reads and writes alternate. A tile of rows takes at most MOST_OF_ROWS bytes of
 * registers, but has a row at least. */
enum {
    MOST_BYTES = 2048,
    MOST_OF_ROWS = 16384,
    NEAR_BYTES = 16 << 10 /* what stays in the first-level cache beside the registers */
};

/* ---- Operands ---------------------------------------------------------------------------------------------- */

/* How often an operand changes within a tile. */
static pass_level level_of(const pass_draft *pass, const int64_t *steps) {
    pass_level level = PASS_ONCE;
    for (int d = pass->block; d >= 0; d--)
        if (steps[d])
            level = d < pass->row_dims ? PASS_EACH : PASS_ROW;
    return level == PASS_ROW && !pass->row_dims ? PASS_EACH : level;
}

static bool is_packed(const pass_draft *pass, const pass_operand *operand) {
    int64_t step = operand->width;
    for (int d = operand->first; d <= pass->block; step *= pass->space.dim[d++])
        if (operand->steps[d] != step && pass->space.dim[d] != 1)
            return false;
    return true;
}

/* Whether loops called row by row can read the one row that is there. */
static bool is_same_row(const ox_pass_builder *b, const pass_operand *operand) {
    const pass_draft *pass = &b->pass;
    int64_t step = operand->width;
    for (int d = 0; d < pass->row_dims; step *= pass->space.dim[d++])
        if (operand->steps[d] != step)
            return false;
    for (int d = pass->row_dims; d <= pass->block; d++)
        if (operand->steps[d])
            return false;
    for (int i = 0; i < pass->ncode; i++)
        if (pass->code[i].takes_rows && pass->code[i].reg[1] == operand->reg)
            return false;
    return pass->row >= b->least_row;
}

static bool plan_operands(ox_pass_builder *b) {
    pass_draft *pass = &b->pass;
    const ox_bcast *space = &pass->space;
    size_t ndim = (size_t)space->ndim;
    int64_t *steps = ox_pile_array(b->scratch, ndim * (size_t)pass->noperands, sizeof *steps);
    if (!steps)
        return false;
    for (int a = 0; a < pass->noperands; a++, steps += ndim) {
        pass_operand *operand = &pass->operands[a];
        for (size_t d = 0; d < ndim; d++)
            steps[d] = space->step[d * (size_t)space->nargs + (size_t)a];
        operand->steps = steps;
        pass_level level = pass->regs[operand->reg].level = level_of(pass, steps);
        operand->first = level == PASS_ROW ? pass->row_dims : 0;
        pass->regs[operand->reg].same_rows = level == PASS_EACH && is_same_row(b, operand);
        operand->gathered = level != PASS_ONCE && !pass->regs[operand->reg].same_rows && !is_packed(pass, operand);
    }
    return true;
}

/* ---- What changes how often --------------------------------------------------------------------------------- */

/* The register laid out for each element, by an instruction that is added before the one that wants it. */
static ox_reg spread(ox_pass_builder *b, int tag, ox_reg from) {
    pass_reg *reg = &b->pass.regs[from];
    if (reg->spread >= 0)
        return reg->spread;
    size_t width = ox_dtype_size(reg->dtype);
    pass_rows *rows = ox_pile_get(b->pile, sizeof *rows);
    ox_reg to = rows ? ox_pass_new_reg(b, reg->dtype) : -1;
    pass_instruction *in = to >= 0 ? ox_pass_new_instruction(b) : NULL;
    if (!in)
        return ox_pass_fail(b);
    reg = &b->pass.regs[from];
    reg->spread = to;
    *rows = (pass_rows){.row = b->pass.row, .spread = b->loops->spread(width)};
    *in = (pass_instruction){
        .lane = ox_pass_spread_lane, .attr = rows, .tag = tag, .nargs = 1, .reg = {to, from}, .level = PASS_EACH};
    in->step[0] = (int64_t)width;
    in->step[1] = reg->level == PASS_ROW ? (int64_t)width : 0;
    b->pass.regs[to].level = PASS_EACH;
    return to;
}

static pass_level result_level(const pass_draft *pass, const pass_instruction *in) {
    int store = pass->regs[in->reg[0]].store;
    pass_level level = store >= 0 ? pass->stores[store].level : PASS_ONCE;
    if (in->takes_rows)
        return in->folds ? PASS_ROW : PASS_EACH;
    for (int k = 1; k <= in->nargs; k++)
        if (pass->regs[in->reg[k]].level > level)
            level = pass->regs[in->reg[k]].level;
    return level;
}

/* Whether the loop goes over rows by itself. */
static bool goes_over_rows(const pass_draft *pass, const pass_instruction *in) {
    if (in->chain || !in->row_lane)
        return in->chain;
    const pass_reg *first = &pass->regs[in->reg[1]], *second = &pass->regs[in->reg[2]];
    const int64_t bytes = pass->row * (int64_t)ox_dtype_size(first->dtype);
    return bytes >= OX_LINE && !first->same_rows && !second->same_rows &&
           ((first->level == PASS_EACH && second->level == PASS_ROW) ||
            (first->level == PASS_ROW && second->level == PASS_EACH));
}

/* Calls for rows that are short would cost more than laying out what belongs to them. */
static bool wants_spread(const ox_pass_builder *b, const pass_instruction *in, int k) {
    pass_level level = b->pass.regs[in->reg[k]].level;
    if (in->takes_rows)
        return k == 1 && level != PASS_EACH;
    return in->level == PASS_EACH && level == PASS_ROW && !goes_over_rows(&b->pass, in) && b->pass.row < b->least_row;
}

static void set_steps(const pass_draft *pass, pass_instruction *in) {
    for (int k = 0; k <= in->nargs; k++) {
        const pass_reg *reg = &pass->regs[in->reg[k]];
        pass_level level = k ? reg->level : in->level;
        int64_t width = (int64_t)ox_dtype_size(reg->dtype);
        bool repeats = level < in->level;
        in->by_row |= (repeats && level == PASS_ROW) || reg->same_rows;
        in->step[k] = repeats ? 0 : width;
        in->next[k] = reg->same_rows ? 0 : level == PASS_EACH ? width * pass->row : level == PASS_ROW ? width : 0;
    }
}

/* Instead of being called row by row. */
static void take_rows(const pass_draft *pass, pass_instruction *in) {
    in->by_row = false;
    in->over_rows = true;
    if (in->chain) {
        in->chain->chain.row = pass->row;
        in->chain->chain.next = memcpy(in->chain->next, in->next, sizeof in->next);
    } else {
        in->lane = in->row_lane;
        in->tile_lane = NULL;
    }
}

static bool plan_instruction(ox_pass_builder *b, const pass_instruction *written) {
    pass_draft *pass = &b->pass;
    pass_instruction *in = ox_pass_new_instruction(b);
    if (!in)
        return false;
    *in = *written;
    in->level = result_level(pass, in);
    ox_pass_join(b);
    in = &pass->code[pass->ncode - 1];
    pass->regs[in->reg[0]].level = in->level;
    return !b->failed;
}

/* An instruction as it is to run, behind those that lay out operands for it. */
static bool finish_instruction(ox_pass_builder *b, pass_instruction *planned) {
    const pass_draft *pass = &b->pass;
    for (int k = 1; k <= planned->nargs; k++)
        if (wants_spread(b, planned, k))
            planned->reg[k] = spread(b, planned->tag, planned->reg[k]);
    pass_instruction *in = b->failed ? NULL : ox_pass_new_instruction(b);
    if (!in)
        return false;
    *in = *planned;
    const pass_reg *result = &pass->regs[in->reg[0]];
    in->streamed = in->streams && result->store >= 0 && pass->stores[result->store].streamed && !result->readers;
    set_steps(pass, in);
    if (in->by_row && goes_over_rows(pass, in))
        take_rows(pass, in);
    return true;
}

/* Takes the instructions, which others are to replace: about as many. False if memory ran out. */
static bool take_code(ox_pass_builder *b, pass_instruction **code, int *count) {
    *code = b->pass.code;
    *count = b->code_room = b->pass.ncode;
    b->pass.code = ox_pile_array(b->scratch, (size_t)*count, sizeof **code);
    b->pass.ncode = 0;
    return b->pass.code;
}

/* Levels and steps of all instructions, in their order. */
static bool plan_code(ox_pass_builder *b) {
    pass_instruction *code;
    int count;
    if (!take_code(b, &code, &b->pass.nwritten))
        return false;
    b->pass.written = code;
    for (int i = 0; i < b->pass.nwritten; i++)
        if (!plan_instruction(b, &b->pass.written[i]))
            return false;
    if (!take_code(b, &code, &count))
        return false;
    for (int i = 0; i < count; i++)
        if (!finish_instruction(b, &code[i]))
            return false;
    for (int i = 0; i < b->pass.ncode; i++) {
        const pass_instruction *in = &b->pass.code[i];
        b->pass.regs[in->reg[0]].writer = i;
        for (int k = 1; k <= in->nargs; k++) {
            b->pass.regs[in->reg[k]].last = i;
            if (in->keeps >> k & 1)
                b->pass.regs[in->reg[k]].writer = i;
        }
    }
    return true;
}

/* ---- Tiles -------------------------------------------------------------------------------------------------- */

/* Free tiles, by size and level of their elements. A tile only ever holds elements of one size and one level, so that
 * an instruction may write where it reads. */
enum {
    SIZES = 5, /* 1 ... 16 */
    KINDS = SIZES * (PASS_EACH + 1)
};

typedef struct tile_pool {
    size_t each, row;       /* bytes of all tiles for one element, and for one row */
    ox_reg free_reg[KINDS]; /* a register whose tile is free, ... */
    ox_reg *next;           /* ... and the next one */
} tile_pool;

static int kind_of(const pass_reg *reg) {
    int kind = 0;
    for (size_t size = ox_dtype_size(reg->dtype); size > 1; size /= 2)
        kind++;
    return SIZES * (int)reg->level + kind;
}

static bool needs_tile(const pass_draft *pass, const pass_reg *reg) {
    if (reg->operand >= 0)
        return pass->operands[reg->operand].gathered;
    return reg->writer >= 0 && reg->store < 0;
}

/* The tile's place, to be scaled when the length is known. */
static void new_tile(tile_pool *pool, pass_reg *reg) {
    size_t *end = reg->level == PASS_EACH ? &pool->each : &pool->row;
    reg->tile = *end;
    *end += ox_dtype_size(reg->dtype);
}

/* One that is free, or a new one. */
static void take_tile(const pass_draft *pass, tile_pool *pool, pass_reg *reg) {
    ox_reg *free_reg = &pool->free_reg[kind_of(reg)];
    if (*free_reg < 0) {
        new_tile(pool, reg);
        return;
    }
    reg->tile = pass->regs[*free_reg].tile;
    *free_reg = pool->next[*free_reg];
}

/* Frees the tiles of what instruction i is the last to read: what it keeps itself, or the others. */
static void free_tiles(pass_draft *pass, tile_pool *pool, int i, bool kept) {
    const pass_instruction *in = &pass->code[i];
    for (int k = 1; k <= in->nargs; k++) {
        pass_reg *arg = &pass->regs[in->reg[k]];
        if (arg->last != i || (arg->writer == i) != kept || arg->operand >= 0 || arg->store >= 0 ||
            !needs_tile(pass, arg))
            continue;
        arg->last = -1; /* an operand read twice gives its tile once */
        pool->next[in->reg[k]] = pool->free_reg[kind_of(arg)];
        pool->free_reg[kind_of(arg)] = in->reg[k];
    }
}

/* Assigns tiles in the order of the instructions. Gathered operands keep their tiles, because the next step may reuse
 * the data. A value that a chain keeps shares a tile neither with the chain's operands nor with its result. */
static void assign_tiles(pass_draft *pass, tile_pool *pool) {
    for (int r = 0; r < pass->nregs; r++)
        if (pass->regs[r].operand >= 0 && needs_tile(pass, &pass->regs[r]))
            new_tile(pool, &pass->regs[r]);
    for (int i = 0; i < pass->ncode; i++) {
        const pass_instruction *in = &pass->code[i];
        pass_reg *result = &pass->regs[in->reg[0]];
        for (int k = 1; k <= in->nargs; k++)
            if (in->keeps >> k & 1)
                take_tile(pass, pool, &pass->regs[in->reg[k]]);
        free_tiles(pass, pool, i, false);
        if (needs_tile(pass, result))
            take_tile(pass, pool, result);
        free_tiles(pass, pool, i, true);
    }
}

/* The number of entries of `inner` elements that end at a cache line, if cutting by them costs at most a quarter of
 * `most`: loads and stores of whole vectors, and non-temporal stores, cost far more across lines. */
static size_t entries_of_lines(size_t most, size_t inner) {
    size_t unit = OX_LINE; /* of elements of a byte */
    while (unit > 1 && (unit / 2 * inner % OX_LINE == 0 || most % unit > most / 4))
        unit /= 2;
    return unit;
}

/* Entries of a tile: at most so many, so that all tiles of `length` are about as long. */
static size_t cut_evenly(size_t length, size_t most, size_t inner) {
    const size_t unit = entries_of_lines(most, inner), room = most / unit * unit;
    const size_t tiles = length / room + (length % room != 0);
    if (tiles <= 1)
        return length ? length : 1;
    const size_t share = length / tiles + (length % tiles != 0);
    return (share + unit - 1) / unit * unit;
}

/* Bytes of an element of all operands of which rows are read more than once. */
static size_t read_again(const pass_draft *pass) {
    size_t bytes = 0;
    for (int a = 0; a < pass->noperands; a++) {
        const pass_reg *reg = &pass->regs[pass->operands[a].reg];
        int readers = 0;
        for (int i = 0; i < pass->ncode && reg->level == PASS_EACH && !reg->same_rows; i++)
            for (int k = 1; k <= pass->code[i].nargs; k++)
                readers += pass->code[i].reg[k] == pass->operands[a].reg;
        bytes += readers > 1 ? (size_t)pass->operands[a].width : 0;
    }
    return bytes;
}

/* The instructions that do more than lay out an operand, on each element. */
static int count_loops(const pass_draft *pass) {
    int loops = 0;
    for (int i = 0; i < pass->ncode; i++)
        loops += pass->code[i].level == PASS_EACH && pass->code[i].lane != ox_pass_spread_lane;
    return loops;
}

/* Elements behind a tile that its loops may write. */
static size_t slack_of(const pass_draft *pass) {
    uint32_t keeps = 0;
    for (int i = 0; i < pass->ncode; i++)
        keeps |= pass->code[i].keeps;
    return keeps ? OX_CHAIN_SLACK : 0;
}

/* How long tiles are: all that are alive together fit the first-level cache. */
static void size_tiles(ox_pass_builder *b, const tile_pool *pool) {
    pass_draft *pass = &b->pass;
    /* Elements that are there fit in memory. */
    const size_t length = (size_t)pass->space.dim[pass->block], inner = (size_t)pass->inner;
    const size_t row = (size_t)pass->row;
    /* Even without registers a tile ends somewhere, so that threads have something to share. */
    size_t elements = OX_LONGEST_TILE, kept = b->row_axes ? read_again(pass) : 0;
    const size_t bytes = (pool->each > kept ? pool->each : kept) + pool->row / row;
    if (bytes) {
        elements = (size_t)(b->row_axes ? MOST_OF_ROWS : OX_TILE_BYTES) / bytes / 64 * 64;
        const size_t most = count_loops(pass) > 1 && !b->row_axes ? MOST_BYTES / ox_pass_widest(b) : elements;
        elements = elements < most ? elements : most;
        elements = elements > 64 ? elements : 64;
    }
    const size_t chunk = cut_evenly(length, elements / inner ? elements / inner : 1, inner);
    pass->chunk = (int64_t)chunk;
    size_t tile = ox_aligned(chunk * inner + slack_of(pass)), rows = ox_aligned(chunk * inner / row);
    for (int r = 0; r < pass->nregs; r++) {
        pass_reg *reg = &pass->regs[r];
        reg->tile = reg->level == PASS_EACH ? reg->tile * tile : pool->each * tile + reg->tile * rows;
    }
    pass->tile_bytes = pool->each * tile + pool->row * rows;
    pass->rows = (int64_t)((length + chunk - 1) / chunk);
    pass->tiles = pass->rows;
    for (int d = pass->block + 1; d < pass->space.ndim; d++)
        pass->tiles *= pass->space.dim[d];
}

/* ---- Prefetching ------------------------------------------------------------------------------------------- */

/* Whether an operand has as many elements as the output, at least so many bytes of them. */
static bool is_whole(const ox_pass_builder *b, const pass_operand *operand, size_t bytes) {
    const int64_t count = ox_count(b->rank, b->dims);
    return ox_tensor_count(operand->tensor) == count && count >= (int64_t)bytes / operand->width && !operand->gathered;
}

/* The first operand with as many elements as the output from k on that no earlier one of the instruction is; nargs + 1
 * if there is none. */
static int next_whole(const ox_pass_builder *b, const pass_instruction *in, int k) {
    for (; k <= in->nargs; k++) {
        const int operand = b->pass.regs[in->reg[k]].operand;
        int first = 1;
        while (in->reg[first] != in->reg[k])
            first++;
        if (first == k && operand >= 0 && is_whole(b, &b->pass.operands[operand], 0))
            break;
    }
    return k;
}

/* Loops with non-temporal stores prefetch operands that come from memory. One operation on two operands as large as the
 * output is faster without prefetching. */
static void choose_prefetched(ox_pass_builder *b, pass_instruction *in) {
    const int first = next_whole(b, in, 1);
    memcpy(in->stream_step, in->step, sizeof in->stream_step);
    in->stream_step[0] = -in->step[0];
    if (!in->chain && next_whole(b, in, first + 1) <= in->nargs)
        return;
    for (int k = first; k <= in->nargs; k = next_whole(b, in, k + 1))
        if (is_whole(b, &b->pass.operands[b->pass.regs[in->reg[k]].operand], OX_PREFETCH_BYTES))
            in->stream_step[k] = -in->step[k];
}

/* Chains and loops that go over rows by themselves find whole lines in what goes past the caches. */
static void choose_past(ox_pass_builder *b, pass_instruction *in) {
    choose_prefetched(b, in);
    if (!in->streamed || (!in->chain && !in->over_rows))
        return;
    memcpy(in->step, in->stream_step, sizeof in->step);
    in->streamed = false;
}

/* Whether a loop over rows prefetches an operand: early enough, for it takes most of the time. */
static bool is_prefetched(const pass_draft *pass, const pass_operand *operand) {
    for (int i = 0; i < pass->ncode && pass->row > 1; i++)
        for (int k = 1; k <= pass->code[i].nargs; k++) {
            const int64_t *step = pass->code[i].streamed ? pass->code[i].stream_step : pass->code[i].step;
            if (pass->code[i].reg[k] == operand->reg && step[k] < 0)
                return true;
        }
    return false;
}

/* A pass of many short loops reads memory in bursts, and each would wait for it. If one loop takes most of the time, or
 * there are few loops, the hardware prefetcher is enough, and prefetching is slower. */
static void choose_ahead(ox_pass_builder *b) {
    enum {
        MANY = 3,
        MOST = 16 * OX_LINE
    };
    pass_draft *pass = &b->pass;
    int64_t widest = 0;
    if (pass->ncode < MANY)
        return;
    for (int i = 0; i < pass->ncode; i++)
        if (pass->code[i].slow)
            return;
    for (int a = 0; a < pass->noperands; a++) {
        pass_operand *operand = &pass->operands[a];
        operand->prefetched = is_whole(b, operand, OX_AHEAD_BYTES) && !is_prefetched(pass, operand);
        widest = operand->prefetched && operand->width > widest ? operand->width : widest;
    }
    const int64_t lines = (pass->chunk * pass->inner * widest + OX_LINE - 1) / OX_LINE;
    const int64_t share = (lines + pass->ncode - 1) / pass->ncode * OX_LINE;
    pass->ahead = ox_least(share, MOST);
}

/* ---- Loops for the first-level cache -------------------------------------------------------------------------- */

/* Whether an operand is so small that it stays in the first-level cache. */
static bool is_near(const pass_draft *pass, int operand) {
    const ox_tensor *tensor = pass->operands[operand].tensor;
    return ox_tensor_count(tensor) <= NEAR_BYTES / pass->operands[operand].width && pass->tiles > 1;
}

/* The loops of instructions that find in the first-level cache what they read, and write there. */
static void choose_tile_lanes(pass_draft *pass) {
    for (int i = 0; i < pass->ncode; i++) {
        pass_instruction *in = &pass->code[i];
        bool near = in->tile_lane && needs_tile(pass, &pass->regs[in->reg[0]]);
        for (int k = 1; k <= in->nargs && near; k++) {
            const pass_reg *reg = &pass->regs[in->reg[k]];
            near =
                reg->level != PASS_EACH || needs_tile(pass, reg) || (reg->operand >= 0 && is_near(pass, reg->operand));
        }
        if (near)
            in->lane = in->tile_lane;
    }
}

bool ox_pass_plan(ox_pass_builder *b) {
    pass_draft *pass = &b->pass;
    if (!ox_pass_cut(b))
        return false;
    if (!plan_operands(b))
        return false;
    if (!plan_code(b))
        return false;
    tile_pool pool = {.next = ox_pile_array(b->scratch, (size_t)pass->nregs, sizeof *pool.next)};
    if (!pool.next)
        return false;
    for (int i = 0; i < KINDS; i++)
        pool.free_reg[i] = -1;
    assign_tiles(pass, &pool);
    size_tiles(b, &pool);
    for (int i = 0; i < pass->ncode; i++)
        choose_past(b, &pass->code[i]);
    choose_ahead(b);
    choose_tile_lanes(pass);
    size_t pointers = (size_t)pass->nregs + 2 * (size_t)pass->noperands;
    pass->scratch = pass->tile_bytes + sizeof(char *) * pointers + sizeof(int64_t) * (size_t)pass->noperands;
    return true;
}
