/* node.c: cases of ONNX's node suite on a board, from files of the host (semihosting). Reads folders of cases from
 * standard input, one a line, and prints a line for each: passed, failed, unsupported or too large, the folder, the
 * reason. The cases are run and compared by the code of `ox test`. All memory of the library is one buffer. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "case_run.h"
#include "cases.h"
#include "file.h"
#include "memory.h"
#include "text.h"
#include "tool.h"

void initialise_monitor_handles(void);

enum {
    PATH_ROOM = 512,
    FORMAT_ROOM = 256,
    MOST_SETS = 8
};

/* ---- Memory -------------------------------------------------------------------------------------------------------
 */

static ox_fixed fixed;
static ox_allocator allocator;

/* The linker puts this in place of the library's own, which has no memory on a board. */
const ox_allocator *__wrap_ox_default_allocator(void);
const ox_allocator *__wrap_ox_default_allocator(void) {
    return &allocator;
}

void *ox_tool_zeroed(size_t size) {
    return calloc(size ? size : 1, 1);
}

/* ---- Formats ------------------------------------------------------------------------------------------------------
 */

int __real_vsnprintf(char *buffer, size_t size, const char *format, va_list list);
int __wrap_vsnprintf(char *buffer, size_t size, const char *format, va_list list);

/* Debian's newlib does not know %zu; a size_t is as wide as a long. */
int __wrap_vsnprintf(char *buffer, size_t size, const char *format, va_list list) {
    char known[FORMAT_ROOM];
    size_t length = strlen(format);
    if (length >= sizeof known)
        return -1;
    memcpy(known, format, length + 1);
    for (char *at = strstr(known, "%z"); at; at = strstr(at, "%z"))
        at[1] = 'l';
    return __real_vsnprintf(buffer, size, known, list);
}

/* ---- Files, where there are no folders ----------------------------------------------------------------------------
 */

bool ox_file_exists(const char *path) {
    FILE *stream = fopen(path, "rb");
    if (stream)
        fclose(stream);
    return stream != NULL;
}

ox_status ox_file_read(const char *path, unsigned char **bytes, size_t *size, ox_error *error) {
    FILE *stream = fopen(path, "rb");
    long length = stream && !fseek(stream, 0, SEEK_END) ? ftell(stream) : -1;
    *bytes = NULL;
    if (length >= 0) {
        rewind(stream);
        *size = (size_t)length;
        *bytes = ox_tool_alloc(*size + 1);
        (*bytes)[*size] = 0;
        if (fread(*bytes, 1, *size, stream) != *size)
            length = -1;
    }
    if (stream)
        fclose(stream);
    return length >= 0 ? OX_OK : ox_tool_fail(error, OX_ERROR_FILE, "cannot read '%s'", path);
}

/* The numbered data sets of a case. */
char **ox_list_directory(const char *directory, const char *prefix) {
    char **names = ox_tool_alloc((MOST_SETS + 1) * sizeof *names);
    int count = 0;
    for (int n = 0; n < MOST_SETS; n++) {
        ox_text name = {0}, path = {0};
        ox_text_format(&name, "%s_%d", prefix, n);
        ox_text_format(&path, "%s/%s/output_0.pb", directory, name.data);
        if (ox_file_exists(path.data))
            names[count++] = name.data;
        else
            ox_text_free(&name);
        ox_text_free(&path);
    }
    names[count] = NULL;
    return names;
}

void ox_list_free(char **names) {
    for (char **name = names; *name; name++)
        free(*name);
    free(names);
}

ox_status ox_model_load_file(const char *path, const ox_options *options, ox_model **model, ox_error *error) {
    static unsigned char *bytes; /* of the last model */
    size_t size;
    free(bytes);
    *model = NULL;
    ox_status status = ox_file_read(path, &bytes, &size, error);
    return status ? status : ox_model_load_memory(bytes, size, options, model, error);
}

/* ---- Cases --------------------------------------------------------------------------------------------------------
 */

static void run(const char *directory) {
    ox_text reason = {0};
    allocator = ox_fixed_allocator(&fixed, (void *)NODE_BUFFER, NODE_BUFFER_BYTES);
    ox_outcome outcome = ox_case_run(directory, NULL, (ox_tolerance){-1, -1, false}, &reason);
    const char *text = ox_text_get(&reason);
    const char *name =
        outcome == OX_CASE_FAILED && strstr(text, "out of memory") ? "too large" : ox_outcome_name(outcome);
    printf("%s\t%s\t%s\n", name, directory, text);
    fflush(stdout);
    ox_text_free(&reason);
}

int main(void) {
    static char line[PATH_ROOM];
    initialise_monitor_handles();
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        run(line);
    }
    return 0;
}
