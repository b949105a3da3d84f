/* model.c: what a loaded model says of itself. */
#include "frame/graph.h"

size_t ox_model_input_count(const ox_model *model) {
    return model ? (size_t)model->graph->ninputs : 0;
}

size_t ox_model_output_count(const ox_model *model) {
    return model ? (size_t)model->graph->noutputs : 0;
}

const char *ox_shape_text(ox_dims_buffer *buffer, const ox_shape *shape) {
    if (!shape)
        return "of any shape";
    size_t used = ox_format(buffer->text, sizeof buffer->text, "[");
    for (int d = 0; d < shape->rank; d++) {
        char *at = buffer->text + used;
        size_t room = sizeof buffer->text - used;
        const char *comma = d ? "," : "";
        if (shape->dims[d] >= 0)
            used += ox_format(at, room, "%s%lld", comma, (long long)shape->dims[d]);
        else
            used += ox_format(at, room, "%s%s", comma, shape->dim_names[d] ? shape->dim_names[d] : "?");
    }
    ox_format(buffer->text + used, sizeof buffer->text - used, "]");
    return buffer->text;
}

bool ox_fits_shape(const ox_shape *shape, const ox_tensor *tensor) {
    if (!shape)
        return true;
    if (shape->rank != tensor->rank)
        return false;
    for (int d = 0; d < shape->rank; d++)
        if (shape->dims[d] >= 0 && shape->dims[d] != tensor->dims[d])
            return false;
    return true;
}

static void describe(const ox_port *port, ox_value_info *info) {
    *info = (ox_value_info){.name = port->name, .kind = port->kind, .rank = -1};
    if (port->dtype != OX_UNDEFINED)
        ox_type_write(info->type, port->dtype);
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
    if (index >= ox_model_input_count(model) || !info)
        return OX_ERROR_ARGUMENT;
    const ox_port *input = &model->graph->inputs[index];
    describe(input, info);
    info->optional = input->initial != NULL;
    return OX_OK;
}

ox_status ox_model_output(const ox_model *model, size_t index, ox_value_info *info) {
    if (index >= ox_model_output_count(model) || !info)
        return OX_ERROR_ARGUMENT;
    describe(&model->graph->outputs[index], info);
    return OX_OK;
}

void ox_model_get_info(const ox_model *model, ox_model_info *info) {
    if (info)
        *info = model ? model->info : (ox_model_info){0};
}

size_t ox_model_op_use_count(const ox_model *model) {
    return model ? model->nuses : 0;
}

ox_status ox_model_op_use(const ox_model *model, size_t index, ox_op_use *use) {
    if (index >= ox_model_op_use_count(model) || !use)
        return OX_ERROR_ARGUMENT;
    *use = model->uses[index];
    return OX_OK;
}
