/* test_payload.c: every way in which ONNX stores the data of a tensor. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/tensor.h"
#include "tests/unit/onnx_bytes.h"

enum {
    DIMS = 1,
    TYPE = 2,
    FLOATS = 4,
    INT32S = 5,
    STRINGS = 6,
    INT64S = 7,
    NAME = 8,
    RAW = 9,
    DOUBLES = 10,
    UINT64S = 11
};

static ox_error error;
static ox_tensor *tensor;

/* A tensor of one dimension, without its data. */
static ox_bytes head(ox_dtype dtype, int64_t count) {
    ox_bytes bytes = {0};
    ox_put_int(&bytes, DIMS, count);
    ox_put_int(&bytes, TYPE, dtype);
    return bytes;
}

static ox_status load(const ox_bytes *bytes) {
    return ox_tensor_from_proto(bytes->data, bytes->size, NULL, &tensor, NULL, &error);
}

static void check_elements(const ox_bytes *bytes, const void *expected, size_t size) {
    ck_assert_msg(load(bytes) == OX_OK, "%s", error.text);
    ck_assert_uint_eq((size_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype), size);
    ck_assert(!memcmp(tensor->data, expected, size));
    ox_tensor_free(tensor, NULL);
}

static void check_fails(const ox_bytes *bytes, ox_status status, const char *text) {
    ck_assert_int_eq(load(bytes), status);
    ck_assert_msg(strstr(error.text, text) != NULL, "'%s' is not in '%s'", text, error.text);
    ck_assert(!tensor);
}

/* Of the numbers that an element consists of. */
static size_t number_width(ox_dtype dtype) {
    return ox_dtype_size(dtype) / (dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128 ? 2 : 1);
}

START_TEST(raw_data_of_every_type) {
    unsigned char data[64];
    for (int i = 0; i < 64; i++)
        data[i] = (unsigned char)(i % 3 == 0);
    for (int dtype = 1; dtype < OX_DTYPE_COUNT; dtype++) {
        if (ox_dtype_bits((ox_dtype)dtype) < 8)
            continue;
        size_t size = 4 * ox_dtype_size((ox_dtype)dtype);
        ox_bytes bytes = head((ox_dtype)dtype, 4);
        ox_put_numbers(&bytes, RAW, data, size, number_width((ox_dtype)dtype));
        check_elements(&bytes, data, size);
    }
}
END_TEST

static void check_tiny(ox_dtype dtype, const char *packed, size_t size, const char *expected, int64_t count) {
    ox_bytes raw = head(dtype, count);
    ox_put_bytes(&raw, RAW, packed, size);
    check_elements(&raw, expected, (size_t)count);
    if (ox_dtype_bits(dtype) == 6)
        return;
    ox_bytes typed = head(dtype, count);
    for (size_t i = 0; i < size; i++)
        ox_put_int(&typed, INT32S, (unsigned char)packed[i]);
    check_elements(&typed, expected, (size_t)count);
}

START_TEST(types_below_a_byte) {
    check_tiny(OX_UINT4, "\x21\xf8\x03", 3, "\x01\x02\x08\x0f\x03", 5);
    check_tiny(OX_INT4, "\x21\xf8\x03", 3, "\x01\x02\xf8\xff\x03", 5);
    check_tiny(OX_FLOAT4E2M1, "\x21\xf8", 2, "\x01\x02\x08\x0f", 4);
    check_tiny(OX_UINT2, "\xe4\x02", 2, "\x00\x01\x02\x03\x02", 5);
    check_tiny(OX_INT2, "\xe4\x02", 2, "\x00\x01\xfe\xff\xfe", 5);
    check_tiny(OX_FLOAT6E2M3, "\x81\x30\x10\x3f", 4, "\x01\x02\x03\x04\x3f", 5);
    ox_bytes six = head(OX_FLOAT6E3M2, 3);
    ox_put_bytes(&six, INT32S, "\x01\x3f\x20", 3);
    check_elements(&six, "\x01\x3f\x20", 3);
    six.data[six.size - 1] = 0x40;
    check_fails(&six, OX_ERROR_MODEL, "int32_data[2] is 64");
}
END_TEST

