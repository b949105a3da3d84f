/* byte_pool.c: QLinearAveragePool and QLinearGlobalAveragePool window by window, in place of src/ops/window/byte_pool.c
 * and src/ops/reduce/byte_mean.c. */
#include "ops/window/byte_pool.h"
#include "ops/byte_scales.h"
#include "ops/reduce/byte_mean.h"
#include "ops/window/pool_place.h"

#include "soft.h"

#if OX_WITH_BYTE_MEANS
typedef struct byte_pool {
    ox_window window;
    ox_pool_place *places;
} byte_pool;

static bool is_global(const ox_call *call) {
    return call->op == &ox_op_qlinear_global_average_pool;
}

static ox_status infer(ox_call *call) {
    ox_window w = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    OX_TRY(ox_check_bytes(call, 0));
    OX_TRY(ox_check_bytes_out(call, 3));
    if (call->in[0]->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    ox_window_place(&w, ox_window_spatial(call->in[0]), room);
    if (!is_global(call))
        OX_TRY(ox_pool_geometry(call, &w));
    return ox_pool_infer(call, call->in[4]->dtype, is_global(call) ? NULL : w.out);
}

static ox_status prepare(ox_call *call) {
    byte_pool *p = ox_window_state(call, sizeof *p, ox_window_spatial(call->in[0]));
    if (!p)
        return OX_ERROR_MEMORY;
    if (is_global(call))
        return OX_OK;
    OX_TRY(ox_pool_geometry(call, &p->window));
    return ox_pool_find_places(call, &p->window, ox_call_int(call, "count_include_pad", 0) != 0, &p->places);
}

static uint64_t sum_bytes(const uint8_t *from, size_t count, size_t step, uint8_t flip) {
    uint64_t all = 0;
    for (size_t most = 1 << 16; count;) { /* whose sum is far from 2^32 */
        uint32_t sum = 0;
        for (most = most < count ? most : count, count -= most; most; most--, from += step)
            sum += (uint8_t)(*from ^ flip);
        all += sum;
        most = 1 << 16;
    }
    return all;
}

/* What sums of bytes become. */
typedef struct byte_means {
    ox_byte_means of;
    ox_soft ratio;  /* of the scales, as doubles have it */
    ox_soft factor; /* that, divided by ... */
    ox_soft counted;
} byte_means;

static byte_means means_of(const ox_call *call) {
    byte_means m = {.of = ox_byte_means_of(call)};
    m.ratio = ox_soft_quotient(ox_soft_float(m.of.from.scale), ox_soft_float(m.of.to.scale));
    m.counted = ox_soft_integer(0);
    m.factor = ox_soft_quotient(m.ratio, m.counted);
    return m;
}

/* The mean of a sum of `inside` bytes, and zeros up to `counted` elements. */
static void end_mean(byte_means *m, uint64_t sum, int64_t inside, ox_soft counted, char *to) {
    const int32_t low = (m->of.to.is_signed ? INT8_MIN : 0) - m->of.to.zero;
    const ox_soft all = ox_soft_integer((int64_t)sum - inside * m->of.from_zero);
    if (counted.digits != m->counted.digits || counted.exponent != m->counted.exponent) {
        m->factor = ox_soft_quotient(m->ratio, counted);
        m->counted = counted;
    }
    *(uint8_t *)to = (uint8_t)(ox_soft_round(ox_soft_product(all, m->factor), low, low + UINT8_MAX) + m->of.to.zero);
}

/* The window at an index: its rows along the last dimension one by one, all of an image as one. */
static void pool_window(const byte_pool *p, byte_means *means, const uint8_t *image, const int64_t *index, char *to) {
    const ox_window *w = &p->window;
    const int last = w->spatial - 1;
    const ox_pool_place *all = p->places, *place[OX_WINDOW_DIMS];
    int64_t taps[OX_WINDOW_DIMS], tap[OX_WINDOW_DIMS] = {0}, inside = 1, rows = 1;
    uint64_t sum = 0;
    ox_soft counted = ox_soft_integer(1);
    for (int d = 0; d <= last; all += w->out[d++]) {
        place[d] = &all[index[d]];
        taps[d] = place[d]->taps;
        rows = inside;
        inside *= taps[d];
        counted = ox_soft_product(counted, ox_soft_integer(place[d]->counted));
    }
    if (inside == w->in_count)
        sum = sum_bytes(image, (size_t)inside, 1, means->of.flip);
    else
        for (; inside && rows; rows--, ox_index_next(last, taps, tap)) {
            int64_t at = 0;
            for (int d = 0; d <= last; d++)
                at = at * w->in[d] + place[d]->from + tap[d] * w->dilation[d];
            sum += sum_bytes(image + at, (size_t)taps[last], (size_t)w->dilation[last], means->of.flip);
        }
    end_mean(means, sum, inside, counted, to);
}

static ox_status run(ox_call *call) {
    const byte_pool *p = call->state;
    byte_means means = means_of(call);
    const int64_t count = ox_tensor_count(call->out[0]);
    const int64_t each = is_global(call) && count ? ox_quotient(ox_tensor_count(call->in[0]), count) : 0;
    const ox_soft counted = ox_soft_integer(each);
    const uint8_t *from = call->in[0]->data;
    char *to = call->out[0]->data;
    int64_t index[OX_WINDOW_DIMS] = {0};
    for (int64_t i = 0; i < count; i++, to++)
        if (is_global(call)) {
            end_mean(&means, sum_bytes(from, (size_t)each, 1, means.of.flip), each, counted, to);
            from += each;
        } else {
            pool_window(p, &means, from, index, to);
            from += ox_index_next(p->window.spatial, p->window.out, index) ? 0 : p->window.in_count;
        }
    return OX_OK;
}

#define POOL(text)                                                                                                     \
    {                                                                                                                  \
        .domain = "", .name = text, .since = 1, .versions = 2, .min_in = 5, .max_in = 5, .min_out = 1, .max_out = 1,   \
        .dtypes = OX_BYTE_TYPES, .infer = infer, .prepare = prepare, .run = run, .flags = OX_OP_GAPS                   \
    }
const ox_op ox_op_qlinear_average_pool = POOL("QLinearAveragePool"),
            ox_op_qlinear_global_average_pool = POOL("QLinearGlobalAveragePool");
#endif
