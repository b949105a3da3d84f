/* suppress.c: NonMaxSuppression. The number of selected boxes depends on data: infer counts them, prepare lists them,
 * and run gives out the list. A plan holds as long as the data that infer looked at stays the same. */
#include "ops/scalar.h"
#include "loops/element.h"
#include "pool.h"

#include <string.h>

typedef struct suppression {
    const ox_tensor *boxes, *scores;
    int64_t box_strides[3], score_strides[3];
    int64_t most; /* boxes of a class */
    bool centered, limited;
    float iou, score; /* limits; that of scores holds if `limited` */
} suppression;

/* The corners of a box, and its area. */
typedef struct box {
    float x0, x1, y0, y1, area;
} box;

typedef struct candidate {
    uint32_t key;   /* in the order of scores */
    int64_t number; /* of the box */
} candidate;

/* Memory for one class. */
typedef struct candidates {
    int64_t count;
    candidate *heap; /* the best first */
    int64_t chosen;
    box *boxes; /* those that are selected */
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

static float number_at(const ox_tensor *tensor, const int64_t *strides, int64_t i, int64_t j, int64_t k) {
    return OX_GET(ox_f32, (const char *)tensor->data + i * strides[0] + j * strides[1] + k * strides[2]);
}

static float least(float a, float b) {
    return a < b ? a : b;
}

static float most(float a, float b) {
    return a > b ? a : b;
}

static box read_box(const suppression *s, int64_t batch, int64_t i) {
    float v[4];
    box b;
    for (int k = 0; k < 4; k++)
        v[k] = number_at(s->boxes, s->box_strides, batch, i, k);
    if (s->centered)
        b = (box){v[0] - v[2] / 2, v[0] + v[2] / 2, v[1] - v[3] / 2, v[1] + v[3] / 2, 0};
    else
        b = (box){least(v[1], v[3]), most(v[1], v[3]), least(v[0], v[2]), most(v[0], v[2]), 0};
    b.area = (b.x1 - b.x0) * (b.y1 - b.y0);
    return b;
}

static bool overlaps(const box *a, const box *b, float limit) {
    const float width = least(a->x1, b->x1) - most(a->x0, b->x0), height = least(a->y1, b->y1) - most(a->y0, b->y0);
    if (!(width > 0) || !(height > 0) || !(a->area > 0) || !(b->area > 0))
        return false;
    const float both = width * height, either = a->area + b->area - both;
    return both > 0 && either > 0 && both / either > limit;
}

/* ---- Candidates by score ------------------------------------------------------------------------------------ */

/* Scores of one class. */
typedef struct score_row {
    const suppression *s;
    int64_t batch, kind;
} score_row;

static float score_of(const score_row *row, int64_t i) {
    return number_at(row->s->scores, row->s->score_strides, row->batch, row->kind, i);
}

/* Integers in the order of scores: NaN comes first, and zeros are equal. */
static uint32_t key_of(float score) {
    const float sum = score + 0.0F; /* no -0 */
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return score != score ? 0 : bits >> 31 ? ~bits : bits | 0x80000000;
}

/* True if a comes after b: of equal scores, the later box. */
static bool is_behind(const candidate *a, const candidate *b) {
    return a->key != b->key ? a->key < b->key : a->number > b->number;
}

/* Puts a candidate into the heap at place i, or below. */
static void sink(candidates *c, int64_t i, candidate moved) {
    candidate *heap = c->heap;
    for (int64_t child; (child = 2 * i + 1) < c->count; i = child) {
        child += child + 1 < c->count && is_behind(&heap[child], &heap[child + 1]);
        if (!is_behind(&moved, &heap[child]))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

static void fill_heap(const score_row *row, candidates *c) {
    const int64_t boxes = row->s->boxes->dims[1];
    c->count = c->chosen = 0;
    for (int64_t i = 0; i < boxes; i++) {
        const float score = score_of(row, i);
        if (!row->s->limited || score > row->s->score)
            c->heap[c->count++] = (candidate){key_of(score), i};
    }
    for (int64_t i = c->count / 2; i-- > 0;)
        sink(c, i, c->heap[i]);
}

static int64_t pop(candidates *c) {
    const int64_t first = c->heap[0].number;
    c->count--;
    if (c->count)
        sink(c, 0, c->heap[c->count]);
    return first;
}

/* ---- Selecting ---------------------------------------------------------------------------------------------- */

/* Selects boxes of one class; they go to `to`, where that is not NULL. */
static void select_class(ox_call *call, const score_row *row, candidates *c, int64_t *to) {
    const suppression *s = row->s;
    fill_heap(row, c);
    while (c->count && c->chosen < s->most && !ox_pool_poll(call->pool)) {
        const int64_t i = pop(c);
        const box next = read_box(s, row->batch, i);
        bool kept = true;
        for (int64_t k = 0; k < c->chosen && kept; k++)
            kept = !overlaps(&next, &c->boxes[k], s->iou);
        if (!kept)
            continue;
        if (to)
            memcpy(to + 3 * c->chosen, (const int64_t[]){row->batch, row->kind, i}, 3 * sizeof *to);
        c->boxes[c->chosen++] = next;
    }
}

/* Selects all boxes, with memory of the plan's; *count is how many there are. */
static ox_status select_boxes(ox_call *call, const suppression *s, int64_t *to, int64_t *count) {
    const int64_t boxes = s->boxes->dims[1], chosen = ox_least(boxes, s->most);
    *count = 0;
    if (ox_tensor_count(s->scores) == 0 || s->most <= 0)
        return OX_OK;
    candidates c = {.heap = ox_pile_array(call->pile, (size_t)boxes, sizeof *c.heap),
                    .boxes = ox_pile_array(call->pile, (size_t)chosen, sizeof *c.boxes)};
    const bool room = c.heap && c.boxes;
    for (int64_t batch = 0; batch < s->scores->dims[0] && room; batch++)
        for (int64_t kind = 0; kind < s->scores->dims[1]; kind++) {
            select_class(call, &(score_row){s, batch, kind}, &c, to ? to + 3 * *count : NULL);
            *count += c.chosen;
        }
    return room ? OX_OK : ox_fail_memory(call->error, "candidate boxes", (size_t)boxes * sizeof *c.heap);
}

ox_status ox_infer_suppress(ox_call *call) {
    suppression s;
    int64_t count;
    OX_TRY(read_suppression(call, &s));
    const ox_pile_mark mark = ox_pile_save(call->pile);
    const ox_status status = select_boxes(call, &s, NULL, &count);
    ox_pile_restore(call->pile, mark);
    OX_TRY(status);
    return ox_call_output(call, 0, OX_INT64, 2, (const int64_t[]){count, 3});
}

ox_status ox_prepare_suppress(ox_call *call) {
    suppression s;
    int64_t count;
    int64_t *list = ox_call_state(call, (size_t)ox_tensor_count(call->out[0]) * sizeof *list + 1);
    if (!list)
        return OX_ERROR_MEMORY;
    OX_TRY(read_suppression(call, &s));
    return select_boxes(call, &s, list, &count);
}

ox_status ox_run_suppress(ox_call *call) {
    const ox_tensor *out = call->out[0];
    memcpy(out->data, call->state, (size_t)ox_tensor_count(out) * sizeof(int64_t));
    return OX_OK;
}
