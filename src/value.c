/* value.c: making sequences, optionals and maps in piles. */
#include "value.h"

#include <string.h>

ox_value *ox_make_tensor(ox_pile *pile, ox_dtype dtype, int rank, const int64_t *dims, void *data) {
    const size_t shape = (size_t)rank * sizeof *dims, size = ox_dtype_size(dtype);
    const int64_t count = ox_count(rank, dims);
    ox_value *made = ox_pile_get(pile, sizeof *made + shape);
    if (!data && ox_can_hold(count, dtype))
        data = ox_pile_get(pile, (size_t)count * size + 1);
    if (!made || !data)
        return NULL;
    int64_t *kept = (int64_t *)(void *)(made + 1);
    if (rank)
        memcpy(kept, dims, shape);
    made->type = dtype;
    made->tensor = (ox_tensor){dtype, rank, kept, NULL, data};
    return made;
}

ox_value *ox_make_list(ox_pile *pile, ox_dtype type, size_t count, const ox_value ***items) {
    ox_value *made = ox_pile_get(pile, sizeof *made);
    *items = ox_pile_array(pile, count, sizeof **items);
    if (!made || !*items)
        return NULL;
    made->type = type;
    made->count = count;
    made->items = *items;
    return made;
}

/* Spare capacity before or after a list, at most `most`. */
static size_t free_places(const ox_value *list, bool before, size_t most) {
    const ox_items *shared = list->shared;
    const size_t found = !shared ? 0 : before ? shared->low : shared->room - shared->high;
    return found < most ? found : most;
}

/* A copy of a list with an item inserted at position `at`, or with `skip` items removed there. A list that grows at one
 * end doubles its capacity there, and keeps its spare capacity at the other. */
static const ox_value *copy_list(ox_pile *pile, const ox_value *list, size_t at, const ox_value *item, size_t skip) {
    const size_t more = item ? 1 : 0, count = list->count + more - skip, rest = list->count - at - skip;
    const bool at_end = item && !rest, at_start = item && !at && rest;
    const size_t low = at_start ? count + 4 : at_end ? free_places(list, true, count) : 0;
    const size_t room = low + count + (at_end ? count + 4 : at_start ? free_places(list, false, count) : 0);
    ox_value *made = ox_pile_get(pile, sizeof *made);
    ox_items *shared = ox_pile_get(pile, sizeof *shared);
    const ox_value **slots = ox_pile_array(pile, room, sizeof *slots);
    if (!made || !shared || !slots)
        return NULL;
    const ox_value **to = slots + low;
    if (at)
        memcpy(to, list->items, at * sizeof *to);
    if (item)
        to[at] = item;
    if (rest)
        memcpy(to + at + more, list->items + at + skip, rest * sizeof *to);
    *shared = (ox_items){slots, room, low, low + count};
    *made = (ox_value){.type = list->type, .count = count, .items = to, .shared = shared};
    return made;
}

/* A list of the same references, or of those beside them. */
static const ox_value *share_list(ox_pile *pile, const ox_value *list, const ox_value *const *items, size_t count) {
    ox_value *made = ox_pile_get(pile, sizeof *made);
    if (made)
        *made = (ox_value){.type = list->type, .count = count, .items = items, .shared = list->shared};
    return made;
}

const ox_value *ox_list_insert(ox_pile *pile, const ox_value *list, size_t at, const ox_value *item) {
    ox_items *shared = list->shared;
    const ox_value *const *items = list->items;
    if (shared && at == list->count && items + at == shared->at + shared->high && shared->high < shared->room) {
        shared->at[shared->high++] = item;
        return share_list(pile, list, items, list->count + 1);
    }
    if (shared && !at && items == shared->at + shared->low && shared->low) {
        shared->at[--shared->low] = item;
        return share_list(pile, list, items - 1, list->count + 1);
    }
    return copy_list(pile, list, at, item, 0);
}

const ox_value *ox_list_erase(ox_pile *pile, const ox_value *list, size_t at) {
    if (at == 0 || at == list->count - 1)
        return share_list(pile, list, list->items + (at == 0), list->count - 1);
    return copy_list(pile, list, at, NULL, 1);
}

/* ---- Reading ------------------------------------------------------------------------------------------------ */

ox_kind ox_value_kind(const ox_value *value) {
    return value ? ox_type_kind(value->type) : OX_KIND_UNKNOWN;
}

const char *ox_value_type(const ox_value *value, char text[OX_TYPE_TEXT]) {
    if (!text)
        return "";
    *text = 0;
    return value ? ox_type_write(text, value->type) : text;
}

const ox_tensor *ox_value_tensor(const ox_value *value) {
    return ox_value_kind(value) == OX_KIND_TENSOR ? &value->tensor : NULL;
}

size_t ox_value_count(const ox_value *value) {
    return value ? value->count : 0;
}

const ox_value *ox_value_item(const ox_value *value, size_t index) {
    return index < ox_value_count(value) ? value->items[index] : NULL;
}

const ox_tensor *ox_value_keys(const ox_value *value) {
    return ox_value_kind(value) == OX_KIND_MAP ? &value->tensor : NULL;
}
