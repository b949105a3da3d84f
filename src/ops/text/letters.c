/* letters.c: see letters.h. The rules are those of Unicode's chapter 3.13 and SpecialCasing.txt. */
#include "letters.h"

#include <string.h>

/* ---- Tables ------------------------------------------------------------------------------------------------- */

/* The first character of a range, and 11 bits about the range. Of runs: the lowest bit is set where every second
 * character belongs to it. */
#define KEY(first, rest) ((uint32_t)(first) << 11 | (uint32_t)(rest))
#define COUNT(array) (sizeof(array) / sizeof *(array))

#define RUN(first, count, step, distance) KEY(first, ((count)-1) << 1 | ((step)-1)),
#define SET(first, count) KEY(first, (count)-1),
#define LOWER
static const uint32_t lower_keys[] = {
#include "letters.inc"
};
#define UPPER
static const uint32_t upper_keys[] = {
#include "letters.inc"
};
#define CASED
static const uint32_t cased[] = {
#include "letters.inc"
};
#define IGNORABLE
static const uint32_t ignorable[] = {
#include "letters.inc"
};
#define ABOVE
static const uint32_t above[] = {
#include "letters.inc"
};
#define OTHER_MARKS
static const uint32_t other_marks[] = {
#include "letters.inc"
};
#define SOFT_DOTTED
static const uint32_t soft_dotted[] = {
#include "letters.inc"
};
#undef RUN
#define RUN(first, count, step, distance) distance,
#define LOWER
static const int32_t lower_distances[] = {
#include "letters.inc"
};
#define UPPER
static const int32_t upper_distances[] = {
#include "letters.inc"
};
#define MANY(letter, a, b, c) {letter, {a, b, c}},
typedef struct expansion {
    uint16_t letter, made[3];
} expansion;
#define UPPER_MANY
static const expansion expansions[] = {
#include "letters.inc"
};

/* The index of the last key that begins at the character or before; `count` if there is none. */
static size_t last_key(const uint32_t *keys, size_t count, uint32_t c) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (keys[middle] >> 11 <= c)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : count;
}

static bool is_among(const uint32_t *keys, size_t count, uint32_t c) {
    const size_t i = last_key(keys, count, c);
    return i < count && c - (keys[i] >> 11) <= (keys[i] & 0x7ff);
}
#define IS(set, c) is_among(set, COUNT(set), c)

/* The one letter that is the other case of another; itself if there is none. */
static uint32_t other_case(const uint32_t *keys, const int32_t *distances, size_t count, uint32_t c) {
    const size_t i = last_key(keys, count, c);
    if (i == count)
        return c;
    const uint32_t behind = c - (keys[i] >> 11), last = (keys[i] & 0x7ff) >> 1, by_two = keys[i] & 1;
    const bool is_in = behind <= last << by_two && !(behind & by_two);
    return is_in ? (uint32_t)((int64_t)c + distances[i]) : c;
}

