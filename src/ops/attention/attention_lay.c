/* attention_lay.c: queries, keys and values of Attention as its products read them. */
#include "attention_lay.h"
#include "ops/dense.h"
#include "ops/retype.h"

#include <math.h>
#include <string.h>

/* One operand: its heads, and the size of their rows. */
typedef struct operand {
    int64_t heads, steps, size;
} operand;

static operand operand_of(const ox_attention_shape *s, int which) {
    if (which == OX_LAID_Q)
        return (operand){s->heads, s->queries, s->size};
    return (operand){ox_attention_key_heads(s), s->added, which == OX_LAID_K ? s->size : s->values};
}

/* The same of its rows as a cache has them. */
static operand cached_operand(const ox_attention_shape *s, int which) {
    operand o = operand_of(s, which);
    if (which != OX_LAID_Q)
        o.size = ox_attention_cached(s, o.size);
    return o;
}

/* A cache, or memory in its place: batch x heads x steps x size. */
static ox_tensor cache_of(const ox_attention_shape *s, ox_dtype dtype, int which, int64_t *dims) {
    const operand o = cached_operand(s, which);
    dims[0] = s->batch, dims[1] = o.heads, dims[2] = s->room, dims[3] = o.size;
    return (ox_tensor){dtype, 4, dims, NULL, NULL};
}

static int past_of(const ox_call *call, const ox_attention_shape *s, int which) {
    return ox_attention_in(call, s, s->stacked || which == OX_LAID_K ? OX_ATTENTION_PAST_KEY : OX_ATTENTION_PAST_VALUE);
}

/* The output that is the cache; NULL if it is not asked for. */
static const ox_tensor *present_of(const ox_call *call, const ox_attention_shape *s, int which) {
    const int k = s->present[which == OX_LAID_V];
    return k < call->nout ? call->out[k] : NULL;
}

/* Elements of a tensor of both caches before those of values. */
static int64_t values_at(const ox_attention_shape *s, int which, int64_t steps) {
    return s->stacked && which == OX_LAID_V ? s->batch * ox_attention_key_heads(s) * steps * s->size : 0;
}

static int norm_of(const ox_attention_shape *s, int which) {
    return which == OX_LAID_V ? -1 : s->in[which == OX_LAID_Q ? OX_ATTENTION_Q_NORM : OX_ATTENTION_K_NORM];
}

/* ---- Prepare ------------------------------------------------------------------------------------------------- */

/* The type of queries, and of the caches of keys and values. */
static ox_dtype moved_type(const ox_call *call, const ox_attention_shape *s, int which) {
    const bool has_bytes = which != OX_LAID_Q && ox_attention_has_bytes(s);
    return call->in[has_bytes ? s->in[OX_ATTENTION_PAST_KEY] : s->rows[which].input]->dtype;
}

/* True if an operand before this one is read from the same input as it lies there. */
static bool is_taken(const ox_attention_shape *s, const ox_attention_lay *lay, int which) {
    for (int i = 0; i < which; i++)
        if (!lay->moved[i] && s->rows[i].input == s->rows[which].input)
            return true;
    return false;
}

/* Elements of a quantized cache as floats. */
static int64_t widened_count(const ox_attention_shape *s, int which) {
    const operand o = operand_of(s, which);
    return ox_count(4, (const int64_t[]){s->batch, o.heads, s->room, o.size});
}

static ox_status plan_moved(ox_call *call, const ox_attention_shape *s, ox_attention_lay *lay, int which) {
    int64_t dims[4];
    if (which == OX_LAID_Q)
        return ox_workspace_add(call, ox_count(4, (const int64_t[]){s->batch, s->heads, s->queries, s->size}),
                                ox_dtype_size(lay->dtype));
    const ox_tensor cache = cache_of(s, moved_type(call, s, which), which, dims);
    if (!present_of(call, s, which))
        OX_TRY(ox_workspace_add(call, ox_tensor_count(&cache), ox_dtype_size(cache.dtype)));
    if (!ox_attention_has_bytes(s))
        return ox_retype_plan(call, &cache, lay->dtype);
    return ox_workspace_add(call, widened_count(s, which), sizeof(float));
}

