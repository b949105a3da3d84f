/* unique.c: Unique. The number of items depends on data: infer counts them, prepare finds them, and run copies them. A
 * plan holds as long as the data that infer looked at stays the same. */
#include "half.h"
#include "iterate/bcast.h"
#include "loops/element.h"
#include "loops/statistics_loops.h"
#include "ops/op.h"
#include "pool.h"

#include <string.h>

/* ---- Order -------------------------------------------------------------------------------------------------- */

/* Below, at or above 0 as element a comes before, is, or comes after b. NaN comes last, and is NaN. */
typedef int compare_fn(const char *a, const char *b);

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))
#define REAL_ORDER(a, b) ((a) != (a) || (b) != (b) ? ((a) != (a)) - ((b) != (b)) : ORDER(a, b))
#define COMPARE(name, type, order, read)                                                                               \
    static int compare_##name(const char *a, const char *b) {                                                          \
        const type left = read(a), right = read(b);                                                                    \
        return order(left, right);                                                                                     \
    }
#define READ_i8(at) OX_GET(ox_i8, at)
#define READ_u8(at) OX_GET(ox_u8, at)
#define READ_i16(at) (int16_t) OX_GET(ox_u16, at)
#define READ_u16(at) OX_GET(ox_u16, at)
#define READ_i32(at) OX_GET(ox_i32, at)
#define READ_u32(at) OX_GET(ox_u32, at)
#define READ_i64(at) OX_GET(ox_i64, at)
#define READ_u64(at) OX_GET(ox_u64, at)
#define READ_f32(at) OX_GET(ox_f32, at)
#define READ_f64(at) OX_GET(ox_f64, at)
#define READ_half(at) ox_float_from_half(OX_GET(ox_u16, at))
#define READ_bf16(at) ox_float_from_bf16(OX_GET(ox_u16, at))
COMPARE(i8, int8_t, ORDER, READ_i8)
COMPARE(u8, uint8_t, ORDER, READ_u8)
COMPARE(i16, int16_t, ORDER, READ_i16)
COMPARE(u16, uint16_t, ORDER, READ_u16)
COMPARE(i32, int32_t, ORDER, READ_i32)
COMPARE(u32, uint32_t, ORDER, READ_u32)
COMPARE(i64, int64_t, ORDER, READ_i64)
COMPARE(u64, uint64_t, ORDER, READ_u64)
COMPARE(f32, float, REAL_ORDER, READ_f32)
COMPARE(f64, double, REAL_ORDER, READ_f64)
COMPARE(half, float, REAL_ORDER, READ_half)
COMPARE(bf16, float, REAL_ORDER, READ_bf16)

static int compare_complex64(const char *a, const char *b) {
    const int order = compare_f32(a, b);
    return order ? order : compare_f32(a + sizeof(float), b + sizeof(float));
}

static int compare_complex128(const char *a, const char *b) {
    const int order = compare_f64(a, b);
    return order ? order : compare_f64(a + sizeof(double), b + sizeof(double));
}

static int compare_string(const char *a, const char *b) {
    ox_string left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    const size_t both = left.size < right.size ? left.size : right.size;
    const int order = both ? memcmp(left.data, right.data, both) : 0;
    return order ? order : ORDER(left.size, right.size);
}

static compare_fn *comparison_of(ox_dtype dtype) {
    static const struct {
        ox_dtype dtype;
        compare_fn *fn;
    } all[] = {{OX_FLOAT, compare_f32},
               {OX_UINT8, compare_u8},
               {OX_INT8, compare_i8},
               {OX_UINT16, compare_u16},
               {OX_INT16, compare_i16},
               {OX_INT32, compare_i32},
               {OX_INT64, compare_i64},
               {OX_STRING, compare_string},
               {OX_BOOL, compare_u8},
               {OX_FLOAT16, compare_half},
               {OX_DOUBLE, compare_f64},
               {OX_UINT32, compare_u32},
               {OX_UINT64, compare_u64},
               {OX_COMPLEX64, compare_complex64},
               {OX_COMPLEX128, compare_complex128},
               {OX_BFLOAT16, compare_bf16}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].dtype == dtype)
            return all[i].fn;
    return NULL;
}