static const expansion *expansion_of(uint32_t c) {
    size_t low = 0, high = COUNT(expansions);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (expansions[middle].letter < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT(expansions) && expansions[low].letter == c ? &expansions[low] : NULL;
}

/* ---- What is around a letter -------------------------------------------------------------------------------- */

enum {
    SIGMA = 0x3a3,
    FINAL_SIGMA = 0x3c2,
    DOT_ABOVE = 0x307,
    DOTTED_I = 0x130,
    DOTLESS_I = 0x131,
    I_OGONEK = 0x12e
};

/* The first character from `at` on that is none of a set; 0 if there is none. */
static uint32_t behind(ox_string text, size_t at, const uint32_t *set, size_t count) {
    int bytes;
    for (; at < text.size; at += (size_t)bytes) {
        const uint32_t c = ox_utf8_next(text.data + at, text.size - at, &bytes);
        if (!is_among(set, count, c))
            return c;
    }
    return 0;
}

/* The character that ends before `at`, which goes back by it. */
static uint32_t step_back(ox_string text, size_t *at) {
    uint32_t c;
    int bytes;
    size_t back = *at < 4 ? *at : 4;
    while (c = ox_utf8_next(text.data + *at - back, back, &bytes), (size_t)bytes != back)
        back--;
    *at -= back;
    return c;
}

/* The last character before `at` that is none of a set; 0 if there is none. */
static uint32_t before(ox_string text, size_t at, const uint32_t *set, size_t count) {
    while (at) {
        const uint32_t c = step_back(text, &at);
        if (!is_among(set, count, c))
            return c;
    }
    return 0;
}
#define BEHIND(x, set) behind((x)->text, (x)->at, set, COUNT(set))
#define BEFORE(x, start, set) before((x)->text, start, set, COUNT(set))

/* ---- Rules -------------------------------------------------------------------------------------------------- */

/* What a letter of a Turkic language becomes, which begins at `start`; -1 where the rules of all languages hold. */
static int turkic(const ox_letters *x, size_t start, uint32_t c, uint32_t *made) {
    if (x->upper && c == 'i')
        *made = DOTTED_I;
    else if (!x->upper && c == DOTTED_I)
        *made = 'i';
    else if (!x->upper && c == 'I')
        *made = BEHIND(x, other_marks) == DOT_ABOVE ? 'i' : DOTLESS_I;
    else
        return !x->upper && c == DOT_ABOVE && BEFORE(x, start, other_marks) == 'I' ? 0 : -1;
    return 1;
}

/* The same of Lithuanian: i and j keep their dots below accents. */
static int lithuanian(const ox_letters *x, size_t start, uint32_t c, uint32_t *made) {
    static const uint16_t accents[][3] = {{0xcc, 'i', 0x300}, {0xcd, 'i', 0x301}, {0x128, 'i', 0x303}};
    if (x->upper)
        return c == DOT_ABOVE && IS(soft_dotted, BEFORE(x, start, other_marks)) ? 0 : -1;
    made[1] = DOT_ABOVE;
    for (size_t i = 0; i < COUNT(accents); i++)
        if (c == accents[i][0]) {
            made[0] = accents[i][1];
            made[2] = accents[i][2];
            return 3;
        }
    if ((c != 'I' && c != 'J' && c != I_OGONEK) || !IS(above, BEHIND(x, other_marks)))
        return -1;
    made[0] = c == I_OGONEK ? I_OGONEK + 1 : c + ('a' - 'A');
    return 2;
}

static int to_lower(const ox_letters *x, size_t start, uint32_t c, uint32_t *made) {
    made[0] = other_case(lower_keys, lower_distances, COUNT(lower_keys), c);
    made[1] = DOT_ABOVE;
    if (c == SIGMA && IS(cased, BEFORE(x, start, ignorable)) && !IS(cased, BEHIND(x, ignorable)))
        made[0] = FINAL_SIGMA;
    if (c != DOTTED_I)
        return 1;
    made[0] = 'i';
    return 2;
}

static int to_upper(uint32_t c, uint32_t *made) {
    const expansion *many = expansion_of(c);
    made[0] = other_case(upper_keys, upper_distances, COUNT(upper_keys), c);
    for (int i = 0; many && i < 3; i++)
        made[i] = many->made[i];
    return !many ? 1 : many->made[2] ? 3 : 2;
}

static void read_letter(ox_letters *x) {
    const size_t start = x->at;
    int bytes, count = -1;
    const uint32_t c = ox_utf8_next(x->text.data + start, x->text.size - start, &bytes);
    x->at += (size_t)bytes;
    if (x->language == OX_LANGUAGE_TURKIC)
        count = turkic(x, start, c, x->made);
    else if (x->language == OX_LANGUAGE_LITHUANIAN)
        count = lithuanian(x, start, c, x->made);
    if (count < 0)
        count = x->upper ? to_upper(c, x->made) : to_lower(x, start, c, x->made);
    x->count = count;
    x->next = 0;
}

bool ox_letters_next(ox_letters *x, uint32_t *letter) {
    while (x->next == x->count && x->at < x->text.size)
        read_letter(x);
    if (x->next == x->count)
        return false;
    *letter = x->made[x->next++];
    return true;
}

ox_language ox_language_of(ox_string locale) {
    static const struct {
        char name[3];
        ox_language language;
    } languages[] = {{"tr", OX_LANGUAGE_TURKIC}, {"az", OX_LANGUAGE_TURKIC}, {"lt", OX_LANGUAGE_LITHUANIAN}};
    if (locale.size < 2 || (locale.size > 2 && !strchr("_-.@", locale.data[2])))
        return OX_LANGUAGE_ANY;
    for (size_t i = 0; i < COUNT(languages); i++)
        if (!memcmp(locale.data, languages[i].name, 2))
            return languages[i].language;
    return OX_LANGUAGE_ANY;
}
