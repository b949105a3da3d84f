/* dense.c: workspace and widened copies. */
#include "dense.h"
#include "loops/lanes.h"

#if OX_ASSERTIONS
static ox_status note_piece(ox_call *call, size_t bytes) {
    if (!call->pieces)
        return OX_OK;
    ox_piece *piece = ox_pile_get(call->pile, sizeof *piece);
    if (!piece)
        return ox_fail_memory(call->error, "a piece of workspace", sizeof *piece);
    *piece = (ox_piece){.next = *call->pieces, .at = call->workspace_size, .bytes = bytes};
    *call->pieces = piece;
    return OX_OK;
}

/* True if prepare has asked for this piece, which is taken now. What is behind it until the next must not be touched.
 */
static bool takes_piece(const ox_call *call, size_t at, size_t bytes) {
    if (!bytes)
        return true; /* nothing needs not be asked for */
    ox_piece *piece = call->pieces ? *call->pieces : NULL;
    while (piece && (piece->at != at || piece->bytes != bytes))
        piece = piece->next;
    if (!piece)
        return !call->pieces;
    __atomic_store_n(&piece->taken, true, __ATOMIC_RELAXED);
    OX_FORBID((char *)call->workspace + at + bytes, ox_aligned(bytes) - bytes);
    return true;
}
#else
static ox_status note_piece(const ox_call *call, size_t bytes) {
    (void)call, (void)bytes;
    return OX_OK;
}
#endif

ox_status ox_workspace_add(ox_call *call, int64_t count, size_t size) {
    size_t bytes;
    if ((uint64_t)count > SIZE_MAX / 4 || !ox_mul_size((size_t)count, size, &bytes) || bytes > SIZE_MAX / 4 ||
        call->workspace_size > SIZE_MAX / 4)
        return ox_call_fail(call, OX_ERROR_LIMIT, "a workspace of %lld elements is too large for this machine",
                            (long long)count);
    OX_TRY(note_piece(call, bytes));
    call->workspace_size += ox_aligned(bytes);
    return OX_OK;
}

void *ox_workspace_take(const ox_call *call, size_t *used, int64_t count, size_t size) {
    char *piece = (char *)call->workspace + *used;
    OX_ASSERT(ox_is_aligned(piece));
#if OX_ASSERTIONS
    OX_ASSERT(takes_piece(call, *used, (size_t)count * size));
#endif
    *used += ox_aligned((size_t)count * size);
    return piece;
}

ox_status ox_list_plan(ox_call *call, int i) {
    return ox_call_given(call, i) ? ox_workspace_add(call, ox_tensor_count(call->in[i]), sizeof(int64_t)) : OX_OK;
}

const int64_t *ox_list_take(const ox_call *call, size_t *used, int i) {
    if (!ox_call_given(call, i))
        return NULL;
    const ox_tensor *from = call->in[i];
    const int64_t count = ox_tensor_count(from);
    int64_t *list = ox_workspace_take(call, used, count, sizeof *list);
    for (int64_t k = 0; k < count; k++)
        list[k] = ox_tensor_int(from, k);
    return list;
}

ox_status ox_plan_space(ox_call *call, ox_bcast *plan, int nargs, int rank, const int64_t *dims,
                        const int64_t *const *strides) {
    size_t most = rank > 1 ? (size_t)rank : 1;
    plan->dim = ox_pile_array(call->pile, most * (size_t)(1 + nargs), sizeof *plan->dim);
    if (!plan->dim)
        return ox_fail_memory(call->error, "an iteration plan", most * (size_t)(1 + nargs) * sizeof *plan->dim);
    plan->step = plan->dim + most;
    ox_bcast_plan(plan, nargs, rank, dims, strides);
    return OX_OK;
}

static bool is_native(const ox_tensor *tensor) {
    return ox_dtype_compute(tensor->dtype) == tensor->dtype;
}

#if !OX_SMALL
typedef struct packed_weight {
    const ox_loops *loops;
    const ox_tensor *from;
} packed_weight;

/* An ox_store_fn. */
static void pack_weight(const void *context, void *block) {
    const packed_weight *made = context;
    ox_pack(made->loops, NULL, made->from, block);
}

ox_store_key ox_packed_key(ox_layout layout, const void *build, const ox_tensor *weight) {
    ox_store_key key = {.layout = layout,
                        .dtype = weight->dtype,
                        .weights = weight->data,
                        .build = build,
                        .bytes = ox_tensor_span(weight)};
    for (int d = 0; d < weight->rank; d++)
        key.dims[d] = weight->dims[d];
    return key;
}
#endif

ox_status ox_packed_once(ox_store *store, const ox_loops *loops, const ox_tensor *weight, const void **packed,
                         ox_error *error) {
#if OX_SMALL
    (void)store, (void)loops, (void)weight, (void)packed, (void)error;
    return OX_OK;
#else
    const size_t bytes = (size_t)ox_tensor_count(weight) * ox_dtype_size(weight->dtype);
    if (!store || weight->rank > OX_STORE_DIMS || !bytes)
        return OX_OK;
    ox_store_key key = ox_packed_key(OX_LAYOUT_PACKED, loops, weight);
    for (int d = 0; d < weight->rank; d++)
        key.strides[d] = weight->strides[d];
    return ox_store_get(store, &key, bytes, pack_weight, &(packed_weight){loops, weight}, packed, error);
#endif
}

