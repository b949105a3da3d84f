/* usage.c: the options of a subcommand, as the usage at the head of its help lists them. */
#include "usage.h"

#include <string.h>

#include "nearest.h"

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* Bytes of what an option takes: up to the bracket that closes the one around it, or to a space without one. */
static size_t value_size(const char *at, bool in_brackets) {
    size_t size = 0;
    for (int depth = 0; at[size] && at[size] != '\n'; size++) {
        depth += at[size] == '[';
        if (at[size] == ']' && depth-- == 0)
            break;
        if (!in_brackets && at[size] == ' ')
            break;
    }
    return size;
}

bool ox_usage_next(const char **at, ox_usage_option *option) {
    const char *end = strstr(*at, "\n\n");
    for (const char *c = *at; *c && (!end || c < end); c++) {
        if ((*c != '[' && *c != ' ') || c[1] != '-' || !is_name(c[2]))
            continue;
        *option = (ox_usage_option){.name = c + 1, .value = ""};
        while (is_name(option->name[option->name_size]))
            option->name_size++;
        const char *behind = option->name + option->name_size;
        if (*behind == ' ') {
            option->value = behind + 1;
            option->value_size = value_size(behind + 1, *c == '[');
        }
        *at = behind + option->value_size;
        return true;
    }
    return false;
}

void ox_usage_suggest(const char *help, const char *wanted, ox_text *text) {
    enum {
        MOST = 64 /* options of a subcommand */
    };
    ox_text names[MOST] = {0}, start = {0};
    size_t count = 0;
    ox_usage_option option;
    ox_text_add(&start, wanted, strcspn(wanted, "=")); /* "--thread=2" */
    ox_nearest nearest = {.wanted = ox_text_get(&start)};
    while (count < MOST && ox_usage_next(&help, &option)) {
        ox_text_add(&names[count], option.name, option.name_size);
        ox_nearest_add(&nearest, ox_text_get(&names[count++]));
    }
    ox_nearest_put(&nearest, text);
    while (count)
        ox_text_free(&names[--count]);
    ox_text_free(&start);
}
