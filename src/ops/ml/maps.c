/* maps.c: operators that look values up: LabelEncoder, CategoryMapper and OneHotEncoder. */
#include "ml.h"

#include "loops/element.h"

#include <math.h>
#include <string.h>

/* ---- Keys --------------------------------------------------------------------------------------------------- */

/* Strings, or numbers as 64 bits of which equal keys have the same. */
typedef struct key_list {
    size_t count;
    const ox_string *strings;
    const int64_t *numbers;
    int64_t *order; /* sorted; of equal keys, the one that counts comes first */
    bool last_counts;
} key_list;

static int order_of_strings(ox_string a, ox_string b) {
    if (a.size != b.size)
        return a.size < b.size ? -1 : 1;
    return a.size ? memcmp(a.data, b.data, a.size) : 0;
}

static bool key_before(const void *context, int64_t a, int64_t b) {
    const key_list *k = context;
    int order;
    if (k->strings)
        order = order_of_strings(k->strings[a], k->strings[b]);
    else
        order = (k->numbers[a] > k->numbers[b]) - (k->numbers[a] < k->numbers[b]);
    return order ? order < 0 : (k->last_counts ? a > b : a < b);
}

static ox_status sort_keys(ox_call *call, key_list *keys) {
    keys->order = ox_pile_array(call->pile, keys->count, sizeof *keys->order);
    if (!keys->order)
        return ox_fail_memory(call->error, "a map", keys->count * sizeof *keys->order);
    for (size_t i = 0; i < keys->count; i++)
        keys->order[i] = (int64_t)i;
    ox_ml_sort((int64_t)keys->count, keys->order, key_before, keys);
    return OX_OK;
}

/* The index of a key, -1 if it is not there. */
#define FIND(is_below, is_equal)                                                                                       \
    size_t low = 0, high = keys->count;                                                                                \
    while (low < high) {                                                                                               \
        const size_t middle = low + (high - low) / 2;                                                                  \
        const int64_t k = keys->order[middle];                                                                         \
        if (is_below)                                                                                                  \
            low = middle + 1;                                                                                          \
        else                                                                                                           \
            high = middle;                                                                                             \
    }                                                                                                                  \
    const int64_t k = low < keys->count ? keys->order[low] : 0;                                                        \
    return low < keys->count && (is_equal) ? k : -1

static int64_t find_string(const key_list *keys, ox_string s) {
    FIND(order_of_strings(keys->strings[k], s) < 0, !order_of_strings(keys->strings[k], s));
}

static int64_t find_number(const key_list *keys, int64_t x) {
    FIND(keys->numbers[k] < x, keys->numbers[k] == x);
}

