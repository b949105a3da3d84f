/* dft.c: DFT and STFT: Fourier transforms of the lines of a tensor. */
#include "fft.h"
#include "ops/dense.h"
#include "ops/reals.h"
#include "ops/scalar.h"

/* ---- Lines -------------------------------------------------------------------------------------------------- */

/* Where lines lie: line i is line i % inner of group i / inner; steps are bytes. */
typedef struct places {
    int64_t group_step, line_step, step; /* from group to group, line to line, and element to element */
    bool complex;                        /* the imaginary part of an element follows its real part */
} places;

enum {
    MOST_LINES = 8,          /* at a time, so that loops are long */
    BATCH_ELEMENTS = 1 << 14 /* of a batch of lines, which then stay in a cache */
};

typedef struct transform {
    ox_fft fft;
    int64_t lines, inner; /* lines in all, and of a group */
    int64_t given, taken; /* elements of a line in the input and the output */
    places from, to;
    bool inverse;
    bool mirrored;   /* the input is the first half of lines whose second half are the conjugates */
    bool has_window; /* input 2 weighs the elements of each line */
    int64_t batch;
    size_t room; /* bytes that each part works in */
} transform;

/* Prepare: work memory; the sizes of the transform are set. */
static ox_status prepare_transform(ox_call *call, transform *t) {
    OX_TRY(ox_fft_plan(call, t->fft.n, &t->fft));
    const int64_t room = ox_fft_room(&t->fft);
    t->batch = ox_least(room < BATCH_ELEMENTS / MOST_LINES ? MOST_LINES : BATCH_ELEMENTS / room, t->lines);
    t->batch = t->batch < 1 ? 1 : t->batch;
    OX_TRY(ox_workspace_add(call, t->fft.n, sizeof(double)));
    t->room = ox_pool_room(ox_pool_parts(call->pool), (size_t)(4 * room * t->batch) * sizeof(double));
    return ox_workspace_add(call, ox_pool_parts(call->pool), t->room);
}

typedef struct transform_job {
    const transform *t;
    const ox_tensor *in, *out;
    const double *window;
    char *work; /* four arrays for each part */
    ox_pool *pool;
} transform_job;

static int64_t place_of(const transform *t, const places *p, int64_t line) {
    return line / t->inner * p->group_step + line % t->inner * p->line_step;
}

/* Line number `line` becomes line j of a batch of `lines`. True if all its numbers are real. */
static bool load_line(const transform_job *job, int64_t line, int64_t j, int64_t lines, ox_fft_lines x) {
    const transform *t = job->t;
    const char *from = (const char *)job->in->data + place_of(t, &t->from, line);
    const int64_t n = t->fft.n, width = (int64_t)ox_dtype_size(job->in->dtype);
    ox_reals_load(job->in->dtype, t->given, from, t->from.step, x.re + j, lines);
    if (t->from.complex)
        ox_reals_load(job->in->dtype, t->given, from + width, t->from.step, x.im + j, lines);
    for (int64_t k = t->from.complex ? t->given : 0; k < n; k++)
        x.im[k * lines + j] = 0;
    for (int64_t k = t->given; k < n; k++)
        x.re[k * lines + j] = 0;
    for (int64_t k = 1; t->mirrored && k < n - k; k++) {
        x.re[(n - k) * lines + j] = x.re[k * lines + j];
        x.im[(n - k) * lines + j] = -x.im[k * lines + j];
    }
    for (int64_t k = 0; t->has_window && k < n; k++) {
        x.re[k * lines + j] *= job->window[k];
        x.im[k * lines + j] *= job->window[k];
    }
    int64_t k = 0;
    while (k < n && x.im[k * lines + j] == 0)
        k++;
    return k == n;
}

/* What real numbers become: conjugates at both sides of the middle, and real numbers at the beginning and in the
 * middle. Rounding alone would leave something else. */
