/* conv_loops.h: what convolutions do to the rows of an image, apart from where these lie. */
#ifndef OX_LOOPS_CONV_LOOPS_H
#define OX_LOOPS_CONV_LOOPS_H

#include "element.h"

/* `count` elements of a row that is gathered, from element `to` on: of the source, from element `from` on, a stride
 * apart; zeros if `from` is negative. */
typedef struct ox_run {
    int64_t to, count, from;
} ox_run;

/* Gathers `rows` rows alike, each out of a source of its own; steps are bytes. */
typedef void ox_gather_fn(int64_t rows, char *to, int64_t to_row, const char *from, int64_t from_row, int64_t stride,
                          int64_t count, const ox_run *runs);

/* For elements of 4 or 8 bytes. */
typedef ox_gather_fn *ox_gather_for_fn(size_t width);

extern ox_gather_for_fn *const ox_gather_builds[];

#endif