/* Room for a row as it is and as it becomes, and for its angles. */
static ox_status plan_made(ox_call *call, const ox_attention_shape *s, ox_attention_lay *lay) {
    const int64_t longest = s->size > s->values ? s->size : s->values;
    int64_t bytes;
    if (!ox_mul_i64(longest, 4 * (int64_t)sizeof(float), &bytes) || bytes > INT32_MAX)
        return ox_call_fail(call, OX_ERROR_LIMIT, "heads of %lld elements are too large", (long long)longest);
    for (int i = OX_ATTENTION_BIAS; i <= OX_ATTENTION_K_NORM; i += i == OX_ATTENTION_BIAS ? OX_ATTENTION_Q_NORM - i : 1)
        if (ox_attention_has(call, s, i))
            OX_TRY(ox_dense_plan(call, call->in[s->in[i]]));
    lay->room = (int64_t)ox_pool_room(ox_pool_parts(call->pool), (size_t)bytes);
    return ox_workspace_add(call, ox_pool_parts(call->pool), (size_t)lay->room);
}

/* Whether some rows are computed. */
static bool makes_rows(const ox_attention_shape *s, const ox_attention_lay *lay) {
    return lay->made[OX_LAID_Q] || ox_attention_has_bytes(s);
}

ox_status ox_attention_plan_lay(ox_call *call, const ox_attention_shape *s, ox_dtype dtype, ox_attention_lay *lay) {
    *lay = (ox_attention_lay){.dtype = dtype};
    lay->turn = OX_BUILD_OF(call->loops, ox_rotate_builds);
    for (int i = 0; i < OX_LAID; i++) {
        lay->made[i] = (!s->rows[i].has_bias && ox_attention_has(call, s, OX_ATTENTION_BIAS)) ||
                       ox_call_given(call, norm_of(s, i)) || (i < 2 && s->half) || (i && ox_attention_has_bytes(s));
        lay->moved[i] = lay->made[i] || (i && s->past);
    }
    if (makes_rows(s, lay))
        OX_TRY(plan_made(call, s, lay));
    for (int i = 0; i < OX_LAID; i++)
        if (lay->moved[i])
            OX_TRY(plan_moved(call, s, lay, i));
        else if (!is_taken(s, lay, i))
            OX_TRY(ox_retype_plan(call, call->in[s->rows[i].input], dtype));
    return OX_OK;
}

static ox_stretch scaled(const ox_attention_rows *rows, int64_t width) {
    return (ox_stretch){NULL, ox_wrapping(rows->batch, width), ox_wrapping(rows->head, width),
                        ox_wrapping(rows->step, width)};
}

ox_stretch ox_attention_stretch(const ox_attention_shape *s, const ox_attention_lay *lay, int which) {
    const operand o = operand_of(s, which);
    const ox_attention_rows laid =
        ox_attention_rows_of(-1, false, o.heads, which == OX_LAID_Q ? o.steps : s->room, o.size);
    return scaled(lay->moved[which] ? &laid : &s->rows[which], (int64_t)ox_dtype_size(lay->dtype));
}

/* ---- Rows that are computed ----------------------------------------------------------------------------------- */

typedef struct made_job {
    const ox_call *call;
    const ox_attention_shape *s;
    const ox_attention_lay *lay;
    const ox_attention_steps *steps;
    const ox_f32 *bias, *norms[2];
    char *rooms;
    int which;
    ox_dtype dtype; /* of what is made */
    char *to;
    int64_t room; /* steps between two heads */
} made_job;

static const ox_f32 *widened(const ox_call *call, ox_dtype dtype, const char *from, int64_t n, float *room) {
    const int64_t size = (int64_t)ox_dtype_size(dtype);
    if (dtype == OX_FLOAT)
        return (const ox_f32 *)(const void *)from;
    call->loops->widen(n, (char *const[]){(char *)room, (char *)(uintptr_t)from},
                       (const int64_t[]){sizeof(float), size}, &dtype);
    return room;
}

static const ox_f32 *angles(const made_job *job, int input, int64_t position, float *room) {
    const ox_tensor *cache = job->call->in[job->s->in[input]];
    const int64_t at = position * job->s->half * (int64_t)ox_dtype_size(cache->dtype);
    return widened(job->call, cache->dtype, (const char *)cache->data + at, job->s->half, room);
}

static void normalise(int64_t n, float *x, const ox_f32 *weights, double epsilon) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    const float by = (float)(1 / sqrt(sum / (double)n + epsilon));
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] * by * weights[i];
}

static int64_t before_of(const made_job *job, int64_t batch) {
    return job->steps->before ? job->steps->before[batch] : job->s->before;
}

/* The angles of a step turn a row, but for its end. */
static const float *rotate(const made_job *job, int64_t batch, int64_t step, int64_t size, float *x) {
    const ox_attention_shape *s = job->s;
    const int64_t *positions = job->steps->positions, half = s->half;
    const int64_t position = positions ? positions[batch * s->queries + step] : before_of(job, batch) + step;
    float *turned = x + size, *cos = turned + size, *sin = cos + size;
    job->lay->turn(half, !s->interleaved, x, angles(job, OX_ATTENTION_COS, position, cos),
                   angles(job, OX_ATTENTION_SIN, position, sin), turned);
    memcpy(turned + 2 * half, x + 2 * half, (size_t)(size - 2 * half) * sizeof *x);
    return turned;
}

