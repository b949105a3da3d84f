/* place.c: placing buffers in the arena: largest first, into the smallest gap among those alive at the same time. */
#include "place.h"

#include <string.h>

#include "placed.h"
#include "target.h"
#include "times.h"

/* Where buffers have more neighbours than this, all together, looking for gaps would take too long; then they are
 * packed in the order of time. */
enum {
    MOST_NEIGHBOURS = 1 << 22
};

typedef struct buffer {
    size_t size; /* aligned */
    int born, dies;
    size_t *place;
} buffer;

typedef struct placing placing;
typedef bool order_fn(const placing *p, size_t a, size_t b); /* whether buffer a comes before buffer b */

struct placing {
    buffer *buffers; /* [0, fixed) are placed already, by earlier stages */
    size_t count, fixed;
    size_t *order;  /* scratch of `count` entries, ... */
    size_t *merged; /* ... and as many, while they are sorted */
    int first, end; /* nodes of the stage */
    size_t high_water;
};

typedef enum outcome {
    IS_PLACED,
    HAS_TOO_MANY, /* neighbours */
    IS_TOO_LARGE,
    LACKS_MEMORY
} outcome;

/* Bytes of the arena that a neighbour takes. */
typedef struct extent {
    size_t start, end;
} extent;

/* ---- What to place ------------------------------------------------------------------------------------------ */

static bool owns_buffer(const ox_frame *frame, int v) {
    const ox_life *life = &frame->planning.lives[v];
    return life->owner == v && life->bytes && !(OX_WITH_TARGETS && life->outside);
}

/* The bytes of a buffer, with those that it is to have ahead if it grows. */
static size_t value_room(const ox_life *life) {
    const size_t size = ox_aligned(life->bytes);
#if OX_WITH_UPDATES
    return life->room > size ? life->room : size;
#else
    return size;
#endif
}

static size_t work_room(const ox_step *step) {
#if OX_WITH_UPDATES
    return step->room > step->work ? step->room : step->work;
#else
    return step->work;
#endif
}

/* The values of a stage are the outputs of its nodes; those of earlier stages stay where they are, if still alive. */
static void collect_values(ox_frame *frame, const ox_stage *stage, placing *p, bool earlier) {
    for (int n = earlier ? 0 : stage->first; n < (earlier ? stage->first : stage->end); n++) {
        const ox_node *node = &frame->graph->nodes[n];
        for (int k = 0; k < node->nout; k++) {
            int v = node->out[k];
            if (v < 0 || !owns_buffer(frame, v) || (earlier && frame->planning.lives[v].dies < stage->first))
                continue;
            ox_life *life = &frame->planning.lives[v];
            p->buffers[p->count++] = (buffer){value_room(life), life->born, life->dies, &life->place};
        }
    }
}

static void collect_work(ox_frame *frame, const ox_stage *stage, placing *p) {
    for (int n = stage->first; n < stage->end && OX_WITH_RUNS; n++) {
        ox_step *step = &frame->plan.steps[n];
        if (!step->skip && step->work)
            p->buffers[p->count++] = (buffer){work_room(step), n, n, &step->place};
    }
}

static size_t most_buffers(const ox_frame *frame, const ox_stage *stage) {
    size_t count = 0;
    for (int n = 0; n < stage->end; n++)
        count += (size_t)frame->graph->nodes[n].nout + 1;
    return count;
}

/* ---- Placing ------------------------------------------------------------------------------------------------ */

/* Where the run of indices that lie in order ends which begins at `at`. */
static size_t run_end(const placing *p, size_t at, size_t count, order_fn *before) {
    while (at + 1 < count && before(p, p->order[at], p->order[at + 1]))
        at++;
    return at < count ? at + 1 : count;
}

/* Merges runs [at, middle) and [middle, end). */
static void merge_runs(placing *p, size_t at, size_t middle, size_t end, order_fn *before) {
    size_t a = at, b = middle;
    for (; at < end; at++)
        p->merged[at] = b == end || (a < middle && before(p, p->order[a], p->order[b])) ? p->order[a++] : p->order[b++];
}

/* Sorts indices by merging neighbouring runs until there is one: those of a chain are few, and long. */
static void sort_order(placing *p, size_t count, order_fn *before) {
    for (size_t runs = 2; runs > 1;) {
        runs = 0;
        for (size_t at = 0, end; at < count; at = end, runs++) {
            const size_t middle = run_end(p, at, count, before);
            end = run_end(p, middle, count, before);
            merge_runs(p, at, middle, end, before);
        }
        size_t *order = p->order;
        p->order = p->merged;
        p->merged = order;
    }
}

