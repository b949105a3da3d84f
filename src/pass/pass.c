/* pass.c: running lane programs. */
#include "asserts.h"
#include "loops/simd/intrinsics.h"
#include "pass_program.h"

#include <string.h>

size_t ox_pass_scratch(const ox_pass *pass) {
    return pass->scratch;
}

uint32_t ox_pass_types(const ox_pass *pass, int tag) {
    uint32_t types = 0;
    for (int i = 0; i < pass->ntypes; i++)
        types |= pass->types[i].tag == tag ? pass->types[i].types : 0;
    return types;
}

/* ---- Gathering an operand into a tile ----------------------------------------------------------------------- */

/* Lays out dimensions [first, d] of an operand from src on, `count` entries of the last; returns the end in dst. */
static char *gather(const ox_pass *pass, int a, int d, int64_t count, const char *src, char *dst) {
    const pass_operand *operand = &pass->operands[a];
    int64_t step = operand->steps[d];
    if (d == operand->first) {
        operand->move(count, dst, operand->width, src, step);
        return dst + count * operand->width;
    }
    if (d == operand->first + 1 && step != 0) {
        int64_t inner = pass->dim[operand->first];
        operand->spread(inner, count, dst, inner * (int64_t)operand->width, src, operand->steps[operand->first], step);
        return dst + count * inner * operand->width;
    }
    char *end = gather(pass, a, d - 1, pass->dim[d - 1], src, dst);
    size_t block = (size_t)(end - dst);
    for (int64_t i = 1; i < count; i++, end += block)
        if (step == 0)
            memcpy(end, dst, block);
        else
            gather(pass, a, d - 1, pass->dim[d - 1], src + i * step, end);
    return end;
}

/* ---- Running ------------------------------------------------------------------------------------------------ */

/* What one run changes; it lies in the caller's scratch memory, so that threads can share a pass. */
typedef struct pass_state {
    char **regs;         /* where each register is for this tile */
    const char **cursor; /* where each operand is in the outer dimensions */
    const char **laid;   /* what an operand's tile was gathered from, and ... */
    int64_t *laid_count; /* ... how many elements */
    int block;           /* tiles end in this dimension, the pass's or one further in, ... */
    int64_t inner;       /* ... of whose entries each has so many elements */
    int fault, tag;      /* the first fault */
} pass_state;

static pass_state state_in(const ox_pass *pass, char *scratch) {
    OX_ASSERT(ox_is_aligned(scratch) || !pass->scratch);
    pass_state s = {.block = pass->block, .inner = pass->inner};
    char *at = scratch + pass->tile_bytes;
    size_t operands = (size_t)pass->noperands;
    s.laid_count = (int64_t *)(void *)at;
    s.regs = (char **)(void *)(at + operands * sizeof(int64_t));
    s.cursor = (const char **)(s.regs + pass->nregs);
    s.laid = s.cursor + operands;
    for (int r = 0; r < pass->nregs; r++)
        s.regs[r] = pass->regs[r].constant ? (char *)(uintptr_t)pass->regs[r].constant : scratch + pass->regs[r].tile;
    for (size_t a = 0; a < operands; a++) {
        s.cursor[a] = pass->operands[a].tensor->data;
        s.laid[a] = NULL;
    }
    return s;
}

/* Operand a for the entries [first, first + count) of the block dimension. */
static void fetch(const ox_pass *pass, pass_state *s, int a, int64_t first, int64_t count) {
    const pass_operand *operand = &pass->operands[a];
    const int64_t elements = count * s->inner;
    const char *at = s->cursor[a] + first * operand->steps[s->block];
    if (!operand->gathered) {
        s->regs[operand->reg] = (char *)(uintptr_t)at;
        return;
    }
    OX_ASSERT(elements > 0 && elements <= ox_pass_tile_size(pass));
    if (s->laid[a] == at && s->laid_count[a] >= elements)
        return;
    gather(pass, a, s->block, count, at, s->regs[operand->reg]);
    s->laid[a] = at;
    s->laid_count[a] = elements;
}

static char *place_of(const ox_pass *pass, const pass_store *store, int64_t done) {
    return (char *)store->out->data + (store->level == PASS_ROW ? done / pass->row : done) * store->width;
}

/* ---- Prefetching the next tile ------------------------------------------------------------------------------ */

