/* load.c: from bytes to a model. */
#include "load.h"

#include <string.h>

#include "host.h"
#include "ops/custom.h"
#include "runtime/options.h"
#include "build.h"
#include "parse.h"

enum {
    NEWEST_IR = ONNX__VERSION__IR_VERSION
};

static ox_model *create(const ox_allocator *allocator, const ox_options *options) {
    ox_model *made = ox_alloc(allocator, sizeof *made);
    if (!made)
        return NULL;
    *made = (ox_model){.options = *options};
    ox_options_keep(&made->options);
    made->options.extra_outputs = NULL; /* these are of sessions */
    made->options.extra_output_count = 0;
    made->options.limits = ox_limits_or(&made->options.limits, &ox_limits_default);
    made->allocator = ox_meter_allocator(&made->meter, allocator, made->options.limits.bytes, sizeof *made);
    made->options.allocator = &made->allocator;
    ox_pile_init(&made->pile, &made->allocator);
    return made;
}

static ox_status keep_text(ox_model *model, const char *text, const char **kept, ox_error *error) {
    size_t size = text ? ox_text_size(text, SIZE_MAX) : 0;
    *kept = "";
    if (!size)
        return OX_OK;
    char *copy = ox_pile_get(&model->pile, size + 1);
    if (!copy)
        return ox_fail_memory(error, "the model", size + 1);
    *kept = memcpy(copy, text, size);
    return OX_OK;
}

ox_status ox_load_create(const ox_options *options, const char *path, ox_model **model, ox_error *error) {
    const ox_allocator *allocator = ox_options_allocator(options);
    ox_options resolved = options ? *options : (ox_options){0};
    *model = NULL;
    if (!resolved.isa)
        resolved.isa = ox_default_isa();
    OX_TRY(ox_options_check(&resolved, error)); /* what the environment says, too */
    if (!allocator)
        return ox_fail(error, OX_ERROR_ARGUMENT, "there is no default allocator: give one in the options");
    ox_model *made = create(allocator, &resolved);
    if (!made)
        return ox_fail_memory(error, "the model", sizeof *made);
    ox_status status = keep_text(made, path, &made->path, error);
    /* Weights lie in memory twice once they are laid out: not where bytes are limited. */
    if (!status)
        status = ox_store_create(&made->allocator, made->options.limits.bytes == SIZE_MAX ? SIZE_MAX : 0, &made->store,
                                 error);
    if (!status && OX_WITH_OPERATORS)
        status =
            ox_custom_rows(&made->pile, made->options.operators, made->options.operator_count, &made->operators, error);
    else if (!status && made->options.operator_count)
        status = ox_fail(error, OX_ERROR_UNSUPPORTED, "this build of the library takes no operators of its caller's");
    if (status) {
        status = ox_meter_explain(&made->meter, status, error);
        ox_error_prefix(error, "%s: ", path);
        ox_model_free(made);
    } else {
        *model = made;
    }
    return status;
}

void ox_model_free(ox_model *model) {
    if (!model)
        return;
    for (ox_mapping *m = model->mappings; m; m = m->next)
        m->unmap(m->bytes, m->size);
    ox_store_free(model->store);
    ox_pile_free(&model->pile);
    ox_allocator allocator = model->meter.from;
    ox_release(&allocator, model, sizeof *model);
}

/* ---- Filling the model -------------------------------------------------------------------------------------- */

static ox_status check_version(const Onnx__ModelProto *proto, ox_error *error) {
    if (!proto->has_ir_version)
        return ox_fail(error, OX_ERROR_MODEL, "this is not an ONNX model: it has no ir_version");
    if (proto->ir_version < 1)
        return ox_fail(error, OX_ERROR_MODEL, "ir_version %lld is not between 1 and %d", (long long)proto->ir_version,
                       (int)NEWEST_IR);
    if (proto->ir_version > NEWEST_IR)
        return ox_fail(error, OX_ERROR_UNSUPPORTED,
                       "ir_version %lld is newer than %d, the newest known: save the model with that",
                       (long long)proto->ir_version, (int)NEWEST_IR);
    if (!proto->graph)
        return ox_fail(error, OX_ERROR_MODEL, "it has no graph");
    return OX_OK;
}

#if OX_SMALL /* devices do not unpack them */
static ox_status fill_metadata(ox_builder *b) {
    b->model->info.description = "";
    return OX_OK;
}
#else
static ox_status fill_metadata(ox_builder *b) {
    ox_model_info *info = &b->model->info;
    const size_t count = b->proto->n_metadata_props;
    ox_metadata *entries;
    OX_TRY(keep_text(b->model, b->proto->doc_string, &info->description, b->error));
    OX_TRY(ox_build_get(b, b->pile, count, sizeof *entries, &entries));
    for (size_t i = 0; i < count; i++) {
        const Onnx__StringStringEntryProto *from = b->proto->metadata_props[i];
        OX_TRY(keep_text(b->model, from->key, &entries[i].key, b->error));
        OX_TRY(keep_text(b->model, from->value, &entries[i].value, b->error));
    }
    info->metadata = entries;
    info->metadata_count = count;
    return OX_OK;
}
#endif