#if OX_WITH_BYTE_CACHES
/* The scales of a head in a quantized cache; they are `*step` elements apart. */
static const ox_f32 *scales_of(const made_job *job, int64_t head, int64_t *step) {
    const ox_attention_shape *s = job->s;
    const ox_tensor *scales = job->call->in[s->in[OX_ATTENTION_K_SCALE + (job->which == OX_LAID_V)]];
    *step = s->scaled_each;
    return (const ox_f32 *)scales->data + (s->scaled_each ? head * operand_of(s, job->which).size : 0);
}

/* The nearest multiple of a scale, even ones first, within the limits; the greatest for NaN. */
static int quantized(float x, float scale, int most) {
    const float whole = rintf(x / scale), low = (float)(-1 - most), high = (float)most;
    return (int)(whole <= high ? whole >= low ? whole : low : high);
}

/* A row of a head as a quantized cache has it: bytes, or pairs of which the first lies in the lower half. */
static void quantize_row(const made_job *job, int64_t head, const float *from, char *to) {
    const int64_t size = operand_of(job->s, job->which).size;
    int64_t step;
    const ox_f32 *scales = scales_of(job, head, &step);
    for (int64_t i = 0; i < size && job->s->bits == 8; i++)
        to[i] = (char)(int8_t)quantized(from[i], scales[i * step], 127);
    for (int64_t i = 0; i < size && job->s->bits == 4; i += 2) {
        const int low = quantized(from[i], scales[i * step], 7) + 8,
                  high = quantized(from[i + 1], scales[(i + 1) * step], 7) + 8;
        to[i / 2] = (char)(uint8_t)(low | high << 4);
    }
}

/* The other way. */
static void widen_row(const made_job *job, int64_t head, const char *from, float *to) {
    const int64_t size = operand_of(job->s, job->which).size;
    int64_t step;
    const ox_f32 *scales = scales_of(job, head, &step);
    for (int64_t i = 0; i < size && job->s->bits == 8; i++)
        to[i] = (float)OX_GET(ox_i8, from + i) * scales[i * step];
    for (int64_t i = 0; i < size && job->s->bits == 4; i += 2) {
        const int pair = OX_GET(ox_u8, from + i / 2);
        to[i] = (float)((pair & 15) - 8) * scales[i * step];
        to[i + 1] = (float)((pair >> 4) - 8) * scales[(i + 1) * step];
    }
}
#endif

static void make_row(const made_job *job, int64_t batch, int64_t head, int64_t step, float *room) {
    const ox_attention_shape *s = job->s;
    const operand o = operand_of(s, job->which);
    const ox_attention_rows *rows = &s->rows[job->which];
    const ox_tensor *in = job->call->in[rows->input];
    const int64_t from = rows->first + batch * rows->batch + head * rows->head + step * rows->step,
                  width = (int64_t)ox_dtype_size(job->dtype);
    const ox_f32 *given =
        widened(job->call, in->dtype, (const char *)in->data + from * (int64_t)ox_dtype_size(in->dtype), o.size, room);
    const int64_t column = head * o.size + (job->which > OX_LAID_Q ? s->heads * s->size : 0) +
                           (job->which > OX_LAID_K ? ox_attention_key_heads(s) * s->size : 0);
    const bool is_biased = job->bias && !rows->has_bias;
    for (int64_t i = 0; i < o.size; i++)
        room[i] = is_biased ? given[i] + job->bias[column + i] : given[i];
    const float *made = room;
    if (job->which < OX_LAID_V && job->norms[job->which])
        normalise(o.size, room, job->norms[job->which], s->epsilon);
    if (job->which < OX_LAID_V && s->half)
        made = rotate(job, batch, step, o.size, room);
    const int64_t place = step + (job->which ? before_of(job, batch) : 0);
    char *to = job->to + ((batch * o.heads + head) * job->room + place) * cached_operand(s, job->which).size * width;
#if OX_WITH_BYTE_CACHES
    if (job->which && s->bits) {
        quantize_row(job, head, made, to);
        return;
    }
#endif
    if (job->dtype == OX_FLOAT)
        memcpy(to, made, (size_t)o.size * sizeof *made);
    else
        job->call->loops->narrow(o.size, (char *const[]){to, (char *)(uintptr_t)made},
                                 (const int64_t[]){width, sizeof(float)}, &(ox_narrowing){.dtype = job->dtype});
}

