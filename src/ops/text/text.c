/* text.c: characters of UTF-8, and their case. */
#include "text.h"

#include <string.h>

/* ---- UTF-8 -------------------------------------------------------------------------------------------------- */

enum {
    NO_CHARACTER = 1 << 30
};

uint32_t ox_utf8_next(const char *text, size_t left, int *bytes) {
    const uint8_t *at = (const uint8_t *)text;
    const int more = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 1 : at[0] < 0xf0 ? 2 : at[0] < 0xf5 ? 3 : 0;
    uint32_t character = more ? at[0] & (0x3fu >> more) : at[0];
    *bytes = 1;
    if ((size_t)more >= left || (!more && at[0] >= 0x80))
        return NO_CHARACTER | at[0];
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return NO_CHARACTER | at[0];
        character = character << 6 | (at[i] & 0x3f);
    }
    *bytes = more + 1;
    return character;
}

void ox_utf8_put(uint32_t character, int bytes, char *text) {
    const int more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    if (more + 1 != bytes || character > 0x10ffff)
        return;
    for (int i = more; i > 0; i--, character >>= 6)
        text[i] = (char)(0x80 | (character & 0x3f));
    text[0] = (char)(heads[more] | character);
}

bool ox_is_space(uint32_t c) {
    return (c >= 0x9 && c <= 0xd) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

int ox_string_order(ox_string a, ox_string b) {
    const size_t both = a.size < b.size ? a.size : b.size;
    const int order = both ? memcmp(a.data, b.data, both) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* ---- Case --------------------------------------------------------------------------------------------------- */

/* Letters from `first` to `last`. to_lower > 1: all are capitals, and the small letter of each is `to_lower` places on.
 * to_lower 1: every second one is a capital, and its small letter follows. */
typedef struct letters {
    uint16_t first, last, to_lower;
} letters;

static const letters alphabets[] = {
    {0x41, 0x5a, 32},   {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},    {0x100, 0x12f, 1},   {0x132, 0x137, 1},
    {0x139, 0x148, 1},  {0x14a, 0x177, 1},  {0x179, 0x17e, 1},   {0x1a0, 0x1a5, 1},   {0x1af, 0x1b0, 1},
    {0x1cd, 0x1dc, 1},  {0x1de, 0x1ef, 1},  {0x1f4, 0x1f5, 1},   {0x1f8, 0x21f, 1},   {0x222, 0x233, 1},
    {0x246, 0x24f, 1},  {0x370, 0x373, 1},  {0x386, 0x386, 38},  {0x388, 0x38a, 37},  {0x38c, 0x38c, 64},
    {0x38e, 0x38f, 63}, {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32},  {0x3d8, 0x3ef, 1},   {0x400, 0x40f, 80},
    {0x410, 0x42f, 32}, {0x460, 0x481, 1},  {0x48a, 0x4bf, 1},   {0x4c0, 0x4c0, 15},  {0x4c1, 0x4ce, 1},
    {0x4d0, 0x52f, 1},  {0x531, 0x556, 48}, {0x1e00, 0x1e95, 1}, {0x1ea0, 0x1eff, 1},
};

/* Whether a character is a capital of that alphabet, or with `distance` the small letter of one. */
static bool is_in(const letters *a, uint32_t c, uint32_t distance) {
    if (c < distance || c - distance < a->first || c - distance > a->last)
        return false;
    return a->to_lower > 1 || (c - distance - a->first) % 2 == 0;
}

uint32_t ox_to_lower(uint32_t c) {
    for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++)
        if (is_in(&alphabets[i], c, 0))
            return c + alphabets[i].to_lower;
    return c == 0x178 ? 0xff : c;
}

/* The final sigma has no capital of its own. */
uint32_t ox_to_upper(uint32_t c) {
    for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++)
        if (is_in(&alphabets[i], c, alphabets[i].to_lower))
            return c - alphabets[i].to_lower;
    return c == 0xff ? 0x178 : c == 0x3c2 ? 0x3a3 : c;
}
