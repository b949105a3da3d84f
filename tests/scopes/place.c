/* place.c: where the elements of inputs lie. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "scopes.h"

enum {
    AHEAD = 64, /* bytes in front of the elements: as much as anything is aligned to */
    PAGE = 1 << 16,
    FILLED = 0xa5 /* what is in memory for outputs */
};

/* Memory for an input or an output, behind which there is none. */
static unsigned char *room_of(int number) {
    static unsigned char *rooms[SCOPE_GIVEN + SCOPE_RESULTS];
    if (!rooms[number]) {
        unsigned char *room =
            mmap(NULL, SCOPE_GUARD + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED || mprotect(room + SCOPE_GUARD, PAGE, PROT_NONE)) {
            perror("memory of inputs");
            exit(2);
        }
        rooms[number] = room;
    }
    return rooms[number];
}

static bool is_empty(const scope_value *value) {
    return scope_count(value->rank, value->dims) == 0;
}

/* Byte strides, and how far element 0 lies behind the lowest one. */
static int64_t find_strides(const scope_value *value, int64_t *strides) {
    int64_t step = (int64_t)ox_dtype_size(value->dtype), first = 0;
    if (value->place == SCOPE_GAPS)
        step *= 3;
    for (int i = value->rank - 1; i >= 0; i--) {
        const bool turned = value->place == SCOPE_TURNED && i;
        const int d = value->place == SCOPE_TURNED ? (turned ? i - 1 : value->rank - 1) : i;
        strides[d] = step;
        step *= value->dims[d] + (value->place == SCOPE_GAPS && d == value->rank - 1);
    }
    for (int d = 0; d < value->rank && value->place == SCOPE_BACKWARD && !is_empty(value); d++) {
        first += strides[d] * (value->dims[d] - 1);
        strides[d] = -strides[d];
    }
    return first;
}

static int64_t extent(const scope_value *value, const int64_t *strides) {
    int64_t bytes = (int64_t)ox_dtype_size(value->dtype);
    for (int d = 0; d < value->rank && !is_empty(value); d++)
        bytes += (value->dims[d] - 1) * (strides[d] < 0 ? -strides[d] : strides[d]);
    return bytes;
}

static void copy(const scope_value *value, const int64_t *strides, unsigned char *first) {
    const int64_t count = scope_count(value->rank, value->dims);
    int64_t index[SCOPE_RANK] = {0}, steps[1][SCOPE_RANK], at = 0;
    memcpy(steps[0], strides, (size_t)value->rank * sizeof *strides);
    for (int64_t i = 0; i < count; i++) {
        scope_encode(value->dtype, value->numbers[i], first + at);
        scope_step_on(value->rank, value->dims, index, 1, steps, &at);
    }
}

static void lay(const scope_value *value, unsigned char *room, scope_input *input) {
    const int64_t size = (int64_t)ox_dtype_size(value->dtype), first = find_strides(value, input->strides),
                  bytes = extent(value, input->strides);
    if (bytes > SCOPE_GUARD - 2 * AHEAD) {
        fprintf(stderr, "an input of %lld bytes is too large\n", (long long)bytes);
        exit(2);
    }
    int64_t at = AHEAD;
    if (value->place == SCOPE_ODD)
        at += size;
    else if (value->place == SCOPE_BYTE)
        at++;
    else if (value->place != SCOPE_INPUT)
        at = SCOPE_GUARD - bytes;
    copy(value, input->strides, room + at + first);
    input->tensor = (ox_tensor){value->dtype, value->rank, value->dims, input->strides, room + at + first};
    if (value->place >= SCOPE_ODD || value->place == SCOPE_INPUT)
        input->tensor.strides = NULL;
}

int scope_lay(const scope_graph *graph, scope_input inputs[SCOPE_GIVEN]) {
    int n = 0;
    for (int v = 0; v < graph->nvalues; v++)
        if (graph->values[v].is_given && graph->values[v].place != SCOPE_CONSTANT) {
            lay(&graph->values[v], room_of(n), &inputs[n]);
            n++;
        }
    return n;
}

void *scope_output(int output, size_t bytes, scope_place place) {
    unsigned char *to = room_of(SCOPE_GIVEN + output);
    if (bytes > SCOPE_GUARD - 2 * AHEAD)
        return NULL;
    to += place == SCOPE_GUARDED ? SCOPE_GUARD - bytes : place == SCOPE_BYTE ? AHEAD + 1 : AHEAD;
    memset(to, FILLED, bytes);
    return to;
}