static void make_conjugate(int64_t n, int64_t taken, int64_t j, int64_t lines, ox_fft_lines x) {
    x.im[j] = 0;
    if (n % 2 == 0)
        x.im[n / 2 * lines + j] = 0;
    for (int64_t k = n / 2 + 1; k < taken; k++) {
        x.re[k * lines + j] = x.re[(n - k) * lines + j];
        x.im[k * lines + j] = -x.im[(n - k) * lines + j];
    }
}

static void store_line(const transform_job *job, int64_t line, int64_t j, int64_t lines, ox_fft_lines x) {
    const transform *t = job->t;
    char *to = (char *)job->out->data + place_of(t, &t->to, line);
    const int64_t width = (int64_t)ox_dtype_size(job->out->dtype);
    for (int64_t k = 0; t->inverse && k < t->taken; k++) {
        x.re[k * lines + j] /= (double)t->fft.n;
        x.im[k * lines + j] /= (double)t->fft.n;
    }
    ox_reals_store(job->out->dtype, t->taken, x.re + j, lines, to, t->to.step);
    if (t->to.complex)
        ox_reals_store(job->out->dtype, t->taken, x.im + j, lines, to + width, t->to.step);
}

static ox_fft_lines exchanged(ox_fft_lines x) {
    return (ox_fft_lines){x.im, x.re};
}

static void transform_batch(const transform_job *job, int64_t first, int64_t lines, double *work) {
    const transform *t = job->t;
    const int64_t size = ox_fft_room(&t->fft) * t->batch;
    ox_fft_lines x = {work, work + size}, other = {work + 2 * size, work + 3 * size};
    bool real[MOST_LINES];
    for (int64_t j = 0; j < lines; j++)
        real[j] = load_line(job, first + j, j, lines, x);
    if (t->inverse)
        x = exchanged(ox_fft_run(&t->fft, lines, exchanged(x), exchanged(other)));
    else
        x = ox_fft_run(&t->fft, lines, x, other);
    for (int64_t j = 0; j < lines; j++)
        if (real[j])
            make_conjugate(t->fft.n, t->taken, j, lines, x);
    for (int64_t j = 0; j < lines; j++)
        store_line(job, first + j, j, lines, x);
}

static void transform_share(void *context, ox_share *share) {
    const transform_job *job = context;
    const transform *t = job->t;
    double *work = (double *)(void *)(job->work + (size_t)share->room * t->room);
    int64_t i, end;
    while (ox_share_next(share, &i, &end))
        for (; i < end && !ox_pool_poll(job->pool); i += t->batch)
            transform_batch(job, i, ox_least(t->batch, end - i), work);
}

static ox_status run_transform(ox_call *call, const transform *t, const ox_tensor *window) {
    size_t used = 0;
    transform_job job = {.t = t, .in = call->in[0], .out = call->out[0], .pool = call->pool};
    double *weights = ox_workspace_take(call, &used, t->fft.n, sizeof *weights);
    if (window)
        ox_reals_load(window->dtype, t->fft.n, window->data, (int64_t)ox_dtype_size(window->dtype), weights, 1);
    job.window = weights;
    job.work = ox_workspace_take(call, &used, ox_pool_parts(call->pool), t->room);
    const double bytes = (double)t->lines * (double)ox_fft_room(&t->fft) * 64;
    ox_pool_share(ox_pool_for(call->pool, bytes), t->lines, t->batch, transform_share, &job);
    return OX_OK;
}

/* ---- What both check ---------------------------------------------------------------------------------------- */

/* Whether the last dimension of input 0, of 1 or 2, says that the signal is complex. */
static ox_status read_complex(ox_call *call, bool *complex) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (x->rank < 2 || (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 1] != 2))
        return ox_call_fail(call, OX_ERROR_SHAPE, "the last of at least two dimensions of %s must be 1 or 2",
                            OX_INPUT(call, 0));
    *complex = x->dims[x->rank - 1] == 2;
    return OX_OK;
}

