/* samples.c: see samples.h. */
#include "samples.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const int64_t n_by_4[] = {-1, 4}, n_by_1[] = {-1, 1}, four[] = {4}, four_by_4[] = {4, 4}, any[] = {-1};

static float *add_floats(ox_feed *feed, int rank, int64_t a, int64_t b) {
    int k = feed->count++;
    feed->dims[k][0] = a;
    feed->dims[k][1] = b;
    feed->tensor[k] = (ox_tensor){OX_FLOAT, rank, feed->dims[k], NULL, &feed->data[k]};
    int64_t count = ox_tensor_count(&feed->tensor[k]);
    ck_assert_int_le(count, OX_SAMPLE_FLOATS);
    for (int64_t i = 0; i < count; i++)
        feed->data[k].f[i] = (float)((i * 7 + k) % 11) - 4.5f;
    return feed->data[k].f;
}

/* Broadcasting and a chain of elementwise nodes. */
static void build_chain(ox_bytes *model) {
    ox_bytes graph = {0};
    ox_put_input(&graph, "a", OX_FLOAT, 2, n_by_4);
    ox_put_input(&graph, "b", OX_FLOAT, 1, four);
    ox_put_input(&graph, "c", OX_FLOAT, 2, n_by_1);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_output(&graph, "t", OX_FLOAT, -1, NULL);
    ox_put_node(&graph, "Add", "a,b", "s", NULL);
    ox_put_node(&graph, "Mul", "s,c", "t", NULL);
    ox_put_node(&graph, "Max", "t,b,a", "m", NULL);
    ox_put_node(&graph, "Relu", "m", "y", NULL);
    ox_put_model(model, &graph, 17);
}

static void feed_chain(ox_feed *feed, int64_t n) {
    add_floats(feed, 2, n, 4);
    add_floats(feed, 1, 4, 0);
    add_floats(feed, 2, n, 1);
}

/* A dense layer: packed weights, a workspace, a reduction. */
static void build_dense(ox_bytes *model) {
    ox_bytes graph = {0};
    float weights[16], bias[4] = {1, -1, 0.5f, 2};
    for (int i = 0; i < 16; i++)
        weights[i] = (float)(i % 5) - 2;
    ox_put_input(&graph, "x", OX_FLOAT, 2, n_by_4);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_initializer(&graph, "w", OX_FLOAT, 2, four_by_4, weights);
    ox_put_initializer(&graph, "b", OX_FLOAT, 1, four, bias);
    ox_put_node(&graph, "Gemm", "x,w,b", "g", NULL);
    ox_put_node(&graph, "PRelu", "g,b", "p", NULL);
    ox_put_node(&graph, "MatMul", "p,w", "m", NULL);
    ox_put_node(&graph, "Softmax", "m", "y", NULL);
    ox_put_model(model, &graph, 17);
}

/* Rows that are divided by their sum and multiplied by the length of what comes out. */
static void build_rows(ox_bytes *model) {
    ox_bytes graph = {0};
    ox_put_input(&graph, "x", OX_FLOAT, 2, n_by_4);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_initializer(&graph, "axes", OX_INT64, 1, (const int64_t[]){1}, (const int64_t[]){-1});
    ox_put_node(&graph, "ReduceSum", "x,axes", "s", NULL);
    ox_put_node(&graph, "Div", "x,s", "d", NULL);
    ox_put_node(&graph, "Mul", "d,d", "q", NULL);
    ox_put_node(&graph, "ReduceSum", "q,axes", "v", NULL);
    ox_put_node(&graph, "Sqrt", "v", "r", NULL);
    ox_put_node(&graph, "Mul", "d,r", "y", NULL);
    ox_put_model(model, &graph, 17);
}

static void feed_matrix(ox_feed *feed, int64_t n) {
    add_floats(feed, 2, n, 4);
}

