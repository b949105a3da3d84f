/* embed_plan.c: "ox embed --plan": the source of a plan, its header, and a program that runs it. */
#include "embed.h"

#include <string.h>

#include "tool.h"

enum {
    WORK_BYTES = 8192 /* of the arena, for what steps take for a while, until the board has told */
};

/* What main.c prints, unless a board has no printf. */
const char ox_embed_printing[] =
    "#ifndef NO_PRINTF /* a board without it: result and buffer_peak are there all the same */\n"
    "#include <stdio.h>\n\n"
    "/* The first elements of a tensor. */\n"
    "static void print_elements(const ox_tensor *tensor) {\n"
    "    const int64_t count = ox_tensor_count(tensor);\n"
    "    const void *data = tensor->data;\n"
    "    for (int64_t i = 0; i < count && i < 16; i++)\n"
    "        switch (tensor->dtype) {\n"
    "        case OX_FLOAT: printf(\" %g\", (double)((const float *)data)[i]); break;\n"
    "        case OX_DOUBLE: printf(\" %g\", ((const double *)data)[i]); break;\n"
    "        case OX_INT8: printf(\" %d\", ((const int8_t *)data)[i]); break;\n"
    "        case OX_BOOL:\n"
    "        case OX_UINT8: printf(\" %u\", ((const uint8_t *)data)[i]); break;\n"
    "        case OX_INT16: printf(\" %d\", ((const int16_t *)data)[i]); break;\n"
    "        case OX_UINT16: printf(\" %u\", ((const uint16_t *)data)[i]); break;\n"
    "        case OX_INT32: printf(\" %ld\", (long)((const int32_t *)data)[i]); break;\n"
    "        case OX_UINT32: printf(\" %lu\", (unsigned long)((const uint32_t *)data)[i]); break;\n"
    "        case OX_INT64: printf(\" %ld\", (long)((const int64_t *)data)[i]); break;\n"
    "        case OX_UINT64: printf(\" %lu\", (unsigned long)((const uint64_t *)data)[i]); break;\n"
    "        default: printf(\" ?\"); break;\n"
    "        }\n"
    "    printf(count > 16 ? \" ...\\n\" : \"\\n\");\n"
    "}\n\n";

static const char program[] =
    "static ox_status run(void) {\n"
    "    ox_status status = ox_planned_check(&NAME_plan, &error);\n"
    "    if (!status)\n"
    "        status = ox_planned_bytes(&NAME_plan, &arena_need, &error); /* before inputs are written */\n"
    "    for (size_t i = 0; i < NAME_plan.ninputs; i++) {\n"
    "        const ox_tensor *input = ox_planned_input(&NAME_plan, i);\n"
    "        if (input && !status)\n"
    "            memset(input->data, 0, (size_t)ox_tensor_count(input) * ox_dtype_size(input->dtype));\n"
    "    }\n"
    "    if (!status)\n"
    "        status = ox_planned_run(&NAME_plan, &error);\n"
    "    if (!status)\n"
    "        result = ox_planned_output(&NAME_plan, 0)->data;\n"
    "    return status;\n"
    "}\n\n"
    "int main(void) {\n"
    "    const ox_status status = run();\n"
    "#ifndef NO_PRINTF\n"
    "    if (status)\n"
    "        printf(\"it failed: %s\\n\", error.text);\n"
    "    else\n"
    "        print_outputs();\n"
    "#endif\n"
    "    return status ? 1 : 0;\n"
    "}\n";

static const char outputs[] =
    "static const char *const names[] = {NAMES};\n\n"
    "static void print_outputs(void) {\n"
    "    for (size_t i = 0; i < NAME_plan.noutputs; i++) {\n"
    "        printf(\"%s:\", names[i]);\n"
    "        print_elements(ox_planned_output(&NAME_plan, i));\n"
    "    }\n"
    "    printf(\"%lu bytes of the arena of %lu are enough\\n\", (unsigned long)arena_need, (unsigned long)NAME_ARENA_BYTES);\n"
    "}\n"
    "#endif\n\n";

