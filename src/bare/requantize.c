/* requantize.c: sums whose rounding integers of 32 bits do not tell. */
#include "requantize.h"

/* As ox_integer_loops.requantize has it, within limits that saturation is well inside of. */
static int32_t by_doubles(double scale, int32_t sum) {
    const double magic = 0x1.8p52, most = 1024;
    double value = (double)sum * scale + magic;
    value = value > magic - most ? value : magic - most;
    value = value < magic + most ? value : magic + most;
    return (int32_t)(value - magic);
}

int32_t ox_requantize_surely(const ox_requantizer *q, int32_t sum) {
    if (q->mask) {
        const int64_t product = (int64_t)sum * q->factor;
        const int64_t unsure = (sum < 0 ? -(int64_t)sum : sum) + ((int64_t)1 << 12);
        const int64_t moved = product + ((int64_t)1 << (31 + q->shift));
        const int64_t rest = moved & (((int64_t)1 << (32 + q->shift)) - 1);
        if (rest > unsure && rest < ((int64_t)1 << (32 + q->shift)) - unsure)
            return (int32_t)(moved >> (32 + q->shift));
    }
    return by_doubles(q->scale, sum);
}
