/* lanes_chain.c: the loop of chains (chain.h). Each link is a function that takes some vectors of elements as
 * arguments, and calls the next one with what it made of them: a jump, for nothing is left to do after it, and the
 * vectors stay in registers all the way. */
#include "half.h"
#include "loops/chain.h"
#include "lane_maps.h"
#include "lane_order.h"

#if !OX_SMALL /* devices run loop by loop */
typedef float vector __attribute__((vector_size(OX_WIDEST)));

/* The vectors of a block. Each jump takes longer than a few of them, and with 16 registers calls pass eight: these take
 * 0.6 to 0.9 of the time of four (Zen 3). As many of the widest, which hold twice as much, gain nothing more; where
 * instructions have two operands, too few registers are left. */
#if OX_WIDEST == 32
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
    float one;              /* the operand that repeats, */
    float zero;             /* and what is added behind it as a lower limit (lane_order.h) */
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
#else
MAP_LINK(Erf, ox_erff(a))
MAP_LINK(Exp, ox_expf(a))
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

/* Max and Min against a limit. */
LINK(Max_limit, const float one = l->one; const float zero = l->zero, v[i], one, at_least(a, b, zero))
LINK(Min_limit, const float one = l->one, v[i], one, at_most(a, b))

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
ENDS(bf16, u16, EACH_OF_BLOCK v[i] = ox_float_from_bf16((uint16_t)y[i]), EACH_OF_BLOCK o[i] = ox_bf16_from_float(v[i]))
#ifdef OX_HALF_WIDEST
#define BY_WIDEST for (int i = 0; i < BLOCK; i += OX_HALF_WIDEST)
ENDS(half, u16, BY_WIDEST ox_widen_widest(v + i, y + i), BY_WIDEST ox_narrow_widest(o + i, v + i))
#else
ENDS(half, u16, EACH_OF_BLOCK v[i] = ox_float_from_half((uint16_t)y[i]), EACH_OF_BLOCK o[i] = ox_half_from_float(v[i]))
#endif

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
        l->zero = zero_below(l->one);
        l->fn = is_low(l->one) ? Max_limit : pair_links[OX_LINK_Max][how->is_right].one;
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
        if (how->kind > OX_LINK_LAST_PAIR) {
            *links++ = (link){.fn = map_links[how->kind - OX_LINK_PAIRS], .attr = how->attr};
            continue;
        }
        place[++k] = (chain_place){links, how};
        bind_pair(links++, how, arg[k], step[k]);
    }
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

/* What is less than a block goes through the same loop, as a block that is filled up. */
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

/* ---- Short rows ---------------------------------------------------------------------------------------------- */

/* A row of a few blocks takes a third of the time without jumps, whose links are bound to their operands first: where
 * operations are plain, a switch chooses what becomes of a few vectors. */
enum {
    SHORT = 1024, /* elements of a row, at most */
    SOME = 4 * LANES
};
typedef struct short_link {
    const ox_link *how;
    const char *operand; /* that belongs to the first element */
    int64_t step;
    const char *of_rows; /* where it begins in rows side by side, and from one of these to the next one */
    int64_t next;
    vector one; /* what repeats, */
    float zero; /* and what is added behind it as a lower limit (lane_order.h) */
} short_link;

typedef int32_t mask __attribute__((vector_size(OX_WIDEST)));
OX_INLINED vector choose(mask which, vector yes, vector no) {
    return (vector)((which & (mask)yes) | (~which & (mask)no));
}

/* What becomes of a vector v by its operand y; the expressions are those of lane_maps.h and lane_order.h. */
#define SHORT_ADD(v, y) v + y
#define SHORT_SUB(v, y) (is_right ? y - v : v - y)
#define SHORT_MUL(v, y) v *y
#define SHORT_DIV(v, y) (is_right ? y / v : v / y)
#define SHORT_RELU(v, y) choose(v <= 0, none, v)
#define SHORT_MAX(v, y) choose(y > v, y, v) + l->zero
#define SHORT_MIN(v, y) choose(y < v, y, v) + -0.0F
#define BY_ONE(k, e) v##k = e(v##k, one);
#define BY_EACH(k, e)                                                                                                  \
    memcpy(&y, each + k * OX_WIDEST, OX_WIDEST);                                                                       \
    v##k = e(v##k, y);
#define SHORT_CASE(EACH, name, e)                                                                                      \
    case OX_LINK_##name:                                                                                               \
        if (l->step) {                                                                                                 \
            EACH(BY_EACH, e)                                                                                           \
        } else {                                                                                                       \
            EACH(BY_ONE, e)                                                                                            \
        }                                                                                                              \
        break;
