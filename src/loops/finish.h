/* finish.h: what sums become before they leave the registers of the processor. */
#ifndef OX_LOOPS_FINISH_H
#define OX_LOOPS_FINISH_H

#include "element.h"

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

#endif