static void made_share(void *context, ox_share *share) {
    const made_job *job = context;
    const operand o = operand_of(job->s, job->which);
    float *room = (float *)(void *)(job->rooms + share->room * job->lay->room);
    int64_t i, end;
    while (ox_share_next(share, &i, &end))
        for (; i < end; i++)
            make_row(job, i / (o.heads * o.steps), i / o.steps % o.heads, i % o.steps, room);
}

static void make_rows(made_job *job) {
    const operand o = operand_of(job->s, job->which);
    const int64_t rows = job->s->batch * o.heads * o.steps;
    ox_pool *pool = ox_pool_for(job->call->pool, 16 * (double)rows * (double)o.size);
    if (rows * o.size > 0)
        ox_pool_share(pool, rows, 1, made_share, job);
}

/* ---- Caches --------------------------------------------------------------------------------------------------- */

/* Copies steps of an input to where they belong in a cache, `at` steps from its start. */
static void move_steps(const made_job *job, const ox_tensor *from, const ox_attention_rows *rows, int64_t batches,
                       int64_t steps, int64_t at) {
    const ox_attention_shape *s = job->s;
    const operand o = cached_operand(s, job->which);
    const int64_t width = (int64_t)ox_dtype_size(job->dtype), dims[] = {batches, o.heads, steps, o.size};
    const ox_attention_rows cache = ox_attention_rows_of(-1, false, o.heads, job->room, o.size);
    const ox_stretch in = scaled(rows, width), out = scaled(&cache, width);
    if (ox_count(4, dims) > 0)
        ox_move(job->call->loops, job->call->pool, 4, dims, (size_t)width, job->to + ox_wrapping(at, out.step),
                (const int64_t[]){out.batch, out.head, out.step, width}, (const char *)from->data + rows->first * width,
                (const int64_t[]){in.batch, in.head, in.step, width});
}

/* What a cache has room for beyond the steps that are given, and may not all be written. */
static void clear_rest(const made_job *job) {
    const ox_attention_shape *s = job->s;
    const operand o = cached_operand(s, job->which);
    const size_t row = (size_t)o.size * ox_dtype_size(job->dtype);
    const int nothing = ox_attention_has_bytes(s) && s->bits == 4 ? 0x88 : 0; /* two zeros */
    for (int64_t i = 0; i < s->batch * o.heads && s->room > s->past; i++)
        memset(job->to + (size_t)(i * s->room + s->past) * row, nothing, (size_t)(s->room - s->past) * row);
}

static void move_added(made_job *job) {
    const ox_attention_shape *s = job->s;
    ox_attention_rows rows = s->rows[job->which];
    const ox_tensor *from = job->call->in[rows.input];
    if (!job->steps->before) {
        move_steps(job, from, &rows, s->batch, s->added, s->before);
        return;
    }
    const operand o = operand_of(s, job->which);
    char *const to = job->to;
    for (int64_t b = 0; b < s->batch; b++, rows.first += rows.batch) {
        job->to = to + b * o.heads * job->room * o.size * (int64_t)ox_dtype_size(job->dtype);
        move_steps(job, from, &rows, 1, s->added, job->steps->before[b]);
    }
    job->to = to;
}

/* Fills a cache: the steps that are given, unless they lie there already, and those of this call. */
static void fill_cache(made_job *job) {
    const ox_attention_shape *s = job->s;
    const operand o = cached_operand(s, job->which);
    const int past = past_of(job->call, s, job->which);
    if (job->steps->before)
        clear_rest(job);
    if (past >= 0 && s->past) {
        ox_attention_rows rows = ox_attention_rows_of(past, false, o.heads, s->past, o.size);
        rows.first = values_at(s, job->which, s->past);
        const char *from = (const char *)job->call->in[past]->data + rows.first * (int64_t)ox_dtype_size(job->dtype);
        if (from != job->to || job->room != s->past)
            move_steps(job, job->call->in[past], &rows, s->batch, s->past, 0);
    }
    if (job->lay->made[job->which])
        make_rows(job);
    else
        move_added(job);
}

/* ---- Run ------------------------------------------------------------------------------------------------------ */

static char *cache_memory(const made_job *job, const ox_tensor *present) {
    return (char *)present->data + values_at(job->s, job->which, job->s->room) * (int64_t)ox_dtype_size(present->dtype);
}

