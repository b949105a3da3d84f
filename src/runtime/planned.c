/* planned.c: runs a plan that `ox embed --plan` wrote. Only on devices, whose operators prepare before each run. */
#include "planned.h"

#if OX_SMALL
#include "iterate/bcast.h"
#include "loops/lanes.h"

static ox_status refuse(ox_error *error, const char *what) {
    (void)what;
    return ox_fail(error, OX_ERROR_MODEL, "the plan is damaged, or was made for another build of the library: %s",
                   what);
}

/* ---- Running ------------------------------------------------------------------------------------------------ */

/* Whether a step writes its result where its input lies, though its operator does not always work in place. */
static bool writes_over(const ox_planned_step *step) {
    return step->nin && step->nout && step->in[0] && step->out[0] && step->in[0]->data == step->out[0]->data &&
           ox_tensor_count(step->in[0]) && ox_tensor_count(step->out[0]) && !(step->op->flags & OX_OP_IN_PLACE);
}

/* Prepares a step in the arena after the live values; *need is the end of its memory. */
static ox_status prepare_step(const ox_planned *plan, const ox_planned_step *step, ox_call *call, ox_pile *pile,
                              size_t *need) {
    unsigned char *memory = plan->arena + step->place;
    const size_t size = plan->arena_bytes - step->place;
    if (ox_pile_size(0) > size)
        return ox_fail_memory(call->error, "a step of the plan", ox_pile_size(0));
    ox_pile_over(pile, memory, size);
    OX_TRY(step->op->prepare(call));
    if (writes_over(step) && !call->overwrites)
        return refuse(call->error, "a step would write over what it reads");
    const size_t kept = ox_aligned(ox_pile_size(pile->given));
    if (kept > size || call->workspace_size > size - kept)
        return ox_fail_memory(call->error, "a step of the plan", call->workspace_size);
    call->workspace = memory + kept;
    *need = step->place + kept + call->workspace_size;
    return OX_OK;
}

static ox_status do_step(const ox_planned *plan, const ox_planned_step *step, bool runs, size_t *need,
                         ox_error *error) {
    const ox_loops *loops = ox_loops_find(NULL);
    ox_pile pile;
    if (!step->op) {
        if (runs)
            ox_pack(loops, NULL, step->in[0], step->out[0]->data);
        return OX_OK;
    }
    ox_call call = {.op = step->op,
                    .version = step->version,
                    .nin = step->nin,
                    .nout = step->nout,
                    .in = step->in,
                    .out = (ox_tensor *const *)(uintptr_t)step->out, /* operators write what they point to */
                    .nattrs = step->nattrs,
                    .attrs = step->attrs,
                    .loops = loops,
                    .constants = step->constants,
                    .pile = &pile,
                    .error = error};
    OX_TRY(prepare_step(plan, step, &call, &pile, need));
    return runs ? step->op->run(&call) : OX_OK;
}

/* Whether the plan is of the same format as the library, and its arena as the library wants it. */
static ox_status check_format(const ox_planned *plan, ox_error *error) {
    ox_error_clear(error);
    if (!plan || plan->format != OX_PLANNED_FORMAT || plan->alignment % OX_ALIGN || !ox_is_aligned(plan->arena) ||
        plan->value_bytes > plan->arena_bytes)
        return refuse(error, "its format, or its arena");
    for (size_t i = 0; i < plan->nsteps; i++)
        if (plan->steps[i].place > plan->value_bytes || plan->steps[i].place % OX_ALIGN)
            return refuse(error, "the place of a step");
    return OX_OK;
}

static ox_status do_steps(const ox_planned *plan, bool runs, size_t *need, ox_error *error) {
    size_t took = 0;
    OX_TRY(check_format(plan, error));
    *need = plan->value_bytes;
    for (size_t i = 0; i < plan->nsteps; i++) {
        OX_TRY(do_step(plan, &plan->steps[i], runs, &took, error));
        *need = took > *need ? took : *need;
    }
    return OX_OK;
}

