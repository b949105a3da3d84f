/* resize_map.c: for each place on an axis of the output, the elements of the input and their weights. */
#include "resize.h"

#include <math.h>

/* A length on the output as one on the input; where sizes are given, with no more than the last rounding. */
static double unscaled(const ox_resize_axis *axis, double x) {
    return axis->by_size ? x * (double)axis->in / axis->exact : x / axis->scale;
}

/* Where place j of the output lies on the axis of the input. */
static double place_of(const ox_resize *resize, const ox_resize_axis *axis, int64_t j) {
    const double x = (double)j, last = (double)axis->in - 1, length = (double)axis->out;
    switch (resize->place) {
    case OX_PLACE_PYTORCH:
        return axis->out > 1 ? unscaled(axis, x + 0.5) - 0.5 : 0;
    case OX_PLACE_CORNERS:
        return axis->exact == 1 ? 0 : x * last / (axis->exact - 1);
    case OX_PLACE_ASYMMETRIC:
        return unscaled(axis, x);
    case OX_PLACE_CROP:
        if (axis->out <= 1)
            return 0.5 * (axis->start + axis->end) * last;
        return axis->start * last + x * (axis->end - axis->start) * last / (length - 1);
    case OX_PLACE_HALF_PIXEL_NN:
        return unscaled(axis, x + 0.5);
    case OX_PLACE_SYMMETRIC:
        return (double)axis->in / 2 * (1 - length / axis->exact) + unscaled(axis, x + 0.5) - 0.5;
    default:
        return unscaled(axis, x + 0.5) - 0.5;
    }
}

static int64_t nearest_to(const ox_resize *resize, const ox_resize_axis *axis, double x) {
    switch (resize->round) {
    case OX_NEAREST_PREFER_FLOOR:
        x = ceil(x - 0.5);
        break;
    case OX_NEAREST_PREFER_CEIL:
        x = floor(x + 0.5);
        break;
    case OX_NEAREST_FLOOR:
        x = floor(x);
        break;
    case OX_NEAREST_CEIL:
        x = ceil(x);
        break;
    default:
        x = axis->scale < 1 ? ceil(x) : floor(x);
    }
    if (!(x > 0)) /* NaN, too */
        return 0;
    return x >= (double)axis->in ? axis->in - 1 : (int64_t)x;
}

/* ---- Weights ------------------------------------------------------------------------------------------------ */

/* A filter around a place: how far it reaches, and how far an element counts as away. */
typedef struct filter {
    const ox_resize *resize;
    double reach, step;
    int64_t in;
    bool normal; /* the weights are made to add up to 1 */
} filter;

static filter filter_of(const ox_resize *resize, const ox_resize_axis *axis) {
    const double step = resize->antialias && axis->scale < 1 ? axis->scale : 1;
    const double reach = resize->mode == OX_RESIZE_LINEAR ? 1 : 2;
    return (filter){resize, reach / step, step, axis->in, resize->antialias || resize->exclude_outside};
}

static double weight_at(const filter *f, double distance) {
    const double t = fabs(distance) * f->step, a = f->resize->cubic_a;
    if (f->resize->mode == OX_RESIZE_LINEAR)
        return t < 1 ? 1 - t : 0;
    if (t <= 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

/* The elements around place x, those outside brought to the edge or left out; then without those of weight 0. */
static void weigh(const filter *f, double x, int64_t *first, int64_t *count, double *weights) {
    const int64_t low = (int64_t)ceil(x - f->reach), high = (int64_t)floor(x + f->reach), last = f->in - 1;
    const int64_t begin = low < 0 ? 0 : low > last ? last : low, end = high < 0 ? 0 : high > last ? last : high;
    double sum = 0;
    for (int64_t i = begin; i <= end; i++)
        weights[i - begin] = 0;
    for (int64_t i = low; i <= high; i++) {
        const bool outside = i < 0 || i > last;
        if (outside && f->resize->exclude_outside)
            continue;
        const double weight = weight_at(f, (double)i - x);
        weights[(i < 0 ? 0 : i > last ? last : i) - begin] += weight;
        sum += weight;
    }
    int64_t from = 0, to = end - begin + 1;
    while (to > 0 && weights[to - 1] == 0)
        to--;
    while (from < to && weights[from] == 0)
        from++;
    const double factor = f->normal && sum != 0 ? 1 / sum : 1;
    for (int64_t k = from; k < to; k++)
        weights[k - from] = weights[k] * factor;
    *first = begin + (from < to ? from : 0);
    *count = to - from;
}

/* ---- Maps --------------------------------------------------------------------------------------------------- */

/* The stretch of the output whose places lie in the input. Places go up or down with j, so that it is one. */
static void find_inside(const ox_resize *resize, const ox_resize_axis *axis, ox_axis_map *map) {
    map->inside = 0;
    map->inside_end = axis->out;
    if (resize->place != OX_PLACE_CROP)
        return;
    map->inside_end = 0;
    for (int64_t j = 0; j < axis->out; j++) {
        const double x = place_of(resize, axis, j);
        if (!(x >= 0 && x <= (double)axis->in - 1))
            continue;
        if (!map->inside_end)
            map->inside = j;
        map->inside_end = j + 1;
    }
}

static bool is_same(const ox_axis_map *map) {
    bool same = map->in == map->out && map->inside == 0 && map->inside_end == map->out;
    for (int64_t j = 0; j < map->out && same; j++)
        same = map->first[j] == j && (!map->weights || (map->counts[j] == 1 && map->weights[j * map->taps] == 1));
    return same;
}

static ox_status map_weights(ox_call *call, const ox_resize *resize, const ox_resize_axis *axis, ox_axis_map *map) {
    const filter f = filter_of(resize, axis);
    const double most = 2 * f.reach + 1; /* elements that a filter reaches */
    map->taps = most < (double)axis->in ? (int64_t)most : axis->in;
    map->counts = ox_pile_array(call->pile, (size_t)axis->out, sizeof *map->counts);
    size_t count;
    if (!ox_mul_size((size_t)axis->out, (size_t)map->taps, &count))
        count = SIZE_MAX;
    map->weights = ox_pile_array(call->pile, count, sizeof *map->weights);
    if (!map->counts || !map->weights)
        return ox_fail_memory(call->error, "the weights of an axis", count);
    for (int64_t j = 0; j < axis->out; j++) {
        double x = place_of(resize, axis, j);
        /* Beyond, the result is the same; and NaN is no place. */
        const double least = -f.reach - 1, greatest = (double)axis->in + f.reach;
        x = x > least ? x < greatest ? x : greatest : least;
        weigh(&f, x, &map->first[j], &map->counts[j], map->weights + j * map->taps);
    }
    return OX_OK;
}

ox_status ox_axis_map_make(ox_call *call, const ox_resize *resize, int d, ox_axis_map *map) {
    const ox_resize_axis *axis = &resize->axis[d];
    *map = (ox_axis_map){.axis = d, .in = axis->in, .out = axis->out};
    map->first = ox_pile_array(call->pile, (size_t)axis->out, sizeof *map->first);
    if (!map->first)
        return ox_fail_memory(call->error, "the places of an axis", (size_t)axis->out);
    if (resize->mode == OX_RESIZE_NEAREST)
        for (int64_t j = 0; j < axis->out; j++)
            map->first[j] = nearest_to(resize, axis, place_of(resize, axis, j));
    else
        OX_TRY(map_weights(call, resize, axis, map));
    find_inside(resize, axis, map);
    map->same = is_same(map);
    return OX_OK;
}