/* A floating number as a key: -0 is 0, and all NaN are one. */
static int64_t float_key(double x) {
    int64_t bits;
    x = x == 0 ? 0 : isnan(x) ? NAN : x;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Before version 4, keys are compared bit by bit. */
static int64_t float_bits(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The key that element i of packed data is. */
static int64_t key_of(ox_dtype dtype, const void *data, int64_t i, bool by_bits) {
    switch (dtype) {
    case OX_FLOAT:
        return by_bits ? float_bits(((const ox_f32 *)data)[i]) : float_key((double)((const ox_f32 *)data)[i]);
    case OX_DOUBLE:
        return float_key(((const ox_f64 *)data)[i]);
    case OX_INT16:
        return (int16_t)((const ox_u16 *)data)[i];
    case OX_INT32:
        return ((const ox_i32 *)data)[i];
    default:
        return ((const ox_i64 *)data)[i];
    }
}

/* ---- Lists of any type -------------------------------------------------------------------------------------- */

/* Elements of an attribute. */
typedef struct any_list {
    ox_dtype dtype; /* OX_UNDEFINED: the attribute is missing */
    size_t count;
    const void *data;
} any_list;

enum {
    MAPPED_TYPES = 1 << OX_STRING | 1 << OX_INT64 | 1 << OX_FLOAT | 1 << OX_INT32 | 1 << OX_INT16 | 1 << OX_DOUBLE
};

static any_list read_list(ox_call *call, const char *name, ox_attr_kind kind, ox_dtype dtype) {
    const ox_attr *attr = ox_call_has(call, name) ? ox_call_attr(call, name, kind) : NULL;
    if (!attr)
        return (any_list){0};
    if (kind != OX_ATTR_TENSOR)
        return (any_list){dtype, attr->count, attr->u.ints};
    return (any_list){attr->u.tensor->dtype, (size_t)ox_tensor_count(attr->u.tensor), attr->u.tensor->data};
}

/* The one list among the attributes PREFIX_int64s, _floats, _strings and _tensor. */
static ox_status read_any(ox_call *call, const char *prefix, any_list *list) {
    static const char *const suffixes[] = {"int64s", "floats", "strings", "tensor"};
    static const ox_attr_kind kinds[] = {OX_ATTR_INTS, OX_ATTR_FLOATS, OX_ATTR_STRINGS, OX_ATTR_TENSOR};
    static const ox_dtype dtypes[] = {OX_INT64, OX_FLOAT, OX_STRING, OX_UNDEFINED};
    int given = 0;
    for (int i = 0; i < 4; i++) {
        char name[32];
        ox_format(name, sizeof name, "%s_%s", prefix, suffixes[i]);
        const any_list found = read_list(call, name, kinds[i], dtypes[i]);
        given += found.dtype != OX_UNDEFINED;
        if (found.dtype != OX_UNDEFINED)
            *list = found;
    }
    if (given != 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "%d attributes '%s_...' are given, expected one of them", given,
                            prefix);
    if (!(OX_BIT(list->dtype) & MAPPED_TYPES))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s_tensor': type %s is not supported here", prefix,
                            ox_dtype_name(list->dtype));
    return OX_OK;
}

/* ---- Maps --------------------------------------------------------------------------------------------------- */

typedef struct value_map {
    any_list keys, values; /* of one length */
    key_list sorted;
    bool by_bits;
    union {
        ox_string string;
        int64_t integer;
        int32_t int32;
        int16_t int16;
        float real;
        double wide;
    } otherwise; /* for keys that are not there, of the type of the values */
} value_map;

/* 0, 1, 2, ... */
static ox_status count_up(ox_call *call, size_t count, any_list *list) {
    int64_t *numbers = ox_pile_array(call->pile, count, sizeof *numbers);
    if (!numbers)
        return ox_fail_memory(call->error, "a map", count * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (int64_t)i;
    list->data = numbers;
    return OX_OK;
}

static void set_otherwise(ox_call *call, value_map *m) {
    switch (m->values.dtype) {
    case OX_STRING:
        m->otherwise.string = ox_call_string(call, "default_string", "_Unused");
        break;
    case OX_FLOAT:
        m->otherwise.real = ox_call_float(call, "default_float", -0.0f);
        break;
    case OX_DOUBLE:
        m->otherwise.wide = -0.0;
        break;
    case OX_INT64:
        m->otherwise.integer = ox_call_int(call, "default_int64", -1);
        break;
    case OX_INT32:
        m->otherwise.int32 = -1;
        break;
    default:
        m->otherwise.int16 = -1;
    }
}

static ox_status read_otherwise(ox_call *call, value_map *m) {
    const ox_tensor *tensor = ox_call_has(call, "default_tensor") ? ox_call_tensor(call, "default_tensor") : NULL;
    set_otherwise(call, m);
    if (!tensor)
        return OX_OK;
    if (tensor->dtype != m->values.dtype || ox_tensor_count(tensor) != 1)
        return ox_call_fail(
            call, OX_ERROR_MODEL, "attribute 'default_tensor' is %s %s, expected one element of type %s",
            ox_dtype_name(tensor->dtype), OX_DIMS(tensor->rank, tensor->dims), ox_dtype_name(m->values.dtype));
    memcpy(&m->otherwise, tensor->data, ox_dtype_size(tensor->dtype));
    return OX_OK;
}

static ox_status check_lengths(const ox_call *call, const value_map *m) {
    if (m->keys.count == m->values.count)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "there are %zu keys, but %zu values", m->keys.count, m->values.count);
}

/* Strings to integers or back, by what the input is. */
static void turn_to(const ox_call *call, any_list strings, any_list ints, value_map *m) {
    const bool from_strings = call->in[0]->dtype == OX_STRING;
    m->keys = from_strings ? strings : ints;
    m->values = from_strings ? ints : strings;
}

static ox_status read_encoder(ox_call *call, value_map *m) {
    m->by_bits = call->version < 4;
    m->sorted.last_counts = call->version != 2;
    OX_TRY(read_any(call, "keys", &m->keys));
    OX_TRY(read_any(call, "values", &m->values));
    OX_TRY(check_lengths(call, m));
    return read_otherwise(call, m);
}

/* Version 1: labels are known by their places. The list of these is made in prepare. */
static ox_status read_places(ox_call *call, value_map *m) {
    any_list strings = read_list(call, "classes_strings", OX_ATTR_STRINGS, OX_STRING);
    strings.dtype = OX_STRING;
    turn_to(call, strings, (any_list){OX_INT64, strings.count, NULL}, m);
    m->sorted.last_counts = true;
    return read_otherwise(call, m);
}

static ox_status read_mapper(ox_call *call, value_map *m) {
    any_list strings = read_list(call, "cats_strings", OX_ATTR_STRINGS, OX_STRING);
    any_list ints = read_list(call, "cats_int64s", OX_ATTR_INTS, OX_INT64);
    strings.dtype = OX_STRING;
    ints.dtype = OX_INT64;
    turn_to(call, strings, ints, m);
    m->sorted.last_counts = true;
    OX_TRY(check_lengths(call, m));
    return read_otherwise(call, m);
}

static ox_status infer_map(ox_call *call, const value_map *m) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (x->dtype != m->keys.dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s is not of type %s, as the keys are", OX_INPUT(call, 0),
                            ox_dtype_name(m->keys.dtype));
    return ox_call_output(call, 0, m->values.dtype, x->rank, x->dims);
}