/* ---- Items -------------------------------------------------------------------------------------------------- */

/* The items of packed data: slices across an axis, or all elements. */
typedef struct items {
    compare_fn *compare;
    const char *data;
    int64_t count, outer, block, width; /* an item is a block (bytes) of each of `outer` stretches */
} items;

static int compare_items(const items *all, int64_t a, int64_t b) {
    const int64_t stretch = all->count * all->block;
    for (int64_t o = 0; o < all->outer; o++)
        for (int64_t at = o * stretch; at < o * stretch + all->block; at += all->width) {
            const int order = all->compare(all->data + a * all->block + at, all->data + b * all->block + at);
            if (order)
                return order;
        }
    return 0;
}

/* Merges [first, middle) and [middle, end) of a list into another. */
static void merge(const items *all, const int64_t *from, int64_t first, int64_t middle, int64_t end, int64_t *to) {
    int64_t left = first, right = middle;
    for (int64_t i = first; i < end; i++) {
        const bool take_left = left < middle && (right == end || compare_items(all, from[left], from[right]) <= 0);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

/* Sorts the numbers of items, and leaves equal ones in order; the result is one of both lists. */
static int64_t *sort_items(const items *all, ox_pool *pool, int64_t *list, int64_t *other) {
    for (int64_t i = 0; i < all->count; i++)
        list[i] = i;
    for (int64_t size = 1; size < all->count && !ox_pool_poll(pool); size *= 2) {
        for (int64_t first = 0; first < all->count; first += 2 * size)
            merge(all, list, first, ox_least(first + size, all->count), ox_least(first + 2 * size, all->count), other);
        int64_t *swapped = list;
        list = other;
        other = swapped;
    }
    return list;
}

#if !OX_SMALL
/* An element by its place in the order of its type, and where it is. */
typedef struct keyed {
    uint64_t key;
    int64_t index;
} keyed;

enum {
    DIGIT = 8, /* bits by which keys are sorted at a time */
    DIGITS = 64 / DIGIT,
    VALUES = 1 << DIGIT,
    MANY = 512 /* elements for which counting digits is worth it */
};

/* The keys of all elements, and how many have each value of each digit. */
static void make_keys(const items *all, ox_keys_fn *keys, keyed *list, int64_t counts[DIGITS][VALUES]) {
    uint64_t some[VALUES];
    memset(counts, 0, sizeof(int64_t[DIGITS][VALUES]));
    for (int64_t at = 0; at < all->count; at += VALUES) {
        const int64_t n = ox_least(all->count - at, VALUES);
        keys(n, 1, all->data + at * all->width, 0, some);
        for (int64_t i = 0; i < n; i++) {
            list[at + i] = (keyed){some[i], at + i};
            for (int d = 0; d < DIGITS; d++)
                counts[d][some[i] >> (d * DIGIT) & (VALUES - 1)]++;
        }
    }
}

/* The numbers of elements, sorted digit by digit of their keys, from the last one on; equal ones stay in order. Both
 * lists have room for two numbers of each element; the result is at the start of the first. */
static int64_t *sort_keys(const items *all, ox_pool *pool, ox_keys_fn *keys, int64_t *list, int64_t *other) {
    int64_t counts[DIGITS][VALUES];
    keyed *from = (keyed *)(void *)list, *to = (keyed *)(void *)other;
    make_keys(all, keys, from, counts);
    for (int d = 0; d < DIGITS && !ox_pool_poll(pool); d++) {
        int64_t *place = counts[d], next = 0;
        if (place[from[0].key >> (d * DIGIT) & (VALUES - 1)] == all->count)
            continue; /* all have the same */
        for (int v = 0; v < VALUES; v++) {
            const int64_t count = place[v];
            place[v] = next;
            next += count;
        }
        for (int64_t i = 0; i < all->count; i++)
            to[place[from[i].key >> (d * DIGIT) & (VALUES - 1)]++] = from[i];
        keyed *swapped = from;
        from = to;
        to = swapped;
    }
    for (int64_t i = 0; i < all->count; i++)
        list[i] = from[i].index;
    return list;
}

/* What makes keys of items, NULL where those are not one element each or so few that comparing them is faster. */
static ox_keys_fn *keys_of(const ox_call *call, const items *all) {
    const ox_dtype dtype = call->in[0]->dtype;
    if (all->outer != 1 || all->block != all->width || all->count < MANY || ox_dtype_compute(dtype) != dtype)
        return NULL;
    ox_keys_fn *keys = OX_BUILD_OF(call->loops, ox_statistics_builds)->keys(dtype);
    return keys;
}
#endif

/* ---- Unique ------------------------------------------------------------------------------------------------- */

/* What prepare leaves. */
typedef struct unique {
    items all;
    char *copy;      /* of data that does not lie packed */
    int64_t count;   /* distinct items */
    int64_t *first;  /* where each comes first, in the order of the output */
    int64_t *number; /* how often it comes */
    int64_t *place;  /* of each item of the input in the output; NULL for items without elements */
} unique;

static ox_status unique_axis(ox_call *call, int *axis) {
    *axis = -1;
    if (!ox_call_has(call, "axis"))
        return OX_OK;
    return ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), call->in[0]->rank, axis);
}

