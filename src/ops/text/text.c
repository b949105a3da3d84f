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

int ox_utf8_put(uint32_t character, char *text) {
    const int more = character < 0x80 || character >= NO_CHARACTER ? 0
                     : character < 0x800                           ? 1
                     : character < 0x10000                         ? 2
                                                                   : 3;
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    for (int i = more; text && i > 0; i--, character >>= 6)
        text[i] = (char)(0x80 | (character & 0x3f));
    if (text)
        text[0] = (char)(heads[more] | character);
    return more + 1;
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
