/* kept.c: plans by the shapes that they were made for. What a plan prepared points to slots, so slots stay where they
 * are: their contents go with the plan. Values lie in the one arena, which may have moved in between. */
#include "kept.h"

#if OX_WITH_KEPT
#include <string.h>

#include "place.h"

/* ---- What a plan was made for ------------------------------------------------------------------------------- */

/* A key that is written, compared or only measured, word by word. */
typedef struct key_words {
    int64_t *key; /* NULL: it is measured */
    size_t size, at;
    uint64_t hash; /* of all words, where it is measured */
    bool write, same;
} key_words;

static void add_word(key_words *words, int64_t word) {
    if (words->write) {
        words->key[words->at] = word;
    } else if (words->key) {
        words->same = words->same && words->at < words->size && words->key[words->at] == word;
    } else {
        words->hash = (words->hash ^ (uint64_t)word) * 0x9E3779B97F4A7C15u;
        words->hash ^= words->hash >> 32;
    }
    words->at++;
}

static void add_list(key_words *words, int rank, const int64_t *list) {
    for (int d = 0; d < rank; d++)
        add_word(words, list[d]);
}

enum {
    HAS_STRIDES = 16 /* among what is known of a source: a list of strides follows that of dims */
};

static void describe_source(const ox_source *source, key_words *words) {
    const ox_slot *slot = source->slot;
    const ox_tensor *tensor = &slot->tensor;
    add_word(words, tensor->dtype);
    add_word(words, tensor->rank);
    add_word(words, slot->constant | slot->fixed << 1 | slot->weight << 2 | slot->foreign << 3 |
                        (tensor->strides ? HAS_STRIDES : 0));
    add_word(words, slot->constant ? (int64_t)(uintptr_t)tensor->data : 0);
    add_word(words, (int64_t)(uintptr_t)tensor->dims); /* what was prepared may point there */
    add_list(words, tensor->rank, tensor->dims);
    if (tensor->strides)
        add_list(words, tensor->rank, tensor->strides);
}

/* How many words describe the source that these begin with. */
static size_t source_words(const int64_t *key) {
    return 5 + (size_t)key[1] * (key[2] & HAS_STRIDES ? 2 : 1);
}

/* All that planning sees of the sources, up to the first that differs from the key that it is compared with. Where
 * outputs go makes other plans, too. */
static void describe(const ox_frame *frame, key_words *words) {
    add_word(words, frame->placer.place != NULL);
    for (int i = 0; i < frame->nsources && (words->same || words->write || !words->key); i++)
        describe_source(&frame->sources[i], words);
}

static ox_key_about measure(const ox_frame *frame) {
    key_words words = {0};
    describe(frame, &words);
    return (ox_key_about){words.at, words.hash};
}

static bool serves(const ox_frame *frame, const ox_plan *plan) {
    key_words words = {.key = plan->key, .size = plan->key_about.size, .same = true};
    if (!plan->stages || !plan->key)
        return false;
    describe(frame, &words);
    return words.same && words.at == plan->key_about.size;
}

ox_status ox_kept_note(ox_frame *frame) {
    ox_plan *plan = &frame->plan;
    if (!frame->keeping.most)
        return OX_OK;
    plan->key_about = measure(frame);
    ox_pile_free(&plan->pile); /* a key that no stage came behind */
    plan->key = ox_pile_array(&plan->pile, plan->key_about.size, sizeof *plan->key);
    if (!plan->key)
        return ox_fail_memory(frame->error, "the plan of a session", plan->key_about.size * sizeof *plan->key);
    describe(frame, &(key_words){.key = plan->key, .write = true});
    return OX_OK;
}

bool ox_kept_differs(ox_frame *frame) {
    const ox_plan *plan = &frame->plan;
    size_t at = 1;
    for (int i = 0; i < frame->nsources; i++) {
        key_words words = {.key = plan->key, .size = plan->key_about.size, .at = at, .same = true};
        const int64_t flags = plan->key[at + 2];
        describe_source(&frame->sources[i], &words);
        frame->sources[i].differs = !words.same;
        if (!words.same && (flags & 1 || frame->sources[i].slot->constant))
            return false;
        at += source_words(&plan->key[at]);
    }
    return plan->key[0] == (frame->placer.place != NULL);
}

bool ox_kept_renew(ox_frame *frame) {
    ox_plan *plan = &frame->plan;
    if (frame->keeping.asked.size > plan->key_about.size)
        plan->key = ox_pile_array(&plan->pile, frame->keeping.asked.size, sizeof *plan->key);
    if (!plan->key)
        return false;
    plan->key_about = frame->keeping.asked;
    plan->is_spare = true;
    describe(frame, &(key_words){.key = plan->key, .write = true});
    return true;
}

/* ---- Plans by turns ----------------------------------------------------------------------------------------- */

static size_t count_slots(const ox_frame *frame) {
    return (size_t)(frame->graph->nvalues - frame->graph->nweights);
}

/* The frame's slots get the contents that they had with this plan; sources stay as they are. */
static void return_slots(ox_frame *frame, const ox_plan *plan) {
    for (int i = 0; i < frame->nsources; i++)
        plan->slots[frame->sources[i].slot - frame->own] = *frame->sources[i].slot;
    memcpy(frame->own, plan->slots, count_slots(frame) * sizeof *plan->slots);
}

/* Takes the plan in force away, into `kept`; its slots have a place there. */
static void save(ox_frame *frame, ox_kept *kept) {
    *kept = (ox_kept){frame->plan, frame->planning};
    kept->plan.stale = false;
    kept->plan.arena = (uintptr_t)frame->arena.start;
    kept->plan.arena_used = frame->arena.used;
    memcpy(kept->plan.slots, frame->own, count_slots(frame) * sizeof *frame->own);
}

