/* dictionaries.c: operators on maps: ZipMap, CastMap and DictVectorizer. */
#include "ml.h"

#include <string.h>

#include "digits.h"
#include "ops/values.h"

/* ---- ZipMap ------------------------------------------------------------------------------------------------- */

static ox_status read_classes(ox_call *call, ox_ml_labels *labels, int64_t *rows, int64_t *columns) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_FLOAT)));
    OX_TRY(ox_ml_rows(call, 0, rows, columns));
    OX_TRY(ox_ml_read_labels(call, "classlabels_int64s", "classlabels_strings", labels));
    const char *name = labels->ints ? "classlabels_int64s" : "classlabels_strings";
    return ox_ml_check_count(call, name, labels->count, *columns, "the columns of the input");
}

ox_status ox_infer_zip_map(ox_call *call) {
    ox_ml_labels labels;
    int64_t rows, columns;
    OX_TRY(read_classes(call, &labels, &rows, &columns));
    const ox_dtype map = ox_type_around(OX_KIND_MAP, ox_ml_labels_dtype(&labels), OX_FLOAT);
    if ((uint64_t)rows > OX_MAX_ITEMS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld maps are too many, a sequence has at most %zu items",
                            (long long)rows, (size_t)OX_MAX_ITEMS);
    return ox_call_output(call, 0, ox_type_around(OX_KIND_SEQUENCE, OX_UNDEFINED, map), 0, NULL);
}

/* The maps of all rows: their keys are the attribute's, their values lie in one block. */
static const ox_value *zip(ox_call *call, const ox_ml_labels *labels, size_t rows, const int64_t *columns) {
    const ox_dtype type = call->out[0]->dtype, dtype = ox_ml_labels_dtype(labels);
    const size_t width = (size_t)*columns, size = rows * width;
    const ox_value **maps, **items = ox_pile_array(call->strings, size, sizeof *items);
    const ox_value *list = ox_make_list(call->strings, type, rows, &maps);
    ox_value *made = ox_pile_array(call->strings, rows, sizeof *made);
    ox_value *cells = ox_pile_array(call->strings, size, sizeof *cells);
    float *data = ox_pile_array(call->strings, size, sizeof *data);
    void *keys = ox_pile_array(call->strings, width, ox_dtype_size(dtype));
    int64_t *dims = ox_pile_get(call->strings, sizeof *dims);
    if (!items || !list || !made || !cells || !data || !keys || !dims)
        return NULL;
    *dims = *columns;
    memcpy(data, call->in[0]->data, size * sizeof *data);
    for (size_t k = 0; k < width; k++)
        ox_ml_put_label(labels, k, keys, (int64_t)k);
    for (size_t i = 0; i < size; i++) {
        cells[i] = (ox_value){.type = OX_FLOAT, .tensor = {.dtype = OX_FLOAT, .data = &data[i]}};
        items[i] = &cells[i];
    }
    for (size_t i = 0; i < rows; i++) {
        made[i] = (ox_value){.type = ox_type_item(type), .count = width, .items = items + i * width};
        made[i].tensor = (ox_tensor){dtype, 1, dims, NULL, keys};
        maps[i] = &made[i];
    }
    return list;
}

ox_status ox_run_zip_map(ox_call *call) {
    ox_ml_labels labels;
    int64_t rows, columns;
    OX_TRY(read_classes(call, &labels, &rows, &columns));
    return ox_call_set_value(call, 0, zip(call, &labels, (size_t)rows, &columns));
}

/* ---- Maps as rows ------------------------------------------------------------------------------------------- */

/* Fails unless input 0 is a map with such keys, of single values of such types. */
static ox_status check_map(ox_call *call, ox_dtypes keys, ox_dtypes values) {
    OX_TRY(ox_call_check_kind(call, 0, OX_KIND_MAP));
    const ox_dtype type = call->in[0]->dtype, value = ox_type_item(type);
    if (OX_BIT(ox_type_key(type)) & keys && !ox_is_value(value) && OX_BIT(value) & values)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: maps of such types are not supported here", OX_INPUT(call, 0));
}

