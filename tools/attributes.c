/* attributes.c: the list that the loader checks nodes by (src/loader/attributes.inc), for people. */
#include "attributes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct definition {
    const char *domain, *name, *versions;
} definition;

static const definition definitions[] = {
#define OPERATOR(domain, name, versions) {domain, #name, versions},
#include "../src/loader/attributes.inc"
#undef OPERATOR
};

enum {
    MOST_WORD = 64 /* characters of a word */
};

/* The words of an operator, NULL if ONNX has none of that name. */
static const char *find_words(const ox_op_info *info) {
    for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++)
        if (!strcmp(definitions[i].domain, info->domain) && !strcmp(definitions[i].name, info->name))
            return definitions[i].versions;
    return NULL;
}

/* The word at `at`, and what comes behind it; NULL at the end. */
static const char *next_word(const char *at, char word[MOST_WORD]) {
    const size_t size = strcspn(at, " ");
    snprintf(word, MOST_WORD, "%.*s", (int)size, at);
    return size ? at + size + (at[size] == ' ') : NULL;
}

/* The last version up to `most` that changes attributes: where its attributes begin, and its number. */
static const char *find_version(const char *words, int most, int *version) {
    char word[MOST_WORD];
    const char *found = "";
    *version = 0;
    for (const char *next; (next = next_word(words, word)); words = next)
        if (!strchr(word, ':') && atoi(word) <= most) {
            found = next;
            *version = atoi(word);
        }
    return found;
}

static int first_of(uint64_t versions) {
    int v = 0;
    while (v < 63 && !(versions >> v & 1))
        v++;
    return v;
}

static int last_of(uint64_t versions) {
    int v = 63;
    while (v > 0 && !(versions >> v & 1))
        v--;
    return v;
}

/* The version, among those of the row, that brought an attribute: `word` is its name and kind. */
static int brought_by(const char *words, const char *word, const ox_op_info *info) {
    const size_t size = strcspn(word, ":") + 1;
    for (int v = first_of(info->versions); v < 63; v++) {
        int version;
        char other[MOST_WORD];
        const char *at = find_version(words, v, &version);
        for (const char *next; (next = next_word(at, other)) && strchr(other, ':'); at = next)
            if (!strncmp(other, word, size))
                return v;
    }
    return 0;
}

static void put_attribute(ox_text *text, const char *words, const char *word, const ox_op_info *info) {
    static const char letters[] = "fistgFISTGpPyY";
    static const char *const kinds[] = {"float", "int",     "string",  "tensor", "graph",         "floats",
                                        "ints",  "strings", "tensors", "graphs", "sparse tensor", "sparse tensors",
                                        "type",  "types"};
    const char *kind = strchr(word, ':') + 1;
    const int since = brought_by(words, word, info);
    ox_text_format(text, "  attribute  %.*s: %s", (int)strcspn(word, ":"), word,
                   kinds[strchr(letters, *kind) - letters]);
    ox_text_put(text, kind[1] == '!' ? ", required" : "");
    if (since > first_of(info->versions))
        ox_text_format(text, ", since %d", since);
    ox_text_put(text, "\n");
}

void ox_attributes_put(ox_text *text, const ox_op_info *info) {
    int version;
    char word[MOST_WORD];
    const char *words = find_words(info), *at = words ? find_version(words, last_of(info->versions), &version) : "";
    for (const char *next; (next = next_word(at, word)) && strchr(word, ':'); at = next)
        put_attribute(text, words, word, info);
}
