/* blend_loops.c: weighted sums of a few elements. */
#include "blend_loops.h"
#include "lane_loops.h"

/* Most sums have two elements along a line: those have a loop without a count. Elements from anywhere are read in four
 * planes at a time, so that what is read of their list serves all four. */
#define BLEND(T)                                                                                                       \
    static void rows_##T(int64_t n, const double *weights, int64_t taps, const void *rows, void *to) {                 \
        const T *from = rows;                                                                                          \
        T *o = to;                                                                                                     \
        int64_t k = taps % 2;                                                                                          \
        const c_##T first = (c_##T)weights[0], second = k ? 0 : (c_##T)weights[1];                                     \
        if (k)                                                                                                         \
            FOR_N o[i] = first * from[i];                                                                              \
        else                                                                                                           \
            FOR_N o[i] = first * from[i] + second * from[n + i];                                                       \
        for (k = k ? 1 : 2; k < taps; k += 2) {                                                                        \
            const c_##T a = (c_##T)weights[k], b = (c_##T)weights[k + 1];                                              \
            const T *left = from + k * n, *right = left + n;                                                           \
            FOR_N o[i] += a * left[i] + b * right[i];                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void line_##T(int64_t n, const int64_t *first, const int64_t *counts, const void *weights, int64_t taps,    \
                         const void *line, void *to) {                                                                 \
        const T *w = weights;                                                                                          \
        T *o = to;                                                                                                     \
        for (int64_t i = 0; i < n; i++, w += taps) {                                                                   \
            const T *from = (const T *)line + first[i];                                                                \
            c_##T sum = 0;                                                                                             \
            if (counts[i] == 2)                                                                                        \
                sum = sum + w[0] * from[0] + w[1] * from[1];                                                           \
            else                                                                                                       \
                for (int64_t k = 0; k < counts[i]; k++)                                                                \
                    sum += w[k] * from[k];                                                                             \
            o[i] = sum;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void four_planes_##T(int64_t n, const int64_t *end, const int64_t *element, const T *w, const T *from,      \
                                int64_t from_step, T *o, int64_t to_step) {                                            \
        const T *x[] = {from, from + from_step, from + 2 * from_step, from + 3 * from_step};                           \
        for (int64_t i = 0, k = 0; i < n; i++) {                                                                       \
            c_##T a = 0, b = 0, c = 0, d = 0;                                                                          \
            for (; k < end[i]; k++) {                                                                                  \
                const int64_t at = element[k];                                                                         \
                const c_##T weight = w[k];                                                                             \
                a += weight * x[0][at];                                                                                \
                b += weight * x[1][at];                                                                                \
                c += weight * x[2][at];                                                                                \
                d += weight * x[3][at];                                                                                \
            }                                                                                                          \
            o[i] = a;                                                                                                  \
            o[to_step + i] = b;                                                                                        \
            o[2 * to_step + i] = c;                                                                                    \
            o[3 * to_step + i] = d;                                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    static void plane_##T(int64_t n, const int64_t *end, const int64_t *element, const T *w, const T *from, T *o) {    \
        for (int64_t i = 0, k = 0; i < n; i++) {                                                                       \
            c_##T sum = 0;                                                                                             \
            for (; k < end[i]; k++)                                                                                    \
                sum += w[k] * from[element[k]];                                                                        \
            o[i] = sum;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    ox_blend_points_fn OX_VARIANT(ox_blend_points_##T);                                                                \
    void OX_VARIANT(ox_blend_points_##T)(int64_t n, const int64_t *end, const int64_t *element, const void *weights,   \
                                         int64_t planes, const void *all, int64_t from_step, void *to,                 \
                                         int64_t to_step) {                                                            \
        const T *from = all;                                                                                           \
        T *o = to;                                                                                                     \
        for (; planes >= 4; planes -= 4, from += 4 * from_step, o += 4 * to_step)                                      \
            four_planes_##T(n, end, element, weights, from, from_step, o, to_step);                                    \
        for (; planes > 0; planes--, from += from_step, o += to_step)                                                  \
            plane_##T(n, end, element, weights, from, o);                                                              \
    }
BLEND(f32)
BLEND(f64)

/* As fmax, which compilers make no vectors of: a NaN counts nothing beside a number. The first choice is one
 * instruction, and the second one is nearly always the same. */
static inline double greater_number(double a, double b) {
    const double greater = b > a ? b : a;
    return a != a ? b : greater;
}

/* Packed values are whole vectors. */
#define VALUES_OF(T, step)                                                                                             \
    for (const ox_blend_place *p = places; p < places + count; p++) {                                                  \
        const T *x[] = {all + p->at[0], all + p->at[1], all + p->at[2], all + p->at[3]};                               \
        const double u = p->weight[0], v = p->weight[1], w = p->weight[2], z = p->weight[3];                           \
        if (greatest)                                                                                                  \
            FOR_N {                                                                                                    \
                const double a = u * (double)x[0][i * (step)], b = v * (double)x[1][i * (step)];                       \
                const double c = w * (double)x[2][i * (step)], d = z * (double)x[3][i * (step)];                       \
                values[i] = greater_number(values[i], greater_number(greater_number(a, b), greater_number(c, d)));     \
            }                                                                                                          \
        else                                                                                                           \
            FOR_N {                                                                                                    \
                const double a = u * (double)x[0][i * (step)], b = v * (double)x[1][i * (step)];                       \
                const double c = w * (double)x[2][i * (step)], d = z * (double)x[3][i * (step)];                       \
                values[i] += a + b + c + d;                                                                            \
            }                                                                                                          \
    }
#define VALUES(T)                                                                                                      \
    ox_blend_values_fn OX_VARIANT(ox_blend_values_##T);                                                                \
    void OX_VARIANT(ox_blend_values_##T)(int64_t n, int64_t count, const ox_blend_place *places, bool greatest,        \
                                         const void *from, int64_t step, double *values) {                             \
        const T *all = from;                                                                                           \
        if (step == 1) {                                                                                               \
            VALUES_OF(T, 1)                                                                                            \
        } else {                                                                                                       \
            VALUES_OF(T, step)                                                                                         \
        }                                                                                                              \
    }
VALUES(f32)
VALUES(f64)

ox_rotate_fn OX_VARIANT(ox_rotate);
void OX_VARIANT(ox_rotate)(int64_t n, bool apart, const ox_f32 *x, const ox_f32 *cos, const ox_f32 *sin, ox_f32 *to) {
    if (apart) {
        const ox_f32 *y = x + n;
        ox_f32 *other = to + n;
        FOR_N {
            const float real = x[i], imaginary = y[i];
            to[i] = cos[i] * real - sin[i] * imaginary;
            other[i] = sin[i] * real + cos[i] * imaginary;
        }
    } else {
        FOR_N {
            const float real = x[2 * i], imaginary = x[2 * i + 1];
            to[2 * i] = cos[i] * real - sin[i] * imaginary;
            to[2 * i + 1] = sin[i] * real + cos[i] * imaginary;
        }
    }
}

extern const ox_blend_lines OX_VARIANT(ox_blend_lines_f32), OX_VARIANT(ox_blend_lines_f64);
const ox_blend_lines OX_VARIANT(ox_blend_lines_f32) = {rows_f32, line_f32};
const ox_blend_lines OX_VARIANT(ox_blend_lines_f64) = {rows_f64, line_f64};
