/* sparse.c: sparse tensors, made dense when they are loaded: values at indices, zeros or empty texts elsewhere. */
#include <string.h>

#include "loader.h"

#if OX_WITH_SPARSE

/* The parts of a sparse tensor while it is made dense. */
typedef struct sparse {
    ox_loader *l;
    ox_tensor values, indices; /* `indices` has no data where there are no values */
    ox_tensor *made;
    size_t count; /* of values */
} sparse;

static ox_status take_dims(ox_loader *l, const Onnx__SparseTensorProto *proto, ox_tensor *made) {
    const size_t rank = proto->n_dims;
    int64_t *dims;
    if (rank > OX_MAX_RANK)
        return ox_fail(l->b.error, OX_ERROR_LIMIT, "has rank %zu, more than %d", rank, OX_MAX_RANK);
    made->rank = (int)rank;
    if (!ox_can_hold(ox_count(made->rank, proto->dims), made->dtype))
        return ox_fail(l->b.error, OX_ERROR_MODEL, "has the impossible shape %s", OX_DIMS(made->rank, proto->dims));
    OX_TRY(ox_build_get(&l->b, l->b.pile, rank, sizeof *dims, &dims));
    if (rank)
        memcpy(dims, proto->dims, rank * sizeof *dims);
    made->dims = dims;
    return OX_OK;
}

static ox_status take_parts(sparse *s, const Onnx__SparseTensorProto *proto, ox_pile *pile) {
    ox_loader *l = s->l;
    ox_tensor_source source = l->source;
    const bool texts = proto->values->data_type == (int32_t)OX_STRING; /* whose bytes stay where they are */
    source.pile = texts ? l->b.pile : pile;
    OX_TRY(ox_payload_tensor(&source, proto->values, &s->values));
    if (s->values.rank != 1)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "has values of shape %s instead of a list",
                       OX_DIMS(s->values.rank, s->values.dims));
    s->count = (size_t)s->values.dims[0];
    source.pile = pile;
    if (proto->indices)
        return ox_payload_tensor(&source, proto->indices, &s->indices);
    return s->count ? ox_fail(l->b.error, OX_ERROR_MODEL, "has %zu values, but no indices", s->count) : OX_OK;
}

/* Indices are int64, one for each value, or one for each dimension of it. */
static ox_status check_indices(const sparse *s) {
    const ox_tensor *indices = &s->indices;
    const int64_t count = (int64_t)s->count, wanted[] = {count, s->made->rank};
    if (!s->count)
        return OX_OK;
    if (indices->dtype != OX_INT64)
        return ox_fail(s->l->b.error, OX_ERROR_MODEL, "has indices of type %s instead of int64",
                       ox_dtype_name(indices->dtype));
    if (indices->rank >= 1 && indices->rank <= 2 && ox_same_dims(indices->rank, indices->dims, indices->rank, wanted))
        return OX_OK;
    return ox_fail(s->l->b.error, OX_ERROR_MODEL, "has %zu values and %d dimensions, but indices of shape %s", s->count,
                   s->made->rank, OX_DIMS(indices->rank, indices->dims));
}

/* What a file asks for is in proportion to what it holds, over all of its sparse tensors. */
static ox_status check_room(const sparse *s, const Onnx__SparseTensorProto *proto, size_t bytes) {
    ox_loader *l = s->l;
    const bool outside = proto->values->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    const size_t tensor_limit = l->b.limits->tensor_bytes;
    l->sparse_held += outside ? 0 : s->count * ox_dtype_size(s->made->dtype);
    const size_t limit = l->sparse_held < SIZE_MAX / 2 / OX_SPARSE_FACTOR
                             ? OX_SPARSE_BASE + OX_SPARSE_FACTOR * l->sparse_held
                             : SIZE_MAX / 2;
    if (bytes <= tensor_limit && l->sparse_made <= limit && bytes <= limit - l->sparse_made) {
        l->sparse_made += bytes;
        return OX_OK;
    }
    return ox_fail(l->b.error, OX_ERROR_LIMIT,
                   "takes %zu bytes as a dense %s tensor of shape %s; all sparse tensors of this file may take %zu",
                   bytes, ox_dtype_name(s->made->dtype), OX_DIMS(s->made->rank, s->made->dims),
                   bytes <= tensor_limit ? limit : tensor_limit);
}

