/* lanes_chain.c: the loop of chains (chain.h). Each link is a function that takes some vectors of elements as
 * arguments, and calls the next one with what it made of them: a jump, for nothing is left to do after it, and the
 * vectors stay in registers all the way. */
#include "half.h"
#include "loops/chain.h"
#include "lane_maps.h"
#include "lane_order.h"

#if OX_CHAINS
typedef float vector __attribute__((vector_size(OX_WIDEST)));

/* The vectors of a block. Each jump takes longer than a few of them, and with 16 registers calls pass eight: these take
 * 0.6 to 0.9 of the time of four (Zen 3). As many of the widest, which hold twice as much, gain nothing more; where
 * instructions have two operands, too few registers are left. */
#if OX_WIDEST >= 32
#define EACH_VECTOR(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define VECTORS v0, v1, v2, v3, v4, v5, v6, v7
#define NO_VECTORS none, none, none, none, none, none, none, none
#define STATE                                                                                                          \
    const link *l, int64_t at, vector v0, vector v1, vector v2, vector v3, vector v4, vector v5, vector v6, vector v7
#else
#define EACH_VECTOR(M) M(0) M(1) M(2) M(3)
#define VECTORS v0, v1, v2, v3
#define NO_VECTORS none, none, none, none
#define STATE const link *l, int64_t at, vector v0, vector v1, vector v2, vector v3
#endif
#define ONE_MORE(k) +1
enum {
    LANES = OX_WIDEST / sizeof(float),
    BLOCK = (0 EACH_VECTOR(ONE_MORE)) * LANES,
    MOST_ROWS = 8 /* that elements are picked for, of a block */
};
_Static_assert((int)BLOCK <= (int)OX_CHAIN_SLACK, "what is kept has room behind its end");
_Static_assert(!OX_LANES_STREAM || BLOCK % OX_LINE == 0, "what goes past the caches is whole lines of any type");
#define NEXT l[1].fn(l + 1, at, VECTORS)

/* Which of the rows that a block lies in, each of its elements belongs to; and how many rows these are. */
typedef struct block_rows {
    uint32_t of[BLOCK];
    unsigned count;
} block_rows;

typedef struct link link;
typedef void link_fn(STATE);
struct link {
    link_fn *fn;
    char *operand;          /* where it begins, if it has one, */
    const block_rows *rows; /* and how the rows lie that it has one element for each of */
    float one;              /* the operand that repeats */
    union {
        const void *attr; /* of an operation */
        int64_t width;    /* bytes of an element that is prefetched */
    };
};

/* A link sees its elements as v[0] ... v[BLOCK - 1]: compilers know each vector's place in that. */
#define FROM_VECTOR(k) memcpy(v + k * LANES, &v##k, OX_WIDEST);
#define TO_VECTOR(k) memcpy(&v##k, v + k * LANES, OX_WIDEST);
#define EACH_OF_BLOCK INDEPENDENT for (int i = 0; i < BLOCK; i++)

/* ---- Links of one operand, and of two ------------------------------------------------------------------------ */

/* An expression over a and b, with what is to be known for them. */
#define LINK(name, known, left, right, e)                                                                              \
    static void name(STATE) {                                                                                          \
        float v[BLOCK];                                                                                                \
        EACH_VECTOR(FROM_VECTOR)                                                                                       \
        const void *attr = l->attr;                                                                                    \
        known;                                                                                                         \
        (void)attr;                                                                                                    \
        EACH_OF_BLOCK {                                                                                                \
            const float a = left, b = right;                                                                           \
            (void)b;                                                                                                   \
            v[i] = e;                                                                                                  \
        }                                                                                                              \
        EACH_VECTOR(TO_VECTOR)                                                                                         \
        NEXT;                                                                                                          \
    }

