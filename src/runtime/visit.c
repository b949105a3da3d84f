/* visit.c: visits the nodes of a model. */
#include "visit.h"

#include "ops/index/unpack_bits.h"
#include "write_plan.h"

/* Whether the loader made the node of an initializer that stays packed: the model has no such node. */
static bool is_made(const ox_graph *graph, const ox_node *node) {
#if OX_WITH_OWN_OPERATORS
    return node->op == &ox_op_unpack_bits && ox_graph_weight(graph, node->in[0]);
#else
    (void)graph, (void)node;
    return false;
#endif
}

/* The frame in which a node runs a subgraph, NULL if it never did. */
static const ox_frame *frame_of(const ox_frame *frame, int n, const ox_graph *graph) {
    const ox_subframes subframes = frame ? ox_frame_inner(frame, n) : (ox_subframes){0};
    for (int i = 0; i < subframes.count; i++)
        if (subframes.frames[i] && subframes.frames[i]->graph == graph)
            return subframes.frames[i];
    return NULL;
}

static void visit_body(const ox_graph *body, const ox_frame *frame, int n, int depth, ox_node_fn *visit,
                       void *context) {
    const ox_graph *run = frame ? ox_graph_for(body, frame->options) : body;
    ox_visit(run, frame_of(frame, n, run), depth + 1, visit, context);
}

static void visit_subgraphs(const ox_graph *graph, const ox_frame *frame, int n, int depth, ox_node_fn *visit,
                            void *context) {
    const ox_node *node = &graph->nodes[n];
    for (int i = 0; i < node->nattrs; i++) {
        const ox_attr *attr = &node->attrs[i];
        if (attr->kind == OX_ATTR_GRAPH)
            visit_body(attr->u.graph, frame, n, depth, visit, context);
        for (size_t k = 0; attr->kind == OX_ATTR_GRAPHS && k < attr->count; k++)
            visit_body(attr->u.graphs[k], frame, n, depth, visit, context);
    }
}

/* True if a stage that is in force has node n. */
static bool is_planned(const ox_frame *frame, int n) {
    return frame->plan.newest && !frame->plan.stale && n < frame->plan.newest->end;
}

static const char *algorithm_of(const ox_frame *frame, int n) {
#if OX_SMALL
    (void)frame, (void)n;
    return "";
#else
    const char *algorithm = frame && is_planned(frame, n) ? ox_frame_prepared(frame, n)->algorithm : NULL;
    return algorithm ? algorithm : "";
#endif
}

void ox_visit(const ox_graph *graph, const ox_frame *frame, int depth, ox_node_fn *visit, void *context) {
    for (int n = 0; n < graph->nnodes; n++) {
        const ox_node *node = &graph->nodes[n];
        if (is_made(graph, node))
            continue;
        ox_node_info info = {.depth = depth,
                             .name = ox_graph_node_name(graph, n),
                             .domain = node->op->domain,
                             .op = node->op->name,
                             .version = ox_op_version(node->op, node->version),
                             .supported = ox_op_is_known(node->op),
                             .input_count = (size_t)node->nin,
                             .output_count = (size_t)node->nout,
                             .algorithm = algorithm_of(frame, n),
                             .node = node,
                             .graph = graph,
                             .frame = frame};
        visit(context, &info);
        if (OX_WITH_SUBGRAPHS)
            visit_subgraphs(graph, frame, n, depth, visit, context);
    }
}

static void take_tensor(ox_value_info *info, const ox_tensor *tensor) {
    info->kind = ox_type_kind(tensor->dtype);
    if (info->kind != OX_KIND_UNKNOWN)
        ox_type_write(info->type, tensor->dtype);
    if (info->kind != OX_KIND_TENSOR)
        return;
    info->dtype = tensor->dtype;
    info->rank = tensor->rank;
    info->dims = tensor->dims;
}

