/* fuzz_run.c: any bytes as a model: loaded, prepared and run on small inputs, within limits. Twice in a session, on
 * other shapes between if any are open, which gives the same bits; and once with nodes one by one, which does too. */
#include <stdlib.h>
#include <string.h>

#include "model_fuzzer.h"

enum {
    MOST_ELEMENTS = 4096,
    MOST_OUTPUTS = 16,
    MOST_QUESTIONS = 400, /* of a run, before it is cancelled */
    TEXTS = 4
};

/* Room for the largest element, a complex128 of 16 bytes. */
static union {
    uint8_t u8[16 * MOST_ELEMENTS];
    uint16_t u16[1];
    float f32[1];
    double f64[1];
    ox_string text[1];
} elements;

static bool is_tired(void *context) {
    return ++*(int *)context > MOST_QUESTIONS;
}

static bool is_integer(ox_dtype dtype) {
    return (dtype >= OX_UINT8 && dtype <= OX_INT64) || dtype == OX_UINT32 || dtype == OX_UINT64;
}

/* Small numbers, of which some are negative and some make good shapes; floats of 16 bits and less get bytes. */
static void fill(ox_dtype dtype, int64_t count, unsigned turn) {
    static const ox_string texts[TEXTS] = {{"", 0}, {"1", 1}, {"-2.5e3", 6}, {"\xff\0x", 3}};
    const size_t size = ox_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++) {
        const unsigned at = (unsigned)i + turn;
        const int64_t number = (int64_t)(at * 7 % 11) - (at % 5 == 0 ? 6 : 0);
        if (dtype == OX_FLOAT)
            elements.f32[i] = (float)number / 2;
        else if (dtype == OX_DOUBLE)
            elements.f64[i] = (double)number / 4;
        else if (is_integer(dtype))
            memcpy(&elements.u8[(size_t)i * size], &number, size);
        else if (dtype == OX_STRING)
            elements.text[i] = texts[at % TEXTS];
        else
            memset(&elements.u8[(size_t)i * size], (int)(dtype == OX_BOOL ? number & 1 : number), size);
    }
}

/* The strides of a tensor whose first dimension is the innermost. */
static void turn(const ox_tensor *tensor, int64_t *strides) {
    int64_t step = (int64_t)ox_dtype_size(tensor->dtype);
    for (int d = 0; d < tensor->rank; d++) {
        strides[d] = step;
        step *= tensor->dims[d];
    }
}

/* Gives an input, with `open` for dims that the model leaves open. Every second one lies turned. */
static ox_status feed(const ox_model *model, ox_session *session, size_t index, int64_t open, ox_error *error) {
    static uint8_t data[8][sizeof elements];
    ox_value_info info;
    int64_t dims[OX_TENSOR_RANK], strides[OX_TENSOR_RANK];
    ox_status status = ox_model_input(model, index, &info);
    if (status != OX_OK || info.optional)
        return status;
    int rank = info.rank < 0 ? 1 : info.rank;
    if (rank > OX_TENSOR_RANK || index >= sizeof data / sizeof *data)
        return OX_ERROR_LIMIT;
    for (int d = 0; d < rank; d++)
        dims[d] = info.rank < 0 || info.dims[d] < 0 ? open : info.dims[d];
    ox_tensor tensor = {info.dtype ? info.dtype : OX_FLOAT, rank, dims, NULL, data[index]};
    int64_t count = ox_tensor_count(&tensor);
    if (count < 0 || count > MOST_ELEMENTS)
        return OX_ERROR_LIMIT;
    fill(tensor.dtype, count, (unsigned)index);
    memcpy(data[index], &elements, (size_t)count * ox_dtype_size(tensor.dtype));
    if (index % 2 && count) {
        turn(&tensor, strides);
        tensor.strides = strides;
    }
    return ox_session_set_input(session, index, &tensor, error);
}

/* Type, shape and bytes of the outputs as one number. */
typedef struct digest {
    uint64_t of[MOST_OUTPUTS];
    ox_status status;
} digest;

static uint64_t mix(uint64_t hash, const void *data, size_t size) {
    for (const uint8_t *p = data, *end = p + size; p < end; p++)
        hash = (hash ^ *p) * 1099511628211u;
    return hash;
}