/* Numbers become the bits that are compared. */
static ox_status plan_map(ox_call *call, value_map *m) {
    if (!m->keys.data)
        OX_TRY(count_up(call, m->keys.count, &m->keys));
    if (!m->values.data)
        OX_TRY(count_up(call, m->values.count, &m->values));
    m->sorted.count = m->keys.count;
    if (m->keys.dtype == OX_STRING) {
        m->sorted.strings = m->keys.data;
        return sort_keys(call, &m->sorted);
    }
    int64_t *numbers = ox_pile_array(call->pile, m->keys.count, sizeof *numbers);
    if (!numbers)
        return ox_fail_memory(call->error, "a map", m->keys.count * sizeof *numbers);
    for (size_t i = 0; i < m->keys.count; i++)
        numbers[i] = key_of(m->keys.dtype, m->keys.data, (int64_t)i, m->by_bits);
    m->sorted.numbers = numbers;
    return sort_keys(call, &m->sorted);
}

#define MAP_OPERATOR(name, read)                                                                                       \
    ox_status ox_infer_##name(ox_call *call) {                                                                         \
        value_map m = {0};                                                                                             \
        OX_TRY(read(call, &m));                                                                                        \
        return infer_map(call, &m);                                                                                    \
    }                                                                                                                  \
    ox_status ox_prepare_##name(ox_call *call) {                                                                       \
        value_map *m = ox_call_state(call, sizeof *m);                                                                 \
        if (!m)                                                                                                        \
            return OX_ERROR_MEMORY;                                                                                    \
        OX_TRY(read(call, m));                                                                                         \
        return plan_map(call, m);                                                                                      \
    }
MAP_OPERATOR(label_encoder, read_encoder)
MAP_OPERATOR(label_places, read_places)
MAP_OPERATOR(category_mapper, read_mapper)

static void map_part(void *context, int part, int parts) {
    const ox_call *call = context;
    const value_map *m = call->state;
    const ox_tensor *x = call->in[0], *y = call->out[0];
    const size_t width = ox_dtype_size(y->dtype);
    int64_t i, end;
    ox_pool_range(ox_tensor_count(x), part, parts, &i, &end);
    for (; i < end; i++) {
        const int64_t k = m->sorted.strings ? find_string(&m->sorted, ((const ox_string *)x->data)[i])
                                            : find_number(&m->sorted, key_of(x->dtype, x->data, i, m->by_bits));
        const char *from = k < 0 ? (const char *)&m->otherwise : (const char *)m->values.data + k * (int64_t)width;
        memcpy((char *)y->data + i * (int64_t)width, from, width);
    }
}

