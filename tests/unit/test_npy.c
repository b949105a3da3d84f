/* test_npy.c: numpy files, read and written. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tools/npy.h"

/* A malloced file: magic, version, the header's text (filled up as numpy does), data. *size is its length. */
static unsigned char *make_file(int version, const char *header, const void *data, size_t data_size, size_t *size) {
    size_t start = version == 1 ? 10 : 12;
    size_t length = strlen(header);
    unsigned char *bytes = calloc(start + length + data_size + 1, 1);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)version;
    bytes[8] = (unsigned char)(length & 0xFF);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + start, header, length);
    memcpy(bytes + start + length, data, data_size);
    *size = start + length + data_size;
    return bytes;
}

static ox_status read_file(int version, const char *header, const void *data, size_t data_size, ox_array *array,
                           ox_error *error) {
    size_t size;
    unsigned char *bytes = make_file(version, header, data, data_size, &size);
    ox_status status = ox_npy_read(bytes, size, array, error);
    if (status)
        free(bytes);
    return status;
}

/* Writes a tensor and reads the file back. */
static void round_trip(const ox_tensor *tensor, ox_array *array) {
    ox_error error = {OX_OK, ""};
    FILE *file = tmpfile();
    ck_assert_int_eq(ox_npy_write(tensor, file, &error), OX_OK);
    long size = ftell(file);
    unsigned char *bytes = malloc((size_t)size);
    rewind(file);
    ck_assert_uint_eq(fread(bytes, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    ck_assert_msg(ox_npy_read(bytes, (size_t)size, array, &error) == OX_OK, "%s", error.text);
}

START_TEST(reads_every_version) {
    int32_t data[] = {1, -2, 3};
    for (int version = 1; version <= 3; version++) {
        ox_array array;
        ox_error error;
        ck_assert_int_eq(read_file(version, "{'descr': '=i4', 'fortran_order': False, 'shape': (3,), }\n", data,
                                   sizeof data, &array, &error),
                         OX_OK);
        ck_assert_int_eq(array.tensor.dtype, OX_INT32);
        ck_assert_int_eq(array.tensor.rank, 1);
        ck_assert_int_eq(((int32_t *)array.tensor.data)[1], -2);
        ox_array_free(&array);
    }
}
END_TEST

START_TEST(reads_big_endian_and_fortran_order) {
    unsigned char data[] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
    ox_array array;
    ox_error error;
    ck_assert_int_eq(
        read_file(1, "{\"shape\":(2,3), \"descr\":'>u2', 'fortran_order':True}", data, sizeof data, &array, &error),
        OX_OK);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(((uint16_t *)array.tensor.data)[i], i + 1);
    ox_array_free(&array);
}
END_TEST

START_TEST(reads_strings) {
    uint32_t data[] = {'a', 0, 0xFC, 0x65E5, 0, 0};
    ox_array array;
    ox_error error;
    ck_assert_int_eq(
        read_file(1, "{'descr': '=U2', 'fortran_order': False, 'shape': (3,), }", data, sizeof data, &array, &error),
        OX_OK);
    const ox_string *strings = array.tensor.data;
    ck_assert_uint_eq(strings[0].size, 1);
    ck_assert_uint_eq(strings[1].size, 5);
    ck_assert_mem_eq(strings[1].data, "\xC3\xBC\xE6\x97\xA5", 5);
    ck_assert_uint_eq(strings[2].size, 0);
    ox_array_free(&array);
}
END_TEST

START_TEST(keeps_void_as_raw) {
    ox_array array;
    ox_error error;
    ck_assert_int_eq(
        read_file(1, "{'descr': '|V2', 'fortran_order': False, 'shape': (), }", "\x80\x3F", 2, &array, &error), OX_OK);
    ck_assert_uint_eq(array.raw, 2);
    ck_assert_int_eq(ox_array_convert(&array, OX_BFLOAT16, &error), OX_OK);
    ck_assert_int_eq(array.tensor.dtype, OX_BFLOAT16);
    ox_array_free(&array);
}
END_TEST

static const char *const hostile[] = {
    "",
    "{",
    "{}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
    "{'descr': '<f4', 'fortran_order': False}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
    "{'descr': '<f4', 'fortran_order': 1, 'shape': (3,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,4)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
    "{'descr': '<f3', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '<U99999999999999999999', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '<U4611686018427387904', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000,)}",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '<M8', 'fortran_order': False, 'shape': (1,)}",
    "{'descr': [('a','<f4')], 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
    ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}"),
};

START_TEST(refuses_hostile_headers) {
    ox_array array;
    ox_error error = {OX_OK, ""};
    ck_assert_int_ne(read_file(1, hostile[_i], "0123456789ab", 12, &array, &error), OX_OK);
    ck_assert_str_ne(error.text, "");
    ck_assert_ptr_null(array.data);
}
END_TEST

