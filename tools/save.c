/* save.c: results as .npy and .pb files. */
#include "save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "file.h"
#include "guard.h"
#include "json.h"
#include "npy.h"
#include "proto.h"
#include "system.h"
#include "tool.h"
#include "zip_write.h"

bool ox_save_knows(const char *path) {
    const size_t length = strlen(path);
    ox_file_info info;
    return strcmp(path, "-") == 0 || ox_file_is_pb(path) || ox_file_is_npz(path) || ox_csv_is_name(path, length) ||
           (length > 4 && ox_text_alike(path + length - 4, ".npy", 4)) ||
           (ox_system_look(path, &info) && !info.is_file);
}

bool ox_save_is_proto(const char *path, const ox_datum *datum) {
    return datum->value || (path && ox_file_is_pb(path));
}

static ox_status write_to(FILE *stream, const char *path, const char *name, const ox_datum *datum, ox_error *error) {
    ox_text bytes = {0};
    if (!datum->value && ox_csv_is_name(path, strlen(path)))
        return ox_csv_write(&datum->tensor, stream, error);
    if (!ox_save_is_proto(path, datum))
        return ox_npy_write(&datum->tensor, stream, error);
    ox_proto_put(&bytes, name, datum);
    fwrite(bytes.data, 1, bytes.size, stream);
    ox_text_free(&bytes);
    return OX_OK;
}

static ox_status write_stdout(const char *name, const ox_datum *datum, ox_error *error) {
    ox_status status = write_to(stdout, "-", name, datum, error);
    if (!status && (fflush(stdout) || ferror(stdout))) {
        ox_guard_pipe();
        status = ox_tool_fail(error, OX_ERROR_FILE, "cannot write to standard output: %s", strerror(errno));
    }
    return status;
}

ox_status ox_save(const char *path, const char *name, const ox_datum *datum, ox_error *error) {
    ox_new_file file;
    char type[OX_TYPE_TEXT];
    if (strcmp(path, "-") == 0)
        return write_stdout(name, datum, error);
    if (datum->value && !ox_file_is_pb(path))
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "output '%s' is %s, which only a .pb holds, not '%s'", name,
                            ox_value_type(datum->value, type), path);
    ox_status status = ox_file_create(&file, path, error);
    if (status)
        return status;
    status = write_to(file.stream, path, name, datum, error);
    if (!status)
        return ox_file_commit(&file, error);
    ox_file_abandon(&file);
    return status;
}

static ox_status add_member(ox_zip_writer *zip, const char *name, const ox_datum *datum, ox_error *error) {
    ox_text bytes = {0}, member = {0};
    ox_status status = ox_npy_put(&datum->tensor, &bytes, error);
    ox_text_format(&member, "%s.npy", name);
    if (!status)
        status = ox_zip_add(zip, member.data, bytes.data, bytes.size, error);
    ox_text_free(&member);
    ox_text_free(&bytes);
    return status;
}

ox_status ox_save_npz(const char *path, const char *const *names, const ox_datum *data, size_t count, ox_error *error) {
    ox_new_file file;
    char type[OX_TYPE_TEXT];
    for (size_t i = 0; i < count; i++)
        if (data[i].value)
            return ox_tool_fail(error, OX_ERROR_ARGUMENT, "output '%s' is %s, which only a .pb holds, not '%s'",
                                names[i], ox_value_type(data[i].value, type), path);
    ox_status status = ox_file_create(&file, path, error);
    if (status)
        return status;
    ox_zip_writer zip = {.file = file.stream};
    for (size_t i = 0; i < count && !status; i++)
        status = add_member(&zip, names[i], &data[i], error);
    ox_zip_end(&zip);
    if (!status)
        return ox_file_commit(&file, error);
    ox_file_abandon(&file);
    return status;
}

static ox_status make_folder(const char *path, ox_error *error) {
    if (ox_system_make_folder(path) || errno == EEXIST)
        return OX_OK;
    return ox_tool_fail(error, OX_ERROR_FILE, "cannot create '%s': %s", path, strerror(errno));
}

static const char *suffix_of(const ox_datum *datum) {
    return datum->value ? ".pb" : ".npy";
}

ox_status ox_save_in(const char *folder, const char *file, const char *name, const ox_datum *datum, ox_error *error) {
    ox_text path = {0};
    ox_text_format(&path, "%s/%s%s", folder, file, suffix_of(datum));
    ox_status status = make_folder(folder, error);
    if (!status)
        status = ox_save(path.data, name, datum, error);
    ox_text_free(&path);
    return status;
}

/* ---- A folder of values ------------------------------------------------------------------------------------------ */

static bool is_plain(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           (c == '.' && !first);
}

/* No two names get the same file: a ',' is in numbered ones alone. */
static void put_file_name(ox_text *text, const char *name, size_t number) {
    enum {
        MOST = 200
    };
    for (const char *c = name; *c && text->size < MOST; c++)
        ox_text_format(text, is_plain(*c, c == name) ? "%c" : "%%%02X",
                       is_plain(*c, c == name) ? *c : (unsigned char)*c);
    if (text->size >= MOST)
        ox_text_format(text, ",%zu", number);
}

static void add_entry(ox_saved *saved, const char *name, const char *file, const ox_datum *datum) {
    ox_text *index = &saved->index;
    char type[OX_TYPE_TEXT];
    ox_text_put(index, saved->count++ ? ",\n  {\"name\": " : "[\n  {\"name\": ");
    ox_text_json(index, name);
    ox_text_format(index, ", \"file\": \"%s%s\", ", file, suffix_of(datum));
    if (datum->value) {
        ox_text_format(index, "\"type\": \"%s\"}", ox_value_type(datum->value, type));
        return;
    }
    ox_text_format(index, "\"dtype\": \"%s\", \"shape\": ", ox_dtype_name(datum->tensor.dtype));
    ox_json_dims(index, datum->tensor.rank, datum->tensor.dims);
    ox_text_put(index, "}");
}

ox_status ox_saved_add(ox_saved *saved, const char *name, const ox_datum *datum, ox_error *error) {
    ox_text file = {0};
    put_file_name(&file, name, saved->count);
    ox_status status = ox_save_in(saved->folder, ox_text_get(&file), name, datum, error);
    if (!status)
        add_entry(saved, name, ox_text_get(&file), datum);
    ox_text_free(&file);
    return status;
}

static ox_status write_list(const char *path, const char *text, ox_error *error) {
    ox_new_file file;
    ox_status status = ox_file_create(&file, path, error);
    if (status)
        return status;
    fprintf(file.stream, "%s\n]\n", text);
    return ox_file_commit(&file, error);
}

static ox_status write_index(const ox_saved *saved, ox_error *error) {
    ox_text path = {0};
    ox_text_format(&path, "%s/index.json", saved->folder);
    ox_status status = make_folder(saved->folder, error);
    if (!status)
        status = write_list(path.data, saved->count ? saved->index.data : "[", error);
    ox_text_free(&path);
    return status;
}

ox_status ox_saved_end(ox_saved *saved, ox_status status, ox_error *error) {
    if (!status)
        status = write_index(saved, error);
    ox_text_free(&saved->index);
    return status;
}

void ox_save_note_raw(const char *what, const char *name, ox_dtype dtype) {
    if (ox_npy_is_raw(dtype))
        ox_tool_error("%s '%s' is %s: its .npy holds the raw elements as %s", what, name, ox_dtype_name(dtype),
                      ox_npy_type(dtype));
}
