/* grid_sample.c: GridSample. Which elements of an image a point of the grid reads, and their weights, is found once for
 * all channels. */
#include "sums.h"
#include "loops/blend_loops.h"
#include "loops/element.h"
#include "ops/dense.h"
#include "ops/scalar.h"

#include <math.h>
#include <string.h>

typedef enum sample_mode {
    SAMPLE_NEAREST,
    SAMPLE_LINEAR,
    SAMPLE_CUBIC
} sample_mode;

typedef enum sample_padding {
    PAD_ZEROS,
    PAD_BORDER,
    PAD_REFLECTION
} sample_padding;

enum {
    MOST_SPACE = 3,
    MOST_TAPS = 4 /* along an axis */
};

typedef struct sampling {
    sample_mode mode;
    sample_padding padding;
    bool corners; /* -1 and 1 are centers of pixels */
    int space;    /* dimensions of it */
} sampling;

/* ---- Infer -------------------------------------------------------------------------------------------------- */

static ox_status read_mode(ox_call *call, sample_mode *mode) {
    static const char *const names[2][3] = {{"nearest", "bilinear", "bicubic"}, {"nearest", "linear", "cubic"}};
    const char *const *known = names[call->op->since >= 20];
    ox_string text = ox_call_string(call, "mode", known[SAMPLE_LINEAR]);
    for (int i = 0; i < 3; i++)
        if (ox_says(text, known[i])) {
            *mode = (sample_mode)i;
            return OX_OK;
        }
    return ox_call_fail(call, OX_ERROR_MODEL, "mode '%.*s' is unknown here", OX_SHORT(text));
}

static ox_status read_padding(ox_call *call, sample_padding *padding) {
    static const char *const names[] = {"zeros", "border", "reflection"};
    ox_string text = ox_call_string(call, "padding_mode", "zeros");
    for (int i = 0; i < 3; i++)
        if (ox_says(text, names[i])) {
            *padding = (sample_padding)i;
            return OX_OK;
        }
    return ox_call_fail(call, OX_ERROR_MODEL, "padding_mode '%.*s' is unknown", OX_SHORT(text));
}

static ox_status check_grid(ox_call *call) {
    const ox_tensor *in = call->in[0], *grid = call->in[1];
    const int space = in->rank - 2, most = call->op->since < 20 ? 2 : MOST_SPACE;
    OX_TRY(ox_call_check_dtype(call, 1, OX_SET_FLOAT));
    if (space < 1 || space > most)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s must have 1 to %d dimensions of space", OX_INPUT(call, 0),
                            most);
    if (grid->rank != in->rank || grid->dims[0] != in->dims[0] || grid->dims[space + 1] != space)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not fit %s", OX_INPUT(call, 1), OX_INPUT(call, 0));
    for (int d = 0; d < space; d++)
        if (in->dims[2 + d] == 0)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s has no elements to sample", OX_INPUT(call, 0));
    return OX_OK;
}

static ox_status read_sampling(ox_call *call, sampling *s) {
    OX_TRY(read_mode(call, &s->mode));
    OX_TRY(read_padding(call, &s->padding));
    s->corners = ox_call_int(call, "align_corners", 0) != 0;
    s->space = call->in[0]->rank - 2;
    return OX_OK;
}

ox_status ox_infer_grid_sample(ox_call *call) {
    const ox_tensor *in = call->in[0];
    int64_t dims[2 + MOST_SPACE];
    sampling s;
    OX_TRY(check_grid(call));
    OX_TRY(read_sampling(call, &s));
    OX_TRY(ox_call_check_dtype(call, 0, s.mode == SAMPLE_NEAREST ? call->op->dtypes : OX_SET_NUM));
    dims[0] = in->dims[0];
    dims[1] = in->dims[1];
    for (int d = 0; d < s.space; d++)
        dims[2 + d] = call->in[1]->dims[1 + d];
    return ox_call_output(call, 0, in->dtype, in->rank, dims);
}

/* ---- Places ------------------------------------------------------------------------------------------------- */

/* x brought between low and high by mirrors at both; any x. */
static double reflected(double x, double low, double high) {
    const double range = high - low;
    if (!(range > 0) || !isfinite(x))
        return low;
    double way = fmod(x < low ? low - x : x - low, 2 * range);
    if (x >= low && x <= high)
        return x;
    return way <= range ? low + way : high - (way - range);
}

/* The nearest integer, the even one of two: a sum whose last place is 1 rounds so. */
static double nearest(double x) {
    const double rounds = 0x1.8p52;
    return fabs(x) < 0x1p51 ? x + rounds - rounds : x;
}

/* The greatest integer up to x, which lies in or near an image. */
static double floored(double x) {
    const double cut = (double)(int64_t)x;
    return cut - (cut > x);
}