/* a is to be placed before b: the larger one, then the one born first. */
static bool larger(const placing *p, size_t a, size_t b) {
    const buffer *x = &p->buffers[a], *y = &p->buffers[b];
    return x->size != y->size ? x->size > y->size : x->born != y->born ? x->born < y->born : a < b;
}

static void raise_high_water(placing *p, size_t end) {
    if (end > p->high_water)
        p->high_water = end;
}

/* ---- Neighbours --------------------------------------------------------------------------------------------- */

/* The buffers that are placed, by the times of their lives. A device has few, and compares. */
typedef struct neighbours {
    size_t *found;
    extent *extents;
#if OX_SMALL
    size_t placed;
#else
    ox_times times;
#endif
} neighbours;

#if OX_SMALL
static bool alive_together(const buffer *a, const buffer *b) {
    return a->born <= b->dies && b->born <= a->dies;
}

static bool add_placed(neighbours *all, const placing *p, size_t b) {
    (void)p, (void)b;
    all->placed++;
    return true;
}

static size_t find_placed(const neighbours *all, const placing *p, size_t b) {
    size_t count = 0;
    for (size_t i = 0; i < all->placed; i++) {
        const size_t other = i < p->fixed ? i : p->order[i - p->fixed];
        if (alive_together(&p->buffers[b], &p->buffers[other]))
            all->found[count++] = other;
    }
    return count;
}
#else
static bool add_placed(neighbours *all, const placing *p, size_t b) {
    return ox_times_add(&all->times, p->buffers[b].born, p->buffers[b].dies, b);
}

static size_t find_placed(const neighbours *all, const placing *p, size_t b) {
    return ox_times_find(&all->times, p->buffers[b].born, p->buffers[b].dies, all->found);
}
#endif

static bool begin_neighbours(neighbours *all, const placing *p, ox_pile *pile) {
    *all = (neighbours){.found = ox_pile_array(pile, p->count, sizeof *all->found),
                        .extents = ox_pile_array(pile, p->count, sizeof *all->extents)};
#if !OX_SMALL
    if (!ox_times_begin(&all->times, pile, p->first, p->end))
        return false;
#endif
    bool room = all->found && all->extents;
    for (size_t b = 0; b < p->fixed && room; b++)
        room = add_placed(all, p, b);
    return room;
}

/* By address, by insertion at distances that shrink: most lists are short. */
static void sort_extents(extent *list, size_t count) {
    size_t gap = 1;
    while (!OX_SMALL && gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap; gap = OX_SMALL ? 0 : gap / 3)
        for (size_t i = gap; i < count; i++) {
            const extent moved = list[i];
            size_t at = i;
            for (; at >= gap && list[at - gap].start > moved.start; at -= gap)
                list[at] = list[at - gap];
            list[at] = moved;
        }
}

/* Puts b into the smallest gap between so many neighbours. */
static bool place_between(placing *p, size_t b, neighbours *all, size_t count) {
    const size_t size = p->buffers[b].size;
    size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const buffer *other = &p->buffers[all->found[i]];
        all->extents[i] = (extent){*other->place, *other->place + other->size};
    }
    sort_extents(all->extents, count);
    for (size_t i = 0; i < count; i++) {
        const extent *other = &all->extents[i];
        if (other->start > end && other->start - end >= size && other->start - end < best_gap) {
            best = end;
            best_gap = other->start - end;
        }
        if (other->end > end)
            end = other->end;
    }
    if (best == SIZE_MAX)
        best = end;
    if (best > SIZE_MAX / 2 - size)
        return false;
    *p->buffers[b].place = best;
    raise_high_water(p, best + size);
    return true;
}

static outcome place_near(placing *p, ox_pile *pile) {
    const size_t fresh = p->count - p->fixed;
    size_t seen = 0;
    neighbours all;
    if (!fresh)
        return IS_PLACED;
    if (!begin_neighbours(&all, p, pile))
        return LACKS_MEMORY;
    for (size_t i = 0; i < fresh; i++)
        p->order[i] = p->fixed + i;
    sort_order(p, fresh, larger);
    for (size_t i = 0; i < fresh; i++) {
        const size_t b = p->order[i], count = find_placed(&all, p, b);
        seen += count;
        if (!OX_SMALL && seen > MOST_NEIGHBOURS)
            return HAS_TOO_MANY;
        if (!place_between(p, b, &all, count))
            return IS_TOO_LARGE;
        if (!add_placed(&all, p, b))
            return LACKS_MEMORY;
    }
    return IS_PLACED;
}

