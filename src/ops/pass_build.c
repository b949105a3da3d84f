/* pass_build.c: writing lane programs: registers, tiles, and how the space is cut into tiles. */
#include "pass_program.h"

#include <string.h>

/* Short rows are put together to tiles of about this many elements. */
enum {
    SHORT_TILE = 512,
    LONGEST_TILE = 1 << 15
};

struct ox_pass_builder {
    ox_pile *pile;
    const ox_loops *loops;
    bool failed;
    ox_dtype lacking; /* a type that this build of the library has no loops for, OX_UNDEFINED if there is none */
    int tag;
    int rank;
    const int64_t *dims;
    const int64_t **strides; /* of each operand, rank entries */
    int operand_room, reg_room, code_room, store_room;
    ox_pass pass;
};

/* ---- Growing lists ------------------------------------------------------------------------------------------ */

static void *grown(ox_pass_builder *b, void *list, int count, int *room, size_t size) {
    if (count < *room)
        return list;
    int more = *room ? *room * 2 : 8;
    void *moved = ox_pile_array(b->pile, (size_t)more, size);
    if (!moved) {
        b->failed = true;
        return NULL;
    }
    if (count)
        memcpy(moved, list, (size_t)count * size);
    *room = more;
    return moved;
}

/* PUSH(b, regs, nregs) makes room for one more entry of a list of the pass and gives a pointer to it; NULL once memory
 * ran out. */
#define PUSH(b, list, count) (push_##list(b) ? &(b)->pass.list[(b)->pass.count++] : NULL)
#define DEFINE_PUSH(list, count, room)                                                                                 \
    static bool push_##list(ox_pass_builder *b) {                                                                      \
        void *moved = b->failed ? NULL : grown(b, b->pass.list, b->pass.count, &b->room, sizeof *b->pass.list);        \
        if (moved)                                                                                                     \
            b->pass.list = moved;                                                                                      \
        return moved != NULL;                                                                                          \
    }
DEFINE_PUSH(regs, nregs, reg_room)
DEFINE_PUSH(code, ncode, code_room)
DEFINE_PUSH(stores, nstores, store_room)

static pass_operand *push_operand(ox_pass_builder *b) {
    int room = b->operand_room; /* operands and strides grow together */
    const int64_t **strides = grown(b, b->strides, b->pass.noperands, &room, sizeof *strides);
    pass_operand *operands =
        strides ? grown(b, b->pass.operands, b->pass.noperands, &b->operand_room, sizeof *operands) : NULL;
    if (!operands)
        return NULL;
    b->strides = strides;
    b->pass.operands = operands;
    return &operands[b->pass.noperands++];
}

static ox_reg new_reg(ox_pass_builder *b, pass_reg reg) {
    pass_reg *r = PUSH(b, regs, nregs);
    if (!r)
        return -1;
    *r = reg;
    return b->pass.nregs - 1;
}

/* ---- The program -------------------------------------------------------------------------------------------- */

ox_pass_builder *ox_pass_begin(ox_pile *pile, const ox_loops *loops, int rank, const int64_t *dims) {
    ox_pass_builder *b = ox_pile_get(pile, sizeof *b);
    int64_t *copy = ox_pile_array(pile, (size_t)rank, sizeof *copy);
    if (!b || !copy)
        return NULL;
    if (rank)
        memcpy(copy, dims, (size_t)rank * sizeof *copy);
    *b = (ox_pass_builder){.pile = pile, .loops = loops, .rank = rank, .dims = copy, .pass = {.stream = loops->stream}};
    return b;
}

const ox_loops *ox_pass_loops(const ox_pass_builder *b) {
    return b->loops;
}

void ox_pass_tag(ox_pass_builder *b, int tag) {
    b->tag = tag;
}

ox_dtype ox_pass_lacking(const ox_pass_builder *b) {
    return b ? b->lacking : OX_UNDEFINED;
}

ox_dtype ox_pass_dtype(const ox_pass_builder *b, ox_reg reg) {
    return reg < 0 ? OX_UNDEFINED : b->pass.regs[reg].dtype;
}

/* Two readers of the same tensor share an operand. Only the latest are looked at: a sum may have thousands. */
static ox_reg loaded(const ox_pass_builder *b, const ox_tensor *tensor, const int64_t *strides) {
    enum {
        LATEST = 16
    };
    for (int a = b->pass.noperands; a-- > 0 && a >= b->pass.noperands - LATEST;)
        if (b->pass.operands[a].tensor == tensor && ox_same_dims(b->rank, b->strides[a], b->rank, strides))
            return b->pass.operands[a].reg;
    return -1;
}

