/* bcast.c: planning iteration spaces, and the copy that runs on them. */
#include "asserts.h"
#include "bcast.h"
#include "loops/simd/intrinsics.h"
#include "loops/lanes.h"
#include "walk.h"

#include <string.h>

bool ox_broadcast_dims(int *rank, int64_t dims[OX_MAX_RANK], int other_rank, const int64_t *other) {
    int added = other_rank - *rank;
    if (added > 0) {
        for (int d = *rank; d-- > 0;)
            dims[d + added] = dims[d];
        for (int d = 0; d < added; d++)
            dims[d] = 1;
        *rank = other_rank;
    }
    for (int d = 0; d < other_rank; d++) {
        int64_t *mine = &dims[*rank - other_rank + d];
        if (*mine == 1)
            *mine = other[d];
        else if (other[d] != 1 && other[d] != *mine)
            return false;
    }
    return true;
}

void ox_broadcast_strides(const ox_tensor *tensor, int rank, const int64_t *dims, int64_t *strides) {
    int missing = rank - tensor->rank;
    for (int d = 0; d < missing; d++)
        strides[d] = 0;
    ox_tensor_strides(tensor, strides + missing);
    for (int d = missing; d < rank; d++)
        if (tensor->dims[d - missing] == 1 && dims[d] != 1)
            strides[d] = 0;
}

/* True if dimension `outer` of all operands continues dimension `inner` of the plan. Unsigned, because strides of
 * dimensions without elements may be any number. */
static bool continues(const ox_bcast *plan, int inner, const int64_t *const *strides, int outer) {
    for (int a = 0; a < plan->nargs; a++)
        if ((uint64_t)strides[a][outer] != (uint64_t)plan->step[inner * plan->nargs + a] * (uint64_t)plan->dim[inner])
            return false;
    return true;
}

void ox_bcast_plan(ox_bcast *plan, int nargs, int rank, const int64_t *dims, const int64_t *const *strides) {
    OX_ASSERT(nargs >= 0 && rank >= 0 && rank <= OX_MAX_RANK);
    const int64_t count = ox_count(rank, dims);
    plan->nargs = nargs;
    plan->ndim = 0;
    for (int d = count ? rank : 0; d-- > 0;) {
        if (dims[d] == 1)
            continue;
        /* The dims of what has no elements may overflow. */
        int64_t size;
        if (plan->ndim && continues(plan, plan->ndim - 1, strides, d) &&
            ox_mul_i64(plan->dim[plan->ndim - 1], dims[d], &size)) {
            plan->dim[plan->ndim - 1] = size;
            continue;
        }
        for (int a = 0; a < nargs; a++)
            plan->step[plan->ndim * nargs + a] = strides[a][d];
        plan->dim[plan->ndim++] = dims[d];
    }
    if (plan->ndim)
        return;
    plan->ndim = 1;
    plan->dim[0] = count; /* 1 or 0 */
    for (int a = 0; a < nargs; a++)
        plan->step[a] = 0;
}

/* ---- Moves -------------------------------------------------------------------------------------------------- */

#if OX_WITH_MOVES
#if OX_SMALL
static void order_dims(ox_bcast *plan, int64_t width) {
    (void)plan, (void)width;
}

/* How the two innermost dimensions are copied: row by row. */
typedef struct move_rows_plan {
    int64_t n[2], step[2][2]; /* [dimension][dst, src] */
    ox_move_fn *move;
    bool streamed;
} move_rows_plan;

static move_rows_plan plan_rows(const ox_loops *loops, const ox_bcast *plan, size_t width, size_t whole) {
    const int64_t *step = plan->step;
    (void)whole;
    return (move_rows_plan){.n = {plan->dim[0], plan->dim[1]},
                            .step = {{step[0], step[1]}, {step[2], step[3]}},
                            .move = loops->move(width)};
}

static void move_rows(const move_rows_plan *p, char *dst, const char *src) {
    for (int64_t j = p->n[1]; j; j--, dst += p->step[1][0], src += p->step[1][1])
        p->move(p->n[0], dst, p->step[0][0], src, p->step[0][1]);
}
#else
/* Makes dimension `from` the dimension `to`, which comes before it, and moves those between outwards. */
static void bring(ox_bcast *plan, int from, int to) {
    int64_t *dim = plan->dim, *step = plan->step;
    const int64_t size = dim[from], dst = step[2 * from], src = step[2 * from + 1];
    for (int d = from; d > to; d--) {
        dim[d] = dim[d - 1];
        step[2 * d] = step[2 * d - 2];
        step[2 * d + 1] = step[2 * d - 1];
    }
    dim[to] = size;
    step[2 * to] = dst;
    step[2 * to + 1] = src;
}