ox_status ox_planned_run(const ox_planned *plan, ox_error *error) {
    size_t need;
    return do_steps(plan, true, &need, error);
}

ox_status ox_planned_bytes(const ox_planned *plan, size_t *bytes, ox_error *error) {
    return do_steps(plan, false, bytes, error);
}

const ox_tensor *ox_planned_input(const ox_planned *plan, size_t index) {
    return plan && index < plan->ninputs ? plan->inputs[index] : NULL;
}

const ox_tensor *ox_planned_output(const ox_planned *plan, size_t index) {
    return plan && index < plan->noutputs ? plan->outputs[index] : NULL;
}

/* ---- Checking ----------------------------------------------------------------------------------------------- */

static uint32_t checksum(const ox_planned *plan) {
    uint32_t sum = ~(uint32_t)0;
    for (size_t i = 0; i < plan->number_count; i++)
        for (int shift = 0; shift < 64; shift += 8)
            sum = ox_planned_add(sum, (unsigned char)((uint64_t)plan->numbers[i] >> shift));
    for (size_t i = 0; i < plan->constant_bytes; i++)
        sum = ox_planned_add(sum, plan->constants[i]);
    return ~sum;
}

/* Bytes from the first element to the end of the last, and bytes before the first; false if they overflow. */
static bool find_extent(const ox_tensor *t, size_t *before, size_t *behind) {
    const size_t size = ox_dtype_size(t->dtype);
    const int32_t most = INT32_MAX;
    int64_t low = 0, high = (int64_t)size;
    if (!size || t->rank < 0 || t->rank > OX_MAX_RANK || (t->rank && !t->dims) || ox_tensor_count(t) < 0 ||
        ox_tensor_count(t) > ox_quotient(most, (int64_t)size))
        return false;
    for (int d = 0; d < t->rank && t->strides && ox_tensor_count(t); d++) {
        int64_t reach;
        if (!ox_mul_i64(t->dims[d] - 1, t->strides[d], &reach) || reach > most || reach < -most)
            return false;
        *(reach < 0 ? &low : &high) += reach;
    }
    *before = (size_t)-low;
    *behind = t->strides ? (size_t)high : (size_t)ox_tensor_count(t) * size;
    return true;
}

static bool lies_in(const void *data, size_t before, size_t behind, const unsigned char *start, size_t size) {
    const uintptr_t at = (uintptr_t)data - (uintptr_t)start;
    return at <= size && before <= at && behind <= size - at;
}

/* Whether a tensor lies in the values of the arena, or in the constants where that is allowed. */
static bool is_sound(const ox_planned *plan, const ox_tensor *t, bool may_be_constant) {
    size_t before, behind;
    if (!find_extent(t, &before, &behind) || (uintptr_t)t->data % ox_dtype_size(t->dtype) % OX_ALIGN)
        return false;
    return lies_in(t->data, before, behind, plan->arena, plan->value_bytes) ||
           (may_be_constant && lies_in(t->data, before, behind, plan->constants, plan->constant_bytes));
}

static bool are_sound(const ox_planned *plan, const ox_tensor *const *list, size_t count, bool may_be_constant) {
    for (size_t i = 0; i < count; i++)
        if (list[i] && !is_sound(plan, list[i], may_be_constant))
            return false;
    return true;
}

ox_status ox_planned_check(const ox_planned *plan, ox_error *error) {
    OX_TRY(check_format(plan, error));
    if (checksum(plan) != plan->checksum)
        return refuse(error, "its constants");
    for (size_t i = 0; i < plan->nsteps; i++)
        if (!are_sound(plan, plan->steps[i].in, plan->steps[i].nin, true) ||
            !are_sound(plan, plan->steps[i].out, plan->steps[i].nout, false))
            return refuse(error, "where a tensor lies");
    return are_sound(plan, plan->inputs, plan->ninputs, false) && are_sound(plan, plan->outputs, plan->noutputs, true)
               ? OX_OK
               : refuse(error, "where an input or an output lies");
}
#endif