/* The place on an axis of `size` elements that a number of the grid means. */
static double place_of(const sampling *s, double x, int64_t size) {
    const double length = (double)size, low = s->corners ? 0 : -0.5, high = s->corners ? length - 1 : length - 0.5;
    x = s->corners ? (x + 1) / 2 * (length - 1) : ((x + 1) * length - 1) / 2;
    if (s->mode == SAMPLE_NEAREST)
        x = nearest(x);
    if (x >= low && x <= high)
        return x;
    if (s->padding == PAD_BORDER && s->mode != SAMPLE_CUBIC)
        return x > 0 ? length - 1 : 0;
    if (s->padding == PAD_REFLECTION)
        return reflected(x, low, high);
    /* Far out, all is zero, or the border, to which PyTorch and ONNX Runtime bring each element of a cubic's, not the
     * place; and NaN is no place. */
    return x > 0 ? (x < length + MOST_TAPS ? x : length + MOST_TAPS) : x > -MOST_TAPS ? x : -MOST_TAPS;
}

/* The element that number i stands for; -1 for zero. */
static int64_t element_of(const sampling *s, int64_t i, int64_t size) {
    if (i >= 0 && i < size)
        return i;
    if (s->padding == PAD_ZEROS)
        return -1;
    if (s->padding == PAD_REFLECTION) {
        const double low = s->corners ? 0 : -0.5, high = (double)size - (s->corners ? 1 : 0.5);
        i = (int64_t)reflected((double)i, low, high);
    }
    return i < 0 ? 0 : i < size ? i : size - 1;
}

/* Elements along one axis, and their weights. */
typedef struct axis_taps {
    int count;
    int64_t element[MOST_TAPS];
    double weight[MOST_TAPS];
} axis_taps;

