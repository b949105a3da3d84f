/* dots.h: sums of products of floats that stay in registers. */
#ifndef OX_BARE_DOTS_H
#define OX_BARE_DOTS_H

#include "loops/element.h"

enum {
    OX_DOTS = 4 /* rows, or columns, whose sums are computed at once */
};

/* OX_DOTS rows of A and a column of B, or OX_DOTS columns side by side: `depth` elements of each, a_step and b_step
 * bytes apart. C has rows as A has. */
typedef struct ox_dots {
    const char *a, *b;
    char *c;
    ptrdiff_t a_row, a_step, b_step, c_row;
    size_t depth;
} ox_dots;

/* Adds the products to C, in their order: of one column, and of OX_DOTS columns. */
void ox_dots_column(const ox_dots *dots);
void ox_dots_square(const ox_dots *dots);

#endif
