/* suppress.c: NonMaxSuppression. The number of selected boxes depends on data: infer counts them, prepare lists them,
 * and run gives out the list. A plan holds as long as the data that infer looked at stays the same. */
#include "box_tree.h"
#include "loops/element.h"
#include "ops/scalar.h"
#include "pool.h"

#include <string.h>

typedef struct suppression {
    const ox_tensor *boxes, *scores;
    int64_t box_strides[3], score_strides[3];
    int64_t most; /* boxes of a class */
    bool centered, limited;
    float iou, score; /* limits; that of scores holds if `limited` */
} suppression;

/* A box by its score: a larger number comes first, which is that of a higher score, or of an earlier box. */
typedef uint64_t candidate;

/* Memory for one class. */
typedef struct candidates {
    int64_t count;
    candidate *heap; /* the best first */
    int64_t chosen;
    ox_box_tree selected; /* those of the selected boxes that can overlap others */
} candidates;

/* ---- Reading ------------------------------------------------------------------------------------------------ */

static ox_status read_float(ox_call *call, int i, float *value, bool *given) {
    const ox_tensor *tensor;
    *given = ox_call_given(call, i) && ox_tensor_count(call->in[i]) > 0;
    *value = 0;
    if (!*given)
        return OX_OK;
    OX_TRY(ox_call_scalar(call, i, OX_BIT(OX_FLOAT), &tensor));
    *value = (float)ox_scalar_float(tensor);
    return OX_OK;
}

static ox_status read_most(ox_call *call, int64_t *most) {
    const ox_tensor *tensor;
    *most = 0;
    if (!ox_call_given(call, 2) || ox_tensor_count(call->in[2]) == 0)
        return OX_OK;
    OX_TRY(ox_call_scalar(call, 2, OX_BIT(OX_INT64), &tensor));
    *most = ox_scalar_int(tensor);
    return OX_OK;
}

static ox_status check_shapes(ox_call *call) {
    const ox_tensor *boxes = call->in[0], *scores = call->in[1];
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_FLOAT)));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_FLOAT)));
    if (boxes->rank == 3 && scores->rank == 3 && boxes->dims[2] == 4 && boxes->dims[0] == scores->dims[0] &&
        boxes->dims[1] == scores->dims[2])
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must be batches x boxes x 4 and batches x classes x boxes",
                        OX_INPUT(call, 0), OX_INPUT(call, 1));
}

