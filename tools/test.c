/* test.c: "ox test", cases of the ONNX backend test layout. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_run.h"
#include "cases.h"
#include "file.h"
#include "memory.h"
#include "options.h"
#include "plugin.h"
#include "system.h"
#include "text.h"
#include "tool.h"

/* How often an operator is in cases that did not pass. */
typedef struct op_count {
    char *name;
    size_t failed;
    size_t skipped;
} op_count;

typedef struct tester {
    ox_cases cases;
    ox_plugins plugins;
    ox_tolerance tolerance; /* as of ox_case_run */
    char **pending;         /* sorted names; NULL if no list was given */
    const char *pending_path;
    const char *tsv_path;
    bool quiet, json;
    ox_text json_cases;
    bool shows_progress;
    size_t passed;
    size_t failed;
    size_t skipped;
    op_count *ops;
    size_t op_count;
    ox_text tsv;
} tester;

/* ---- Summary by operator ---------------------------------------------------------------------------------------- */

static void count_op(tester *t, const char *name, bool is_skipped) {
    size_t i = 0;
    while (i < t->op_count && strcmp(t->ops[i].name, name) != 0)
        i++;
    if (i == t->op_count) {
        ox_text copy = {0};
        ox_text_put(&copy, name);
        t->ops = ox_tool_resize(t->ops, (t->op_count + 1) * sizeof *t->ops);
        t->ops[t->op_count++] = (op_count){copy.data, 0, 0};
    }
    t->ops[i].skipped += is_skipped;
    t->ops[i].failed += !is_skipped;
}

/* Counts the operators that the case is about: those that are missing, or all of them when none is. */
static void count_ops(tester *t, const char *directory, bool is_skipped) {
    ox_model *model = NULL;
    ox_text path = {0};
    size_t missing = 0;
    ox_text_format(&path, "%s/model.onnx", directory);
    if (!ox_model_load_for_info(path.data, &t->plugins.options, &model, NULL)) {
        size_t count = ox_model_op_use_count(model);
        ox_op_use use;
        for (size_t i = 0; i < count; i++)
            missing += !ox_model_op_use(model, i, &use) && !use.supported;
        for (size_t i = 0; i < count; i++)
            if (!ox_model_op_use(model, i, &use) && use.count && (!missing || !use.supported))
                count_op(t, use.name, is_skipped);
    }
    ox_model_free(model);
    ox_text_free(&path);
}

static int compare_ops(const void *a, const void *b) {
    return strcmp(((const op_count *)a)->name, ((const op_count *)b)->name);
}

static void print_ops(const tester *t, const char *title, bool is_skipped) {
    size_t column = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        size_t count = is_skipped ? t->ops[i].skipped : t->ops[i].failed;
        ox_text word = {0};
        if (!count)
            continue;
        ox_text_escape(&word, t->ops[i].name, strlen(t->ops[i].name), NULL);
        ox_text_format(&word, " %zu", count);
        if (!column)
            printf("%s by operator:", title);
        if (!column || column + word.size > 96) {
            printf("\n ");
            column = 1;
        }
        column += (size_t)printf(" %s,", word.data);
        ox_text_free(&word);
    }
    if (column)
        printf("\n");
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */

static void clear_progress(const tester *t) {
    if (t->shows_progress)
        fputs("\r\033[K", stderr);
}

