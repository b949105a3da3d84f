/* tokenizer.c: Tokenizer of com.microsoft. Its tokens are parts of the strings it gets: no bytes move. Patterns are RE2
 * expressions of a single form: atoms that take one character each, of which the last may be repeated. */
#include <string.h>

#include "ops/dense.h"
#include "text.h"

enum {
    LAST_CHARACTER = 0x10ffff,
    CLASS = 1 << 29,     /* with the letter d, s or w: an item that stands for many characters */
    MOST_REPEATS = 1000, /* RE2's own limit */
    MOST_PATTERN = 1024, /* bytes: a pattern is read anew for each character */
    MOST_SEPARATORS = 64 /* each one cuts the parts that the ones before it leave, one call deeper */
};

typedef struct tokenizer {
    bool by_character;
    ox_string expression; /* empty: separators */
    const ox_string *separators;
    size_t nseparators;
    int64_t least; /* characters of a token */
    ox_string pad;
    bool mark;
    struct ox_pool *pool; /* asked whether the run has been cancelled */
    ox_string *to;        /* room for tokens */
    int64_t room, count;
} tokenizer;

static ox_string behind(ox_string s, size_t size) {
    return (ox_string){s.data + size, s.size - size};
}

/* ---- Patterns ----------------------------------------------------------------------------------------------- */

/* The functions take_... read something from the start of a pattern, and give false where it is of another form. */

static bool take_character(ox_string *p, uint32_t *c) {
    int bytes;
    if (!p->size)
        return false;
    *c = ox_utf8_next(p->data, p->size, &bytes);
    *p = behind(*p, (size_t)bytes);
    return *c <= LAST_CHARACTER;
}

static bool is_digit(uint32_t c) {
    return c >= '0' && c <= '9';
}

