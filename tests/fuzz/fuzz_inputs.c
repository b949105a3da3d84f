/* fuzz_inputs.c: any bytes as an input of the command: the first one says as what the rest is read, and for which type.
 * What is read is printed, converted and written as .npy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "kind.h"
#include "literal.h"
#include "npy.h"
#include "number.h"
#include "print.h"
#include "source.h"
#include "text.h"
#include "zip.h"

enum {
    FORMATS = 6,
    MOST_PRINTED = 1 << 16,
    MOST_SIDE = 200 /* of pictures that are resized: larger ones only take longer */
};

static ox_status read_npy(const uint8_t *data, size_t size, ox_array *array, ox_error *error) {
    unsigned char *copy = malloc(size + 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    copy[size] = 0;
    ox_status status = ox_npy_is(copy, size) ? ox_npy_read(copy, size, array, error) : OX_ERROR_FILE;
    if (status)
        free(copy);
    return status;
}

/* All arrays of an .npz; the last one is used. */
static ox_status read_npz(const uint8_t *data, size_t size, ox_array *array, ox_error *error) {
    ox_zip zip;
    ox_status status = ox_zip_open(&zip, data, size, error), last = OX_ERROR_FILE;
    for (size_t i = 0; i < zip.count && !status; i++) {
        unsigned char *bytes;
        size_t length;
        if (ox_zip_read(&zip, i, &bytes, &length, error))
            continue;
        ox_array_free(array);
        last = ox_npy_read(bytes, length, array, error);
        if (last)
            free(bytes);
    }
    ox_zip_free(&zip);
    return last;
}

static ox_status read_literal(const uint8_t *data, size_t size, ox_dtype dtype, ox_array *array, ox_error *error) {
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    ox_status status = ox_literal_is(text) ? ox_literal_read(text, dtype, array, error) : OX_ERROR_FILE;
    free(text);
    return status;
}

static ox_status read_image(const uint8_t *data, size_t size, const ox_picture *how, ox_dtype dtype, int rank,
                            ox_array *array, ox_error *error) {
    static const int64_t dims[] = {-1, -1, -1, -1};
    static const char *const names[4];
    const ox_value_info info = {
        .name = "x", .kind = OX_KIND_TENSOR, .dtype = dtype, .rank = rank, .dims = dims, .dim_names = names};
    return ox_image_is(data, size) ? ox_image_read(data, size, &info, how, array, error) : OX_ERROR_FILE;
}

/* A line of options, then the picture. */
static ox_status read_fitted(const uint8_t *data, size_t size, ox_dtype dtype, int rank, ox_array *array,
                             ox_error *error) {
    const uint8_t *end = memchr(data, '\n', size);
    ox_picture how;
    if (!end || memchr(data, 0, (size_t)(end - data)))
        return OX_ERROR_FILE;
    const size_t length = (size_t)(end - data);
    ox_status status = ox_picture_parse((const char *)data, length, &how, error);
    if (status || how.shorter > MOST_SIDE || how.resize.width > MOST_SIDE || how.resize.height > MOST_SIDE)
        return OX_ERROR_FILE;
    return read_image(end + 1, size - length - 1, &how, dtype, rank, array, error);
}

static ox_status read_any(int format, int variant, const uint8_t *data, size_t size, ox_array *array, ox_error *error) {
    static const ox_picture as_it_is;
    const ox_dtype dtype = (ox_dtype)(1 + variant % (OX_DTYPE_COUNT - 1));
    switch (format) {
    case 0:
        return read_npy(data, size, array, error);
    case 1:
        return ox_source_proto(data, size, array, NULL, error);
    case 4:
        return read_npz(data, size, array, error);
    case 2:
        return read_image(data, size, &as_it_is, dtype, 2 + variant % 3, array, error);
    case 5:
        return read_fitted(data, size, dtype, 2 + variant % 3, array, error);
    default:
        return read_literal(data, size, dtype, array, error);
    }
}

static void use(ox_array *array, ox_dtype dtype, ox_error *error) {
    static FILE *sink;
    if (!sink)
        sink = fopen("/dev/null", "wb");
    if (!sink)
        abort();
    if (ox_tensor_count(&array->tensor) <= MOST_PRINTED) {
        ox_text text = {0};
        ox_print_tensor(&text, &array->tensor);
        ox_text_free(&text);
        ox_npy_write(&array->tensor, sink, error);
    }
    ox_array_convert(array, dtype, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ox_error error = {OX_OK, ""};
    ox_array array = {0};
    if (size < 1)
        return 0;
    ox_kind_of(data + 1, size - 1);
    int format = data[0] % FORMATS, variant = data[0] / FORMATS;
    ox_status status = read_any(format, variant, data + 1, size - 1, &array, &error);
    if (status)
        return 0;
    use(&array, (ox_dtype)(1 + (variant + 5) % (OX_DTYPE_COUNT - 1)), &error);
    ox_array_free(&array);
    return 0;
}
