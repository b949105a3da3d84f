/* session.c: the public face of the runtime. */
#include "host.h"
#include "value.h"
#include "plan/kept.h"
#include "bound.h"
#include "extra.h"
#include "options.h"
#include "plan_text.h"
#include "profile.h"
#include "run.h"
#include "visit.h"

#include <string.h>

struct ox_session {
    const ox_options *options; /* the model's, or a copy of those given */
    ox_meter meter;            /* what model and session hold */
    ox_allocator allocator;    /* counted by the meter, ... */
    ox_allocator temporary;    /* ... as this is: for what is given back soon */
    const ox_model *model;
    ox_graph *graph; /* the model's with extra outputs, NULL if there are none */
    size_t graph_size;
    ox_frame *frame;
    ox_pool *pool;
    ox_profile profile;
    bool *set;               /* by graph input */
    const ox_value **values; /* by graph input: those that are no tensors */
#if OX_WITH_BOUND
    ox_bound bound;
#endif
    bool ran;
};

/* The options in force: the model's where these say nothing. */
static ox_options merged(const ox_options *given, const ox_model *model) {
    ox_options options = *given;
    options.limits = ox_limits_or(&options.limits, &model->options.limits);
    if (!options.threads)
        options.threads = model->options.threads;
    if (!options.warn) {
        options.warn = model->options.warn;
        options.warn_context = model->options.warn_context;
    }
    if (!options.isa)
        options.isa = model->options.isa;
    ox_options_keep(&options);
    return options;
}

/* Where bytes are limited, a session keeps one plan, unless the caller asks for more. */
static ox_status keep_plans(ox_session *session) {
#if OX_WITH_KEPT
    const ox_limits *limits = &session->options->limits;
    const bool counted = limits->bytes != SIZE_MAX || ox_is_fixed(&session->meter.from);
    const size_t wanted = limits->plans ? limits->plans : counted ? 1 : OX_MAX_PLANS;
    const size_t plans = wanted < OX_MOST_PLANS ? wanted : OX_MOST_PLANS;
    return plans > 1 ? ox_kept_begin(session->frame, plans - 1) : OX_OK;
#else
    (void)session;
    return OX_OK;
#endif
}

static ox_status fill(ox_session *session, const ox_options *given, ox_error *error) {
    const ox_model *model = session->model;
    if (given) {
        ox_options *options = ox_alloc(&session->allocator, sizeof *options);
        if (!options)
            return ox_fail_memory(error, "a session", sizeof *options);
        *options = *given;
        session->options = options;
    }
    const ox_options *options = session->options;
    OX_TRY(ox_pool_create(&session->allocator, options->threads, &options->limits, &session->pool, error));
    OX_TRY(ox_extra_outputs(model, options, &session->allocator, &session->temporary, &session->graph,
                            &session->graph_size, error));
    const ox_means means = {model, options, &session->allocator, &session->temporary, session->pool};
    OX_TRY(ox_frame_create(&means, session->graph ? session->graph : model->graph, NULL, &session->frame, error));
    OX_TRY(keep_plans(session));
    size_t ninputs = (size_t)model->graph->ninputs;
    session->set = ox_pile_array(&session->frame->fixed, ninputs + 1, sizeof *session->set);
    if (OX_WITH_VALUES)
        session->values = ox_pile_array(&session->frame->fixed, ninputs + 1, sizeof *session->values);
    return session->set && (session->values || !OX_WITH_VALUES) ? OX_OK : ox_fail_memory(error, "a session", ninputs);
}

ox_status ox_session_create(const ox_model *model, const ox_options *given, ox_session **session, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(session, error);
    *session = NULL;
    OX_NEED(model, error);
    if (OX_WITH_EXTERNAL && model->missing)
        return ox_fail(error, OX_ERROR_FILE, "%s: the file '%.*s' with external data is missing", model->path, 200,
                       model->missing);
    OX_TRY(ox_options_check(given, error));
    const ox_options options = given ? merged(given, model) : model->options;
    const ox_allocator *allocator = given && given->allocator ? given->allocator : &model->meter.from;
    ox_session *made = ox_alloc(allocator, sizeof *made);
    if (!made)
        return ox_fail_memory(error, "a session", sizeof *made);
    *made = (ox_session){.options = &model->options, .model = model};
    made->allocator =
        ox_meter_allocator(&made->meter, allocator, options.limits.bytes, model->loaded_bytes + sizeof *made);
    made->temporary = ox_meter_temporary(&made->meter);
    ox_status status = ox_meter_explain(&made->meter, fill(made, given ? &options : NULL, error), error);
    if (status == OX_OK)
        *session = made;
    else
        ox_session_free(made);
    return status;
}

