/* test_external.c: weights that do not lie in the model: sparse ones, and those in other files or with the caller. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/loading.h"

START_TEST(sparse_initializers_become_dense) {
    ox_bytes tensor = {0}, indices = {0}, sparse = {0}, graph = {0}, bytes = {0};
    ox_put_int(&tensor, 1, 2);
    ox_put_int(&tensor, 2, OX_FLOAT);
    ox_put_text(&tensor, 8, "s");
    ox_put_numbers(&tensor, 9, (const float[]){3, 5}, 8, 4);
    ox_put_int(&indices, 1, 2);
    ox_put_int(&indices, 2, OX_INT64);
    ox_put_numbers(&indices, 9, (const int64_t[]){1, 3}, 16, 8);
    ox_put_message(&sparse, 1, &tensor);
    ox_put_message(&sparse, 2, &indices);
    ox_put_int(&sparse, 3, 4);
    ox_put_message(&graph, 15, &sparse);
    ox_put_model(&bytes, &graph, 13);
    load(&bytes);
    ck_assert(!memcmp(weight("s"), (const float[]){0, 3, 0, 5}, 16));
    ck_assert_int_eq(model->info.parameter_count, 4);
    ox_model_free(model);
}
END_TEST

static char directory[64];

static void write_file(const char *name, const void *data, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void put_entry(ox_bytes *tensor, const char *key, const char *value) {
    ox_bytes entry = {0};
    ox_put_text(&entry, 1, key);
    ox_put_text(&entry, 2, value);
    ox_put_message(tensor, 13, &entry);
}

/* A model whose initializer w, float [2], is at the location. */
static void put_external(ox_bytes *bytes, const char *location, const char *offset, const char *length) {
    ox_bytes tensor = {0}, graph = {0};
    ox_put_int(&tensor, 1, 2);
    ox_put_int(&tensor, 2, OX_FLOAT);
    ox_put_text(&tensor, 8, "w");
    put_entry(&tensor, "location", location);
    put_entry(&tensor, "checksum", "not looked at");
    if (offset)
        put_entry(&tensor, "offset", offset);
    if (length)
        put_entry(&tensor, "length", length);
    ox_put_int(&tensor, 14, 1);
    ox_put_message(&graph, 5, &tensor);
    ox_put_model(bytes, &graph, 13);
}

static ox_status load_external(const char *location, const char *offset, const char *length) {
    ox_bytes bytes = {0};
    char path[128];
    put_external(&bytes, location, offset, length);
    write_file("model.onnx", bytes.data, bytes.size);
    snprintf(path, sizeof path, "%s/model.onnx", directory);
    return ox_model_load_file(path, NULL, &model, &error);
}

static void check_external_fails(const char *location, const char *offset, const char *length, const char *text) {
    ck_assert_int_ne(load_external(location, offset, length), OX_OK);
    check_text("model.onnx: ");
    check_text(text);
}

