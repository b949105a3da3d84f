/* blocks.c: what operators on weights in blocks have in common. */
#include "blocks.h"

ox_status ox_block_size(ox_call *call, int64_t otherwise, int64_t *size) {
    *size = ox_call_int(call, "block_size", otherwise);
    if (*size >= 16 && !(*size & (*size - 1)))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL,
                        "attribute block_size is %lld, which is not a power of two of at least 16", (long long)*size);
}

ox_status ox_block_bits(ox_call *call, int *bits) {
    const int64_t given = ox_call_int(call, "bits", 4);
    if (given != 2 && given != 4 && given != 8)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute bits is %lld, but 2, 4 or 8 are supported",
                            (long long)given);
    *bits = (int)given;
    return OX_OK;
}
