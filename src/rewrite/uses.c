/* uses.c: which operators are used, and which of them are missing. */
#include "builder.h"

ox_status ox_build_count_use(ox_builder *b, const ox_node *node, const char *name, uintptr_t key) {
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

ox_status ox_build_note_op(ox_builder *b, const ox_op *op, int version) {
    const uintptr_t key = OX_KEY(op);
    const ox_node node = {.op = op, .version = (ox_index)version};
    if (ox_map_get(&b->use_index, key, OX_MISSING) != OX_MISSING)
        return OX_OK;
    OX_TRY(ox_build_count_use(b, &node, "", key));
    b->uses[b->nuses - 1].use.count = 0;
    return OX_OK;
}

bool ox_build_is_op(const ox_node *node, const char *name) {
    return ox_op_is_known(node->op) && !*node->op->domain && !ox_text_order(node->op->name, name) &&
           ox_op_find("", name, node->version, NULL) == node->op;
}

ox_status ox_build_own_op(ox_builder *b, const char *op, const char *name, ox_node *node) {
    static const char *const domains[] = {"", "com.microsoft"};
    for (size_t i = 0; i < sizeof domains / sizeof *domains && !node->op; i++) {
        node->version = (ox_index)ox_newest_opset(domains[i]);
        node->op = ox_op_find(domains[i], op, node->version, NULL);
    }
    if (!node->op)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "it needs %s, which this build of the library leaves out", op);
    return OX_WITH_USES ? ox_build_count_use(b, node, name, OX_KEY(node->op)) : OX_OK;
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
    if (!OX_WITH_USES)
        return OX_OK;
    OX_TRY(keep_uses(b));
    for (int32_t i = 0; i < b->nuses; i++)
        missing += !b->uses[i].use.supported;
    return missing && !b->for_info ? fail_missing(b, missing) : OX_OK;
}