/* Number i of a list, which may lie at any address. */
static int64_t number_at(const ox_tensor *list, size_t i) {
    int64_t value;
    memcpy(&value, (const char *)list->data + i * sizeof value, sizeof value);
    return value;
}

/* Where value i goes. */
static ox_status find_place(const sparse *s, size_t i, int64_t *place) {
    const ox_tensor *made = s->made;
    const bool linear = s->indices.rank == 1;
    const size_t rank = linear ? 1 : (size_t)made->rank;
    *place = 0;
    for (size_t d = 0; d < rank; d++) {
        const int64_t index = number_at(&s->indices, i * rank + d),
                      dim = linear ? ox_count(made->rank, made->dims) : made->dims[d];
        if (index < 0 || index >= dim)
            return ox_fail(s->l->b.error, OX_ERROR_MODEL, "has index %lld for value %zu, out of range for shape %s",
                           (long long)index, i, OX_DIMS(made->rank, made->dims));
        *place = *place * dim + index;
    }
    return OX_OK;
}

/* Indices ascend, each comes once. */
static ox_status spread(const sparse *s) {
    const size_t size = ox_dtype_size(s->made->dtype);
    int64_t place, before = -1;
    for (size_t i = 0; i < s->count; i++, before = place) {
        OX_TRY(find_place(s, i, &place));
        if (place <= before)
            return ox_fail(s->l->b.error, OX_ERROR_MODEL,
                           "has the index of value %zu %s that of value %zu, where indices must ascend", i - 1,
                           place == before ? "at" : "behind", i);
        memcpy((char *)s->made->data + (size_t)place * size, (const char *)s->values.data + i * size, size);
    }
    return OX_OK;
}

static ox_status make_dense(sparse *s, const Onnx__SparseTensorProto *proto, ox_pile *pile) {
    ox_loader *l = s->l;
    OX_TRY(take_parts(s, proto, pile));
    s->made->dtype = s->values.dtype;
    OX_TRY(take_dims(l, proto, s->made));
    OX_TRY(check_indices(s));
    const size_t count = (size_t)ox_tensor_count(s->made);
    OX_TRY(check_room(s, proto, count * ox_dtype_size(s->made->dtype)));
    if (s->count && (!s->values.data || !s->indices.data))
        return OX_OK; /* for info, and missing */
    char *data;
    OX_TRY(ox_build_get(&l->b, l->b.pile, count + 1, ox_dtype_size(s->made->dtype), &data));
    s->made->data = data;
    for (size_t i = 0; s->made->dtype == OX_STRING && i < count; i++)
        ((ox_string *)s->made->data)[i].data = "";
    return spread(s);
}

ox_status ox_load_sparse(ox_loader *l, const ox_parsed *parsed, const Onnx__SparseTensorProto *proto, ox_tensor *made) {
    sparse s = {.l = l, .made = made};
    ox_pile pile;
    const size_t before = l->b.pile->used;
    *made = (ox_tensor){0};
    if (!proto->values)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "a sparse tensor has no values");
    l->source.parsed = parsed;
    ox_pile_init(&pile, &l->b.temporary);
    ox_status status = make_dense(&s, proto, &pile);
    ox_pile_free(&pile);
    const char *name = proto->values->name ? proto->values->name : "";
    if (status)
        ox_error_prefix(l->b.error, *name ? "sparse tensor '%.*s': " : "sparse tensor%.*s: ", 80, name);
    else if (parsed != l->parsed)
        status = ox_build_work(&l->b, (l->b.pile->used - before) / OX_WORK_BYTES);
    return status;
}

#endif
