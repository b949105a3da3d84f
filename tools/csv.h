/* csv.h: tables as text: fields between commas, semicolons or tabs, a row a line. */
#ifndef OX_CSV_H
#define OX_CSV_H

#include <stdio.h>

#include "array.h"
#include "text.h"

/* A table; the fields lie in the characters. To be freed with ox_csv_free. */
typedef struct ox_csv {
    char *characters;
    const char **fields; /* row by row, without quotes; NULL-terminated texts */
    size_t rows, columns;
} ox_csv;

/* True for a file that is called .csv or .tsv. */
bool ox_csv_is_name(const char *path, size_t length);

/* Splits a text into fields: what stands between most often in its first line is between all of them, and all rows have
 * as many. Fields in double quotes may have anything in them, "" for a quote. To be freed in every case. */
ox_status ox_csv_parse(ox_csv *csv, const char *bytes, size_t size, ox_error *error);
void ox_csv_free(ox_csv *csv);

/* The column whose field in the first row is this; SIZE_MAX if there is none. */
size_t ox_csv_find(const ox_csv *csv, const char *name, size_t length);

/* What is to be read of a table. */
typedef struct ox_csv_wish {
    const char *column; /* the name of one, NULL for all */
    size_t column_size;
    bool cast; /* numbers of any kind, read as double */
} ox_csv_wish;

/* The elements of the input `info`: of the whole table [rows,columns], or of one column [rows] or [rows,1], as many
 * dimensions as the input has. A first row of names, in which something is no number or which names the column, is left
 * out. A column that is named like the input is taken by itself where the input is no table of as many columns. Empty
 * fields are NaN for types that have it, and empty strings; others have to be literals of the type. */
ox_status ox_csv_read(const ox_csv *csv, const ox_value_info *info, const ox_csv_wish *wish, ox_array *array,
                      ox_error *error);

/* Writes a tensor of at most two dimensions: a row a line, one of a single dimension an element a line; floats in the
 * fewest digits that give them back. Errors of the file are left in it. */
ox_status ox_csv_write(const ox_tensor *tensor, FILE *file, ox_error *error);

#endif
