/* embed.c: "ox embed", what a firmware needs to run models. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "align.h"
#include "embed.h"
#include "file.h"
#include "flat.h"
#include "inputs.h"
#include "kind.h"
#include "memory.h"
#include "options.h"
#include "rewritten.h"
#include "slim.h"
#include "tool.h"

typedef struct embedding {
    const char *directory;
    const ox_bindings *bindings;
    ox_limits limits;
    bool names;      /* models keep them, and all that they have */
    bool quantized;  /* the device rewrites quantized networks */
    bool plan;       /* plans in place of models */
    size_t most_ram; /* bytes, SIZE_MAX if not given */
    size_t ram;      /* that the arenas of plans take so far */
    ox_needs needs;
    ox_text written, told; /* what to say of the files, and of sizes */
    ox_error error;
} embedding;

/* One of the models. */
typedef struct embedded {
    const char *path;
    char name[64]; /* an identifier */
    ox_text bytes; /* of the model, with what is rewritten and laid out; empty if it is loaded from its file */
    size_t flat;   /* nodes whose trees are laid out */
    ox_model *model;
    ox_inputs inputs;
    ox_session *session;
    size_t peak; /* bytes of a fixed buffer that loading and running took here */
} embedded;

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static ox_status write_text(const char *path, const ox_text *text, ox_error *error) {
    ox_new_file file;
    ox_status status = ox_file_create(&file, path, error);
    if (status)
        return status;
    fwrite(text->data, 1, text->size, file.stream);
    return ox_file_commit(&file, error);
}

static ox_status write_file(embedding *all, const char *name, const char *ending, const ox_text *text) {
    ox_text path = {0};
    ox_text_format(&path, "%s/%s%s", all->directory, name, ending);
    ox_status status = ox_file_folder(all->directory, &all->error);
    if (!status)
        status = write_text(path.data, text, &all->error);
    if (!status)
        ox_text_format(&all->written, "wrote %s\n", path.data);
    ox_text_free(&path);
    return status;
}

