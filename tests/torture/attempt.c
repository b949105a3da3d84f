/* attempt.c: see attempt.h. */
#include "attempt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/loader/load.h"

enum {
    MOST_ELEMENTS = 4096, /* of an input that lies packed; of larger ones, one element repeats */
    SESSION_BYTES = 1 << 26,
    TENSOR_BYTES = 1 << 24
};

/* Room for the largest element, a complex128 of 16 bytes; zeros are right for every type, empty strings too. */
static long double zeros[MOST_ELEMENTS];

typedef struct meter {
    size_t live, peak;
} meter;

static void *metered_resize(void *context, void *block, size_t old_size, size_t new_size) {
    meter *m = context;
    if (!new_size) {
        m->live -= old_size;
        free(block);
        return NULL;
    }
    size_t live = m->live - (block ? old_size : 0);
    if (new_size > ATTEMPT_BYTES - live)
        return NULL;
    void *moved = realloc(block, new_size);
    if (moved)
        m->live = live + new_size;
    if (m->live > m->peak)
        m->peak = m->live;
    return moved;
}

static ox_status feed_zeros(const ox_value_info *info, ox_session *session, size_t index, ox_error *error) {
    int64_t dims[OX_TENSOR_RANK];
    int rank = info->rank < 0 ? 1 : info->rank;
    for (int d = 0; d < rank; d++)
        dims[d] = info->rank < 0 || info->dims[d] < 0 ? 1 : info->dims[d];
    static const int64_t repeated[OX_TENSOR_RANK];
    ox_tensor tensor = {info->dtype ? info->dtype : OX_FLOAT, rank, dims, NULL, zeros};
    if (ox_tensor_count(&tensor) > MOST_ELEMENTS)
        tensor.strides = repeated;
    return ox_session_set_input(session, index, &tensor, error);
}

static ox_status feed(const subject *s, const ox_model *model, ox_session *session, ox_error *error) {
    ox_status status = OX_OK;
    for (size_t i = 0; status == OX_OK && i < ox_model_input_count(model); i++) {
        ox_value_info info;
        status = ox_model_input(model, i, &info);
        bool given =
            i < SUBJECT_INPUTS && s->inputs[i] && ox_session_set_value(session, i, s->inputs[i], error) == OX_OK;
        if (status == OX_OK && !given && !info.optional)
            status = feed_zeros(&info, session, i, error);
    }
    return status;
}

/* Reads every element of an output, so that the sanitizers see where it lies. */
static unsigned read_output(const ox_tensor *tensor) {
    unsigned sum = 0;
    size_t size = (size_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype);
    for (size_t i = 0; i < size; i++)
        sum += ((const unsigned char *)tensor->data)[i];
    return sum;
}

/* The same for a value of any kind. */
static unsigned read_value(const ox_value *value) {
    const ox_tensor *tensor = ox_value_tensor(value), *keys = ox_value_keys(value);
    unsigned sum = (tensor ? read_output(tensor) : 0) + (keys ? read_output(keys) : 0);
    for (size_t i = 0; i < ox_value_count(value); i++)
        sum += read_value(ox_value_item(value, i));
    return sum;
}

static ox_status read_result(const ox_session *session, size_t index, ox_error *error) {
    const ox_value *value;
    ox_tensor tensor;
    ox_status status = ox_session_output_value(session, index, &value, error);
    if (status == OX_OK && !value)
        status = ox_session_output(session, index, &tensor, error);
    if (status == OX_OK) {
        volatile unsigned sum = value ? read_value(value) : read_output(&tensor);
        (void)sum;
    }
    return status;
}

static ox_status run_session(const ox_model *model, ox_session *session, ox_error *error) {
    ox_status status = OX_OK;
    clock_t start = clock();
    for (int turn = 0; status == OX_OK && turn < 2 && clock() - start < CLOCKS_PER_SEC / 10; turn++)
        status = ox_session_run(session, error);
    for (size_t i = 0; status == OX_OK && i < ox_model_output_count(model); i++)
        status = read_result(session, i, error);
    return status;
}

static ox_status run_model(const subject *s, const ox_model *model, bool check, ox_error *error) {
    ox_session *session;
    const ox_options options = {.limits = {.bytes = SESSION_BYTES}, .check = check};
    ox_status status = ox_session_create(model, &options, &session, error);
    if (status)
        return status;
    status = feed(s, model, session, error);
    if (status == OX_OK)
        status = run_session(model, session, error);
    ox_session_free(session);
    return status;
}

/* What lacks operators is still listed by `ox info`: that part of the loader is tried as well. */
static void load_for_info(const unsigned char *bytes, size_t size, const ox_options *options) {
    ox_model *model;
    if (ox_load_create(options, "model", &model, NULL) == OX_OK &&
        ox_load_bytes(model, bytes, size, NULL, true, NULL) == OX_OK)
        ox_model_free(model);
}

static int lines(const char *text) {
    int count = 1;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static const char *fault_of(ox_status status, const ox_error *error, outcome got) {
    if (error->status != status)
        return "the status returned is not the one of the error";
    if (status == OX_OK)
        return error->text[0] ? "a text without an error" : NULL;
    if (!error->text[0])
        return "an error without a text";
    if (lines(error->text) > 2)
        return "an error text of more than two lines";
    return got == OUTCOME_REFUSED && status == OX_ERROR_MEMORY ? "loading takes more than 256 MB" : NULL;
}

const char *attempt_fault_of_whole(const attempt *result) {
    if (result->fault || result->outcome == OUTCOME_RAN || result->error.status == OX_ERROR_UNSUPPORTED)
        return result->fault;
    return result->outcome == OUTCOME_REFUSED ? "is not loaded, though it is whole" : "is not run, though it is whole";
}

void attempt_run(const subject *s, const unsigned char *bytes, size_t size, bool whole, attempt *result) {
    meter m = {0};
    ox_allocator allocator = {metered_resize, &m};
    ox_options options = {.allocator = &allocator, .limits = {.tensor_bytes = TENSOR_BYTES}};
    ox_model *model;
    *result = (attempt){.outcome = OUTCOME_REFUSED};
    ox_status status = ox_model_load_memory(bytes, size, &options, &model, &result->error);
    if (status == OX_OK) {
        status = run_model(s, model, whole, &result->error);
        result->outcome = status ? OUTCOME_FAILED : OUTCOME_RAN;
        ox_model_free(model);
    } else if (status == OX_ERROR_UNSUPPORTED) {
        load_for_info(bytes, size, &options);
    }
    result->peak = m.peak;
    result->fault = m.live ? "memory is left" : fault_of(status, &result->error, result->outcome);
}
