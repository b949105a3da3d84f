/* test_chain.c: chains give what the loops of their operations give one after the other. */
#include "src/loops/chain.h"
#include "builds.h"
#include "expect.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum {
    SHORT = 150, /* elements of a row that may have such a loop */
    LONGEST = 320,
    CHAINS = 2000
};

static uint64_t drawn;
static unsigned draw(unsigned below) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(drawn >> 33) % below;
}

static float draw_float(void) {
    static const float special[] = {0.0F, -0.0F, 1, -1, 0.5F, 3, INFINITY, -INFINITY, NAN, 0x1p-149F, 1e30F, -1e-30F};
    return draw(8) ? (float)((int)draw(4001) - 2000) / 256 : special[draw(sizeof special / sizeof *special)];
}

static const ox_lane_set lanes[] = {
#define LANES(name) OX_LANES_##name,
    OX_PAIR_LINKS(LANES) OX_MAP_LINKS(LANES)
#undef LANES
};
static const char *const names[] = {
#define NAME(name) #name,
    OX_PAIR_LINKS(NAME) OX_MAP_LINKS(NAME)
#undef NAME
};

typedef struct drawn_chain {
    ox_chain chain;
    ox_link links[OX_CHAIN_LINKS];
    int64_t next[OX_CHAIN_ARGS];
    int64_t n, row, step[OX_CHAIN_ARGS]; /* a row is all elements where the chain has none */
    int place[OX_CHAIN_ARGS];            /* whose memory an argument is: of what was kept, that of the link that did */
    char arg[OX_CHAIN_ARGS][(LONGEST + OX_CHAIN_SLACK) * sizeof(float)] __attribute__((aligned(64)));
} drawn_chain;

static const float attr[] = {1.5F, 2.5F};

/* From row to row it goes on as within a row, begins again, or goes on by an element. */
static void draw_operand(drawn_chain *c, size_t width, bool repeats) {
    const int k = ++c->chain.nargs;
    float *x = (float *)(void *)c->arg[k];
    c->step[k] = repeats ? 0 : (int64_t)width;
    c->next[k] = draw(2) ? c->row * c->step[k] : repeats ? (int64_t)width : 0;
    c->place[k] = k;
    for (int i = 0; i < LONGEST; i++)
        x[i] = draw_float();
}

/* What is kept, or reads what a link before has kept. */
static void draw_kept(drawn_chain *c, int from) {
    draw_operand(c, sizeof(float), false);
    const int k = c->chain.nargs;
    c->next[k] = c->row * c->step[k];
    c->place[k] = from ? from : k;
    c->chain.kept |= 1U << k;
}

/* The operand of a link of that kind, before which others may keep something, and round. */
static void draw_link(drawn_chain *c, ox_link_kind kind, bool is_right, bool repeats) {
    const bool pair = kind <= OX_LINK_LAST_PAIR, keeps = draw(4) == 0 && c->chain.count + 1 < OX_CHAIN_LINKS;
    int kept = 0;
    if (draw(6) == 0 && c->chain.count + 2 < OX_CHAIN_LINKS)
        c->links[c->chain.count++] = (ox_link){.kind = draw(2) ? OX_LINK_Half : OX_LINK_Bfloat};
    if (keeps) {
        c->links[c->chain.count++] = (ox_link){.kind = OX_LINK_Keep};
        draw_kept(c, 0);
    }
    for (int k = 1; k <= c->chain.nargs; k++)
        if (c->chain.kept >> k & 1)
            kept = c->place[k];
    c->links[c->chain.count++] = (ox_link){kind, is_right, attr};
    if (pair && kept && !repeats && draw(2))
        draw_kept(c, kept);
    else if (pair)
        draw_operand(c, sizeof(float), repeats);
}

static void draw_chain(drawn_chain *c, int kind) {
    static const ox_dtype ends[] = {OX_FLOAT, OX_FLOAT, OX_FLOAT16, OX_BFLOAT16, OX_INT8,
                                    OX_UINT8, OX_INT16, OX_UINT16,  OX_INT32};
    enum {
        ENDS = sizeof ends / sizeof *ends
    };
    c->n = c->row = 1 + draw(LONGEST);
    c->chain = (ox_chain){.from = ends[draw(ENDS)], .to = ends[draw(ENDS)], .links = c->links, .next = c->next};
    if (draw(2)) {
        c->row = c->chain.row = 1 + draw((unsigned)c->n);
        c->n -= c->n % c->row;
    }
    draw_operand(c, ox_dtype_size(c->chain.from), false);
    const int count = 1 + (int)draw(OX_CHAIN_LINKS);
    for (int i = 0; c->chain.count < count; i++) {
        const ox_link_kind one = (ox_link_kind)(i ? (int)draw(OX_LINKS) : kind);
        draw_link(c, one, one <= OX_LINK_LAST_PAIR && draw(2), draw(2));
    }
}