#if !OX_SMALL
ox_status ox_widen_weight(ox_call *call, void *context) {
    ox_wide_weight *wide = context;
    const ox_tensor *weight = wide->weight;
    wide->from = weight->data;
    if (is_native(weight))
        return OX_OK;
    const int64_t count = ox_tensor_count(weight),
                  step[] = {(int64_t)sizeof(float), (int64_t)ox_dtype_size(weight->dtype)};
    float *to = ox_pile_array(call->pile, (size_t)count, sizeof *to);
    if (!to)
        return ox_fail_memory(call->error, "laying out weights", (size_t)count * sizeof *to);
    call->loops->widen(count, (char *[]){(char *)to, weight->data}, step, &weight->dtype);
    wide->from = to;
    return OX_OK;
}

ox_status ox_lay_once(ox_call *call, const ox_laying *l, const void **block) {
    OX_TRY(ox_store_get(call->store, l->key, l->size, NULL, NULL, block, call->error));
    if (*block)
        return OX_OK;
    const ox_pile_mark mark = ox_pile_save(call->pile);
    ox_status status = l->begin(call, l->context);
    if (status == OX_OK)
        status = ox_store_get(call->store, l->key, l->size, l->make, l->context, block, call->error);
    ox_pile_restore(call->pile, mark);
    OX_ASSERT(ox_is_aligned(*block));
    return status;
}
#endif

ox_status ox_dense_plan(ox_call *call, const ox_tensor *tensor) {
    if (is_native(tensor))
        return OX_OK;
    int64_t count = ox_tensor_count(tensor);
    OX_TRY(ox_workspace_add(call, count, sizeof(float)));
    return ox_tensor_is_packed(tensor) ? OX_OK : ox_workspace_add(call, count, ox_dtype_size(tensor->dtype));
}

/* A conversion by the processor's loop. */
typedef struct convert_job {
    ox_lane *lane;
    const void *attr;
    int64_t count, to_size, from_size;
    char *to, *from;
} convert_job;

static void convert_part(void *context, int part, int parts) {
    const convert_job *job = context;
    const int64_t step[] = {job->to_size, job->from_size};
    int64_t first, end;
    ox_pool_range(job->count, part, parts, &first, &end);
    char *const arg[] = {job->to + first * job->to_size, job->from + first * job->from_size};
    job->lane(end - first, arg, step, job->attr);
}

static void convert(const ox_call *call, convert_job job) {
    OX_ASSERT(job.lane && job.count >= 0 && (job.count == 0 || (job.to && job.from)));
    ox_pool_run_pieces(call->pool, (double)job.count * (double)(job.to_size + job.from_size), convert_part, &job);
}

ox_tensor ox_dense_in(const ox_call *call, size_t *used, const ox_tensor *tensor) {
    if (is_native(tensor))
        return *tensor;
    int64_t count = ox_tensor_count(tensor);
    float *wide = ox_workspace_take(call, used, count, sizeof *wide);
    void *from = tensor->data;
    if (!ox_tensor_is_packed(tensor)) {
        void *packed = ox_workspace_take(call, used, count, ox_dtype_size(tensor->dtype));
        ox_pack(call->loops, call->pool, tensor, packed);
        from = packed;
    }
    convert(call, (convert_job){.lane = call->loops->widen,
                                .attr = &tensor->dtype,
                                .count = count,
                                .to_size = sizeof *wide,
                                .from_size = (int64_t)ox_dtype_size(tensor->dtype),
                                .to = (char *)wide,
                                .from = from});
    return (ox_tensor){OX_FLOAT, tensor->rank, tensor->dims, NULL, wide};
}

void ox_dense_strides(const ox_tensor *tensor, int64_t *strides) {
    if (is_native(tensor))
        ox_tensor_strides(tensor, strides);
    else
        ox_packed_strides(tensor->rank, tensor->dims, sizeof(float), strides);
}

/* True if output 0 is computed in another type, and brought into its own by ox_dense_store. */
static bool is_rounded(const ox_call *call) {
    return !call->epilogue && !is_native(call->out[0]);
}

ox_status ox_dense_plan_out(ox_call *call, int64_t count) {
    return is_rounded(call) ? ox_workspace_add(call, count, sizeof(float)) : OX_OK;
}

void *ox_dense_out(const ox_call *call, size_t *used, int64_t count) {
    if (is_rounded(call))
        return ox_workspace_take(call, used, count, sizeof(float));
    return call->epilogue ? NULL : call->out[0]->data;
}

void ox_dense_store(const ox_call *call, int64_t count, void *computed) {
    const ox_tensor *out = call->out[0];
    if (is_rounded(call))
        convert(call, (convert_job){.lane = call->loops->narrow,
                                    .attr = &(ox_narrowing){.dtype = out->dtype},
                                    .count = count,
                                    .to_size = (int64_t)ox_dtype_size(out->dtype),
                                    .from_size = sizeof(float),
                                    .to = out->data,
                                    .from = computed});
}
