/* pass_finish.c: copies a finished lane program into exactly the memory that it needs: the builder's lists have spare
 * capacity, and a model may have many programs. */
#include "pass_program.h"

#include <string.h>

/* Lists of all instructions together, and what of them is still free. */
typedef struct lists {
    int64_t *numbers;
    ox_reg *regs;
} lists;

/* ---- Room --------------------------------------------------------------------------------------------------- */

static size_t count_registers(const pass_draft *draft) {
    size_t count = 0;
    for (int i = 0; i < draft->ncode; i++)
        count += (size_t)draft->code[i].nargs + 1;
    return count;
}

/* The numbers that the pass, its operands and its instructions have. */
static size_t count_numbers(const pass_draft *draft) {
    size_t count = (size_t)draft->space.ndim * ((size_t)draft->noperands + 1);
    for (int i = 0; i < draft->ncode; i++) {
        const pass_instruction *in = &draft->code[i];
        const size_t kept = 1 + (size_t)in->streamed + (size_t)in->by_row + (in->chain && in->chain->chain.row);
        count += ((size_t)in->nargs + 1) * kept;
    }
    return count;
}

/* How many nodes the instructions come from; those of a node follow each other. */
static size_t count_tags(const pass_draft *draft) {
    size_t count = 0;
    for (int i = 0; i < draft->nwritten; i++)
        count += i == 0 || draft->written[i].tag != draft->written[i - 1].tag;
    return count;
}

static size_t room_of(const pass_draft *draft) {
    return count_numbers(draft) * sizeof(int64_t) + (size_t)draft->noperands * sizeof(pass_operand) +
           (size_t)draft->nstores * sizeof(pass_store) + (size_t)draft->ncode * sizeof(pass_loop) +
           (size_t)draft->nregs * sizeof(pass_place) + count_tags(draft) * sizeof(pass_types) +
           count_registers(draft) * sizeof(ox_reg);
}

static void *carve(unsigned char **room, size_t count, size_t size) {
    void *list = *room;
    *room += count * size;
    return list;
}

/* One block for all lists: those first whose entries have the widest members, so that each is aligned. */
static bool make_room(ox_pile *pile, const pass_draft *draft, ox_pass *pass, lists *all) {
    unsigned char *room = ox_pile_get(pile, room_of(draft));
    if (!room)
        return false;
    all->numbers = carve(&room, count_numbers(draft), sizeof *all->numbers);
    pass->operands = carve(&room, (size_t)draft->noperands, sizeof *pass->operands);
    pass->stores = carve(&room, (size_t)draft->nstores, sizeof *pass->stores);
    pass->code = carve(&room, (size_t)draft->ncode, sizeof *pass->code);
    pass->regs = carve(&room, (size_t)draft->nregs, sizeof *pass->regs);
    pass->types = carve(&room, count_tags(draft), sizeof *pass->types);
    all->regs = carve(&room, count_registers(draft), sizeof *all->regs);
    return true;
}

/* ---- Filling it --------------------------------------------------------------------------------------------- */

static const int64_t *keep_numbers(lists *room, const int64_t *numbers, int count) {
    int64_t *kept = room->numbers;
    memcpy(kept, numbers, (size_t)count * sizeof *kept);
    room->numbers += count;
    return kept;
}

static const ox_reg *keep_registers(lists *room, const ox_reg *regs, int count) {
    ox_reg *kept = room->regs;
    memcpy(kept, regs, (size_t)count * sizeof *kept);
    room->regs += count;
    return kept;
}

/* A chain in no more memory than it takes; NULL if that ran out. */
static const ox_chain *keep_chain(ox_pile *pile, const ox_chain *chain, lists *room) {
    ox_chain *kept = ox_pile_get(pile, sizeof *kept);
    ox_link *links = ox_pile_array(pile, (size_t)chain->count, sizeof *links);
    if (!kept || !links)
        return NULL;
    *kept = *chain;
    kept->links = memcpy(links, chain->links, (size_t)chain->count * sizeof *links);
    if (chain->row)
        kept->next = keep_numbers(room, chain->next, chain->nargs + 1);
    return kept;
}