/* The bits of infinity; 0 for types that are compared as they are. */
static uint64_t infinity_of(ox_dtype dtype) {
    switch ((int)dtype) {
    case OX_FLOAT16:
        return 0x7c00;
    case OX_BFLOAT16:
        return 0x7f80;
    case OX_FLOAT:
        return 0x7f800000;
    case OX_DOUBLE:
        return 0x7ff0000000000000;
    default:
        return 0;
    }
}

/* Numbers; every NaN counts as the same, for which of two an operation passes on depends on the compiler's loops. */
static uint64_t mix_floats(uint64_t hash, const ox_tensor *tensor, uint64_t infinity, int64_t count) {
    const size_t size = ox_dtype_size(tensor->dtype);
    const uint64_t sign = (uint64_t)1 << (8 * size - 1);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)tensor->data + (size_t)i * size, size);
        bits = (bits & ~sign) > infinity ? infinity + 1 : bits;
        hash = mix(hash, &bits, sizeof bits);
    }
    return hash;
}

static uint64_t mix_tensor(const ox_tensor *tensor) {
    uint64_t hash = mix(1469598103934665603u, &tensor->dtype, sizeof tensor->dtype);
    hash = mix(hash, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims);
    int64_t count = ox_tensor_count(tensor);
    const uint64_t infinity = infinity_of(tensor->dtype);
    if (infinity)
        return mix_floats(hash, tensor, infinity, count);
    if (tensor->dtype != OX_STRING)
        return count ? mix(hash, tensor->data, (size_t)count * ox_dtype_size(tensor->dtype)) : hash;
    for (int64_t i = 0; i < count; i++) {
        const ox_string *text = (const ox_string *)tensor->data + i;
        hash = mix(hash, text->data, text->size);
    }
    return hash;
}

static digest run(ox_session *session, int *questions) {
    digest d = {{0}, OX_OK};
    ox_error error;
    *questions = 0;
    d.status = ox_session_run(session, &error);
    if (d.status != OX_OK && !error.text[0])
        abort();
    for (size_t k = 0; d.status == OX_OK && k < MOST_OUTPUTS; k++) {
        ox_tensor tensor;
        if (ox_session_output(session, k, &tensor, &error) != OX_OK)
            break;
        d.of[k] = mix_tensor(&tensor);
    }
    return d;
}

/* Gives all inputs and runs. */
static digest feed_and_run(const ox_model *model, ox_session *session, int64_t open, int *questions) {
    digest unfed = {{0}, OX_OK};
    ox_error error;
    for (size_t i = 0; unfed.status == OX_OK && i < ox_model_input_count(model); i++)
        unfed.status = feed(model, session, i, open, &error);
    return unfed.status == OX_OK ? run(session, questions) : unfed;
}

/* Runs twice on the same inputs, on others between, and compares; the first run's outputs. */
static digest run_session(const ox_model *model, const ox_options *options, int *questions) {
    digest first = {{0}, OX_ERROR_LIMIT};
    ox_session *session = NULL;
    ox_error error;
    if (ox_session_create(model, options, &session, &error) == OX_OK) {
        first = feed_and_run(model, session, 2, questions);
        feed_and_run(model, session, 3, questions);
        digest second = feed_and_run(model, session, 2, questions);
        if (first.status == OX_OK && second.status == OX_OK && memcmp(&first, &second, sizeof first))
            abort();
    }
    ox_session_free(session);
    return first;
}

static bool is_random(const ox_model *model) {
    ox_op_use use;
    for (size_t i = 0; ox_model_op_use(model, i, &use) == OX_OK; i++)
        if (!strcmp(use.name, "Dropout") || !strncmp(use.name, "Random", 6) || !strcmp(use.name, "Multinomial") ||
            !strcmp(use.name, "Bernoulli"))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int questions = 0;
    const ox_options options = {.limits = {.bytes = 1 << 24,
                                           .tensor_bytes = 1 << 18,
                                           .nodes = 1 << 10,
                                           .cancel = is_tired,
                                           .cancel_context = &questions}};
    ox_error error;
    ox_model *model = NULL;
    if (ox_model_load_memory(data, size, &options, &model, &error))
        return 0;
    if (!is_random(model)) {
        ox_options apart = options;
        apart.no_fuse = true;
        digest fused = run_session(model, NULL, &questions), plain = run_session(model, &apart, &questions);
        if (fused.status == OX_OK && plain.status == OX_OK && memcmp(&fused, &plain, sizeof fused))
            abort();
    }
    ox_model_free(model);
    return 0;
}
