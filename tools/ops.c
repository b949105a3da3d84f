/* ops.c: "ox ops", the operator table, and what it has of one operator. */
#include <stdio.h>
#include <string.h>

#include "attributes.h"
#include "nearest.h"
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

/* "Conv", "ai.onnx.ml.Scaler" */
static void add_name(ox_text *text, const ox_op_info *info) {
    ox_text_format(text, "%s%s%s", info->domain, *info->domain ? "." : "", info->name);
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
    add_name(&name, &info);
    add_versions(&versions, &info);
    add_types(&types, info.dtypes);
    printf(markdown ? "| %s | %s | %s |\n" : "%-22s %-20s %s\n", name.data, versions.data, ox_text_get(&types));
    ox_text_free(&name);
    ox_text_free(&versions);
    ox_text_free(&types);
}

/* The names among the arguments, one after the other; false behind the last one. */
static bool next_name(ox_args *args, const char **name) {
    while (*args->at) {
        if (ox_args_flag(args, "--markdown") || ox_args_flag(args, "--json"))
            continue;
        return ox_args_positional(args, name);
    }
    return false;
}

/* A name is with or without its domain. */
static bool is_called(const ox_op_info *info, const char *wanted) {
    ox_text name = {0};
    add_name(&name, info);
    const bool is = strcmp(name.data, wanted) == 0 || strcmp(info->name, wanted) == 0;
    ox_text_free(&name);
    return is;
}

/* Those that the arguments name, or all. */
static void print_json(ox_args names) {
    ox_op_info info;
    const char *name;
    size_t count = 0;
    const bool all = !next_name(&(ox_args){.command = names.command, .at = names.at}, &name);
    fputs("{\"operators\": [", stdout);
    for (size_t i = 0; i < ox_op_count() && !ox_op_get(i, &info); i++) {
        bool is_wanted = all;
        for (ox_args rest = names; !is_wanted && next_name(&rest, &name);)
            is_wanted = is_called(&info, name);
        if (!is_wanted)
            continue;
        printf("%s\n  {\"domain\": \"%s\", \"name\": \"%s\", \"versions\": [", count++ ? "," : "", info.domain,
               info.name);
        bool more = false;
        for (int v = 1; v < 64; v++)
            if (info.versions >> v & 1) {
                printf("%s%d", more ? ", " : "", v);
                more = true;
            }
        fputs("], \"types\": [", stdout);
        more = false;
        for (unsigned dtype = 1; dtype < OX_DTYPE_COUNT; dtype++)
            if (info.dtypes >> dtype & 1) {
                printf("%s\"%s\"", more ? ", " : "", ox_dtype_name((ox_dtype)dtype));
                more = true;
            }
        fputs("]}", stdout);
    }
    fputs("\n]}\n", stdout);
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

static void print_table(bool markdown) {
    print_heading(markdown);
    for (size_t i = 0; i < ox_op_count(); i++)
        print_row(i, markdown);
}

/* ---- One operator ------------------------------------------------------------------------------------------------ */

/* "2 to 3", "1", "1 and more" */
static void add_count(ox_text *text, int least, int most) {
    ox_text_format(text, "%d", least);
    if (most == OX_ANY)
        ox_text_put(text, " and more");
    else if (most != least)
        ox_text_format(text, " to %d", most);
}

/* What a row adds to the row before it, an older definition of the operator; nothing for the first one. */
static void add_changes(ox_text *text, const ox_op_info *before, const ox_op_info *now) {
    ox_text types = {0};
    add_types(&types, now->dtypes & ~before->dtypes);
    if (types.size)
        ox_text_format(text, "  new types  %s\n", types.data);
    types.size = 0;
    add_types(&types, before->dtypes & ~now->dtypes);
    if (types.size)
        ox_text_format(text, "  gone       %s\n", types.data);
    ox_text_free(&types);
}

static void print_meaning(const ox_op_info *info, const ox_op_info *before) {
    ox_text text = {0}, types = {0}, versions = {0};
    add_versions(&versions, info);
    ox_text_format(&text, "versions %s", versions.data);
    ox_text_put(&text, before ? ", with another meaning than before\n  inputs     " : "\n  inputs     ");
    add_count(&text, info->min_inputs, info->max_inputs);
    ox_text_put(&text, "\n  outputs    ");
    add_count(&text, info->min_outputs, info->max_outputs);
    add_types(&types, info->dtypes);
    ox_text_format(&text, "\n  types      %s\n", ox_text_get(&types));
    if (before)
        add_changes(&text, before, info);
    ox_attributes_put(&text, info);
    fputs(text.data, stdout);
    ox_text_free(&versions);
    ox_text_free(&types);
    ox_text_free(&text);
}

static int fail_unknown(const char *wanted) {
    ox_nearest nearest = {.wanted = wanted};
    ox_text text = {0};
    ox_op_info info;
    for (size_t i = 0; !ox_op_get(i, &info); i++)
        ox_nearest_add(&nearest, info.name);
    ox_nearest_put(&nearest, &text);
    int status = ox_tool_error("ox has no operator '%s'%s", wanted, ox_text_get(&text));
    ox_text_free(&text);
    return status;
}

static bool is_known(const char *wanted) {
    ox_op_info info;
    for (size_t i = 0; !ox_op_get(i, &info); i++)
        if (is_called(&info, wanted))
            return true;
    return false;
}

/* All rows of the operators of a name. */
static void print_op(const char *wanted) {
    ox_op_info info, before = {0};
    bool found = false;
    for (size_t i = 0; !ox_op_get(i, &info); i++) {
        if (!is_called(&info, wanted))
            continue;
        const bool follows = found && strcmp(before.name, info.name) == 0 && strcmp(before.domain, info.domain) == 0;
        if (!follows)
            printf("%s%s%s\n", info.domain, *info.domain ? "." : "", info.name);
        print_meaning(&info, follows ? &before : NULL);
        before = info;
        found = true;
    }
}

int ox_command_ops(ox_args *args) {
    ox_args names = *args;
    bool markdown = false, json = false, any = false;
    int status = OX_EXIT_OK;
    const char *value;
    while (*args->at) {
        if (ox_args_flag(args, "--markdown"))
            markdown = true;
        else if (ox_args_flag(args, "--json"))
            json = true;
        else if (ox_args_positional(args, &value)) {
            any = true;
            if (!is_known(value))
                status = fail_unknown(value);
        } else if (args->failed)
            return OX_EXIT_USAGE;
    }
    if (markdown && (any || json))
        return ox_tool_usage(args->command, "--markdown prints the whole table, without operators and --json");
    if (json)
        print_json(names);
    else if (!any)
        print_table(markdown);
    else
        while (next_name(&names, &value))
            print_op(value);
    return status;
}