/* The one element of item i. */
static ox_status single_value(const ox_call *call, const ox_value *map, size_t i, const void **element) {
    const ox_tensor *t = &map->items[i]->tensor;
    *element = t->data;
    if (ox_tensor_count(t) == 1)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "value %zu of %s has shape %s, and should be one element", i,
                        OX_INPUT(call, 0), OX_DIMS(t->rank, t->dims));
}

/* ---- CastMap ------------------------------------------------------------------------------------------------ */

typedef struct caster {
    ox_dtype from, to;
    int64_t length; /* of a sparse form; -1 for a dense one */
} caster;

static ox_status read_caster(ox_call *call, caster *c) {
    static const char *const casts[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"}, *const forms[] = {"DENSE", "SPARSE"};
    static const ox_dtype types[] = {OX_FLOAT, OX_STRING, OX_INT64};
    int cast = 0, form = 0;
    OX_TRY(check_map(call, OX_BIT(OX_INT64), OX_BIT(OX_FLOAT) | OX_BIT(OX_STRING)));
    OX_TRY(ox_ml_choice(call, "cast_to", casts, 3, &cast));
    OX_TRY(ox_ml_choice(call, "map_form", forms, 2, &form));
    *c = (caster){ox_type_item(call->in[0]->dtype), types[cast], form ? ox_call_int(call, "max_map", 1) : -1};
    if (form && c->length < 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'max_map' must be positive, not %lld",
                            (long long)c->length);
    return OX_OK;
}

ox_status ox_infer_cast_map(ox_call *call) {
    const ox_value *map;
    caster c;
    OX_TRY(read_caster(call, &c));
    int64_t dims[] = {1, c.length};
    if (c.length < 0) {
        OX_TRY(ox_call_value(call, 0, &map));
        dims[1] = (int64_t)map->count;
    }
    return ox_call_output(call, 0, c.to, 2, dims);
}

static int64_t whole(float x) {
    return !(x >= -0x1p63f) ? INT64_MIN : x >= 0x1p63f ? INT64_MAX : (int64_t)x;
}

/* As Cast reads numbers; what is no number, or none that the type holds, is an error. */
static ox_status read_number(ox_call *call, const caster *c, ox_string s, void *to) {
    double real = 0;
    bool negative = false;
    uint64_t magnitude = 0;
    if (c->to == OX_FLOAT && ox_float_parse(s.data, s.size, true, &real)) {
        *(float *)to = (float)real;
        return OX_OK;
    }
    if (c->to == OX_INT64 && ox_int_parse(s.data, s.size, &negative, &magnitude) &&
        magnitude <= (uint64_t)INT64_MAX + negative) {
        magnitude = negative ? 0 - magnitude : magnitude;
        memcpy(to, &magnitude, sizeof magnitude);
        return OX_OK;
    }
    return ox_call_fail(call, OX_ERROR_VALUE, "%s: '%.*s' is not a number of type %s", OX_INPUT(call, 0), OX_SHORT(s),
                        ox_dtype_name(c->to));
}

/* As Cast writes numbers, into memory of the run. */
static ox_status write_number(ox_call *call, float x, ox_string *to) {
    char *text = ox_pile_get(call->strings, OX_NUMBER_TEXT);
    if (!text)
        return ox_fail_memory(call->error, "text", OX_NUMBER_TEXT);
    *to = (ox_string){text, ox_float_text(OX_FLOAT, (double)x, text)};
    return OX_OK;
}

static ox_status put_cast(ox_call *call, const caster *c, const void *from, int64_t at) {
    char *to = (char *)call->out[0]->data + at * (int64_t)ox_dtype_size(c->to);
    float x;
    ox_string s;
    if (c->from == c->to) {
        memcpy(to, from, ox_dtype_size(c->to));
        return OX_OK;
    }
    if (c->from == OX_STRING) {
        memcpy(&s, from, sizeof s);
        return read_number(call, c, s, to);
    }
    memcpy(&x, from, sizeof x);
    if (c->to == OX_STRING)
        return write_number(call, x, (ox_string *)to);
    *(int64_t *)to = whole(x);
    return OX_OK;
}

static bool key_before(const void *context, int64_t a, int64_t b) {
    const int64_t *keys = context;
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
}

static void fill_empty(const ox_tensor *out) {
    const size_t size = (size_t)ox_tensor_count(out) * ox_dtype_size(out->dtype);
    memset(out->data, 0, size);
    for (int64_t i = 0; out->dtype == OX_STRING && i < ox_tensor_count(out); i++)
        ((ox_string *)out->data)[i] = (ox_string){"", 0};
}

ox_status ox_run_cast_map(ox_call *call) {
    const ox_value *map = ox_call_held(call, 0);
    const int64_t *keys = map->tensor.data;
    const void *element;
    caster c;
    OX_TRY(read_caster(call, &c));
    int64_t *order = ox_pile_array(call->strings, map->count, sizeof *order);
    if (!order)
        return ox_fail_memory(call->error, "the order of a map", map->count * sizeof *order);
    for (size_t i = 0; i < map->count; i++)
        order[i] = (int64_t)i;
    ox_ml_sort((int64_t)map->count, order, key_before, keys);
    fill_empty(call->out[0]);
    for (size_t i = 0; i < map->count; i++) {
        const int64_t key = keys[order[i]], at = c.length < 0 ? (int64_t)i : key;
        if (at < 0 || at >= call->out[0]->dims[1])
            return ox_call_fail(call, OX_ERROR_VALUE, "key %lld is out of range for 'max_map' %lld", (long long)key,
                                (long long)c.length);
        OX_TRY(single_value(call, map, (size_t)order[i], &element));
        OX_TRY(put_cast(call, &c, element, at));
    }
    return OX_OK;
}

/* ---- DictVectorizer ----------------------------------------------------------------------------------------- */

static ox_status read_vocabulary(ox_call *call, ox_ml_labels *words) {
    OX_TRY(check_map(call, OX_BIT(OX_INT64) | OX_BIT(OX_STRING),
                     OX_BIT(OX_INT64) | OX_BIT(OX_FLOAT) | OX_BIT(OX_DOUBLE) | OX_BIT(OX_STRING)));
    OX_TRY(ox_ml_read_labels(call, "int64_vocabulary", "string_vocabulary", words));
    if (ox_ml_labels_dtype(words) == ox_type_key(call->in[0]->dtype))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s has keys of another type than the vocabulary, %s", OX_INPUT(call, 0),
                        ox_dtype_name(ox_ml_labels_dtype(words)));
}

