/* normalize.c: StringNormalizer: leaves out stop words, and changes the case of the others. */
#include <string.h>

#include "ops/dense.h"
#include "text.h"

typedef enum letter_case {
    NONE,
    LOWER,
    UPPER
} letter_case;

typedef struct normalizer {
    bool exact; /* stop words are compared with their case */
    letter_case change;
    size_t count;
    const ox_string *stopwords;
} normalizer;

static ox_status read_normalizer(ox_call *call, normalizer *n) {
    const ox_attr *words = ox_call_attr(call, "stopwords", OX_ATTR_STRINGS);
    const ox_string action = ox_call_string(call, "case_change_action", "NONE");
    n->exact = ox_call_int(call, "is_case_sensitive", 0) != 0;
    n->change = ox_says(action, "LOWER") ? LOWER : ox_says(action, "UPPER") ? UPPER : NONE;
    n->count = words ? words->count : 0;
    n->stopwords = words ? words->u.strings : NULL;
    if (n->change == NONE && !ox_says(action, "NONE"))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'case_change_action' must be LOWER, UPPER or NONE, not '%.*s'",
                            OX_SHORT(action));
    return OX_OK;
}

/* ---- Stop words --------------------------------------------------------------------------------------------- */

static bool is_same_word(ox_string a, ox_string b) {
    int a_bytes = 0, b_bytes = 0;
    size_t i = 0, k = 0;
    for (; i < a.size && k < b.size; i += (size_t)a_bytes, k += (size_t)b_bytes)
        if (ox_to_lower(ox_utf8_next(a.data + i, a.size - i, &a_bytes)) !=
            ox_to_lower(ox_utf8_next(b.data + k, b.size - k, &b_bytes)))
            return false;
    return i == a.size && k == b.size;
}

static bool is_kept(const normalizer *n, ox_string s) {
    for (size_t i = 0; i < n->count; i++)
        if (n->exact ? !ox_string_order(s, n->stopwords[i]) : is_same_word(s, n->stopwords[i]))
            return false;
    return true;
}

ox_status ox_infer_string_normalizer(ox_call *call) {
    const ox_tensor *x;
    normalizer n;
    int64_t kept = 0;
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_STRING)));
    OX_TRY(read_normalizer(call, &n));
    x = call->in[0];
    if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be of shape [C] or [1,C]", OX_INPUT(call, 0));
    OX_TRY(ox_call_data(call, 0, &x));
    for (int64_t i = 0; i < ox_tensor_count(x) && !ox_pool_poll(call->pool); i++)
        kept += is_kept(&n, *ox_string_at(x, i));
    const int64_t dims[] = {1, kept ? kept : 1};
    return ox_call_output(call, 0, OX_STRING, x->rank, dims + 2 - x->rank);
}

/* ---- Case --------------------------------------------------------------------------------------------------- */

/* Letters and their other case take the same number of bytes. */
static void change_case(letter_case change, ox_string s, char *text) {
    int bytes;
    memcpy(text, s.data, s.size);
    for (size_t i = 0; i < s.size; i += (size_t)bytes) {
        const uint32_t c = ox_utf8_next(s.data + i, s.size - i, &bytes);
        ox_utf8_put(change == LOWER ? ox_to_lower(c) : ox_to_upper(c), bytes, text + i);
    }
}

static ox_status normalize(ox_call *call, const normalizer *n, ox_string s, ox_string *result) {
    *result = s;
    if (n->change == NONE || s.size == 0)
        return OX_OK;
    char *text = ox_pile_get(call->strings, s.size);
    if (!text)
        return ox_fail_memory(call->error, "a string", s.size);
    change_case(n->change, s, text);
    result->data = text;
    return OX_OK;
}

ox_status ox_run_string_normalizer(ox_call *call) {
    const ox_tensor *x = call->in[0];
    ox_string *out = call->out[0]->data;
    normalizer n;
    int64_t kept = 0;
    OX_TRY(read_normalizer(call, &n));
    for (int64_t i = 0; i < ox_tensor_count(x) && !ox_pool_poll(call->pool); i++)
        if (is_kept(&n, *ox_string_at(x, i)))
            OX_TRY(normalize(call, &n, *ox_string_at(x, i), &out[kept++]));
    if (!kept)
        out[0] = (ox_string){"", 0};
    return OX_OK;
}
