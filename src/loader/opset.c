/* opset.c: which operator sets are imported, which operators are used, and which of them are missing. */
#include "build.h"

#include <string.h>

/* The newest version that is known, 0 if any may be. */
static int newest_opset(const ox_model *model, const char *domain) {
    for (size_t i = 0; *domain && i < model->options.operator_count; i++)
        if (!ox_text_order(model->operators[i].domain, domain))
            return 0;
    return ox_newest_opset(domain);
}

static ox_status check_version(ox_builder *b, const char *domain, int64_t version) {
    int newest = newest_opset(b->model, domain);
    const char *shown = *domain ? domain : "ai.onnx";
    if (version < 1 || version > OX_MOST_VALUES || version > OX_MOST_IDS)
        return ox_fail(b->error, OX_ERROR_MODEL, "opset_import: %lld is no version of domain '%.*s': they start at 1",
                       (long long)version, 80, shown);
    if (newest && version > newest && !b->for_info)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED,
                       "opset %lld of domain '%.*s' is newer than %d, the newest known: convert the model to that",
                       (long long)version, 80, shown, newest);
    return OX_OK;
}

/* A domain that comes twice counts with its highest version. */
static ox_status add_opset(ox_builder *b, ox_opset_table *table, const char *domain, int64_t version) {
    int32_t domain_id;
    OX_TRY(check_version(b, domain, version));
    int32_t at = ox_map_get(&table->index, OX_KEY(domain), table->count);
    if (at < table->count && table->entries[at].version >= version)
        return OX_OK;
    OX_TRY(ox_build_id(b, domain, &domain_id));
    ox_opset_entry *entry = &table->entries[at];
    *entry = (ox_opset_entry){.domain = domain, .version = (int)version};
    OX_TRY(ox_build_pair(b, domain_id, (int32_t)version, &entry->id));
    table->count += at == table->count;
    return ox_build_set(b, &table->index, &b->scratch, OX_KEY(domain), at);
}

ox_status ox_build_opsets(ox_builder *b, Onnx__OperatorSetIdProto *const *imports, size_t count,
                          ox_opset_table *table) {
    if (table->ready)
        return OX_OK;
    const char *domain;
    OX_TRY(ox_build_get(b, &b->scratch, count + 1, sizeof *table->entries, &table->entries));
    for (size_t i = 0; i < count; i++) {
        OX_TRY(ox_build_domain(b, imports[i]->domain, &domain));
        OX_TRY(add_opset(b, table, domain, imports[i]->version));
    }
    if (!count && b->model->info.ir_version < 3) {
        OX_TRY(ox_build_domain(b, "", &domain));
        OX_TRY(add_opset(b, table, domain, 1));
    }
    table->ready = true;
    return OX_OK;
}

/* ---- Uses --------------------------------------------------------------------------------------------------- */

static ox_status count_use(ox_builder *b, const ox_node *node, const char *name, uintptr_t key) {
    int32_t at = ox_map_get(&b->use_index, key, OX_MISSING);
    if (at != OX_MISSING) {
        b->uses[at].use.count++;
        return OX_OK;
    }
    OX_TRY(ox_build_grow(b, &b->scratch, &b->uses, b->nuses, &b->use_room, sizeof *b->uses));
    ox_use_entry *entry = &b->uses[b->nuses];
    const bool known = ox_op_is_known(node->op);
    entry->use = (ox_op_use){node->op->domain, node->op->name,
                             known ? ox_op_version(node->op, node->version) : node->version, 1, known};
    entry->node = name;
    return ox_build_set(b, &b->use_index, &b->scratch, key, b->nuses++);
}

/* A row that only names an operator that there is none of. */
static ox_status unknown_op(ox_builder *b, const char *domain, const char *name, const ox_op **op) {
    ox_op *made;
    OX_TRY(ox_build_get(b, b->pile, 1, sizeof *made, &made));
    *made = (ox_op){.domain = domain, .name = name};
    *op = made;
    return OX_OK;
}