#define LOAD_SHORT(k, _)                                                                                               \
    vector v##k;                                                                                                       \
    memcpy(&v##k, from + at * (int64_t)sizeof(float) + k * OX_WIDEST, OX_WIDEST);
#define STORE_SHORT(k, _) memcpy(to + at * (int64_t)sizeof(float) + k * OX_WIDEST, &v##k, OX_WIDEST);

/* SOME elements from `at` on, and BLOCK. */
#define SHORT_RUN(name, EACH)                                                                                          \
    OX_INLINED void name(char *to, const char *from, const short_link *links, int nlinks, int64_t at) {                \
        const vector none = {0};                                                                                       \
        EACH(LOAD_SHORT, )                                                                                             \
        for (const short_link *l = links; l < links + nlinks; l++) {                                                   \
            const bool is_right = l->how->is_right;                                                                    \
            const char *each = l->operand + at * l->step;                                                              \
            const vector one = l->one;                                                                                 \
            vector y;                                                                                                  \
            switch ((int)l->how->kind) {                                                                               \
                SHORT_CASE(EACH, Add, SHORT_ADD)                                                                       \
                SHORT_CASE(EACH, Sub, SHORT_SUB)                                                                       \
                SHORT_CASE(EACH, Mul, SHORT_MUL)                                                                       \
                SHORT_CASE(EACH, Div, SHORT_DIV)                                                                       \
                SHORT_CASE(EACH, Max, SHORT_MAX)                                                                       \
                SHORT_CASE(EACH, Min, SHORT_MIN)                                                                       \
            case OX_LINK_Relu:                                                                                         \
                EACH(BY_ONE, SHORT_RELU)                                                                               \
                break;                                                                                                 \
            default:                                                                                                   \
                break;                                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        EACH(STORE_SHORT, )                                                                                            \
    }
#define EACH_OF_SOME(M, e) M(0, e) M(1, e) M(2, e) M(3, e)
#if OX_WIDEST == 32
#define EACH_IN_BLOCK(M, e) EACH_OF_SOME(M, e) M(4, e) M(5, e) M(6, e) M(7, e)
#else
#define EACH_IN_BLOCK EACH_OF_SOME
#endif
SHORT_RUN(run_few, EACH_OF_SOME)
SHORT_RUN(run_many, EACH_IN_BLOCK)

/* Whether an operation is plain; a limit is where one comparison with it is enough. */
static bool is_plain(const short_link *l) {
    const ox_link *how = l->how;
    if (how->kind == OX_LINK_Max || how->kind == OX_LINK_Min)
        return !l->step && !l->next && !how->is_right &&
               (how->kind == OX_LINK_Max ? is_low(l->one[0]) : is_high(l->one[0]));
    return how->kind <= OX_LINK_Div || how->kind == OX_LINK_Relu;
}

/* Gives a link its operand, which is one for all elements if it has no step. */
static void bind_short(short_link *l, const char *operand) {
    l->operand = operand;
    if (l->step)
        return;
    const float one = *(const f32 *)(const void *)operand;
    l->one = one - (vector){0}; /* which keeps -0 */
    l->zero = zero_below(one);
}

/* The links of a row, or of rows side by side, with their operands; false if they are not all plain. */
static bool find_links(char *const arg[], const int64_t step[], const ox_chain *chain, short_link *l) {
    int k = 1;
    for (int i = 0; i < chain->count; i++, l++) {
        l->how = &chain->links[i]; /* to clear all of it takes as long as to go over a few vectors */
        l->operand = arg[0];
        l->step = l->next = 0;
        if (l->how->kind <= OX_LINK_LAST_PAIR) {
            l->of_rows = arg[++k];
            l->step = step[k] < 0 ? -step[k] : step[k];
            l->next = chain->row ? chain->next[k] : 0;
            bind_short(l, l->of_rows);
        }
        if (!is_plain(l) || (chain->row && l->step && l->next != chain->row * l->step))
            return false;
    }
    return true;
}

/* The links of a short row. */
static bool find_short(int64_t n, char *const arg[], const int64_t step[], const ox_chain *chain, short_link *links) {
    if (n > SHORT || chain->row || chain->from != OX_FLOAT || chain->to != OX_FLOAT)
        return false;
    for (int a = 0; a <= chain->nargs; a++)
        if (step[a] < 0)
            return false;
    return find_links(arg, step, chain, links);
}

/* The links of short rows, half of whose vectors are full at least. */
static bool find_short_rows(int64_t n, char *const arg[], const int64_t step[], const ox_chain *chain,
                            short_link *links) {
    const int64_t row = chain->row, bytes = row * (int64_t)sizeof(float);
    return row >= SOME / 2 && row <= SHORT && n % row == 0 && chain->from == OX_FLOAT && chain->to == OX_FLOAT &&
           step[1] && chain->next[0] == bytes && chain->next[1] == bytes && find_links(arg, step, chain, links);
}

/* What is less than SOME elements, filled up. */
static void run_rest(char *const arg[], short_link *links, int nlinks, int64_t at, int64_t count) {
    static const float zeros[SOME];
    float x[OX_CHAIN_LINKS + 1][SOME];
    const size_t bytes = (size_t)count * sizeof(float);
    memcpy(x[0], zeros, sizeof zeros);
    memcpy(x[0], arg[1] + at * (int64_t)sizeof(float), bytes);
    for (int i = 0; i < nlinks; i++)
        if (links[i].step) {
            memcpy(x[i + 1], zeros, sizeof zeros);
            memcpy(x[i + 1], links[i].operand + at * links[i].step, bytes);
            links[i].operand = (const char *)x[i + 1];
        }
    run_few((char *)x[0], (const char *)x[0], links, nlinks, 0);
    memcpy(arg[0] + at * (int64_t)sizeof(float), x[0], bytes);
}

/* The last SOME elements, some of which have their results already, come first: the result may lie where operands do.
 */
static void run_short(int64_t n, char *const arg[], short_link *links, int nlinks) {
    float last[SOME];
    const int64_t rest = n % SOME, before = n - SOME;
    int64_t at = 0;
    if (n < SOME) {
        run_rest(arg, links, nlinks, 0, n);
    } else {
        if (rest)
            run_few(origin(last, before, sizeof *last), arg[1], links, nlinks, before);
        for (; n - at >= BLOCK; at += BLOCK)
            run_many(arg[0], arg[1], links, nlinks, at);
        for (; n - at >= SOME; at += SOME)
            run_few(arg[0], arg[1], links, nlinks, at);
        if (rest)
            memcpy(arg[0] + before * (int64_t)sizeof *last, last, sizeof last);
    }
    ox_vectors_end();
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

/* Rows side by side, some at a time: the last vectors of each are whole, and the next row replaces what is too much. */
static void run_short_rows(int64_t n, char *const arg[], const int64_t step[], const ox_chain *chain,
                           short_link *links) {
    enum {
        ROOM = 2 * SHORT
    };
    float block[ROOM + BLOCK] __attribute__((aligned(OX_LINE)));
    const int64_t row = chain->row, bytes = row * (int64_t)sizeof *block, rows = n / row;
    for (int64_t r = 0, end; r < rows; r = end) {
        float *o = block;
        char *const first = arg[0] + r * bytes;
        end = LESS_OF(rows, r + ROOM / row);
        if (step[1] < 0)
            ox_prefetch_lines((uintptr_t)(arg[1] + r * bytes), (size_t)((end - r) * bytes));
        for (; r < end; r++, o += row) {
            char *const of_row[] = {(char *)o, arg[1] + r * bytes};
            const int64_t beyond = LESS_OF(SOME - 1, (rows - 1 - r) * row); /* what may be read behind the row */
            int64_t at = 0;
            for (int i = 0; i < chain->count; i++)
                if (links[i].how->kind <= OX_LINK_LAST_PAIR)
                    bind_short(&links[i], links[i].of_rows + r * links[i].next);
            for (; row - at + beyond >= BLOCK; at += BLOCK)
                run_many(of_row[0], of_row[1], links, chain->count, at);
            for (; at < row && row - at + beyond >= SOME; at += SOME)
                run_few(of_row[0], of_row[1], links, chain->count, at);
            if (at < row && row >= SOME)
                run_few(of_row[0], of_row[1], links, chain->count, row - SOME);
            else if (at < row)
                run_rest(of_row, links, chain->count, at, row - at);
        }
        store_rows(first, block, o - block, step[0] < 0);
    }
    ox_vectors_end();
}

/* ---- All rows ------------------------------------------------------------------------------------------------ */

ox_lane OX_VARIANT(ox_chain_run);
int OX_VARIANT(ox_chain_run)(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const ox_chain *chain = attr;
    int64_t given[OX_CHAIN_ARGS];
    short_link links_of_row[OX_CHAIN_LINKS];
    if (find_short(n, arg, step, chain, links_of_row)) {
        run_short(n, arg, links_of_row, chain->count);
        return 0;
    }
    if (find_short_rows(n, arg, step, chain, links_of_row)) {
        run_short_rows(n, arg, step, chain, links_of_row);
        return 0;
    }
    chain_call call; /* to clear it takes as long as a short chain */
    call.chain = chain;
    call.arg = arg;
    call.row = chain->row ? chain->row : n;
    for (int k = 0; k <= chain->nargs; k++) {
        given[k] = step[k];
        call.step[k] = step[k] < 0 ? -step[k] : step[k];
        call.next[k] = chain->row ? chain->next[k] : 0;
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
#endif