static bool is_word(uint32_t c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A character, maybe behind a backslash, or one of \d, \s and \w. */
static bool take_item(ox_string *p, uint32_t *item) {
    if (!take_character(p, item) || *item != '\\')
        return *item <= LAST_CHARACTER;
    if (!take_character(p, item) || *item >= 0x80)
        return false;
    if (*item == 'd' || *item == 's' || *item == 'w')
        *item |= CLASS;
    else if (*item == 'n' || *item == 't' || *item == 'r')
        *item = *item == 'n' ? '\n' : *item == 't' ? '\t' : '\r';
    else
        return !is_word(*item) || *item == '_';
    return true;
}

static bool is_of(uint32_t item, uint32_t c) {
    switch (item) {
    case CLASS | 'd':
        return is_digit(c);
    case CLASS | 's':
        return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
    case CLASS | 'w':
        return is_word(c);
    default:
        return item == c;
    }
}

/* A character or a range of a class. A hyphen that makes no range is a character. */
static bool take_range(ox_string *p, uint32_t c, bool *is_in) {
    uint32_t low, high;
    if ((p->size > 1 && !memcmp(p->data, "[:", 2)) || !take_item(p, &low))
        return false;
    *is_in |= is_of(low, c);
    if (low >= CLASS || p->size < 2 || p->data[0] != '-' || p->data[1] == ']')
        return true;
    *p = behind(*p, 1);
    if (!take_item(p, &high) || high < low || high >= CLASS)
        return false;
    *is_in |= c >= low && c <= high;
    return true;
}

/* What follows the bracket of a class, whose first character may be a closing one. */
static bool take_class(ox_string *p, uint32_t c, bool *takes) {
    const bool negated = p->size && p->data[0] == '^';
    bool is_in = false;
    *p = behind(*p, negated);
    do {
        if (!p->size || !take_range(p, c, &is_in))
            return false;
    } while (!p->size || p->data[0] != ']');
    *p = behind(*p, 1);
    *takes = is_in != negated;
    return true;
}

/* An atom, and whether it takes c. */
static bool take_atom(ox_string *p, uint32_t c, bool *takes) {
    const char head = p->data[0];
    uint32_t item;
    if (head == '[' || head == '.')
        *p = behind(*p, 1);
    if (head == '[')
        return take_class(p, c, takes);
    *takes = c != '\n';
    if (head == '.')
        return true;
    if (memchr("()|*+?^$", head, 8) || (head == '{' && p->size > 1 && is_digit((unsigned char)p->data[1])))
        return false;
    if (!take_item(p, &item))
        return false;
    *takes = is_of(item, c);
    return true;
}

/* How often an atom stands at least if the pattern ends with + or {m,} behind it; 0 if not. */
static int64_t repeats(ox_string p) {
    int64_t least = 0;
    size_t i = 1;
    if (p.size == 1 && p.data[0] == '+')
        return 1;
    if (p.size < 4 || p.data[0] != '{' || p.data[1] == '0')
        return 0;
    for (; i < p.size && is_digit((unsigned char)p.data[i]) && least <= MOST_REPEATS; i++)
        least = least * 10 + (p.data[i] - '0');
    return least <= MOST_REPEATS && p.size - i == 2 && !memcmp(p.data + i, ",}", 2) ? least : 0;
}

static bool is_done(ox_string p) {
    bool takes;
    if (!p.size)
        return false;
    while (p.size && !repeats(p))
        if (!take_atom(&p, 0, &takes))
            return false;
    return true;
}

/* The bytes of a character at the start of a text if an atom takes it, 0 if not; the atom is taken from the pattern. */
static size_t match_atom(ox_string *p, ox_string text) {
    bool takes = false;
    int bytes = 0;
    return text.size && take_atom(p, ox_utf8_next(text.data, text.size, &bytes), &takes) && takes ? (size_t)bytes : 0;
}

/* Bytes of the longest match at the start of a text; 0: none. */
static size_t match(ox_string p, ox_string text) {
    size_t used = 0;
    while (p.size) {
        const ox_string atom = p;
        size_t more = match_atom(&p, text);
        if (!more)
            return 0;
        used += more;
        text = behind(text, more);
        const int64_t least = repeats(p);
        if (!least)
            continue;
        int64_t count = 1;
        for (ox_string again = atom; (more = match_atom(&again, text)) != 0; again = atom, count++) {
            used += more;
            text = behind(text, more);
        }
        return count >= least ? used : 0;
    }
    return used;
}

/* ---- Tokens ------------------------------------------------------------------------------------------------- */

static size_t next_size(ox_string s) {
    int bytes;
    ox_utf8_next(s.data, s.size, &bytes);
    return (size_t)bytes;
}

static bool is_long(const tokenizer *t, ox_string s) {
    int64_t count = 0;
    for (; s.size && count < t->least; count++)
        s = behind(s, next_size(s));
    return count >= t->least;
}

static void put(tokenizer *t, ox_string token) {
    if (t->count < t->room)
        t->to[t->count] = token;
    t->count++;
}

/* Cuts by one separator after the other, as ONNX Runtime does: each cuts the parts that the ones before it leave, and
 * parts of fewer characters than a token has at least, so empty ones, too, are dropped each time. */
static void cut(tokenizer *t, ox_string s, size_t which) {
    size_t start = 0, at = 0;
    if (!is_long(t, s))
        return;
    if (which == t->nseparators) {
        put(t, s);
        return;
    }
    while (at < s.size && !ox_pool_poll(t->pool)) {
        const size_t size = match(t->separators[which], behind(s, at));
        if (size) {
            cut(t, (ox_string){s.data + start, at - start}, which + 1);
            start = at + size;
        }
        at += size ? size : next_size(behind(s, at));
    }
    cut(t, behind(s, start), which + 1);
}

/* Searches for tokens. Behind one that is too short the search goes on at its second character. */
static void find(tokenizer *t, ox_string s) {
    while (s.size && !ox_pool_poll(t->pool)) {
        const ox_string token = {s.data, match(t->expression, s)};
        const bool found = token.size && is_long(t, token);
        if (found)
            put(t, token);
        s = behind(s, found ? token.size : next_size(s));
    }
}

/* How many tokens a string has; as many as there is room for are written. */
static int64_t tokenize(tokenizer *t, ox_string s, ox_string *to, int64_t room) {
    t->to = to;
    t->room = room;
    t->count = 0;
    if (!t->by_character && t->expression.size)
        find(t, s);
    else if (!t->by_character)
        cut(t, s, 0);
    for (size_t size; t->by_character && s.size; s = behind(s, size)) {
        size = next_size(s);
        put(t, (ox_string){s.data, size});
    }
    return t->count;
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

static tokenizer read_tokenizer(ox_call *call) {
    const ox_attr *separators = ox_call_attr(call, "separators", OX_ATTR_STRINGS);
    tokenizer t = {.expression = ox_call_string(call, "tokenexp", ""), .least = ox_call_int(call, "mincharnum", 1)};
    t.pool = call->pool;
    t.pad = ox_call_string(call, "pad_value", "");
    t.mark = ox_call_int(call, "mark", 0) != 0;
    t.separators = separators ? separators->u.strings : NULL;
    t.nseparators = separators ? separators->count : 0;
    /* The expression "." takes line feeds, too, unlike a dot in another one. */
    t.by_character = t.nseparators ? t.nseparators == 1 && !t.separators[0].size : ox_says(t.expression, ".");
    return t;
}

static ox_status check_pattern(ox_call *call, const char *attribute, ox_string pattern) {
    if (pattern.size > MOST_PATTERN)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED,
                            "attribute '%s' has a pattern of %zu bytes, at most %d are supported", attribute,
                            pattern.size, MOST_PATTERN);
    if (is_done(pattern))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_UNSUPPORTED,
                        "attribute '%s' has '%.*s': of regular expressions only characters and classes of them are "
                        "supported, with + or {m,} behind the last",
                        attribute, OX_SHORT(pattern));
}

