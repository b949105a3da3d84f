/* own.c: values that a caller owns. */
#include "own.h"

#include <string.h>

#include "iterate/bcast.h"
#include "loops/lanes.h"
#include "options.h"

ox_status ox_own_begin(const ox_options *options, ox_owned **owned, ox_error *error) {
    const ox_allocator *allocator = ox_options_allocator(options);
    OX_TRY(ox_options_check(options, error));
    if (!allocator)
        return ox_fail(error, OX_ERROR_ARGUMENT, "there is no default allocator: give one in the options");
    ox_owned *made = ox_alloc(allocator, sizeof *made);
    if (!made)
        return ox_fail_memory(error, "a value", sizeof *made);
    *made = (ox_owned){.allocator = *allocator, .name = ""};
    ox_pile_init(&made->pile, &made->allocator);
    *owned = made;
    return OX_OK;
}

ox_status ox_own_end(ox_owned *owned, ox_status status, ox_value **value) {
    if (status == OX_OK)
        *value = &owned->value;
    else
        ox_value_free(&owned->value);
    return status;
}

void ox_value_free(ox_value *value) {
    if (!value)
        return;
    ox_owned *owned = (ox_owned *)(void *)((char *)value - offsetof(ox_owned, value));
    const ox_allocator allocator = owned->allocator;
    ox_pile_free(&owned->pile);
    ox_release(&allocator, owned, sizeof *owned);
}

/* ---- Copying ------------------------------------------------------------------------------------------------ */

static bool copy_strings(ox_pile *pile, ox_string *strings, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        char *text = ox_pile_get(pile, strings[i].size + 1);
        if (!text)
            return false;
        if (strings[i].size)
            memcpy(text, strings[i].data, strings[i].size);
        strings[i].data = text;
    }
    return true;
}

ox_value *ox_own_tensor(ox_pile *pile, const ox_tensor *tensor) {
    const int64_t count = ox_tensor_count(tensor);
    ox_value *made = ox_make_tensor(pile, tensor->dtype, tensor->rank, tensor->dims, NULL);
    if (!made || !count)
        return made;
    ox_pack(ox_loops_find(NULL), NULL, tensor, made->tensor.data);
    return tensor->dtype != OX_STRING || copy_strings(pile, made->tensor.data, count) ? made : NULL;
}

/* Nests no deeper than types do. */
static bool copy_value(ox_pile *pile, const ox_value *from, ox_value *to) {
    *to = (ox_value){.type = from->type, .count = from->count};
    if (ox_value_tensor(from) || ox_value_keys(from)) {
        const ox_value *copy = ox_own_tensor(pile, &from->tensor);
        if (!copy)
            return false;
        to->tensor = copy->tensor;
    }
    const ox_value **items = ox_pile_array(pile, from->count, sizeof *items);
    ox_value *copies = ox_pile_array(pile, from->count, sizeof *copies);
    if (!items || !copies)
        return false;
    to->items = items;
    for (size_t i = 0; i < from->count; i++) {
        items[i] = &copies[i];
        if (!copy_value(pile, from->items[i], &copies[i]))
            return false;
    }
    return true;
}

/* ---- Making ------------------------------------------------------------------------------------------------- */

static ox_status check_tensor(const ox_tensor *tensor, const char *what, ox_error *error) {
    const int64_t count = ox_tensor_count(tensor);
    if (tensor->rank > OX_MAX_RANK || count < 0 || !ox_dtype_size(tensor->dtype) || ox_is_value(tensor->dtype) ||
        (count && !tensor->data))
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s is not described by a type, a shape and data", what);
    if (!ox_can_hold(count, tensor->dtype))
        return ox_fail(error, OX_ERROR_LIMIT, "%s is too large for this machine", what);
    return OX_OK;
}

