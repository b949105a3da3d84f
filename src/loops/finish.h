/* finish.h: what sums become before they leave the registers of the processor. */
#ifndef OX_LOOPS_FINISH_H
#define OX_LOOPS_FINISH_H

#include "element.h"

#include <math.h>

/* min(max(sum * scale + add + plus, low) + behind, high), each step rounded. `scale` and `add` have an element for each
 * row of a matrix, or for each column, and `plus` one for each of its elements, in rows of packed columns. NULL changes
 * nothing, and neither do limits that are infinite, and -0 behind. */
typedef struct ox_finish {
    bool is_used, by_column;
    const ox_f32 *scale, *add;
    const char *plus;
    int64_t plus_row; /* bytes */
    float low, behind, high;
} ox_finish;

/* What is left of it from an element of the matrix on. */
static inline ox_finish ox_finish_from(const ox_finish *all, int64_t row, int64_t column) {
    const int64_t first = all->by_column ? column : row;
    ox_finish finish = *all;
    if (all->scale)
        finish.scale += first;
    if (all->add)
        finish.add += first;
    if (all->plus)
        finish.plus += row * all->plus_row + column * (int64_t)sizeof(float);
    return finish;
}

#endif