ox_status ox_prepare_tokenizer(ox_call *call) {
    const tokenizer read = read_tokenizer(call), *const t = &read;
    const bool separators = ox_call_has(call, "separators"), expression = ox_call_has(call, "tokenexp");
    if (separators == expression || (separators ? !t->nseparators : !t->expression.size))
        return ox_call_fail(call, OX_ERROR_MODEL, "there must be one of 'separators' and 'tokenexp', and not empty");
    if (t->least < 1 || (t->by_character && t->least > 1))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'mincharnum' is %lld, %s", (long long)t->least,
                            t->least < 1 ? "less than 1" : "more than the 1 of tokens of one character");
    if (t->nseparators > MOST_SEPARATORS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "there are %zu separators, at most %d are supported", t->nseparators,
                            MOST_SEPARATORS);
    for (size_t i = 0; i < t->nseparators && !t->by_character; i++)
        OX_TRY(check_pattern(call, "separators", t->separators[i]));
    return expression ? check_pattern(call, "tokenexp", t->expression) : OX_OK;
}

static ox_status check_text(ox_call *call, ox_string s, int64_t i) {
    uint32_t c;
    while (s.size)
        if (!take_character(&s, &c))
            return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of %s is not UTF-8", (long long)i,
                                OX_INPUT(call, 0));
    return OX_OK;
}

ox_status ox_infer_tokenizer(ox_call *call) {
    tokenizer t = read_tokenizer(call);
    const ox_tensor *x = call->in[0];
    int64_t dims[3] = {0}, most = 0;
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_STRING)));
    OX_TRY(ox_prepare_tokenizer(call));
    if (x->rank < 1 || x->rank > 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be of shape [C] or [N,C]", OX_INPUT(call, 0));
    OX_TRY(ox_call_data(call, 0, &x));
    for (int d = 0; d < x->rank; d++)
        dims[d] = x->dims[d];
    if (!ox_tensor_count(x)) { /* the operator's text: [0] gives [0], and [N,0] gives [N,0] */
        dims[x->rank - 1] = 0;
        return ox_call_output(call, 0, OX_STRING, x->rank, dims);
    }
    for (int64_t i = 0, count = ox_tensor_count(x); i < count && !ox_pool_poll(call->pool); i++) {
        OX_TRY(check_text(call, *ox_string_at(x, i), i));
        const int64_t tokens = tokenize(&t, *ox_string_at(x, i), NULL, 0);
        most = tokens > most ? tokens : most;
    }
    dims[x->rank] = most && t.mark ? most + 2 : most; /* where there are no tokens, there are no marks */
    return ox_call_output(call, 0, OX_STRING, x->rank + 1, dims);
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

ox_status ox_run_tokenizer(ox_call *call) {
    tokenizer t = read_tokenizer(call);
    const ox_tensor *x = call->in[0], *out = call->out[0];
    const int64_t count = ox_tensor_count(x), width = out->dims[out->rank - 1];
    for (int64_t i = 0; width && i < count && !ox_pool_poll(call->pool); i++)
        write_row(&t, *ox_string_at(x, i), (ox_string *)out->data + i * width, width);
    return OX_OK;
}