START_TEST(refuses_every_truncation) {
    size_t size;
    unsigned char *bytes =
        make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", "0123456789ab", 12, &size);
    for (size_t cut = 0; cut < size; cut++) {
        ox_array array;
        ox_error error;
        unsigned char *part = malloc(cut ? cut : 1);
        memcpy(part, bytes, cut);
        ck_assert_int_ne(ox_npy_read(part, cut, &array, &error), OX_OK);
        free(part);
    }
    free(bytes);
}
END_TEST

START_TEST(refuses_codes_that_are_no_characters) {
    uint32_t data[] = {0x110000};
    ox_array array;
    ox_error error;
    ck_assert_int_ne(
        read_file(1, "{'descr': '=U1', 'fortran_order': False, 'shape': (1,), }", data, sizeof data, &array, &error),
        OX_OK);
}
END_TEST

START_TEST(writes_what_it_reads) {
    double data[] = {1, 2, 3, 4, 5, 6};
    int64_t dims[] = {2, 3};
    int64_t strides[] = {8, 16};
    ox_tensor tensor = {OX_DOUBLE, 2, dims, strides, data};
    ox_array array;
    round_trip(&tensor, &array);
    ck_assert_int_eq(array.tensor.dtype, OX_DOUBLE);
    ck_assert_int_eq(array.tensor.dims[1], 3);
    ck_assert_double_eq(((double *)array.tensor.data)[1], 3);
    ck_assert_double_eq(((double *)array.tensor.data)[3], 2);
    ox_array_free(&array);
}
END_TEST

START_TEST(writes_strings) {
    ox_string data[] = {{"plain", 5}, {"\xFF\x01", 2}, {"", 0}};
    int64_t dims[] = {3};
    ox_array array;
    round_trip(&(ox_tensor){OX_STRING, 1, dims, NULL, data}, &array);
    const ox_string *strings = array.tensor.data;
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(strings[i].size, data[i].size);
        ck_assert_int_eq(memcmp(strings[i].data, data[i].data, data[i].size), 0);
    }
    ox_array_free(&array);
}
END_TEST

START_TEST(aligns_the_data) {
    ox_error error;
    float value = 1;
    FILE *file = tmpfile();
    int64_t dims[OX_DTYPE_COUNT];
    for (int rank = 0; rank < 20; rank++) {
        dims[rank] = 1;
        rewind(file);
        ox_npy_write(&(ox_tensor){OX_FLOAT, rank, dims, NULL, &value}, file, &error);
        ck_assert_int_eq((ftell(file) - 4) % 64, 0);
    }
    fclose(file);
}
END_TEST

START_TEST(converts_within_a_kind_when_values_fit) {
    int64_t data[] = {-128, 127, 128};
    ox_array array;
    ox_error error;
    const char *header = "{'descr': '=i8', 'fortran_order': False, 'shape': (2,), }";
    ck_assert_int_eq(read_file(1, header, data, 16, &array, &error), OX_OK);
    ck_assert_int_eq(ox_array_convert(&array, OX_INT8, &error), OX_OK);
    ck_assert_int_eq(((int8_t *)array.tensor.data)[0], -128);
    ck_assert_int_ne(ox_array_convert(&array, OX_FLOAT, &error), OX_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "int8"));
    ck_assert_int_ne(ox_array_convert(&array, OX_UINT8, &error), OX_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "-128"));
    ox_array_free(&array);
    ck_assert_int_eq(read_file(1, header, data + 1, 16, &array, &error), OX_OK);
    ck_assert_int_ne(ox_array_convert(&array, OX_INT8, &error), OX_OK);
    ox_array_free(&array);
}
END_TEST

Suite *ox_suite_npy(void);

Suite *ox_suite_npy(void) {
    Suite *suite = suite_create("npy");
    TCase *tests = tcase_create("npy");
    tcase_add_test(tests, reads_every_version);
    tcase_add_test(tests, reads_big_endian_and_fortran_order);
    tcase_add_test(tests, reads_strings);
    tcase_add_test(tests, keeps_void_as_raw);
    tcase_add_loop_test(tests, refuses_hostile_headers, 0, (int)(sizeof hostile / sizeof *hostile));
    tcase_add_test(tests, refuses_every_truncation);
    tcase_add_test(tests, refuses_codes_that_are_no_characters);
    tcase_add_test(tests, writes_what_it_reads);
    tcase_add_test(tests, writes_strings);
    tcase_add_test(tests, aligns_the_data);
    tcase_add_test(tests, converts_within_a_kind_when_values_fit);
    suite_add_tcase(suite, tests);
    return suite;
}
