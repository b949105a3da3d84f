/* profile.h: what runs did, step by step, and how long it took. */
#ifndef OX_PROFILE_H
#define OX_PROFILE_H

#include "text.h"

/* A step of the model, in all runs together. */
typedef struct ox_profile_row {
    const void *step;
    ox_step_kind kind;
    int depth;
    ox_profile_node *nodes; /* they point into the model */
    size_t node_count;
    uint64_t count; /* how often it was executed */
    uint64_t total_ns;
    uint64_t bytes; /* read and written */
    double flops;   /* of one execution; 0 if unknown: ox_recorder_count */
    uint64_t first_ns;
} ox_profile_row;

/* One execution of a step, or a whole run. */
typedef struct ox_profile_span {
    size_t row; /* SIZE_MAX for a run */
    uint64_t start_ns, duration_ns;
    uint64_t bytes_read, bytes_written;
} ox_profile_span;

/* Starts zeroed, but for keeps_spans. The model must outlive it. */
typedef struct ox_recorder {
    bool keeps_spans; /* for a trace */
    ox_profile_row *rows;
    size_t row_count, row_room;
    size_t next; /* the row that probably comes next */
    ox_profile_span *spans;
    size_t span_count, span_room;
    uint64_t runs;
    uint64_t run_ns;
} ox_recorder;

/* Runs the session once, recorded. */
ox_status ox_recorder_run(ox_recorder *recorder, ox_session *session, ox_error *error);
void ox_recorder_free(ox_recorder *recorder);

/* Bytes read and written by all runs together. */
uint64_t ox_recorder_bytes(const ox_recorder *recorder);

/* Counts the operations of dense steps, whose shapes the session knows after a run. */
void ox_recorder_count(ox_recorder *recorder, const ox_model *model, const ox_session *session);

/* Adds a table of the steps, means over the runs. */
void ox_recorder_table(const ox_recorder *recorder, ox_text *text);

/* Adds the same as a JSON object: runs, run_ns and steps, a list of kind, depth, ns, count, bytes, flops and nodes. */
void ox_recorder_json(const ox_recorder *recorder, ox_text *text);

/* Adds "Add bias, Relu -> y": the nodes of a step, escaped. */
void ox_text_step(ox_text *text, const ox_profile_row *row);

/* Adds "12.3 MB", in powers of ten; "0" for none. */
void ox_text_bytes(ox_text *text, double bytes);

#endif
