/* given.c: copies of what shapes depend on. */
#include "given.h"

#include <string.h>

#if !OX_SMALL /* a device has one thread */
enum {
    GIVEN_MOST = 1 << 14 /* bytes of an input: lists of axes, sizes and counts are short */
};

int64_t ox_given_extent(const ox_tensor *tensor, int64_t *before) {
    int64_t strides[OX_MAX_RANK], behind = (int64_t)ox_dtype_size(tensor->dtype);
    *before = 0;
    if (ox_tensor_count(tensor) < 1)
        return 0;
    ox_tensor_strides(tensor, strides);
    for (int d = 0; d < tensor->rank; d++) {
        const int64_t reach = (tensor->dims[d] - 1) * strides[d];
        *before += reach < 0 ? -reach : 0;
        behind += reach > 0 ? reach : 0;
    }
    return *before + behind;
}

static ox_status copy_source(ox_frame *frame, ox_source *source, size_t size, size_t before) {
    if (size > source->copy_room) {
        const size_t room = ox_aligned(2 * size);
        char *copy = ox_pile_get(&frame->fixed, room);
        if (!copy)
            return ox_fail_memory(frame->error, "a copy of an input", room);
        source->copy = copy;
        source->copy_room = room;
    }
    memcpy(source->copy, (const char *)source->given - before, size);
    source->slot->tensor.data = source->copy + before;
    return OX_OK;
}

ox_status ox_given_copy(ox_frame *frame) {
    for (int i = 0; i < frame->nsources; i++) {
        ox_source *source = &frame->sources[i];
        if (!source->shape || source->slot->constant || ox_is_value(source->slot->tensor.dtype) || !source->given)
            continue;
        int64_t before;
        const int64_t size = ox_given_extent(&source->slot->tensor, &before);
        if (size > 0 && size <= GIVEN_MOST)
            OX_TRY(copy_source(frame, source, (size_t)size, (size_t)before));
    }
    return OX_OK;
}
#endif