ox_status ox_run_map(ox_call *call) {
    ox_pool_run_pieces(call->pool, (double)ox_tensor_count(call->in[0]) * 128, map_part, call);
    return OX_OK;
}

/* ---- OneHotEncoder ------------------------------------------------------------------------------------------ */

typedef struct one_hot {
    key_list keys;
    bool zeros; /* for what is no category */
} one_hot;

static ox_status read_one_hot(ox_call *call, one_hot *o) {
    ox_ml_labels labels;
    OX_TRY(ox_ml_read_labels(call, "cats_int64s", "cats_strings", &labels));
    o->keys = (key_list){.count = labels.count, .strings = labels.strings, .numbers = labels.ints, .last_counts = true};
    o->zeros = ox_call_int(call, "zeros", 1) != 0;
    return OX_OK;
}

ox_status ox_infer_one_hot_encoder(ox_call *call) {
    const ox_tensor *x = call->in[0];
    one_hot o;
    int64_t dims[OX_MAX_RANK + 1];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_one_hot(call, &o));
    if ((x->dtype == OX_STRING) != (o.keys.strings != NULL))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: the categories are %s", OX_INPUT(call, 0),
                            o.keys.strings ? "strings" : "integers");
    for (int d = 0; d < x->rank; d++)
        dims[d] = x->dims[d];
    dims[x->rank] = (int64_t)o.keys.count;
    return ox_call_output(call, 0, OX_FLOAT, x->rank + 1, dims);
}

ox_status ox_prepare_one_hot_encoder(ox_call *call) {
    one_hot *o = ox_call_state(call, sizeof *o);
    if (!o)
        return OX_ERROR_MEMORY;
    OX_TRY(read_one_hot(call, o));
    OX_TRY(ox_workspace_add(call, ox_pool_parts(call->pool), sizeof(int64_t)));
    return sort_keys(call, &o->keys);
}

/* The category of element i; floating numbers are cut off. */
static int64_t category_of(const key_list *keys, const ox_tensor *x, int64_t i) {
    if (x->dtype == OX_STRING)
        return find_string(keys, ((const ox_string *)x->data)[i]);
    if (x->dtype == OX_INT32 || x->dtype == OX_INT64)
        return find_number(keys, key_of(x->dtype, x->data, i, false));
    const double number = x->dtype == OX_FLOAT ? (double)((const ox_f32 *)x->data)[i] : ((const ox_f64 *)x->data)[i];
    return fabs(number) < 0x1p63 ? find_number(keys, (int64_t)number) : -1;
}

typedef struct one_hot_job {
    const ox_call *call;
    int64_t *faults; /* elements that are no category: see ox_faults_clear */
} one_hot_job;

static void one_hot_share(void *context, ox_share *share) {
    const one_hot_job *job = context;
    const one_hot *o = job->call->state;
    const ox_tensor *x = job->call->in[0];
    const int64_t count = (int64_t)o->keys.count;
    int64_t i, end;
    while (ox_share_next(share, &i, &end)) {
        float *to = (float *)job->call->out[0]->data + i * count;
        memset(to, 0, (size_t)(end - i) * o->keys.count * sizeof *to);
        for (; i < end; i++, to += count) {
            const int64_t k = category_of(&o->keys, x, i);
            if (k >= 0)
                to[k] = 1;
            else if (!o->zeros)
                ox_fault_note(share, i, job->faults);
        }
    }
}

ox_status ox_run_one_hot_encoder(ox_call *call) {
    const int threads = ox_pool_parts(call->pool);
    const one_hot *o = call->state;
    size_t used = 0;
    one_hot_job job = {call, ox_workspace_take(call, &used, threads, sizeof(int64_t))};
    ox_faults_clear(threads, job.faults);
    ox_pool_share(ox_pool_for(call->pool, (double)ox_tensor_count(call->out[0]) * sizeof(float)),
                  ox_tensor_count(call->in[0]), 1, one_hot_share, &job);
    const int64_t fault = ox_first_fault(threads, job.faults);
    if (fault >= 0)
        return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of %s is none of the %zu categories", (long long)fault,
                            OX_INPUT(call, 0), o->keys.count);
    return OX_OK;
}