/* Describes the items of data that is known. */
static ox_status find_items(ox_call *call, unique *u) {
    const ox_tensor *in;
    int axis;
    OX_TRY(unique_axis(call, &axis));
    OX_TRY(ox_call_data(call, 0, &in));
    const int64_t width = (int64_t)ox_dtype_size(in->dtype);
    u->all = (items){comparison_of(in->dtype), in->data, ox_tensor_count(in), 1, width, width};
    if (!u->all.compare)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: elements of this type have no order", OX_INPUT(call, 0));
    if (axis >= 0) {
        u->all.count = in->dims[axis];
        u->all.outer = ox_tensor_count(in) ? ox_count(axis, in->dims) : 0;
        u->all.block = ox_count(in->rank - axis - 1, in->dims + axis + 1) * width;
    }
    if (ox_tensor_count(in) == 0 || ox_tensor_is_packed(in))
        return OX_OK;
    u->copy = ox_pile_array(call->pile, (size_t)ox_tensor_count(in), (size_t)width);
    if (!u->copy)
        return ox_fail_memory(call->error, "packed items", (size_t)ox_tensor_count(in));
    ox_pack(call->loops, call->pool, in, u->copy);
    u->all.data = u->copy;
    return OX_OK;
}

/* Numbers the distinct items of a sorted list as they come in it: u->place, u->first and u->number. */
static void number_items(unique *u, const int64_t *sorted) {
    u->count = 0;
    for (int64_t i = 0; i < u->all.count; i++) {
        if (i == 0 || compare_items(&u->all, sorted[i - 1], sorted[i]) != 0) {
            u->first[u->count] = sorted[i];
            u->number[u->count++] = 0;
        }
        u->number[u->count - 1]++;
        u->place[sorted[i]] = u->count - 1;
    }
}

/* Renumbers them as they come in the input; `room` is for two lists. */
static void number_by_place(unique *u, int64_t *room) {
    int64_t *first = room, *number = room + u->count, next = 0;
    for (int64_t i = 0; i < u->all.count; i++) {
        const int64_t old = u->place[i];
        if (u->first[old] == i) { /* the first of its kind: its old number has done its work */
            first[next] = i;
            number[next] = u->number[old];
            u->number[old] = next++;
        }
        u->place[i] = u->number[old];
    }
    memcpy(u->first, first, (size_t)u->count * sizeof *first);
    memcpy(u->number, number, (size_t)u->count * sizeof *number);
}

/* Items without elements are all the same, and may be more than memory has lists for. */
static ox_status find_empty(ox_call *call, unique *u) {
    u->first = ox_pile_array(call->pile, 2, sizeof *u->first);
    if (!u->first)
        return ox_fail_memory(call->error, "sorted items", 2 * sizeof *u->first);
    u->number = u->first + 1;
    u->number[0] = u->all.count;
    u->count = u->all.count > 0;
    return OX_OK;
}

