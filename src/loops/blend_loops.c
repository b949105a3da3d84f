/* blend_loops.c: weighted sums of a few elements. */
#include "blend_loops.h"
#include "lane_loops.h"

/* Most sums have two elements along a line, and four in an image: those have loops without a count. */
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
    ox_blend_points_fn OX_VARIANT(ox_blend_points_##T);                                                                \
    void OX_VARIANT(ox_blend_points_##T)(int64_t n, const int64_t *end, const int64_t *element, const void *weights,   \
                                         const void *all, void *to) {                                                  \
        const T *w = weights, *from = all;                                                                             \
        T *o = to;                                                                                                     \
        for (int64_t i = 0, k = 0; i < n; i++) {                                                                       \
            c_##T sum = 0;                                                                                             \
            if (end[i] - k == 4) {                                                                                     \
                sum = sum + w[k] * from[element[k]] + w[k + 1] * from[element[k + 1]];                                 \
                sum = sum + w[k + 2] * from[element[k + 2]] + w[k + 3] * from[element[k + 3]];                         \
                k += 4;                                                                                                \
            } else {                                                                                                   \
                for (; k < end[i]; k++)                                                                                \
                    sum += w[k] * from[element[k]];                                                                    \
            }                                                                                                          \
            o[i] = sum;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    ox_blend_columns_fn OX_VARIANT(ox_blend_columns_##T);                                                              \
    void OX_VARIANT(ox_blend_columns_##T)(int64_t n, const void *weights, int64_t count, const double *rows,           \
                                          int64_t next, double *sums) {                                                \
        const T *w = weights;                                                                                          \
        for (; count >= 4; count -= 4, w += 4, rows += 4 * next) {                                                     \
            const double a = (double)w[0], b = (double)w[1], c = (double)w[2], d = (double)w[3];                       \
            const double *at_b = rows + next, *at_c = at_b + next, *at_d = at_c + next;                                \
            FOR_N sums[i] = sums[i] + a * rows[i] + b * at_b[i] + c * at_c[i] + d * at_d[i];                           \
        }                                                                                                              \
        for (; count > 0; count--, w++, rows += next) {                                                                \
            const double a = (double)w[0];                                                                             \
            FOR_N sums[i] += a * rows[i];                                                                              \
        }                                                                                                              \
    }
BLEND(f32)
BLEND(f64)

ox_rotate_fn OX_VARIANT(ox_rotate);
void OX_VARIANT(ox_rotate)(int64_t n, bool apart, const float *x, const float *cos, const float *sin, float *to) {
    if (apart) {
        const float *y = x + n;
        float *other = to + n;
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
