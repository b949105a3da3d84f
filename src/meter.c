/* meter.c: limits by default, and the allocator that counts. */
#include "meter.h"

const ox_limits ox_limits_default = {
    .bytes = SIZE_MAX, .tensor_bytes = OX_MAX_TENSOR_BYTES, .file_bytes = SIZE_MAX, .depth = OX_MAX_CALLS};

ox_limits ox_limits_or(const ox_limits *given, const ox_limits *otherwise) {
    ox_limits limits = *given;
    if (!limits.bytes)
        limits.bytes = otherwise->bytes;
    if (!limits.tensor_bytes)
        limits.tensor_bytes = otherwise->tensor_bytes;
    if (!limits.file_bytes)
        limits.file_bytes = otherwise->file_bytes;
    if (!limits.nodes)
        limits.nodes = otherwise->nodes;
    if (limits.depth <= 0 || limits.depth > OX_MOST_CALLS)
        limits.depth = limits.depth <= 0 ? otherwise->depth : OX_MOST_CALLS;
    if (!limits.plans)
        limits.plans = otherwise->plans;
    if (!limits.cancel) {
        limits.cancel = otherwise->cancel;
        limits.cancel_context = otherwise->cancel_context;
    }
    return limits;
}

ox_status ox_limits_file(const ox_limits *limits, size_t size, ox_error *error) {
    if (size <= limits->file_bytes)
        return OX_OK;
    return ox_fail(error, OX_ERROR_LIMIT, "a file of %zu bytes, the limit is %zu", size, limits->file_bytes);
}

/* What is counted from the start may be beyond the limit already. */
static size_t room(const ox_meter *meter) {
    return meter->limit > meter->used ? meter->limit - meter->used : 0;
}

static void *resize(ox_meter *meter, const ox_allocator *from, void *block, size_t old_size, size_t new_size) {
    if (new_size > old_size && new_size - old_size > room(meter)) {
        meter->refused = true;
        return NULL;
    }
    void *moved = from->resize(from->context, block, old_size, new_size);
    if (moved || !new_size)
        meter->used = meter->used - old_size + new_size;
    return moved;
}

static void *meter_resize(void *context, void *block, size_t old_size, size_t new_size) {
    ox_meter *meter = context;
    return resize(meter, &meter->from, block, old_size, new_size);
}

static void *meter_resize_temporary(void *context, void *block, size_t old_size, size_t new_size) {
    ox_meter *meter = context;
    return resize(meter, &meter->temporary, block, old_size, new_size);
}

ox_allocator ox_meter_allocator(ox_meter *meter, const ox_allocator *from, size_t limit, size_t used) {
    *meter = (ox_meter){.from = *from, .temporary = ox_temporary(from), .used = used, .limit = limit};
    return (ox_allocator){meter_resize, meter};
}

bool ox_meter_extend(const ox_allocator *allocator, void *block, size_t old_size, size_t size) {
    if (allocator->resize != meter_resize)
        return ox_fixed_extend(allocator, block, size);
    ox_meter *meter = allocator->context;
    if (size - old_size > room(meter) || !ox_fixed_extend(&meter->from, block, size))
        return false;
    meter->used += size - old_size;
    return true;
}

bool ox_meter_is_fixed(const ox_allocator *allocator) {
    const ox_meter *meter = allocator->resize == meter_resize ? allocator->context : NULL;
    return ox_is_fixed(meter ? &meter->from : allocator);
}

ox_allocator ox_meter_temporary(ox_meter *meter) {
    return (ox_allocator){meter_resize_temporary, meter};
}

ox_status ox_meter_explain(ox_meter *meter, ox_status status, ox_error *error) {
    bool refused = meter->refused;
    meter->refused = false;
    if (status != OX_ERROR_MEMORY || !refused)
        return status;
    if (error)
        error->status = OX_ERROR_LIMIT;
    ox_error_prefix(error, "beyond the limit of %zu bytes of memory: ", meter->limit);
    return OX_ERROR_LIMIT;
}