static pass_loop finished(const pass_instruction *in, const void *attr, lists *room) {
    const int count = in->nargs + 1;
    return (pass_loop){.lane = in->lane,
                       .attr = attr,
                       .reg = keep_registers(room, in->reg, count),
                       .step = keep_numbers(room, in->step, count),
                       .stream_step = in->streamed ? keep_numbers(room, in->stream_step, count) : NULL,
                       .next = in->by_row ? keep_numbers(room, in->next, count) : NULL,
                       .tag = in->tag,
                       .nargs = (uint8_t)in->nargs,
                       .level = (uint8_t)in->level};
}

static void note_types(const pass_draft *draft, ox_pass *pass) {
    for (int i = 0; i < draft->nwritten; i++) {
        const pass_instruction *in = &draft->written[i];
        if (i == 0 || in->tag != draft->written[i - 1].tag)
            pass->types[pass->ntypes++].tag = in->tag;
        for (int k = 0; k <= in->nargs; k++)
            pass->types[pass->ntypes - 1].types |= OX_BIT(draft->regs[in->reg[k]].dtype);
    }
}

#if OX_CHAINS
/* Whether all of a program is one chain, which reads what is given and operands as they lie. */
static bool is_one_chain(const pass_draft *draft) {
    const pass_instruction *in = draft->code;
    if (draft->given < 0 || draft->ncode != 1 || !in->chain || in->chain->chain.row || in->streamed ||
        draft->nstores != 1)
        return false;
    for (int k = 0; k <= in->nargs; k++)
        if (in->step[k] < 0)
            return false;
    for (int a = 0; a < draft->noperands; a++)
        if (draft->operands[a].gathered)
            return false;
    return true;
}
#endif

static ox_pass *finish(const ox_pass_builder *b) {
    const pass_draft *draft = &b->pass;
    ox_pass *pass = ox_pile_get(b->pile, sizeof *pass);
    lists room;
    if (!pass || !make_room(b->pile, draft, pass, &room))
        return NULL;
    pass->dim = keep_numbers(&room, draft->space.dim, draft->space.ndim);
    pass->ndim = draft->space.ndim;
    pass->block = draft->block;
    pass->row = draft->row;
    pass->inner = draft->inner;
    pass->chunk = draft->chunk;
    pass->ahead = draft->ahead;
    pass->rows = draft->rows;
    pass->tiles = draft->tiles;
    pass->given = draft->given;
    pass->given_width = draft->given < 0 ? 0 : ox_dtype_size(draft->regs[draft->given].dtype);
    pass->tile_bytes = draft->tile_bytes;
    pass->scratch = draft->scratch;
#if OX_CHAINS
    pass->chain_rows = is_one_chain(draft) ? OX_BUILD_OF(b->loops, ox_chain_rows_builds) : NULL;
#endif
    for (; pass->noperands < draft->noperands; pass->noperands++) {
        pass->operands[pass->noperands] = draft->operands[pass->noperands];
        pass->operands[pass->noperands].steps =
            keep_numbers(&room, draft->operands[pass->noperands].steps, draft->space.ndim);
    }
    for (; pass->nregs < draft->nregs; pass->nregs++)
        pass->regs[pass->nregs] = (pass_place){draft->regs[pass->nregs].constant, draft->regs[pass->nregs].tile};
    for (; pass->ncode < draft->ncode; pass->ncode++) {
        const pass_instruction *in = &draft->code[pass->ncode];
        const void *attr = in->chain       ? keep_chain(b->pile, &in->chain->chain, &room)
                           : in->over_rows ? &pass->row
                                           : in->attr;
        if (in->chain && !attr)
            return NULL;
        pass->code[pass->ncode] = finished(in, attr, &room);
    }
    for (; pass->nstores < draft->nstores; pass->nstores++)
        pass->stores[pass->nstores] = draft->stores[pass->nstores];
    note_types(draft, pass);
    ox_pass_affine affine;
    if (ox_pass_is_affine(b, &affine)) {
        ox_pass_affine *kept = ox_pile_get(b->pile, sizeof *kept);
        if (!kept)
            return NULL;
        *kept = affine;
        pass->affine = kept;
    }
    return pass;
}

ox_pass *ox_pass_end(ox_pass_builder *b) {
    return b && !b->failed && ox_pass_plan(b) ? finish(b) : NULL;
}
