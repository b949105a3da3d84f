/* model.c: what a loaded model says of itself. */
#include "graph.h"

size_t ox_model_input_count(const ox_model *model) {
    return (size_t)model->graph->ninputs;
}

size_t ox_model_output_count(const ox_model *model) {
    return (size_t)model->graph->noutputs;
}

static void describe(const ox_port *port, ox_value_info *info) {
    *info = (ox_value_info){.name = port->name, .rank = -1};
    if (port->kind != OX_KIND_TENSOR)
        return;
    info->dtype = port->dtype;
    if (!port->shape)
        return;
    info->rank = port->shape->rank;
    info->dims = port->shape->dims;
    info->dim_names = port->shape->dim_names;
}

ox_status ox_model_input(const ox_model *model, size_t index, ox_value_info *info) {
    if (index >= ox_model_input_count(model))
        return OX_ERROR_ARGUMENT;
    const ox_port *input = &model->graph->inputs[index];
    describe(input, info);
    info->optional = input->initial != NULL;
    return OX_OK;
}

ox_status ox_model_output(const ox_model *model, size_t index, ox_value_info *info) {
    if (index >= ox_model_output_count(model))
        return OX_ERROR_ARGUMENT;
    describe(&model->graph->outputs[index], info);
    return OX_OK;
}

void ox_model_get_info(const ox_model *model, ox_model_info *info) {
    *info = model->info;
}

size_t ox_model_op_use_count(const ox_model *model) {
    return model->nuses;
}

ox_status ox_model_op_use(const ox_model *model, size_t index, ox_op_use *use) {
    if (index >= model->nuses)
        return OX_ERROR_ARGUMENT;
    *use = model->uses[index];
    return OX_OK;
}
