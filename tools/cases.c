/* cases.c: finding cases of the ONNX backend test layout, and the list of those that are pending. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "system.h"
#include "text.h"

/* Folders of folders of cases; links in a circle end here. */
enum {
    DEPTH = 4
};

typedef struct name_list {
    char **at;
    size_t count;
    size_t room;
} name_list;

static char *copy(const char *text, size_t length) {
    char *result = ox_tool_alloc(length + 1);
    memcpy(result, text, length);
    result[length] = '\0';
    return result;
}

static void add_name(name_list *list, char *name) {
    if (list->count + 1 >= list->room) {
        list->room = list->room * 2 + 16;
        list->at = ox_tool_resize(list->at, list->room * sizeof *list->at);
    }
    list->at[list->count++] = name;
    list->at[list->count] = NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **finish(name_list *list) {
    if (!list->at)
        list->at = ox_tool_alloc(sizeof *list->at);
    list->at[list->count] = NULL;
    qsort(list->at, list->count, sizeof *list->at, compare_names);
    return list->at;
}

typedef struct listing {
    name_list names;
    const char *prefix;
} listing;

/* What begins with a dot is hidden. */
static void add_visible(void *context, const char *name) {
    listing *all = context;
    if (*name != '.' && strncmp(name, all->prefix, strlen(all->prefix)) == 0)
        add_name(&all->names, copy(name, strlen(name)));
}

char **ox_list_directory(const char *directory, const char *prefix) {
    listing all = {.prefix = prefix};
    ox_system_list(directory, add_visible, &all);
    return finish(&all.names);
}

void ox_list_free(char **names) {
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

bool ox_list_has(char *const *names, const char *name) {
    size_t low = 0;
    size_t high = 0;
    while (names && names[high])
        high++;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, names[middle]);
        if (!order)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

char **ox_read_pending(const char *path, ox_error *error) {
    unsigned char *bytes;
    size_t size;
    name_list list = {0};
    if (ox_file_read(path, &bytes, &size, error))
        return NULL;
    for (const char *line = (const char *)bytes; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        line += strspn(line, " \t");
        size_t length = strcspn(line, " \t\r\n#");
        if (length)
            add_name(&list, copy(line, length));
    }
    free(bytes);
    return finish(&list);
}

static char *join(const char *directory, const char *name) {
    ox_text text = {0};
    ox_text_format(&text, "%s/%s", directory, name);
    return text.data;
}

/* The last part of a path, without slashes at its end. */
static char *base_name(const char *path) {
    size_t end = strlen(path);
    while (end > 1 && ox_system_separates(path[end - 1]))
        end--;
    size_t start = end;
    while (start && !ox_system_separates(path[start - 1]))
        start--;
    return copy(path + start, end - start);
}

static void add_case(ox_cases *cases, const char *path) {
    if (cases->count == cases->room) {
        cases->room = cases->room * 2 + 64;
        cases->at = ox_tool_resize(cases->at, cases->room * sizeof *cases->at);
    }
    cases->at[cases->count++] = (ox_case){base_name(path), copy(path, strlen(path))};
}

static void collect(ox_cases *cases, const char *directory, int depth) {
    char *model = join(directory, "model.onnx");
    bool is_case = ox_file_exists(model);
    free(model);
    if (is_case) {
        add_case(cases, directory);
        return;
    }
    char **names = depth < DEPTH ? ox_list_directory(directory, "") : NULL;
    for (char **name = names; name && *name; name++) {
        char *path = join(directory, *name);
        collect(cases, path, depth + 1);
        free(path);
    }
    ox_list_free(names);
}

bool ox_cases_add(ox_cases *cases, const char *directory) {
    size_t before = cases->count;
    collect(cases, directory, 0);
    return cases->count > before;
}

static int compare_cases(const void *a, const void *b) {
    const ox_case *left = a;
    const ox_case *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->path, right->path);
}

void ox_cases_sort(ox_cases *cases) {
    if (cases->count)
        qsort(cases->at, cases->count, sizeof *cases->at, compare_cases);
}

void ox_cases_free(ox_cases *cases) {
    for (size_t i = 0; i < cases->count; i++) {
        free(cases->at[i].name);
        free(cases->at[i].path);
    }
    free(cases->at);
    *cases = (ox_cases){0};
}