/* The dimension along which the result (0) or the source (1) lies packed. */
static int packed_dim(const ox_bcast *plan, int64_t width, int of) {
    int d = 0;
    while (d < plan->ndim && plan->step[2 * d + of] != width)
        d++;
    return d;
}

/* If the result is packed along one dimension and the source along another, makes these two the innermost: a transpose,
 * if it is large enough for a call. */
static void order_dims(ox_bcast *plan, int64_t width) {
    enum {
        WORTH = 32 /* elements */
    };
    const int dst = packed_dim(plan, width, 0), src = packed_dim(plan, width, 1);
    if (dst == src || dst == plan->ndim || src == plan->ndim || plan->step[2 * dst + 1] == 0)
        return;
    const int64_t count = plan->dim[dst] * plan->dim[src];
    if (count < WORTH && count < plan->dim[0] * plan->dim[1])
        return;
    bring(plan, dst, 0);
    bring(plan, src < dst ? src + 1 : src, 1);
}

/* How the two innermost dimensions are copied. */
typedef struct move_rows_plan {
    int64_t n[2], step[2][2]; /* [dimension][dst, src] */
    size_t width, whole;      /* bytes of an element, and of all rows, also those of other threads */
    bool streamed, dense, transposed;
    bool shorts, pattern; /* short rows; all of them the same, one after the other */
    bool prefetched;      /* rows apart from each other that come from memory */
    ox_move_fn *move;
    ox_transpose_fn *transpose;
    ox_spread_fn *spread;
    ox_copy_fn *copy, *stream;
} move_rows_plan;

static move_rows_plan plan_rows(const ox_loops *loops, const ox_bcast *plan, size_t width, size_t whole) {
    /* Rows shorter than this leave cache lines half written, and cost a call each; in a cache a call costs more. */
    enum {
        STREAM_ROW = 512,
        SHORT_ROW = 128,
        SHORT_CACHED_ROW = 512,
        CACHED = 4 << 20
    };
    const int64_t w = (int64_t)width, *step = plan->step;
    move_rows_plan rows = {.n = {plan->dim[0], plan->dim[1]},
                           .step = {{step[0], step[1]}, {step[2], step[3]}},
                           .width = width,
                           .whole = whole,
                           .move = loops->move(width),
                           .transpose = loops->transpose(width),
                           .spread = loops->spread(width),
                           .copy = loops->copy_bytes,
                           .stream = loops->stream};
    rows.dense = step[0] == w && step[1] == w;
    rows.transposed = step[0] == w && step[3] == w && step[1] != 0 && !rows.dense;
    const bool follow = step[0] == w && step[2] == w * plan->dim[0];
    const int64_t bytes = plan->dim[0] * w;
    rows.shorts = !rows.transposed && ((follow && bytes < SHORT_ROW) ||
                                       (rows.dense && bytes < (whole < CACHED ? SHORT_CACHED_ROW : SHORT_ROW)));
    rows.pattern = rows.shorts && follow && step[3] == 0;
    rows.prefetched = rows.dense && whole >= OX_PREFETCH_BYTES && step[3] != bytes && step[3] != 0 && bytes <= OX_LATER;
    /* Transposes decide by themselves. */
    rows.streamed = rows.transposed || (whole >= OX_STREAM_BYTES && step[0] == w && plan->dim[0] >= STREAM_ROW / w);
    return rows;
}

/* A row of dst that is dense, stored past the caches by way of a small buffer that is not. */
static void stream_row(const move_rows_plan *p, char *dst, const char *src) {
    enum {
        PIECE = 1024
    };
    _Alignas(64) char piece[PIECE];
    int64_t n = p->n[0], src_step = p->step[0][1], w = (int64_t)p->width, most = PIECE / w;
    if (src_step == 0)
        p->move(n < most ? n : most, piece, w, src, 0);
    for (int64_t i = 0; i < n; i += most) {
        int64_t count = n - i < most ? n - i : most;
        if (src_step != 0)
            p->move(count, piece, w, src + i * src_step, src_step);
        p->stream(dst + i * w, piece, (size_t)(count * w));
    }
}

