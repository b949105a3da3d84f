/* profile.c: collecting what runs did, and the table of it. */
#include "profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flops.h"
#include "memory.h"
#include "tool.h"

/* ---- Collecting --------------------------------------------------------------------------------------------- */

/* Room for one more in a growing list of `count` entries. */
static void *grow(void *list, size_t size, size_t count, size_t *room) {
    size_t bytes;
    if (count < *room)
        return list;
    *room = count ? 2 * count : 64;
    return ox_tool_resize(list, ox_tool_multiply(*room, size, &bytes) ? bytes : SIZE_MAX);
}

static size_t add_row(ox_recorder *recorder, const ox_profile_event *event) {
    recorder->rows = grow(recorder->rows, sizeof *recorder->rows, recorder->row_count, &recorder->row_room);
    ox_profile_row *row = &recorder->rows[recorder->row_count];
    *row = (ox_profile_row){.step = event->step,
                            .kind = event->kind,
                            .depth = event->depth,
                            .nodes = ox_tool_alloc(event->node_count * sizeof *row->nodes),
                            .node_count = event->node_count,
                            .first_ns = event->start_ns};
    for (size_t i = 0; i < row->node_count; i++)
        ox_profile_event_node(event, i, &row->nodes[i]);
    return recorder->row_count++;
}

/* The row of a step. Steps come in the same order in every run, unless data decides. */
static size_t find_row(ox_recorder *recorder, const ox_profile_event *event) {
    for (size_t i = 0; i < recorder->row_count; i++) {
        size_t at = (recorder->next + i) % recorder->row_count;
        const ox_profile_row *row = &recorder->rows[at];
        if (row->step == event->step && row->kind == event->kind && row->node_count == event->node_count)
            return at;
    }
    return add_row(recorder, event);
}

static void add_span(ox_recorder *recorder, ox_profile_span span) {
    if (!recorder->keeps_spans)
        return;
    recorder->spans = grow(recorder->spans, sizeof *recorder->spans, recorder->span_count, &recorder->span_room);
    recorder->spans[recorder->span_count++] = span;
}

static void add_event(void *context, const ox_profile_event *event) {
    ox_recorder *recorder = context;
    size_t at = find_row(recorder, event);
    ox_profile_row *row = &recorder->rows[at];
    recorder->next = at + 1;
    row->count++;
    row->total_ns += event->duration_ns;
    row->bytes += event->bytes_read + event->bytes_written;
    add_span(recorder,
             (ox_profile_span){at, event->start_ns, event->duration_ns, event->bytes_read, event->bytes_written});
}

ox_status ox_recorder_run(ox_recorder *recorder, ox_session *session, ox_error *error) {
    ox_status prepared = ox_session_prepare(session, error); /* planning is no part of a run */
    if (prepared)
        return prepared;
    ox_session_set_profile(session, add_event, recorder);
    uint64_t start = ox_tool_now();
    ox_status status = ox_session_run(session, error);
    uint64_t taken = ox_tool_now() - start;
    ox_session_set_profile(session, NULL, NULL);
    recorder->runs++;
    recorder->run_ns += taken;
    recorder->next = 0;
    add_span(recorder, (ox_profile_span){.row = SIZE_MAX, .start_ns = start, .duration_ns = taken});
    return status;
}

void ox_recorder_free(ox_recorder *recorder) {
    for (size_t i = 0; i < recorder->row_count; i++)
        free(recorder->rows[i].nodes);
    free(recorder->rows);
    free(recorder->spans);
    *recorder = (ox_recorder){0};
}

uint64_t ox_recorder_bytes(const ox_recorder *recorder) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < recorder->row_count; i++)
        bytes += recorder->rows[i].bytes;
    return bytes;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Adds the operations of a node to the step that it is in. */
static void count_node(void *context, const ox_node_info *node) {
    ox_recorder *recorder = context;
    const double flops = ox_node_flops(node);
    ox_value_info output;
    if (flops <= 0 || ox_node_output(node, 0, &output))
        return;
    for (size_t i = 0; i < recorder->row_count; i++) {
        ox_profile_row *row = &recorder->rows[i];
        for (size_t k = 0; k < row->node_count && row->depth == node->depth; k++)
            if (strcmp(row->nodes[k].output, output.name) == 0 && strcmp(row->nodes[k].op, node->op) == 0)
                row->flops += flops;
    }
}

void ox_recorder_count(ox_recorder *recorder, const ox_model *model, const ox_session *session) {
    for (size_t i = 0; i < recorder->row_count; i++)
        recorder->rows[i].flops = 0;
    ox_model_visit(model, session, count_node, recorder);
}

/* ---- The table ---------------------------------------------------------------------------------------------- */

