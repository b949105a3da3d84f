/* inputs_npz.c: arrays of .npz files, and columns of tables, as a model's inputs. */
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "file.h"
#include "inputs.h"
#include "memory.h"
#include "source.h"
#include "tool.h"

/* Opens an archive that stays until the inputs are freed. */
static ox_status open_archive(ox_inputs *inputs, const char *text, const ox_npz **npz, ox_error *error) {
    size_t length;
    ox_text path = {0};
    ox_source_cast(text, &length);
    ox_text_add(&path, text, length);
    ox_npz *made = ox_tool_alloc(sizeof *made);
    inputs->archives = ox_tool_resize(inputs->archives, (inputs->archive_count + 1) * sizeof *inputs->archives);
    inputs->archives[inputs->archive_count++] = made;
    *npz = made;
    ox_status status = ox_npz_open(made, path.data, error);
    ox_text_free(&path);
    return status;
}

/* The input that is called so. */
static size_t find_input(const ox_inputs *inputs, const char *name, size_t length) {
    for (size_t i = 0; i < inputs->count; i++)
        if (strlen(inputs->infos[i].name) == length && memcmp(inputs->infos[i].name, name, length) == 0)
            return i;
    return SIZE_MAX;
}

/* The number of "arr_3", as numpy.savez calls an array that was given without a name. */
static size_t number_of(const char *name, size_t length) {
    static const char prefix[] = "arr_";
    size_t number = 0, at = sizeof prefix - 1;
    if (length <= at || length > at + 6 || memcmp(name, prefix, at) != 0)
        return SIZE_MAX;
    for (; at < length; at++) {
        if (name[at] < '0' || name[at] > '9')
            return SIZE_MAX;
        number = number * 10 + (size_t)(name[at] - '0');
    }
    return number;
}

static ox_status give_array(ox_inputs *inputs, const ox_npz *npz, size_t index, const char *text, ox_error *error) {
    size_t length;
    const char *name = ox_npz_name(npz, index, &length);
    size_t i = find_input(inputs, name, length);
    if (i == SIZE_MAX)
        i = number_of(name, length);
    if (i >= inputs->count)
        return ox_inputs_fail(inputs, "unknown input", (int)length, name, error);
    if (inputs->sources[i])
        return ox_inputs_give(inputs, i, text, error);
    inputs->sources[i] = text;
    inputs->members[i] = (ox_npz_member){npz, index};
    return OX_OK;
}

ox_status ox_inputs_assign_npz(ox_inputs *inputs, const char *text, ox_error *error) {
    const ox_npz *npz;
    ox_status status = open_archive(inputs, text, &npz, error);
    if (status)
        return status;
    for (size_t i = 0; i < npz->zip.count && !status; i++)
        status = give_array(inputs, npz, i, text, error);
    if (!status && !npz->zip.count)
        status = ox_tool_fail(error, OX_ERROR_FILE, "it holds no array");
    if (status)
        ox_tool_prefix(error, "%s: ", text);
    return status;
}

static ox_status fail_absent(const ox_npz *npz, const char *text, const char *wanted, ox_error *error) {
    ox_text list = {0};
    for (size_t i = 0; i < npz->zip.count; i++) {
        size_t length;
        const char *name = ox_npz_name(npz, i, &length);
        ox_text_format(&list, "%s'%.*s'", i ? ", " : "", (int)length, name);
    }
    ox_tool_fail(error, OX_ERROR_ARGUMENT, "%s: it holds no array '%s', but %s", text, wanted,
                 list.size ? list.data : "none at all");
    ox_text_free(&list);
    return error->status;
}

ox_status ox_inputs_give_member(ox_inputs *inputs, size_t i, ox_error *error) {
    const ox_npz *npz;
    const char *text = inputs->sources[i];
    ox_status status = open_archive(inputs, text, &npz, error);
    if (status)
        return status;
    size_t index = npz->zip.count == 1 ? 0 : ox_npz_find(npz, inputs->infos[i].name);
    if (index == SIZE_MAX)
        return fail_absent(npz, text, inputs->infos[i].name, error);
    inputs->members[i] = (ox_npz_member){npz, index};
    return OX_OK;
}

/* ---- Columns of tables ------------------------------------------------------------------------------------------- */

/* Gives input i a column of its name, as "table.csv,column=NAME". */
static ox_status give_column(ox_inputs *inputs, size_t i, const char *text, ox_error *error) {
    size_t length;
    const bool cast = ox_source_cast(text, &length);
    ox_text source = {0};
    ox_text_format(&source, "%.*s,column=%s%s", (int)length, text, inputs->infos[i].name, cast ? ",cast" : "");
    inputs->made = ox_tool_resize(inputs->made, (inputs->made_count + 1) * sizeof *inputs->made);
    inputs->made[inputs->made_count++] = source.data;
    return ox_inputs_give(inputs, i, source.data, error);
}

ox_status ox_inputs_assign_csv(ox_inputs *inputs, const char *text, bool *done, ox_error *error) {
    size_t length, size;
    unsigned char *bytes;
    ox_text path = {0};
    ox_csv csv = {0};
    ox_source_cast(text, &length);
    if (ox_source_options(text, length) < length)
        return OX_OK;
    ox_text_add(&path, text, length);
    ox_status status = ox_file_read(path.data, &bytes, &size, error);
    if (!status)
        status = ox_csv_parse(&csv, (const char *)bytes, size, error);
    for (size_t i = 0; i < inputs->count && !status; i++)
        if (ox_csv_find(&csv, inputs->infos[i].name, strlen(inputs->infos[i].name)) != SIZE_MAX) {
            *done = true;
            status = give_column(inputs, i, text, error);
        }
    if (status)
        ox_tool_prefix(error, "%s: ", path.data);
    free(bytes);
    ox_csv_free(&csv);
    ox_text_free(&path);
    return status;
}
