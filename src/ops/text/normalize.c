/* normalize.c: StringNormalizer: leaves out stop words, and changes the case of the others. */
#include <string.h>

#include "ops/dense.h"
#include "letters.h"

typedef enum letter_case {
    NONE,
    LOWER,
    UPPER
} letter_case;

typedef struct normalizer {
    bool exact; /* stop words are compared with their case */
    letter_case change;
    ox_language language;
    size_t count;
    const ox_string *stopwords;
} normalizer;

static ox_status read_normalizer(ox_call *call, normalizer *n) {
    const ox_attr *words = ox_call_attr(call, "stopwords", OX_ATTR_STRINGS);
    const ox_string action = ox_call_string(call, "case_change_action", "NONE");
    n->exact = ox_call_int(call, "is_case_sensitive", 0) != 0;
    n->change = ox_says(action, "LOWER") ? LOWER : ox_says(action, "UPPER") ? UPPER : NONE;
    n->language = ox_language_of(ox_call_string(call, "locale", ""));
    n->count = words ? words->count : 0;
    n->stopwords = words ? words->u.strings : NULL;
    if (n->change == NONE && !ox_says(action, "NONE"))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'case_change_action' must be LOWER, UPPER or NONE, not '%.*s'",
                            OX_SHORT(action));
    return OX_OK;
}

/* ---- Stop words --------------------------------------------------------------------------------------------- */

/* The next small letter of a word; both forms of a small sigma are one. */
static bool next_small(ox_letters *letters, uint32_t *letter) {
    const bool is_there = ox_letters_next(letters, letter);
    if (is_there && *letter == 0x3c2)
        *letter = 0x3c3;
    return is_there;
}

static bool is_same_word(const normalizer *n, ox_string a, ox_string b) {
    ox_letters of_a = {.text = a, .language = n->language}, of_b = {.text = b, .language = n->language};
    uint32_t x = 0, y = 0;
    while (next_small(&of_a, &x))
        if (!next_small(&of_b, &y) || x != y)
            return false;
    return !next_small(&of_b, &y);
}

static bool is_kept(const normalizer *n, ox_string s) {
    for (size_t i = 0; i < n->count; i++)
        if (n->exact ? !ox_string_order(s, n->stopwords[i]) : is_same_word(n, s, n->stopwords[i]))
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

/* Writes a text in the other case, and gives its bytes; with `to` NULL it only counts. */
static size_t change_case(const normalizer *n, ox_string s, char *to) {
    ox_letters letters = {.text = s, .upper = n->change == UPPER, .language = n->language};
    size_t size = 0;
    for (uint32_t c; ox_letters_next(&letters, &c);)
        size += (size_t)ox_utf8_put(c, to ? to + size : NULL);
    return size;
}

static ox_status normalize(ox_call *call, const normalizer *n, ox_string s, ox_string *result) {
    *result = s;
    if (n->change == NONE)
        return OX_OK;
    const size_t size = change_case(n, s, NULL);
    char *text = ox_pile_get(call->strings, size ? size : 1);
    if (!text)
        return ox_fail_memory(call->error, "a string", size);
    *result = (ox_string){text, change_case(n, s, text)};
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
