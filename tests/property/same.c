/* same.c: runs of sessions and comparisons of what they give, for tests in Python that do both a thousand times a
 * second. Linked with the libox.so that the program has loaded. */
#include <string.h>

#include "ox.h"

static bool same_strings(const ox_string *a, const ox_string *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (a[i].size != b[i].size || (a[i].size && memcmp(a[i].data, b[i].data, a[i].size) != 0))
            return false;
    return true;
}

/* Whether two packed tensors are the same bits; of others, this does not know. */
static bool same_tensors(const ox_tensor *a, const ox_tensor *b) {
    size_t count = 1;
    if (a->dtype != b->dtype || a->rank != b->rank || a->strides || b->strides)
        return false;
    for (int d = 0; d < a->rank; d++) {
        if (a->dims[d] != b->dims[d])
            return false;
        count *= (size_t)a->dims[d];
    }
    if (a->dtype == OX_STRING)
        return same_strings(a->data, b->data, count);
    return count == 0 || memcmp(a->data, b->data, count * ox_dtype_size(a->dtype)) == 0;
}

static bool same_values(const ox_value *a, const ox_value *b) {
    char one[OX_TYPE_TEXT], other[OX_TYPE_TEXT];
    if (strcmp(ox_value_type(a, one), ox_value_type(b, other)) != 0 || ox_value_count(a) != ox_value_count(b))
        return false;
    if (ox_value_kind(a) == OX_KIND_TENSOR)
        return same_tensors(ox_value_tensor(a), ox_value_tensor(b));
    if (ox_value_kind(a) == OX_KIND_MAP && !same_tensors(ox_value_keys(a), ox_value_keys(b)))
        return false;
    for (size_t i = 0; i < ox_value_count(a); i++)
        if (!same_values(ox_value_item(a, i), ox_value_item(b, i)))
            return false;
    return true;
}

static bool same_output(const ox_session *session, size_t i, const ox_tensor *tensor, const ox_value *value) {
    const ox_value *given = NULL;
    ox_tensor made;
    if (ox_session_output_value(session, i, &given, NULL) != OX_OK)
        return false;
    if (given || value)
        return given && value && same_values(given, value);
    return tensor && ox_session_output(session, i, &made, NULL) == OX_OK && same_tensors(&made, tensor);
}

/* Gives a session its inputs, each a tensor or a value, and runs it. */
OX_API ox_status same_run(ox_session *session, size_t count, const ox_tensor *const *tensors,
                          const ox_value *const *values, ox_error *error) {
    for (size_t i = 0; i < count; i++) {
        ox_status status = values[i] ? ox_session_set_value(session, i, values[i], error)
                                     : ox_session_set_input(session, i, tensors[i], error);
        if (status != OX_OK)
            return status;
    }
    return ox_session_run(session, error);
}

/* The first output from `begin` on that is not, bit for bit, the tensor or value that is wanted; `count`
 * if there is none. */
OX_API size_t same_outputs(const ox_session *session, size_t begin, size_t count, const ox_tensor *const *tensors,
                           const ox_value *const *values) {
    size_t i = begin;
    while (i < count && same_output(session, i, tensors[i], values[i]))
        i++;
    return i;
}

/* Whether two sessions of one model gave the same bits. */
OX_API bool same_sessions(const ox_session *one, const ox_session *other, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const ox_value *value = NULL;
        ox_tensor tensor = {0};
        if (ox_session_output_value(one, i, &value, NULL) != OX_OK ||
            (!value && ox_session_output(one, i, &tensor, NULL) != OX_OK) || !same_output(other, i, &tensor, value))
            return false;
    }
    return true;
}
