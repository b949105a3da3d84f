/* windows.c: BlackmanWindow, HammingWindow, HannWindow and MelWeightMatrix. */
#include <math.h>

#include "ops/dense.h"
#include "ops/reals.h"
#include "ops/scalar.h"

static const double pi = 3.14159265358979323846;

static ox_status read_dtype(ox_call *call, ox_dtype *dtype) {
    const int64_t number = ox_call_int(call, "output_datatype", OX_FLOAT);
    *dtype = number > OX_UNDEFINED && number < OX_DTYPE_COUNT ? (ox_dtype)number : OX_UNDEFINED;
    if (!(OX_BIT(*dtype) & OX_SET_NUM))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'output_datatype' is %lld, which is not a numeric type",
                            (long long)number);
    return OX_OK;
}

/* Input i, one integer of at least `least`. */
static ox_status read_size(ox_call *call, int i, const char *what, int64_t least, int64_t *size) {
    const ox_tensor *t;
    OX_TRY(ox_call_scalar(call, i, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), &t));
    *size = ox_scalar_int(t);
    if (*size < least)
        return ox_call_fail(call, OX_ERROR_VALUE, "the %s is %lld, less than %lld", what, (long long)*size,
                            (long long)least);
    return OX_OK;
}

/* ---- Windows ------------------------------------------------------------------------------------------------ */

/* a - b cos(x) + c cos(2x), where x goes once around. */
typedef struct window {
    double a, b, c;
    double start, turns; /* where the first element is, and a step from element to element */
} window;

ox_status ox_infer_window(ox_call *call) {
    ox_dtype dtype;
    int64_t size = 0;
    OX_TRY(read_dtype(call, &dtype));
    OX_TRY(read_size(call, 0, "size of the window", 0, &size));
    return ox_call_output(call, 0, dtype, 1, &size);
}

static ox_status prepare_window(ox_call *call, window shape) {
    window *w = ox_call_state(call, sizeof *w);
    if (!w)
        return OX_ERROR_MEMORY;
    const int64_t size = call->out[0]->dims[0], period = ox_call_int(call, "periodic", 1) ? size : size - 1;
    *w = shape;
    w->start = period > 0 ? 0 : 0.5; /* a symmetric window of one element is its peak */
    w->turns = period > 0 ? 1 / (double)period : 0;
    return OX_OK;
}

ox_status ox_prepare_blackman(ox_call *call) {
    return prepare_window(call, (window){.a = 0.42, .b = 0.5, .c = 0.08});
}

ox_status ox_prepare_hamming(ox_call *call) {
    return prepare_window(call, (window){.a = 25.0 / 46, .b = 21.0 / 46});
}

ox_status ox_prepare_hann(ox_call *call) {
    return prepare_window(call, (window){.a = 0.5, .b = 0.5});
}

typedef struct window_job {
    const window *window;
    const ox_tensor *out;
} window_job;

static void window_part(void *context, int part, int parts) {
    const window_job *job = context;
    const window *w = job->window;
    const int64_t width = (int64_t)ox_dtype_size(job->out->dtype);
    double piece[OX_REALS_PIECE];
    int64_t i, end;
    ox_pool_range(job->out->dims[0], part, parts, &i, &end);
    for (int64_t n; i < end; i += n) {
        n = ox_least(OX_REALS_PIECE, end - i);
        for (int64_t k = 0; k < n; k++) {
            const double angle = 2 * pi * (w->start + (double)(i + k) * w->turns);
            piece[k] = w->a - w->b * cos(angle) + w->c * cos(2 * angle);
        }
        ox_reals_store(job->out->dtype, n, piece, 1, (char *)job->out->data + i * width, width);
    }
}

ox_status ox_run_window(ox_call *call) {
    window_job job = {call->state, call->out[0]};
    ox_pool_run_pieces(call->pool, (double)job.out->dims[0] * 64, window_part, &job);
    return OX_OK;
}

/* ---- MelWeightMatrix ---------------------------------------------------------------------------------------- */

enum {
    BANDS,
    DFT_LENGTH,
    SAMPLE_RATE,
    LOWER_EDGE,
    UPPER_EDGE
};

typedef struct mel {
    int64_t bands, length, rate;
    double lower, upper; /* edges, in hertz */
} mel;

static ox_status read_edge(ox_call *call, int i, double *edge) {
    const ox_tensor *t;
    OX_TRY(ox_call_scalar(call, i, OX_SET_FLOAT, &t));
    *edge = ox_scalar_float(t);
    return OX_OK;
}

static ox_status read_mel(ox_call *call, mel *m) {
    OX_TRY(read_size(call, BANDS, "number of bands", 0, &m->bands));
    OX_TRY(read_size(call, DFT_LENGTH, "length of the transform", 0, &m->length));
    OX_TRY(read_size(call, SAMPLE_RATE, "sample rate", 1, &m->rate));
    OX_TRY(read_edge(call, LOWER_EDGE, &m->lower));
    OX_TRY(read_edge(call, UPPER_EDGE, &m->upper));
    if (!(m->lower >= 0 && m->lower <= m->upper && m->upper <= (double)INT32_MAX))
        return ox_call_fail(call, OX_ERROR_VALUE, "there is no range from %g to %g hertz", m->lower, m->upper);
    return OX_OK;
}

ox_status ox_infer_mel(ox_call *call) {
    ox_dtype dtype;
    mel m;
    OX_TRY(read_dtype(call, &dtype));
    OX_TRY(read_mel(call, &m));
    return ox_call_output(call, 0, dtype, 2, (const int64_t[]){m.length / 2 + 1, m.bands});
}

ox_status ox_prepare_mel(ox_call *call) {
    mel *m = ox_call_state(call, sizeof *m);
    return m ? read_mel(call, m) : OX_ERROR_MEMORY;
}

static double mel_of(double hertz) {
    return 2595 * log10(1 + hertz / 700);
}

/* The bin of the spectrum in which point i of a scale that is even in mels lies. */
static double bin_of(const mel *m, int64_t i) {
    const double low = mel_of(m->lower), step = (mel_of(m->upper) - low) / ((double)m->bands + 2);
    const double hertz = 700 * (pow(10, (low + (double)i * step) / 2595) - 1);
    return floor(((double)m->length + 1) * hertz / (double)m->rate);
}

/* The weight of a bin in the triangle with these corners. One without a left side is its peak. */
static double weight_of(double bin, double left, double peak, double right) {
    if (bin == peak)
        return 1;
    if (bin < peak)
        return bin < left ? 0 : (bin - left) / (peak - left);
    return bin >= right ? 0 : (right - bin) / (right - peak);
}

typedef struct mel_job {
    const mel *m;
    const ox_tensor *out;
} mel_job;

static void mel_part(void *context, int part, int parts) {
    const mel_job *job = context;
    const mel *m = job->m;
    const int64_t bins = m->length / 2 + 1, width = (int64_t)ox_dtype_size(job->out->dtype);
    int64_t band, end;
    ox_pool_range(m->bands, part, parts, &band, &end);
    for (; band < end; band++) {
        const double left = bin_of(m, band), peak = bin_of(m, band + 1), right = bin_of(m, band + 2);
        char *to = (char *)job->out->data + band * width;
        for (int64_t bin = 0; bin < bins; bin++)
            ox_real_put(job->out->dtype, weight_of((double)bin, left, peak, right), to + bin * m->bands * width);
    }
}

ox_status ox_run_mel(ox_call *call) {
    mel_job job = {call->state, call->out[0]};
    ox_pool_run_pieces(call->pool, (double)ox_tensor_count(job.out) * 16, mel_part, &job);
    return OX_OK;
}