/* Prefetches, before instruction i of a tile of n elements, its share of the next tile of packed operands. */
static void prefetch(const ox_pass *pass, const pass_state *s, int i, int64_t n) {
    for (int a = 0; a < pass->noperands && pass->ahead; a++) {
        const pass_operand *operand = &pass->operands[a];
        const int64_t bytes = operand->prefetched ? n * operand->width : 0, from = i * pass->ahead;
        const int64_t end = ox_least(from + pass->ahead, bytes);
        for (int64_t at = from; at < end; at += OX_LINE) {
            const uintptr_t next = (uintptr_t)s->regs[operand->reg] + (uintptr_t)(bytes + at);
            ox_prefetch(next);
            ox_prefetch_far(next + OX_LATER);
        }
    }
}

/* ---- Instructions ------------------------------------------------------------------------------------------- */

/* Calls the loop on n elements whose result is stored non-temporally: only whole cache lines of it; elements before the
 * first and after the last whole line are stored normally. */
static int stream_stretch(const pass_loop *in, char *const from[OX_CHAIN_ARGS], int64_t n) {
    const int64_t width = in->step[0], offset = (int64_t)((uintptr_t)from[0] % OX_LINE);
    const int64_t room = (OX_LINE - offset) % OX_LINE / width, head = ox_least(room, n);
    const int64_t whole = offset % width ? 0 : (n - head) & -(int64_t)OX_LINE;
    if (whole == n)
        return in->lane(n, from, in->stream_step, in->attr);
    OX_ASSERT(width > 0 && head >= 0 && whole >= 0 && head + whole <= n);
    OX_ASSERT(!whole || ((uintptr_t)from[0] + (uintptr_t)(head * width)) % OX_LINE == 0);
    const int64_t counts[] = {head, whole, n - head - whole};
    char *arg[OX_CHAIN_ARGS];
    int fault = 0;
    memcpy(arg, from, ((size_t)in->nargs + 1) * sizeof *arg);
    for (int i = 0; i < 3; i++) {
        fault |= counts[i] ? in->lane(counts[i], arg, i == 1 ? in->stream_step : in->step, in->attr) : 0;
        for (int k = 0; k <= in->nargs; k++)
            arg[k] += in->step[k] * counts[i];
    }
    return fault;
}

/* Calls the loop on n elements. */
static int run_stretch(const pass_loop *in, char *const arg[OX_CHAIN_ARGS], int64_t n) {
    return in->stream_step ? stream_stretch(in, arg, n) : in->lane(n, arg, in->step, in->attr);
}

/* One instruction on a tile of n elements. */
static int run_instruction(const ox_pass *pass, const pass_loop *in, char *arg[OX_CHAIN_ARGS], int64_t n,
                           const int64_t count[]) {
    int fault = 0;
    if (!in->next)
        return run_stretch(in, arg, count[in->level]);
    OX_ASSERT(n % pass->row == 0);
    for (int64_t i = 0; i < n; i += pass->row) {
        fault |= run_stretch(in, arg, pass->row);
        for (int k = 0; k <= in->nargs; k++)
            arg[k] += in->next[k];
    }
    return fault;
}

static void run_tile(const ox_pass *pass, pass_state *s, int64_t first, int64_t count, int64_t done) {
    for (int a = 0; a < pass->noperands; a++)
        fetch(pass, s, a, first, count);
    for (int i = 0; i < pass->nstores; i++)
        s->regs[pass->stores[i].reg] = place_of(pass, &pass->stores[i], done);
    int64_t n = count * s->inner;
    OX_ASSERT(count > 0 && n <= ox_pass_tile_size(pass) && n % pass->row == 0);
    OX_ASSERT(first >= 0 && first + count <= pass->dim[s->block]);
    const int64_t counts[] = {[PASS_ONCE] = 1, [PASS_ROW] = n / pass->row, [PASS_EACH] = n};
    for (int i = 0; i < pass->ncode; i++) {
        const pass_loop *in = &pass->code[i];
        char *arg[OX_CHAIN_ARGS];
        prefetch(pass, s, i, n);
        arg[0] = s->regs[in->reg[0]];
        for (int k = 1; k <= in->nargs; k++)
            arg[k] = s->regs[in->reg[k]];
        int fault = run_instruction(pass, in, arg, n, counts);
        if (fault && !s->fault) {
            s->fault = fault;
            s->tag = in->tag;
        }
    }
}