/* ---- Many neighbours ---------------------------------------------------------------------------------------- */

static bool born_before(const placing *p, size_t a, size_t b) {
    return p->buffers[a].born != p->buffers[b].born ? p->buffers[a].born < p->buffers[b].born : a < b;
}

static bool dies_before(const placing *p, size_t a, size_t b) {
    return p->buffers[a].dies != p->buffers[b].dies ? p->buffers[a].dies < p->buffers[b].dies : a < b;
}

static int size_class(size_t size) {
    int c = 0;
    while (c < 62 && ((size_t)1 << c) < size)
        c++;
    return c;
}

/* Many buffers: each takes the place of one of its size class (a power of two) that died before, or a new one. */
static outcome place_classes(placing *p, ox_pile *pile) {
    size_t head[64], fresh = p->count - p->fixed, dead = 0;
    size_t *deaths = ox_pile_array(pile, fresh, sizeof *deaths), *next = ox_pile_array(pile, p->count, sizeof *next);
    if (!deaths || !next)
        return LACKS_MEMORY;
    for (int c = 0; c < 64; c++)
        head[c] = SIZE_MAX;
    for (size_t i = 0; i < fresh; i++)
        p->order[i] = p->fixed + i;
    sort_order(p, fresh, dies_before);
    memcpy(deaths, p->order, fresh * sizeof *deaths);
    sort_order(p, fresh, born_before);
    for (size_t i = 0; i < fresh; i++) {
        size_t b = p->order[i];
        buffer *mine = &p->buffers[b];
        for (; p->buffers[deaths[dead]].dies < mine->born; dead++) {
            int c = size_class(p->buffers[deaths[dead]].size);
            next[deaths[dead]] = head[c];
            head[c] = deaths[dead];
        }
        int c = size_class(mine->size);
        if (head[c] != SIZE_MAX) {
            *mine->place = *p->buffers[head[c]].place;
            head[c] = next[head[c]];
            continue;
        }
        if (mine->size > SIZE_MAX / 4 || p->high_water > SIZE_MAX / 4)
            return IS_TOO_LARGE;
        *mine->place = p->high_water;
        raise_high_water(p, p->high_water + ((size_t)1 << c));
    }
    return IS_PLACED;
}

/* ---- The arena ---------------------------------------------------------------------------------------------- */

void ox_place_drop(ox_frame *frame) {
    ox_release(frame->allocator, frame->arena.block, frame->arena.block_size);
    frame->arena.block = NULL;
    frame->arena.size = frame->arena.block_size = 0;
}

/* Grows the arena, and keeps what earlier stages left in it. */
static ox_status grow_arena(ox_frame *frame, size_t size, bool keep) {
    if (size <= frame->arena.size)
        return OX_OK;
    if (size > SIZE_MAX - OX_ALIGN)
        return ox_fail_memory(frame->error, "the arena", size);
    if (!keep) /* first, so that a small device never needs both */
        ox_place_drop(frame);
    unsigned char *block = ox_alloc(frame->allocator, size + OX_ALIGN - 1);
    if (!block)
        return ox_fail_memory(frame->error, "the arena", size);
    unsigned char *arena = ox_align(block);
    if (frame->arena.block) {
        memcpy(arena, frame->arena.start, frame->arena.size);
        ox_release(frame->allocator, frame->arena.block, frame->arena.block_size);
    }
    frame->arena.block = block;
    frame->arena.block_size = size + OX_ALIGN - 1;
    frame->arena.start = arena;
    frame->arena.size = size;
    OX_ASSERT(ox_is_aligned(arena) && arena + size <= block + frame->arena.block_size);
    return OX_OK;
}

/* Gives what node n gives its places in an arena that starts at `arena`, which may be 0 while there is none. A view's
 * place follows its owner's; where it starts is said when it is shown. */
