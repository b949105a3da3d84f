/* needs.c: the list of operators and element types that models need, as "make device" takes it. */
#include "needs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "small_conv.h"
#include "write_model.h"
#include "write_plan.h"

static int compare_needs(const void *a, const void *b) {
    const ox_need *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->version > y->version) - (x->version < y->version);
}

void ox_needs_add(ox_needs *needs, const char *name, int64_t version, uint32_t types, bool stays) {
    for (size_t i = 0; i < needs->count; i++)
        if (!strcmp(needs->at[i].name, name) && needs->at[i].version == version) {
            needs->at[i].types |= types;
            needs->at[i].stays |= stays;
            return;
        }
    needs->at = ox_tool_resize(needs->at, (needs->count + 1) * sizeof *needs->at);
    char *copy = ox_tool_alloc(strlen(name) + 1);
    memcpy(copy, name, strlen(name) + 1);
    needs->at[needs->count++] = (ox_need){copy, version, types, stays};
}

/* Arithmetic of bytes, which the loader makes of nodes between quantizations. */
static bool is_arithmetic(const ox_node_info *node) {
    static const char *const names[] = {"QLinearAdd", "QLinearSub", "QLinearMul", "QLinearDiv"};
    for (size_t i = 0; !*node->domain && i < sizeof names / sizeof *names; i++)
        if (!strcmp(node->op, names[i]))
            return true;
    return false;
}

static int64_t greatest(const ox_value_info *info, int first) {
    int64_t most = 0;
    for (int d = first; d < info->rank; d++) {
        const int64_t dim = info->dims[d] > 0 ? info->dims[d] : INT64_MAX;
        most = dim > most ? dim : most;
    }
    return most;
}

/* Whether the loops of devices for bytes surely take a QLinearConv: what src/bare/shape.c asks for, where each size is
 * the greatest, and padding that auto_pad makes is below a kernel's reach. */
static bool is_small(const ox_node_info *node) {
    ox_value_info x, w, y;
    if (ox_node_input(node, 0, &x) || ox_node_input(node, 3, &w) || ox_node_output(node, 0, &y) || x.rank < 3 ||
        x.rank > 4 || w.rank != x.rank || y.rank != x.rank)
        return false;
    const int64_t sizes[] = {greatest(&x, 1), greatest(&w, 0), greatest(&y, 1), ox_node_greatest(node)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > OX_MOST_CONV_SIZE)
            return false;
    const int64_t step = sizes[3] ? sizes[3] : 1, kernel = greatest(&w, 2);
    const int64_t row = ox_conv_band_row(greatest(&y, 2), step, kernel, step);
    return ox_conv_band_fits(row, kernel, step, sizeof(int16_t)) && sizes[1] * kernel <= OX_MOST_CONV_PRODUCTS / kernel;
}

/* An ox_node_fn: average pools and arithmetic of bytes, and convolutions whose groups have one input channel. */
static void add_node_needs(void *context, const ox_node_info *node) {
    ox_needs *needs = context;
    const bool is_quantized = !strcmp(node->op, "QLinearConv");
    ox_value_info weights;
    needs->constants |= ox_node_is_constant(node);
    needs->gemms |= !*node->domain && !strcmp(node->op, "QLinearGemm");
    needs->means |= !*node->domain && !strncmp(node->op, "QLinear", 7) && strstr(node->op, "AveragePool") != NULL;
    needs->arithmetic |= is_arithmetic(node);
    needs->tables |= !*node->domain && !strcmp(node->op, "ByteTable");
    needs->columns |= is_quantized && !is_small(node);
    if (*node->domain || (strcmp(node->op, "Conv") && !is_quantized) || ox_node_int(node, "group", 1) == 1)
        return;
    needs->depth |= !ox_node_input(node, is_quantized ? 3 : 1, &weights) && weights.rank > 1 && weights.dims[1] == 1;
}

/* Looks for a node of an operator. */
typedef struct search {
    const ox_op_use *use;
    bool found;
} search;

/* An ox_node_fn. */
static void compare_node(void *context, const ox_node_info *node) {
    search *s = context;
    s->found |=
        !strcmp(node->op, s->use->name) && !strcmp(node->domain, s->use->domain) && node->version == s->use->version;
}

/* Whether there are nodes of an operator where the loader has rewritten the graph. */
static bool stays(const ox_model *model, const ox_session *session, const ox_op_use *use) {
    search s = {use, false};
    ox_model_visit(model, session, compare_node, &s);
    return s.found;
}

void ox_needs_of_model(ox_needs *needs, const ox_model *model, const ox_session *session, bool planned) {
    ox_model_info info;
    ox_model_get_info(model, &info);
    needs->functions |= !planned && info.function_count > 0;
    needs->quantized |= ox_model_is_rewritten(model);
    for (size_t i = 0; i < ox_model_op_use_count(model); i++) {
        ox_op_use use;
        ox_text name = {0};
        if (ox_model_op_use(model, i, &use))
            continue;
        if (planned)
            continue;
        ox_text_format(&name, "%s%s%s", use.domain, *use.domain ? "." : "", use.name);
        ox_needs_add(needs, name.data, use.version, ox_session_op_types(session, i), stays(model, session, &use));
        ox_text_free(&name);
    }
    ox_model_visit(model, session, add_node_needs, needs);
}

void ox_needs_put(ox_text *out, ox_needs *needs) {
    if (needs->count)
        qsort(needs->at, needs->count, sizeof *needs->at, compare_needs);
    ox_text_put(out, "# Operators, their versions and the element types that they are used with; lists of several\n"
                     "# models can be joined. `with texts` keeps the whole texts of errors.\n");
    if (needs->functions)
        ox_text_put(out, "with functions\n");
    if (needs->external)
        ox_text_put(out, "with external\n");
    if (needs->quantized)
        ox_text_put(out, "with quantized\n");
    if (needs->means)
        ox_text_put(out, "with means\n");
    if (needs->arithmetic)
        ox_text_put(out, "with arithmetic\n");
    if (needs->tables)
        ox_text_put(out, "with tables\n");
    if (needs->gemms)
        ox_text_put(out, "with gemms\n");
    if (needs->trees)
        ox_text_put(out, "with trees\n");
    if (needs->typed)
        ox_text_put(out, "with typed\n");
    if (needs->constants)
        ox_text_put(out, "with constants\n");
    if (needs->moves)
        ox_text_put(out, "with moves\n");
    if (needs->depth)
        ox_text_put(out, "with depth\n");
    if (needs->columns)
        ox_text_put(out, "with columns\n");
    for (size_t i = 0; i < needs->count; i++) {
        ox_text_format(out, "%s %" PRId64, needs->at[i].name, needs->at[i].version);
        for (int type = 1; type < OX_DTYPE_COUNT; type++)
            if (needs->at[i].types >> type & 1)
                ox_text_format(out, " %s", ox_dtype_name((ox_dtype)type));
        ox_text_put(out, needs->at[i].types || needs->at[i].stays ? "\n" : " early\n");
    }
}

void ox_needs_free(ox_needs *needs) {
    for (size_t i = 0; i < needs->count; i++)
        free(needs->at[i].name);
    free(needs->at);
}