/* n elements at x, of one of the types at the ends, as another one at y. */
static void convert(const ox_loops *loops, int64_t n, ox_dtype from, char *x, ox_dtype to, char *y) {
    const int64_t step[] = {(int64_t)ox_dtype_size(to), (int64_t)ox_dtype_size(from)};
    char *arg[] = {y, x};
    if (from == to)
        memcpy(y, x, (size_t)(n * step[0]));
    else if (from != OX_FLOAT && ox_dtype_compute(from) == OX_FLOAT)
        loops->widen(n, arg, step, &from);
    else if (to != OX_FLOAT && ox_dtype_compute(to) == OX_FLOAT)
        loops->narrow(n, arg, step, &(const ox_narrowing){.dtype = to});
    else
        loops->cast(from, to)(n, arg, step, NULL);
}

/* Argument k of a row. */
static char *arg_of_row(const drawn_chain *c, int k, int64_t row) {
    return (char *)(uintptr_t)c->arg[c->place[k]] + row * (c->chain.row ? c->chain.next[k] : 0);
}

/* The same by the loops for one row, into `to`; and what links keep, each at its argument's place. */
static void run_loops(const ox_loops *loops, drawn_chain *c, int64_t row, char *to) {
    static char one[LONGEST * sizeof(float)], two[LONGEST * sizeof(float)];
    const int64_t width = (int64_t)sizeof(float);
    char *at = one, *next = two;
    int k = 1;
    convert(loops, c->row, c->chain.from, arg_of_row(c, 1, row), OX_FLOAT, one);
    for (int i = 0; i < c->chain.count; i++) {
        const ox_link *link = &c->chain.links[i];
        const bool pair = link->kind <= OX_LINK_LAST_PAIR;
        if (link->kind == OX_LINK_Keep) {
            memcpy(arg_of_row(c, ++k, row), at, (size_t)(c->row * width));
            continue;
        }
        if (link->kind > OX_LINK_Keep) {
            const ox_dtype rounded = link->kind == OX_LINK_Half ? OX_FLOAT16 : OX_BFLOAT16;
            convert(loops, c->row, OX_FLOAT, at, rounded, next);
            convert(loops, c->row, rounded, next, OX_FLOAT, at);
            continue;
        }
        char *other = pair ? arg_of_row(c, ++k, row) : NULL;
        const int64_t step = pair ? c->step[k] : 0;
        char *arg[] = {next, link->is_right ? other : at, link->is_right ? at : other};
        const int64_t steps[] = {width, link->is_right ? step : width, link->is_right ? width : step};
        OX_BUILD_OF(loops, lanes[link->kind])->fn[OX_FLOAT](c->row, arg, steps, attr);
        char *swap = at;
        at = next;
        next = swap;
    }
    convert(loops, c->row, OX_FLOAT, at, c->chain.to, to);
}

/* Whether elements i are the same; all NaN are. */
static bool is_same(const ox_loops *loops, ox_dtype dtype, char *a, char *b, int64_t i) {
    const int64_t width = (int64_t)ox_dtype_size(dtype);
    float x, y;
    convert(loops, 1, dtype, a + i * width, OX_FLOAT, (char *)&x);
    convert(loops, 1, dtype, b + i * width, OX_FLOAT, (char *)&y);
    return (isnan(x) && isnan(y)) || !memcmp(a + i * width, b + i * width, (size_t)width);
}

/* Whether links have kept what the loops did, which is overwritten with something else after it was expected. */
static bool has_kept(const ox_loops *loops, drawn_chain *c, char expected[][LONGEST * sizeof(float)]) {
    for (int k = 1; k <= c->chain.nargs; k++)
        for (int64_t i = 0; i < c->n && c->chain.kept >> k & 1; i++)
            if (!is_same(loops, OX_FLOAT, c->arg[c->place[k]], expected[c->place[k]], i))
                return false;
    return true;
}