ox_status ox_build_op(ox_builder *b, const ox_env *env, const Onnx__NodeProto *proto, const char *name, ox_node *node) {
    const char *domain, *type;
    int32_t type_id, id;
    OX_TRY(ox_build_domain(b, proto->domain, &domain));
    OX_TRY(ox_build_intern(b, proto->op_type, &type));
    if (!*type)
        return ox_fail(b->error, OX_ERROR_MODEL, "it has no op_type");
    int32_t at = ox_map_get(&env->opsets->index, OX_KEY(domain), OX_MISSING);
    if (at == OX_MISSING)
        return ox_fail(b->error, OX_ERROR_MODEL, "its domain '%.*s' is not in the opset_import of the %s", 80,
                       *domain ? domain : "ai.onnx", env->function ? "function" : "model");
    const ox_opset_entry *opset = &env->opsets->entries[at];
    node->version = (ox_index)opset->version;
    node->op = ox_op_find_in(b->model->operators, b->model->options.operator_count, domain, type, opset->version, NULL);
    if (!node->op)
        node->op = ox_op_find(domain, type, opset->version, NULL);
    if (node->op)
        return OX_WITH_USES ? count_use(b, node, name, OX_KEY(node->op)) : OX_OK;
    OX_TRY(unknown_op(b, domain, type, &node->op));
    OX_TRY(ox_build_id(b, type, &type_id));
    OX_TRY(ox_build_pair(b, opset->id, type_id, &id));
    /* Odd, so that it is no address of an op. */
    return count_use(b, node, name, (uintptr_t)id * 2 + 1);
}

bool ox_build_is_op(const ox_node *node, const char *name) {
    return ox_op_is_known(node->op) && !*node->op->domain && !ox_text_order(node->op->name, name) &&
           ox_op_find("", name, node->version, NULL) == node->op;
}

ox_status ox_build_own_op(ox_builder *b, const char *op, const char *name, ox_node *node) {
    node->version = (ox_index)ox_newest_opset("");
    node->op = ox_op_find("", op, node->version, NULL);
    if (!node->op)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "it needs %s, which this build of the library leaves out", op);
    return OX_WITH_USES ? count_use(b, node, name, OX_KEY(node->op)) : OX_OK;
}

static bool use_before(const ox_use_entry *a, const ox_use_entry *b) {
    int order = ox_text_order(a->use.domain, b->use.domain);
    if (!order)
        order = ox_text_order(a->use.name, b->use.name);
    return order < 0 || (!order && a->use.version < b->use.version);
}

static void sift(ox_use_entry *heap, int32_t at, int32_t count) {
    for (int32_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && use_before(&heap[child], &heap[child + 1]);
        if (!use_before(&heap[at], &heap[child]))
            return;
        ox_use_entry moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

static void sort_uses(ox_use_entry *uses, int32_t count) {
    for (int32_t i = count / 2; i-- > 0;)
        sift(uses, i, count);
    for (int32_t last = count; last-- > 1;) {
        ox_use_entry moved = uses[0];
        uses[0] = uses[last];
        uses[last] = moved;
        sift(uses, 0, last);
    }
}

static size_t put_missing(char *text, size_t size, const ox_use_entry *entry, bool first) {
    const ox_op_use *use = &entry->use;
    size_t n = ox_format(text, size, "%s%.*s%s%.*s-%lld ", first ? "" : ", ", 60, use->domain, *use->domain ? "." : "",
                         60, use->name, (long long)use->version);
    bool newer;
    ox_op_find(use->domain, use->name, (int)use->version, &newer);
    const char *later = newer ? "; a later opset has it" : "";
    if (use->count == 1 && *entry->node)
        return n + ox_format(text + n, size - n, "(node '%.*s'%s)", 60, entry->node, later);
    return n + ox_format(text + n, size - n, "(%zu node%s%s)", use->count, use->count == 1 ? "" : "s", later);
}

static ox_status fail_missing(ox_builder *b, int32_t missing) {
    char text[OX_ERROR_TEXT * 3 / 4];
    size_t n = 0;
    for (int32_t i = 0; i < b->nuses && n < sizeof text - 1; i++)
        if (!b->uses[i].use.supported)
            n += put_missing(text + n, sizeof text - n, &b->uses[i], n == 0);
    bool cut = n + 1 >= sizeof text;
    return (ox_fail)(b->error, OX_ERROR_UNSUPPORTED, "%d operator%s not supported: %s%s", (int)missing,
                     missing == 1 ? " is" : "s are", text, cut ? "..." : "");
}

static ox_status keep_uses(ox_builder *b) {
    ox_op_use *uses;
    sort_uses(b->uses, b->nuses);
    OX_TRY(ox_build_get(b, b->pile, (size_t)b->nuses, sizeof *uses, &uses));
    for (int32_t i = 0; i < b->nuses; i++)
        uses[i] = b->uses[i].use;
    b->model->uses = uses;
    b->model->nuses = (size_t)b->nuses;
    return OX_OK;
}

ox_status ox_build_uses(ox_builder *b) {
    int32_t missing = 0;
    if (OX_WITH_USES)
        OX_TRY(keep_uses(b));
    for (int32_t i = 0; i < b->nuses; i++)
        missing += !b->uses[i].use.supported;
    return missing && !b->for_info ? fail_missing(b, missing) : OX_OK;
}