/* The file's name without folder and ending, as an identifier. */
static void name_model(embedded *e) {
    const char *slash = strrchr(e->path, '/'), *start = slash ? slash + 1 : e->path, *dot = strrchr(start, '.');
    size_t size = dot && dot > start ? (size_t)(dot - start) : strlen(start), n = 0;
    if (*start >= '0' && *start <= '9')
        e->name[n++] = '_';
    for (size_t i = 0; i < size && n + 1 < sizeof e->name; i++) {
        char c = start[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        e->name[n++] = fine ? c : '_';
    }
    e->name[n] = 0;
}

/* True if a model that could be loaded from its file cannot be without: it has data in others. */
static bool wants_files(const unsigned char *bytes, size_t size) {
    ox_model *model;
    ox_error error;
    ox_status status = ox_model_load_memory(bytes, size, &(ox_options){.no_integer = true}, &model, &error);
    ox_model_free(model);
    return status != OX_OK;
}

static ox_status write_bytes(embedding *all, const embedded *e, size_t *size) {
    unsigned char *bytes = NULL;
    ox_text slim = {0}, aligned = {0}, out = {0};
    ox_status status = e->bytes.size ? OX_OK : ox_file_read(e->path, &bytes, size, &all->error);
    if (status)
        return status;
    const unsigned char *model = e->bytes.size ? (const unsigned char *)e->bytes.data : bytes;
    if (e->bytes.size)
        *size = e->bytes.size;
    if (all->names)
        ox_text_add(&slim, (const char *)model, *size);
    else if (!ox_slim_model(&slim, model, *size))
        status = ox_tool_fail(&all->error, OX_ERROR_MODEL, "%s: not a model", e->path);
    if (!status && !ox_align_model(&aligned, (const unsigned char *)ox_text_get(&slim), slim.size))
        status = ox_tool_fail(&all->error, OX_ERROR_MODEL, "%s: not a model", e->path);
    all->needs.typed |= ox_model_is_typed((const unsigned char *)ox_text_get(&aligned), aligned.size);
    all->needs.external |= !e->bytes.size && wants_files(model, *size);
    free(bytes);
    *size = aligned.size;
    ox_text_format(&out, "/* %s.c: written by ox embed. */\n#include \"%s.h\"\n\n", e->name, e->name);
    ox_text_format(&out, "_Alignas(16) const unsigned char %s_model[%zu] = {", e->name, aligned.size);
    for (size_t i = 0; i < aligned.size; i++)
        ox_text_format(&out, "%s0x%02x,", i % 16 ? " " : "\n    ", (unsigned)(unsigned char)aligned.data[i]);
    ox_text_put(&out, "\n};\n");
    if (!status)
        status = write_file(all, e->name, ".c", &out);
    ox_text_free(&slim);
    ox_text_free(&aligned);
    ox_text_free(&out);
    return status;
}

static ox_status write_model_header(embedding *all, const embedded *e, size_t size) {
    ox_text out = {0};
    ox_text_format(&out,
                   "/* %s.h: written by ox embed. */\n"
                   "#ifndef EMBEDDED_%s_H\n"
                   "#define EMBEDDED_%s_H\n\n"
                   "/* The model. Weights lie at multiples of %d, or of their elements, and are used in place. */\n"
                   "extern const unsigned char %s_model[%zu];\n\n"
                   "/* A buffer for loading and running it, enough on every machine. What a machine needs exactly is\n"
                   " * ox_fixed.peak after the first run on it. */\n"
                   "#ifndef %s_BUFFER_BYTES\n"
                   "#define %s_BUFFER_BYTES %zu\n"
                   "#endif\n\n"
                   "#endif\n",
                   e->name, e->name, e->name, (int)OX_WORD, e->name, size, e->name, e->name, e->peak);
    ox_status status = write_file(all, e->name, ".h", &out);
    ox_text_free(&out);
    return status;
}

static void put_input(ox_text *out, const ox_array *array, size_t index) {
    const ox_tensor *t = &array->tensor;
    size_t bytes = (size_t)ox_tensor_count(t) * ox_dtype_size(t->dtype);
    ox_text_format(out, "/* %s ", ox_dtype_name(t->dtype));
    ox_text_shape(out, t->rank, t->dims);
    ox_text_format(out, " */\nstatic _Alignas(16) unsigned char input%zu[%zu];\n", index, bytes ? bytes : 1);
    ox_text_format(out, "static const int64_t dims%zu[] = {", index);
    for (int d = 0; d < t->rank; d++)
        ox_text_format(out, "%s%" PRId64, d ? ", " : "", t->dims[d]);
    ox_text_put(out, t->rank ? "};\n" : "0};\n");
}

/* What main.c prints besides elements. */
static const char printing[] =
    "static void print_outputs(const ox_model *model, const ox_session *session) {\n"
    "    ox_value_info info;\n"
    "    ox_tensor output;\n"
    "    for (size_t i = 0; !ox_model_output(model, i, &info); i++) {\n"
    "        printf(\"%s:\", info.name);\n"
    "        if (!ox_session_output(session, i, &output, NULL))\n"
    "            print_elements(&output);\n"
    "    }\n"
    "    printf(\"%lu bytes of the buffer of %lu are enough\\n\", (unsigned long)buffer_peak, (unsigned long)sizeof buffer);\n"
    "}\n"
    "#endif\n\n";

static void put_inputs(ox_text *out, const embedded *e) {
    for (size_t i = 0; i < e->inputs.count; i++)
        if (!e->inputs.infos[i].optional)
            ox_text_format(
                out,
                "    const ox_tensor tensor%zu = {.dtype = (ox_dtype)%d, .rank = %d, .dims = dims%zu, .data = "
                "input%zu};\n"
                "    if (ox_session_set_input(*session, %zu, &tensor%zu, &error))\n"
                "        return error.status;\n",
                i, (int)e->inputs.arrays[i].tensor.dtype, e->inputs.arrays[i].tensor.rank, i, i, i, i);
}

static ox_status write_model_main(embedding *all, const embedded *e) {
    ox_text out = {0};
    ox_text_format(
        &out,
        "/* main.c: runs a model out of flash, in one fixed buffer, and says what it computed. Written by ox "
        "embed. */\n"
        "#include \"ox.h\"\n\n#include \"%s.h\"\n\n",
        e->name);
    for (size_t i = 0; i < e->inputs.count; i++)
        if (!e->inputs.infos[i].optional)
            put_input(&out, &e->inputs.arrays[i], i);
    ox_text_format(&out,
                   "\n_Alignas(16) static unsigned char buffer[%s_BUFFER_BYTES];\n"
                   "ox_error error;       /* why it failed */\n"
                   "size_t buffer_peak;   /* bytes of the buffer that it takes */\n"
                   "const void *result;   /* elements of the first output */\n\n",
                   e->name);
    ox_text_put(&out, ox_embed_printing);
    ox_text_put(&out, printing);
    ox_text_format(&out,
                   "static ox_status run(const ox_options *options, ox_model **model, ox_session **session) {\n"
                   "    ox_tensor output;\n"
                   "    if (ox_model_load_memory(%s_model, sizeof %s_model, options, model, &error) ||\n"
                   "        ox_session_create(*model, NULL, session, &error))\n"
                   "        return error.status;\n",
                   e->name, e->name);
    put_inputs(&out, e);
    ox_text_put(&out, "    if (ox_session_run(*session, &error) || ox_session_output(*session, 0, &output, &error))\n"
                      "        return error.status;\n"
                      "    result = output.data;\n"
                      "    return OX_OK;\n"
                      "}\n\n"
                      "int main(void) {\n"
                      "    ox_fixed fixed;\n"
                      "    ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, sizeof buffer);\n"
                      "    const ox_options options = {.allocator = &allocator};\n"
                      "    ox_model *model = NULL;\n"
                      "    ox_session *session = NULL;\n"
                      "    const ox_status status = run(&options, &model, &session);\n"
                      "    buffer_peak = fixed.peak;\n"
                      "#ifndef NO_PRINTF\n"
                      "    if (status)\n"
                      "        printf(\"it failed: %s\\n\", error.text);\n"
                      "    else\n"
                      "        print_outputs(model, session);\n"
                      "#endif\n"
                      "    return status ? 1 : 0;\n"
                      "}\n");
    ox_status status = write_file(all, "main", ".c", &out);
    ox_text_free(&out);
    return status;
}

/* ---- Models ----------------------------------------------------------------------------------------------------- */

static ox_status run_on_zeros(embedding *all, embedded *e) {
    ox_text open = {0};
    ox_status status = ox_inputs_create(&e->inputs, e->model, all->bindings, &all->error);
    if (!status && ox_inputs_open_dims(&e->inputs, &open))
        status = ox_tool_fail(&all->error, OX_ERROR_ARGUMENT, "%s: give %s", e->path, open.data);
    ox_text_free(&open);
    for (size_t i = 0; i < e->inputs.count && !status; i++)
        if (!e->inputs.infos[i].optional)
            e->inputs.sources[i] = "@zeros";
    if (!status)
        status = ox_inputs_load(&e->inputs, &all->error);
    if (!status)
        status = ox_session_create(e->model, NULL, &e->session, &all->error);
    if (!status)
        status = ox_inputs_set(&e->inputs, e->session, &all->error);
    return status ? status : ox_session_run(e->session, &all->error);
}

/* Inputs and results of steps are alive whatever the device is: what they take has to fit. */
static ox_status check_ram(embedding *all, const embedded *e, const ox_plan_writer *sizes) {
    if (sizes->value_bytes <= all->most_ram - all->ram)
        return OX_OK;
    ox_text before = {0};
    if (all->ram)
        ox_text_format(&before, ", behind the %zu of other plans", all->ram);
    ox_tool_fail(&all->error, OX_ERROR_LIMIT,
                 "%s: inputs and what steps give take %zu bytes of RAM at once%s: more than the %zu of --max-ram",
                 e->path, sizes->value_bytes, ox_text_get(&before), all->most_ram);
    ox_text_free(&before);
    return OX_ERROR_LIMIT;
}

static ox_status write_model(embedding *all, const embedded *e, bool first) {
    size_t size;
    ox_plan_writer sizes;
    ox_error error;
    ox_status status = ox_embed_sizes(e->session, &sizes, &error);
    const bool known = !status; /* of graphs that no plan as constants can be of, nothing is known before they run */
    if (status == OX_ERROR_MEMORY)
        return status;
    status = known ? check_ram(all, e, &sizes) : OX_OK;
    if (!status)
        status = write_bytes(all, e, &size);
    if (!status)
        status = write_model_header(all, e, size);
    if (!status)
        ox_text_format(&all->told, "%s: flash: %zu bytes of model, and the library's code; RAM: ", e->name, size);
    if (!status && known)
        ox_text_format(&all->told, "%zu bytes of inputs and results of steps, and graph, plan, workspaces and stack\n",
                       sizes.value_bytes);
    else if (!status)
        ox_text_put(&all->told, "known when it has run\n");
    return status || !first ? status : write_model_main(all, e);
}

static ox_status write_plan(embedding *all, const embedded *e, bool first) {
    ox_plan_file file = {.name = e->name,
                         .session = e->session,
                         .inputs = &e->inputs,
                         .needs = &all->needs,
                         .most_bytes = all->most_ram - all->ram};
    ox_status status = ox_embed_plan(&file, first, &all->error);
    if (!status)
        status = check_ram(all, e, &file.sizes);
    if (!status)
        status = write_file(all, e->name, ".c", &file.source);
    if (!status)
        status = write_file(all, e->name, ".h", &file.header);
    if (!status && first)
        status = write_file(all, "main", ".c", &file.program);
    if (!status)
        ox_text_format(
            &all->told,
            "%s: flash: %zu bytes of weights and other constants, %zu of %zu steps and their tensors, and the "
            "code of their operators; RAM: %zu bytes of inputs and results of steps, %zu for work, and stack\n",
            e->name, file.sizes.constant_bytes, file.sizes.table_bytes, file.sizes.step_count, file.sizes.value_bytes,
            file.arena_bytes - file.sizes.value_bytes);
    if (!status)
        all->ram += file.arena_bytes;
    ox_text_free(&file.source);
    ox_text_free(&file.header);
    ox_text_free(&file.program);
    return status;
}

/* Whether some node has its trees in attributes. */
static bool has_trees(const embedded *e) {
    size_t count = 0;
    ox_op_use use;
    for (size_t i = 0; !ox_model_op_use(e->model, i, &use); i++)
        if (!strcmp(use.domain, "ai.onnx.ml") && !strncmp(use.name, "TreeEnsemble", 12))
            count += use.count;
    return count > e->flat;
}

/* Rewrites a quantized network, and lays the trees of a model out. It is then loaded from these bytes, aligned as the
 * device has them: not if it has data in other files. */
static ox_status prepare_bytes(embedding *all, embedded *e) {
    unsigned char *bytes;
    size_t size;
    ox_text rewritten = {0}, flat = {0};
    if (all->names)
        return OX_OK;
    const ox_status status = ox_file_read(e->path, &bytes, &size, &all->error);
    if (status)
        return status;
    if (!wants_files(bytes, size)) {
        const bool is_rewritten = !all->quantized && ox_rewrite_model(&rewritten, bytes, size);
        const unsigned char *model = is_rewritten ? (const unsigned char *)rewritten.data : bytes;
        size = is_rewritten ? rewritten.size : size;
        const bool is_flat = ox_flatten_model(&flat, model, size, &e->flat) && e->flat;
        e->flat = is_flat ? e->flat : 0;
        if (is_flat)
            model = (const unsigned char *)flat.data, size = flat.size;
        if ((is_flat || is_rewritten) && !ox_align_model(&e->bytes, model, size)) {
            ox_text_free(&e->bytes);
            e->flat = 0;
        }
    }
    ox_text_free(&rewritten);
    ox_text_free(&flat);
    free(bytes);
    return OX_OK;
}

static ox_status load(embedding *all, embedded *e, const ox_options *options) {
    ox_status status = prepare_bytes(all, e);
    if (!status && e->bytes.size)
        return ox_model_load_memory(e->bytes.data, e->bytes.size, options, &e->model, &all->error);
    if (!status)
        status = ox_model_load_file(e->path, options, &e->model, &all->error);
    if (status)
        ox_kind_explain(e->path, &all->error);
    return status;
}

/* Loads and runs in a fixed buffer that grows until it is enough. */
static ox_status embed_model(embedding *all, const char *path, bool first) {
    embedded e = {.path = path};
    ox_status status = OX_ERROR_MEMORY;
    name_model(&e);
    for (size_t room = 1 << 20; status == OX_ERROR_MEMORY && room < SIZE_MAX / 4; room *= 4) {
        unsigned char *buffer = ox_tool_alloc(room);
        ox_fixed fixed;
        ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, room);
        const ox_options options = {
            .allocator = &allocator, .limits = all->limits, .no_fuse = true, .isa = "base"}; /* as in a firmware */
        e.session = NULL;
        status = load(all, &e, &options);
        if (!status)
            status = run_on_zeros(all, &e);
        e.peak = fixed.peak;
        if (!status) {
            ox_needs_of_model(&all->needs, e.model, e.session, all->plan);
            all->needs.trees |= has_trees(&e);
            status = all->plan ? write_plan(all, &e, first) : write_model(all, &e, first);
        }
        ox_session_free(e.session);
        ox_inputs_free(&e.inputs);
        ox_model_free(e.model);
        ox_text_free(&e.bytes);
        free(buffer);
        e = (embedded){.path = path};
        name_model(&e);
    }
    return status;
}