void ox_session_free(ox_session *session) {
    if (!session)
        return;
#if OX_WITH_BOUND
    if (session->frame)
        ox_bound_free(session->frame, &session->bound);
#endif
    ox_frame_free(session->frame);
    ox_pool_free(session->pool);
    if (session->graph)
        ox_release(&session->allocator, session->graph, session->graph_size);
    if (session->options != &session->model->options)
        ox_release(&session->allocator, (void *)session->options, sizeof *session->options);
    ox_allocator allocator = session->meter.from;
    ox_release(&allocator, session, sizeof *session);
}

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

static ox_status check_input(const ox_session *session, const ox_port *input, const ox_tensor *tensor,
                             ox_error *error) {
    const char *path = session->model->path;
    if (ox_is_value(input->dtype))
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: input '%s' is not a tensor, but of type %s", path, input->name,
                       OX_TYPE(input->dtype));
    if (input->kind != OX_KIND_TENSOR && input->kind != OX_KIND_UNKNOWN)
        return ox_fail(error, OX_ERROR_UNSUPPORTED, "%s: input '%s' is not a tensor", path, input->name);
    if (tensor->rank < 0 || tensor->rank > OX_MAX_RANK)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: input '%s': rank %d is out of range (0 to %d)", path, input->name,
                       tensor->rank, OX_MAX_RANK);
    if (tensor->rank && !tensor->dims)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: input '%s' has rank %d, but its dims are NULL", path, input->name,
                       tensor->rank);
    if (!ox_dtype_size(tensor->dtype) || ox_is_value(tensor->dtype))
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: input '%s': %d is not an element type", path, input->name,
                       (int)tensor->dtype);
    int64_t count = ox_tensor_count(tensor);
    if (count < 0 || (count > 0 && !tensor->data))
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: input '%s': shape %s %s", path, input->name,
                       OX_DIMS(tensor->rank, tensor->dims), count < 0 ? "is not a shape" : "comes without data");
    if (!ox_can_hold(count, tensor->dtype))
        return ox_fail(error, OX_ERROR_LIMIT, "%s: input '%s' has shape %s, too large for this machine", path,
                       input->name, OX_DIMS(tensor->rank, tensor->dims));
    if (input->dtype != OX_UNDEFINED && input->dtype != tensor->dtype)
        return ox_fail(error, OX_ERROR_SHAPE, "%s: input '%s' is %s, the model wants %s", path, input->name,
                       ox_dtype_name(tensor->dtype), ox_dtype_name(input->dtype));
    if (!ox_fits_shape(input->shape, tensor))
        return ox_fail(error, OX_ERROR_SHAPE, "%s: input '%s' has shape %s, the model wants %s", path, input->name,
                       OX_DIMS(tensor->rank, tensor->dims), ox_shape_text(&(ox_dims_buffer){{0}}, input->shape));
    return OX_OK;
}

/* The input of that number, for a change of what it is set to. */
static ox_status find_input(ox_session *session, size_t index, const ox_port **input, ox_error *error) {
    const ox_graph *graph = session->model->graph;
    if (index >= (size_t)graph->ninputs)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: there is no input %zu, the model has %d", session->model->path,
                       index, graph->ninputs);
    *input = &graph->inputs[index];
    session->frame->error = error;
    return OX_OK;
}

static ox_status set_input(ox_session *session, size_t index, const ox_tensor *tensor, ox_error *error) {
    ox_status status = ox_frame_set(session->frame, (int)index, tensor, NULL);
    session->set[index] |= status == OX_OK;
    return ox_meter_explain(&session->meter, status, error);
}

ox_status ox_session_set_input(ox_session *session, size_t index, const ox_tensor *tensor, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(session, error);
    static const ox_slot initial = {.constant = true, .fixed = true, .weight = true};
    const ox_port *input = NULL;
    OX_TRY(find_input(session, index, &input, error));
    if (!tensor) {
        session->set[index] = false;
        return input->initial ? ox_frame_set(session->frame, (int)index, input->initial, &initial) : OX_OK;
    }
    OX_TRY(check_input(session, input, tensor, error));
    return set_input(session, index, tensor, error);
}

