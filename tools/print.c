/* print.c: tensors as text, as numpy prints them. */
#include "print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "decimal.h"
#include "number.h"
#include "tool.h"

enum {
    THRESHOLD = 1000,
    EDGE = 3,
    LINE_WIDTH = 75
};

typedef struct printer {
    const ox_tensor *tensor;
    int64_t stride[OX_TOOL_RANK];
    bool is_short; /* only the edges are shown */
    ox_number_kind kind;
    int width; /* of integers */
    ox_decimal real;
    ox_decimal imaginary;
    ox_text *out;
    ox_text line; /* the line that is being filled */
    size_t skip;  /* its first characters that are not written */
} printer;

/* What is done with each element that will be shown. */
typedef void visitor(printer *p, const char *element);

/* The elements that are shown, in order; the depth is the rank, 64 at most. */
static void visit(printer *p, int d, const char *at, visitor *function) {
    if (d == p->tensor->rank) {
        function(p, at);
        return;
    }
    int64_t dim = p->tensor->dims[d];
    bool cut = p->is_short && dim > 2 * EDGE;
    for (int64_t i = 0; i < dim; i++) {
        if (cut && i == EDGE)
            i = dim - EDGE;
        visit(p, d + 1, at + i * p->stride[d], function);
    }
}

static ox_decimal decimal_of(ox_dtype dtype, bool plus) {
    ox_dtype part = dtype == OX_COMPLEX64 ? OX_FLOAT : dtype == OX_COMPLEX128 ? OX_DOUBLE : dtype;
    return (ox_decimal){.dtype = part, .plus = plus};
}

static void add_int(ox_text *text, ox_number number, int width) {
    char digits[24];
    snprintf(digits, sizeof digits, "%s%" PRIu64, number.negative ? "-" : "", number.magnitude);
    ox_text_format(text, "%*s", width, digits);
}

static void scan(printer *p, const char *element) {
    ox_number number = ox_number_load(p->tensor->dtype, element);
    if (p->kind == OX_NUMBER_INT) {
        int width = snprintf(NULL, 0, "%s%" PRIu64, number.negative ? "-" : "", number.magnitude);
        p->width = width > p->width ? width : p->width;
        return;
    }
    ox_decimal_scan(&p->real, number.real);
    if (p->kind == OX_NUMBER_COMPLEX)
        ox_decimal_scan(&p->imaginary, number.imaginary);
}

static void measure(printer *p, const char *element) {
    ox_number number = ox_number_load(p->tensor->dtype, element);
    ox_decimal_measure(&p->real, number.real);
    if (p->kind == OX_NUMBER_COMPLEX)
        ox_decimal_measure(&p->imaginary, number.imaginary);
}

/* Looks at all that will be shown, so that every element gets the same form. */
static void prepare(printer *p) {
    const char *data = p->tensor->data;
    if (p->kind == OX_NUMBER_NONE || p->kind == OX_NUMBER_BOOL)
        return;
    visit(p, 0, data, scan);
    if (p->kind == OX_NUMBER_INT)
        return;
    ox_decimal_choose(&p->real);
    ox_decimal_choose(&p->imaginary);
    visit(p, 0, data, measure);
    ox_decimal_finish(&p->real);
    ox_decimal_finish(&p->imaginary);
}

/* The 'j' comes before the spaces that fill up the imaginary part. */
static void add_complex(const printer *p, ox_number number, ox_text *text) {
    ox_decimal_write(&p->real, number.real, text);
    ox_decimal_write(&p->imaginary, number.imaginary, text);
    int spaces = 0;
    for (; text->data[text->size - 1] == ' '; spaces++)
        text->size--;
    ox_text_put(text, "j");
    ox_text_repeat(text, ' ', spaces);
}

