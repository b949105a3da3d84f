/* stats.c: what the elements of a tensor are like. */
#include "stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "json.h"
#include "number.h"

/* The extremes, exact for all integers. */
typedef struct extremes {
    ox_number least, most;
} extremes;

static bool is_less(ox_number a, ox_number b) {
    if (a.kind >= OX_NUMBER_REAL)
        return a.real < b.real;
    if (a.negative != b.negative)
        return a.negative;
    return a.negative ? a.magnitude > b.magnitude : a.magnitude < b.magnitude;
}

static ox_number as_real(ox_number number) {
    if (number.kind == OX_NUMBER_COMPLEX)
        number.real = hypot(number.real, number.imaginary);
    return number;
}

/* Integers as they are. */
static long double exact(ox_number number) {
    if (number.kind >= OX_NUMBER_REAL)
        return (long double)number.real;
    return number.negative ? -(long double)number.magnitude : (long double)number.magnitude;
}

static void take(ox_stats *stats, extremes *found, long double *sum, ox_number number) {
    bool is_nan = isnan(number.real) || isnan(number.imaginary);
    number = as_real(number);
    stats->nans += is_nan;
    stats->infinities += !is_nan && isinf(number.real);
    if (is_nan || isinf(number.real))
        return;
    if (!stats->finite || is_less(number, found->least))
        found->least = number;
    if (!stats->finite || is_less(found->most, number))
        found->most = number;
    stats->finite++;
    *sum += exact(number);
}

/* Absolute values of complex numbers have the type of their parts. */
static ox_dtype part_type(ox_dtype dtype) {
    return dtype == OX_COMPLEX64 ? OX_FLOAT : dtype == OX_COMPLEX128 ? OX_DOUBLE : dtype;
}

static void write_number(char *to, size_t room, ox_dtype dtype, ox_number number) {
    ox_text text = {0};
    if (number.kind < OX_NUMBER_REAL)
        ox_text_format(&text, "%s%" PRIu64, number.negative ? "-" : "", number.magnitude);
    else
        ox_json_real(&text, part_type(dtype), number.real);
    snprintf(to, room, "%s", text.data);
    ox_text_free(&text);
}

ox_stats ox_stats_of(const ox_tensor *tensor) {
    ox_stats stats = {.dtype = tensor->dtype, .count = ox_tensor_count(tensor)};
    extremes found = {0};
    long double sum = 0;
    if (ox_number_kind_of(tensor->dtype) == OX_NUMBER_NONE)
        return stats;
    for (ox_walk walk = ox_walk_start(tensor); walk.element; ox_walk_next(&walk))
        take(&stats, &found, &sum, ox_number_load(tensor->dtype, walk.element));
    if (!stats.finite)
        return stats;
    stats.mean = (double)(sum / (long double)stats.finite);
    write_number(stats.minimum, sizeof stats.minimum, tensor->dtype, found.least);
    write_number(stats.maximum, sizeof stats.maximum, tensor->dtype, found.most);
    return stats;
}

void ox_stats_put(const ox_stats *stats, ox_text *text) {
    if (ox_number_kind_of(stats->dtype) == OX_NUMBER_NONE) {
        ox_text_format(text, "%" PRId64 " strings", stats->count);
        return;
    }
    if (stats->finite)
        ox_text_format(text, "min %s, max %s, mean %.7g, ", stats->minimum, stats->maximum, stats->mean);
    ox_text_format(text, "%" PRId64 " NaN, %" PRId64 " inf of %" PRId64, stats->nans, stats->infinities, stats->count);
}

void ox_stats_json(const ox_stats *stats, ox_text *text) {
    ox_text_format(text, "{\"count\": %" PRId64, stats->count);
    if (stats->finite) {
        ox_text_format(text, ", \"min\": %s, \"max\": %s, \"mean\": ", stats->minimum, stats->maximum);
        ox_json_real(text, OX_DOUBLE, stats->mean);
    } else {
        ox_text_put(text, ", \"min\": null, \"max\": null, \"mean\": null");
    }
    ox_text_format(text, ", \"nan\": %" PRId64 ", \"inf\": %" PRId64 "}", stats->nans, stats->infinities);
}
