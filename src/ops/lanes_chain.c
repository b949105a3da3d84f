/* lanes_chain.c: the loop of chains (chain.h). Each link is a function that takes some vectors of elements as
 * arguments, and calls the next one with what it made of them: a jump, for nothing is left to do after it, and the
 * vectors stay in registers all the way. */
#include "../half.h"
#include "chain.h"
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
    BLOCK = (0 EACH_VECTOR(ONE_MORE)) * LANES
};
_Static_assert(OX_LINE % BLOCK == 0, "what goes past the caches is whole blocks");
#define NEXT l[1].fn(l + 1, at, VECTORS)

typedef struct link link;
typedef void link_fn(STATE);
struct link {
    link_fn *fn;
    char *operand; /* where it begins, if it has one */
    float one;     /* the operand that repeats, */
    float zero;    /* and what is added behind it as a lower limit (lane_order.h) */
    union {
        const void *attr; /* of an operation */
        int64_t width;    /* bytes of an element that is asked for */
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

/* The other operand is an element of each place, or one that repeats, and the right one or the left one. */
#define ELEMENTS(T) const T *y = (const T *)(const void *)l->operand + at
#define PAIR_LINKS(name, e)                                                                                            \
    LINK(name##_each, ELEMENTS(f32), v[i], y[i], e)                                                                    \
    LINK(name##_one, const float one = l->one, v[i], one, e)                                                           \
    LINK(each_##name, ELEMENTS(f32), y[i], v[i], e)                                                                    \
    LINK(one_##name, const float one = l->one, one, v[i], e)
ARITHMETIC_MAPS(PAIR_LINKS)
QUANTIZE_MAPS(PAIR_LINKS)
PAIR_LINKS(Div, a / b)
PAIR_LINKS(Max, max_f32(a, b))
PAIR_LINKS(Min, min_f32(a, b))
PAIR_LINKS(PRelu, a < 0 ? a * b : a)

/* Max and Min against a limit. */
LINK(Max_limit, const float one = l->one; const float zero = l->zero, v[i], one, at_least(a, b, zero))
LINK(Min_limit, const float one = l->one, v[i], one, at_most(a, b))

#define PAIR_ROW(name) {name##_each, name##_one, each_##name, one_##name},
static link_fn *const pair_links[][4] = {OX_PAIR_LINKS(PAIR_ROW)};
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
#define INTEGER_ENDS(T) ENDS(T, T, EACH_OF_BLOCK v[i] = (float)y[i], EACH_OF_BLOCK o[i] = (T)INT32_OF(v[i]))
INTEGER_ENDS(i8)
INTEGER_ENDS(u8)
INTEGER_ENDS(i16)
INTEGER_ENDS(u16)
INTEGER_ENDS(i32)
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

static void ask(STATE) {
    ox_ask_lines((uintptr_t)(l->operand + at * l->width), (size_t)(BLOCK * l->width));
    NEXT;
}

/* ---- Running ------------------------------------------------------------------------------------------------- */

/* The link of two operands, the other one of which lies at y. */
static link pair_of(const ox_link *how, char *y, int64_t step) {
    link l = {.fn = pair_links[how->kind][2 * how->is_right + !step], .operand = y, .attr = how->attr};
    if (step)
        return l;
    l.one = *(const f32 *)(const void *)y;
    l.zero = zero_below(l.one);
    if (how->kind == OX_LINK_Max && is_low(l.one))
        l.fn = Max_limit;
    if (how->kind == OX_LINK_Min && is_high(l.one))
        l.fn = Min_limit;
    return l;
}

/* Links with their operands. */
static void bind(const ox_chain *chain, int nargs, char *const arg[], const int64_t step[], link *links) {
    int k = 1;
    for (int a = 1; a <= nargs; a++)
        if (step[a] < 0)
            *links++ = (link){.fn = ask, .operand = arg[a], .width = -step[a]};
    *links++ = (link){.fn = ends[chain->from].load, .operand = arg[1]};
    for (int i = 0; i < chain->count; i++) {
        const ox_link *how = &chain->links[i];
        if (how->kind > OX_LINK_LAST_PAIR) {
            *links++ = (link){.fn = map_links[how->kind - OX_LINK_PAIRS], .attr = how->attr};
            continue;
        }
        k++;
        *links++ = pair_of(how, arg[k], step[k]);
    }
    *links = (link){.fn = step[0] < 0 ? ends[chain->to].stream : ends[chain->to].store, .operand = arg[0]};
}

ox_lane OX_VARIANT(ox_chain_run);
int OX_VARIANT(ox_chain_run)(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const ox_chain *chain = attr;
    const int64_t whole = n & -(int64_t)BLOCK, left = n - whole;
    const vector none = {0};
    link links[2 * OX_CHAIN_ARGS];
    int nargs = 1;
    for (int i = 0; i < chain->count; i++)
        nargs += chain->links[i].kind <= OX_LINK_LAST_PAIR;
    if (whole)
        bind(chain, nargs, arg, step, links);
    for (int64_t at = 0; at < whole; at += BLOCK)
        links[0].fn(links, at, NO_VECTORS);
    if (!left)
        return 0;
    /* What is left over goes through the same loop, as a block that is filled up. */
    float rest[OX_CHAIN_ARGS][BLOCK];
    char *part[OX_CHAIN_ARGS] = {(char *)rest[0]};
    for (int k = 1; k <= nargs; k++) {
        part[k] = step[k] ? (char *)rest[k] : arg[k];
        if (step[k]) {
            memset(rest[k], 0, sizeof rest[k]);
            memcpy(rest[k], arg[k] + whole * step[k], (size_t)(left * step[k]));
        }
    }
    bind(chain, nargs, part, step, links);
    links[0].fn(links, 0, NO_VECTORS);
    memcpy(arg[0] + whole * step[0], rest[0], (size_t)(left * step[0]));
    return 0;
}
#endif
