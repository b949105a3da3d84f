/* load.c: from bytes to a model. */
#include "load.h"

#include <string.h>

#include "host.h"
#include "ops/custom.h"
#include "runtime/options.h"
#include "loader.h"
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
#if !OX_SMALL
    if (!status)
        status = keep_text(made, ox_default_conv(), &made->conv, error);
#endif
    /* Weights lie in memory twice once they are laid out: not where bytes are limited. */
    if (!status)
        status = ox_store_create(&made->allocator, made->options.limits.bytes == SIZE_MAX ? SIZE_MAX : 0, &made->store,
                                 error);
    if (!status && OX_WITH_OPERATORS)
        status =
            ox_custom_rows(&made->pile, made->options.operators, made->options.operator_count, &made->operators, error);
    else if (!status && made->options.operator_count)
        status = ox_fail(error, OX_ERROR_UNSUPPORTED, "this build of the library does not support custom operators");
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
static ox_status fill_metadata(ox_loader *l) {
    l->b.model->info.description = "";
    return OX_OK;
}
#else
static ox_status fill_metadata(ox_loader *l) {
    ox_model_info *info = &l->b.model->info;
    const size_t count = l->proto->n_metadata_props;
    ox_metadata *entries;
    OX_TRY(keep_text(l->b.model, l->proto->doc_string, &info->description, l->b.error));
    OX_TRY(ox_build_get(&l->b, l->b.pile, count, sizeof *entries, &entries));
    for (size_t i = 0; i < count; i++) {
        const Onnx__StringStringEntryProto *from = l->proto->metadata_props[i];
        OX_TRY(keep_text(l->b.model, from->key, &entries[i].key, l->b.error));
        OX_TRY(keep_text(l->b.model, from->value, &entries[i].value, l->b.error));
    }
    info->metadata = entries;
    info->metadata_count = count;
    return OX_OK;
}
#endif

static ox_status fill_info(ox_loader *l) {
    ox_model *model = l->b.model;
    ox_model_info *info = &model->info;
    const Onnx__ModelProto *proto = l->proto;
    info->ir_version = proto->ir_version;
    info->model_version = proto->model_version;
    info->function_count = proto->n_functions;
    OX_TRY(keep_text(model, proto->producer_name, &info->producer_name, l->b.error));
    OX_TRY(keep_text(model, proto->producer_version, &info->producer_version, l->b.error));
    return keep_text(model, proto->domain, &info->domain, l->b.error);
}

static ox_status fill_opsets(ox_loader *l) {
    ox_opset *opsets;
    OX_TRY(ox_load_opsets(l, l->proto->opset_import, l->proto->n_opset_import, &l->opsets));
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)l->opsets.count, sizeof *opsets, &opsets));
    for (int32_t i = 0; i < l->opsets.count; i++) {
        opsets[i].version = l->opsets.entries[i].version;
        OX_TRY(ox_build_text(&l->b, l->opsets.entries[i].domain, &opsets[i].domain));
    }
    l->b.model->info.opsets = opsets;
    l->b.model->info.opset_count = (size_t)l->opsets.count;
    return OX_OK;
}

static ox_status build_model(ox_loader *l) {
    ox_graph *graph;
    OX_TRY(check_version(l->proto, l->b.error));
    OX_TRY(fill_info(l));
    OX_TRY(fill_metadata(l));
    OX_TRY(fill_opsets(l));
    OX_TRY(ox_load_functions(l));
    OX_TRY(ox_load_graph(l, l->parsed, l->proto->graph, NULL, NULL, 0, &graph));
    l->b.model->graph = graph;
    l->b.model->info.graph_name = graph->name;
    return ox_build_uses(&l->b);
}

/* The nodes that a model may have, of so many bytes without weights. */
static size_t most_nodes_of(const ox_limits *limits, uint64_t size) {
    const uint64_t most = OX_EXPAND_BASE + size * OX_EXPAND_FACTOR;
    return limits->nodes ? limits->nodes : most < OX_MAX_NODES ? (size_t)most : OX_MAX_NODES;
}

static ox_status build_parsed(ox_model *model, const ox_parsed *parsed, ox_external_fn *external, bool for_info,
                              ox_error *error) {
    ox_loader l = {.proto = (const Onnx__ModelProto *)(const void *)parsed->message, .parsed = parsed};
    ox_builder *b = &l.b;
    *b = (ox_builder){.model = model,
                      .error = error,
                      .pile = &model->pile,
                      .temporary = ox_meter_temporary(&model->meter),
                      .for_info = for_info,
                      .limits = &model->options.limits,
                      .model_bytes = parsed->whole_size,
                      .most_nodes = most_nodes_of(&model->options.limits, parsed->whole_size)};
    l.source = (ox_tensor_source){.external_data = model->options.external_data,
                                  .external_context = model->options.external_context,
                                  .external = external,
                                  .context = model,
                                  .missing = OX_WITH_EXTERNAL && for_info ? &model->missing : NULL,
                                  .pile = &model->pile,
                                  .error = error};
    ox_pile_init(&b->scratch, &b->temporary);
    ox_pile_init(&b->stack, &b->temporary);
    ox_status status = build_model(&l);
    ox_names_free(&b->names, &b->temporary);
    ox_pile_free(&b->scratch);
    ox_pile_free(&b->stack);
    return status;
}

/* An ox_store_read_fn: releases the memory of weights that have been packed, if they are a part of a file, from which
 * another session can read them again. */
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

#if !OX_SMALL
ox_status ox_model_load_to_write(const void *bytes, size_t size, ox_model **model, ox_error *error) {
    ox_model *made;
    ox_error_clear(error);
    OX_TRY(ox_load_create(&(ox_options){.no_fuse = true, .isa = "base"}, "model", &made, error));
    made->to_write = true;
    OX_TRY(ox_load_bytes(made, bytes, size, NULL, false, error));
    *model = made;
    return OX_OK;
}
#endif

ox_status ox_model_load_memory(const void *bytes, size_t size, const ox_options *options, ox_model **model,
                               ox_error *error) {
    ox_error_clear(error);
    OX_NEED(model, error);
    *model = NULL;
    if (size)
        OX_NEED(bytes, error);
    return ox_load_memory(bytes, size, options, false, model, error);
}
