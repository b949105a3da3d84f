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

/* ---- Values that are no tensors ----------------------------------------------------------------------------- */

enum {
    ITEMS = 2
};

static ox_status make_value(const char **type, int64_t open, unsigned turn, ox_value **value, ox_error *error);

/* The element type whose name begins the text. */
static ox_dtype dtype_at(const char *name) {
    const size_t length = strcspn(name, ",)");
    for (int i = 1; i < OX_DTYPE_COUNT; i++)
        if (strlen(ox_dtype_name((ox_dtype)i)) == length && !strncmp(ox_dtype_name((ox_dtype)i), name, length))
            return (ox_dtype)i;
    return OX_FLOAT;
}

static ox_status make_item(const char **type, int64_t open, unsigned turn, ox_value **value, ox_error *error) {
    const ox_tensor tensor = {dtype_at(*type), 1, &open, NULL, &elements};
    fill(tensor.dtype, open, turn);
    *type += strcspn(*type, ")");
    *type += **type != 0;
    return ox_value_from_tensor(&tensor, NULL, value, error);
}

static ox_status make_items(ox_kind kind, const char **type, int64_t open, unsigned turn, ox_value **value,
                            ox_error *error) {
    static const int64_t count = ITEMS, numbers[ITEMS] = {1, 3};
    static const ox_string words[ITEMS] = {{"1", 1}, {"a", 1}};
    uint8_t room[ITEMS * sizeof(ox_string)] = {0};
    ox_tensor keys = {OX_INT64, 1, &count, NULL, room};
    ox_value *items[ITEMS] = {NULL};
    ox_status status = OX_OK;
    if (kind == OX_KIND_MAP) {
        keys.dtype = dtype_at(*type);
        const size_t size = ox_dtype_size(keys.dtype);
        for (size_t i = 0; i < ITEMS; i++)
            memcpy(&room[i * size], keys.dtype == OX_STRING ? (const void *)&words[i] : &numbers[i],
                   size > 8 && keys.dtype != OX_STRING ? 8 : size);
        *type += strcspn(*type, ",");
        *type += **type != 0;
    }
    const char *inner = *type;
    const size_t most = kind == OX_KIND_OPTIONAL ? 1 : ITEMS;
    for (size_t i = 0; i < most && status == OX_OK; i++) {
        *type = inner;
        status = make_value(type, open, turn + (unsigned)i, &items[i], error);
    }
    *type += **type != 0;
    if (status == OX_OK)
        status = ox_value_from_items(kind, kind == OX_KIND_MAP ? &keys : NULL, (const ox_value *const *)items, most,
                                     NULL, value, error);
    for (size_t i = 0; i < most; i++)
        ox_value_free(items[i]);
    return status;
}

/* A value of the type that begins at *type, which goes behind it. Items are vectors of `open` elements. */
static ox_status make_value(const char **type, int64_t open, unsigned turn, ox_value **value, ox_error *error) {
    const size_t head = strcspn(*type, "(");
    const ox_kind kind = **type == 's'   ? OX_KIND_SEQUENCE
                         : **type == 'o' ? OX_KIND_OPTIONAL
                         : **type == 'm' ? OX_KIND_MAP
                                         : OX_KIND_TENSOR;
    *type += head + ((*type)[head] != 0);
    return kind == OX_KIND_TENSOR ? make_item(type, open, turn, value, error)
                                  : make_items(kind, type, open, turn, value, error);
}

/* Values live until the next input of that index. */
static ox_status feed_value(ox_session *session, size_t index, const ox_value_info *info, int64_t open,
                            ox_error *error) {
    static ox_value *kept[8];
    const char *type = info->type;
    ox_session_set_value(session, index, NULL, error);
    ox_value_free(kept[index]);
    kept[index] = NULL;
    ox_status status = make_value(&type, open, (unsigned)index, &kept[index], error);
    return status == OX_OK ? ox_session_set_value(session, index, kept[index], error) : status;
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
    if (info.kind > OX_KIND_TENSOR)
        return feed_value(session, index, &info, open, error);
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
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211u;
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

static uint64_t mix_value(const ox_value *value) {
    const size_t count = ox_value_count(value);
    const ox_tensor *tensor = ox_value_tensor(value), *keys = ox_value_keys(value);
    uint64_t hash = mix(tensor ? mix_tensor(tensor) : 1, &count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t item = mix_value(ox_value_item(value, i));
        hash = mix(hash, &item, sizeof item);
    }
    return keys ? hash ^ mix_tensor(keys) : hash;
}

static digest run(ox_session *session, int *questions) {
    digest d = {{0}, OX_OK};
    ox_error error;
    *questions = 0;
    d.status = ox_session_run(session, &error);
    if (d.status != OX_OK && !error.text[0])
        abort();
    for (size_t k = 0; d.status == OX_OK && k < MOST_OUTPUTS; k++) {
        const ox_value *value;
        ox_tensor tensor;
        if (ox_session_output_value(session, k, &value, &error) != OX_OK ||
            (!value && ox_session_output(session, k, &tensor, &error) != OX_OK))
            break;
        d.of[k] = value ? mix_value(value) : mix_tensor(&tensor);
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