static ox_status fill_info(ox_builder *b) {
    ox_model *model = b->model;
    ox_model_info *info = &model->info;
    const Onnx__ModelProto *proto = b->proto;
    info->ir_version = proto->ir_version;
    info->model_version = proto->model_version;
    info->function_count = proto->n_functions;
    OX_TRY(keep_text(model, proto->producer_name, &info->producer_name, b->error));
    OX_TRY(keep_text(model, proto->producer_version, &info->producer_version, b->error));
    return keep_text(model, proto->domain, &info->domain, b->error);
}

static ox_status fill_opsets(ox_builder *b) {
    ox_opset *opsets;
    OX_TRY(ox_build_opsets(b, b->proto->opset_import, b->proto->n_opset_import, &b->opsets));
    OX_TRY(ox_build_get(b, b->pile, (size_t)b->opsets.count, sizeof *opsets, &opsets));
    for (int32_t i = 0; i < b->opsets.count; i++) {
        opsets[i].version = b->opsets.entries[i].version;
        OX_TRY(ox_build_text(b, b->opsets.entries[i].domain, &opsets[i].domain));
    }
    b->model->info.opsets = opsets;
    b->model->info.opset_count = (size_t)b->opsets.count;
    return OX_OK;
}

static ox_status build_model(ox_builder *b) {
    ox_graph *graph;
    OX_TRY(check_version(b->proto, b->error));
    OX_TRY(fill_info(b));
    OX_TRY(fill_metadata(b));
    OX_TRY(fill_opsets(b));
    OX_TRY(ox_build_functions(b));
    OX_TRY(ox_build_graph(b, b->parsed, b->proto->graph, NULL, NULL, 0, &graph));
    b->model->graph = graph;
    b->model->info.graph_name = graph->name;
    return ox_build_uses(b);
}

static ox_status build_parsed(ox_model *model, const ox_parsed *parsed, ox_external_fn *external, bool for_info,
                              ox_error *error) {
    ox_builder b = {.model = model,
                    .proto = (const Onnx__ModelProto *)(const void *)parsed->message,
                    .parsed = parsed,
                    .error = error,
                    .pile = &model->pile,
                    .temporary = ox_meter_temporary(&model->meter),
                    .for_info = for_info,
                    .limits = &model->options.limits,
                    .most_nodes = ox_build_most_nodes(&model->options.limits, parsed->whole_size)};
    b.source = (ox_tensor_source){.external_data = model->options.external_data,
                                  .external_context = model->options.external_context,
                                  .external = external,
                                  .context = model,
                                  .missing = OX_WITH_EXTERNAL && for_info ? &model->missing : NULL,
                                  .pile = &model->pile,
                                  .error = error};
    ox_pile_init(&b.scratch, &b.temporary);
    ox_pile_init(&b.envs, &b.temporary);
    ox_status status = build_model(&b);
    ox_names_free(&b.names, &b.temporary);
    ox_pile_free(&b.scratch);
    ox_pile_free(&b.envs);
    return status;
}

/* An ox_store_read_fn: what has been laid out need not stay in memory where it is a part of a file, from which another
 * session may read it again. */
static void forget(const void *context, const void *data, size_t bytes) {
    const ox_model *model = context;
    for (const ox_mapping *m = model->mappings; m; m = m->next) {
        const uintptr_t offset = (uintptr_t)data - (uintptr_t)m->bytes;
        if (offset < m->size)
            m->forget(data, bytes < m->size - offset ? bytes : m->size - offset);
    }
}

ox_status ox_load_bytes(ox_model *model, const void *bytes, size_t size, ox_external_fn *external, bool for_info,
                        ox_error *error) {
    ox_parsed parsed;
    const ox_allocator temporary = ox_meter_temporary(&model->meter);
    ox_status status = ox_limits_file(&model->options.limits, size, error);
    if (!status)
        status = ox_parse(&onnx__model_proto__descriptor, bytes, size, &temporary, &parsed, error);
    if (status == OX_ERROR_MODEL) {
        ox_error_prefix(error, "this is not an ONNX model, or a damaged one: ");
    } else if (!status) {
        status = build_parsed(model, &parsed, external, for_info, error);
        ox_parsed_free(&parsed, &temporary);
    }
    if (status) {
        status = ox_meter_explain(&model->meter, status, error);
        ox_error_prefix(error, "%s: ", model->path);
        ox_model_free(model);
    } else {
        model->loaded_bytes = model->meter.used;
        ox_store_expect(model->store, (size_t)model->info.weight_bytes);
        ox_store_tell(model->store, forget, model);
    }
    return status;
}

ox_status ox_load_memory(const void *bytes, size_t size, const ox_options *options, bool for_info, ox_model **model,
                         ox_error *error) {
    ox_model *made;
    OX_TRY(ox_load_create(options, "model", &made, error));
    OX_TRY(ox_load_bytes(made, bytes, size, NULL, for_info, error));
    *model = made;
    return OX_OK;
}

ox_status ox_model_load_memory(const void *bytes, size_t size, const ox_options *options, ox_model **model,
                               ox_error *error) {
    ox_error_clear(error);
    OX_NEED(model, error);
    *model = NULL;
    if (size)
        OX_NEED(bytes, error);
    return ox_load_memory(bytes, size, options, false, model, error);
}