static void point_into_arena(ox_frame *frame, int n, uintptr_t arena) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++) {
        const int v = node->out[k], owner = v < 0 ? -1 : ox_life_owner(&frame->planning, v);
        if (owner < 0)
            continue; /* a constant, in foreign memory, or only in registers */
        ox_slot *slot = ox_frame_own(frame, v);
        slot->placed = frame->planning.lives[owner].bytes && !frame->planning.lives[owner].outside;
        slot->tensor.data = slot->placed
                                ? (void *)(arena + frame->planning.lives[owner].place + ox_life_at(&frame->planning, v))
                                : (void *)frame;
    }
}

void ox_place_move(ox_frame *frame, int end, uintptr_t from) {
    if ((uintptr_t)frame->arena.start == from)
        return;
    for (int n = 0; n < end; n++)
        for (int k = 0; k < frame->graph->nodes[n].nout; k++) {
            const int v = frame->graph->nodes[n].out[k];
            ox_slot *slot = v < 0 ? NULL : ox_frame_own(frame, v);
            if (slot && slot->placed)
                slot->tensor.data = frame->arena.start + ((uintptr_t)slot->tensor.data - from);
        }
}

static void begin_high_water(placing *p) {
    p->high_water = 0;
    for (size_t i = 0; i < p->fixed; i++)
        raise_high_water(p, *p->buffers[i].place + p->buffers[i].size);
}

static ox_status place_buffers(placing *p, ox_frame *frame) {
    ox_pile *pile = &frame->planning.scratch;
    p->order = ox_pile_array(pile, 2 * p->count, sizeof *p->order);
    p->merged = p->order ? p->order + p->count : NULL;
    begin_high_water(p);
    outcome found = p->order ? place_near(p, pile) : LACKS_MEMORY;
    if (!OX_SMALL && found == HAS_TOO_MANY) {
        begin_high_water(p);
        found = place_classes(p, pile);
    }
    if (found == LACKS_MEMORY)
        return ox_fail_memory(frame->error, "placing buffers", p->count * sizeof *p->order);
    return found == IS_PLACED
               ? OX_OK
               : ox_fail(frame->error, OX_ERROR_LIMIT, "the arena would be larger than the address space");
}

/* first: no earlier stage has left anything in the arena. */
static ox_status place_stage(ox_frame *frame, const ox_stage *stage, bool first) {
    size_t most = most_buffers(frame, stage);
    placing p = {.buffers = ox_pile_array(&frame->planning.scratch, most, sizeof *p.buffers),
                 .first = stage->first,
                 .end = stage->end};
    if (!p.buffers)
        return ox_fail_memory(frame->error, "placing buffers", most * sizeof *p.buffers);
    collect_values(frame, stage, &p, true);
    p.fixed = p.count;
    collect_values(frame, stage, &p, false);
    collect_work(frame, stage, &p);
    OX_TRY(place_buffers(&p, frame));
    ox_placed_assert(frame, stage, p.high_water);
    const uintptr_t before = first ? 0 : (uintptr_t)frame->arena.start;
    for (int n = stage->first; n < stage->end; n++)
        point_into_arena(frame, n, before);
    if (first && stage->end == frame->graph->nnodes && !ox_frame_varies(frame))
        ox_life_forget(frame); /* so that planning and the arena need not fit in memory together */
    OX_TRY(grow_arena(frame, p.high_water, !first));
    ox_place_move(frame, stage->end, before);
    frame->arena.used = first || p.high_water > frame->arena.used ? p.high_water : frame->arena.used;
    return OX_OK;
}

ox_status ox_place_stage(ox_frame *frame, ox_stage *stage) {
    if (OX_WITH_TARGETS && frame->placer.place)
        OX_TRY(ox_target_choose(frame, stage));
    return place_stage(frame, stage, frame->plan.stages == NULL);
}

#if OX_WITH_UPDATES
ox_status ox_place_again(ox_frame *frame) {
    const ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
    OX_TRY(place_stage(frame, frame->plan.stages, true));
    ox_pile_restore(&frame->planning.scratch, mark);
    return OX_OK;
}

void ox_place_hide(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; k < node->nout; k++) {
        ox_slot *slot = node->out[k] < 0 ? NULL : ox_frame_own(frame, node->out[k]);
        if (slot && !slot->constant && ox_step_view(&frame->plan.steps[n], k) != OX_VIEW_GIVEN)
            slot->tensor.data = NULL;
    }
}

void ox_place_show(ox_frame *frame, int n) {
    point_into_arena(frame, n, (uintptr_t)frame->arena.start);
}
#endif
