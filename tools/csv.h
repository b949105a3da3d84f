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

/* Splits a text into fields: the separator is the one that is most frequent in the first line, and all rows must have
 * the same number of fields. Fields in double quotes may contain anything, "" for a quote. Free it in every case. */
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

/* The elements of the input `info`: the whole table [rows,columns], or one column [rows] or [rows,1], with the rank of
 * the input. A first row in which a field is not a number, or which contains the column's name, is taken as names and
 * left out. A column with the input's name is taken alone if the input is not a table of as many columns. Empty fields
 * are NaN for types with NaN, and empty strings; other fields have to be literals of the type. */
ox_status ox_csv_read(const ox_csv *csv, const ox_value_info *info, const ox_csv_wish *wish, ox_array *array,
                      ox_error *error);

/* Writes a tensor of at most two dimensions, one row a line, or one element a line for a single dimension; floats have
 * the shortest digits that give the same value back. Errors of the file stay in it (ferror). */
ox_status ox_csv_write(const ox_tensor *tensor, FILE *file, ox_error *error);

#endif
