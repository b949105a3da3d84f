/* own_pass.c: ending and running such programs. */
#include "own_pass.h"
#include "dense.h"

/* What a part found wrong lies at the start of its scratch memory. */
static size_t scratch_of(const ox_own_pass *own) {
    const size_t bytes = OX_ALIGN + ox_pass_scratch(own->pass);
    return (bytes + OX_ALIGN - 1) / OX_ALIGN * OX_ALIGN;
}

ox_status ox_own_pass_end(ox_call *call, ox_pass_builder *builder, ox_reg result, const ox_tensor *out,
                          ox_own_pass *own) {
    if (result >= 0)
        ox_pass_store(builder, result, out);
    own->pass = result >= 0 ? ox_pass_end(builder) : NULL;
    if (!own->pass)
        return ox_elementwise_failed(call);
    const double bytes = (double)ox_tensor_count(out) * (double)ox_dtype_size(out->dtype);
    own->parts = ox_pool_parts(ox_pool_for(call->pool, bytes));
    return ox_workspace_add(call, own->parts, scratch_of(own));
}

typedef struct own_job {
    ox_pool *pool;
    const ox_own_pass *own;
    char *scratch;
} own_job;

static void run_part(void *context, int part, int parts) {
    const own_job *job = context;
    const ox_pass *pass = job->own->pass;
    char *scratch = job->scratch + (size_t)part * scratch_of(job->own);
    int *fault = (int *)(void *)scratch, tag;
    int64_t first, end;
    ox_pool_range(ox_pass_tiles(pass), part, parts, &first, &end);
    const int64_t piece = ox_pool_piece(job->pool, end - first, (double)ox_pass_tile_size(pass) * sizeof(float));
    *fault = 0;
    while (first < end && !*fault) {
        const int64_t stop = end - first < piece ? end : first + piece;
        *fault = ox_pass_run(pass, scratch + OX_ALIGN, first, stop, &tag);
        first = stop < end && ox_pool_poll(job->pool) ? end : stop;
    }
}

ox_status ox_own_pass_run(const ox_call *call, size_t *used, const ox_own_pass *own) {
    own_job job = {call->pool, own, ox_workspace_take(call, used, own->parts, scratch_of(own))};
    ox_pool_run(own->parts > 1 ? call->pool : NULL, run_part, &job);
    for (int part = 0; part < own->parts; part++) {
        const int fault = OX_GET(ox_i32, job.scratch + (size_t)part * scratch_of(own));
        if (fault)
            return ox_elementwise_fault(call->error, fault);
    }
    return OX_OK;
}

ox_reg ox_own_pass_number(ox_pass_builder *builder, ox_reg like, float number) {
    return ox_pass_convert(builder, ox_pass_constant(builder, OX_FLOAT, &number), ox_pass_dtype(builder, like));
}
