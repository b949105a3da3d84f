/* expression.c: graphs written as expressions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scopes.h"

enum {
    WORDS = 160,
    WORD = 48
};

typedef struct reader {
    scope *s;
    const char *at;
    int *values; /* by letters */
} reader;

/* Names of operators and attributes, which graphs refer to. */
static const char *keep(const char *text, size_t length) {
    static char words[WORDS][WORD];
    for (int i = 0; i < WORDS && length < WORD; i++) {
        if (!words[i][0])
            memcpy(words[i], text, length);
        if (strlen(words[i]) == length && !strncmp(words[i], text, length))
            return words[i];
    }
    fprintf(stderr, "too many or too long words in expressions: %.*s\n", (int)length, text);
    exit(2);
}

static const char *read_word(reader *r, const char *ends) {
    const size_t length = strcspn(r->at, ends);
    const char *word = keep(r->at, length);
    r->at += length;
    return word;
}

static int64_t read_int(reader *r) {
    if (*r->at == '@') {
        r->at++;
        return r->s->axis;
    }
    char *end;
    const int64_t number = strtoll(r->at, &end, 10);
    r->at = end;
    return number;
}

/* Integers with colons between, or behind the only one. */
static int read_ints(reader *r, int64_t *ints) {
    int count = 0;
    while (strchr("-0123456789@", *r->at) && count < SCOPE_LIST) {
        ints[count++] = read_int(r);
        if (*r->at == ':')
            r->at++;
    }
    return count;
}

static void read_attribute(reader *r) {
    const char *name = read_word(r, "="), *value = ++r->at;
    const size_t length = strcspn(value, ",]");
    int64_t ints[SCOPE_LIST];
    if (!strchr("-0123456789@", *value)) {
        scope_text(r->s, name, read_word(r, ",]"));
    } else if (memchr(value, '.', length)) {
        scope_float(r->s, name, strtof(value, NULL));
        r->at += length;
    } else if (memchr(value, ':', length)) {
        scope_ints(r->s, name, read_ints(r, ints), ints);
    } else {
        scope_int(r->s, name, read_int(r));
    }
}

static int read_term(reader *r);

static int read_node(reader *r) {
    const char *op = read_word(r, "([,)"), *attributes = NULL;
    int nin = 0, in[SCOPE_NODE_INPUTS];
    if (*r->at == '[') {
        attributes = r->at + 1;
        r->at += strcspn(r->at, "]") + 1;
    }
    do {
        r->at++;
        in[nin++] = strchr(",)", *r->at) ? -1 : read_term(r);
    } while (*r->at == ',');
    r->at++;
    const int out = scope_node_of(r->s, op, nin, in);
    if (attributes) {
        reader inner = {r->s, attributes, NULL};
        for (read_attribute(&inner); *inner.at == ','; read_attribute(&inner))
            inner.at++;
    }
    return out;
}

static int read_term(reader *r) {
    if (*r->at == '{') {
        int64_t ints[SCOPE_LIST];
        r->at++;
        const int count = read_ints(r, ints);
        r->at++;
        return scope_list(r->s, OX_INT64, 1, count, ints);
    }
    const size_t length = strcspn(r->at, "([,);");
    return length == 1 ? r->values[*r->at++ - 'a'] : read_node(r);
}

int scope_write(scope *s, const char *expression, int values[26]) {
    reader r = {s, expression, values};
    for (;;) {
        const char *names = r.at;
        const size_t length = strcspn(r.at, "=([,);");
        if (names[length] == '=')
            r.at += length + 1;
        const int value = read_term(&r);
        for (size_t i = 0; names[length] == '=' && i < length; i++)
            values[names[i] - 'a'] = i ? scope_output_of(s) : value;
        if (*r.at != ';')
            return value;
        r.at++;
    }
}

bool scope_reads(const char *expression, char letter) {
    for (const char *c = expression; *c; c++)
        if (*c == letter && c > expression && strchr("(,", c[-1]) && strchr(",);", c[1]))
            return true;
    return false;
}
