/* dots.c: sums of products of floats that stay in registers: sixteen of the 32 that a Cortex-M4F has. */
#include "dots.h"

/* `columns` is a constant where it is inlined. */
static inline __attribute__((always_inline)) void dots(const ox_dots *d, const int columns) {
    const char *a[OX_DOTS], *b = d->b;
    const ptrdiff_t a_step = d->a_step, b_step = d->b_step;
    ox_f32 *c[OX_DOTS];
    float of[OX_DOTS][OX_DOTS];
#pragma GCC unroll 4
    for (int i = 0; i < OX_DOTS; i++) {
        a[i] = d->a + i * d->a_row;
        c[i] = (ox_f32 *)(void *)(d->c + i * d->c_row);
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++)
            of[i][j] = c[i][j];
    }
    for (size_t k = d->depth; k; k--, b += b_step) {
        float x[OX_DOTS];
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++)
            x[j] = ((const ox_f32 *)(const void *)b)[j];
#pragma GCC unroll 4
        for (int i = 0; i < OX_DOTS; i++) {
            const float w = OX_GET(ox_f32, a[i]);
            a[i] += a_step;
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++)
                of[i][j] += w * x[j];
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < OX_DOTS; i++)
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++)
            c[i][j] = of[i][j];
}

void ox_dots_column(const ox_dots *d) {
    dots(d, 1);
}
void ox_dots_square(const ox_dots *d) {
    dots(d, OX_DOTS);
}
