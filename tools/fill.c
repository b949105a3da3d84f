/* fill.c: tensors filled by a rule: @zeros, @ones, @random[:LO..HI][:SEED]. */
#include "fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "range.h"
#include "tool.h"

/* splitmix64: every seed gives a good stream, with one word of state. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* How many random bits a value in [0,1) may have and still be exact, so that none rounds up to 1. */
static int fraction_bits(ox_dtype dtype) {
    switch (dtype) {
    case OX_DOUBLE:
    case OX_COMPLEX128:
        return 53;
    case OX_FLOAT:
    case OX_COMPLEX64:
        return 24;
    case OX_FLOAT16:
        return 11;
    case OX_BFLOAT16:
        return 8;
    case OX_FLOAT8E8M0:
        return 0;
    case OX_FLOAT4E2M1:
        return 1;
    default:
        return 3;
    }
}

static double random_fraction(ox_dtype dtype, uint64_t *state) {
    int bits = fraction_bits(dtype);
    if (!bits)
        return 0.5;
    return (double)(next_random(state) >> (64 - bits)) / (double)((uint64_t)1 << bits);
}

static ox_number random_number(ox_dtype dtype, uint64_t *state) {
    uint64_t most = dtype == OX_BOOL || dtype == OX_INT2 ? 2 : dtype == OX_UINT2 ? 4 : dtype == OX_INT4 ? 8 : 10;
    if (ox_number_kind_of(dtype) <= OX_NUMBER_INT)
        return ox_number_int(false, (next_random(state) >> 32) * most >> 32);
    ox_number number = ox_number_real(random_fraction(dtype, state));
    if (ox_number_kind_of(dtype) == OX_NUMBER_COMPLEX) {
        number.kind = OX_NUMBER_COMPLEX;
        number.imaginary = random_fraction(dtype, state);
    }
    return number;
}

static ox_number number_in(const ox_range *range, ox_dtype dtype, uint64_t *state) {
    if (ox_number_kind_of(dtype) <= OX_NUMBER_INT) {
        int64_t value = ox_range_int(range, next_random(state));
        return ox_number_int(value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    }
    ox_number number = ox_number_real(ox_range_real(range, random_fraction(dtype, state)));
    if (ox_number_kind_of(dtype) == OX_NUMBER_COMPLEX) {
        number.kind = OX_NUMBER_COMPLEX;
        number.imaginary = ox_range_real(range, random_fraction(dtype, state));
    }
    return number;
}

static bool parse_seed(const char *text, uint64_t *seed) {
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !errno && !*end;
}

/* A rule, read. */
typedef struct filling {
    char kind; /* its second letter */
    uint64_t seed;
    ox_range range;
} filling;

static bool parse_random(const char *text, ox_dtype dtype, filling *f) {
    if (!strstr(text, ".."))
        return parse_seed(text, &f->seed);
    return ox_range_read(&f->range, text, dtype, &text) && (!*text || parse_seed(text + 1, &f->seed));
}

static bool parse_rule(const char *rule, ox_dtype dtype, filling *f) {
    *f = (filling){.kind = rule[1]};
    if (strcmp(rule, "@zeros") == 0 || strcmp(rule, "@ones") == 0 || strcmp(rule, "@random") == 0)
        return true;
    return strncmp(rule, "@random:", 8) == 0 && parse_random(rule + 8, dtype, f);
}

static ox_status fail_rule(const char *rule, ox_dtype dtype, ox_error *error) {
    if (strncmp(rule, "@random:", 8) == 0 && strstr(rule, ".."))
        return ox_tool_fail(error, OX_ERROR_ARGUMENT,
                            "'%s' must be @random:LO..HI with %s values, LO at most HI; :SEED may follow", rule,
                            ox_dtype_name(dtype));
    return ox_tool_fail(error, OX_ERROR_ARGUMENT,
                        "'%s' is not one of @zeros, @ones, @random, @random:SEED (a number), @random:LO..HI", rule);
}

static void fill_strings(ox_array *array) {
    int64_t count = ox_tensor_count(&array->tensor);
    for (int64_t i = 0; i < count; i++)
        ((ox_string *)array->data)[i] = (ox_string){"", 0};
}

static ox_number next_number(const filling *f, ox_dtype dtype, uint64_t *state) {
    if (f->kind != 'r')
        return ox_number_int(false, f->kind == 'o');
    return f->range.given ? number_in(&f->range, dtype, state) : random_number(dtype, state);
}

static ox_status fill_numbers(const char *rule, const filling *f, uint64_t stream, ox_array *array, ox_error *error) {
    const ox_dtype dtype = array->tensor.dtype;
    uint64_t state = f->seed * 0xD1342543DE82EF95u + stream * 0xA0761D6478BD642Fu;
    char *element = array->data;
    size_t size = ox_dtype_size(dtype);
    for (int64_t i = ox_tensor_count(&array->tensor); i > 0; i--, element += size) {
        if (ox_number_store(dtype, element, next_number(f, dtype, &state)))
            continue;
        ox_array_free(array);
        return ox_tool_fail(error, OX_ERROR_VALUE, "%s: the type %s has no such value", rule, ox_dtype_name(dtype));
    }
    return OX_OK;
}

ox_status ox_fill(const char *rule, const ox_fill_shape *shape, uint64_t stream, ox_array *array, ox_error *error) {
    const ox_dtype dtype = shape->dtype;
    filling f;
    *array = (ox_array){0};
    if (dtype == OX_STRING && strcmp(rule, "@zeros") != 0)
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "%s cannot make strings; only @zeros can (empty ones)", rule);
    if (!parse_rule(rule, dtype, &f))
        return fail_rule(rule, dtype, error);
    if (!f.range.given && shape->places > 0 && ox_number_kind_of(dtype) == OX_NUMBER_INT)
        f.range = ox_range_below(shape->places);
    ox_status status = ox_array_create(array, dtype, shape->rank, shape->dims, error);
    if (status)
        return status;
    if (dtype == OX_STRING)
        fill_strings(array);
    if (dtype == OX_STRING || (f.kind == 'z' && dtype != OX_FLOAT8E8M0))
        return OX_OK;
    return fill_numbers(rule, &f, stream, array, error);
}
