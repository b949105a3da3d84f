/* status.h: how errors are made and passed on. */
#ifndef OX_STATUS_H
#define OX_STATUS_H

#include <stdarg.h>

#include "config.h"
#include "ox.h"

/* Returns from the calling function if expr is not OX_OK. */
#define OX_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        ox_status try_status_ = (expr);                                                                                \
        if (try_status_ != OX_OK)                                                                                      \
            return try_status_;                                                                                        \
    } while (0)

/* Returns OX_ERROR_ARGUMENT from a function of ox.h where a pointer that it needs is NULL, and names both. */
#define OX_NEED(pointer, error)                                                                                        \
    do {                                                                                                               \
        if (!(pointer))                                                                                                \
            return ox_fail(error, OX_ERROR_ARGUMENT, "%s: %s is NULL", __func__, #pointer);                            \
    } while (0)

/* "Not yet": an infer function returns this if it needs the data of an input that is unknown before the run. It never
 * leaves the library. */
#define OX_DEFER ((ox_status)100)

/* Makes an error say nothing; NULL is allowed. */
void ox_error_clear(ox_error *error);

/* Writes status and text to error (which may be NULL) and returns status. Formats: %s %.*s %d %u %ld %lu %lld %llu %zu
 * %c %g %x %%, with width only for %0Nx. */
ox_status ox_fail(ox_error *error, ox_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with a list of arguments. */
ox_status ox_fail_list(ox_error *error, ox_status status, const char *format, va_list *args);

/* Puts text before what error already says; for adding where it happened on the way up. */
void ox_error_prefix(ox_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "out of memory: SIZE more bytes for WHAT". */
ox_status ox_fail_memory(ox_error *error, const char *what, size_t size);

/* Writes the name of the status for a text. */
ox_status ox_fail_briefly(ox_error *error, ox_status status);

/* Builds without texts keep the place of an error (ox_error_prefix) and its status. (ox_fail)(...) keeps the text on
 * every build. */
#if !OX_WITH_TEXTS
#define ox_fail(error, status, ...) (0 ? (ox_fail)(error, status, __VA_ARGS__) : ox_fail_briefly(error, status))
#define ox_fail_memory(error, what, size)                                                                              \
    (0 ? (ox_fail_memory)(error, what, size) : ox_fail_briefly(error, OX_ERROR_MEMORY))
#endif

/* Formats into buffer, always terminated; returns the length written. The same formats as ox_fail. */
size_t ox_format(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Below, at or above 0 if text a is before, equal to, or after text b, like strcmp, which takes 700 bytes in C
 * libraries for devices. */
int ox_text_order(const char *a, const char *b);

/* Bytes of a text up to its end, at most `most`. (What C libraries have for this reads words, and takes 200 bytes.) */
size_t ox_text_size(const char *text, size_t most);

/* Shapes in error texts: ox_dims_text(&(ox_dims_buffer){0}, rank, dims) gives "[2,3]". Long ones are shortened. */
typedef struct ox_dims_buffer {
    char text[96];
} ox_dims_buffer;
const char *ox_dims_text(ox_dims_buffer *buffer, int rank, const int64_t *dims);
#define OX_DIMS(rank, dims) ox_dims_text(&(ox_dims_buffer){{0}}, (rank), (dims))

#endif
