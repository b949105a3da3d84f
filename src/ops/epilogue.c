/* epilogue.c: what follows a dense operator, part by part. */
#include "epilogue.h"

/* A fault and the tag of its instruction are kept in one number, which is less where the tag is. */
enum {
    FAULTS = 2 * OX_LANE_FAULT
};

size_t ox_epilogue_scratch(const ox_epilogue *epilogue) {
    return epilogue ? ox_pass_scratch(epilogue->pass) : 0;
}

void ox_epilogue_take(ox_epilogue *epilogue, const ox_pass_part *part, const void *elements, void *scratch) {
    int tag, fault = ox_pass_run_given(epilogue->pass, scratch, elements, part, &tag);
    if (!fault)
        return;
    fault &= FAULTS - 1;
    int found = tag * FAULTS + (fault ? fault : OX_LANE_FAULT), before = atomic_load(&epilogue->fault);
    while ((!before || found < before) && !atomic_compare_exchange_weak(&epilogue->fault, &before, found))
        continue;
}

int ox_epilogue_fault(ox_epilogue *epilogue, int *tag) {
    int found = atomic_exchange(&epilogue->fault, 0);
    *tag = found / FAULTS;
    return found % FAULTS;
}
