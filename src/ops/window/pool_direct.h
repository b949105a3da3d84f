/* pool_direct.h: MaxPool of floats and bytes and AveragePool of floats over small windows, tap by tap with all results
 * in registers. Devices leave this out. */
#ifndef OX_OPS_WINDOW_POOL_DIRECT_H
#define OX_OPS_WINDOW_POOL_DIRECT_H

#include "band.h"
#include "pool.h"

typedef struct ox_pool_direct {
    bool is_used, mean;
    ox_band band;
    float *row_counts, *column_counts; /* of means: how many elements a window counts are their product */
    int64_t rooms;                     /* of each thread, for a channel each */
    ox_pool *pool;
    const ox_direct_loops *loops;
    ox_direct_fn *greatest; /* of maxima: without NaN */
    union {
        float f32;
        int8_t i8;
        uint8_t u8;
    } padding; /* less than all elements; 0 for sums */
} ox_pool_direct;

#if OX_SMALL
static inline ox_status ox_pool_direct_prepare(ox_call *call, const ox_window *window, bool mean,
                                               ox_pool_direct *direct) {
    (void)call, (void)window, (void)mean, (void)direct;
    return OX_OK;
}
static inline void ox_pool_direct_run(const ox_call *call, const ox_pool_direct *direct, size_t *used, int64_t channels,
                                      const void *from, void *to) {
    (void)call, (void)direct, (void)used, (void)channels, (void)from, (void)to;
}
#else
/* Prepare: decides whether elements are pooled by these loops, and asks for workspace. The counts are the caller's to
 * fill. */
ox_status ox_pool_direct_prepare(ox_call *call, const ox_window *window, bool mean, ox_pool_direct *direct);

/* Run: all channels of all images. */
void ox_pool_direct_run(const ox_call *call, const ox_pool_direct *direct, size_t *used, int64_t channels,
                        const void *from, void *to);
#endif

#endif
