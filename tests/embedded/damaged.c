/* damaged.c: plans that are damaged, or of another build, are refused. Arenas that are too small, too. */
#include "board.h"
#include "model.h"

static ox_error error;

/* Whether a copy of the plan is refused that is damaged in this way: by the check, or by a run, too. */
static ox_planned_step steps[4];
static ox_tensor tensor;
static const ox_tensor *list[16];

static const int64_t huge[8] = {INT64_MAX, INT64_MAX, 4, 4, 4, 4, 4, 4};
static const int64_t far[8] = {1 << 20, -(1 << 20), 1 << 20, 1 << 20, 4, 4, 4, 4};

static bool refuses(int damage) {
    ox_planned plan = model_plan;
    const ox_planned_step *first = model_plan.steps;
    bool by_run = true;
    steps[0] = *first;
    tensor = *first->in[0];
    for (int i = 0; i < first->nin && i < 16; i++)
        list[i] = first->in[i];
    list[0] = &tensor;
    if (damage > 4) {
        steps[0].in = list;
        plan.steps = steps;
        plan.nsteps = 1;
        by_run = damage == 12;
    }
    switch (damage) {
    case 0:
        plan.format ^= 1u << 24;
        break;
    case 1:
        plan.alignment = 1;
        break;
    case 2:
        plan.arena++;
        break;
    case 3:
        plan.arena_bytes = plan.value_bytes - 1;
        break;
    case 4:
        plan.checksum ^= 1, by_run = false;
        break;
    case 5:
        tensor.data = plan.arena - 8;
        break;
    case 6:
        tensor.data = (char *)plan.arena + plan.value_bytes;
        break;
    case 7:
        tensor.data = (char *)tensor.data + 1;
        break;
    case 8:
        tensor.rank = OX_MAX_RANK + 1;
        break;
    case 9:
        tensor.dtype = OX_UNDEFINED;
        break;
    case 10:
        tensor.dims = huge;
        break;
    case 11:
        tensor.strides = far;
        break;
    case 13:
        plan.numbers = huge, plan.number_count = 8, by_run = false;
        break;
    default:
        steps[0].place = (uint32_t)plan.value_bytes + 8;
    }
    return ox_planned_check(&plan, &error) == OX_ERROR_MODEL &&
           (!by_run || ox_planned_run(&plan, &error) == OX_ERROR_MODEL);
}

/* An arena that is too small: by how much is found where a step asks for memory. */
static bool lacks_memory(size_t bytes) {
    ox_planned small = model_plan;
    small.arena_bytes = bytes;
    return ox_planned_run(&small, &error) == OX_ERROR_MEMORY;
}

int main(void) {
    size_t bytes;
    int status = ox_planned_check(&model_plan, &error) || ox_planned_bytes(&model_plan, &bytes, &error) ||
                 ox_planned_input(&model_plan, 999) || ox_planned_output(&model_plan, 999);
    for (int damage = 0; damage <= 13 && !status; damage++)
        if (!refuses(damage)) {
            board_put("taken though damaged in way ");
            board_put_number((uint32_t)damage);
            board_put("\n");
            status = 1;
        }
    for (size_t less = model_plan.value_bytes; less < bytes && !status; less += 8)
        status = !lacks_memory(less);
    ox_planned exact = model_plan;
    exact.arena_bytes = bytes;
    return status || ox_planned_run(&exact, &error) || ox_planned_run(NULL, &error) != OX_ERROR_MODEL;
}