ox_reg ox_pass_load(ox_pass_builder *b, const ox_tensor *tensor, const ox_tensor *shape) {
    if (!b || b->failed)
        return -1;
    int64_t *strides = ox_pile_array(b->pile, (size_t)b->rank + 1, sizeof *strides);
    if (!strides) {
        b->failed = true;
        return -1;
    }
    if (!shape)
        shape = tensor;
    if (ox_tensor_count(shape) != 1) /* one element repeats everywhere: strides 0 */
        ox_broadcast_strides(shape, b->rank, b->dims, strides);
    ox_reg known = loaded(b, tensor, strides);
    if (known >= 0)
        return known;
    pass_operand *operand = push_operand(b);
    if (!operand)
        return -1;
    int index = b->pass.noperands - 1;
    b->strides[index] = strides;
    size_t width = ox_dtype_size(tensor->dtype);
    *operand = (pass_operand){.tensor = tensor, .width = (int64_t)width, .move = b->loops->move(width)};
    if (!OX_SMALL)
        operand->spread = b->loops->spread(width);
    operand->reg =
        new_reg(b, (pass_reg){.dtype = tensor->dtype, .operand = index, .writer = -1, .last = -1, .store = -1});
    return operand->reg;
}

ox_reg ox_pass_constant(ox_pass_builder *b, ox_dtype dtype, const void *element) {
    void *copy = b && !b->failed ? ox_pile_get(b->pile, ox_dtype_size(dtype)) : NULL;
    if (!copy) {
        if (b)
            b->failed = true;
        return -1;
    }
    memcpy(copy, element, ox_dtype_size(dtype));
    return new_reg(b,
                   (pass_reg){.dtype = dtype, .constant = copy, .operand = -1, .writer = -1, .last = -1, .store = -1});
}

ox_reg ox_pass_apply(ox_pass_builder *b, ox_lane *lane, const void *attr, ox_dtype result, int nargs,
                     const ox_reg *args) {
    if (!b || b->failed)
        return -1;
    if (!lane) {
        b->lacking = nargs ? ox_pass_dtype(b, args[0]) : result;
        b->failed = true;
        return -1;
    }
    pass_instruction *in = PUSH(b, code, ncode);
    if (!in)
        return -1;
    int number = b->pass.ncode - 1;
    *in = (pass_instruction){.lane = lane, .attr = attr, .tag = b->tag, .nargs = nargs};
    for (int k = 0; k < nargs; k++) {
        in->reg[k + 1] = args[k];
        b->pass.regs[args[k]].last = number;
    }
    return in->reg[0] =
               new_reg(b, (pass_reg){.dtype = result, .operand = -1, .writer = number, .last = -1, .store = -1});
}

/* An instruction whose attribute is kept with the pass. */
static ox_reg apply_kept(ox_pass_builder *b, ox_lane *lane, const void *attr, size_t size, ox_dtype result,
                         ox_reg reg) {
    void *kept = b && !b->failed ? ox_pile_get(b->pile, size) : NULL;
    if (!kept) {
        if (b)
            b->failed = true;
        return -1;
    }
    memcpy(kept, attr, size);
    return ox_pass_apply(b, lane, kept, result, 1, &reg);
}

ox_reg ox_pass_widen(ox_pass_builder *b, ox_reg reg) {
    ox_dtype dtype = ox_pass_dtype(b, reg), wide = ox_dtype_compute(dtype);
    return reg < 0 || wide == dtype ? reg : apply_kept(b, b->loops->widen, &dtype, sizeof dtype, wide, reg);
}

ox_reg ox_pass_narrow(ox_pass_builder *b, ox_reg reg, const ox_narrowing *how) {
    ox_dtype dtype = how->dtype, wide = ox_dtype_compute(dtype);
    if (reg < 0 || ox_pass_dtype(b, reg) == dtype)
        return reg;
    reg = ox_pass_widen(b, reg);
    ox_dtype from = ox_pass_dtype(b, reg);
    if (from != wide && reg >= 0) {
        ox_lane *lane = wide == dtype        ? b->loops->cast(from, wide)
                        : b->loops->cast_odd ? b->loops->cast_odd(from)
                                             : NULL;
        reg = ox_pass_apply(b, lane, NULL, wide, 1, &reg);
    }
    if (reg < 0)
        return -1;
    if (wide != dtype)
        return apply_kept(b, b->loops->narrow, how, sizeof *how, dtype, reg);
    bool wraps = ox_dtype_bits(dtype) > 0 && ox_dtype_bits(dtype) < 8;
    return wraps ? apply_kept(b, b->loops->wrap, &dtype, sizeof dtype, dtype, reg) : reg;
}

