/* caches.c: see caches.h. */
#include "caches.h"

#include "bound.h"

#if OX_WITH_BOUND
#include "given.h"

/* Inputs that may lie where outputs do: so many from `in` on, each with the output from `out` on. */
typedef struct row {
    const char *domain, *op;
    int in, out, count;
} row;

static const row rows[] = {{"", "TensorScatter", 0, 0, 1},
                           {"com.microsoft", "GroupQueryAttention", 3, 1, 2},
                           {"com.microsoft", "MultiHeadAttention", 6, 1, 2}};

static const row *find_row(const ox_op *op) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!ox_text_order(op->domain, rows[i].domain) && !ox_text_order(op->name, rows[i].op))
            return &rows[i];
    return NULL;
}

/* How often the elements of each value are read. */
static void count_readers(const ox_graph *graph, int *readers) {
    for (int n = 0; n < graph->nnodes; n++) {
        const ox_node *node = &graph->nodes[n];
        for (int i = 0; i < ox_node_reads_in_all(node); i++)
            if (ox_node_value(node, i) >= 0)
                readers[ox_node_value(node, i)]++;
    }
    for (int k = 0; k < graph->noutputs; k++)
        readers[graph->outputs[k].value]++;
}

static int find_input(const ox_graph *graph, int v) {
    for (int j = 0; j < graph->ninputs; j++)
        if (graph->inputs[j].value == v)
            return j;
    return -1;
}

/* Notes the outputs of a node that may lie where its inputs do; `of` has for each value the output that it is, or -1.
 */
static void note_node(const ox_graph *graph, const ox_node *node, const int *readers, const int *of, int *inputs) {
    const row *r = find_row(node->op);
    for (int i = 0; r && i < r->count; i++) {
        const int in = r->in + i < node->nin ? node->in[r->in + i] : -1,
                  out = r->out + i < node->nout ? node->out[r->out + i] : -1;
        if (in >= 0 && out >= 0 && readers[in] == 1 && of[out] >= 0)
            inputs[of[out]] = find_input(graph, in);
    }
}

ox_status ox_caches_find(const ox_frame *frame, int *inputs) {
    const ox_graph *graph = frame->graph;
    const size_t size = (size_t)graph->nvalues * sizeof(int);
    int *readers = ox_alloc(frame->allocator, size), *of = readers ? ox_alloc(frame->allocator, size) : NULL;
    for (int k = 0; k < graph->noutputs; k++)
        inputs[k] = -1;
    for (int v = 0; of && v < graph->nvalues; v++)
        readers[v] = 0, of[v] = -1;
    for (int k = 0; of && k < graph->noutputs; k++)
        of[graph->outputs[k].value] = k;
    if (of)
        count_readers(graph, readers);
    for (int n = 0; of && n < graph->nnodes; n++)
        note_node(graph, &graph->nodes[n], readers, of, inputs);
    ox_release(frame->allocator, of, of ? size : 0);
    ox_release(frame->allocator, readers, readers ? size : 0);
    return of || !size ? OX_OK : ox_fail_memory(frame->error, "the outputs of a session", size);
}

/* Whether a source looks as the output does, and lies there. */
static bool is_same(const ox_tensor *in, const ox_tensor *output, const void *memory) {
    return in->data == memory && in->dtype == output->dtype &&
           ox_same_dims(in->rank, in->dims, output->rank, output->dims) && ox_tensor_is_packed(in);
}

void ox_caches_look(const ox_frame *frame, ox_extent *inputs) {
    for (int j = 0; j < frame->graph->ninputs; j++) {
        const ox_tensor *in = &frame->sources[j].slot->tensor;
        int64_t before = 0;
        const bool is_there = in->data && !ox_is_value(in->dtype);
        inputs[j].bytes = is_there ? (uintptr_t)ox_given_extent(in, &before) : 0;
        inputs[j].first = (uintptr_t)in->data - (uintptr_t)before;
    }
}

bool ox_caches_fit(const ox_frame *frame, const ox_extent *inputs, int cache, const ox_tensor *output,
                   const void *memory) {
    const uintptr_t start = (uintptr_t)memory,
                    end = start + (uintptr_t)ox_tensor_count(output) * ox_dtype_size(output->dtype);
    for (int j = 0; j < frame->graph->ninputs; j++)
        if (inputs[j].bytes && inputs[j].first < end && start < inputs[j].first + inputs[j].bytes &&
            (j != cache || !is_same(&frame->sources[j].slot->tensor, output, memory) || frame->options->check))
            return false;
    return true;
}
#endif