static void show_progress(const tester *t, size_t done) {
    enum {
        WIDTH = 30
    };
    size_t filled = done * WIDTH / t->cases.count;
    if (!t->shows_progress)
        return;
    fputs("\r[", stderr);
    for (size_t i = 0; i < WIDTH; i++)
        fputc(i < filled ? '#' : ' ', stderr);
    fprintf(stderr, "] %zu of %zu, %zu failed\033[K", done, t->cases.count, t->failed);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static void add_tsv(tester *t, const ox_case *one, ox_outcome outcome, const ox_text *reason) {
    if (!t->tsv_path)
        return;
    ox_text_escape(&t->tsv, one->name, strlen(one->name), NULL);
    ox_text_format(&t->tsv, "\t%s\t", ox_outcome_name(outcome));
    ox_text_escape(&t->tsv, ox_text_get(reason), reason->size, NULL);
    ox_text_put(&t->tsv, "\n");
}

static void add_json(tester *t, const ox_case *one, const char *result, const ox_text *reason) {
    ox_text_put(&t->json_cases, t->json_cases.size ? ",\n  {\"case\": " : "\n  {\"case\": ");
    ox_text_json(&t->json_cases, one->name);
    ox_text_format(&t->json_cases, ", \"result\": \"%s\", \"reason\": ", result);
    ox_text_json(&t->json_cases, ox_text_get(reason));
    ox_text_put(&t->json_cases, "}");
}

static void print_failure(const tester *t, const ox_case *one, const ox_text *reason) {
    ox_text line = {0};
    ox_text_escape(&line, one->name, strlen(one->name), NULL);
    ox_text_put(&line, ": ");
    ox_text_escape(&line, ox_text_get(reason), reason->size, NULL);
    clear_progress(t);
    if (!t->json)
        printf("FAILED %s\n", line.data);
    ox_text_free(&line);
}

static void run_case(tester *t, const ox_case *one) {
    ox_text reason = {0};
    ox_outcome outcome = ox_case_run(one->path, &t->plugins.options, t->tolerance, &reason);
    if (outcome == OX_CASE_UNSUPPORTED && ox_plugins_add_own(&t->plugins)) {
        ox_text_free(&reason);
        outcome = ox_case_run(one->path, &t->plugins.options, t->tolerance, &reason);
    }
    bool is_pending = ox_list_has(t->pending, one->name);
    bool is_skipped = is_pending && outcome == OX_CASE_UNSUPPORTED;
    if (outcome != OX_CASE_PASSED)
        count_ops(t, one->path, is_skipped);
    else if (is_pending)
        ox_text_format(&reason, "is listed as pending in %s but passes", t->pending_path);
    add_tsv(t, one, outcome, &reason);
    add_json(t, one, is_skipped ? "skipped" : outcome == OX_CASE_PASSED && !is_pending ? "passed" : "failed", &reason);
    if (is_skipped) {
        t->skipped++;
    } else if (outcome != OX_CASE_PASSED || is_pending) {
        t->failed++;
        print_failure(t, one, &reason);
    } else {
        t->passed++;
    }
    ox_text_free(&reason);
}

static ox_status write_tsv(const tester *t, ox_error *error) {
    ox_new_file file;
    if (!t->tsv_path)
        return OX_OK;
    ox_status status = ox_file_create(&file, t->tsv_path, error);
    if (status)
        return status;
    fwrite(ox_text_get(&t->tsv), 1, t->tsv.size, file.stream);
    return ox_file_commit(&file, error);
}

static int run_cases(tester *t) {
    ox_error error = {OX_OK, ""};
    ox_cases_sort(&t->cases);
    t->shows_progress = !t->quiet && ox_system_is_terminal(stderr);
    for (size_t i = 0; i < t->cases.count; i++) {
        show_progress(t, i);
        run_case(t, &t->cases.at[i]);
    }
    clear_progress(t);
    if (t->op_count)
        qsort(t->ops, t->op_count, sizeof *t->ops, compare_ops);
    if (!t->quiet && !t->json) {
        print_ops(t, "failed", false);
        print_ops(t, "skipped", true);
    }
    int status = t->failed ? OX_EXIT_FAILED : OX_EXIT_OK;
    if (write_tsv(t, &error))
        status = ox_tool_failed(&error);
    if (t->json)
        printf("{\"passed\": %zu, \"failed\": %zu, \"skipped\": %zu, \"cases\": [%s\n]}\n", t->passed, t->failed,
               t->skipped, ox_text_get(&t->json_cases));
    else
        printf("%zu passed, %zu failed, %zu skipped\n", t->passed, t->failed, t->skipped);
    return status;
}

/* ---- The command line -------------------------------------------------------------------------------------------- */

static int fail_no_case(const char *path) {
    ox_file_info info;
    if (!ox_system_look(path, &info))
        return ox_tool_error("cannot read the folder '%s': %s", path, strerror(errno));
    if (!info.is_folder)
        return ox_tool_error("'%s' is a file: ox test wants a case, which is a folder with model.onnx", path);
    return ox_tool_error("no case (a folder with model.onnx) in '%s'", path);
}

static int parse(ox_args *args, tester *t) {
    const char *value;
    bool any = false;
    int status;
    while (*args->at) {
        if (ox_args_flag(args, "--quiet") || ox_args_flag(args, "-q"))
            t->quiet = true;
        else if (ox_args_flag(args, "--json"))
            t->json = true;
        else if (ox_args_option(args, "--tsv", &value))
            t->tsv_path = value;
        else if (ox_args_option(args, "--pending", &value))
            t->pending_path = value;
        else if (ox_plugins_argument(&t->plugins, args))
            continue;
        else if (ox_options_take(args, &t->plugins.options, &status) ||
                 ox_options_take_tolerance(args, &t->tolerance, &status)) {
            if (status)
                return status;
        } else if (ox_args_positional(args, &value)) {
            any = true;
            if (!ox_cases_add(&t->cases, value))
                return fail_no_case(value);
        } else if (args->failed)
            return OX_EXIT_USAGE;
    }
    return any ? OX_EXIT_OK : ox_tool_usage(args->command, "which cases? ox test DIR...");
}

static void free_tester(tester *t) {
    for (size_t i = 0; i < t->op_count; i++)
        free(t->ops[i].name);
    free(t->ops);
    ox_list_free(t->pending);
    ox_cases_free(&t->cases);
    ox_plugins_free(&t->plugins);
    ox_text_free(&t->tsv);
    ox_text_free(&t->json_cases);
}

int ox_command_test(ox_args *args) {
    tester t = {.tolerance = {-1, -1, false}};
    ox_error error = {OX_OK, ""};
    int status = parse(args, &t);
    if (!status && t.pending_path) {
        t.pending = ox_read_pending(t.pending_path, &error);
        if (!t.pending)
            status = ox_tool_failed(&error);
    }
    if (!status)
        status = ox_plugins_load(&t.plugins, &error) ? ox_tool_failed(&error) : run_cases(&t);
    free_tester(&t);
    return status;
}
