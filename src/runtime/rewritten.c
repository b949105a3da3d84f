/* rewritten.c: hands out the nodes of a model as they are once quantized networks are rewritten. */
#include "frame/frame.h"
#include "frame/own_op.h"
#include "ops/product/matmul_integer.h"
#include "write_model.h"

/* What is read of a graph, found from its outputs backwards. */
typedef struct graph_reader {
    const ox_model *model;
    const ox_graph *graph;
    ox_pile pile;
    bool *needed;     /* of each value */
    int32_t *makers;  /* of each value: the node that gives it, -1 if none does */
    bool *is_written; /* of each node */
    ox_model_writer *to;
    ox_error *error;
} graph_reader;

static bool graph_is_rewritten(const ox_graph *graph) {
    if (ox_graph_written(graph))
        return true;
    for (int n = 0; n < graph->nnodes; n++)
        for (int i = 0; i < graph->nodes[n].nattrs; i++) {
            const ox_attr *attr = &graph->nodes[n].attrs[i];
            if (attr->kind == OX_ATTR_GRAPH && graph_is_rewritten(attr->u.graph))
                return true;
            for (size_t k = 0; attr->kind == OX_ATTR_GRAPHS && k < attr->count; k++)
                if (graph_is_rewritten(attr->u.graphs[k]))
                    return true;
        }
    return false;
}

bool ox_model_is_rewritten(const ox_model *model) {
    return graph_is_rewritten(model->graph);
}

/* Whether a value is the weights of QLinearGemm, which devices read as they lie. */
static bool is_for_gemm(const ox_graph *graph, int v) {
    for (int n = 0; n < graph->nnodes; n++)
        if (graph->nodes[n].op == &ox_op_qlinear_gemm && graph->nodes[n].in[3] == v)
            return true;
    return false;
}

bool ox_node_is_constant(const ox_node_info *info) {
    const ox_node *node = info->node;
    const ox_frame *frame = info->frame;
    for (int k = 0; frame && k < node->nout; k++)
        if (node->out[k] >= 0 && ox_frame_own(frame, node->out[k])->constant && !is_for_gemm(info->graph, node->out[k]))
            return true;
    return false;
}

/* ---- What is read ------------------------------------------------------------------------------------------- */

/* Whether an operator has no row of the table. */
static bool is_own(const ox_node *node) {
    return !*node->op->domain && ox_op_find("", node->op->name, node->version, NULL) != node->op;
}

/* Inputs of a node as they are written. Weights that the rewriter transposes for QLinearGemm are read as they lie. */
static int input_of(const graph_reader *r, const ox_node *node, int i, bool *is_transposed) {
    const int value = node->in[i], maker = value < 0 ? -1 : r->makers[value];
    const ox_node *from = maker < 0 ? NULL : &r->graph->nodes[maker];
    *is_transposed = i == 3 && from && is_own(node) && !ox_text_order(node->op->name, "QLinearGemm") &&
                     !*from->op->domain && !ox_text_order(from->op->name, "Transpose") && !from->nattrs &&
                     ox_graph_weight(r->graph, from->in[0]);
    return *is_transposed ? from->in[0] : value;
}

static void need_inputs(const graph_reader *r, const ox_node *node) {
    bool is_transposed;
    for (int i = 0; i < node->nin; i++) {
        const int value = input_of(r, node, i, &is_transposed);
        if (value >= 0)
            r->needed[value] = true;
    }
    for (int i = node->nin; i < ox_node_named(node); i++)
        r->needed[ox_node_value(node, i)] = true;
}

static ox_status find_needed(graph_reader *r) {
    const ox_graph *graph = r->graph;
    r->needed = ox_pile_array(&r->pile, (size_t)graph->nvalues, sizeof *r->needed);
    r->makers = ox_pile_array(&r->pile, (size_t)graph->nvalues, sizeof *r->makers);
    r->is_written = ox_pile_array(&r->pile, (size_t)graph->nnodes, sizeof *r->is_written);
    if (!r->needed || !r->makers || !r->is_written)
        return OX_ERROR_MEMORY;
    for (int v = 0; v < graph->nvalues; v++)
        r->needed[v] = false, r->makers[v] = -1;
    for (int i = 0; i < graph->noutputs; i++)
        r->needed[graph->outputs[i].value] = true;
    for (int n = 0; n < graph->nnodes; n++)
        for (int k = 0; k < graph->nodes[n].nout; k++)
            if (graph->nodes[n].out[k] >= 0)
                r->makers[graph->nodes[n].out[k]] = n;
    for (int n = graph->nnodes; n-- > 0;) {
        const ox_node *node = &graph->nodes[n];
        r->is_written[n] = false;
        for (int k = 0; k < node->nout; k++)
            r->is_written[n] |= node->out[k] >= 0 && r->needed[node->out[k]];
        if (r->is_written[n])
            need_inputs(r, node);
    }
    return OX_OK;
}

/* ---- Versions ----------------------------------------------------------------------------------------------- */

/* The version of a domain that the model imports. */
static int64_t imported(const ox_model *model, const char *domain) {
    for (size_t i = 0; i < model->info.opset_count; i++)
        if (!ox_text_order(model->info.opsets[i].domain, domain))
            return model->info.opsets[i].version;
    return 0;
}