/* Memory for a moved operand, which is filled later. */
static ox_tensor take_moved(const ox_call *call, size_t *used, const made_job *job, int64_t *dims) {
    const ox_attention_shape *s = job->s;
    const ox_tensor *present = job->which ? present_of(call, s, job->which) : NULL;
    ox_tensor t = cache_of(s, moved_type(call, s, job->which), job->which, dims);
    if (job->which == OX_LAID_Q) {
        t.dtype = job->lay->dtype;
        dims[2] = s->queries;
    }
    t.data = present ? cache_memory(job, present)
                     : ox_workspace_take(call, used, ox_tensor_count(&t), ox_dtype_size(t.dtype));
    return t;
}

/* The inputs of rows that are computed, and room for them, in the order of plan_made. */
static void take_made(const ox_call *call, size_t *used, made_job *job) {
    const ox_attention_shape *s = job->s;
    if (ox_attention_has(call, s, OX_ATTENTION_BIAS))
        job->bias = ox_dense_in(call, used, call->in[s->in[OX_ATTENTION_BIAS]]).data;
    for (int i = 0; i < 2; i++)
        if (ox_call_given(call, norm_of(s, i)))
            job->norms[i] = ox_dense_in(call, used, call->in[norm_of(s, i)]).data;
    job->rooms = ox_workspace_take(call, used, ox_pool_parts(call->pool), (size_t)job->lay->room);
}

#if OX_WITH_BYTE_CACHES
typedef struct widen_job {
    const made_job *made;
    float *to;
} widen_job;

static void widen_share(void *context, ox_share *share) {
    const widen_job *job = context;
    const made_job *made = job->made;
    const operand o = operand_of(made->s, made->which);
    const int64_t row = cached_operand(made->s, made->which).size;
    int64_t i, end;
    while (ox_share_next(share, &i, &end))
        for (; i < end; i++)
            for (int64_t step = i * made->room; step < i * made->room + made->s->keys; step++)
                widen_row(made, i % o.heads, made->to + step * row, job->to + step * o.size);
}

/* The keys that a quantized cache has, as floats. */
static char *widen_cache(const ox_call *call, size_t *used, const made_job *made) {
    const ox_attention_shape *s = made->s;
    const int64_t count = widened_count(s, made->which);
    widen_job job = {made, ox_workspace_take(call, used, count, sizeof(float))};
    OX_ASSERT(made->lay->dtype == OX_FLOAT && s->keys <= made->room);
    if (count > 0)
        ox_pool_share(ox_pool_for(call->pool, 4 * (double)count), s->batch * ox_attention_key_heads(s), 1, widen_share,
                      &job);
    return (char *)job.to;
}
#endif

/* Moves an operand; gives where it is now. */
static char *move(const ox_call *call, size_t *used, made_job *job) {
    int64_t dims[4];
    const ox_tensor moved = take_moved(call, used, job, dims);
    job->dtype = moved.dtype, job->to = moved.data;
    job->room = dims[2];
    if (job->which == OX_LAID_Q) {
        make_rows(job);
        return moved.data;
    }
    fill_cache(job);
#if OX_WITH_BYTE_CACHES
    if (job->s->bits)
        return widen_cache(call, used, job);
#endif
    return ox_retype_in(call, used, &moved, job->lay->dtype);
}

/* Fills a cache that the node gives of what is read where it lies. */
static void show_cache(made_job *job) {
    const ox_tensor *present = job->which ? present_of(job->call, job->s, job->which) : NULL;
    if (!present)
        return;
    job->dtype = present->dtype, job->to = cache_memory(job, present);
    job->room = job->s->room;
    fill_cache(job);
}

void ox_attention_lay_out(const ox_call *call, size_t *used, const ox_attention_shape *s, const ox_attention_lay *lay,
                          const ox_attention_steps *steps, ox_stretch to[OX_LAID]) {
    made_job job = {.call = call, .s = s, .lay = lay, .steps = steps};
    const char *taken[OX_LAID] = {NULL};
    const int64_t width = (int64_t)ox_dtype_size(lay->dtype);
    if (makes_rows(s, lay))
        take_made(call, used, &job);
    for (int i = 0; i < OX_LAID; i++) {
        job.which = i;
        to[i] = ox_attention_stretch(s, lay, i);
        if (lay->moved[i]) {
            to[i].data = move(call, used, &job);
            continue;
        }
        for (int k = 0; k < i && !taken[i]; k++)
            if (!lay->moved[k] && s->rows[k].input == s->rows[i].input)
                taken[i] = taken[k];
        if (!taken[i])
            taken[i] = ox_retype_in(call, used, call->in[s->rows[i].input], lay->dtype);
        to[i].data = taken[i] + ox_wrapping(s->rows[i].first, width);
        show_cache(&job);
    }
}
