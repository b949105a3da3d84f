/* pass_join.c: joins two instructions of a lane program into one loop, if the second reads the result of the first. The
 * value between them then stays in registers of the processor, and is stored only if it has another reader. Each
 * operation is rounded as before, and the result is the same. */
#include "pass_program.h"

#define LANES(name) OX_LANES_##name,
static const ox_lane_set linked[] = {OX_PAIR_LINKS(LANES) OX_MAP_LINKS(LANES)};

ox_link_kind ox_pass_link_of(const ox_pass_builder *b, const pass_instruction *in) {
    int kind = 0;
    while (kind < OX_LINKS && in->lane != OX_BUILD_OF(b->loops, linked[kind])->fn[OX_FLOAT])
        kind++;
    return (ox_link_kind)kind;
}

/* Whether a fold can take what the squares that `in` gives are of. */
static bool folds_squares(const ox_pass_builder *b, const pass_instruction *in, const pass_instruction *fold) {
    const pass_rows *rows = fold->attr;
    return fold->folds && fold->reg[1] == in->reg[0] && rows->folder.squares && ox_pass_link_of(b, in) == OX_LINK_Mul &&
           in->reg[1] == in->reg[2] && !b->pass.regs[in->reg[1]].same_rows;
}

/* A sum of squares. */
static bool join_square(ox_pass_builder *b, const pass_instruction *first, pass_instruction *in) {
    if (!folds_squares(b, first, in))
        return false;
    pass_rows *joined = ox_pile_get(b->pile, sizeof *joined);
    if (!joined) {
        ox_pass_fail(b);
        return false;
    }
    *joined = *(const pass_rows *)in->attr;
    joined->folder.rows = joined->folder.squares;
    joined->short_rows = NULL;
    in->attr = joined;
    in->reg[1] = first->reg[1];
    return true;
}

static bool reads(const pass_instruction *in, ox_reg reg) {
    for (int k = 1; k <= in->nargs; k++)
        if (in->reg[k] == reg)
            return true;
    return false;
}

/* Whether `in` reads what the instruction before gives, which is no result of the program. */
static bool follows(const ox_pass_builder *b, const pass_instruction *before, const pass_instruction *in) {
    const bool is_square = in->nargs == 2 && in->reg[1] == in->reg[2]; /* which a fold may take (join_square) */
    return reads(in, before->reg[0]) && !is_square && b->pass.regs[before->reg[0]].store < 0;
}

#if OX_CHAINS
/* The type that an instruction converts to float, or from float; OX_UNDEFINED if it does not, or no chain can. */
static ox_dtype end_of(const ox_pass_builder *b, const pass_instruction *in, bool to_float) {
    const ox_dtype from = b->pass.regs[in->reg[1]].dtype, to = b->pass.regs[in->reg[0]].dtype;
    const ox_dtype other = to_float ? from : to;
    if ((to_float ? to : from) != OX_FLOAT || other == OX_FLOAT || !(OX_BIT(other) & OX_CHAIN_ENDS))
        return OX_UNDEFINED;
    ox_lane *small = to_float ? b->loops->widen : b->loops->narrow;
    ox_lane *lane = ox_dtype_compute(other) == OX_FLOAT ? small : b->loops->cast(from, to);
    return in->lane == lane ? other : OX_UNDEFINED;
}

/* The link that rounds to a type of 16 bits, where `in` widens what was narrowed to it; OX_LINKS if there is none. */
static ox_link_kind rounding_of(const ox_pass_builder *b, ox_dtype narrowed, const pass_instruction *in) {
    if (!in || narrowed == OX_UNDEFINED || end_of(b, in, true) != narrowed)
        return OX_LINKS;
    return narrowed == OX_FLOAT16 ? OX_LINK_Half : narrowed == OX_BFLOAT16 ? OX_LINK_Bfloat : OX_LINKS;
}

/* Makes a chain out of an instruction, if it can be its beginning: what it takes is there for each element. */
static bool begin_chain(ox_pass_builder *b, pass_instruction *in) {
    const ox_link_kind kind = ox_pass_link_of(b, in);
    const ox_dtype end = end_of(b, in, true), narrowed = end_of(b, in, false);
    if (kind == OX_LINKS && !end && !narrowed)
        return false;
    pass_chain *made = ox_pile_get(b->scratch, sizeof *made);
    if (!made) {
        ox_pass_fail(b);
        return false;
    }
    const bool is_right = b->pass.regs[in->reg[1]].level != PASS_EACH;
    made->chain = (ox_chain){
        .from = end ? end : OX_FLOAT, .to = narrowed ? narrowed : OX_FLOAT, .nargs = in->nargs, .links = made->links};
    if (kind < OX_LINKS)
        made->links[made->chain.count++] = (ox_link){kind, is_right, in->attr};
    if (is_right) {
        const ox_reg left = in->reg[1];
        in->reg[1] = in->reg[2];
        in->reg[2] = left;
    }
    in->lane = OX_BUILD_OF(b->loops, ox_chain_builds);
    in->tile_lane = in->row_lane = NULL;
    in->chain = made;
    in->attr = &made->chain;
    return true;
}