/* Puts a text with the plan's name where NAME stands, and `names` for NAMES. */
static void put_named(ox_text *out, const char *text, const char *name, const char *names) {
    for (const char *found; (found = strstr(text, "NAME")) != NULL;) {
        const bool all = found[4] == 'S';
        ox_text_add(out, text, (size_t)(found - text));
        ox_text_put(out, all ? names : name);
        text = found + (all ? 5 : 4);
    }
    ox_text_put(out, text);
}

static void put_program(ox_plan_file *file, const char *names) {
    ox_text_format(&file->program,
                   "/* main.c: runs a plan out of flash, and says what it computed. Written by ox embed --plan. */\n"
                   "#include <string.h>\n\n#include \"%s.h\"\n\n"
                   "ox_error error;     /* why it failed */\n"
                   "size_t arena_need;  /* bytes of the arena that it takes */\n"
                   "const void *result; /* elements of the first output */\n\n",
                   file->name);
    ox_text_put(&file->program, ox_embed_printing);
    put_named(&file->program, outputs, file->name, names);
    put_named(&file->program, program, file->name, names);
}

static void put_header(ox_plan_file *file) {
    const char *name = file->name;
    ox_text_format(&file->header,
                   "/* %s.h: written by ox embed --plan. */\n"
                   "#ifndef EMBEDDED_%s_H\n"
                   "#define EMBEDDED_%s_H\n\n"
                   "#include \"runtime/planned.h\"\n\n"
                   "extern const ox_planned %s_plan;\n\n"
                   "/* Its memory: %zu bytes for inputs and what steps give, and what steps take besides for a while,\n"
                   " * which depends on the processor: ox_planned_bytes tells how many are needed in all. */\n"
                   "#ifndef %s_ARENA_BYTES\n"
                   "#define %s_ARENA_BYTES %zu\n"
                   "#endif\n\n"
                   "#endif\n",
                   name, name, name, name, file->sizes.value_bytes, name, name, file->arena_bytes);
}

static void take_text(void *context, const char *text, size_t size) {
    ox_plan_file *file = context;
    ox_text_add(&file->source, text, size);
}

static void take_op(void *context, const char *domain, const char *name, int64_t version, uint32_t types) {
    ox_plan_file *file = context;
    ox_text full = {0};
    ox_text_format(&full, "%s%s%s", domain, *domain ? "." : "", name);
    ox_needs_add(file->needs, full.data, version, types, true);
    ox_text_free(&full);
}

/* The names of the outputs, as C has lists of strings; letters that texts of C give a meaning to are left out. */
static void list_outputs(const ox_inputs *inputs, ox_text *names) {
    ox_value_info info;
    for (size_t i = 0; !ox_model_output(inputs->model, i, &info); i++) {
        ox_text_put(names, i ? ", \"" : "\"");
        for (const char *c = info.name; *c; c++)
            if (*c != '"' && *c != '\\' && *c != '%' && *c != '?' && (unsigned char)*c >= ' ')
                ox_text_add(names, c, 1);
        ox_text_put(names, "\"");
    }
}

ox_status ox_embed_plan(ox_plan_file *file, bool with_program, ox_error *error) {
    ox_text names = {0};
    file->sizes = (ox_plan_writer){.name = file->name, .context = file, .text = take_text, .op = take_op};
    ox_text_format(&file->source, "/* %s.c: a plan as constants. Written by ox embed --plan. */\n#include \"%s.h\"\n\n",
                   file->name, file->name);
    const ox_status status = ox_session_write_plan(file->session, &file->sizes, error);
    file->needs->moves |= file->sizes.has_strides;
    file->arena_bytes = file->sizes.value_bytes + WORK_BYTES;
    if (file->arena_bytes > file->most_bytes)
        file->arena_bytes = file->most_bytes;
    put_header(file);
    list_outputs(file->inputs, &names);
    if (with_program)
        put_program(file, ox_text_get(&names));
    ox_text_free(&names);
    return status;
}

static void drop_text(void *context, const char *text, size_t size) {
    (void)context, (void)text, (void)size;
}

static void drop_op(void *context, const char *domain, const char *name, int64_t version, uint32_t types) {
    (void)context, (void)domain, (void)name, (void)version, (void)types;
}

ox_status ox_embed_sizes(ox_session *session, ox_plan_writer *sizes, ox_error *error) {
    *sizes = (ox_plan_writer){.name = "", .text = drop_text, .op = drop_op};
    return ox_session_write_plan(session, sizes, error);
}
