/* fuzz_run.c: any bytes as a model: loaded, prepared and run on small inputs of zeros, within limits. */
#include <stdlib.h>
#include <string.h>

#include "../../src/ox.h"

enum {
    MOST_ELEMENTS = 4096
};

/* Room for the largest element, a complex128 of 16 bytes; zeros are right for every type, empty strings too. */
static long double zeros[MOST_ELEMENTS];

static ox_status feed(const ox_model *model, ox_session *session, size_t index, ox_error *error) {
    ox_value_info info;
    int64_t dims[64];
    ox_status status = ox_model_input(model, index, &info);
    if (status != OX_OK || info.optional)
        return status;
    int rank = info.rank < 0 ? 1 : info.rank;
    if (rank > 64)
        return OX_ERROR_LIMIT;
    for (int d = 0; d < rank; d++)
        dims[d] = info.rank < 0 || info.dims[d] < 0 ? 2 : info.dims[d];
    ox_tensor tensor = {info.dtype ? info.dtype : OX_FLOAT, rank, dims, NULL, zeros};
    int64_t count = ox_tensor_count(&tensor);
    return count < 0 || count > MOST_ELEMENTS ? OX_ERROR_LIMIT : ox_session_set_input(session, index, &tensor, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const ox_options options = {.max_tensor_bytes = 1 << 20, .max_bytes = 1 << 24, .max_nodes = 1 << 12};
    ox_error error;
    ox_model *model = NULL;
    ox_session *session = NULL;
    if (ox_model_load_memory(data, size, &options, &model, &error))
        return 0;
    ox_status status = ox_session_create(model, NULL, &session, &error);
    for (size_t i = 0; status == OX_OK && i < ox_model_input_count(model); i++)
        status = feed(model, session, i, &error);
    for (int turn = 0; status == OX_OK && turn < 2; turn++)
        status = ox_session_run(session, &error);
    ox_session_free(session);
    ox_model_free(model);
    return 0;
}
