/* opset.c: which operator sets are imported, and which operators nodes are of. */
#include "frame/own_op.h"
#include "loader.h"
#include "write_model.h"

/* The newest version that is known, 0 if any may be. */
static int newest_opset(const ox_model *model, const char *domain) {
    for (size_t i = 0; *domain && i < model->options.operator_count; i++)
        if (!ox_text_order(model->operators[i].domain, domain))
            return 0;
    return ox_newest_opset(domain);
}

static ox_status check_version(ox_loader *l, const char *domain, int64_t version) {
    int newest = newest_opset(l->b.model, domain);
    const char *shown = *domain ? domain : "ai.onnx";
    if (version < 1 || version > OX_MOST_VALUES || version > OX_MOST_IDS)
        return ox_fail(l->b.error, OX_ERROR_MODEL,
                       "opset_import: %lld is not a version of domain '%.*s': they start at 1", (long long)version, 80,
                       shown);
    if (newest && version > newest && !l->b.for_info)
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED,
                       "opset %lld of domain '%.*s' is newer than %d, the newest known: convert the model to that",
                       (long long)version, 80, shown, newest);
    return OX_OK;
}

/* A domain that comes twice counts with its highest version. */
static ox_status add_opset(ox_loader *l, ox_opset_table *table, const char *domain, int64_t version) {
    int32_t domain_id;
    OX_TRY(check_version(l, domain, version));
    int32_t at = ox_map_get(&table->index, OX_KEY(domain), table->count);
    if (at < table->count && table->entries[at].version >= version)
        return OX_OK;
    ox_opset_entry *entry = &table->entries[at];
    *entry = (ox_opset_entry){.domain = domain, .version = (int)version};
    if (OX_WITH_USES) {
        OX_TRY(ox_load_id(l, domain, &domain_id));
        OX_TRY(ox_load_pair(l, domain_id, (int32_t)version, &entry->id));
    }
    table->count += at == table->count;
    return ox_build_set(&l->b, &table->index, &l->b.scratch, OX_KEY(domain), at);
}

ox_status ox_load_opsets(ox_loader *l, Onnx__OperatorSetIdProto *const *imports, size_t count, ox_opset_table *table) {
    if (table->ready)
        return OX_OK;
    const char *domain;
    OX_TRY(ox_build_get(&l->b, &l->b.scratch, count + 1, sizeof *table->entries, &table->entries));
    for (size_t i = 0; i < count; i++) {
        OX_TRY(ox_load_domain(l, imports[i]->domain, &domain));
        OX_TRY(add_opset(l, table, domain, imports[i]->version));
    }
    if (!count && l->b.model->info.ir_version < 3) {
        OX_TRY(ox_load_domain(l, "", &domain));
        OX_TRY(add_opset(l, table, domain, 1));
    }
    table->ready = true;
    return OX_OK;
}

/* A row that only names an operator that there is none of. */
static ox_status unknown_op(ox_loader *l, const char *domain, const char *name, const ox_op **op) {
    ox_op *made;
    OX_TRY(ox_build_get(&l->b, l->b.pile, 1, sizeof *made, &made));
    *made = (ox_op){.domain = domain, .name = name};
    *op = made;
    return OX_OK;
}

ox_status ox_load_op(ox_loader *l, const ox_env *env, const Onnx__NodeProto *proto, const char *name, ox_node *node) {
    const char *domain, *type;
    int32_t type_id, id;
    OX_TRY(ox_load_domain(l, proto->domain, &domain));
    OX_TRY(ox_build_intern(&l->b, proto->op_type, &type));
    if (!*type)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "it has no op_type");
    int32_t at = ox_map_get(&env->opsets->index, OX_KEY(domain), OX_MISSING);
    if (at == OX_MISSING)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "its domain '%.*s' is not in the opset_import of the %s", 80,
                       *domain ? domain : "ai.onnx", env->function ? "function" : "model");
    const ox_opset_entry *opset = &env->opsets->entries[at];
    node->version = (ox_index)opset->version;
    node->op =
        ox_op_find_in(l->b.model->operators, l->b.model->options.operator_count, domain, type, opset->version, NULL);
    if (!node->op)
        node->op = ox_op_find(domain, type, opset->version, NULL);
    if (OX_WITH_REWRITTEN && !node->op && !ox_text_order(domain, OX_OWN_DOMAIN))
        node->op = ox_own_op(type);
    if (node->op)
        return OX_WITH_USES ? ox_build_count_use(&l->b, node, name, OX_KEY(node->op)) : OX_OK;
    if (!OX_WITH_USES) /* others name all that are missing */
        return (ox_fail)(l->b.error, OX_ERROR_UNSUPPORTED, "this build of the library has no %.*s-%d", 60, type,
                         opset->version);
    OX_TRY(unknown_op(l, domain, type, &node->op));
    OX_TRY(ox_load_id(l, type, &type_id));
    OX_TRY(ox_load_pair(l, opset->id, type_id, &id));
    /* Odd, so that it is no address of an op. */
    return ox_build_count_use(&l->b, node, name, (uintptr_t)id * 2 + 1);
}
