/* times.c: what lives at the same time: a tree over the steps. */
#include "times.h"

#include "asserts.h"
#include "config.h"

#if !OX_SMALL
struct ox_times_entry {
    size_t number;
    ox_times_entry *next;
};

bool ox_times_begin(ox_times *times, ox_pile *pile, int first, int end) {
    OX_ASSERT(first < end);
    *times = (ox_times){.pile = pile, .first = first, .count = end - first, .leaves = 1};
    while (times->leaves < times->count)
        times->leaves *= 2;
    times->parts = ox_pile_array(pile, 2 * (size_t)times->leaves, sizeof(ox_times_entry *));
    times->born = ox_pile_array(pile, (size_t)times->count, sizeof(ox_times_entry *));
    return times->parts && times->born;
}

static bool push(const ox_times *times, ox_times_entry **list, size_t number) {
    ox_times_entry *entry = ox_pile_get(times->pile, sizeof *entry);
    if (!entry)
        return false;
    *entry = (ox_times_entry){number, *list};
    *list = entry;
    return true;
}

/* A step of the model as one of the tree. */
static int bounded(const ox_times *times, int step) {
    step -= times->first;
    return step < 0 ? 0 : step < times->count ? step : times->count - 1;
}

bool ox_times_add(ox_times *times, int born, int dies, size_t number) {
    const int start = bounded(times, born);
    int left = start + times->leaves, right = bounded(times, dies) + times->leaves + 1;
    bool added = push(times, &times->born[start], number);
    for (; left < right && added; left /= 2, right /= 2) {
        if (left % 2)
            added = push(times, &times->parts[left++], number);
        if (right % 2 && added)
            added = push(times, &times->parts[--right], number);
    }
    return added;
}

static size_t list_numbers(const ox_times_entry *entry, size_t *found) {
    size_t count = 0;
    for (; entry; entry = entry->next)
        found[count++] = entry->number;
    return count;
}

/* A life has a step in common with [born, dies] if it is there at `born`, which the parts around that step know, or
 * begins later. */
size_t ox_times_find(const ox_times *times, int born, int dies, size_t *found) {
    const int start = bounded(times, born), last = bounded(times, dies);
    size_t count = 0;
    for (int part = start + times->leaves; part; part /= 2)
        count += list_numbers(times->parts[part], found + count);
    for (int step = start + 1; step <= last; step++)
        count += list_numbers(times->born[step], found + count);
    return count;
}
#endif