static ox_status read_suppression(ox_call *call, suppression *s) {
    const int64_t form = ox_call_int(call, "center_point_box", 0);
    bool given;
    OX_TRY(check_shapes(call));
    if ((uint64_t)call->in[0]->dims[1] > UINT32_MAX)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s has more than 2^32 - 1 boxes", OX_INPUT(call, 0));
    OX_TRY(read_most(call, &s->most));
    OX_TRY(read_float(call, 3, &s->iou, &given));
    OX_TRY(read_float(call, 4, &s->score, &s->limited));
    OX_TRY(ox_call_data(call, 0, &s->boxes));
    OX_TRY(ox_call_data(call, 1, &s->scores));
    if (form != 0 && form != 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'center_point_box' is %lld", (long long)form);
    s->centered = form == 1;
    ox_tensor_strides(s->boxes, s->box_strides);
    ox_tensor_strides(s->scores, s->score_strides);
    return OX_OK;
}

/* ---- Boxes -------------------------------------------------------------------------------------------------- */

static ox_box read_box(const suppression *s, int64_t batch, int64_t i) {
    const int64_t *strides = s->box_strides;
    const char *numbers = (const char *)s->boxes->data + batch * strides[0] + i * strides[1];
    float v[4];
    ox_box b;
    for (int k = 0; k < 4; k++)
        v[k] = OX_GET(ox_f32, numbers + k * strides[2]);
    if (s->centered)
        b = (ox_box){v[0] - v[2] / 2, v[0] + v[2] / 2, v[1] - v[3] / 2, v[1] + v[3] / 2, 0, 0};
    else
        b = (ox_box){ox_lower(v[1], v[3]), ox_upper(v[1], v[3]), ox_lower(v[0], v[2]), ox_upper(v[0], v[2]), 0, 0};
    b.area = (b.x1 - b.x0) * (b.y1 - b.y0);
    return b;
}

/* ---- Candidates by score ------------------------------------------------------------------------------------ */

/* Scores of one class. */
typedef struct score_row {
    const suppression *s;
    int64_t batch, kind;
} score_row;

static candidate candidate_of(float score, int64_t number) {
    return (uint64_t)ox_float_order(score) << 32 | (uint32_t)~number;
}

static int64_t number_of(candidate c) {
    return (uint32_t)~c;
}

/* Puts a candidate into the heap at place i, or below. */
static void sink(candidates *c, int64_t i, candidate moved) {
    candidate *heap = c->heap;
    for (int64_t child; (child = 2 * i + 1) < c->count; i = child) {
        child += child + 1 < c->count && heap[child] < heap[child + 1];
        if (moved > heap[child])
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

static void fill_heap(const score_row *row, candidates *c) {
    const suppression *s = row->s;
    const int64_t *strides = s->score_strides, boxes = s->boxes->dims[1];
    const char *scores = (const char *)s->scores->data + row->batch * strides[0] + row->kind * strides[1];
    c->count = c->chosen = c->selected.count = 0;
    for (int64_t i = 0; i < boxes; i++, scores += strides[2]) {
        const float score = OX_GET(ox_f32, scores);
        if (!s->limited || score > s->score)
            c->heap[c->count++] = candidate_of(score, i);
    }
    for (int64_t i = c->count / 2; i-- > 0;)
        sink(c, i, c->heap[i]);
}

static int64_t pop(candidates *c) {
    const int64_t first = number_of(c->heap[0]);
    c->count--;
    if (c->count)
        sink(c, 0, c->heap[c->count]);
    return first;
}

/* ---- Selecting ---------------------------------------------------------------------------------------------- */

/* Selects boxes of one class; they go to `to`, where there is `room` for so many. */
static void select_class(ox_call *call, const score_row *row, candidates *c, int64_t *to, int64_t room) {
    const suppression *s = row->s;
    fill_heap(row, c);
    while (c->count && c->chosen < s->most && !ox_pool_poll(call->pool)) {
        const int64_t i = pop(c);
        const ox_box next = read_box(s, row->batch, i);
        const bool can_overlap = next.area > 0; /* others are never suppressed, and suppress none */
        if (can_overlap && ox_box_tree_overlaps(&c->selected, &next, s->iou))
            continue;
        if (c->chosen < room)
            memcpy(to + 3 * c->chosen, (const int64_t[]){row->batch, row->kind, i}, 3 * sizeof *to);
        c->chosen++;
        if (can_overlap)
            ox_box_tree_add(&c->selected, &next);
    }
}

/* Selects all boxes, and lists the first ones, as `to` has room for; *count is how many there are. */
static ox_status select_boxes(ox_call *call, const suppression *s, int64_t *to, int64_t most, int64_t *count) {
    const int64_t boxes = s->boxes->dims[1];
    *count = 0;
    if (ox_tensor_count(s->scores) == 0 || s->most <= 0)
        return OX_OK;
    const ox_pile_mark mark = ox_pile_save(call->pile);
    candidates c = {.heap = ox_pile_array(call->pile, (size_t)boxes, sizeof *c.heap)};
    const bool room = c.heap && ox_box_tree_make(call->pile, ox_least(boxes, s->most), &c.selected);
    for (int64_t batch = 0; batch < s->scores->dims[0] && room; batch++)
        for (int64_t kind = 0; kind < s->scores->dims[1]; kind++) {
            select_class(call, &(score_row){s, batch, kind}, &c, most > *count ? to + 3 * *count : NULL, most - *count);
            *count += c.chosen;
        }
    ox_pile_restore(call->pile, mark);
    return room ? OX_OK : ox_fail_memory(call->error, "candidate boxes", (size_t)boxes * sizeof *c.heap);
}

ox_status ox_infer_suppress(ox_call *call) {
    suppression s;
    int64_t count;
    OX_TRY(read_suppression(call, &s));
    OX_TRY(select_boxes(call, &s, NULL, 0, &count));
    return ox_call_output(call, 0, OX_INT64, 2, (const int64_t[]){count, 3});
}

ox_status ox_prepare_suppress(ox_call *call) {
    suppression s;
    int64_t count;
    int64_t *list = ox_call_state(call, (size_t)ox_tensor_count(call->out[0]) * sizeof *list + 1);
    if (!list)
        return OX_ERROR_MEMORY;
    OX_TRY(read_suppression(call, &s));
    const int64_t listed = call->out[0]->dims[0];
    OX_TRY(select_boxes(call, &s, list, listed, &count));
    return count == listed ? OX_OK : ox_call_changed(call, 1);
}

ox_status ox_run_suppress(ox_call *call) {
    const ox_tensor *out = call->out[0];
    memcpy(out->data, call->state, (size_t)ox_tensor_count(out) * sizeof(int64_t));
    return OX_OK;
}
