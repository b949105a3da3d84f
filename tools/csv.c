/* csv.c: tables as text. */
#include "csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "kind.h"
#include "literal.h"
#include "memory.h"
#include "number.h"
#include "tool.h"

bool ox_csv_is_name(const char *path, size_t length) {
    return length > 4 && (ox_text_alike(path + length - 4, ".csv", 4) || ox_text_alike(path + length - 4, ".tsv", 4));
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

/* What stands between fields: the candidate that the first line has most of, outside of quotes. */
static char find_separator(const char *bytes, size_t size) {
    static const char candidates[] = ",;\t";
    size_t counts[sizeof candidates] = {0}, best = 0;
    bool quoted = false;
    for (size_t i = 0; i < size && (quoted || bytes[i] != '\n'); i++) {
        const char *found = bytes[i] && !quoted ? strchr(candidates, bytes[i]) : NULL;
        quoted ^= bytes[i] == '"';
        if (found)
            counts[found - candidates]++;
    }
    for (size_t i = 1; i < sizeof candidates - 1; i++)
        best = counts[i] > counts[best] ? i : best;
    return candidates[best];
}

typedef struct splitter {
    ox_csv *csv;
    const char *at, *end;
    char *to; /* where the next field's characters go */
    char separator;
    size_t count, room;
} splitter;

/* The characters of a quoted field, after the first quote; false if it does not end. */
static bool take_quoted(splitter *s) {
    for (; s->at < s->end; *s->to++ = *s->at++)
        if (*s->at == '"' && (++s->at == s->end || *s->at != '"'))
            return true;
    return false;
}

/* Spaces around a field do not count. */
static bool take_field(splitter *s) {
    while (s->at < s->end && *s->at == ' ')
        s->at++;
    char *start = s->to;
    bool quoted = s->at < s->end && *s->at == '"';
    if (quoted && (s->at++, !take_quoted(s)))
        return false;
    while (s->at < s->end && *s->at != s->separator && *s->at != '\n') {
        if (!quoted)
            *s->to++ = *s->at;
        else if (*s->at != ' ' && *s->at != '\r')
            return false;
        s->at++;
    }
    while (!quoted && s->to > start && (s->to[-1] == ' ' || s->to[-1] == '\r'))
        s->to--;
    *s->to++ = 0;
    if (s->count == s->room)
        s->csv->fields = ox_tool_resize((void *)s->csv->fields, (s->room = 2 * s->room + 64) * sizeof *s->csv->fields);
    s->csv->fields[s->count++] = start;
    return true;
}

static ox_status take_row(splitter *s, ox_error *error) {
    ox_csv *csv = s->csv;
    const size_t before = s->count;
    for (bool more = true; more;) {
        if (!take_field(s))
            return ox_tool_fail(error, OX_ERROR_FILE, "row %zu: quotes that do not end where the field does",
                                csv->rows + 1);
        more = s->at < s->end && *s->at == s->separator;
        s->at += s->at < s->end;
    }
    const size_t columns = s->count - before;
    if (columns == 1 && !*csv->fields[before] && (csv->columns > 1 || s->at == s->end)) {
        s->count--; /* an empty line */
        return OX_OK;
    }
    csv->columns = csv->rows ? csv->columns : columns;
    csv->rows++;
    return columns == csv->columns
               ? OX_OK
               : ox_tool_fail(error, OX_ERROR_FILE, "row %zu has %zu fields but the first row has %zu", csv->rows,
                              columns, csv->columns);
}

ox_status ox_csv_parse(ox_csv *csv, const char *bytes, size_t size, ox_error *error) {
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as spreadsheets write it */
    const size_t skipped = size > 2 && memcmp(bytes, mark, 3) == 0 ? 3 : 0;
    *csv = (ox_csv){.characters = ox_tool_alloc(2 * size + 2)}; /* a field of n characters takes n + 1 */
    splitter s = {.csv = csv, .at = bytes + skipped, .end = bytes + size, .to = csv->characters};
    s.separator = find_separator(s.at, size - skipped);
    if (memchr(bytes, 0, size)) {
        const char *kind = ox_kind_of((const unsigned char *)bytes, size)->name;
        return ox_tool_fail(error, OX_ERROR_FILE, "this is no text%s%s", kind ? ", but " : "", kind ? kind : "");
    }
    while (s.at < s.end) {
        ox_status status = take_row(&s, error);
        if (status)
            return status;
    }
    return csv->rows ? OX_OK : ox_tool_fail(error, OX_ERROR_FILE, "the table is empty");
}

void ox_csv_free(ox_csv *csv) {
    free(csv->characters);
    free((void *)csv->fields);
    *csv = (ox_csv){0};
}

size_t ox_csv_find(const ox_csv *csv, const char *name, size_t length) {
    for (size_t c = 0; c < csv->columns; c++)
        if (strlen(csv->fields[c]) == length && strncmp(csv->fields[c], name, length) == 0)
            return c;
    return SIZE_MAX;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* The part of a table that becomes a tensor. */
typedef struct table_part {
    const ox_csv *csv;
    size_t first_row, first, columns;
    ox_dtype dtype;
} table_part;

static bool has_nan(ox_dtype dtype) {
    return ox_number_kind_of(dtype) >= OX_NUMBER_REAL;
}

/* One field as an element; false if it is none of the type. */
static bool read_field(const char *field, ox_dtype dtype, void *element) {
    ox_array one;
    ox_error error;
    const char *text = !*field && has_nan(dtype) ? "nan" : field;
    if (!ox_literal_is(text) || *text == '[' || ox_literal_read(text, dtype, &one, &error))
        return false;
    memcpy(element, one.data, ox_dtype_size(dtype));
    ox_array_free(&one);
    return true;
}

/* True if the first row names columns: something in it is no number. */
static bool has_names(const ox_csv *csv, ox_dtype dtype) {
    char element[16];
    if (dtype == OX_STRING)
        return false;
    for (size_t c = 0; c < csv->columns; c++)
        if (*csv->fields[c] && !read_field(csv->fields[c], has_nan(dtype) ? dtype : OX_DOUBLE, element))
            return true;
    return false;
}

static ox_status choose(const ox_csv *csv, const ox_value_info *info, const ox_csv_wish *wish, table_part *part,
                        ox_error *error) {
    const bool is_table = info->rank == 2 && (info->dims[1] < 0 || (size_t)info->dims[1] == csv->columns);
    size_t column = wish->column ? ox_csv_find(csv, wish->column, wish->column_size)
                    : !is_table  ? ox_csv_find(csv, info->name, strlen(info->name))
                                 : SIZE_MAX;
    *part = (table_part){.csv = csv, .columns = csv->columns, .dtype = wish->cast ? OX_DOUBLE : info->dtype};
    if (wish->column && column == SIZE_MAX)
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "the table has no column '%.*s'", (int)wish->column_size,
                            wish->column);
    part->first_row = column != SIZE_MAX || has_names(csv, part->dtype);
    if (column != SIZE_MAX) {
        part->first = column;
        part->columns = 1;
    }
    return OX_OK;
}

static ox_status shape(const table_part *part, const ox_value_info *info, int *rank, int64_t dims[2], ox_error *error) {
    const size_t rows = part->csv->rows - part->first_row;
    const bool is_list = part->columns == 1 || rows == 1;
    *rank = info->rank < 0 ? (part->columns == 1 ? 1 : 2) : info->rank;
    dims[0] = (int64_t)rows;
    dims[1] = (int64_t)part->columns;
    if (*rank == 1)
        dims[0] = (int64_t)(rows * part->columns);
    if (*rank == 2 || (*rank == 1 && is_list) || (*rank == 0 && rows == 1 && part->columns == 1))
        return OX_OK;
    return ox_tool_fail(error, OX_ERROR_SHAPE, "a table of %zu rows and %zu columns is no tensor of %d dimensions",
                        rows, part->columns, *rank);
}

static void fill_strings(const table_part *part, ox_array *array) {
    size_t i = 0, size = 0;
    ox_string *strings = array->data;
    for (size_t r = part->first_row; r < part->csv->rows; r++)
        for (size_t c = 0; c < part->columns; c++)
            size += strlen(part->csv->fields[r * part->csv->columns + part->first + c]) + 1;
    char *to = array->characters = ox_tool_alloc(size);
    for (size_t r = part->first_row; r < part->csv->rows; r++)
        for (size_t c = 0; c < part->columns; c++) {
            const char *field = part->csv->fields[r * part->csv->columns + part->first + c];
            strings[i].size = strlen(field);
            strings[i++].data = to;
            to = strcpy(to, field) + strlen(field) + 1;
        }
}

static ox_status fill_numbers(const table_part *part, ox_array *array, ox_error *error) {
    char *element = array->data;
    for (size_t r = part->first_row; r < part->csv->rows; r++)
        for (size_t c = 0; c < part->columns; c++, element += ox_dtype_size(part->dtype)) {
            const char *field = part->csv->fields[r * part->csv->columns + part->first + c];
            if (!read_field(field, part->dtype, element))
                return ox_tool_fail(error, OX_ERROR_VALUE, "row %zu, column %zu: '%.40s' does not fit the type %s",
                                    r + 1, part->first + c + 1, field, ox_dtype_name(part->dtype));
        }
    return OX_OK;
}

ox_status ox_csv_read(const ox_csv *csv, const ox_value_info *info, const ox_csv_wish *wish, ox_array *array,
                      ox_error *error) {
    table_part part;
    int rank;
    int64_t dims[2];
    ox_status status = choose(csv, info, wish, &part, error);
    if (!status)
        status = shape(&part, info, &rank, dims, error);
    if (!status)
        status = ox_array_create(array, part.dtype, rank, dims, error);
    if (!status && part.dtype == OX_STRING)
        fill_strings(&part, array);
    else if (!status)
        status = fill_numbers(&part, array, error);
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void put_string(ox_text *text, const ox_string *string) {
    bool quoted = !string->size;
    for (size_t i = 0; i < string->size; i++)
        quoted |= strchr(",;\t\"\r\n ", string->data[i]) != NULL;
    ox_text_put(text, quoted ? "\"" : "");
    for (size_t i = 0; i < string->size; i++) {
        ox_text_add(text, &string->data[i], 1);
        if (string->data[i] == '"')
            ox_text_put(text, "\"");
    }
    ox_text_put(text, quoted ? "\"" : "");
}

static void put_element(ox_text *text, ox_dtype dtype, const void *element) {
    if (dtype == OX_STRING) {
        put_string(text, element);
        return;
    }
    const ox_number number = ox_number_load(dtype, element);
    if (number.kind < OX_NUMBER_REAL)
        ox_text_format(text, "%s%" PRIu64, number.negative ? "-" : "", number.magnitude);
    else if (isfinite(number.real))
        ox_json_real(text, dtype, number.real);
    else
        ox_text_put(text, isnan(number.real) ? "nan" : number.real < 0 ? "-inf" : "inf");
}

ox_status ox_csv_write(const ox_tensor *tensor, FILE *file, ox_error *error) {
    ox_text text = {0};
    const int64_t columns = tensor->rank == 2 ? tensor->dims[1] : 1;
    if (tensor->rank > 2)
        return ox_tool_fail(error, OX_ERROR_SHAPE, "a table has two dimensions, and the output %d: write it as .npy",
                            tensor->rank);
    if (ox_number_kind_of(tensor->dtype) == OX_NUMBER_COMPLEX)
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "a table has no complex numbers: write them as .npy");
    for (ox_walk walk = ox_walk_start(tensor); walk.element && !ferror(file); ox_walk_next(&walk)) {
        text.size = 0;
        put_element(&text, tensor->dtype, walk.element);
        ox_text_put(&text, (walk.at + 1) % columns ? "," : "\n");
        fwrite(text.data, 1, text.size, file);
    }
    ox_text_free(&text);
    return OX_OK;
}