/* Input i, one integer; *value stays if it is omitted. */
static ox_status read_integer(ox_call *call, int i, int64_t *value) {
    const ox_tensor *t;
    if (!ox_call_given(call, i))
        return OX_OK;
    OX_TRY(ox_call_scalar(call, i, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), &t));
    *value = ox_scalar_int(t);
    return OX_OK;
}

/* ---- DFT ---------------------------------------------------------------------------------------------------- */

typedef struct dft {
    bool complex, inverse, onesided;
    int axis;
    int64_t n;
} dft;

/* The default is the dimension before the last one, or 1 before version 20. */
static ox_status read_axis(ox_call *call, int *axis) {
    const int rank = call->in[0]->rank;
    int64_t value = call->op->since < 20 ? ox_call_int(call, "axis", 1) : -2;
    if (ox_call_given(call, 2))
        OX_TRY(ox_call_check_dtype(call, 2, OX_BIT(OX_INT64)));
    OX_TRY(read_integer(call, 2, &value));
    OX_TRY(ox_call_axis(call, "axis", value, rank, axis));
    if (*axis == rank - 1)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "axis %lld of %s holds real and imaginary parts, and is not a signal axis",
                            (long long)value, OX_INPUT(call, 0));
    return OX_OK;
}

static ox_status read_dft(ox_call *call, dft *d) {
    OX_TRY(read_complex(call, &d->complex));
    OX_TRY(read_axis(call, &d->axis));
    d->inverse = ox_call_int(call, "inverse", 0) != 0;
    d->onesided = ox_call_int(call, "onesided", 0) != 0;
    d->n = call->in[0]->dims[d->axis];
    if (d->onesided && d->inverse)
        d->n = 2 * (d->n - 1);
    OX_TRY(read_integer(call, 1, &d->n));
    if (d->onesided && d->inverse != d->complex)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the onesided transform of %s: the input must be %s",
                            OX_INPUT(call, 0), d->inverse ? "complex" : "real");
    if (d->n < 1)
        return ox_call_fail(call, OX_ERROR_VALUE, "the length of the transform is %lld, less than 1", (long long)d->n);
    return OX_OK;
}

static int64_t dft_taken(const dft *d) {
    return d->onesided && !d->inverse ? d->n / 2 + 1 : d->n;
}

ox_status ox_infer_dft(ox_call *call) {
    const ox_tensor *x = call->in[0];
    dft d;
    int64_t dims[OX_MAX_RANK];
    OX_TRY(read_dft(call, &d));
    for (int i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    dims[d.axis] = dft_taken(&d);
    dims[x->rank - 1] = d.onesided && d.inverse ? 1 : 2;
    return ox_call_output(call, 0, x->dtype, x->rank, dims);
}

/* Lines along an axis of a packed tensor. */
static places places_along(const ox_tensor *tensor, int axis) {
    places p = {.complex = tensor->dims[tensor->rank - 1] == 2};
    p.line_step = ox_stride(tensor, tensor->rank - 2);
    p.step = ox_stride(tensor, axis);
    p.group_step = p.step * tensor->dims[axis];
    if (axis == tensor->rank - 2)
        p.line_step = p.group_step;
    return p;
}

ox_status ox_prepare_dft(ox_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    transform *t = ox_call_state(call, sizeof *t);
    dft d;
    if (!t)
        return OX_ERROR_MEMORY;
    OX_TRY(read_dft(call, &d));
    const int64_t taken = dft_taken(&d);
    *t = (transform){.fft.n = d.n, .taken = taken, .inverse = d.inverse, .mirrored = d.inverse && d.onesided};
    t->given = ox_least(x->dims[d.axis], t->mirrored ? d.n / 2 + 1 : d.n);
    t->inner = ox_count(x->rank - 2 - d.axis, x->dims + d.axis + 1);
    t->lines = ox_tensor_count(out) / taken / out->dims[out->rank - 1];
    t->from = places_along(x, d.axis);
    t->to = places_along(out, d.axis);
    return prepare_transform(call, t);
}

ox_status ox_run_dft(ox_call *call) {
    return ox_tensor_count(call->out[0]) ? run_transform(call, call->state, NULL) : OX_OK;
}

/* ---- STFT --------------------------------------------------------------------------------------------------- */

enum {
    SIGNAL,
    STEP,
    WINDOW,
    LENGTH
};

typedef struct stft {
    bool complex, onesided;
    int64_t n, step, frames;
} stft;

static ox_status check_window(ox_call *call, const stft *s) {
    const ox_tensor *window = call->in[WINDOW];
    OX_TRY(ox_call_check_dtype(call, WINDOW, OX_BIT(call->in[SIGNAL]->dtype)));
    if (window->rank != 1 || window->dims[0] != s->n)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a list of %lld weights, as many as a frame has elements",
                            OX_INPUT(call, WINDOW), (long long)s->n);
    return OX_OK;
}

