/* compare.c: a result against the expected one. */
#include "compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "array.h"
#include "number.h"
#include "print.h"

static bool same_shape(const ox_tensor *a, const ox_tensor *b) {
    return a->rank == b->rank && (!a->rank || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

static bool same_strings(const char *a, const char *b) {
    const ox_string *left = (const ox_string *)(const void *)a;
    const ox_string *right = (const ox_string *)(const void *)b;
    return left->size == right->size && (!left->size || memcmp(left->data, right->data, left->size) == 0);
}

static bool close_numbers(ox_number got, ox_number expected, ox_tolerance tolerance) {
    bool got_nan = isnan(got.real) || isnan(got.imaginary);
    bool expected_nan = isnan(expected.real) || isnan(expected.imaginary);
    if (got_nan || expected_nan)
        return got_nan && expected_nan;
    if (got.real == expected.real && got.imaginary == expected.imaginary)
        return true;
    double size = hypot(expected.real, expected.imaginary);
    double distance = hypot(got.real - expected.real, got.imaginary - expected.imaginary);
    return isfinite(size) && distance <= tolerance.absolute + tolerance.relative * size;
}

static void add_difference(const ox_walk *got, const ox_walk *expected, ox_text *reason) {
    ox_text_put(reason, "at ");
    ox_text_shape(reason, got->tensor->rank, got->index);
    ox_text_put(reason, ": ");
    ox_print_element(reason, got->tensor->dtype, got->element);
    ox_text_put(reason, ", expected ");
    ox_print_element(reason, expected->tensor->dtype, expected->element);
}

static bool compare_elements(const ox_tensor *got, const ox_tensor *expected, ox_tolerance tolerance, ox_text *reason) {
    ox_dtype dtype = got->dtype;
    int64_t different = 0;
    ox_walk b = ox_walk_start(expected);
    for (ox_walk a = ox_walk_start(got); a.element && b.element; ox_walk_next(&a), ox_walk_next(&b)) {
        bool equal = dtype == OX_STRING
                         ? same_strings(a.element, b.element)
                         : close_numbers(ox_number_load(dtype, a.element), ox_number_load(dtype, b.element), tolerance);
        if (!equal && !different++)
            add_difference(&a, &b, reason);
    }
    if (different)
        ox_text_format(reason, " (%" PRId64 " of %" PRId64 " differ)", different, ox_tensor_count(got));
    return !different;
}

/* Two steps of bfloat16 are more than the usual tolerance. */
static ox_tolerance widened(ox_dtype dtype, ox_tolerance tolerance) {
    if (dtype == OX_BFLOAT16 && !tolerance.given && tolerance.relative < 1.0 / 64)
        tolerance.relative = 1.0 / 64;
    return tolerance;
}

bool ox_compare(const ox_tensor *got, const ox_tensor *expected, ox_tolerance tolerance, ox_text *reason) {
    if (got->dtype != expected->dtype) {
        ox_text_format(reason, "type %s, expected %s", ox_dtype_name(got->dtype), ox_dtype_name(expected->dtype));
        return false;
    }
    if (!same_shape(got, expected)) {
        ox_text_put(reason, "shape ");
        ox_text_shape(reason, got->rank, got->dims);
        ox_text_put(reason, ", expected ");
        ox_text_shape(reason, expected->rank, expected->dims);
        return false;
    }
    return compare_elements(got, expected, widened(got->dtype, tolerance), reason);
}

double ox_largest_difference(const ox_tensor *got, const ox_tensor *expected) {
    double largest = 0;
    if (ox_number_kind_of(got->dtype) == OX_NUMBER_NONE)
        return 0;
    ox_walk b = ox_walk_start(expected);
    for (ox_walk a = ox_walk_start(got); a.element && b.element; ox_walk_next(&a), ox_walk_next(&b)) {
        ox_number x = ox_number_load(got->dtype, a.element), y = ox_number_load(got->dtype, b.element);
        double distance = hypot(x.real - y.real, x.imaginary - y.imaginary);
        if (isfinite(distance) && distance > largest)
            largest = distance;
    }
    return largest;
}

double ox_largest_in_values(const ox_value *got, const ox_value *expected) {
    double largest = 0;
    if (ox_value_tensor(expected))
        return ox_largest_difference(ox_value_tensor(got), ox_value_tensor(expected));
    for (size_t i = 0; i < ox_value_count(expected); i++) {
        const double inner = ox_largest_in_values(ox_value_item(got, i), ox_value_item(expected, i));
        largest = inner > largest ? inner : largest;
    }
    return largest;
}

/* The parts of two values of one kind; *reason begins with where they are. */
static bool compare_items(const ox_value *got, const ox_value *expected, ox_tolerance tolerance, ox_text *reason) {
    const size_t count = ox_value_count(expected);
    if (ox_value_count(got) != count) {
        ox_text_format(reason, "%zu items, expected %zu", ox_value_count(got), count);
        return false;
    }
    if (ox_value_keys(expected) && !ox_compare(ox_value_keys(got), ox_value_keys(expected), tolerance, reason)) {
        ox_text_put(reason, " among the keys");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        ox_text inner = {0};
        const bool same = ox_compare_values(ox_value_item(got, i), ox_value_item(expected, i), tolerance, &inner);
        if (!same)
            ox_text_format(reason, "item %zu: %s", i, ox_text_get(&inner));
        ox_text_free(&inner);
        if (!same)
            return false;
    }
    return true;
}

bool ox_compare_values(const ox_value *got, const ox_value *expected, ox_tolerance tolerance, ox_text *reason) {
    char type[OX_TYPE_TEXT], wanted[OX_TYPE_TEXT];
    if (ox_value_kind(got) != ox_value_kind(expected)) {
        ox_text_format(reason, "is %s, expected %s", got ? ox_value_type(got, type) : "a tensor",
                       ox_value_type(expected, wanted));
        return false;
    }
    if (ox_value_tensor(expected))
        return ox_compare(ox_value_tensor(got), ox_value_tensor(expected), tolerance, reason);
    return compare_items(got, expected, tolerance, reason);
}
