/* names.c: open addressing, linear probing, at most half full. */
#include "names.h"

#include <string.h>

typedef struct ox_map_entry {
    uintptr_t key;
    int32_t value;
} ox_map_entry;

typedef struct ox_name {
    const char *text;
    uintptr_t hash;
} ox_name;

enum {
    FIRST_ROOM = 8,
    HALF_WORD = sizeof(uintptr_t) * 4
};

/* In the machine's words: on one of 32 bits, the lower halves of the constants. */
static uintptr_t mix(uintptr_t x) {
    x ^= x >> HALF_WORD;
    x *= (uintptr_t)UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> (HALF_WORD - 3);
    x *= (uintptr_t)UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> HALF_WORD;
}

static ox_map_entry *find(ox_map_entry *entries, size_t room, uintptr_t key) {
    size_t i = mix(key) & (room - 1);
    while (entries[i].key && entries[i].key != key)
        i = (i + 1) & (room - 1);
    return &entries[i];
}

int32_t ox_map_get(const ox_map *map, uintptr_t key, int32_t otherwise) {
    if (!map->count)
        return otherwise;
    const ox_map_entry *entry = find(map->entries, map->room, key);
    return entry->key ? entry->value : otherwise;
}

static bool grow_map(ox_map *map, ox_pile *pile, size_t room) {
    ox_map_entry *entries = ox_pile_array(pile, room, sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < map->room; i++)
        if (map->entries[i].key)
            *find(entries, room, map->entries[i].key) = map->entries[i];
    map->entries = entries;
    map->room = room;
    return true;
}

bool ox_map_set(ox_map *map, ox_pile *pile, uintptr_t key, int32_t value) {
    if (map->count * 2 >= map->room && !grow_map(map, pile, map->room ? map->room * 2 : FIRST_ROOM))
        return false;
    ox_map_entry *entry = find(map->entries, map->room, key);
    map->count += entry->key == 0;
    *entry = (ox_map_entry){key, value};
    return true;
}

bool ox_map_reserve(ox_map *map, ox_pile *pile, size_t count) {
    size_t room = FIRST_ROOM;
    while (room / 2 < count && room < SIZE_MAX / 4)
        room *= 2;
    return room <= map->room || grow_map(map, pile, room);
}

/* The seed is an address, which a hostile file cannot know: it cannot choose names that collide. */
static uintptr_t hash_text(const ox_names *names, const char *text, size_t size) {
    uintptr_t hash = mix((uintptr_t)names), word;
    for (; size >= sizeof word; text += sizeof word, size -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = mix(hash ^ word);
    }
    uintptr_t rest = size;
    for (; size; text++, size--)
        rest = rest << 8 | (unsigned char)*text;
    return mix(hash ^ rest);
}

static bool same(const ox_name *name, uintptr_t hash, const char *text, size_t size) {
    const char *known = name->text;
    if (name->hash != hash)
        return false;
    while (size && *text == *known) {
        text++;
        known++;
        size--;
    }
    return !size && !*known;
}

void ox_names_free(ox_names *names, const ox_allocator *allocator) {
    ox_release(allocator, names->entries, names->room * sizeof *names->entries);
    names->entries = NULL;
}

static bool grow_names(ox_names *names, const ox_allocator *allocator) {
    size_t room = names->room ? names->room * 2 : FIRST_ROOM, size;
    ox_name *entries = ox_mul_size(room, sizeof *entries, &size) ? ox_alloc(allocator, size) : NULL;
    if (!entries)
        return false;
    memset(entries, 0, size);
    for (size_t i = 0; i < names->room; i++) {
        size_t at = names->entries[i].hash & (room - 1);
        if (!names->entries[i].text)
            continue;
        while (entries[at].text)
            at = (at + 1) & (room - 1);
        entries[at] = names->entries[i];
    }
    ox_names_free(names, allocator);
    names->entries = entries;
    names->room = room;
    return true;
}

const char *ox_intern(ox_names *names, ox_pile *keep, const ox_allocator *allocator, const char *text, size_t size) {
    if (names->count * 2 >= names->room && !grow_names(names, allocator))
        return NULL;
    uintptr_t hash = hash_text(names, text, size);
    size_t i = hash & (names->room - 1);
    for (; names->entries[i].text; i = (i + 1) & (names->room - 1))
        if (same(&names->entries[i], hash, text, size))
            return names->entries[i].text;
    char *copy = ox_pile_get(keep, size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    names->entries[i] = (ox_name){copy, hash};
    names->count++;
    return copy;
}
