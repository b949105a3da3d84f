/* array.c: a tensor that the command owns, and walking over any tensor's elements. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "number.h"
#include "text.h"
#include "tool.h"

ox_status ox_array_create(ox_array *array, ox_dtype dtype, int rank, const int64_t *dims, ox_error *error) {
    *array = (ox_array){0};
    if (rank > OX_TOOL_RANK)
        return ox_tool_fail(error, OX_ERROR_LIMIT, "rank %d exceeds %d", rank, OX_TOOL_RANK);
    array->dims = ox_tool_alloc((size_t)rank * sizeof *dims);
    if (rank)
        memcpy(array->dims, dims, (size_t)rank * sizeof *dims);
    array->tensor = (ox_tensor){dtype, rank, array->dims, NULL, NULL};
    int64_t count = ox_tensor_count(&array->tensor);
    size_t size = 0;
    if (count < 0 || (uint64_t)count > PTRDIFF_MAX || !ox_tool_multiply((size_t)count, ox_dtype_size(dtype), &size) ||
        size > PTRDIFF_MAX) {
        ox_array_free(array);
        return ox_tool_fail(error, OX_ERROR_LIMIT, "a shape has too many elements");
    }
    array->data = ox_tool_zeroed(size);
    array->tensor.data = array->data;
    if (array->data)
        return OX_OK;
    ox_array_free(array);
    return ox_tool_fail(error, OX_ERROR_MEMORY, "out of memory: %zu bytes for a tensor", size);
}

void ox_array_free(ox_array *array) {
    free(array->dims);
    free(array->data);
    free(array->characters);
    if (array->from_proto)
        ox_tensor_free(array->from_proto, NULL);
    *array = (ox_array){0};
}

void ox_array_strides(const ox_tensor *tensor, int64_t *strides) {
    if (tensor->strides) {
        memcpy(strides, tensor->strides, (size_t)tensor->rank * sizeof *strides);
        return;
    }
    int64_t step = (int64_t)ox_dtype_size(tensor->dtype);
    for (int d = tensor->rank; d-- > 0; step *= tensor->dims[d] > 0 ? tensor->dims[d] : 1)
        strides[d] = step;
}

ox_walk ox_walk_start(const ox_tensor *tensor) {
    ox_walk walk = {.tensor = tensor, .count = ox_tensor_count(tensor)};
    if (walk.count > 0 && tensor->rank <= OX_TOOL_RANK) {
        ox_array_strides(tensor, walk.stride);
        walk.element = tensor->data;
    }
    return walk;
}

void ox_walk_next(ox_walk *walk) {
    if (++walk->at >= walk->count) {
        walk->element = NULL;
        return;
    }
    for (int d = walk->tensor->rank; d-- > 0;) {
        walk->element += walk->stride[d];
        if (++walk->index[d] < walk->tensor->dims[d])
            return;
        walk->element -= walk->stride[d] * walk->tensor->dims[d];
        walk->index[d] = 0;
    }
}

static ox_status fail_kind(ox_dtype from, ox_dtype to, ox_error *error) {
    return ox_tool_fail(error, OX_ERROR_SHAPE, "the values are %s but the model wants %s", ox_dtype_name(from),
                        ox_dtype_name(to));
}

static ox_status fail_value(const ox_walk *walk, ox_dtype to, ox_error *error) {
    ox_text index = {0};
    ox_text_shape(&index, walk->tensor->rank, walk->index);
    ox_number number = ox_number_load(walk->tensor->dtype, walk->element);
    ox_tool_fail(error, OX_ERROR_SHAPE, "the value %.17g at %s does not fit the model's type %s", number.real,
                 ox_text_get(&index), ox_dtype_name(to));
    ox_text_free(&index);
    return error->status;
}

static bool same_bytes(const ox_array *array, ox_dtype dtype) {
    size_t size = ox_dtype_size(dtype);
    if (array->raw)
        return array->raw == size && ox_number_kind_of(dtype) == OX_NUMBER_REAL;
    return array->tensor.dtype == OX_UINT8 && size == 1 && ox_number_kind_of(dtype) == OX_NUMBER_REAL;
}

bool ox_array_can_cast(const ox_array *array, ox_dtype dtype) {
    return !array->raw && ox_number_kind_of(array->tensor.dtype) != OX_NUMBER_NONE &&
           ox_number_kind_of(dtype) != OX_NUMBER_NONE;
}

/* Makes elements of a type out of those of another one, each of which has to fit. */
static ox_status remake(ox_array *array, ox_dtype dtype, bool cast, ox_error *error) {
    ox_array to;
    ox_dtype from = array->tensor.dtype;
    ox_status status = ox_array_create(&to, dtype, array->tensor.rank, array->tensor.dims, error);
    if (status)
        return status;
    char *element = to.data;
    size_t size = ox_dtype_size(dtype);
    for (ox_walk walk = ox_walk_start(&array->tensor); walk.element; ox_walk_next(&walk), element += size) {
        ox_number number = ox_number_load(from, walk.element);
        if ((cast && !ox_number_cast(dtype, &number)) || !ox_number_store(dtype, element, number)) {
            ox_array_free(&to);
            return fail_value(&walk, dtype, error);
        }
    }
    ox_array_free(array);
    *array = to;
    return OX_OK;
}

ox_status ox_array_convert(ox_array *array, ox_dtype dtype, ox_error *error) {
    ox_dtype from = array->tensor.dtype;
    if (from == dtype && !array->raw)
        return OX_OK;
    if (same_bytes(array, dtype)) {
        array->tensor.dtype = dtype;
        return OX_OK;
    }
    if (!ox_array_can_cast(array, dtype) || ox_number_kind_of(from) != ox_number_kind_of(dtype))
        return fail_kind(from, dtype, error);
    return remake(array, dtype, false, error);
}

ox_status ox_array_cast(ox_array *array, ox_dtype dtype, ox_error *error) {
    if (array->tensor.dtype == dtype && !array->raw)
        return OX_OK;
    if (!ox_array_can_cast(array, dtype))
        return fail_kind(array->tensor.dtype, dtype, error);
    return remake(array, dtype, true, error);
}