START_TEST(float_data) {
    static const float values[4] = {1.5f, -2, 0, 7};
    ox_bytes packed = head(OX_FLOAT, 4), single = head(OX_FLOAT, 1), complex = head(OX_COMPLEX64, 2);
    ox_put_numbers(&packed, FLOATS, values, sizeof values, 4);
    check_elements(&packed, values, sizeof values);
    ox_put_numbers(&complex, FLOATS, values, sizeof values, 4);
    check_elements(&complex, values, sizeof values);
    single.data[single.size++] = FLOATS << 3 | 5; /* unpacked */
    memcpy(single.data + single.size, "\x00\x00\xc0\x3f", 4);
    single.size += 4;
    check_elements(&single, values, 4);
}
END_TEST

START_TEST(double_data) {
    static const double values[4] = {1.5, -2, 0, 7};
    ox_bytes real = head(OX_DOUBLE, 4), complex = head(OX_COMPLEX128, 2), two = head(OX_DOUBLE, 4);
    ox_put_numbers(&real, DOUBLES, values, sizeof values, 8);
    check_elements(&real, values, sizeof values);
    ox_put_numbers(&complex, DOUBLES, values, sizeof values, 8);
    check_elements(&complex, values, sizeof values);
    ox_put_numbers(&two, DOUBLES, values, 16, 8); /* in two pieces */
    ox_put_numbers(&two, DOUBLES, values + 2, 16, 8);
    check_elements(&two, values, sizeof values);
}
END_TEST

static void check_int32(ox_dtype dtype, int64_t value, const void *expected) {
    ox_bytes bytes = head(dtype, 1);
    ox_put_int(&bytes, INT32S, value);
    if (expected)
        check_elements(&bytes, expected, ox_dtype_size(dtype));
    else
        check_fails(&bytes, OX_ERROR_MODEL, "does not fit");
}

START_TEST(int32_data) {
    check_int32(OX_INT32, -5, &(int32_t){-5});
    check_int32(OX_INT16, -5, &(int16_t){-5});
    check_int32(OX_UINT16, 65535, &(uint16_t){65535});
    check_int32(OX_UINT16, 65536, NULL);
    check_int32(OX_INT8, -128, &(int8_t){-128});
    check_int32(OX_INT8, -129, NULL);
    check_int32(OX_UINT8, 255, &(uint8_t){255});
    check_int32(OX_UINT8, 256, NULL);
    check_int32(OX_BOOL, 1, &(uint8_t){1});
    check_int32(OX_BOOL, 512, &(uint8_t){1});
    check_int32(OX_FLOAT16, 0x3c00, &(uint16_t){0x3c00});
    check_int32(OX_BFLOAT16, 0xbf80, &(uint16_t){0xbf80});
    check_int32(OX_FLOAT8E4M3FN, 0x38, &(uint8_t){0x38});
    check_int32(OX_FLOAT8E4M3FNUZ, 0x38, &(uint8_t){0x38});
    check_int32(OX_FLOAT8E5M2, 0x38, &(uint8_t){0x38});
    check_int32(OX_FLOAT8E5M2FNUZ, 0x38, &(uint8_t){0x38});
    check_int32(OX_FLOAT8E8M0, 0xff, &(uint8_t){0xff});
}
END_TEST

START_TEST(int64_and_uint64_data) {
    ox_bytes i = head(OX_INT64, 2), u = head(OX_UINT64, 1), u32 = head(OX_UINT32, 1), large = head(OX_UINT32, 1);
    ox_put_int(&i, INT64S, INT64_MIN);
    ox_put_int(&i, INT64S, 3);
    check_elements(&i, (const int64_t[]){INT64_MIN, 3}, 16);
    ox_put_int(&u, UINT64S, -1);
    check_elements(&u, &(uint64_t){UINT64_MAX}, 8);
    ox_put_int(&u32, UINT64S, UINT32_MAX);
    check_elements(&u32, &(uint32_t){UINT32_MAX}, 4);
    ox_put_int(&large, UINT64S, (int64_t)UINT32_MAX + 1);
    check_fails(&large, OX_ERROR_MODEL, "does not fit uint32");
}
END_TEST