/* A link that keeps what the chain gives so far. */
static void add_keep(pass_instruction *in) {
    ox_chain *chain = &in->chain->chain;
    in->chain->links[chain->count++] = (ox_link){.kind = OX_LINK_Keep};
    in->reg[++in->nargs] = in->reg[0];
    in->keeps |= 1U << in->nargs;
    chain->kept |= 1U << in->nargs;
}

/* Whether a link of the chain has kept a register. */
static bool has_kept(const pass_instruction *in, ox_reg reg) {
    for (int k = 1; k <= in->nargs; k++)
        if (in->keeps >> k & 1 && in->reg[k] == reg)
            return true;
    return false;
}

/* The widening of what a chain, or an instruction that may become one, has narrowed is a link of it. */
static bool join_rounding(ox_pass_builder *b, pass_instruction *first, pass_instruction *in) {
    const ox_dtype narrowed = first->chain ? first->chain->chain.to : end_of(b, first, false);
    const ox_link_kind kind = rounding_of(b, narrowed, in);
    if (kind == OX_LINKS || b->pass.regs[first->reg[0]].readers > 1 || (!first->chain && !begin_chain(b, first)))
        return false;
    ox_chain *chain = &first->chain->chain;
    if (chain->count >= OX_CHAIN_LINKS)
        return false;
    first->chain->links[chain->count++] = (ox_link){.kind = kind};
    chain->to = OX_FLOAT;
    pass_instruction both = *first;
    both.reg[0] = in->reg[0];
    both.tag = in->tag;
    both.slow |= in->slow;
    both.streams = in->streams;
    *in = both;
    return true;
}

static bool join_links(ox_pass_builder *b, pass_instruction *first, pass_instruction *in) {
    const ox_link_kind kind = ox_pass_link_of(b, in);
    const ox_dtype end = end_of(b, in, false);
    const bool keeps = b->pass.regs[first->reg[0]].readers > 1;
    if (join_rounding(b, first, in))
        return true;
    if ((kind == OX_LINKS && !end) || end_of(b, first, false) || (!first->chain && !begin_chain(b, first)))
        return false;
    ox_chain *chain = &first->chain->chain;
    if (chain->to != OX_FLOAT || chain->count + keeps >= OX_CHAIN_LINKS)
        return false;
    const bool is_right = in->reg[1] != first->reg[0];
    pass_instruction both = *first;
    if (keeps)
        add_keep(&both);
    if (end)
        chain->to = end;
    else
        first->chain->links[chain->count++] = (ox_link){kind, is_right, in->attr};
    both.reg[0] = in->reg[0];
    if (in->nargs == 2) {
        both.reg[++both.nargs] = in->reg[is_right ? 1 : 2];
        chain->kept |= (uint32_t)has_kept(&both, both.reg[both.nargs]) << both.nargs;
    }
    chain->nargs = both.nargs;
    both.tag = in->tag;
    both.slow |= in->slow;
    both.streams = in->streams;
    *in = both;
    return true;
}

bool ox_pass_is_chain(const ox_pass_builder *b) {
    const pass_draft *pass = &b->pass;
    const pass_instruction *before = NULL;
    int links = pass->ncode;
    for (int i = 0; i < pass->ncode; i++) {
        const pass_instruction *in = &pass->code[i];
        const pass_instruction *next = i + 1 < pass->ncode ? in + 1 : NULL;
        const bool begins = before ? rounding_of(b, end_of(b, before, false), in) != OX_LINKS : end_of(b, in, true);
        const ox_dtype narrowed = end_of(b, in, false);
        const bool is_end = begins || (narrowed && (!next || rounding_of(b, narrowed, next) != OX_LINKS));
        if ((ox_pass_link_of(b, in) == OX_LINKS && !is_end) || (before && !follows(b, before, in)))
            return false;
        links += b->pass.regs[in->reg[0]].readers > 1;
        before = in;
    }
    return pass->ncode > 1 && links <= OX_CHAIN_LINKS;
}
#else
static bool join_links(ox_pass_builder *b, pass_instruction *first, pass_instruction *in) {
    (void)b, (void)first, (void)in;
    return false;
}

bool ox_pass_is_chain(const ox_pass_builder *b) {
    (void)b;
    return false;
}
#endif

void ox_pass_join(ox_pass_builder *b) {
    if (b->pass.ncode < 2)
        return;
    pass_instruction *in = &b->pass.code[b->pass.ncode - 1], *first = in - 1;
    if (!follows(b, first, in) || (in->level != PASS_EACH && !in->folds))
        return;
    const pass_reg *between = &b->pass.regs[first->reg[0]];
    if (between->level != PASS_EACH)
        return;
    if ((between->readers > 1 || !join_square(b, first, in)) && !join_links(b, first, in))
        return;
    *first = *in;
    b->pass.ncode--;
}