static double cubic(double t) {
    const double a = -0.75;
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

static void find_taps(const sampling *s, double x, int64_t size, axis_taps *taps) {
    static const int counts[] = {1, 2, 4};
    const double below = s->mode == SAMPLE_NEAREST ? x : floored(x), rest = x - below;
    const int64_t first = (int64_t)below - (s->mode == SAMPLE_CUBIC);
    taps->count = 0;
    for (int k = 0; k < counts[s->mode]; k++) {
        const double away = fabs((double)(k - (s->mode == SAMPLE_CUBIC)) - rest);
        const double weight = s->mode == SAMPLE_CUBIC ? cubic(away) : s->mode == SAMPLE_LINEAR ? 1 - away : 1;
        const int64_t element = element_of(s, first + k, size);
        if (element < 0 || weight == 0)
            continue;
        taps->element[taps->count] = element;
        taps->weight[taps->count++] = weight;
    }
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

enum {
    LIST_TAPS = MOST_TAPS * MOST_TAPS * MOST_TAPS,
    LIST_ROOM = (OX_SMALL ? 1 : 16) * LIST_TAPS,
    LIST_PLACES = LIST_ROOM / 2
};

/* What some places of the output take: elements of a channel. */
typedef struct tap_list {
    int64_t places, end[LIST_PLACES]; /* end: of what a place takes */
    int64_t element[LIST_ROOM];
    double weight[LIST_ROOM];
    float narrow[LIST_ROOM]; /* the weights again */
} tap_list;

typedef struct sample_job {
    const ox_call *call;
    sampling s;
    const char *from; /* as sums, but for the mode `nearest` */
    char *to;
    size_t width;
    int64_t area, places; /* elements of a channel, and of one of the output */
    char zero[OX_ELEMENT_MAX];
} sample_job;

static double grid_at(const ox_tensor *grid, int64_t i) {
    if (grid->dtype == OX_FLOAT)
        return (double)((const ox_f32 *)grid->data)[i];
    return ox_scalar_float(
        &(ox_tensor){.dtype = grid->dtype, .data = (char *)grid->data + i * (int64_t)ox_dtype_size(grid->dtype)});
}

/* Adds the taps of one place. */
static void add_taps(const sample_job *job, int64_t place, tap_list *list, int64_t *count) {
    const int64_t *size = job->call->in[0]->dims + 2;
    const int space = job->s.space;
    axis_taps taps[MOST_SPACE];
    int64_t step[MOST_SPACE] = {0, 0, 1};
    for (int d = 0; d < space; d++) { /* numbers of the grid count from the innermost dimension */
        const double x = place_of(&job->s, grid_at(job->call->in[1], place * space + space - 1 - d), size[d]);
        find_taps(&job->s, x, size[d], &taps[MOST_SPACE - space + d]);
    }
    for (int d = 0; d < MOST_SPACE - space; d++) {
        taps[d].count = 1;
        taps[d].element[0] = 0;
        taps[d].weight[0] = 1;
    }
    step[1] = size[space - 1];
    step[0] = space > 1 ? size[space - 2] * step[1] : 0;
    for (int i = 0; i < taps[0].count; i++)
        for (int j = 0; j < taps[1].count; j++)
            for (int k = 0; k < taps[2].count; k++) {
                list->element[*count] =
                    taps[0].element[i] * step[0] + taps[1].element[j] * step[1] + taps[2].element[k];
                list->weight[*count] = taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k];
                list->narrow[*count] = (float)list->weight[*count];
                ++*count;
            }
}

static void copy_places(const sample_job *job, const tap_list *list, const char *from, char *to) {
    for (int64_t p = 0, k = 0; p < list->places; p++) {
        memcpy(to + p * (int64_t)job->width,
               k < list->end[p] ? from + list->element[k] * (int64_t)job->width : job->zero, job->width);
        k = list->end[p];
    }
}

/* Places [at, at + list.places) of all channels of a batch. */
static void sample_places(const sample_job *job, int64_t batch, int64_t at, const tap_list *list) {
    const int64_t channels = job->call->in[0]->dims[1], width = (int64_t)job->width;
    const bool wide = ox_sums_are_wide(job->call->in[0]->dtype);
    ox_blend_points_fn *sum = wide ? OX_BUILD_OF(job->call->loops, ox_blend_points_f64_builds)
                                   : OX_BUILD_OF(job->call->loops, ox_blend_points_f32_builds);
    const void *weights = wide ? (const void *)list->weight : list->narrow;
    const char *from = job->from + batch * channels * job->area * width;
    char *to = job->to + (batch * channels * job->places + at) * width;
    if (job->s.mode == SAMPLE_NEAREST)
        for (int64_t c = 0; c < channels; c++)
            copy_places(job, list, from + c * job->area * width, to + c * job->places * width);
    else
        sum(list->places, list->end, list->element, weights, channels, from, job->area, to, job->places);
}

/* As many places as a list has room for: a channel is gone over for all of them at once. */
static int64_t places_of_list(const sampling *s) {
    const int64_t taps = s->mode == SAMPLE_CUBIC ? MOST_TAPS : s->mode == SAMPLE_LINEAR ? 2 : 1;
    int64_t places = LIST_ROOM;
    for (int d = 0; d < s->space; d++)
        places /= taps;
    return ox_least(places, LIST_PLACES);
}

static void sample_part(void *context, int part, int parts) {
    const sample_job *job = context;
    tap_list list = {.places = 0};
    int64_t at, end;
    ox_pool_range(job->call->in[0]->dims[0] * job->places, part, parts, &at, &end);
    const int64_t most = places_of_list(&job->s);
    while (at < end) {
        const int64_t place = at % job->places, left = ox_least(job->places - place, end - at);
        int64_t count = 0;
        list.places = ox_least(left, most);
        for (int64_t p = 0; p < list.places; p++) {
            add_taps(job, at + p, &list, &count);
            list.end[p] = count;
        }
        sample_places(job, at / job->places, place, &list);
        at += list.places;
    }
}

/* Whether elements are summed in a type of their own. */
static bool converts(const sampling *s, ox_dtype dtype) {
    return s->mode != SAMPLE_NEAREST && !ox_sums_are_native(dtype);
}

ox_status ox_prepare_grid_sample(ox_call *call) {
    const ox_tensor *in = call->in[0];
    sampling s;
    OX_TRY(read_sampling(call, &s));
    if (!converts(&s, in->dtype))
        return OX_OK;
    OX_TRY(ox_workspace_add(call, ox_tensor_count(in), ox_sum_size(in->dtype)));
    return ox_workspace_add(call, ox_tensor_count(call->out[0]), ox_sum_size(in->dtype));
}

ox_status ox_run_grid_sample(ox_call *call) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    const int64_t count = ox_tensor_count(out), given = ox_tensor_count(in);
    sample_job job = {.call = call, .from = in->data, .to = out->data, .width = ox_dtype_size(in->dtype)};
    size_t used = 0;
    OX_TRY(read_sampling(call, &job.s));
    if (converts(&job.s, in->dtype)) {
        job.width = ox_sum_size(in->dtype);
        char *wide = ox_workspace_take(call, &used, given, job.width);
        ox_sums_from(call->loops, in->dtype, given, in->data, wide);
        job.from = wide;
        job.to = ox_workspace_take(call, &used, count, job.width);
    }
    job.area = ox_count(job.s.space, in->dims + 2);
    job.places = ox_count(job.s.space, out->dims + 2);
    ox_make_element(in->dtype, 0, job.zero);
    ox_pool_run_pieces(call->pool, (double)count * (double)sizeof(double) * MOST_TAPS, sample_part, &job);
    if (converts(&job.s, in->dtype))
        ox_sums_to(call->loops, in->dtype, count, job.to, out->data);
    return OX_OK;
}