/* What is known of an initializer that stays packed: `dims` are those of all that its node gives. */
static void take_packed(ox_value_info *info, const ox_graph *graph, int v) {
    const ox_dtype dtype = ox_graph_dtype(graph, v);
    for (int n = 0; n < graph->nnodes && !ox_is_value(dtype) && OX_BIT(dtype) & OX_SET_PACKED; n++) {
        const ox_node *node = &graph->nodes[n];
        if (is_made(graph, node) && node->out[0] == v) {
            const ox_tensor shown = ox_unpacked_tensor(node->attrs, node->nattrs);
            take_tensor(info, &shown);
        }
    }
}

/* What the model states of a value that is an input or an initializer. */
static void take_stated(ox_value_info *info, const ox_graph *graph, int v) {
    const ox_slot *weight = ox_graph_weight(graph, v);
    if (weight)
        take_tensor(info, &weight->tensor);
    else
        take_packed(info, graph, v);
    for (int i = 0; i < graph->ninputs; i++) {
        const ox_port *input = &graph->inputs[i];
        if (input->value != v)
            continue;
        info->kind = input->kind;
        if (input->dtype != OX_UNDEFINED)
            ox_type_write(info->type, input->dtype);
        if (input->kind != OX_KIND_TENSOR)
            return;
        info->dtype = input->dtype;
        if (!input->shape)
            return;
        info->rank = input->shape->rank;
        info->dims = input->shape->dims;
        info->dim_names = input->shape->dim_names;
    }
}

static bool gives(const ox_node *node, int v) {
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] == v)
            return true;
    return false;
}

/* True if the value is described: what the nodes behind the newest stage give has no plan, or one that is forgotten. */
static bool is_known(const ox_frame *frame, int n, int v) {
    const ox_graph *graph = frame->graph;
    const int planned = frame->plan.newest && !frame->plan.stale ? frame->plan.newest->end : 0;
    if (is_planned(frame, n) || ox_graph_weight(graph, v))
        return true;
    for (int i = 0; i < frame->nsources; i++)
        if (frame->sources[i].value == v)
            return true;
    for (int m = 0; m < planned; m++)
        if (gives(&graph->nodes[m], v))
            return true;
    return false;
}

static ox_status describe(const ox_node_info *node, const ox_index *values, size_t count, size_t index,
                          ox_value_info *info) {
    const ox_graph *graph = node->graph;
    const ox_frame *frame = node->frame;
    if (index >= count || !info)
        return OX_ERROR_ARGUMENT;
    *info = (ox_value_info){.name = "", .rank = -1};
    const int v = values[index];
    if (v < 0)
        return OX_OK;
    info->name = ox_graph_name(graph, v);
    if (!frame)
        take_stated(info, graph, v);
    else if (is_known(frame, (int)((const ox_node *)node->node - graph->nodes), v))
        take_tensor(info, &ox_frame_slot(frame, v)->tensor);
    return OX_OK;
}

ox_status ox_node_input(const ox_node_info *node, size_t index, ox_value_info *info) {
    return node ? describe(node, ((const ox_node *)node->node)->in, node->input_count, index, info) : OX_ERROR_ARGUMENT;
}

ox_status ox_node_output(const ox_node_info *node, size_t index, ox_value_info *info) {
    return node ? describe(node, ((const ox_node *)node->node)->out, node->output_count, index, info)
                : OX_ERROR_ARGUMENT;
}

int64_t ox_node_int(const ox_node_info *info, const char *name, int64_t otherwise) {
    const ox_node *node = info ? info->node : NULL;
    for (int i = 0; node && name && i < node->nattrs; i++)
        if (node->attrs[i].kind == OX_ATTR_INT && !ox_text_order(node->attrs[i].name, name))
            return node->attrs[i].u.i;
    return otherwise;
}

int64_t ox_node_greatest(const ox_node_info *info) {
    const ox_node *node = info->node;
    int64_t most = 0;
    for (int i = 0; i < node->nattrs; i++)
        for (size_t k = 0; node->attrs[i].kind == OX_ATTR_INTS && k < node->attrs[i].count; k++) {
            const int64_t number = node->attrs[i].u.ints[k];
            most = number < 0 ? INT64_MAX : number > most ? number : most;
        }
    return most;
}