/* Moves the cursors to the next place in the dimensions outside the block. */
static void advance(const ox_pass *pass, pass_state *s, int64_t *index) {
    for (int d = pass->block + 1; d < pass->ndim; d++) {
        bool wraps = ++index[d] == pass->dim[d];
        int64_t moves = wraps ? 1 - pass->dim[d] : 1;
        for (int a = 0; a < pass->noperands; a++)
            s->cursor[a] += moves * pass->operands[a].steps[d];
        if (!wraps)
            return;
        index[d] = 0;
    }
}

/* Moves the cursors from the start to the outer place with number `outer`. */
static void seek(const ox_pass *pass, pass_state *s, int64_t *index, int64_t outer) {
    for (int d = s->block + 1; d < pass->ndim; d++) {
        index[d] = outer % pass->dim[d];
        outer /= pass->dim[d];
        for (int a = 0; a < pass->noperands; a++)
            s->cursor[a] += index[d] * pass->operands[a].steps[d];
    }
}

int64_t ox_pass_tiles(const ox_pass *pass) {
    return pass->tiles;
}

const ox_pass_affine *ox_pass_get_affine(const ox_pass *pass) {
    return pass->affine;
}

int64_t ox_pass_tile_size(const ox_pass *pass) {
    return pass->chunk * pass->inner;
}

int ox_pass_run(const ox_pass *pass, void *scratch, int64_t first, int64_t end, int *tag) {
    int64_t index[OX_MAX_RANK + 1] = {0}, length = pass->dim[pass->block];
    OX_ASSERT(first >= 0 && first <= end && end <= pass->tiles);
    pass_state s = state_in(pass, scratch);
    int64_t outer = first ? first / pass->rows : 0, row = first - outer * pass->rows;
    if (first)
        seek(pass, &s, index, outer);
    for (int64_t tile = first; tile < end; tile++) {
        int64_t from = row * pass->chunk;
        int64_t count = ox_least(length - from, pass->chunk);
        run_tile(pass, &s, from, count, (outer * length + from) * pass->inner);
        if (++row == pass->rows) {
            row = 0;
            outer++;
            advance(pass, &s, index);
        }
    }
    ox_stream_end();
    *tag = s.tag;
    return s.fault;
}

/* ---- Running on what is given ------------------------------------------------------------------------------- */

/* Chooses the end of the tile that starts at element `at`, at most `left` elements later: it consists of whole entries
 * of the outermost dimension for which that is possible. Returns the number of entries, *from the first one. */
static int64_t cut_tile(const ox_pass *pass, pass_state *s, int64_t at, int64_t left, int64_t *from) {
    s->block = pass->block, s->inner = pass->inner;
    while (at % s->inner || left < s->inner)
        s->inner /= pass->dim[--s->block];
    OX_ASSERT(s->block >= 0 && s->inner > 0 && at % s->inner == 0 && left >= s->inner);
    int64_t length = pass->dim[s->block], count = ox_pass_tile_size(pass) / s->inner;
    *from = at / s->inner % length;
    return ox_least(ox_least(length - *from, count), left / s->inner);
}

/* Where a tile lies in the dimensions outside the block: its entries there, and those of the block. */
typedef struct given_place {
    int64_t index[OX_MAX_RANK + 1], from, entries;
} given_place;

/* Finds the tile that starts at element `at`, at most `left` elements on. */
static void find_tile(const ox_pass *pass, pass_state *s, int64_t at, int64_t left, given_place *place) {
    place->entries = cut_tile(pass, s, at, left, &place->from);
    OX_ASSERT(place->entries > 0 && place->from + place->entries <= pass->dim[s->block]);
    for (int a = 0; a < pass->noperands; a++)
        s->cursor[a] = pass->operands[a].tensor->data;
    seek(pass, s, place->index, at / s->inner / pass->dim[s->block]);
}

/* How rows of a part follow each other: `times` entries on in dimension `dim`, `count` of them at most. */
typedef struct given_rows {
    int dim;
    int64_t times, count;
} given_rows;

/* The rows that follow the one of a place: in the block, or in the dimension outside it in which a step of so many
 * elements is the next entry. */
static given_rows find_rows(const ox_pass *pass, const pass_state *s, int64_t step, const given_place *place) {
    const int64_t length = pass->dim[s->block], room = length - place->from - place->entries;
    int64_t elements = s->inner * length;
    if (step && step < elements && step % s->inner == 0)
        return (given_rows){s->block, step / s->inner, room * s->inner / step + 1};
    for (int d = s->block + 1; d < pass->ndim && elements <= step; elements *= pass->dim[d++])
        if (elements == step)
            return (given_rows){d, 1, pass->dim[d] - place->index[d]};
    return (given_rows){s->block, 0, 1};
}