static void add_element(const printer *p, const char *element, ox_text *text) {
    if (p->kind == OX_NUMBER_NONE) {
        const ox_string *string = (const ox_string *)(const void *)element;
        ox_text_repr(text, string->data, string->size);
        return;
    }
    ox_number number = ox_number_load(p->tensor->dtype, element);
    switch (p->kind) {
    case OX_NUMBER_BOOL:
        ox_text_put(text, !number.magnitude ? "False" : p->tensor->rank ? " True" : "True");
        break;
    case OX_NUMBER_INT:
        add_int(text, number, p->width);
        break;
    case OX_NUMBER_COMPLEX:
        add_complex(p, number, text);
        break;
    default:
        ox_decimal_write(&p->real, number.real, text);
        break;
    }
}

static void strip(ox_text *line) {
    while (line->size && line->data[line->size - 1] == ' ')
        line->data[--line->size] = '\0';
}

/* Moves the line to the output. The bracket before a row's first line stands for the line's indentation. */
static void flush_line(printer *p) {
    ox_text_add(p->out, p->line.data + p->skip, p->line.size - p->skip);
    p->line.size = 0;
    p->skip = 0;
}

/* Adds a word to the line, on a new one if it does not fit and that helps. */
static void add_word(printer *p, const ox_text *word, int indent) {
    int width = LINE_WIDTH - indent > 0 ? LINE_WIDTH - indent : 0;
    size_t used = ox_utf8_count(p->line.data, p->line.size);
    if (used > (size_t)indent && used + ox_utf8_count(word->data, word->size) > (size_t)width) {
        strip(&p->line);
        flush_line(p);
        ox_text_put(p->out, "\n");
        ox_text_repeat(&p->line, ' ', indent);
    }
    ox_text_add(&p->line, word->data, word->size);
}

/* The innermost dimension, wrapped. */
static void write_row(printer *p, const char *at, int d) {
    int64_t dim = p->tensor->dims[d];
    int indent = d + 1;
    bool cut = p->is_short && dim > 2 * EDGE;
    ox_text word = {0};
    ox_text_repeat(&p->line, ' ', indent);
    p->skip = (size_t)indent;
    for (int64_t i = 0; i < dim; i++) {
        word.size = 0;
        if (cut && i == EDGE) {
            ox_text_put(&word, "...");
            i = dim - EDGE - 1;
        } else {
            add_element(p, at + i * p->stride[d], &word);
        }
        add_word(p, &word, indent);
        ox_text_put(&p->line, i < dim - 1 ? " " : "");
    }
    flush_line(p);
    ox_text_free(&word);
}

static void write_list(printer *p, const char *at, int d) {
    int rank = p->tensor->rank;
    ox_text_put(p->out, "[");
    if (d == rank - 1)
        write_row(p, at, d);
    for (int64_t i = 0, dim = p->tensor->dims[d]; d < rank - 1 && i < dim; i++) {
        if (i) {
            ox_text_repeat(p->out, '\n', rank - 1 - d);
            ox_text_repeat(p->out, ' ', d + 1);
        }
        if (p->is_short && dim > 2 * EDGE && i == EDGE) {
            ox_text_put(p->out, "...");
            i = dim - EDGE - 1;
        } else {
            write_list(p, at + i * p->stride[d], d + 1);
        }
    }
    ox_text_put(p->out, "]");
}

void ox_print_tensor(ox_text *text, const ox_tensor *tensor) {
    int64_t count = ox_tensor_count(tensor);
    if (count <= 0 || tensor->rank > OX_TOOL_RANK) {
        ox_text_put(text, "[]");
        return;
    }
    printer p = {.tensor = tensor, .is_short = count > THRESHOLD, .kind = ox_number_kind_of(tensor->dtype)};
    p.real = decimal_of(tensor->dtype, false);
    p.imaginary = decimal_of(tensor->dtype, true);
    p.out = text;
    ox_array_strides(tensor, p.stride);
    prepare(&p);
    if (tensor->rank)
        write_list(&p, tensor->data, 0);
    else
        add_element(&p, tensor->data, text);
    ox_text_free(&p.line);
}

void ox_print_element(ox_text *text, ox_dtype dtype, const void *element) {
    ox_tensor scalar = {.dtype = dtype, .data = (void *)(uintptr_t)element};
    ox_print_tensor(text, &scalar);
}