ox_status ox_session_set_value(ox_session *session, size_t index, const ox_value *value, ox_error *error) {
    const ox_port *input = NULL;
    if (!value || ox_value_kind(value) == OX_KIND_TENSOR)
        return ox_session_set_input(session, index, ox_value_tensor(value), error);
    ox_error_clear(error);
    OX_NEED(session, error);
    OX_TRY(find_input(session, index, &input, error));
    if (input->kind == OX_KIND_SPARSE || input->kind == OX_KIND_OPAQUE || !OX_WITH_VALUES)
        return ox_fail(error, OX_ERROR_UNSUPPORTED, "%s: input '%s' is %s", session->model->path, input->name,
                       ox_kind_text(input->kind));
    if (!ox_type_fits(value->type, input->dtype))
        return ox_fail(error, OX_ERROR_SHAPE, "%s: input '%s' is of type %s, the model wants %s", session->model->path,
                       input->name, OX_TYPE(value->type), OX_TYPE(input->dtype));
    session->values[index] = value;
    const ox_dtype type = input->dtype == OX_UNDEFINED ? value->type : input->dtype;
    return set_input(session, index, &(const ox_tensor){.dtype = type, .data = &session->values[index]}, error);
}

static ox_status check_all_set(const ox_session *session, ox_error *error) {
    const ox_graph *graph = session->model->graph;
    for (int i = 0; i < graph->ninputs; i++) {
        const ox_port *input = &graph->inputs[i];
        if (!session->set[i] && !input->initial)
            return ox_fail(error, OX_ERROR_ARGUMENT, "%s: input '%s' (%s %s) is not set", session->model->path,
                           input->name, ox_dtype_name(input->dtype),
                           ox_shape_text(&(ox_dims_buffer){{0}}, input->shape));
    }
    return OX_OK;
}

/* ---- Running ------------------------------------------------------------------------------------------------ */

/* Does it again without the plans of other shapes, where these took the memory that it needs. */
static ox_status with_memory(ox_session *session, ox_status (*work)(ox_session *), ox_error *error) {
    ox_status status = work(session);
    if (status == OX_ERROR_MEMORY && ox_kept_drop(session->frame)) {
        ox_error_clear(error);
        status = work(session);
    }
    return ox_meter_explain(&session->meter, status, error);
}

static ox_status plan(ox_session *session) {
    return ox_run_plan(session->frame);
}

ox_status ox_session_prepare(ox_session *session, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(session, error);
    session->ran = false;
    session->frame->error = error;
    OX_TRY(check_all_set(session, error));
    ox_pool_resume(session->pool);
    return with_memory(session, plan, error);
}

#if OX_WITH_BOUND
static ox_status run_bound(ox_session *session) {
    if (!session->bound.callback)
        return ox_run_frame(session->frame);
    ox_bound_begin(session->frame, &session->bound);
    OX_TRY(ox_run_frame(session->frame));
    return ox_bound_finish(session->frame, &session->bound);
}

static const ox_tensor *output_of(const ox_session *session, size_t index) {
    return session->bound.callback ? &session->bound.results[index] : session->frame->outputs[index];
}
#else
static ox_status run_bound(ox_session *session) {
    return ox_run_frame(session->frame);
}

static const ox_tensor *output_of(const ox_session *session, size_t index) {
    return session->frame->outputs[index];
}
#endif

ox_status ox_session_set_outputs(ox_session *session, ox_output_fn *callback, void *context, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(session, error);
    session->frame->error = error;
    session->ran = false;
#if OX_WITH_BOUND
    return ox_meter_explain(&session->meter, ox_bound_set(session->frame, &session->bound, callback, context), error);
#else
    (void)context;
    return callback ? ox_fail(error, OX_ERROR_UNSUPPORTED, "%s: this build leaves outputs in the session's memory",
                              session->model->path)
                    : OX_OK;
#endif
}

ox_status ox_session_run(ox_session *session, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(session, error);
    session->ran = false;
    session->frame->error = error;
    OX_TRY(check_all_set(session, error));
    ox_pool_resume(session->pool);
    ox_status status = with_memory(session, run_bound, error);
    session->ran = status == OX_OK;
    return status;
}

/* Describes output `index` of the last run. */
static ox_status find_output(const ox_session *session, size_t index, const ox_tensor **found, ox_error *error) {
    const ox_graph *graph = session->frame->graph;
    if (index >= (size_t)graph->noutputs)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: there is no output %zu, the session has %d", session->model->path,
                       index, graph->noutputs);
    if (!session->ran)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: there are no outputs before a successful run",
                       session->model->path);
    const ox_port *output = &graph->outputs[index];
    if (session->frame->plan.stale && ox_frame_is_source(session->frame, output->value))
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: output '%s' is an input, which has another shape since the run",
                       session->model->path, output->name);
    *found = output_of(session, index);
    return OX_OK;
}

