/* tokenizer.c: Tokenizer of com.microsoft with any pattern of RE2. What it gives is what ONNX Runtime gives, whose own
 * it is; tokens are parts of the strings of the input, so that no bytes move. */
#include <string.h>

#include "regex.h"

enum {
    MOST_SEPARATORS = 64 /* each one cuts the parts that the ones before it leave, one call deeper */
};

typedef struct tokenizer {
    ox_regex *patterns[MOST_SEPARATORS];
    size_t count;              /* of patterns; 0: tokens are characters */
    bool searches;             /* for tokens by the one pattern; false: for what stands between tokens */
    int64_t least;             /* characters of a token */
    bool mark, failed, halves; /* halves: a match begins or ends within a character */
    ox_string pad;
    ox_string *to; /* room for tokens */
    int64_t room, tokens;
} tokenizer;

/* ---- UTF-8 -------------------------------------------------------------------------------------------------- */

static ox_string behind(ox_string s, size_t size) {
    return (ox_string){s.data + size, s.size - size};
}

/* Bytes of the character that begins so, as its first byte has it; 0: none begins so. */
static size_t character_size(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/* Bytes of the first character; another thread may be changing a text that was checked before. */
static size_t next_size(ox_string s) {
    const size_t size = character_size((unsigned char)*s.data);
    return size && size <= s.size ? size : 1;
}

/* Whether the first character is one of Unicode, in its shortest form, and no half of a pair. */
static bool is_character(ox_string s) {
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)s.data;
    const size_t size = character_size(*bytes);
    if (!size || size > s.size)
        return false;
    uint32_t c = size == 1 ? *bytes : *bytes & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return false;
        c = c << 6 | (bytes[i] & 0x3f);
    }
    return c >= lowest[size] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

static bool is_utf8(ox_string s) {
    for (; s.size; s = behind(s, next_size(s)))
        if (!is_character(s))
            return false;
    return true;
}

/* ---- Tokens ------------------------------------------------------------------------------------------------- */

static bool is_long(const tokenizer *t, ox_string s) {
    int64_t count = 0;
    for (; s.size && count < t->least; count++)
        s = behind(s, next_size(s));
    return count >= t->least;
}

static void put(tokenizer *t, ox_string token) {
    if (t->tokens < t->room)
        t->to[t->tokens] = token;
    t->tokens++;
}

static bool is_within(ox_string s, size_t at) {
    return at < s.size && ((unsigned char)s.data[at] & 0xc0) == 0x80;
}

/* The next match of a pattern from byte `at` on: its start and size. */
static bool find(tokenizer *t, size_t which, ox_string s, size_t at, size_t *start, size_t *size) {
    ox_string match;
    const int found = ox_regex_find(t->patterns[which], s, at, &match);
    t->failed |= found < 0;
    if (found <= 0)
        return false;
    *start = (size_t)(match.data - s.data);
    *size = match.size;
    t->halves |= is_within(s, *start) || is_within(s, *start + *size);
    return !t->halves;
}

/* Cuts by one separator after the other: each cuts the parts that the ones before it leave, and parts of fewer
 * characters than a token has at least are dropped each time. One that matches nothing takes the character there. */
static void cut(tokenizer *t, ox_string s, size_t which) {
    size_t from = 0, start, size;
    if (!is_long(t, s))
        return;
    if (which == t->count) {
        put(t, s);
        return;
    }
    while (from < s.size && find(t, which, s, from, &start, &size)) {
        cut(t, (ox_string){s.data + from, start - from}, which + 1);
        if (start == s.size)
            return;
        from = start + (size ? size : next_size(behind(s, start)));
    }
    cut(t, behind(s, from), which + 1);
}

/* Behind a match that is too short the search goes on at its second character. */
static void search(tokenizer *t, ox_string s) {
    size_t from = 0, start, size;
    while (from < s.size && find(t, 0, s, from, &start, &size) && start < s.size) {
        const ox_string token = {s.data + start, size};
        const bool is_token = size && is_long(t, token);
        if (is_token)
            put(t, token);
        from = start + (is_token ? size : next_size(behind(s, start)));
    }
}

/* How many tokens a string has; as many as there is room for are written. */
static int64_t tokenize(tokenizer *t, ox_string s, ox_string *to, int64_t room) {
    t->to = to;
    t->room = room;
    t->tokens = 0;
    if (t->searches)
        search(t, s);
    else if (t->count)
        cut(t, s, 0);
    else
        for (size_t size; s.size; s = behind(s, size)) {
            size = next_size(s);
            put(t, (ox_string){s.data, size});
        }
    return t->tokens;
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

static void free_patterns(tokenizer *t) {
    for (size_t i = 0; i < t->count; i++)
        ox_regex_free(t->patterns[i]);
}

static ox_status compile(ox_call *call, tokenizer *t, const char *attribute, const ox_string *patterns, size_t count) {
    for (; t->count < count; t->count++) {
        const ox_status status = ox_regex_compile(call, attribute, patterns[t->count], true, &t->patterns[t->count]);
        if (status) {
            free_patterns(t);
            return status;
        }
    }
    return OX_OK;
}

static ox_status check_least(ox_call *call, const tokenizer *t, bool by_character) {
    if (t->least >= 1 && (!by_character || t->least == 1))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'mincharnum' is %lld, %s", (long long)t->least,
                        t->least < 1 ? "less than 1" : "more than the 1 of tokens of one character");
}

