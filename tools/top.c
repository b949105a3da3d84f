/* top.c: the likeliest classes of what a classifier gives, with their labels. */
#include "top.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "file.h"
#include "memory.h"
#include "number.h"
#include "tool.h"

enum {
    MOST_BYTES = 1 << 26 /* of a file of labels */
};

typedef struct candidate {
    double value;
    size_t number;
} candidate;

/* ---- Labels ------------------------------------------------------------------------------------------------------ */

ox_status ox_top_load(ox_top *top, ox_error *error) {
    size_t size;
    if (!top->path)
        return OX_OK;
    ox_status status = ox_file_read_most(top->path, MOST_BYTES, &top->bytes, &size, error);
    if (status) {
        ox_tool_prefix(error, "--labels %s: ", top->path);
        return status;
    }
    size_t room = 0;
    for (char *at = (char *)top->bytes, *end = at + size; at < end;) {
        char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        at = stop + 1;
        *(stop > line && stop[-1] == '\r' ? stop - 1 : stop) = 0;
        if (top->line_count == room)
            top->lines = ox_tool_resize((void *)top->lines, (room = room * 2 + 64) * sizeof *top->lines);
        top->lines[top->line_count++] = line;
    }
    while (top->line_count && !*top->lines[top->line_count - 1])
        top->line_count--;
    return OX_OK;
}

void ox_top_free(ox_top *top) {
    free((void *)top->lines);
    free(top->bytes);
    *top = (ox_top){0};
}

static const char *label_of(const ox_top *top, size_t number) {
    return number < top->line_count ? top->lines[number] : NULL;
}

/* ---- Rows of classes --------------------------------------------------------------------------------------------- */

static int64_t class_count(const ox_tensor *tensor) {
    return tensor->rank < 2 ? tensor->dims[0] : tensor->dims[1];
}

bool ox_top_fits(const ox_tensor *tensor) {
    if (tensor->rank < 1 || ox_number_kind_of(tensor->dtype) != OX_NUMBER_REAL)
        return false;
    for (int d = 2; d < tensor->rank; d++)
        if (tensor->dims[d] != 1)
            return false;
    return class_count(tensor) > 0;
}

void ox_top_check(const ox_top *top, const ox_tensor *tensor, const char *name) {
    const size_t classes = (size_t)class_count(tensor);
    if (top->path && classes != top->line_count)
        ox_tool_error("warning: %s has %zu labels, but output '%s' has %zu classes", top->path, top->line_count, name,
                      classes);
}

/* True if no value can be a probability's: a softmax makes probabilities of them. */
static bool needs_softmax(const candidate *row, size_t count) {
    bool beyond = false;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(row[i].value))
            return false;
        beyond = beyond || row[i].value < -1e-3 || row[i].value > 1 + 1e-3;
    }
    return beyond;
}

static void softmax(candidate *row, size_t count) {
    double most = row[0].value, sum = 0;
    for (size_t i = 1; i < count; i++)
        most = row[i].value > most ? row[i].value : most;
    for (size_t i = 0; i < count; i++)
        sum += exp(row[i].value - most);
    for (size_t i = 0; i < count; i++)
        row[i].value = exp(row[i].value - most) / sum;
}

/* The larger value first, NaN last, and of equal ones the smaller number. */
static int compare(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    if (isnan(a->value) != isnan(b->value))
        return isnan(a->value) ? 1 : -1;
    if (a->value < b->value || a->value > b->value)
        return a->value < b->value ? 1 : -1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Reads the next row and sorts it. */
static void take_row(ox_walk *walk, candidate *row, size_t count) {
    for (size_t i = 0; i < count; i++, ox_walk_next(walk))
        row[i] = (candidate){ox_number_load(walk->tensor->dtype, walk->element).real, i};
    if (needs_softmax(row, count))
        softmax(row, count);
    qsort(row, count, sizeof *row, compare);
}

static void put_line(const ox_top *top, const candidate *found, int width, ox_text *text) {
    const char *label = label_of(top, found->number);
    ox_text_format(text, "%8.2f %%  %*zu", found->value * 100, width, found->number);
    if (label) {
        ox_text_put(text, "  ");
        ox_text_escape(text, label, strlen(label), NULL);
    }
    ox_text_put(text, "\n");
}

static void put_json(const ox_top *top, const candidate *found, ox_text *text) {
    const char *label = label_of(top, found->number);
    ox_text_format(text, "{\"class\": %zu, \"probability\": ", found->number);
    if (isfinite(found->value))
        ox_text_format(text, "%.9g", found->value);
    else
        ox_text_put(text, "null");
    if (label) {
        ox_text_put(text, ", \"label\": ");
        ox_text_json(text, label);
    }
    ox_text_put(text, "}");
}

static int digits_of(size_t number) {
    int digits = 1;
    for (; number > 9; number /= 10)
        digits++;
    return digits;
}

static size_t shown_of(const ox_top *top, size_t classes) {
    return (size_t)top->count < classes ? (size_t)top->count : classes;
}

void ox_top_put(const ox_top *top, const ox_tensor *tensor, ox_text *text) {
    const size_t classes = (size_t)class_count(tensor);
    const bool has_rows = tensor->rank > 1 && tensor->dims[0] > 1;
    candidate *row = ox_tool_alloc(classes * sizeof *row);
    size_t number = 0;
    for (ox_walk walk = ox_walk_start(tensor); walk.element;) {
        take_row(&walk, row, classes);
        if (has_rows)
            ox_text_format(text, "[%zu]\n", number++);
        for (size_t i = 0; i < shown_of(top, classes); i++)
            put_line(top, &row[i], digits_of(classes - 1), text);
    }
    free(row);
}

void ox_top_json(const ox_top *top, const ox_tensor *tensor, ox_text *text) {
    const size_t classes = (size_t)class_count(tensor);
    candidate *row = ox_tool_alloc(classes * sizeof *row);
    size_t number = 0;
    ox_text_put(text, "[");
    for (ox_walk walk = ox_walk_start(tensor); walk.element;) {
        take_row(&walk, row, classes);
        ox_text_put(text, number++ ? ", [" : "[");
        for (size_t i = 0; i < shown_of(top, classes); i++) {
            ox_text_put(text, i ? ", " : "");
            put_json(top, &row[i], text);
        }
        ox_text_put(text, "]");
    }
    ox_text_put(text, "]");
    free(row);
}