/* Runs the chain into its first operand's memory, or anywhere else; past the caches, if it can. */
static void check_chain(const ox_loops *loops, drawn_chain *c, bool in_place, bool past) {
    static char expected[LONGEST * sizeof(float)], out[(LONGEST + 64) * sizeof(float)] __attribute__((aligned(64)));
    static char kept[OX_CHAIN_ARGS][LONGEST * sizeof(float)];
    const int64_t width = (int64_t)ox_dtype_size(c->chain.to);
    char *arg[OX_CHAIN_ARGS] = {in_place ? c->arg[1] : out + width * draw(64)};
    int64_t step[OX_CHAIN_ARGS];
    for (int64_t row = 0; row * c->row < c->n; row++)
        run_loops(loops, c, row, expected + row * c->row * width);
    for (int k = 1; k <= c->chain.nargs; k++)
        if (c->chain.kept >> k & 1 && c->place[k] == k) {
            memcpy(kept[k], c->arg[k], sizeof kept[k]);
            memset(c->arg[k], 0x55, sizeof kept[k]);
        }
    step[0] = past ? -width : width;
    c->next[0] = c->row * width;
    for (int k = 1; k <= c->chain.nargs; k++) {
        const bool goes_on = !c->chain.row || c->chain.next[k] == c->row * c->step[k];
        arg[k] = c->arg[c->place[k]];
        step[k] = past && goes_on && !(c->chain.kept >> k & 1) && draw(2) ? -c->step[k] : c->step[k];
    }
    OX_BUILD_OF(loops, ox_chain_builds)(c->n, arg, step, &c->chain);
    for (int64_t i = 0; i < c->n; i++)
        expect(is_same(loops, c->chain.to, arg[0], expected, i),
               "build %s: %s first of %d, from %s to %s, %d of %d in rows of %d%s%s", loops->name,
               c->chain.links[0].kind < OX_LINKS ? names[c->chain.links[0].kind] : "another", c->chain.count,
               ox_dtype_name(c->chain.from), ox_dtype_name(c->chain.to), (int)i, (int)c->n, (int)c->row,
               in_place ? ", in place" : "", past ? ", past the caches" : "");
    expect(has_kept(loops, c, kept), "build %s: %d links keep something else", loops->name, c->chain.count);
}

/* The rows of a chain that has none by itself, wherever these lie: whole arguments of it here, one behind the other. */
static void check_rows(const ox_loops *loops, drawn_chain *c) {
    static char expected[LONGEST * sizeof(float)], out[4 * LONGEST * sizeof(float)]; /* with gaps */
    const int64_t width = (int64_t)ox_dtype_size(c->chain.to), rows = c->n / c->row, gap = draw(4);
    char *arg[OX_CHAIN_ARGS] = {out};
    ox_chain chain = c->chain;
    chain.row = 0;
    for (int64_t row = 0; row < rows; row++)
        run_loops(loops, c, row, expected + row * c->row * width);
    c->step[0] = width;
    c->next[0] = (c->row + gap) * width;
    for (int k = 1; k <= chain.nargs; k++)
        arg[k] = c->arg[c->place[k]];
    OX_BUILD_OF(loops, ox_chain_rows_builds)(rows, c->row, arg, c->step, c->next, &chain);
    for (int64_t i = 0; i < c->n; i++)
        expect(is_same(loops, chain.to, out + i / c->row * gap * width, expected, i),
               "build %s: %d links, element %d of %d in rows of %d apart", loops->name, chain.count, (int)i, (int)c->n,
               (int)c->row);
}

/* A chain of floats, of operations that short rows have loops of their own for. */
static void draw_plain(drawn_chain *c) {
    static const ox_link_kind plain[] = {OX_LINK_Add, OX_LINK_Sub, OX_LINK_Mul, OX_LINK_Div,
                                         OX_LINK_Max, OX_LINK_Min, OX_LINK_Relu};
    c->n = c->row = 1 + draw(LONGEST);
    c->chain = (ox_chain){.from = OX_FLOAT, .to = OX_FLOAT, .links = c->links, .next = c->next};
    if (draw(2)) {
        c->row = c->chain.row = 1 + draw((unsigned)c->n < SHORT ? (unsigned)c->n : SHORT);
        c->n -= c->n % c->row;
    }
    draw_operand(c, sizeof(float), false);
    for (int count = 1 + (int)draw(6); c->chain.count < count;) {
        const ox_link_kind kind = plain[draw(sizeof plain / sizeof *plain)];
        const bool pair = kind <= OX_LINK_LAST_PAIR, limits = kind == OX_LINK_Max || kind == OX_LINK_Min;
        draw_link(c, kind, pair && !limits && draw(2), limits || draw(2));
    }
}

START_TEST(chains_give_what_their_loops_give) {
    static drawn_chain c;
    const ox_loops *loops = ox_loops_find(builds[_i]);
    drawn = 1;
    for (int i = 0; i < CHAINS; i++) {
        if (i % 3)
            draw_chain(&c, i % OX_LINKS);
        else
            draw_plain(&c);
        const bool goes_on = !c.chain.row || c.chain.next[1];
        if (c.chain.row)
            check_rows(loops, &c);
        check_chain(loops, &c, goes_on && c.chain.from == c.chain.to && draw(2), loops->streams && draw(3) == 0);
    }
}
END_TEST

Suite *ox_suite_chain(void);
Suite *ox_suite_chain(void) {
    Suite *suite = suite_create("chain");
    TCase *tests = tcase_create("chain");
    tcase_add_loop_test(tests, chains_give_what_their_loops_give, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