ox_reg ox_pass_convert(ox_pass_builder *b, ox_reg reg, ox_dtype dtype) {
    return ox_pass_narrow(b, reg, &(ox_narrowing){.dtype = dtype});
}

void ox_pass_store(ox_pass_builder *b, ox_reg reg, const ox_tensor *out, bool streamed) {
    reg = ox_pass_convert(b, reg, out->dtype);
    /* Only the result of an instruction can be written where it is wanted, and only to one place. */
    if (reg >= 0 && (b->pass.regs[reg].writer < 0 || b->pass.regs[reg].store >= 0))
        reg = ox_pass_apply(b, b->loops->copy(ox_dtype_size(out->dtype)), NULL, out->dtype, 1, &reg);
    pass_store *store = reg >= 0 ? PUSH(b, stores, nstores) : NULL;
    if (!store)
        return;
    *store = (pass_store){reg, (int64_t)ox_dtype_size(out->dtype), out, streamed};
    b->pass.regs[reg].store = b->pass.nstores - 1;
}

/* ---- Cutting the space into tiles --------------------------------------------------------------------------- */

static void choose_block(ox_pass *pass) {
    pass->block = 0;
    pass->inner = 1;
    if (pass->space.dim[0] >= OX_ROW_MIN)
        return;
    while (pass->block + 1 < pass->space.ndim && pass->inner * pass->space.dim[pass->block] <= SHORT_TILE)
        pass->inner *= pass->space.dim[pass->block++];
}

/* Whether a tile of the operand is packed (true), or one element (*scalar). */
static bool is_direct(const ox_pass *pass, const pass_operand *operand, bool *scalar) {
    bool packed = true;
    int64_t step = operand->width;
    *scalar = true;
    for (int d = 0; d <= pass->block; d++) {
        packed &= operand->steps[d] == step;
        *scalar &= operand->steps[d] == 0;
        step *= pass->space.dim[d];
    }
    return packed || *scalar;
}

static bool plan_space(ox_pass_builder *b) {
    ox_pass *pass = &b->pass;
    size_t room = (size_t)b->rank + 1, n = (size_t)pass->noperands;
    pass->space.dim = ox_pile_array(b->pile, room, sizeof(int64_t));
    pass->space.step = ox_pile_array(b->pile, room * (n ? n : 1), sizeof(int64_t));
    int64_t *steps = ox_pile_array(b->pile, room * (n ? n : 1), sizeof(int64_t));
    if (!pass->space.dim || !pass->space.step || !steps)
        return false;
    ox_bcast_plan(&pass->space, (int)n, b->rank, b->dims, b->strides);
    choose_block(pass);
    for (size_t a = 0; a < n; a++) {
        pass_operand *operand = &pass->operands[a];
        operand->steps = steps + a * room;
        for (int d = 0; d < pass->space.ndim; d++)
            steps[a * room + (size_t)d] = pass->space.step[(size_t)d * n + a];
        pass_reg *reg = &pass->regs[operand->reg];
        operand->gathered = !is_direct(pass, operand, &reg->scalar);
    }
    return true;
}

/* Which registers repeat one element, and the steps of all instructions. */
static void find_scalars(ox_pass *pass) {
    for (int r = 0; r < pass->nregs; r++)
        pass->regs[r].scalar |= pass->regs[r].constant != NULL;
    for (int i = 0; i < pass->ncode; i++) {
        pass_instruction *in = &pass->code[i];
        pass_reg *result = &pass->regs[in->reg[0]];
        in->step[0] = (int64_t)ox_dtype_size(result->dtype);
        in->once = result->store < 0;
        in->streamed = result->store >= 0 && pass->stores[result->store].streamed ? result->store : -1;
        in->piece = OX_SMALL ? 0 : OX_STREAM_TILE / in->step[0];
        for (int k = 1; k <= in->nargs; k++) {
            const pass_reg *arg = &pass->regs[in->reg[k]];
            in->once &= arg->scalar;
            in->step[k] = arg->scalar ? 0 : (int64_t)ox_dtype_size(arg->dtype);
        }
        result->scalar = in->once;
    }
}

/* ---- Tiles -------------------------------------------------------------------------------------------------- */

/* Tiles that are free again, by what they hold: a tile is used for elements of one size only, and for whole tiles or
 * single elements only, so that an instruction may write where it reads. */
enum {
    KINDS = 10
}; /* element sizes 1 ... 16, twice */

typedef struct tile_pool {
    size_t per_element;     /* bytes of all tiles for one element: places are scaled when the length is known */
    ox_reg free_reg[KINDS]; /* a register whose tile is free, ... */
    ox_reg *next;           /* ... and the next one */
} tile_pool;

