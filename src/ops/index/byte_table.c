/* byte_table.c: ByteTable. */
#include "byte_table.h"

#include "loops/lookup_loops.h"
#include "ops/dense.h"

#if OX_WITH_BYTE_TABLES

#define BYTES (OX_BIT(OX_INT8) | OX_BIT(OX_UINT8))

enum {
    X,
    TABLE
};

static ox_status infer(ox_call *call) {
    const ox_tensor *x = call->in[X], *table = call->in[TABLE];
    const int64_t rank = ox_call_int(call, "rank", 0), least = ox_call_int(call, "x_rank", 0);
    int64_t dims[OX_MAX_RANK];
    OX_TRY(ox_call_check_dtype(call, X, BYTES));
    OX_TRY(ox_call_check_dtype(call, TABLE, BYTES));
    if (ox_tensor_count(table) != OX_BYTE_TABLE_SIZE)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have %d entries", OX_INPUT(call, TABLE), OX_BYTE_TABLE_SIZE);
    if (rank < 0 || rank > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "a rank of %lld, at most %d is supported", (long long)rank,
                            OX_MAX_RANK);
    if (x->rank < least)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has fewer than the %lld dimensions of a slope", OX_INPUT(call, X),
                            (long long)least);
    const int more = rank > x->rank ? (int)rank - x->rank : 0;
    for (int d = 0; d < more + x->rank; d++)
        dims[d] = d < more ? 1 : x->dims[d - more];
    return ox_call_output(call, 0, table->dtype, more + x->rank, dims);
}

#if OX_SMALL
static ox_status run(ox_call *call) {
    const uint8_t *x = call->in[X]->data, *table = call->in[TABLE]->data;
    uint8_t *to = call->out[0]->data;
    for (const uint8_t *end = x + ox_tensor_count(call->in[X]); x < end; x++)
        *to++ = table[*x];
    return OX_OK;
}
#else
typedef struct table_job {
    const ox_call *call;
    ox_lookup_fn *lookup;
} table_job;

static void table_part(void *context, int part, int parts) {
    const table_job *job = context;
    const ox_call *call = job->call;
    int64_t first, end;
    ox_pool_range(ox_tensor_count(call->in[X]), part, parts, &first, &end);
    job->lookup(call->in[TABLE]->data, end - first, (const char *)call->in[X]->data + first,
                (char *)call->out[0]->data + first);
}

static ox_status run(ox_call *call) {
    table_job job = {call, OX_BUILD_OF(call->loops, ox_lookup_builds)(true)};
    ox_pool_run_pieces(call->pool, (double)ox_tensor_count(call->in[X]), table_part, &job);
    return OX_OK;
}
#endif

static ox_status prepare(ox_call *call) {
#if OX_SMALL
    call->overwrites = true;
#else
    (void)call;
#endif
    return OX_OK;
}

const ox_op ox_op_byte_table = {.domain = "",
                                .name = "ByteTable",
                                .since = 1,
                                .versions = 2,
                                .min_in = 2,
                                .max_in = 2,
                                .min_out = 1,
                                .max_out = 1,
                                .dtypes = BYTES,
                                .infer = infer,
                                .prepare = prepare,
                                .run = run};
#endif