static bool need_slots(ox_frame *frame, ox_plan *plan) {
    if (!plan->slots)
        plan->slots = ox_pile_array(&plan->lists, count_slots(frame), sizeof *plan->slots);
    return plan->slots;
}

/* The plan in force comes first among those that are kept, in the place of number i. */
static void put_first(ox_frame *frame, int i) {
    memmove(&frame->keeping.plans[1], &frame->keeping.plans[0], (size_t)i * sizeof *frame->keeping.plans);
    save(frame, &frame->keeping.plans[0]);
}

/* Constants are others now: bodies that read some ask for this number. */
static void put_in_force(ox_frame *frame, const ox_kept *kept) {
    const size_t forgotten = frame->plan.forgotten + 1;
    frame->plan = kept->plan;
    frame->planning = kept->planning;
    frame->plan.forgotten = forgotten;
}

/* Brings plan i of those that are kept in force; false without memory. */
static bool exchange(ox_frame *frame, int i) {
    if (!need_slots(frame, &frame->plan))
        return false;
    const ox_kept taken = frame->keeping.plans[i];
    put_first(frame, i);
    put_in_force(frame, &taken);
    return_slots(frame, &taken.plan);
    OX_ASSERT(taken.plan.arena_used <= frame->arena.size);
    frame->arena.used = taken.plan.arena_used;
    ox_place_move(frame, frame->plan.newest->end, taken.plan.arena);
    return true;
}

bool ox_kept_take(ox_frame *frame) {
    if (serves(frame, &frame->plan))
        return true;
    int i = 0;
    while (i < frame->keeping.most && !serves(frame, &frame->keeping.plans[i].plan))
        i++;
    if (i == frame->keeping.most || !exchange(frame, i))
        return false;
    frame->plan.is_spare = false;
    return true;
}

/* Whether the sources are what a plan was made for that became another one lately. */
static bool are_back(const ox_frame *frame) {
    for (int i = 0; i < OX_GONE; i++)
        if (frame->keeping.gone[i] == frame->keeping.asked.hash)
            return true;
    return false;
}

/* The plan in force is about to become another one. */
static void note_gone(ox_frame *frame) {
    memmove(&frame->keeping.gone[1], &frame->keeping.gone[0], (OX_GONE - 1) * sizeof *frame->keeping.gone);
    frame->keeping.gone[0] = frame->plan.key_about.hash;
}

bool ox_kept_old(ox_frame *frame) {
    const int last = frame->keeping.most - 1;
    if (!frame->plan.stages || last < 0)
        return false;
    frame->varies = true;
    if (!frame->keeping.plans[last].plan.stages)
        return false;
    frame->keeping.asked = measure(frame);
    const bool spare = frame->plan.is_spare && !are_back(frame);
    if (!spare && (!frame->keeping.plans[last].planning.lives || !exchange(frame, last)))
        return false;
    note_gone(frame);
    return true;
}

/* A kept plan without stages, whose lists are as in a new frame. */
static void clear(const ox_frame *frame, ox_kept *kept) {
    const size_t count = (size_t)frame->graph->nnodes;
    ox_plan *plan = &kept->plan;
    ox_pile_free(&kept->planning.scratch);
    ox_pile_free(&plan->pile);
    memset(plan->steps, 0, count * sizeof *plan->steps);
    memset(plan->members, 0, count * sizeof *plan->members);
    memset(plan->prepared, 0, count * sizeof *plan->prepared);
    plan->stages = plan->newest = NULL;
    plan->key = NULL;
    kept->planning = (ox_planning){.scratch = kept->planning.scratch};
}

static void drop(ox_frame *frame, ox_kept *kept) {
    ox_pile_free(&kept->planning.scratch);
    ox_pile_free(&kept->plan.pile);
    ox_pile_free(&kept->plan.lists);
    *kept = (ox_kept){.plan = {.pile = {.allocator = frame->plan.pile.allocator},
                               .lists = {.allocator = frame->plan.lists.allocator}},
                      .planning = {.scratch = {.allocator = frame->planning.scratch.allocator}}};
}

void ox_kept_put(ox_frame *frame) {
    if (!frame->keeping.most || !frame->plan.stages || !need_slots(frame, &frame->plan))
        return;
    const int last = frame->keeping.most - 1;
    ox_kept *oldest = &frame->keeping.plans[last];
    if (oldest->plan.steps) {
        clear(frame, oldest);
    } else if (!ox_frame_lists(frame, &oldest->plan.lists, &oldest->plan)) {
        drop(frame, oldest);
        return;
    }
    const ox_kept taken = *oldest;
    put_first(frame, last);
    put_in_force(frame, &taken);
}

ox_status ox_kept_begin(ox_frame *frame, size_t most) {
    frame->keeping.plans = ox_pile_array(&frame->fixed, most, sizeof *frame->keeping.plans);
    if (!frame->keeping.plans)
        return ox_fail_memory(frame->error, "the plans of a session", most * sizeof *frame->keeping.plans);
    frame->keeping.most = (int)most;
    for (int i = 0; i < frame->keeping.most; i++)
        drop(frame, &frame->keeping.plans[i]);
    return OX_OK;
}

bool ox_kept_drop(ox_frame *frame) {
    bool found = false;
    for (int i = 0; i < frame->keeping.most; i++) {
        found = found || frame->keeping.plans[i].plan.stages;
        drop(frame, &frame->keeping.plans[i]);
    }
    found = found || frame->varies;
    if (found && !frame->plan.stages)
        ox_place_drop(frame); /* it has room ahead */
    frame->varies = false;
    return found;
}
#endif