ox_status ox_value_from_tensor(const ox_tensor *tensor, const ox_options *options, ox_value **value, ox_error *error) {
    ox_owned *owned;
    ox_error_clear(error);
    OX_NEED(value, error);
    *value = NULL;
    OX_NEED(tensor, error);
    OX_TRY(check_tensor(tensor, "the tensor", error));
    OX_TRY(ox_own_begin(options, &owned, error));
    const ox_value from = {.type = tensor->dtype, .tensor = *tensor};
    const bool made = copy_value(&owned->pile, &from, &owned->value);
    return ox_own_end(owned, made ? OX_OK : ox_fail_memory(error, "a value", 0), value);
}

ox_status ox_own_join(ox_dtype *type, ox_dtype item, size_t i, ox_error *error) {
    if (!ox_type_fits(*type, item))
        return ox_fail(error, OX_ERROR_SHAPE, "item %zu is of type %s, those before it of type %s", i, OX_TYPE(item),
                       OX_TYPE(*type));
    if (ox_type_is_open(*type))
        *type = item;
    return OX_OK;
}

static ox_status check_keys(ox_kind kind, const ox_tensor *keys, size_t count, ox_error *error) {
    if (kind != OX_KIND_MAP)
        return keys ? ox_fail(error, OX_ERROR_ARGUMENT, "only maps have keys") : OX_OK;
    OX_NEED(keys, error);
    OX_TRY(check_tensor(keys, "the list of keys", error));
    if (keys->rank != 1 || (uint64_t)keys->dims[0] != count)
        return ox_fail(error, OX_ERROR_SHAPE, "a map of %zu items has keys of shape %s", count,
                       OX_DIMS(keys->rank, keys->dims));
    return OX_OK;
}

static ox_status check_items(ox_kind kind, const ox_tensor *keys, const ox_value *const *items, size_t count,
                             ox_dtype *type, ox_error *error) {
    ox_dtype item = OX_UNDEFINED;
    if (kind != OX_KIND_SEQUENCE && kind != OX_KIND_OPTIONAL && kind != OX_KIND_MAP)
        return ox_fail(error, OX_ERROR_ARGUMENT, "sequences, optionals and maps have items, kind %d has none",
                       (int)kind);
    OX_TRY(check_keys(kind, keys, count, error));
    if (count > (kind == OX_KIND_OPTIONAL ? 1 : OX_MAX_ITEMS))
        return ox_fail(error, OX_ERROR_LIMIT, "%zu items are too many, %s has at most %zu", count, ox_kind_text(kind),
                       kind == OX_KIND_OPTIONAL ? (size_t)1 : (size_t)OX_MAX_ITEMS);
    if (count)
        OX_NEED(items, error);
    for (size_t i = 0; i < count; i++) {
        OX_NEED(items[i], error);
        OX_TRY(ox_own_join(&item, items[i]->type, i, error));
    }
    *type = ox_type_around(kind, keys ? keys->dtype : OX_UNDEFINED, item);
    return *type != OX_UNDEFINED
               ? OX_OK
               : ox_fail(error, OX_ERROR_ARGUMENT,
                         "the type of the value nests deeper than %d, or no map has such keys", (int)OX_MOST_LEVELS);
}

ox_status ox_value_from_items(ox_kind kind, const ox_tensor *keys, const ox_value *const *items, size_t count,
                              const ox_options *options, ox_value **value, ox_error *error) {
    ox_owned *owned;
    ox_dtype type;
    ox_error_clear(error);
    OX_NEED(value, error);
    *value = NULL;
    OX_TRY(check_items(kind, keys, items, count, &type, error));
    OX_TRY(ox_own_begin(options, &owned, error));
    const ox_value from = {.type = type, .count = count, .items = items, .tensor = keys ? *keys : (ox_tensor){0}};
    const bool made = copy_value(&owned->pile, &from, &owned->value);
    return ox_own_end(owned, made ? OX_OK : ox_fail_memory(error, "a value", 0), value);
}