START_TEST(string_data) {
    ox_bytes bytes = head(OX_STRING, 3), raw = head(OX_STRING, 1);
    ox_put_text(&bytes, STRINGS, "abc");
    ox_put_text(&bytes, STRINGS, "");
    ox_put_bytes(&bytes, STRINGS, "a\0b", 3);
    ck_assert_int_eq(load(&bytes), OX_OK);
    const ox_string *s = tensor->data;
    ck_assert_uint_eq(s[0].size, 3);
    ck_assert_uint_eq(s[1].size, 0);
    ck_assert_uint_eq(s[2].size, 3);
    ck_assert(!memcmp(s[0].data, "abc", 3) && !memcmp(s[2].data, "a\0b", 3));
    ox_tensor_free(tensor, NULL);
    ox_put_text(&raw, RAW, "abc");
    check_fails(&raw, OX_ERROR_MODEL, "is of type string, but its data is in raw_data");
}
END_TEST

START_TEST(counts_must_agree) {
    ox_bytes none = head(OX_FLOAT, 2), less = head(OX_FLOAT, 2), wrong = head(OX_FLOAT, 1), both = head(OX_FLOAT, 1),
             huge = head(OX_FLOAT, INT64_MAX), negative = head(OX_FLOAT, -1), untyped = {0}, strange = {0};
    check_fails(&none, OX_ERROR_MODEL, "tensor: has no data for float [2]");
    ox_put_text(&less, NAME, "w");
    ox_put_bytes(&less, RAW, "1234567", 7);
    check_fails(&less, OX_ERROR_MODEL, "tensor 'w': has 7 bytes of raw_data");
    ox_put_int(&wrong, INT64S, 1);
    check_fails(&wrong, OX_ERROR_MODEL, "its data is in int64_data");
    ox_put_bytes(&both, RAW, "1234", 4);
    ox_put_bytes(&both, FLOATS, "1234", 4);
    check_fails(&both, OX_ERROR_MODEL, "has both raw_data and float_data");
    check_fails(&huge, OX_ERROR_MODEL, "impossible shape [9223372036854775807]");
    check_fails(&negative, OX_ERROR_MODEL, "impossible shape [-1]");
    check_fails(&untyped, OX_ERROR_MODEL, "no element type");
    ox_put_int(&strange, TYPE, 99);
    check_fails(&strange, OX_ERROR_UNSUPPORTED, "element type 99");
}
END_TEST

START_TEST(scalars_and_empty_tensors) {
    ox_bytes scalar = {0}, empty = head(OX_INT64, 0), deep = {0};
    const char *name;
    ox_put_int(&scalar, TYPE, OX_INT64);
    ox_put_int(&scalar, INT64S, 4);
    ox_put_text(&scalar, NAME, "four");
    ck_assert_int_eq(ox_tensor_from_proto(scalar.data, scalar.size, NULL, &tensor, &name, &error), OX_OK);
    ck_assert_str_eq(name, "four");
    ck_assert_int_eq(tensor->rank, 0);
    ox_tensor_free(tensor, NULL);
    ck_assert_int_eq(load(&empty), OX_OK);
    ck_assert(tensor->data && ox_tensor_count(tensor) == 0);
    ox_tensor_free(tensor, NULL);
    for (int i = 0; i <= OX_MAX_RANK; i++)
        ox_put_int(&deep, DIMS, 1);
    ox_put_int(&deep, TYPE, OX_FLOAT);
    check_fails(&deep, OX_ERROR_LIMIT, "rank 65");
}
END_TEST

START_TEST(external_data_needs_a_file) {
    ox_bytes bytes = head(OX_FLOAT, 1), entry = {0};
    ox_put_text(&entry, 1, "location");
    ox_put_text(&entry, 2, "weights.bin");
    ox_put_message(&bytes, 13, &entry);
    ox_put_int(&bytes, 14, 1);
    check_fails(&bytes, OX_ERROR_UNSUPPORTED, "external data in 'weights.bin'");
}
END_TEST

Suite *ox_suite_payload(void);
Suite *ox_suite_payload(void) {
    Suite *suite = suite_create("payload");
    TCase *tests = tcase_create("payload");
    tcase_add_test(tests, raw_data_of_every_type);
    tcase_add_test(tests, types_below_a_byte);
    tcase_add_test(tests, float_data);
    tcase_add_test(tests, double_data);
    tcase_add_test(tests, int32_data);
    tcase_add_test(tests, int64_and_uint64_data);
    tcase_add_test(tests, string_data);
    tcase_add_test(tests, counts_must_agree);
    tcase_add_test(tests, scalars_and_empty_tensors);
    tcase_add_test(tests, external_data_needs_a_file);
    suite_add_tcase(suite, tests);
    return suite;
}
