/* json.c: tensors as JSON. */
#include "json.h"

#include <inttypes.h>
#include <math.h>

#include "array.h"
#include "number.h"
#include "tool.h"

enum {
    MOST_PLAIN = 16, /* digits before the point ... */
    LEAST_PLAIN = -5 /* ... and the exponent from which on there is none */
};

/* digits times 10 to the exponent of the first one. */
static void put_digits(ox_text *text, const uint8_t *digits, int count, int exponent) {
    bool plain = exponent >= LEAST_PLAIN && exponent < MOST_PLAIN;
    int before = !plain ? 1 : exponent < 0 ? 0 : exponent + 1; /* digits before the point */
    if (!before) {
        ox_text_put(text, "0.");
        ox_text_repeat(text, '0', -exponent - 1);
    }
    for (int i = 0; i < count || i < before; i++) {
        if (i == before && before)
            ox_text_put(text, ".");
        ox_text_repeat(text, i < count ? (char)('0' + digits[i]) : '0', 1);
    }
    if (!plain)
        ox_text_format(text, "e%d", exponent);
    else if (before && count <= before)
        ox_text_put(text, ".0");
}

void ox_json_real(ox_text *text, ox_dtype dtype, double value) {
    uint8_t digits[17];
    int exponent;
    if (!isfinite(value)) {
        ox_text_put(text, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    ox_text_put(text, signbit(value) ? "-" : "");
    int count = ox_float_digits(dtype, fabs(value), digits, &exponent);
    if (count)
        put_digits(text, digits, count, exponent);
    else
        ox_text_put(text, "0.0");
}

static void put_element(ox_text *text, ox_dtype dtype, const char *element) {
    if (dtype == OX_STRING) {
        const ox_string *string = (const ox_string *)(const void *)element;
        ox_text_json_bytes(text, string->data, string->size);
        return;
    }
    ox_number number = ox_number_load(dtype, element);
    ox_dtype part = dtype == OX_COMPLEX64 ? OX_FLOAT : dtype == OX_COMPLEX128 ? OX_DOUBLE : dtype;
    switch (number.kind) {
    case OX_NUMBER_BOOL:
        ox_text_put(text, number.magnitude ? "true" : "false");
        break;
    case OX_NUMBER_INT:
        ox_text_format(text, "%s%" PRIu64, number.negative ? "-" : "", number.magnitude);
        break;
    case OX_NUMBER_COMPLEX:
        ox_text_put(text, "[");
        ox_json_real(text, part, number.real);
        ox_text_put(text, ", ");
        ox_json_real(text, part, number.imaginary);
        ox_text_put(text, "]");
        break;
    default:
        ox_json_real(text, part, number.real);
        break;
    }
}

static void put_list(ox_text *text, const ox_tensor *tensor, const int64_t *strides, const char *at, int d) {
    if (d == tensor->rank) {
        put_element(text, tensor->dtype, at);
        return;
    }
    ox_text_put(text, "[");
    for (int64_t i = 0; i < tensor->dims[d]; i++) {
        ox_text_put(text, i ? ", " : "");
        put_list(text, tensor, strides, at + i * strides[d], d + 1);
    }
    ox_text_put(text, "]");
}

void ox_json_values(ox_text *text, const ox_tensor *tensor) {
    int64_t strides[OX_TOOL_RANK];
    if (ox_tensor_count(tensor) <= 0 || tensor->rank > OX_TOOL_RANK) {
        ox_text_put(text, "[]");
        return;
    }
    ox_array_strides(tensor, strides);
    put_list(text, tensor, strides, tensor->data, 0);
}

void ox_json_dims(ox_text *text, int rank, const int64_t *dims) {
    ox_text_put(text, "[");
    for (int d = 0; d < rank; d++)
        ox_text_format(text, "%s%" PRId64, d ? ", " : "", dims[d]);
    ox_text_put(text, "]");
}
