/* check_copy.c: copies of values, with their strides. */
#include "check_copy.h"

#include <string.h>

#include "iterate/bcast.h"

#if OX_WITH_SELF_CHECK

/* Where the elements of a tensor lie, in bytes from its data. */
typedef struct extent {
    int64_t low, high;
} extent;

static extent extent_of(const ox_tensor *tensor) {
    extent e = {0, (int64_t)ox_dtype_size(tensor->dtype)};
    for (int d = 0; d < tensor->rank; d++) {
        const int64_t reach = (tensor->dims[d] - 1) * ox_stride(tensor, d);
        if (reach < 0)
            e.low += reach;
        else
            e.high += reach;
    }
    return ox_tensor_count(tensor) ? e : (extent){0, 0};
}

/* The first address of a block that is aligned as the arena is; so many bytes more are needed for that. */
static unsigned char *aligned_start(unsigned char *block) {
    return ox_align(block);
}

static ox_status get_block(ox_frame *frame, ox_copy *copy, size_t bytes) {
    copy->size = bytes + OX_ALIGN;
    copy->block = ox_alloc(frame->allocator, copy->size);
    return copy->block ? OX_OK : ox_fail_memory(frame->error, "a copy for the check of a run", copy->size);
}

ox_status ox_copy_take(ox_frame *frame, int v) {
    const ox_tensor *tensor = &ox_frame_own(frame, v)->tensor;
    ox_copy *copy = &frame->checking.copies[v];
    const extent e = extent_of(tensor);
    const size_t bytes = (size_t)(e.high - e.low);
    if (!copy->block || copy->size != bytes + OX_ALIGN) {
        ox_copy_drop(frame, v);
        OX_TRY(get_block(frame, copy, bytes));
    }
    unsigned char *start = aligned_start(copy->block);
    if (bytes)
        memcpy(start, (const char *)tensor->data + e.low, bytes);
    copy->tensor = *tensor;
    copy->tensor.data = start - e.low;
    return OX_OK;
}

void ox_copy_drop(ox_frame *frame, int v) {
    ox_copy *copy = &frame->checking.copies[v];
    ox_release(frame->allocator, copy->block, copy->size);
    copy->block = NULL;
}

ox_tensor ox_copy_packed(const ox_frame *frame, ox_pile *pile, const ox_tensor *tensor) {
    if (ox_tensor_is_packed(tensor))
        return *tensor;
    ox_tensor packed = {tensor->dtype, tensor->rank, tensor->dims, NULL, NULL};
    packed.data = ox_pile_aligned(pile, (size_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype));
    if (packed.data)
        ox_pack(frame->loops, NULL, tensor, packed.data);
    return packed;
}

#endif
