/* re2.cc: see regex.h. RE2 takes time that is linear in the text, whatever the pattern. No exception leaves this file.
 */
#include "regex.h"

#include <cstdio>
#include <new>

#include <re2/re2.h>

struct ox_regex {
    RE2 pattern;
    ox_regex(const re2::StringPiece &text, const RE2::Options &options) : pattern(text, options) {}
};

static re2::StringPiece piece_of(ox_string s) {
    return re2::StringPiece(s.size ? s.data : "", s.size);
}

ox_regex *ox_regex_create(ox_string pattern, bool longest, char *why, size_t room) try {
    RE2::Options options;
    options.set_longest_match(longest);
    options.set_log_errors(false);
    ox_regex *regex = new ox_regex(piece_of(pattern), options);
    why[0] = '\0';
    if (regex->pattern.ok())
        return regex;
    snprintf(why, room, "%s", regex->pattern.error().c_str());
    delete regex;
    return nullptr;
} catch (...) {
    why[0] = '\0';
    return nullptr;
}

void ox_regex_free(ox_regex *regex) {
    delete regex;
}

int ox_regex_matches(const ox_regex *regex, ox_string text) try {
    return RE2::FullMatch(piece_of(text), regex->pattern);
} catch (...) {
    return -1;
}

int ox_regex_find(const ox_regex *regex, ox_string text, size_t from, ox_string *match) try {
    re2::StringPiece found;
    if (!regex->pattern.Match(piece_of(text), from, text.size, RE2::UNANCHORED, &found, 1))
        return 0;
    *match = {found.data(), found.size()};
    return 1;
} catch (...) {
    return -1;
}
