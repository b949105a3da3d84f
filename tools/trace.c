/* trace.c: recorded runs in the trace event format. */
#include "trace.h"

#include <inttypes.h>

#include "file.h"

/* "ts" and "dur" count microseconds. */
static void add_times(ox_text *text, const ox_profile_span *span, uint64_t origin) {
    uint64_t start = span->start_ns - origin;
    ox_text_format(text, "\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64 ".%03u",
                   start / 1000, (unsigned)(start % 1000), span->duration_ns / 1000,
                   (unsigned)(span->duration_ns % 1000));
}

static void add_nodes(ox_text *text, const ox_profile_row *row) {
    for (size_t i = 0; i < row->node_count; i++) {
        const ox_profile_node *node = &row->nodes[i];
        ox_text_put(text, i ? ",{\"op\":" : "{\"op\":");
        ox_text_json(text, node->op);
        ox_text_put(text, ",\"domain\":");
        ox_text_json(text, node->domain);
        ox_text_put(text, ",\"name\":");
        ox_text_json(text, node->name);
        ox_text_put(text, ",\"output\":");
        ox_text_json(text, node->output);
        ox_text_put(text, "}");
    }
}

static void add_step(ox_text *text, const ox_profile_span *span, const ox_profile_row *row) {
    ox_text name = {0};
    ox_text_step(&name, row);
    ox_text_put(text, "{\"name\":");
    ox_text_json(text, ox_text_get(&name));
    ox_text_format(text,
                   ",\"cat\":\"%s\",\"args\":{\"bytes_read\":%" PRIu64 ",\"bytes_written\":%" PRIu64 ",\"nodes\":[",
                   ox_step_kind_name(row->kind), span->bytes_read, span->bytes_written);
    add_nodes(text, row);
    ox_text_put(text, "]},");
    ox_text_free(&name);
}

static void write_span(const ox_recorder *recorder, size_t i, uint64_t origin, FILE *stream) {
    const ox_profile_span *span = &recorder->spans[i];
    ox_text text = {0};
    if (span->row == SIZE_MAX)
        ox_text_put(&text, "{\"name\":\"run\",\"cat\":\"run\",");
    else
        add_step(&text, span, &recorder->rows[span->row]);
    add_times(&text, span, origin);
    ox_text_put(&text, i + 1 < recorder->span_count ? "},\n" : "}\n");
    fwrite(text.data, 1, text.size, stream);
    ox_text_free(&text);
}

ox_status ox_trace_write(const ox_recorder *recorder, const char *path, ox_error *error) {
    ox_new_file file;
    ox_status status = ox_file_create(&file, path, error);
    if (status)
        return status;
    uint64_t origin = UINT64_MAX;
    for (size_t i = 0; i < recorder->span_count; i++)
        origin = recorder->spans[i].start_ns < origin ? recorder->spans[i].start_ns : origin;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file.stream);
    for (size_t i = 0; i < recorder->span_count; i++)
        write_span(recorder, i, origin, file.stream);
    fputs("]}\n", file.stream);
    return ox_file_commit(&file, error);
}