/* Whether each node is the same if it is read in that version of ONNX's own domain. */
static bool fits_opset(const graph_reader *r, int64_t opset) {
    for (int n = 0; n < r->graph->nnodes; n++) {
        const ox_node *node = &r->graph->nodes[n];
        const ox_op *op = node->op;
        const int version = (int)(*op->domain ? imported(r->model, op->domain) : opset);
        if (!r->is_written[n] || (is_own(node) && ox_own_op(op->name) == op))
            continue;
        if (version < 1 || ox_op_find(op->domain, op->name, version, NULL) != op ||
            ox_op_version(op, version) != ox_op_version(op, node->version) || ox_op_has(op, OX_OP_FUNCTION))
            return false;
    }
    return true;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------- */

/* False if attributes of that kind are not handed out. */
static bool read_attr(const ox_attr *attr, ox_written_attr *to) {
    *to = (ox_written_attr){.name = attr->name, .kind = (int)attr->kind, .count = attr->count};
    if (attr->kind == OX_ATTR_INT || attr->kind == OX_ATTR_FLOAT || attr->kind == OX_ATTR_STRING)
        to->count = 1;
    if (attr->kind == OX_ATTR_INT || attr->kind == OX_ATTR_INTS)
        to->ints = attr->kind == OX_ATTR_INT ? &attr->u.i : attr->u.ints;
    else if (attr->kind == OX_ATTR_FLOAT || attr->kind == OX_ATTR_FLOATS)
        to->floats = attr->kind == OX_ATTR_FLOAT ? &attr->u.f : attr->u.floats;
    else if (attr->kind == OX_ATTR_STRING || attr->kind == OX_ATTR_STRINGS)
        to->strings = attr->kind == OX_ATTR_STRING ? &attr->u.s : attr->u.strings;
    else if (attr->kind == OX_ATTR_TENSOR && attr->u.tensor->dtype != OX_STRING && !attr->u.tensor->strides &&
             ox_dtype_bits(attr->u.tensor->dtype) % 8 == 0)
        to->tensor = attr->u.tensor;
    else
        return false;
    return true;
}

/* All attributes of a node, and that of QLinearGemm whose weights are written as they lie; NULL if some are of other
 * kinds. */
static ox_status read_attrs(graph_reader *r, const ox_node *node, bool is_transposed, ox_written_node *to) {
    static const int64_t one = 1;
    const size_t count = (size_t)node->nattrs;
    ox_written_attr *attrs = ox_pile_array(&r->pile, count + 1, sizeof *attrs);
    if (!attrs)
        return OX_ERROR_MEMORY;
    to->attrs = attrs;
    for (size_t i = 0; i < count && to->attrs; i++)
        if (!read_attr(&node->attrs[i], &attrs[i]))
            to->attrs = NULL;
    attrs[count] = (ox_written_attr){.name = "transB", .kind = OX_ATTR_INT, .count = 1, .ints = &one};
    to->attr_count = count + is_transposed;
    return OX_OK;
}

static ox_status write_node(graph_reader *r, const ox_node *node) {
    const size_t nin = (size_t)node->nin, nout = (size_t)node->nout;
    const char **names = ox_pile_array(&r->pile, nin + nout + 1, sizeof *names);
    bool is_transposed = false, any = false;
    if (!names)
        return OX_ERROR_MEMORY;
    for (size_t i = 0; i < nin; i++, any |= is_transposed) {
        const int value = input_of(r, node, (int)i, &is_transposed);
        names[i] = value < 0 ? "" : ox_graph_name(r->graph, value);
    }
    for (size_t k = 0; k < nout; k++)
        names[nin + k] = node->out[k] < 0 ? "" : ox_graph_name(r->graph, node->out[k]);
    ox_written_node to = {.domain = is_own(node) ? OX_OWN_DOMAIN : node->op->domain,
                          .op = node->op->name,
                          .input_count = nin,
                          .output_count = nout,
                          .inputs = names,
                          .outputs = names + nin};
    OX_TRY(read_attrs(r, node, any, &to));
    r->to->node(r->to->context, &to);
    return OX_OK;
}

static ox_status write_graph(graph_reader *r) {
    const ox_graph *graph = r->graph;
    OX_TRY(find_needed(r));
    r->to->opset = imported(r->model, "");
    if (!fits_opset(r, r->to->opset))
        r->to->opset = ox_newest_opset("");
    if (!fits_opset(r, r->to->opset))
        return ox_fail(r->error, OX_ERROR_UNSUPPORTED, "a node cannot be named in a file");
    for (int n = 0; n < graph->nnodes; n++)
        if (r->is_written[n])
            OX_TRY(write_node(r, &graph->nodes[n]));
    for (int v = 0; v < graph->nvalues; v++)
        if (r->needed[v] && ox_graph_weight(graph, v))
            r->to->weight(r->to->context, ox_graph_name(graph, v));
    return OX_OK;
}

ox_status ox_model_write(const ox_model *model, ox_model_writer *writer, ox_error *error) {
    graph_reader r = {.model = model, .graph = model->graph, .to = writer, .error = error};
    ox_error_clear(error);
    ox_pile_init(&r.pile, ox_default_allocator());
    const ox_status status = write_graph(&r);
    ox_pile_free(&r.pile);
    return status == OX_ERROR_MEMORY ? ox_fail(error, status, "out of memory") : status;
}