START_TEST(external_data) {
    char path[128];
    strcpy(directory, "ox_test_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    write_file("w.bin", "\0\0\x80\x3f\0\0\x00\x40\0\0\x40\x40", 12); /* 1, 2, 3 */
    ck_assert_msg(load_external("w.bin", "4", "8") == OX_OK, "%s", error.text);
    ck_assert(!memcmp(weight("w"), (const float[]){2, 3}, 8));
    ox_model_free(model);
    ck_assert_int_eq(load_external("./w.bin", NULL, NULL), OX_OK);
    ox_model_free(model);
    check_external_fails("w.bin", "8", "8", "has 12 bytes, too few for 8 from offset 8");
    check_external_fails("w.bin", "8", NULL, "has 12 bytes, too few for 8 from offset 8");
    snprintf(path, sizeof path, "%zu", SIZE_MAX);
    check_external_fails("w.bin", path, "8", path);
    check_external_fails("w.bin", "99999999999999999999", "8", "offset '99999999999999999999'");
    check_external_fails("w.bin", "-1", "8", "offset '-1'");
    check_external_fails("w.bin", "0", "4", "has 4 bytes of external data");
    check_external_fails("absent.bin", NULL, NULL, "absent.bin");
    check_external_fails("", NULL, NULL, "must be a path inside");
    check_external_fails("../w.bin", NULL, NULL, "without '..'");
    check_external_fails("a/../../w.bin", NULL, NULL, "without '..'");
    check_external_fails("/etc/passwd", NULL, NULL, "must be a path inside");
    snprintf(path, sizeof path, "%s/link", directory);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    check_external_fails("link", NULL, NULL, "leads out of the model's directory");
    unlink(path);
    snprintf(path, sizeof path, "%s/w.bin", directory);
    unlink(path);
    snprintf(path, sizeof path, "%s/model.onnx", directory);
    unlink(path);
    rmdir(directory);
}
END_TEST

static char *inside(const char *name) {
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void link_to(const char *target, const char *name) {
    unlink(inside(name));
    ck_assert_int_eq(symlink(target, inside(name)), 0);
}

static void check_link_loads(const char *name, float first) {
    ck_assert_msg(ox_model_load_file(inside(name), NULL, &model, &error) == OX_OK, "%s", error.text);
    ck_assert_str_eq(error.text, "");
    ck_assert(*(const float *)weight("w") == first);
    ox_model_free(model);
}

static void check_link_fails(const char *name, const char *text) {
    ck_assert_int_ne(ox_model_load_file(inside(name), NULL, &model, &error), OX_OK);
    check_text(text);
}

/* What caches of downloads look like: names in one folder are links to files in another. */
START_TEST(models_that_are_links) {
    static const char *const folders[] = {"blobs", "blobs/deep", "blobs2", "snapshots", "snapshots/1"};
    static const char *const files[] = {
        "blobs/a",  "blobs/deep/c",           "blobs/w.bin",       "blobs/b",
        "blobs2/b", "snapshots/1/model.onnx", "snapshots/1/w.bin", "snapshots/model.onnx"};
    ox_bytes bytes = {0};
    strcpy(directory, "ox_test_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        ck_assert_int_eq(mkdir(inside(folders[i]), 0700), 0);
    put_external(&bytes, "w.bin", NULL, NULL);
    write_file("blobs/a", bytes.data, bytes.size);
    write_file("blobs/b", "\0\0\x80\x3f\0\0\x00\x40", 8);      /* 1, 2 */
    write_file("blobs/deep/c", "\0\0\x00\x40\0\0\x00\x40", 8); /* 2, 2 */
    write_file("blobs2/b", "\0\0\x80\x3f\0\0\x00\x40", 8);
    link_to("../../blobs/a", "snapshots/1/model.onnx");
    check_link_fails("snapshots/1/model.onnx", "external data 'w.bin': ");
    check_text("snapshots/1/w.bin: No such file or directory");
    link_to("../../blobs/b", "snapshots/1/w.bin"); /* both are links */
    check_link_loads("snapshots/1/model.onnx", 1);
    link_to("1/model.onnx", "snapshots/model.onnx"); /* a link to a link, nothing beside it */
    check_link_fails("snapshots/model.onnx", "external data 'w.bin': ");
    link_to("../../blobs2/b", "snapshots/1/w.bin"); /* neither folder; nor one whose name begins like it */
    check_link_fails("snapshots/1/model.onnx", "leads out of the model's directory");
    link_to("/etc/passwd", "snapshots/1/w.bin");
    check_link_fails("snapshots/1/model.onnx", "leads out of the model's directory");
    unlink(inside("snapshots/1/w.bin"));
    write_file("blobs/w.bin", "\0\0\x40\x40\0\0\x00\x40", 8); /* 3, 2: beside the real file alone */
    check_link_loads("snapshots/1/model.onnx", 3);
    check_link_loads("snapshots/model.onnx", 3);
    link_to("../../blobs/deep/c", "snapshots/1/w.bin"); /* below the real file's; the given folder comes first */
    check_link_loads("snapshots/1/model.onnx", 2);
    unlink(inside("blobs/w.bin"));
    link_to("../blobs2/b", "blobs/w.bin");
    unlink(inside("snapshots/1/w.bin"));
    check_link_fails("snapshots/1/model.onnx", "leads out of the model's directory");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(inside(files[i]));
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;)
        rmdir(inside(folders[i]));
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(missing_data_is_told_for_info) {
    ox_bytes bytes = {0};
    ox_session *session;
    ox_model_info info;
    strcpy(directory, "ox_test_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    put_external(&bytes, "absent.bin", "4", NULL);
    write_file("model.onnx", bytes.data, bytes.size);
    for (int memory = 0; memory < 2; memory++) {
        ck_assert_int_eq(memory ? ox_model_load_memory_for_info(bytes.data, bytes.size, NULL, &model, &error)
                                : ox_model_load_for_info(inside("model.onnx"), NULL, &model, &error),
                         OX_OK);
        ck_assert_str_eq(error.text, "");
        ox_model_get_info(model, &info);
        ck_assert_int_eq(info.parameter_count, 2);
        ck_assert_int_eq(info.weight_bytes, 8);
        ck_assert_int_eq(ox_session_create(model, NULL, &session, &error), OX_ERROR_FILE);
        check_text("the file 'absent.bin' with external data is missing");
        ox_model_free(model);
    }
    bytes.size = 0; /* what may not be read is refused all the same, and so is what is too short */
    put_external(&bytes, "../absent.bin", NULL, NULL);
    write_file("model.onnx", bytes.data, bytes.size);
    ck_assert_int_eq(ox_model_load_for_info(inside("model.onnx"), NULL, &model, &error), OX_ERROR_MODEL);
    bytes.size = 0;
    put_external(&bytes, "model.onnx", "4000", NULL);
    write_file("model.onnx", bytes.data, bytes.size);
    ck_assert_int_eq(ox_model_load_for_info(inside("model.onnx"), NULL, &model, &error), OX_ERROR_MODEL);
    unlink(inside("model.onnx"));
    rmdir(directory);
}
END_TEST

/* Weights at a fixed address: what the model calls "flash" is an array. */
static const float flash[4] = {1, 2, 3, 4};

static const void *from_flash(void *context, const char *location, size_t offset, size_t length) {
    ++*(int *)context;
    if (strcmp(location, "flash") || offset > sizeof flash || length > sizeof flash - offset)
        return NULL;
    return (const char *)flash + offset;
}

START_TEST(external_data_by_function) {
    ox_bytes bytes = {0};
    int calls = 0;
    ox_options options = {.external_data = from_flash, .external_context = &calls};
    put_external(&bytes, "flash", "4", NULL);
    ck_assert_int_eq(ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), OX_OK);
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) /* others turn it in memory of their own */
        ck_assert_ptr_eq(weight("w"), &flash[1]);
    ck_assert_int_eq(calls, 1);
    ox_model_free(model);
    bytes.size = 0;
    put_external(&bytes, "flash", "12", "8");
    ck_assert_int_eq(ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), OX_ERROR_MODEL);
    check_text("external data 'flash': there are no 8 bytes at offset 12");
    bytes.size = 0;
    put_external(&bytes, "flash", "0", "4");
    ck_assert_int_eq(ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), OX_ERROR_MODEL);
    check_text("has 4 bytes of external data");
}
END_TEST

Suite *ox_suite_external(void);
Suite *ox_suite_external(void) {
    Suite *suite = suite_create("external");
    TCase *tests = tcase_create("external");
    tcase_add_test(tests, sparse_initializers_become_dense);
    tcase_add_test(tests, external_data);
    tcase_add_test(tests, external_data_by_function);
    tcase_add_test(tests, models_that_are_links);
    tcase_add_test(tests, missing_data_is_told_for_info);
    suite_add_tcase(suite, tests);
    return suite;
}