ox_status ox_session_output(const ox_session *session, size_t index, ox_tensor *tensor, ox_error *error) {
    const ox_tensor *found = NULL;
    ox_error_clear(error);
    OX_NEED(session, error);
    OX_NEED(tensor, error);
    OX_TRY(find_output(session, index, &found, error));
    if (ox_is_value(found->dtype))
        return ox_fail(error, OX_ERROR_ARGUMENT, "%s: output '%s' is not a tensor, but of type %s",
                       session->model->path, session->frame->graph->outputs[index].name, OX_TYPE(found->dtype));
    *tensor = *found;
    return OX_OK;
}

ox_status ox_session_output_value(const ox_session *session, size_t index, const ox_value **value, ox_error *error) {
    const ox_tensor *found = NULL;
    ox_error_clear(error);
    OX_NEED(session, error);
    OX_NEED(value, error);
    *value = NULL;
    OX_TRY(find_output(session, index, &found, error));
    if (ox_is_value(found->dtype))
        *value = ox_value_in(found);
    return OX_OK;
}

static uint32_t value_types(const ox_frame *frame, const ox_index *values, int count) {
    uint32_t types = 0;
    for (int i = 0; i < count; i++)
        if (values[i] >= 0 && ox_type_kind(ox_frame_slot(frame, values[i])->tensor.dtype) == OX_KIND_TENSOR)
            types |= OX_BIT(ox_frame_slot(frame, values[i])->tensor.dtype);
    return types;
}

/* The nodes of an operator in a frame, and in the frames of its subgraphs. */
static uint32_t frame_op_types(const ox_frame *frame, const ox_op_use *use) {
    uint32_t types = 0;
    for (int n = 0; n < frame->graph->nnodes; n++) {
        const ox_node *node = &frame->graph->nodes[n];
        const ox_subframes subframes = ox_frame_inner(frame, n);
        const ox_group *group = ox_frame_group(frame, n);
        for (int i = 0; i < subframes.count; i++)
            if (subframes.frames[i])
                types |= frame_op_types(subframes.frames[i], use);
        if (ox_text_order(node->op->name, use->name) || ox_text_order(node->op->domain, use->domain) ||
            ox_op_version(node->op, node->version) != use->version)
            continue;
        types |= value_types(frame, node->in, node->nin) | value_types(frame, node->out, node->nout);
        if (OX_KEEP_STATE && group && group->pass)
            types |= ox_pass_types(group->pass, n);
#if !OX_SMALL
        types |= frame->plan.steps[n].types;
#endif
    }
    return types;
}

uint32_t ox_session_op_types(const ox_session *session, size_t use_index) {
    ox_op_use use;
    if (!session)
        return 0;
    return ox_model_op_use(session->model, use_index, &use) ? 0 : frame_op_types(session->frame, &use);
}

#if !OX_SMALL
ox_status ox_session_write_plan(ox_session *session, ox_plan_writer *writer, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(session, error);
    OX_NEED(writer, error);
    if (!writer->name || !writer->text || !writer->op)
        return ox_fail(error, OX_ERROR_ARGUMENT, "writing a plan takes a name and two functions, one of which is NULL");
    session->frame->error = error;
    return ox_meter_explain(&session->meter, ox_frame_write(session->frame, &session->temporary, writer), error);
}
#endif

/* The frame has a profile only if a callback needs it. */
static void watch(ox_session *session) {
    ox_profile *profile = &session->profile;
    profile->step = ox_profile_step;
    session->frame->profile = profile->callback || profile->progress ? profile : NULL;
}

void ox_session_set_profile(ox_session *session, ox_profile_fn *callback, void *context) {
    if (!session)
        return;
    session->profile.callback = callback;
    session->profile.context = context;
    watch(session);
}

void ox_session_set_progress(ox_session *session, ox_progress_fn *callback, void *context) {
    if (!session)
        return;
    session->profile.progress = callback;
    session->profile.progress_context = context;
    watch(session);
}

void ox_model_visit(const ox_model *model, const ox_session *session, ox_node_fn *visit, void *context) {
    if (!visit || (!model && !session))
        return;
    ox_visit(session ? session->frame->graph : model->graph, session ? session->frame : NULL, 0, visit, context);
}

void ox_session_memory(const ox_session *session, ox_memory_info *info) {
    if (!info)
        return;
    *info = (ox_memory_info){0};
    if (!session)
        return;
    *info = (ox_memory_info){.plan_bytes = sizeof *session, .weight_bytes = ox_store_bytes(session->model->store)};
    ox_frame_memory(session->frame, &info->arena_bytes, &info->plan_bytes);
}