#define MAP_LINK(name, e) LINK(map_##name, , v[i], 0, e)
#define NUMBER_LINK(name, uint_e, sint_e, float_e) MAP_LINK(name, float_e)
NUMBER_MAPS(NUMBER_LINK)
REAL_MAPS(MAP_LINK)
MATH_MAPS(MAP_LINK)
#ifdef OX_LOOKUP
#define SOME_LINK(name, some)                                                                                          \
    static void map_##name(STATE) {                                                                                    \
        float v[BLOCK];                                                                                                \
        EACH_VECTOR(FROM_VECTOR)                                                                                       \
        for (int i = 0; i < BLOCK; i += OX_SOME)                                                                       \
            some(v + i, v + i);                                                                                        \
        EACH_VECTOR(TO_VECTOR)                                                                                         \
        NEXT;                                                                                                          \
    }
SOME_LINK(Erf, ox_erf_some)
SOME_LINK(Exp, ox_exp_some)
SOME_LINK(Gelu, ox_gelu_some)
#else
MAP_LINK(Erf, ox_erff(a))
MAP_LINK(Exp, ox_expf(a))
MAP_LINK(Gelu, ox_geluf(a))
#endif

/* What belongs to each element of a block that lies in several rows. */
static inline void pick_rows(float *y, const link *l) {
#ifdef OX_PICKED
    _Static_assert(MOST_ROWS <= OX_PICKED, "rows are picked among so many");
    float first[OX_PICKED];
    ox_first_places(first, l->operand, l->rows->count);
    for (int i = 0; i < BLOCK; i += OX_PICKED)
        ox_pick(y + i, first, l->rows->of + i);
#else
    for (int i = 0; i < BLOCK; i++)
        y[i] = ((const f32 *)(const void *)l->operand)[l->rows->of[i]];
#endif
}

/* The other operand has an element for each place, for all places, or for each row. It is on the right or on the
 * left. */
#define ELEMENTS(T) const T *y = (const T *)(const void *)l->operand + at
#define OF_ROWS                                                                                                        \
    float y[BLOCK];                                                                                                    \
    pick_rows(y, l)