/* A folder that is called like a file is a mistake. */
static ox_status check_folder(const char *path, ox_error *error) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    if (dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0))
        return ox_tool_fail(error, OX_ERROR_ARGUMENT,
                            "-o wants a folder, not a file like '%s': it gets a .c and a .h named after each model",
                            path);
    return OX_OK;
}

static int embed(embedding *all, char **paths, size_t count) {
    ox_text out = {0};
    ox_status status = check_folder(all->directory, &all->error);
    for (size_t i = 0; i < count && !status; i++)
        status = embed_model(all, paths[i], i == 0);
    if (!status) {
        ox_needs_put(&out, &all->needs);
        status = write_file(all, "ops", ".txt", &out);
    }
    if (!status)
        printf("%s%s", ox_text_get(&all->written), ox_text_get(&all->told));
    ox_text_free(&out);
    ox_text_free(&all->written);
    ox_text_free(&all->told);
    ox_needs_free(&all->needs);
    return status ? ox_options_failed(&all->error) : OX_EXIT_OK;
}

int ox_command_embed(ox_args *args) {
    char **paths = NULL;
    size_t count = 0;
    const char *value;
    ox_bindings bindings = {0};
    embedding all = {.bindings = &bindings, .most_ram = SIZE_MAX};
    int status = OX_EXIT_OK;
    while (*args->at && !status) {
        if (ox_args_option(args, "-o", &all.directory) || ox_options_take_limits(args, &all.limits, &status))
            continue;
        if (ox_args_flag(args, "--names")) {
            all.names = true;
            continue;
        }
        if (ox_args_option(args, "--max-ram", &value)) {
            if (!ox_options_read_size(value, &all.most_ram))
                status = ox_tool_usage(args->command, "--max-ram wants bytes, such as 64K, not '%s'", value);
            continue;
        }
        if (ox_args_flag(args, "--keep-quantized")) {
            all.quantized = true;
            continue;
        }
        if (ox_args_flag(args, "--plan")) {
            all.plan = true;
            continue;
        }
        if (ox_args_option(args, "-d", &value) || ox_args_option(args, "--dim", &value)) {
            if (!ox_bindings_add(&bindings, value))
                status = ox_tool_usage(args->command, "-d wants DIM=N, not '%s'", value);
        } else if (ox_args_positional(args, &value)) {
            paths = ox_tool_resize(paths, (count + 1) * sizeof *paths);
            paths[count++] = (char *)(uintptr_t)value;
        } else if (args->failed) {
            status = OX_EXIT_USAGE;
        }
    }
    if (!status && args->failed)
        status = OX_EXIT_USAGE;
    if (!status && all.plan && all.names)
        status = ox_tool_usage(args->command, "a plan has no names: --names or --plan, not both");
    if (!status && (!count || !all.directory))
        status = ox_tool_usage(args->command, "which models, and where to? ox embed MODEL... -o DIR");
    if (!status)
        status = embed(&all, paths, count);
    ox_bindings_free(&bindings);
    free(paths);
    return status;
}
