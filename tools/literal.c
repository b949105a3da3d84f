/* literal.c: tensors written as text on the command line. */
#include "literal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "text.h"
#include "tool.h"

/* The list levels are a stack of counts, so that deep text costs no stack. */
typedef struct parser {
    const char *text;
    const char *at;
    ox_dtype dtype;
    int depth;                    /* lists that are open */
    int rank;                     /* -1 until the first value or empty list tells */
    int64_t dims[OX_TOOL_RANK];   /* -1 until the first list of that level is closed */
    int64_t counts[OX_TOOL_RANK]; /* items so far of the open lists */
    ox_text elements;
    ox_text characters;
    ox_error *error;
} parser;

ox_status ox_literal_fail(const char *text, const char *at, const char *what, ox_error *error) {
    return ox_tool_fail(error, OX_ERROR_SHAPE, "literal '%.*s': %s at character %zu", (int)ox_text_length(text, 60),
                        text, what, (size_t)(at - text) + 1);
}

static ox_status fail_at(parser *p, const char *what) {
    return ox_literal_fail(p->text, p->at, what, p->error);
}

static void skip_space(parser *p) {
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool take_word(parser *p, const char *word) {
    size_t length = strlen(word);
    if (strncmp(p->at, word, length) != 0 || isalnum((unsigned char)p->at[length]))
        return false;
    p->at += length;
    return true;
}

bool ox_literal_is(const char *text) {
    parser p = {.at = text};
    skip_space(&p);
    if (*p.at == '[' || *p.at == '"' || *p.at == '\'')
        return true;
    if (*p.at == '-' || *p.at == '+')
        p.at++;
    static const char *const words[] = {"true", "false", "True", "False", "nan", "NaN", "inf", "Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take_word(&p, words[i]))
            return true;
    return isdigit((unsigned char)*p.at) || (*p.at == '.' && isdigit((unsigned char)p.at[1]));
}

static bool take_special(parser *p, double *value) {
    const char *start = p->at;
    bool negative = *p->at == '-';
    if (*p->at == '-' || *p->at == '+')
        p->at++;
    bool is_nan = take_word(p, "nan") || take_word(p, "NaN");
    if (!is_nan && !take_word(p, "inf") && !take_word(p, "Infinity")) {
        p->at = start;
        return false;
    }
    *value = is_nan ? (double)NAN : negative ? -(double)INFINITY : (double)INFINITY;
    return true;
}

/* The end of a decimal number at `at`, `at` itself if there is none; strtod alone would take hexadecimal too. */
static const char *number_end(const char *at, bool *is_integer) {
    const char *c = at + (*at == '-' || *at == '+');
    const char *digits = c;
    *is_integer = true;
    for (; isdigit((unsigned char)*c) || (*c == '.' && *is_integer); c++)
        *is_integer &= *c != '.';
    if (c == digits || (c == digits + 1 && !*is_integer))
        return at;
    if (*c != 'e' && *c != 'E')
        return c;
    const char *exponent = c + 1 + (c[1] == '-' || c[1] == '+');
    if (!isdigit((unsigned char)*exponent))
        return c;
    *is_integer = false;
    while (isdigit((unsigned char)*exponent))
        exponent++;
    return exponent;
}

/* One decimal number; a float is rounded once, from the text. */
static ox_status parse_decimal(parser *p, ox_number *number) {
    bool is_integer;
    const char *end = number_end(p->at, &is_integer);
    if (end == p->at)
        return fail_at(p, "expected a number");
    bool is_single = p->dtype == OX_FLOAT || p->dtype == OX_COMPLEX64;
    double value = is_single ? (double)strtof(p->at, NULL) : strtod(p->at, NULL);
    if (isinf(value))
        return fail_at(p, "a number is out of range");
    *number = ox_number_real(value);
    if (is_integer && ox_number_kind_of(p->dtype) <= OX_NUMBER_INT) {
        errno = 0;
        bool negative = *p->at == '-';
        unsigned long long magnitude = strtoull(p->at + (negative || *p->at == '+'), NULL, 10);
        if (errno)
            return fail_at(p, "a number is out of range");
        *number = ox_number_int(negative, magnitude);
    }
    p->at = end;
    return OX_OK;
}

static ox_status parse_real(parser *p, ox_number *number) {
    double value;
    if (!take_special(p, &value))
        return parse_decimal(p, number);
    *number = ox_number_real(value);
    return OX_OK;
}

/* "2", "2j" or "1+2j". */
static ox_status parse_number(parser *p, ox_number *number) {
    ox_status status = parse_real(p, number);
    if (status || ox_number_kind_of(p->dtype) != OX_NUMBER_COMPLEX)
        return status;
    number->kind = OX_NUMBER_COMPLEX;
    if (*p->at == '+' || *p->at == '-') {
        ox_number imaginary;
        status = parse_real(p, &imaginary);
        if (status)
            return status;
        number->imaginary = imaginary.real;
        return *p->at++ == 'j' ? OX_OK : (p->at--, fail_at(p, "expected 'j'"));
    }
    if (*p->at == 'j') {
        p->at++;
        number->imaginary = number->real;
        number->real = 0;
    }
    return OX_OK;
}

static ox_status parse_numeric(parser *p) {
    char element[16] = {0};
    ox_number number;
    const char *start = p->at;
    bool truth = take_word(p, "true") || take_word(p, "True");
    if (truth || take_word(p, "false") || take_word(p, "False")) {
        number = ox_number_int(false, truth);
        if (p->dtype == OX_BOOL)
            number.kind = OX_NUMBER_BOOL;
        else
            return p->at = start, fail_at(p, "true and false are for bool tensors only; found one");
    } else {
        ox_status status = parse_number(p, &number);
        if (status)
            return status;
    }
    if (!ox_number_store(p->dtype, element, number)) {
        ox_text what = {0};
        ox_text_format(&what, "a value that does not fit the type %s", ox_dtype_name(p->dtype));
        p->at = start;
        fail_at(p, ox_text_get(&what));
        ox_text_free(&what);
        return p->error->status;
    }
    ox_text_add(&p->elements, element, ox_dtype_size(p->dtype));
    return OX_OK;
}

/* Four hexadecimal digits. */
static bool take_hex(parser *p, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        if (!isxdigit((unsigned char)*p->at))
            return false;
        char digit[2] = {*p->at, 0};
        *code = *code << 4 | (uint32_t)strtoul(digit, NULL, 16);
    }
    return true;
}

static bool parse_unicode(parser *p) {
    uint32_t code;
    uint32_t low;
    char bytes[4];
    if (!take_hex(p, &code))
        return false;
    if (code >= 0xD800 && code < 0xDC00) {
        if (p->at[0] != '\\' || p->at[1] != 'u' || (p->at += 2, !take_hex(p, &low)) || low < 0xDC00 || low > 0xDFFF)
            return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return false;
    }
    ox_text_add(&p->characters, bytes, ox_utf8_write(code, bytes));
    return true;
}

static bool parse_escape(parser *p) {
    static const char from[] = "nrtbf0\\\"'/";
    static const char to[] = "\n\r\t\b\f\0\\\"'/";
    char c = *p->at;
    if (!c)
        return false;
    p->at++;
    if (c == 'u')
        return parse_unicode(p);
    const char *found = strchr(from, c);
    if (found)
        ox_text_add(&p->characters, &to[found - from], 1);
    return found != NULL;
}

static ox_status parse_string(parser *p) {
    char quote = *p->at;
    if (quote != '"' && quote != '\'')
        return fail_at(p, "expected a string in quotes");
    size_t start = p->characters.size;
    for (p->at++; *p->at != quote;) {
        if (!*p->at)
            return fail_at(p, "a string is not closed");
        if (*p->at == '\\') {
            p->at++;
            if (!parse_escape(p))
                return fail_at(p, "an unknown escape");
        } else {
            ox_text_add(&p->characters, p->at++, 1);
        }
    }
    p->at++;
    ox_string string = {NULL, p->characters.size - start};
    ox_text_add(&p->elements, (const char *)&string, sizeof string);
    return OX_OK;
}

/* A value at this depth: it settles the rank. */
static ox_status parse_value(parser *p) {
    if (p->rank >= 0 && p->rank != p->depth)
        return fail_at(p, "lists of different depth");
    p->rank = p->depth;
    return p->dtype == OX_STRING ? parse_string(p) : parse_numeric(p);
}

static ox_status open_list(parser *p) {
    if (p->depth == OX_TOOL_RANK)
        return fail_at(p, "more than 64 lists inside each other");
    p->at++;
    p->counts[p->depth++] = 0;
    return OX_OK;
}

static ox_status close_list(parser *p) {
    int64_t count = p->counts[p->depth - 1];
    int64_t *dim = &p->dims[p->depth - 1];
    if (!count && p->rank >= 0 && p->rank != p->depth)
        return fail_at(p, "lists of different depth");
    if (!count)
        p->rank = p->depth;
    if (*dim >= 0 && *dim != count)
        return fail_at(p, "lists of different length");
    *dim = count;
    p->depth--;
    p->at++;
    return OX_OK;
}

/* After a value or a closed list: counts it, and closes all lists that end here. */
static ox_status finish_item(parser *p, bool *done) {
    for (;;) {
        skip_space(p);
        *done = p->depth == 0;
        if (*done)
            return *p->at ? fail_at(p, "text after the end") : OX_OK;
        p->counts[p->depth - 1]++;
        if (*p->at == ',') {
            p->at++;
            return OX_OK;
        }
        if (*p->at != ']')
            return fail_at(p, "expected ',' or ']'");
        ox_status status = close_list(p);
        if (status)
            return status;
    }
}

static ox_status parse(parser *p) {
    ox_status status = OX_OK;
    for (bool done = false; !done && !status;) {
        skip_space(p);
        if (*p->at == '[') {
            status = open_list(p);
            skip_space(p);
            if (status || *p->at != ']')
                continue;
            status = close_list(p);
        } else {
            status = parse_value(p);
        }
        if (!status)
            status = finish_item(p, &done);
    }
    return status;
}

static void place_strings(ox_array *array, char *characters) {
    ox_string *strings = array->data;
    int64_t count = ox_tensor_count(&array->tensor);
    array->characters = characters;
    for (int64_t i = 0; i < count; i++) {
        strings[i].data = characters;
        characters += strings[i].size;
    }
}

ox_status ox_literal_read(const char *text, ox_dtype dtype, ox_array *array, ox_error *error) {
    parser p = {.text = text, .at = text, .dtype = dtype, .rank = -1, .error = error};
    for (int d = 0; d < OX_TOOL_RANK; d++)
        p.dims[d] = -1;
    *array = (ox_array){0};
    ox_text_put(&p.characters, "");
    ox_status status = parse(&p);
    if (!status)
        status = ox_array_create(array, dtype, p.rank, p.dims, error);
    if (!status && p.elements.size)
        memcpy(array->data, p.elements.data, p.elements.size);
    if (!status && dtype == OX_STRING)
        place_strings(array, p.characters.data);
    else
        ox_text_free(&p.characters);
    ox_text_free(&p.elements);
    return status;
}