static int kind_of(const pass_reg *reg) {
    int kind = 0;
    for (size_t size = ox_dtype_size(reg->dtype); size > 1; size /= 2)
        kind++;
    return 2 * kind + reg->scalar;
}

static bool needs_tile(const ox_pass *pass, const pass_reg *reg) {
    if (reg->operand >= 0)
        return pass->operands[reg->operand].gathered;
    return reg->writer >= 0 && (reg->store < 0 || pass->stores[reg->store].streamed);
}

static void new_tile(tile_pool *pool, pass_reg *reg) {
    reg->tile = pool->per_element;
    pool->per_element += ox_dtype_size(reg->dtype);
}

/* Tiles in the order of the instructions. Gathered operands keep theirs: the next tile may find there what it wants. */
static void assign_tiles(ox_pass *pass, tile_pool *pool) {
    for (int r = 0; r < pass->nregs; r++)
        if (pass->regs[r].operand >= 0 && needs_tile(pass, &pass->regs[r]))
            new_tile(pool, &pass->regs[r]);
    for (int i = 0; i < pass->ncode; i++) {
        const pass_instruction *in = &pass->code[i];
        for (int k = 1; k <= in->nargs; k++) {
            pass_reg *arg = &pass->regs[in->reg[k]];
            if (arg->last != i || arg->operand >= 0 || arg->store >= 0 || !needs_tile(pass, arg))
                continue;
            arg->last = -1; /* an operand read twice gives its tile once */
            pool->next[in->reg[k]] = pool->free_reg[kind_of(arg)];
            pool->free_reg[kind_of(arg)] = in->reg[k];
        }
        pass_reg *result = &pass->regs[in->reg[0]];
        if (!needs_tile(pass, result))
            continue;
        ox_reg *free_reg = &pool->free_reg[kind_of(result)];
        if (*free_reg < 0) {
            new_tile(pool, result);
            continue;
        }
        result->tile = pass->regs[*free_reg].tile;
        *free_reg = pool->next[*free_reg];
    }
}

/* How long tiles are: all that are alive together fit the first-level cache. */
static void size_tiles(ox_pass *pass, size_t per_element) {
    int64_t length = pass->space.dim[pass->block];
    size_t inner = (size_t)pass->inner, most = (size_t)length; /* elements that are there: they fit in memory */
    /* Even without registers a tile ends somewhere, so that threads have something to share. */
    size_t chunk = most * inner > LONGEST_TILE ? LONGEST_TILE / inner : most;
    if (per_element) {
        size_t elements = OX_TILE_BYTES / per_element / 64 * 64;
        size_t fits = (elements > 64 ? elements : 64) / inner;
        chunk = fits < chunk ? fits : chunk;
    }
    chunk = chunk > 1 ? chunk : 1;
    pass->chunk = (int64_t)chunk;
    size_t tile = (chunk * inner + OX_ALIGN - 1) / OX_ALIGN * OX_ALIGN;
    for (int r = 0; r < pass->nregs && per_element; r++)
        pass->regs[r].tile *= tile;
    pass->tile_bytes = per_element * tile;
    pass->rows = (int64_t)((most + chunk - 1) / chunk);
    pass->tiles = pass->rows;
    for (int d = pass->block + 1; d < pass->space.ndim; d++)
        pass->tiles *= pass->space.dim[d];
}

uint32_t ox_pass_types(const ox_pass *pass, int tag) {
    uint32_t types = 0;
    for (int i = 0; i < pass->ncode; i++)
        for (int k = 0; k <= pass->code[i].nargs && pass->code[i].tag == tag; k++)
            types |= OX_BIT(pass->regs[pass->code[i].reg[k]].dtype);
    return types;
}

ox_pass *ox_pass_end(ox_pass_builder *b) {
    if (!b || b->failed || !plan_space(b))
        return NULL;
    ox_pass *pass = &b->pass;
    tile_pool pool = {.next = ox_pile_array(b->pile, (size_t)pass->nregs, sizeof *pool.next)};
    if (!pool.next)
        return NULL;
    for (int i = 0; i < KINDS; i++)
        pool.free_reg[i] = -1;
    find_scalars(pass);
    assign_tiles(pass, &pool);
    size_tiles(pass, pool.per_element);
    size_t pointers = (size_t)pass->nregs + 2 * (size_t)pass->noperands;
    pass->scratch = pass->tile_bytes + sizeof(char *) * pointers + sizeof(int64_t) * (size_t)pass->noperands;
    return pass;
}