void ox_text_bytes(ox_text *text, double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1000;
    if (bytes < 1)
        ox_text_put(text, "0");
    else
        ox_text_format(text, unit && bytes < 99.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void ox_text_step(ox_text *text, const ox_profile_row *row) {
    for (size_t i = 0; i < row->node_count; i++) {
        const ox_profile_node *node = &row->nodes[i];
        const char *name = *node->name ? node->name : node->output;
        ox_text_put(text, i ? ", " : "");
        if (*node->domain) {
            ox_text_escape(text, node->domain, strlen(node->domain), NULL);
            ox_text_put(text, ".");
        }
        ox_text_escape(text, node->op, strlen(node->op), NULL);
        ox_text_put(text, *node->name ? " " : " -> ");
        ox_text_escape(text, name, strlen(name), NULL);
    }
}

/* An amount for each nanosecond, in a column of 8. */
static void add_rate(ox_text *text, double amount, double ns) {
    if (amount > 0 && ns > 0)
        ox_text_format(text, " %8.2f", amount / ns);
    else
        ox_text_format(text, " %8s", "-");
}

static void add_numbers(ox_text *text, double ns, double share, double bytes, double flops) {
    ox_text amount = {0};
    ox_text_bytes(&amount, bytes);
    ox_text_format(text, "%11.2f %6.1f%% %9s", ns / 1e3, 100 * share, amount.data);
    add_rate(text, bytes, ns);
    add_rate(text, flops, ns);
    ox_text_free(&amount);
}

static void add_row_text(ox_text *text, const ox_profile_row *row, double runs, double run_ns) {
    double ns = (double)row->total_ns / runs;
    add_numbers(text, ns, run_ns > 0 ? ns / run_ns : 0, (double)row->bytes / runs,
                row->flops * (double)row->count / runs);
    ox_text_format(text, "  %-7s  ", ox_step_kind_name(row->kind));
    ox_text_repeat(text, ' ', 2 * row->depth);
    ox_text_step(text, row);
    if (row->count != (uint64_t)runs)
        ox_text_format(text, " (%" PRIu64 " times)", row->count);
    ox_text_put(text, "\n");
}

static int compare_starts(const void *a, const void *b) {
    uint64_t x = (*(const ox_profile_row *const *)a)->first_ns, y = (*(const ox_profile_row *const *)b)->first_ns;
    return (x > y) - (x < y);
}

/* Rows by their first start: a node that ran subgraphs stands before their nodes, though it ended after them. */
static const ox_profile_row **sorted_rows(const ox_recorder *recorder) {
    const ox_profile_row **order = ox_tool_alloc(recorder->row_count * sizeof *order);
    for (size_t i = 0; i < recorder->row_count; i++)
        order[i] = &recorder->rows[i];
    if (recorder->row_count)
        qsort(order, recorder->row_count, sizeof *order, compare_starts);
    return order;
}

static void put_json_row(ox_text *text, const ox_profile_row *row, double runs) {
    ox_text_format(text,
                   "{\"kind\": \"%s\", \"depth\": %d, \"ns\": %.1f, \"count\": %" PRIu64
                   ", \"bytes\": %.0f, \"flops\": %.0f, ",
                   ox_step_kind_name(row->kind), row->depth, (double)row->total_ns / runs, row->count,
                   (double)row->bytes / runs, row->flops * (double)row->count / runs);
    ox_text_put(text, "\"nodes\": [");
    for (size_t i = 0; i < row->node_count; i++) {
        ox_text_put(text, i ? ", {\"op\": " : "{\"op\": ");
        ox_text_json(text, row->nodes[i].op);
        ox_text_put(text, ", \"name\": ");
        ox_text_json(text, row->nodes[i].name);
        ox_text_put(text, ", \"output\": ");
        ox_text_json(text, row->nodes[i].output);
        ox_text_put(text, "}");
    }
    ox_text_put(text, "]}");
}

void ox_recorder_json(const ox_recorder *recorder, ox_text *text) {
    const double runs = recorder->runs ? (double)recorder->runs : 1;
    const ox_profile_row **order = sorted_rows(recorder);
    ox_text_format(text, "{\"runs\": %" PRIu64 ", \"run_ns\": %.1f, \"steps\": [", recorder->runs,
                   (double)recorder->run_ns / runs);
    for (size_t i = 0; i < recorder->row_count; i++) {
        ox_text_put(text, i ? ",\n    " : "\n    ");
        put_json_row(text, order[i], runs);
    }
    ox_text_put(text, "\n  ]}");
    free(order);
}

void ox_recorder_table(const ox_recorder *recorder, ox_text *text) {
    double runs = recorder->runs ? (double)recorder->runs : 1, run_ns = (double)recorder->run_ns / runs;
    const ox_profile_row **order = sorted_rows(recorder);
    ox_text_format(text, "%11s %7s %9s %8s %8s  %-7s  %s\n", "us", "share", "bytes", "GB/s", "GFLOP/s", "step",
                   "nodes");
    double flops = 0, between = run_ns;
    for (size_t i = 0; i < recorder->row_count; i++) {
        add_row_text(text, order[i], runs, run_ns);
        between -= order[i]->depth ? 0 : (double)order[i]->total_ns / runs;
        flops += order[i]->flops * (double)order[i]->count / runs;
    }
    between = between > 0 ? between : 0;
    add_numbers(text, between, run_ns > 0 ? between / run_ns : 0, 0, 0);
    ox_text_put(text, "  -        between the steps\n");
    add_numbers(text, run_ns, run_ns > 0, (double)ox_recorder_bytes(recorder) / runs, flops);
    ox_text_put(text, "  run");
    if (recorder->runs > 1)
        ox_text_format(text, "      mean of %" PRIu64, recorder->runs);
    ox_text_put(text, "\n");
    free(order);
}
