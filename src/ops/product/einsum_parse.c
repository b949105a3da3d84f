/* einsum_parse.c: the equation of Einsum: a term for each input, and perhaps one for the output. */
#include "einsum.h"

#include <string.h>

/* What is written of a term: letters, and an ellipsis before the letter `ellipsis`, or -1. */
typedef struct written {
    int count, ellipsis;
    int8_t letters[OX_MAX_RANK];
} written;

typedef struct reader {
    ox_call *call;
    const char *at, *end;
    int hidden;                        /* dimensions of the longest ellipsis */
    int count;                         /* labels of letters */
    int8_t letters[OX_EINSUM_LETTERS]; /* the letter of each label */
    int uses[OX_EINSUM_LETTERS];       /* how often a letter is in the terms of the inputs */
} reader;

static void skip_spaces(reader *r) {
    while (r->at < r->end && *r->at == ' ')
        r->at++;
}

static bool accept(reader *r, const char *text) {
    const size_t size = strlen(text);
    skip_spaces(r);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, text, size) != 0)
        return false;
    r->at += size;
    return true;
}

/* The number of a letter in the order of ASCII, or -1. */
static int letter(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char letter_of(int label) {
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

/* Up to the next comma, arrow or end. */
static ox_status read_term(reader *r, written *w) {
    *w = (written){.ellipsis = -1};
    for (;;) {
        skip_spaces(r);
        if (r->at == r->end || *r->at == ',' || *r->at == '-')
            return OX_OK;
        if (accept(r, "...")) {
            if (w->ellipsis >= 0)
                return ox_call_fail(r->call, OX_ERROR_MODEL, "attribute 'equation': two ellipses in a term");
            w->ellipsis = w->count;
            continue;
        }
        const int label = letter(*r->at);
        if (label < 0)
            return ox_call_fail(r->call, OX_ERROR_MODEL,
                                "attribute 'equation': character %d is neither a letter nor "
                                "part of '...', ',' or '->'",
                                (int)(unsigned char)*r->at);
        if (w->count == OX_MAX_RANK)
            return ox_call_fail(r->call, OX_ERROR_LIMIT, "attribute 'equation': a term has more than %d letters",
                                OX_MAX_RANK);
        w->letters[w->count++] = (int8_t)label;
        r->at++;
    }
}

/* The label of a letter. */
static int label_of(reader *r, int8_t written_letter) {
    int label = 0;
    while (label < r->count && r->letters[label] != written_letter)
        label++;
    if (label == r->count)
        r->letters[r->count++] = written_letter;
    return label;
}

/* A term with `hidden` dimensions in place of the ellipsis, the last ones of all that an ellipsis stands for. */
static ox_status expand(reader *r, const written *w, int hidden, ox_einsum_term *term) {
    term->rank = 0;
    if (w->count + hidden > OX_MAX_RANK)
        return ox_call_fail(r->call, OX_ERROR_LIMIT,
                            "attribute 'equation': the output would have rank %d, at most %d "
                            "is supported",
                            w->count + hidden, OX_MAX_RANK);
    for (int i = 0; i <= w->count; i++) {
        for (int d = 0; i == w->ellipsis && d < hidden; d++)
            term->label[term->rank++] = (int8_t)(OX_EINSUM_LABELS - hidden + d);
        if (i < w->count)
            term->label[term->rank++] = (int8_t)label_of(r, w->letters[i]);
    }
    return OX_OK;
}

/* Dimensions of 1 repeat. */
static ox_status merge_size(reader *r, int input, int d, int label, int64_t *size) {
    const int64_t dim = r->call->in[input]->dims[d];
    if (*size < 0 || *size == 1)
        *size = dim;
    if (dim == *size || dim == 1)
        return OX_OK;
    return label < r->count
               ? ox_call_fail(r->call, OX_ERROR_SHAPE, "dimension %d of %s is '%c', which is %lld elsewhere", d,
                              OX_INPUT(r->call, input), letter_of(r->letters[label]), (long long)*size)
               : ox_call_fail(r->call, OX_ERROR_SHAPE,
                              "dimension %d of %s belongs to the ellipsis, and is %lld elsewhere", d,
                              OX_INPUT(r->call, input), (long long)*size);
}

/* A letter that one input has twice is its diagonal, and there a dimension of 1 does not repeat. */
static ox_status check_diagonal(const reader *r, int input, const ox_einsum_term *term) {
    const int64_t *dims = r->call->in[input]->dims;
    for (int d = 1; d < term->rank; d++)
        for (int before = 0; before < d; before++)
            if (term->label[before] == term->label[d] && dims[before] != dims[d])
                return ox_call_fail(r->call, OX_ERROR_SHAPE, "dimensions %d and %d of %s are both '%c', but differ",
                                    before, d, OX_INPUT(r->call, input), letter_of(r->letters[term->label[d]]));
    return OX_OK;
}

static ox_status read_input(reader *r, int input, ox_einsum *e) {
    const int rank = r->call->in[input]->rank;
    written w;
    ox_einsum_term term;
    OX_TRY(read_term(r, &w));
    const int hidden = w.ellipsis >= 0 ? rank - w.count : 0;
    if (hidden < 0 || w.count + hidden != rank)
        return ox_call_fail(r->call, OX_ERROR_SHAPE, "attribute 'equation': term %d has %d letters for %s", input,
                            w.count, OX_INPUT(r->call, input));
    r->hidden = hidden > r->hidden ? hidden : r->hidden;
    OX_TRY(expand(r, &w, hidden, &term));
    if (r->count + r->hidden > OX_EINSUM_LABELS)
        return ox_call_fail(r->call, OX_ERROR_LIMIT,
                            "attribute 'equation': %d letters and an ellipsis of %d dimensions "
                            "are more than %d",
                            r->count, r->hidden, OX_EINSUM_LABELS);
    OX_TRY(check_diagonal(r, input, &term));
    for (int d = 0; d < rank; d++)
        OX_TRY(merge_size(r, input, d, term.label[d], &e->sizes[term.label[d]]));
    for (int i = 0; i < w.count; i++)
        r->uses[w.letters[i]]++;
    if (e->terms)
        e->terms[input] = term;
    return OX_OK;
}

/* Without an arrow, the output has the letters that are used once, behind the ellipsis. */
static ox_status implicit_output(reader *r, written *w) {
    *w = (written){.ellipsis = 0};
    for (int label = 0; label < OX_EINSUM_LETTERS; label++) {
        if (r->uses[label] != 1)
            continue;
        if (w->count == OX_MAX_RANK)
            return ox_call_fail(r->call, OX_ERROR_LIMIT, "the output would have more than %d dimensions", OX_MAX_RANK);
        w->letters[w->count++] = (int8_t)label;
    }
    return OX_OK;
}

static ox_status check_output(reader *r, const written *w) {
    int seen[OX_EINSUM_LETTERS] = {0};
    for (int i = 0; i < w->count; i++) {
        const int label = w->letters[i];
        if (!r->uses[label] || seen[label]++)
            return ox_call_fail(r->call, OX_ERROR_MODEL, "attribute 'equation': '%c' of the output is %s",
                                letter_of(label), r->uses[label] ? "there twice" : "in no input");
    }
    return OX_OK;
}

static ox_status read_output(reader *r, ox_einsum *e) {
    written w;
    if (accept(r, "->")) {
        OX_TRY(read_term(r, &w));
        OX_TRY(check_output(r, &w));
    } else {
        OX_TRY(implicit_output(r, &w));
    }
    skip_spaces(r);
    if (r->at != r->end)
        return ox_call_fail(r->call, OX_ERROR_MODEL,
                            "attribute 'equation' continues after its end, or has more terms "
                            "than the %d inputs",
                            r->call->nin);
    return expand(r, &w, w.ellipsis >= 0 ? r->hidden : 0, &e->output);
}

ox_status ox_einsum_read(ox_call *call, ox_einsum *e) {
    const ox_string equation = ox_call_string(call, "equation", "");
    reader r = {.call = call, .at = equation.data, .end = equation.data + equation.size};
    for (int label = 0; label < OX_EINSUM_LABELS; label++)
        e->sizes[label] = -1;
    for (int i = 0; i < call->nin; i++) {
        if (i > 0 && !accept(&r, ","))
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'equation' has %d terms for %d inputs", i, call->nin);
        OX_TRY(read_input(&r, i, e));
    }
    return read_output(&r, e);
}