/* The same short row over and over: laid out once in a piece, and the piece copied. */
static void move_pattern(const move_rows_plan *p, char *dst, const char *src) {
    enum {
        PIECE = 4096
    };
    char piece[PIECE];
    int64_t bytes = p->n[0] * (int64_t)p->width, most = PIECE / bytes;
    int64_t rows = p->n[1] < most ? p->n[1] : most;
    p->spread(p->n[0], rows, piece, bytes, src, p->step[0][1], 0);
    for (int64_t j = 0; j < p->n[1]; j += rows)
        p->copy(dst + j * bytes, piece, (size_t)((p->n[1] - j < rows ? p->n[1] - j : rows) * bytes));
}

/* Asks for a row some rows behind the one at src. */
static void ask_row(const move_rows_plan *p, const char *src, int64_t bytes) {
    const int64_t step = p->step[1][1];
    ox_prefetch_rows((uintptr_t)src + (uintptr_t)(OX_LATER / bytes * step), step, 1, bytes);
}

static void move_rows(const move_rows_plan *p, char *dst, const char *src) {
    if (p->pattern) {
        move_pattern(p, dst, src);
        return;
    }
    if (p->shorts) {
        p->spread(p->n[0], p->n[1], dst, p->step[1][0], src, p->step[0][1], p->step[1][1]);
        return;
    }
    if (p->transposed) {
        p->transpose(p->n[0], p->n[1], dst, p->step[1][0], src, p->step[0][1], p->whole);
        return;
    }
    size_t bytes = (size_t)p->n[0] * p->width;
    /* A long outer and a short inner dimension: the longer one makes the loop. */
    int inner = p->n[0] >= p->n[1] || p->n[0] >= 8 ? 0 : 1, outer = 1 - inner;
    for (int64_t j = 0; j < p->n[p->dense || p->streamed ? 1 : outer]; j++) {
        if (p->prefetched)
            ask_row(p, src + j * p->step[1][1], (int64_t)bytes);
        if (p->dense && p->streamed)
            p->stream(dst + j * p->step[1][0], src + j * p->step[1][1], bytes);
        else if (p->dense)
            p->copy(dst + j * p->step[1][0], src + j * p->step[1][1], bytes);
        else if (p->streamed)
            stream_row(p, dst + j * p->step[1][0], src + j * p->step[1][1]);
        else
            p->move(p->n[inner], dst + j * p->step[outer][0], p->step[inner][0], src + j * p->step[outer][1],
                    p->step[inner][1]);
    }
}
#endif

static void move_all(const ox_loops *loops, int rank, const int64_t *dims, size_t width, void *dst,
                     const int64_t *dst_strides, const void *src, const int64_t *src_strides, size_t whole) {
    int64_t dim[OX_MAX_RANK + 1], step[2 * (OX_MAX_RANK + 1)], index[OX_MAX_RANK + 1] = {0};
    ox_bcast plan = {.dim = dim, .step = step};
    ox_bcast_plan(&plan, 2, rank, dims, (const int64_t *const[]){dst_strides, src_strides});
    if (!dim[0])
        return;
    if (plan.ndim == 1) { /* the rows want two dimensions */
        dim[1] = 1;
        step[2] = step[3] = 0;
        plan.ndim = 2;
    }
    order_dims(&plan, (int64_t)width);
    const move_rows_plan rows = plan_rows(loops, &plan, width, whole);
    const char *arg[] = {dst, src};
    do
        move_rows(&rows, (char *)dst + (arg[0] - (const char *)dst), arg[1]);
    while (ox_walk(&plan, 2, index, arg));
    if (rows.streamed)
        ox_stream_end();
}

#if OX_SMALL
void ox_move(const ox_loops *loops, ox_pool *pool, int rank, const int64_t *dims, size_t width, void *dst,
             const int64_t *dst_strides, const void *src, const int64_t *src_strides) {
    (void)pool;
    move_all(loops, rank, dims, width, dst, dst_strides, src, src_strides, 0);
}
#else
/* ---- Threads ------------------------------------------------------------------------------------------------ */

typedef struct move_job {
    const ox_loops *loops;
    ox_pool *pool;
    int rank, split; /* the dimension that is split */
    const int64_t *dims, *dst_strides, *src_strides;
    size_t width, whole;
    char *dst;
    const char *src;
} move_job;

/* Copies elements of shape dims, of which dimensions [0, d) are short: in slices along d and the dimensions after it,
 * polling for cancellation between them. */
