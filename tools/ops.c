/* ops.c: "ox ops", the operator table. */
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "tool.h"

/* The names of a set of types, in ONNX's order. */
static void add_types(ox_text *text, uint32_t set) {
    const uint32_t all = (((uint32_t)1 << OX_DTYPE_COUNT) - 1) & ~(uint32_t)1;
    if (set == all) {
        ox_text_put(text, "all");
        return;
    }
    for (unsigned dtype = 1; dtype < OX_DTYPE_COUNT; dtype++)
        if (set >> dtype & 1)
            ox_text_format(text, "%s%s", text->size ? ", " : "", ox_dtype_name((ox_dtype)dtype));
}

/* True if the next row is another meaning of the same operator. */
static bool has_successor(size_t index, const ox_op_info *info) {
    ox_op_info next;
    return index + 1 < ox_op_count() && !ox_op_get(index + 1, &next) && strcmp(next.name, info->name) == 0 &&
           strcmp(next.domain, info->domain) == 0;
}

/* "7 13 14": the versions of the specification. */
static void add_versions(ox_text *text, const ox_op_info *info) {
    for (int v = 1; v < 64; v++)
        if (info->versions >> v & 1)
            ox_text_format(text, "%s%d", text->size ? " " : "", v);
}

static void print_row(size_t index, bool markdown) {
    ox_op_info info;
    ox_text name = {0};
    ox_text versions = {0};
    ox_text types = {0};
    if (ox_op_get(index, &info))
        return;
    ox_text_format(&name, "%s%s%s", info.domain, *info.domain ? "." : "", info.name);
    add_versions(&versions, &info);
    add_types(&types, info.dtypes);
    printf(markdown ? "| %s | %s | %s |\n" : "%-22s %-20s %s\n", name.data, versions.data, ox_text_get(&types));
    ox_text_free(&name);
    ox_text_free(&versions);
    ox_text_free(&types);
}

static size_t count_names(void) {
    size_t count = 0;
    for (size_t i = 0; i < ox_op_count(); i++) {
        ox_op_info info;
        count += !ox_op_get(i, &info) && !has_successor(i, &info);
    }
    return count;
}

static void print_heading(bool markdown) {
    if (!markdown) {
        printf("%-22s %-20s %s\n", "operator", "versions", "types of the main input");
        return;
    }
    printf(
        "# Operators\n\n"
        "This file is written by `ox ops --markdown`; do not edit it.\n\n"
        "ox has %zu operators. A row is one meaning of an operator, with the versions of the specification that it serves:\n"
        "versions in one row differ in types alone. Types are those of the main input.\n\n"
        "| operator | versions | types |\n"
        "| --- | --- | --- |\n",
        count_names());
}

int ox_command_ops(ox_args *args) {
    bool markdown = false;
    const char *value;
    while (*args->at) {
        if (ox_args_flag(args, "--markdown"))
            markdown = true;
        else if (ox_args_positional(args, &value))
            return ox_tool_usage(args->command, "unexpected argument '%s'", value);
        else if (args->failed)
            return OX_EXIT_USAGE;
    }
    print_heading(markdown);
    for (size_t i = 0; i < ox_op_count(); i++)
        print_row(i, markdown);
    return OX_EXIT_OK;
}