/* A stretch in as many tiles as it takes, the first of which is found. */
static void run_stretch_given(const ox_pass *pass, pass_state *s, char *given, int64_t first, int64_t count,
                              given_place *place) {
    int64_t done = 0;
    for (;;) {
        s->regs[pass->given] = given + done * (int64_t)pass->given_width;
        run_tile(pass, s, place->from, place->entries, first + done);
        done += place->entries * s->inner;
        OX_ASSERT(done <= count);
        if (done == count)
            return;
        find_tile(pass, s, first + done, count - done, place);
    }
}

/* Tiles that follow each other, by the program's only instruction. */
static void run_chain_rows(const ox_pass *pass, pass_state *s, char *given, const ox_pass_part *part, int64_t first,
                           const given_rows *rows, const given_place *place) {
    const pass_loop *in = pass->code;
    char *arg[OX_CHAIN_ARGS];
    int64_t next[OX_CHAIN_ARGS] = {part->step * pass->stores->width};
    for (int a = 0; a < pass->noperands; a++)
        fetch(pass, s, a, place->from, place->entries);
    s->regs[pass->given] = given;
    s->regs[pass->stores->reg] = place_of(pass, pass->stores, first);
    for (int k = 0; k <= in->nargs; k++) {
        arg[k] = s->regs[in->reg[k]];
        for (int a = 0; a < pass->noperands; a++)
            if (pass->operands[a].reg == in->reg[k])
                next[k] = pass->operands[a].steps[rows->dim] * rows->times;
        if (in->reg[k] == pass->given)
            next[k] = part->count * (int64_t)pass->given_width;
    }
    pass->chain_rows(rows->count, part->count, arg, in->step, next, in->attr);
}

/* A run of whole tiles of the same size consists of consecutive rows of as many elements; the rest of the run after
 * these is not part of the result. */
static ox_pass_part rows_of(const ox_pass *pass, pass_state *s, const ox_pass_part *part) {
    int64_t from;
    const int64_t tile = cut_tile(pass, s, part->first, part->count, &from) * s->inner;
    if (part->rows > 1 || from || tile != s->inner * pass->dim[s->block] || tile >= part->count)
        return *part;
    return (ox_pass_part){part->first, tile, part->count / tile, tile};
}

static void run_part(const ox_pass *pass, pass_state *s, char *data, const ox_pass_part *part) {
    const int64_t row = part->count * (int64_t)pass->given_width;
    given_place place;
    given_rows rows;
    for (int64_t i = 0; i < part->rows; i += rows.count, data += rows.count * row) {
        const int64_t first = part->first + i * part->step;
        find_tile(pass, s, first, part->count, &place);
        rows = (given_rows){.count = 1};
        if (place.entries * s->inner == part->count)
            rows = find_rows(pass, s, part->step, &place);
        rows.count = ox_least(rows.count, part->rows - i);
        if (rows.count > 1 && pass->chain_rows) {
            run_chain_rows(pass, s, data, part, first, &rows, &place);
            continue;
        }
        run_stretch_given(pass, s, data, first, part->count, &place);
        for (int64_t r = 1; r < rows.count; r++) {
            for (int a = 0; a < pass->noperands; a++)
                s->cursor[a] += pass->operands[a].steps[rows.dim] * rows.times;
            s->regs[pass->given] = data + r * row;
            run_tile(pass, s, place.from, place.entries, first + r * part->step);
        }
    }
}

int ox_pass_run_given(const ox_pass *pass, void *scratch, const void *given, const ox_pass_part *part, int *tag) {
    OX_ASSERT(pass->given >= 0 && part->rows > 0 && part->count > 0 && part->first >= 0);
    pass_state s = state_in(pass, scratch);
    char *data = (char *)(uintptr_t)given;
    const ox_pass_part rows = rows_of(pass, &s, part);
    const int64_t done = rows.count * rows.rows;
    const ox_pass_part rest = {part->first + done, part->count * part->rows - done, 1, 0};
    run_part(pass, &s, data, &rows);
    if (rest.count)
        run_part(pass, &s, data + done * (int64_t)pass->given_width, &rest);
    ox_stream_end();
    *tag = s.tag;
    return s.fault;
}