/* A step of a decoder: what comes in is put behind a cache, all of which is read; what that gives has one size. */
static void build_cache(ox_bytes *model) {
    ox_bytes graph = {0}, behind = {0};
    const float weights[] = {0.5f, -1, 2, 0.25f};
    ox_put_input(&graph, "x", OX_FLOAT, -1, NULL);
    ox_put_input(&graph, "past", OX_FLOAT, -1, NULL);
    ox_put_output(&graph, "present", OX_FLOAT, -1, NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_initializer(&graph, "w", OX_FLOAT, 2, (const int64_t[]){2, 2}, weights);
    ox_put_initializer(&graph, "axis", OX_INT64, 1, (const int64_t[]){1}, (const int64_t[]){1});
    ox_put_attr_int(&behind, "axis", 1);
    ox_put_node(&graph, "Concat", "past,x", "present", &behind);
    ox_put_node(&graph, "MatMul", "present,w", "scores", NULL);
    ox_put_node(&graph, "Mul", "scores,present", "scaled", NULL);
    ox_put_node(&graph, "Softmax", "scaled", "shares", NULL);
    ox_put_node(&graph, "ReduceSum", "shares,axis", "read", NULL);
    ox_put_node(&graph, "Add", "read,x", "sum", NULL);
    ox_put_node(&graph, "MatMul", "sum,w", "product", NULL);
    ox_put_node(&graph, "Sigmoid", "product", "y", NULL);
    ox_put_model(model, &graph, 17);
}

static void add_pairs(ox_feed *feed, int64_t n) {
    const int k = feed->count;
    add_floats(feed, 2, 2 * n, 2);
    feed->tensor[k].rank = 3;
    memcpy(feed->dims[k], ((const int64_t[]){2, n, 2}), 3 * sizeof n);
}

static void feed_cache(ox_feed *feed, int64_t n) {
    add_pairs(feed, 1);
    add_pairs(feed, n);
}

/* A shape that is a graph input: known only when the model runs. */
static void build_expand(ox_bytes *model) {
    ox_bytes graph = {0};
    ox_put_input(&graph, "x", OX_FLOAT, 2, n_by_1);
    ox_put_input(&graph, "shape", OX_INT64, 1, any);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_node(&graph, "Expand", "x,shape", "e", NULL);
    ox_put_node(&graph, "Add", "e,x", "y", NULL);
    ox_put_model(model, &graph, 17);
}

static void feed_expand(ox_feed *feed, int64_t n) {
    add_floats(feed, 2, n, 1);
    int k = feed->count++;
    feed->dims[k][0] = 3;
    feed->tensor[k] = (ox_tensor){OX_INT64, 1, feed->dims[k], NULL, &feed->data[k]};
    feed->data[k].i[0] = 2;
    feed->data[k].i[1] = 1;
    feed->data[k].i[2] = n + 1;
}

/* Arithmetic on shapes, which is folded into the plan. */
static void build_reshape(ox_bytes *model) {
    ox_bytes graph = {0}, attrs = {0};
    const int64_t zero = 0, minus_one = -1, one_dim[] = {1};
    ox_put_input(&graph, "x", OX_FLOAT, 2, n_by_4);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_initializer(&graph, "zero", OX_INT64, 1, one_dim, &zero);
    ox_put_initializer(&graph, "rest", OX_INT64, 1, one_dim, &minus_one);
    ox_put_attr_int(&attrs, "axis", 0);
    ox_put_node(&graph, "Shape", "x", "s", NULL);
    ox_put_node(&graph, "Gather", "s,zero", "n", NULL);
    ox_put_node(&graph, "Concat", "rest,n", "to", &attrs);
    ox_put_node(&graph, "Neg", "x", "minus", NULL);
    ox_put_node(&graph, "Reshape", "minus,to", "r", NULL);
    ox_put_node(&graph, "Transpose", "r", "y", NULL);
    ox_put_model(model, &graph, 17);
}

/* 16-bit values, widened and rounded. */
static void build_half(ox_bytes *model) {
    ox_bytes graph = {0};
    ox_put_input(&graph, "x", OX_FLOAT16, 2, n_by_4);
    ox_put_output(&graph, "y", OX_FLOAT16, -1, NULL);
    ox_put_node(&graph, "Mul", "x,x", "s", NULL);
    ox_put_node(&graph, "Sub", "s,x", "d", NULL);
    ox_put_node(&graph, "Sigmoid", "d", "y", NULL);
    ox_put_model(model, &graph, 17);
}

static void feed_half(ox_feed *feed, int64_t n) {
    int k = feed->count++;
    feed->dims[k][0] = n;
    feed->dims[k][1] = 4;
    feed->tensor[k] = (ox_tensor){OX_FLOAT16, 2, feed->dims[k], NULL, &feed->data[k]};
    for (int64_t i = 0; i < n * 4; i++)
        feed->data[k].h[i] = (uint16_t)(0x3800 + 37 * i);
}

static void put_branch(ox_bytes *attrs, const char *name, const char *op) {
    ox_bytes graph = {0};
    ox_put_text(&graph, 2, name);
    ox_put_output(&graph, "r", OX_FLOAT, -1, NULL);
    ox_put_node(&graph, op, "x,x", "r", NULL);
    ox_put_attr_graph(attrs, name, &graph);
}

/* Subgraphs that see a value outside. */
static void build_if(ox_bytes *model) {
    ox_bytes graph = {0}, attrs = {0};
    ox_put_input(&graph, "x", OX_FLOAT, 2, n_by_4);
    ox_put_input(&graph, "condition", OX_BOOL, 0, NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    put_branch(&attrs, "then_branch", "Add");
    put_branch(&attrs, "else_branch", "Mul");
    ox_put_node(&graph, "If", "condition", "b", &attrs);
    ox_put_node(&graph, "Sub", "b,x", "y", NULL);
    ox_put_model(model, &graph, 17);
}

static void feed_if(ox_feed *feed, int64_t n) {
    add_floats(feed, 2, n, 4);
    int k = feed->count++;
    feed->tensor[k] = (ox_tensor){OX_BOOL, 0, feed->dims[k], NULL, &feed->data[k]};
    feed->data[k].b[0] = n % 2 != 0;
}

/* A body that carries a value, reads one outside, and gives a stack. */
static void build_loop(ox_bytes *model) {
    ox_bytes graph = {0}, attrs = {0}, body = {0};
    ox_put_input(&graph, "x", OX_FLOAT, 2, n_by_4);
    ox_put_input(&graph, "trips", OX_INT64, 0, NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_input(&body, "i", OX_INT64, 0, NULL);
    ox_put_input(&body, "c", OX_BOOL, 0, NULL);
    ox_put_input(&body, "v", OX_FLOAT, -1, NULL);
    ox_put_node(&body, "Add", "v,x", "w", NULL);
    ox_put_node(&body, "Neg", "w", "n", NULL);
    ox_put_output(&body, "c", OX_BOOL, -1, NULL);
    ox_put_output(&body, "w", OX_FLOAT, -1, NULL);
    ox_put_output(&body, "n", OX_FLOAT, -1, NULL);
    ox_put_attr_graph(&attrs, "body", &body);
    ox_put_node(&graph, "Loop", "trips,,x", "sum,stack", &attrs);
    ox_put_node(&graph, "Mul", "stack,sum", "y", NULL);
    ox_put_model(model, &graph, 17);
}

static void feed_loop(ox_feed *feed, int64_t n) {
    add_floats(feed, 2, n, 4);
    int k = feed->count++;
    feed->tensor[k] = (ox_tensor){OX_INT64, 0, feed->dims[k], NULL, &feed->data[k]};
    feed->data[k].i[0] = n;
}

/* A body that is given rows of x, and gives a row of each sum. */
static void build_scan(ox_bytes *model) {
    static const int64_t row[] = {4};
    static const float zeros[4];
    ox_bytes graph = {0}, attrs = {0}, body = {0};
    ox_put_input(&graph, "x", OX_FLOAT, 2, n_by_4);
    ox_put_initializer(&graph, "zeros", OX_FLOAT, 1, row, zeros);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_input(&body, "s", OX_FLOAT, -1, NULL);
    ox_put_input(&body, "r", OX_FLOAT, -1, NULL);
    ox_put_node(&body, "Add", "s,r", "t", NULL);
    ox_put_output(&body, "t", OX_FLOAT, -1, NULL);
    ox_put_output(&body, "t", OX_FLOAT, -1, NULL);
    ox_put_attr_graph(&attrs, "body", &body);
    ox_put_attr_int(&attrs, "num_scan_inputs", 1);
    ox_put_node(&graph, "Scan", "zeros,x", "last,sums", &attrs);
    ox_put_node(&graph, "Sub", "sums,last", "y", NULL);
    ox_put_model(model, &graph, 17);
}

const ox_sample ox_samples[] = {
    {"chain", build_chain, feed_chain},      {"dense", build_dense, feed_matrix}, {"expand", build_expand, feed_expand},
    {"reshape", build_reshape, feed_matrix}, {"half", build_half, feed_half},     {"if", build_if, feed_if},
    {"rows", build_rows, feed_matrix},       {"loop", build_loop, feed_loop},     {"scan", build_scan, feed_matrix},
    {"cache", build_cache, feed_cache},
};
const int ox_sample_count = sizeof ox_samples / sizeof *ox_samples;

/* In front of every block; keeps the alignment of malloc. */
typedef union block_head {
    size_t size;
    max_align_t align;
} block_head;

static void *count_resize(void *context, void *block, size_t old_size, size_t new_size) {
    ox_counter *counter = context;
    block_head *head = block ? (block_head *)block - 1 : NULL;
    ck_assert_msg(!head || head->size == old_size, "a block of %zu bytes is said to have %zu", head ? head->size : 0,
                  old_size);
    if (new_size == 0) {
        counter->live -= old_size;
        free(head);
        return NULL;
    }
    counter->calls++;
    if (counter->fail_at &&
        (counter->calls == counter->fail_at || (counter->fail_on && counter->calls > counter->fail_at)))
        return NULL;
    head = realloc(head, sizeof *head + new_size);
    ck_assert_ptr_nonnull(head);
    head->size = new_size;
    counter->live += new_size - (block ? old_size : 0);
    counter->peak = counter->live > counter->peak ? counter->live : counter->peak;
    return head + 1;
}

void ox_counter_init(ox_counter *counter) {
    *counter = (ox_counter){0};
    counter->allocator = (ox_allocator){count_resize, counter};
}