ox_status ox_infer_dict_vectorizer(ox_call *call) {
    ox_ml_labels words;
    OX_TRY(read_vocabulary(call, &words));
    const int64_t count = (int64_t)words.count;
    return ox_call_output(call, 0, ox_type_item(call->in[0]->dtype), 1, &count);
}

static bool same_key(const ox_ml_labels *words, size_t k, const ox_value *map, size_t i) {
    if (words->ints)
        return words->ints[k] == ((const int64_t *)map->tensor.data)[i];
    const ox_string a = words->strings[k], b = ((const ox_string *)map->tensor.data)[i];
    return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}

ox_status ox_run_dict_vectorizer(ox_call *call) {
    const ox_value *map = ox_call_held(call, 0);
    const ox_tensor *out = call->out[0];
    const size_t size = ox_dtype_size(out->dtype);
    const void *element;
    ox_ml_labels words;
    OX_TRY(read_vocabulary(call, &words));
    fill_empty(out);
    for (size_t i = 0; i < map->count && !ox_pool_poll(call->pool); i++) {
        size_t k = 0;
        while (k < words.count && !same_key(&words, k, map, i))
            k++;
        if (k == words.count)
            return ox_call_fail(call, OX_ERROR_VALUE, "key %zu of %s is not in the vocabulary", i, OX_INPUT(call, 0));
        OX_TRY(single_value(call, map, i, &element));
        memcpy((char *)out->data + k * size, element, size);
    }
    return OX_OK;
}