/* The text wants three dimensions; ONNX's shape inference takes two as a real signal, and PyTorch writes those. */
static ox_status read_signal(ox_call *call, bool *complex) {
    const int rank = call->in[SIGNAL]->rank;
    if (rank != 2 && rank != 3)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have three dimensions, or two if it is real",
                            OX_INPUT(call, SIGNAL));
    *complex = false;
    return rank == 3 ? read_complex(call, complex) : ox_call_check_dtype(call, SIGNAL, call->op->dtypes);
}

static ox_status read_stft(ox_call *call, stft *s) {
    const ox_tensor *x = call->in[SIGNAL];
    OX_TRY(read_signal(call, &s->complex));
    const bool has_window = ox_call_given(call, WINDOW);
    s->n = has_window && call->in[WINDOW]->rank == 1 ? call->in[WINDOW]->dims[0] : x->dims[1];
    s->onesided = ox_call_int(call, "onesided", 1) != 0;
    OX_TRY(read_integer(call, STEP, &s->step));
    OX_TRY(read_integer(call, LENGTH, &s->n));
    if (s->n < 1 || s->n > x->dims[1])
        return ox_call_fail(call, OX_ERROR_VALUE, "a frame has %lld elements, but %s has %lld", (long long)s->n,
                            OX_INPUT(call, SIGNAL), (long long)x->dims[1]);
    if (s->step < 1)
        return ox_call_fail(call, OX_ERROR_VALUE, "the step from frame to frame is %lld, less than 1",
                            (long long)s->step);
    if (s->onesided && s->complex)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the onesided transform of %s: the input must be real",
                            OX_INPUT(call, SIGNAL));
    s->frames = (x->dims[1] - s->n) / s->step + 1;
    return has_window ? check_window(call, s) : OX_OK;
}

ox_status ox_infer_stft(ox_call *call) {
    const ox_tensor *x = call->in[SIGNAL];
    stft s;
    OX_TRY(read_stft(call, &s));
    const int64_t dims[] = {x->dims[0], s.frames, s.onesided ? s.n / 2 + 1 : s.n, 2};
    return ox_call_output(call, 0, x->dtype, 4, dims);
}

ox_status ox_prepare_stft(ox_call *call) {
    const ox_tensor *x = call->in[SIGNAL], *out = call->out[0];
    transform *t = ox_call_state(call, sizeof *t);
    stft s;
    if (!t)
        return OX_ERROR_MEMORY;
    OX_TRY(read_stft(call, &s));
    *t = (transform){.fft.n = s.n, .inner = s.frames, .lines = x->dims[0] * s.frames, .given = s.n};
    t->taken = out->dims[2];
    t->has_window = ox_call_given(call, WINDOW);
    t->from = (places){ox_stride(x, 0), s.step * ox_stride(x, 1), ox_stride(x, 1), s.complex};
    t->to = (places){ox_stride(out, 0), ox_stride(out, 1), ox_stride(out, 2), true};
    return prepare_transform(call, t);
}

ox_status ox_run_stft(ox_call *call) {
    const transform *t = call->state;
    return run_transform(call, t, t->has_window ? call->in[WINDOW] : NULL);
}