/* The numbers of items in order; `lists` is for four of each. */
static int64_t *sorted_items(const ox_call *call, const items *all, int64_t *lists) {
#if !OX_SMALL
    ox_keys_fn *keys = keys_of(call, all);
    if (keys)
        return sort_keys(all, call->pool, keys, lists, lists + 2 * all->count);
#endif
    return sort_items(all, call->pool, lists, lists + all->count);
}

static ox_status find_unique(ox_call *call, unique *u) {
    OX_TRY(find_items(call, u));
    if (ox_tensor_count(call->in[0]) == 0)
        return find_empty(call, u);
    const size_t count = (size_t)u->all.count;
    int64_t *lists = ox_pile_array(call->pile, count, 5 * sizeof *lists);
    if (!lists)
        return ox_fail_memory(call->error, "sorted items", count * 5 * sizeof *lists);
    u->first = lists + 2 * count;
    u->number = lists + 3 * count;
    u->place = lists + 4 * count;
    number_items(u, sorted_items(call, &u->all, lists));
    if (!ox_call_int(call, "sorted", 1))
        number_by_place(u, lists);
    return OX_OK;
}

ox_status ox_infer_unique(ox_call *call) {
    unique u = {.copy = NULL};
    const ox_tensor *in = call->in[0];
    int64_t dims[OX_MAX_RANK];
    int axis;
    OX_TRY(unique_axis(call, &axis));
    const ox_pile_mark mark = ox_pile_save(call->pile);
    const ox_status status = find_unique(call, &u);
    ox_pile_restore(call->pile, mark);
    OX_TRY(status);
    for (int d = 0; d < in->rank; d++)
        dims[d] = in->dims[d];
    dims[axis < 0 ? 0 : axis] = u.count;
    OX_TRY(ox_call_output(call, 0, in->dtype, axis < 0 ? 1 : in->rank, dims));
    for (int k = 1; k < call->nout; k++)
        if (call->out[k])
            OX_TRY(ox_call_output(call, k, OX_INT64, 1, k == 2 ? &u.all.count : &u.count));
    return OX_OK;
}

/* Whether the outputs have room for as many items: what infer counted. */
static bool is_counted(ox_call *call, int64_t count) {
    int axis;
    bool same = unique_axis(call, &axis) == OX_OK;
    for (int k = 0; k < call->nout; k++)
        if (k != 2 && call->out[k])
            same &= call->out[k]->dims[k || axis < 0 ? 0 : axis] == count;
    return same;
}

ox_status ox_prepare_unique(ox_call *call) {
    unique *u = ox_call_state(call, sizeof *u);
    if (!u)
        return OX_ERROR_MEMORY;
    OX_TRY(find_unique(call, u));
    return is_counted(call, u->count) ? OX_OK : ox_call_changed(call, 0);
}

static void give(const ox_call *call, int k, const int64_t *list, int64_t count) {
    if (k >= call->nout || !call->out[k] || !count)
        return;
    if (list)
        memcpy(call->out[k]->data, list, (size_t)count * sizeof *list);
    else
        memset(call->out[k]->data, 0, (size_t)count * sizeof *list);
}

ox_status ox_run_unique(ox_call *call) {
    const unique *u = call->state;
    const items *all = &u->all;
    const char *from = u->copy ? u->copy : call->in[0]->data;
    give(call, 1, u->first, u->count);
    give(call, 2, u->place, all->count);
    give(call, 3, u->number, u->count);
    if (!call->out[0] || ox_tensor_count(call->out[0]) == 0)
        return OX_OK;
    for (int64_t o = 0; o < all->outer && !ox_pool_poll(call->pool); o++)
        for (int64_t i = 0; i < u->count; i++)
            memcpy((char *)call->out[0]->data + (o * u->count + i) * all->block,
                   from + (o * all->count + u->first[i]) * all->block, (size_t)all->block);
    return OX_OK;
}
