/* test_zip.c: zip archives, and numbers that are cast. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/kind.h"
#include "tools/number.h"
#include "tools/zip.h"

enum {
    CRC_ABC = 0x352441C2, /* of "abc" */
    HEADER = 31,          /* with a name of one letter */
    ENTRY = 47
};

static void put(unsigned char *at, uint64_t value, int size) {
    for (; size--; value >>= 8)
        *at++ = (unsigned char)value;
}

/* An archive of one member "x" with these packed bytes. */
static size_t make(unsigned char *bytes, unsigned method, const void *packed, size_t packed_size, size_t size,
                   uint32_t crc) {
    unsigned char *header = bytes, *entry = bytes + HEADER + packed_size, *end = entry + ENTRY;
    memset(bytes, 0, HEADER + packed_size + ENTRY + 22);
    put(header, 0x04034B50, 4);
    put(header + 26, 1, 2);
    header[30] = 'x';
    memcpy(header + HEADER, packed, packed_size);
    put(entry, 0x02014B50, 4);
    put(entry + 10, method, 2);
    put(entry + 16, crc, 4);
    put(entry + 20, packed_size, 4);
    put(entry + 24, size, 4);
    put(entry + 28, 1, 2);
    entry[46] = 'x';
    put(end, 0x06054B50, 4);
    put(end + 10, 1, 2);
    put(end + 12, ENTRY, 4);
    put(end + 16, (uint64_t)(entry - bytes), 4);
    return (size_t)(end + 22 - bytes);
}

static ox_status read_one(unsigned method, const void *packed, size_t packed_size, size_t size, uint32_t crc,
                          ox_error *error) {
    unsigned char bytes[200], *member = NULL;
    size_t got = 0, total = make(bytes, method, packed, packed_size, size, crc);
    ox_zip zip;
    ox_status status = ox_zip_open(&zip, bytes, total, error);
    ck_assert_msg(!status, "%s", error->text);
    ck_assert_uint_eq(zip.count, 1);
    status = ox_zip_read(&zip, 0, &member, &got, error);
    if (!status) {
        ck_assert_uint_eq(got, 3);
        ck_assert_mem_eq(member, "abc", 4);
    }
    free(member);
    ox_zip_free(&zip);
    return status;
}

/* "abc" as one block of deflate. */
static const unsigned char deflated[] = {0x4B, 0x4C, 0x4A, 0x06, 0x00};

START_TEST(unpacks_what_is_stored_and_deflated) {
    ox_error error;
    ck_assert_int_eq(read_one(0, "abc", 3, 3, CRC_ABC, &error), OX_OK);
    ck_assert_int_eq(read_one(8, deflated, sizeof deflated, 3, CRC_ABC, &error), OX_OK);
}
END_TEST

START_TEST(refuses_members_that_lie) {
    ox_error error;
    ck_assert_int_eq(read_one(0, "abc", 3, 3, CRC_ABC + 1, &error), OX_ERROR_FILE);
    ck_assert_int_eq(read_one(0, "abc", 3, 4, CRC_ABC, &error), OX_ERROR_FILE);
    ck_assert_int_eq(read_one(8, deflated, sizeof deflated, 2, CRC_ABC, &error), OX_ERROR_FILE);
    ck_assert_int_eq(read_one(8, deflated, sizeof deflated, 4, CRC_ABC, &error), OX_ERROR_FILE);
    ck_assert_int_eq(read_one(8, deflated, sizeof deflated - 1, 3, CRC_ABC, &error), OX_ERROR_FILE);
    ck_assert_int_eq(read_one(8, deflated, sizeof deflated, 0xFFFFFFF0u, CRC_ABC, &error), OX_ERROR_FILE);
    ck_assert_int_eq(read_one(9, deflated, sizeof deflated, 3, CRC_ABC, &error), OX_ERROR_UNSUPPORTED);
}
END_TEST

START_TEST(every_truncation_is_an_error) {
    unsigned char bytes[200];
    ox_error error;
    size_t total = make(bytes, 0, "abc", 3, 3, CRC_ABC);
    for (size_t size = 0; size < total; size++) {
        ox_zip zip;
        unsigned char *exact = malloc(size ? size : 1); /* so that a sanitizer sees what is read beyond the end */
        memcpy(exact, bytes, size);
        ck_assert_int_ne(ox_zip_open(&zip, exact, size, &error), OX_OK);
        ox_zip_free(&zip);
        free(exact);
    }
}
END_TEST

static ox_number cast(ox_dtype dtype, ox_number number) {
    ck_assert(ox_number_cast(dtype, &number));
    return number;
}

START_TEST(casts_as_numpy_does) {
    ck_assert_uint_eq(cast(OX_INT32, ox_number_real(-1.9)).magnitude, 1);
    ck_assert(cast(OX_INT32, ox_number_real(-1.9)).negative);
    ck_assert(!cast(OX_INT32, ox_number_real(-0.9)).negative);
    ck_assert_uint_eq(cast(OX_BOOL, ox_number_real((double)NAN)).magnitude, 1);
    ck_assert_uint_eq(cast(OX_BOOL, ox_number_int(false, 256)).magnitude, 1);
    /* Half a step above an even float, and a bit that a double cannot hold. */
    uint64_t large = (1ull << 63) + (1ull << 39) + 1;
    ck_assert((float)cast(OX_FLOAT, ox_number_int(false, large)).real == (float)large);
    ck_assert((float)cast(OX_FLOAT, ox_number_int(true, large)).real == -(float)large);
    ox_number number = ox_number_real((double)INFINITY);
    ck_assert(!ox_number_cast(OX_INT64, &number));
}
END_TEST

START_TEST(names_kinds_of_files) {
    const unsigned char lengths[] = "\x02\0\0\0\0\0\0\0{}";
    ck_assert_str_eq(ox_kind_of(lengths, sizeof lengths - 1)->name, "a safetensors file");
    ck_assert_str_eq(ox_kind_of(lengths, 0)->name, "an empty file");
    ck_assert_str_eq(ox_kind_of((const unsigned char *)"graphic", 7)->name, "a text file");
    ck_assert_str_eq(ox_kind_of((const unsigned char *)"# graph", 7)->name, "a text file");
    ck_assert_ptr_nonnull(ox_kind_of((const unsigned char *)"#\ngraph{", 8)->name);
}
END_TEST

Suite *ox_suite_zip(void);
Suite *ox_suite_zip(void) {
    Suite *suite = suite_create("zip");
    TCase *tests = tcase_create("zip");
    tcase_add_test(tests, unpacks_what_is_stored_and_deflated);
    tcase_add_test(tests, refuses_members_that_lie);
    tcase_add_test(tests, every_truncation_is_an_error);
    tcase_add_test(tests, casts_as_numpy_does);
    tcase_add_test(tests, names_kinds_of_files);
    suite_add_tcase(suite, tests);
    return suite;
}
