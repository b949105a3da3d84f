/* terminal.c: what is not for terminals. */
#include "terminal.h"

#include <string.h>

#include "system.h"
#include "tool.h"

static bool is_stdout(const char *output) {
    size_t length = strlen(output);
    return length > 2 && strcmp(output + length - 2, "=-") == 0;
}

/* True if another text of the list is the same; that one is taken out. */
static bool take_double(const char **outputs, size_t *count, size_t i) {
    size_t j = i + 1;
    while (j < *count && strcmp(outputs[i], outputs[j]) != 0)
        j++;
    if (j == *count)
        return false;
    memmove(&outputs[j], &outputs[j + 1], (*count - j - 1) * sizeof *outputs);
    --*count;
    return true;
}

ox_status ox_terminal_check(const char **outputs, size_t *count, ox_error *error) {
    for (size_t i = 0; i < *count; i++) {
        const char *text = outputs[i];
        if (is_stdout(text) && !take_double(outputs, count, i) && ox_system_is_terminal(stdout))
            return ox_tool_fail(
                error, OX_ERROR_ARGUMENT,
                "a .npy is not for a terminal: send it to a file (-o %.*sFILE) or a pipe, or say -o %s twice",
                (int)strlen(text) - 1, text, text);
    }
    return OX_OK;
}