static void move_slices(const move_job *job, int d, int64_t *dims, char *dst, const char *src) {
    /* Narrower slices of a transpose would leave cache lines half used. */
    enum {
        LONGER = 4
    };
    double bytes = (double)ox_count(job->rank, dims) * (double)job->width / LONGER;
    if (!ox_pool_is_polled(job->pool) || bytes <= (double)OX_POLL_BYTES || d == job->rank) {
        move_all(job->loops, job->rank, dims, job->width, dst, job->dst_strides, src, job->src_strides, job->whole);
        return;
    }
    int64_t count = dims[d], slice = ox_pool_piece(job->pool, count, bytes / (double)count);
    for (int64_t i = 0; i < count && !ox_pool_poll(job->pool); i += slice) {
        dims[d] = count - i < slice ? count - i : slice;
        move_slices(job, d + 1, dims, dst + i * job->dst_strides[d], src + i * job->src_strides[d]);
    }
    dims[d] = count;
}

static void move_part(void *context, int part, int parts) {
    const move_job *job = context;
    const int d = job->split;
    int64_t dims[OX_MAX_RANK + 1], first = 0, end;
    for (int i = 0; i < job->rank; i++)
        dims[i] = job->dims[i];
    if (d >= 0) {
        ox_pool_range(dims[d], part, parts, &first, &end);
        dims[d] = end - first;
    }
    int64_t to = d < 0 ? 0 : first * job->dst_strides[d], from = d < 0 ? 0 : first * job->src_strides[d];
    move_slices(job, 0, dims, job->dst + to, job->src + from);
}

/* The outermost dimension that gives all parts about as much to do, or else every one something; -1 if none does. */
static int split_dimension(int rank, const int64_t *dims, int parts) {
    enum {
        EVEN = 8 /* entries for each part, so that one more does not matter */
    };
    int some = -1;
    for (int d = 0; d < rank && parts > 1; d++) {
        if (dims[d] >= parts && (dims[d] % parts == 0 || dims[d] >= EVEN * parts))
            return d;
        if (dims[d] >= parts && some < 0)
            some = d;
    }
    return some;
}

void ox_move(const ox_loops *loops, ox_pool *pool, int rank, const int64_t *dims, size_t width, void *dst,
             const int64_t *dst_strides, const void *src, const int64_t *src_strides) {
    size_t bytes = (size_t)ox_count(rank, dims) * width;
    if (!bytes) /* from no memory, perhaps */
        return;
    int split = bytes >= OX_SPLIT_BYTES ? split_dimension(rank, dims, ox_pool_parts(pool)) : -1;
    ox_pool_run(split < 0 ? NULL : pool, move_part,
                &(move_job){loops, pool, rank, split, dims, dst_strides, src_strides, width, bytes, dst, src});
}
#endif

void ox_pack(const ox_loops *loops, ox_pool *pool, const ox_tensor *tensor, void *dst) {
    int64_t packed[OX_MAX_RANK + 1], strides[OX_MAX_RANK + 1];
    size_t width = ox_dtype_size(tensor->dtype);
    ox_packed_strides(tensor->rank, tensor->dims, width, packed);
    ox_tensor_strides(tensor, strides);
    ox_move(loops, pool, tensor->rank, tensor->dims, width, dst, packed, tensor->data, strides);
}
#else
void ox_pack(const ox_loops *loops, ox_pool *pool, const ox_tensor *tensor, void *dst) {
    int64_t strides[OX_MAX_RANK + 1], index[OX_MAX_RANK + 1] = {0};
    const size_t width = ox_dtype_size(tensor->dtype);
    (void)loops, (void)pool;
    if (ox_tensor_count(tensor) == 0)
        return;
    ox_tensor_strides(tensor, strides);
    char *to = dst;
    do {
        const char *from = tensor->data;
        for (int d = 0; d < tensor->rank; d++)
            from += (ptrdiff_t)index[d] * (ptrdiff_t)strides[d];
        memcpy(to, from, width);
        to += width;
    } while (ox_index_next(tensor->rank, tensor->dims, index));
}
#endif

/* ---- Indices ------------------------------------------------------------------------------------------------- */

bool ox_index_next(int rank, const int64_t *dims, int64_t *index) {
    for (int d = rank; d-- > 0;) {
        if (++index[d] < dims[d])
            return true;
        index[d] = 0;
    }
    return false;
}

void ox_index_of(int rank, const int64_t *dims, int64_t i, int64_t *index) {
    for (int d = rank; d-- > 0; i = ox_quotient(i, dims[d]))
        index[d] = ox_remainder(i, dims[d]);
}