/* After success, patterns are to be freed. */
static ox_status read_tokenizer(ox_call *call, tokenizer *t) {
    size_t count;
    const bool has_separators = ox_call_has(call, "separators"), has_expression = ox_call_has(call, "tokenexp");
    const ox_string *separators = ox_call_strings(call, "separators", &count);
    const ox_string expression = ox_call_string(call, "tokenexp", "");
    *t = (tokenizer){.least = ox_call_int(call, "mincharnum", 1), .mark = ox_call_int(call, "mark", 0) != 0};
    t->pad = ox_call_string(call, "pad_value", "");
    t->searches = has_expression;
    if (has_separators == has_expression || (has_separators ? !count : !expression.size))
        return ox_call_fail(call, OX_ERROR_MODEL, "there must be one of 'separators' and 'tokenexp', and not empty");
    if (count > MOST_SEPARATORS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "there are %zu separators, at most %d are supported", count,
                            MOST_SEPARATORS);
    /* The expression "." takes line feeds, too, unlike a dot in another one. */
    const bool by_character =
        has_separators ? count == 1 && !separators[0].size : expression.size == 1 && *expression.data == '.';
    const ox_status status = check_least(call, t, by_character);
    t->searches &= !by_character;
    if (status || by_character)
        return status;
    return has_separators ? compile(call, t, "separators", separators, count)
                          : compile(call, t, "tokenexp", &expression, 1);
}

/* ---- The operator ------------------------------------------------------------------------------------------- */

static int64_t count_of(const ox_tensor *x) {
    int64_t count = 1;
    for (int d = 0; d < x->rank; d++)
        count *= x->dims[d];
    return count;
}

static ox_status check_matches(ox_call *call, const tokenizer *t) {
    if (t->failed)
        return ox_call_fail(call, OX_ERROR_MEMORY, "no memory to match");
    return t->halves ? ox_call_fail(call, OX_ERROR_VALUE, "a match begins or ends within a character") : OX_OK;
}

/* The most tokens of a string. */
static ox_status count_tokens(ox_call *call, tokenizer *t, const ox_tensor *x, int64_t *most) {
    const ox_string *texts = x->data;
    for (int64_t i = 0, count = count_of(x); i < count; i++) {
        if (!is_utf8(texts[i]))
            return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of its input is no UTF-8", (long long)i);
        const int64_t tokens = tokenize(t, texts[i], NULL, 0);
        *most = tokens > *most ? tokens : *most;
    }
    return check_matches(call, t);
}

static ox_status infer_shape(ox_call *call, tokenizer *t) {
    const ox_tensor *x = ox_call_input(call, 0);
    int64_t dims[3] = {0}, most = 0;
    if (x->rank < 1 || x->rank > 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "its input must be of shape [C] or [N,C]");
    ox_status status = ox_call_data(call, 0, &x);
    if (status)
        return status;
    for (int d = 0; d < x->rank; d++)
        dims[d] = x->dims[d];
    if (!count_of(x)) { /* the operator's text: [0] gives [0], and [N,0] gives [N,0] */
        dims[x->rank - 1] = 0;
        return ox_call_output(call, 0, OX_STRING, x->rank, dims);
    }
    status = count_tokens(call, t, x, &most);
    dims[x->rank] = most && t->mark ? most + 2 : most; /* where there are no tokens, there are no marks */
    return status ? status : ox_call_output(call, 0, OX_STRING, x->rank + 1, dims);
}

ox_status ox_regex_infer_tokens(ox_call *call) {
    tokenizer t;
    ox_status status = ox_call_check_dtype(call, 0, 1u << OX_STRING);
    if (!status)
        status = read_tokenizer(call, &t);
    if (status)
        return status;
    status = infer_shape(call, &t);
    free_patterns(&t);
    return status;
}

/* Writes the tokens of one string between marks, and fills the rest of the row. */
static void write_row(tokenizer *t, ox_string s, ox_string *row, int64_t width) {
    int64_t at = t->mark;
    const int64_t room = width - 2 * at, tokens = tokenize(t, s, row + at, room);
    if (t->mark)
        row[0] = (ox_string){"\2", 1};
    at += tokens < room ? tokens : room;
    if (t->mark)
        row[at++] = (ox_string){"\3", 1};
    while (at < width)
        row[at++] = t->pad;
}

ox_status ox_regex_run_tokens(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0), *out = ox_call_result(call, 0);
    const ox_string *texts = x->data;
    const int64_t count = count_of(x), width = out->dims[out->rank - 1];
    tokenizer t;
    const ox_status status = read_tokenizer(call, &t);
    if (status)
        return status;
    for (int64_t i = 0; width && i < count; i++)
        write_row(&t, texts[i], (ox_string *)out->data + i * width, width);
    free_patterns(&t);
    return check_matches(call, &t);
}