#define PAIR_LINKS(name, e)                                                                                            \
    LINK(name##_each, ELEMENTS(f32), v[i], y[i], e)                                                                    \
    LINK(name##_one, const float one = l->one, v[i], one, e)                                                           \
    LINK(name##_rows, OF_ROWS, v[i], y[i], e)                                                                          \
    LINK(each_##name, ELEMENTS(f32), y[i], v[i], e)                                                                    \
    LINK(one_##name, const float one = l->one, one, v[i], e)                                                           \
    LINK(rows_##name, OF_ROWS, y[i], v[i], e)
ARITHMETIC_MAPS(PAIR_LINKS)
QUANTIZE_MAPS(PAIR_LINKS)
PAIR_LINKS(Div, a / b)
PAIR_LINKS(Max, max_f32(a, b))
PAIR_LINKS(Min, min_f32(a, b))
PAIR_LINKS(PRelu, a < 0 ? a * b : a)

/* Max and Min against a limit, and against a lower limit of +0, as lane_order.h has them. */
#define LIMIT(k) v##k = ox_greater_floats(one, v##k);
#define LIMIT_ZERO(k) v##k = ox_greater_floats(one, v##k) + one;
#define LIMIT_ABOVE(k) v##k = ox_lesser_floats(one, v##k);
#define LIMIT_LINK(name, LIMITED)                                                                                      \
    static void name(STATE) {                                                                                          \
        const vector one = l->one - (vector){0}; /* which keeps -0 */                                                  \
        EACH_VECTOR(LIMITED)                                                                                           \
        NEXT;                                                                                                          \
    }
LIMIT_LINK(Max_limit, LIMIT)
LIMIT_LINK(Max_zero, LIMIT_ZERO)
LIMIT_LINK(Min_limit, LIMIT_ABOVE)

typedef struct pair_fns {
    link_fn *each, *one, *rows;
} pair_fns;
#define PAIR_ROW(name) {{name##_each, name##_one, name##_rows}, {each_##name, one_##name, rows_##name}},
static const pair_fns pair_links[][2] = {OX_PAIR_LINKS(PAIR_ROW)};
#define MAP_ROW(name) [OX_LINK_##name - OX_LINK_PAIRS] = map_##name,
static link_fn *const map_links[] = {OX_MAP_LINKS(MAP_ROW)};

/* ---- Links at the ends --------------------------------------------------------------------------------------- */

static void load(STATE) {
    const char *from = l->operand + at * (int64_t)sizeof(float);
#define LOAD(k) memcpy(&v##k, from + k * OX_WIDEST, OX_WIDEST);
    EACH_VECTOR(LOAD)
    NEXT;
}
static void store(STATE) {
    char *to = l->operand + at * (int64_t)sizeof(float);
#define STORE(k) memcpy(to + k * OX_WIDEST, &v##k, OX_WIDEST);
    EACH_VECTOR(STORE)
}
static void stream(STATE) {
    const vector v[] = {VECTORS};
    ox_stream_vectors(l->operand + at * (int64_t)sizeof(float), v, sizeof v);
}

/* What is wanted again further on. */
static void keep(STATE) {
    char *to = l->operand + at * (int64_t)sizeof(float);
    EACH_VECTOR(STORE)
    NEXT;
}

/* The same for elements of another type: `widen` makes v[i] of y[i], and `narrow` o[i] of v[i]. */
#define ENDS(name, T, widen, narrow)                                                                                   \
    static void load_##name(STATE) {                                                                                   \
        float v[BLOCK];                                                                                                \
        ELEMENTS(T);                                                                                                   \
        widen;                                                                                                         \
        EACH_VECTOR(TO_VECTOR)                                                                                         \
        NEXT;                                                                                                          \
    }                                                                                                                  \
    static void store_##name(STATE) {                                                                                  \
        float v[BLOCK];                                                                                                \
        T *o = (T *)(void *)l->operand + at;                                                                           \
        EACH_VECTOR(FROM_VECTOR)                                                                                       \
        narrow;                                                                                                        \
    }                                                                                                                  \
    static void stream_##name(STATE) {                                                                                 \
        float v[BLOCK];                                                                                                \
        T o[BLOCK];                                                                                                    \
        EACH_VECTOR(FROM_VECTOR)                                                                                       \
        narrow;                                                                                                        \
        ox_stream_halves((T *)(void *)l->operand + at, o, sizeof o);                                                   \
    }
#ifdef OX_CUT_VECTOR
#define CUT(T, bits)                                                                                                   \
    for (int i = 0; i < BLOCK; i += OX_CUT_VECTOR)                                                                     \
    ox_cut_##bits(o + i, v + i)
#else
#define CUT(T, bits) EACH_OF_BLOCK o[i] = (T)INT32_OF(v[i])
#endif
#define INTEGER_ENDS(T, bits) ENDS(T, T, EACH_OF_BLOCK v[i] = (float)y[i], CUT(T, bits))
INTEGER_ENDS(i8, 8)
INTEGER_ENDS(u8, 8)
INTEGER_ENDS(i16, 16)
INTEGER_ENDS(u16, 16)
INTEGER_ENDS(i32, 32)
#define WIDEN_BF16 EACH_OF_BLOCK v[i] = ox_float_from_bf16((uint16_t)y[i])
#define NARROW_BF16 EACH_OF_BLOCK o[i] = ox_bf16_from_float(v[i])
ENDS(bf16, u16, WIDEN_BF16, NARROW_BF16)
#ifdef OX_HALF_WIDEST
#define BY_WIDEST for (int i = 0; i < BLOCK; i += OX_HALF_WIDEST)
#define WIDEN_HALF BY_WIDEST ox_widen_widest(v + i, y + i)
#define NARROW_HALF BY_WIDEST ox_narrow_widest(o + i, v + i)
#else
#define WIDEN_HALF EACH_OF_BLOCK v[i] = ox_float_from_half((uint16_t)y[i])
#define NARROW_HALF EACH_OF_BLOCK o[i] = ox_half_from_float(v[i])
#endif
ENDS(half, u16, WIDEN_HALF, NARROW_HALF)

/* From one node of a type of 16 bits to the next: what the first one stores and the next one loads. */
#define ROUND(name, T, widen, narrow)                                                                                  \
    static void round_##name(STATE) {                                                                                  \
        float v[BLOCK];                                                                                                \
        T y[BLOCK], *o = y;                                                                                            \
        EACH_VECTOR(FROM_VECTOR)                                                                                       \
        narrow;                                                                                                        \
        widen;                                                                                                         \
        EACH_VECTOR(TO_VECTOR)                                                                                         \
        NEXT;                                                                                                          \
    }
ROUND(half, u16, WIDEN_HALF, NARROW_HALF)
ROUND(bf16, u16, WIDEN_BF16, NARROW_BF16)

typedef struct end_links {
    link_fn *load, *store, *stream;
} end_links;
#define ENDS_ROW(dtype, name) [dtype] = {load_##name, store_##name, stream_##name}
static const end_links ends[] = {
    [OX_FLOAT] = {load, store, stream},
    ENDS_ROW(OX_FLOAT16, half),
    ENDS_ROW(OX_BFLOAT16, bf16),
    ENDS_ROW(OX_INT8, i8),
    ENDS_ROW(OX_UINT8, u8),
    ENDS_ROW(OX_INT16, i16),
    ENDS_ROW(OX_UINT16, u16),
    ENDS_ROW(OX_INT32, i32),
};

static void prefetch(STATE) {
    ox_prefetch_lines((uintptr_t)(l->operand + at * l->width), (size_t)(BLOCK * l->width));
    NEXT;
}

/* ---- Running ------------------------------------------------------------------------------------------------- */

/* Gives a link its operand that repeats. Constants that are not NaN take a cheaper Max or Min link. */
static void bind_one(link *l, const ox_link *how, const char *y) {
    l->one = *(const f32 *)(const void *)y;
    if (how->kind == OX_LINK_Max) {
        link_fn *limit = l->one == 0 && !signbit(l->one) ? Max_zero : Max_limit;
        l->fn = is_low(l->one) ? limit : pair_links[OX_LINK_Max][how->is_right].one;
    } else if (how->kind == OX_LINK_Min)
        l->fn = is_high(l->one) ? Min_limit : pair_links[OX_LINK_Min][how->is_right].one;
}

/* Makes *l the link of two operands, the other one of which lies at y. */
static void bind_pair(link *l, const ox_link *how, char *y, int64_t step) {
    const pair_fns *fns = &pair_links[how->kind][how->is_right];
    *l = (link){.fn = step ? fns->each : fns->one, .operand = y, .attr = how->attr};
    if (!step)
        bind_one(l, how, y);
}

/* What the loop is called with. */
typedef struct chain_call {
    const ox_chain *chain;
    char *const *arg;
    int64_t row;                                      /* elements in a row; all if there are none */
    int64_t step[OX_CHAIN_ARGS], next[OX_CHAIN_ARGS]; /* bytes from element to element, and from row to row */
} chain_call;

/* The link that takes an argument, and what it does if it takes two. */
typedef struct chain_place {
    link *link;
    const ox_link *how;
} chain_place;

/* Links with their operands, each at its place. */
static void bind(const chain_call *call, char *const arg[], const int64_t step[], link *links, chain_place *place) {
    const ox_chain *chain = call->chain;
    int k = 1;
    for (int a = 1; a <= call->chain->nargs; a++)
        if (step[a] < 0)
            *links++ = (link){.fn = prefetch, .operand = arg[a], .width = -step[a]};
    place[1] = (chain_place){links, NULL};
    *links++ = (link){.fn = ends[chain->from].load, .operand = arg[1]};
    for (int i = 0; i < chain->count; i++) {
        const ox_link *how = &chain->links[i];
        if (how->kind == OX_LINK_Keep) {
            place[++k] = (chain_place){links, NULL};
            *links++ = (link){.fn = keep, .operand = arg[k]};
            continue;
        }
        if (how->kind > OX_LINK_Keep) {
            *links++ = (link){.fn = how->kind == OX_LINK_Half ? round_half : round_bf16};
            continue;
        }
        if (how->kind > OX_LINK_LAST_PAIR) {
            *links++ = (link){.fn = map_links[how->kind - OX_LINK_PAIRS], .attr = how->attr};
            continue;
        }
        place[++k] = (chain_place){links, how};
        bind_pair(links++, how, arg[k], step[k]);
    }
    place[0] = (chain_place){links, NULL};
    *links = (link){.fn = step[0] < 0 ? ends[chain->to].stream : ends[chain->to].store, .operand = arg[0]};
}

/* A place: element `at`, which belongs to a row that ends at element `end`. */
typedef struct chain_at {
    int64_t at, row, end;
} chain_at;

static void go_on(const chain_call *call, chain_at *place, int64_t count) {
    for (place->at += count; place->end <= place->at; place->end += call->row)
        place->row++;
}

/* Elements of an argument, laid out. One for each row is so for the whole of it, whatever is to follow there: a length
 * that changes would cost more. */
typedef float chain_block[2 * BLOCK];

/* Bytes of an element that is laid out. */
static int64_t laid_width(const chain_call *call, int k) {
    return call->step[k] ? call->step[k] : (int64_t)sizeof(float);
}

static void lay_out(const chain_call *call, int k, const chain_at *from, int64_t count, float *block) {
    const int64_t step = call->step[k], most = LESS_OF(call->row, BLOCK);
    const char *x = call->arg[k] + from->row * call->next[k];
    char *to = (char *)block;
    int64_t first = call->row - (from->end - from->at); /* of the row's elements */
    for (int64_t length; count > 0; count -= length, first = 0, x += call->next[k]) {
        length = LESS_OF(count, call->row - first);
        if (step) {
            memcpy(to, x + first * step, (size_t)(length * step));
            to += length * step;
            continue;
        }
        float one, *each = (float *)(void *)to;
        memcpy(&one, x, sizeof one);
        for (int64_t i = 0; i < most; i += LANES)
            for (int64_t p = 0; p < LANES; p++)
                each[i + p] = one;
        to += length * (int64_t)sizeof one;
    }
}

static bool is_kept(const ox_chain *chain, int k) {
    return chain->kept >> k & 1;
}

/* What is less than a block goes through the same loop, as a block that is filled up: so is what is kept, in its place.
 */
static void run_some(const chain_call *call, const chain_at *from, int64_t count) {
    const vector none = {0};
    chain_block blocks[OX_CHAIN_ARGS];
    char *part[OX_CHAIN_ARGS];
    int64_t step[OX_CHAIN_ARGS];
    link links[2 * OX_CHAIN_ARGS];
    chain_place place[OX_CHAIN_ARGS];
    part[0] = (char *)blocks[0];
    step[0] = call->step[0];
    for (int k = 1; k <= call->chain->nargs; k++) {
        part[k] = call->arg[k];
        step[k] = 0;
        if (is_kept(call->chain, k)) {
            step[k] = call->step[k];
            part[k] += from->at * step[k];
            continue;
        }
        if (!call->step[k] && !call->next[k])
            continue;
        step[k] = laid_width(call, k);
        for (int64_t i = 0; i < BLOCK; i += LANES)
            memcpy(blocks[k] + i, &none, sizeof none);
        lay_out(call, k, from, count, blocks[k]);
        part[k] = (char *)blocks[k];
    }
    bind(call, part, step, links, place);
    links[0].fn(links, 0, NO_VECTORS);
    memcpy(call->arg[0] + from->at * step[0], blocks[0], (size_t)(count * step[0]));
}

/* Links for whole blocks of a row, and for those that lie in several rows: what does not go on from one row to the next
 * is laid out for these. */
typedef struct chain_links {
    link within[2 * OX_CHAIN_ARGS], across[2 * OX_CHAIN_ARGS];
    chain_place place[OX_CHAIN_ARGS], place_across[OX_CHAIN_ARGS];
    int nrestored, restored[OX_CHAIN_ARGS]; /* arguments that do not go on */
    int npicked, picked[OX_CHAIN_ARGS];     /* those that are picked for blocks in several rows, */
    int nlaid, laid[OX_CHAIN_ARGS];         /* and those that are laid out */
    block_rows rows;
} chain_links;

/* Whether an argument's elements are picked for a block, which lies in few rows: one after the other, one for each. */
static bool is_picked(const chain_call *call, int k) {
    return !call->step[k] && call->next[k] == (int64_t)sizeof(float) && BLOCK <= call->row * (MOST_ROWS - 2);
}

static void bind_rows(const chain_call *call, const int64_t step[], chain_links *l) {
    int64_t across[OX_CHAIN_ARGS];
    bind(call, call->arg, step, l->within, l->place);
    l->nrestored = l->npicked = l->nlaid = 0;
    if (!call->chain->row)
        return;
    for (int k = 0; k <= call->chain->nargs; k++) {
        across[k] = step[k];
        if (k == 0 || call->next[k] == call->row * call->step[k])
            continue;
        across[k] = laid_width(call, k);
        l->restored[l->nrestored++] = k;
        if (is_picked(call, k))
            l->picked[l->npicked++] = k;
        else
            l->laid[l->nlaid++] = k;
    }
    bind(call, call->arg, across, l->across, l->place_across);
    for (int i = 0; i < l->npicked; i++) {
        const chain_place *place = &l->place_across[l->picked[i]];
        place->link->fn = pair_links[place->how->kind][place->how->is_right].rows;
        place->link->rows = &l->rows;
    }
}

/* Where element 0 would lie: links count from there. */
static char *origin(const void *from, int64_t elements, int64_t width) {
    return (char *)((uintptr_t)from - (uintptr_t)(elements * width));
}

static void run_within(const chain_call *call, chain_links *l, chain_at *from) {
    const vector none = {0};
    for (int i = 0; i < l->nrestored; i++) {
        const int k = l->restored[i];
        char *x = call->arg[k] + from->row * call->next[k];
        if (call->step[k])
            l->place[k].link->operand = origin(x, from->end - call->row, call->step[k]);
        else
            bind_one(l->place[k].link, l->place[k].how, x);
    }
    int64_t at = from->at;
    for (; from->end - at >= BLOCK; at += BLOCK)
        l->within[0].fn(l->within, at, NO_VECTORS);
    go_on(call, from, at - from->at);
}

/* The first row of a block goes on for `first` elements, the others have `row`. */
static void find_rows(block_rows *rows, int64_t first, int64_t row) {
    uint32_t of[BLOCK] = {0};
    rows->count = 1;
    for (; first < BLOCK; first += row, rows->count++)
        for (int i = 0; i < BLOCK; i++)
            of[i] += (uint32_t)(i >= (int)first);
    memcpy(rows->of, of, sizeof of);
}

static void run_across(const chain_call *call, chain_links *l, chain_at *from) {
    const vector none = {0};
    chain_block blocks[OX_CHAIN_ARGS];
    if (l->npicked)
        find_rows(&l->rows, from->end - from->at, call->row);
    for (int i = 0; i < l->npicked; i++) {
        const int k = l->picked[i];
        l->place_across[k].link->operand = call->arg[k] + from->row * call->next[k];
    }
    for (int i = 0; i < l->nlaid; i++) {
        const int k = l->laid[i];
        lay_out(call, k, from, BLOCK, blocks[k]);
        l->place_across[k].link->operand = origin(blocks[k], from->at, laid_width(call, k));
    }
    l->across[0].fn(l->across, from->at, NO_VECTORS);
    go_on(call, from, BLOCK);
}

/* ---- Rows one by one ------------------------------------------------------------------------------------------- */

/* What is less than a block, filled up, into `to`. */
static void run_less(const chain_call *call, link *links, const chain_place *place, int64_t n, char *to) {
    chain_block blocks[OX_CHAIN_ARGS];
    char *from[OX_CHAIN_ARGS];
    const vector none = {0};
    place[0].link->operand = (char *)blocks[0];
    for (int k = 1; k <= call->chain->nargs; k++) {
        from[k] = place[k].link->operand;
        if (!call->step[k] || is_kept(call->chain, k))
            continue;
        for (int64_t i = 0; i < BLOCK; i += LANES)
            memcpy(blocks[k] + i, &none, sizeof none);
        place[k].link->operand = memcpy(blocks[k], from[k], (size_t)(n * call->step[k]));
    }
    links->fn(links, 0, NO_VECTORS);
    for (int k = 1; k <= call->chain->nargs; k++)
        place[k].link->operand = from[k];
    memcpy(to, blocks[0], (size_t)(n * call->step[0]));
}

/* A row, behind which `beyond` elements of each argument may be read and written. The last block, which is whole, comes
 * first: the result may lie where operands do. */
static void run_row(const chain_call *call, link *links, const chain_place *place, int64_t beyond, char *to) {
    const vector none = {0};
    const int64_t n = call->row, rest = n % BLOCK, before = n - BLOCK, width = call->step[0];
    chain_block last;
    if (n + beyond < BLOCK) {
        run_less(call, links, place, n, to);
        return;
    }
    if (rest && before >= 0) {
        place[0].link->operand = origin(last, before, width);
        links->fn(links, before, NO_VECTORS);
    }
    place[0].link->operand = to;
    int64_t at = 0;
    do
        links->fn(links, at, NO_VECTORS);
    while (n - (at += BLOCK) >= BLOCK);
    if (rest && before >= 0)
        memcpy(to + before * width, last, (size_t)(BLOCK * width));
}

/* Rows of call->row elements, whose arguments go on by call->next[] bytes: any that are not prefetched, and results
 * that do not go past the caches. Where rows lie side by side, `more` are known to follow; it is -1 elsewhere. */
static void run_rows(const chain_call *call, int64_t rows, int64_t more) {
    link links[2 * OX_CHAIN_ARGS];
    chain_place place[OX_CHAIN_ARGS];
    bind(call, call->arg, call->step, links, place);
    for (int64_t r = 0; r < rows; r++) {
        for (int k = 1; k <= call->chain->nargs && r; k++) {
            link *l = place[k].link;
            l->operand += call->next[k];
            if (!call->step[k] && call->next[k])
                bind_one(l, place[k].how, l->operand);
        }
        const int64_t beyond = more < 0 ? 0 : (more + rows - 1 - r) * call->row;
        run_row(call, links, place, beyond, call->arg[0] + r * call->next[0]);
    }
}

/* Results of rows. Those that go past the caches do so in whole lines. */
static void store_rows(char *to, const float *block, int64_t n, bool streams) {
    const int64_t width = (int64_t)sizeof *block, offset = (int64_t)((uintptr_t)to % OX_LINE);
    const int64_t head = streams && offset % width == 0 ? LESS_OF((OX_LINE - offset) % OX_LINE / width, n) : n;
    const int64_t whole = (n - head) & -(int64_t)(OX_LINE / sizeof *block), rest = n - head - whole;
    memcpy(to, block, (size_t)(head * width));
    ox_stream_lines(to + head * width, block + head, (size_t)(whole * width));
    memcpy(to + (head + whole) * width, block + head + whole, (size_t)(rest * width));
}

/* Short rows side by side, some at a time: each is begun with a whole block, and the next row replaces what is too
 * much. What they give goes past the caches in whole lines. */
enum {
    SHORT = 1024, /* elements of a row, at most */
    ROOM = 2 * SHORT
};
static void run_short_rows(const chain_call *call, const int64_t given[], int64_t rows) {
    float block[ROOM + BLOCK] __attribute__((aligned(OX_LINE)));
    char *arg[OX_CHAIN_ARGS];
    chain_call some = *call;
    some.arg = arg;
    for (int64_t r = 0, count; r < rows; r += count) {
        count = LESS_OF(ROOM / call->row, rows - r);
        for (int k = 0; k <= call->chain->nargs; k++)
            arg[k] = call->arg[k] + r * call->next[k];
        if (given[1] < 0)
            ox_prefetch_lines((uintptr_t)arg[1], (size_t)(count * call->next[1]));
        char *to = arg[0];
        arg[0] = (char *)block;
        run_rows(&some, count, rows - r - count);
        store_rows(to, block, count * call->row, given[0] < 0);
    }
}

/* How a chain goes over its rows: block by block, whatever rows these lie in; row by row; or by short rows side by
 * side, for which it must be of floats. */
typedef enum row_kind {
    BY_BLOCK,
    BY_ROW,
    BY_SHORT_ROWS
} row_kind;

static row_kind kind_of_rows(const chain_call *call, const int64_t given[]) {
    bool streams = given[0] < 0, side_by_side = call->chain->row && call->chain->to == OX_FLOAT;
    for (int k = 0; k <= call->chain->nargs; k++) {
        streams |= given[k] < 0;
        side_by_side &= !call->step[k] || call->next[k] == call->row * call->step[k];
    }
    if (!streams && (call->row >= BLOCK || !call->chain->row))
        return BY_ROW;
    return side_by_side && call->row >= BLOCK / 2 && call->row <= SHORT ? BY_SHORT_ROWS : BY_BLOCK;
}

/* ---- All rows ------------------------------------------------------------------------------------------------ */

ox_lane OX_VARIANT(ox_chain_run);
int OX_VARIANT(ox_chain_run)(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const ox_chain *chain = attr;
    int64_t given[OX_CHAIN_ARGS];
    chain_call call; /* to clear it takes as long as a short chain */
    call.chain = chain;
    call.arg = arg;
    call.row = chain->row ? chain->row : n;
    for (int k = 0; k <= chain->nargs; k++) {
        given[k] = step[k];
        call.step[k] = step[k] < 0 ? -step[k] : step[k];
        call.next[k] = chain->row ? chain->next[k] : 0;
    }
    const row_kind kind = !n || n % call.row ? BY_BLOCK : kind_of_rows(&call, step);
    if (kind != BY_BLOCK) {
        if (kind == BY_ROW)
            run_rows(&call, n / call.row, -1);
        else
            run_short_rows(&call, step, n / call.row);
        ox_vectors_end();
        return 0;
    }
    chain_at from = {.end = call.row};
    if (step[0] < 0) {
        const int64_t offset = (int64_t)((uintptr_t)arg[0] % OX_LINE), first = (OX_LINE - offset) % OX_LINE;
        if (offset % call.step[0])
            given[0] = call.step[0];
        else if (first && n) {
            const int64_t count = LESS_OF(first / call.step[0], n);
            run_some(&call, &from, count);
            go_on(&call, &from, count);
        }
    }
    if (n - from.at >= BLOCK) {
        chain_links links;
        bind_rows(&call, given, &links);
        while (n - from.at >= BLOCK)
            if (from.end - from.at >= BLOCK)
                run_within(&call, &links, &from);
            else
                run_across(&call, &links, &from);
    }
    if (from.at < n)
        run_some(&call, &from, n - from.at);
    ox_vectors_end();
    return 0;
}

ox_chain_rows_fn OX_VARIANT(ox_chain_rows);
void OX_VARIANT(ox_chain_rows)(int64_t rows, int64_t n, char *const arg[], const int64_t step[], const int64_t next[],
                               const ox_chain *chain) {
    chain_call call;
    call.chain = chain;
    call.arg = arg;
    call.row = n;
    bool side_by_side = n < BLOCK && rows > 1;
    for (int k = 0; k <= chain->nargs; k++) {
        call.step[k] = step[k];
        call.next[k] = next[k];
        side_by_side &= !step[k] || is_kept(chain, k) || next[k] == n * step[k];
    }
    if (side_by_side && !chain->kept) {
        ox_chain with_rows = *chain;
        with_rows.row = n;
        with_rows.next = next;
        OX_VARIANT(ox_chain_run)(rows * n, arg, step, &with_rows);
        return;
    }
    if (side_by_side && chain->to == OX_FLOAT)
        run_short_rows(&call, step, rows);
    else
        run_rows(&call, rows, -1);
    ox_vectors_end();
}
#endif
