/* products.c: MatMul, FusedMatMul, Gemm and MatMulInteger. */
#include <string.h>

#include "scopes.h"

enum {
    B = -1, /* stand for a batch, rows, columns, and what is summed up */
    C = -2,
    M = -3,
    N = -4,
    K = -5
};

typedef struct operands {
    int ranks[2];
    int64_t dims[2][SCOPE_RANK];
} operands;

/* Shapes of two operands. */
static const operands forms[] = {
    {{2, 2}, {{M, K}, {K, N}}},
    {{1, 2}, {{K}, {K, N}}},
    {{2, 1}, {{M, K}, {K}}},
    {{1, 1}, {{K}, {K}}},
    {{3, 2}, {{B, M, K}, {K, N}}},
    {{3, 1}, {{B, M, K}, {K}}},
    {{3, 3}, {{B, M, K}, {B, K, N}}},
    {{2, 3}, {{M, K}, {B, K, N}}},
    {{1, 3}, {{K}, {B, K, N}}},
    {{3, 3}, {{1, M, K}, {B, K, N}}},
    {{3, 3}, {{B, M, K}, {1, K, N}}},
    {{4, 2}, {{B, C, M, K}, {K, N}}},
    {{4, 1}, {{B, C, M, K}, {K}}},
    {{4, 3}, {{B, C, M, K}, {C, K, N}}},
    {{4, 4}, {{B, 1, M, K}, {1, C, K, N}}},
    {{4, 4}, {{B, C, M, K}, {B, C, K, N}}},
};

/* Sizes of M, N, K, B and C: all of 1, 2 and 3 (a batch of one dimension), and some above a tile or a vector. */
typedef struct sizes {
    int64_t of[6]; /* by -B, -C, ... */
} sizes;

static const sizes beyond[] = {
    {{0, 2, 2, 7, 9, 5}},   {{0, 2, 3, 2, 17, 3}},  {{0, 3, 2, 17, 2, 3}},   {{0, 2, 2, 4, 33, 9}},
    {{0, 2, 2, 13, 65, 2}}, {{0, 3, 1, 4, 5, 300}}, {{0, 2, 2, 1, 40, 17}},  {{0, 2, 2, 40, 1, 9}},
    {{0, 2, 2, 6, 16, 8}},  {{0, 2, 2, 9, 130, 3}}, {{0, 2, 1, 33, 70, 40}}, /* this one is shared by threads */
    {{0, 0, 2, 3, 2, 3}},   {{0, 2, 2, 0, 3, 2}},   {{0, 2, 2, 3, 0, 2}},    /* without elements, */
    {{0, 2, 2, 3, 5, 0}},                                                    /* and sums of nothing */
};

typedef struct product {
    const char *op;
    operands from;
    bool turned[2];
    int vector; /* what Gemm adds: 0: nothing */
    float alpha;
} product;

static int add_product(scope *s, const void *context, ox_dtype dtype) {
    const product *p = context;
    int in[3];
    for (int i = 0; i < 2; i++) {
        int64_t dims[SCOPE_RANK];
        const int rank = p->from.ranks[i];
        memcpy(dims, p->from.dims[i], sizeof dims);
        if (p->turned[i] && rank > 1) {
            const int64_t last = dims[rank - 1];
            dims[rank - 1] = dims[rank - 2], dims[rank - 2] = last;
        }
        in[i] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    }
    if (p->vector) {
        const int64_t m = p->from.dims[0][0], n = p->from.dims[1][1],
                      shapes[][2] = {{1, 1}, {1, n}, {m, 1}, {m, n}, {n, 0}};
        const int which = p->vector - 1;
        in[2] = scope_give(s, dtype, which == 4 ? 1 : 2, shapes[which], scope_any_place(s));
    }
    const int out = scope_node_of(s, p->op, p->vector ? 3 : 2, in);
    if (p->turned[0])
        scope_int(s, "transA", 1);
    if (p->turned[1])
        scope_int(s, "transB", 1);
    if (p->alpha != 0)
        scope_float(s, "alpha", p->alpha);
    return out;
}

static operands sized(const operands *form, const sizes *size) {
    operands o = *form;
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < o.ranks[i]; d++)
            if (o.dims[i][d] < 0)
                o.dims[i][d] = size->of[-o.dims[i][d]];
    return o;
}

/* The shape of the result. */
static int result_of(const operands *o, int64_t *dims) {
    const int a = o->ranks[0], b = o->ranks[1];
    int rank = 0;
    for (int d = (a > b ? a : b) - 2; d > 0; d--) {
        const int64_t in_a = a - 2 - d < 0 ? 1 : o->dims[0][a - 2 - d],
                      in_b = b - 2 - d < 0 ? 1 : o->dims[1][b - 2 - d];
        dims[rank++] = in_a == 1 ? in_b : in_a;
    }
    if (a > 1)
        dims[rank++] = o->dims[0][a - 2];
    if (b > 1)
        dims[rank++] = o->dims[1][b - 1];
    return rank;
}

static void behind_product(scope *s, product *p, const operands *form, const sizes *size) {
    int64_t dims[SCOPE_RANK];
    p->from = sized(form, size);
    const int rank = result_of(&p->from, dims);
    const bool is_micro = strchr(p->op, ':');
    scope_behind(s,
                 &(scope_dense){add_product, p, rank, dims, is_micro ? 4 : 8, is_micro ? scope_floats : scope_numbers});
}

/* Whether a form depends on a size. */
static bool has(const operands *form, int64_t what) {
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < form->ranks[i]; d++)
            if (form->dims[i][d] == what)
                return true;
    return false;
}

/* All sizes of 1, 2 and 3 of a form; of two batches and of what is summed up a selection. */
static void behind_small(scope *s, product *p, const operands *form) {
    sizes z = {{0}};
    for (z.of[-B] = 1; z.of[-B] <= (has(form, B) ? 3 : 1); z.of[-B]++)
        for (z.of[-C] = 1; z.of[-C] <= (has(form, C) ? 2 : 1); z.of[-C]++)
            for (z.of[-M] = 1; z.of[-M] <= (has(form, M) ? 3 : 1); z.of[-M]++)
                for (z.of[-N] = 1; z.of[-N] <= (has(form, N) ? 3 : 1); z.of[-N]++)
                    for (z.of[-K] = 1; z.of[-K] <= 3; z.of[-K] += 2)
                        behind_product(s, p, form, &z);
}

static void behind_forms(scope *s, product *p, const operands *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        behind_small(s, p, &all[i]);
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++)
            behind_product(s, p, &all[i], &beyond[k]);
    }
}

void scope_products(scope *s) {
    behind_forms(s, &(product){.op = "MatMul"}, forms, sizeof forms / sizeof *forms);
    for (int turned = 1; turned < 4; turned++)
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++)
            for (size_t i = 4; i < 7; i += 2) {
                product p = {"micro:FusedMatMul", .turned = {turned & 1, turned >> 1 & 1},
                             .alpha = turned & 1 ? 0.5F : 2};
                behind_product(s, &p, &forms[i], &beyond[k]);
            }
}

void scope_gemms(scope *s) {
    for (int turned = 0; turned < 4; turned++)
        for (int vector = 0; vector <= 5; vector++) {
            product p = {"Gemm", .turned = {turned & 1, turned >> 1 & 1}, .vector = vector,
                         .alpha = vector == 2 ? 2 : 0};
            behind_forms(s, &p, forms, 1);
        }
}
