/* cast_text.c: the loops of Cast between numbers and strings. */
#include "cast_text.h"

#include <math.h>
#include <string.h>

/* ---- Strings to numbers ------------------------------------------------------------------------------------- */

static ox_string string_at(const char *strings, int64_t step, int64_t i) {
    ox_string s;
    memcpy(&s, strings + i * step, sizeof s);
    return s;
}

/* All but double is rounded once more, from the odd value. */
int ox_lane_parse_real(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    bool to_odd = *(const ox_dtype *)attr != OX_DOUBLE;
    int fault = 0;
    for (int64_t i = 0; i < n; i++) {
        ox_string s = string_at(arg[1], step[1], i);
        double value = 0;
        if (!ox_float_parse(s.data, s.size, to_odd, &value))
            fault = OX_FAULT_NUMBER;
        memcpy(arg[0] + i * (int64_t)sizeof value, &value, sizeof value);
    }
    return fault;
}

static bool in_range(ox_dtype dtype, bool negative, uint64_t magnitude) {
    int bits = dtype == OX_BOOL ? 64 : ox_dtype_bits(dtype);
    bool has_sign = OX_BIT(dtype) & (OX_SET_SINT | OX_BIT(OX_INT4) | OX_BIT(OX_INT2));
    uint64_t most = UINT64_MAX >> (64 - bits + has_sign);
    if (!negative || !magnitude)
        return magnitude <= most;
    return has_sign && magnitude - 1 <= most;
}

static bool parse_int(ox_dtype dtype, ox_string s, bool *negative, uint64_t *magnitude) {
    return ox_int_parse(s.data, s.size, negative, magnitude) && in_range(dtype, *negative, *magnitude);
}

static bool is_word(ox_string s, const char *lower, size_t size) {
    for (size_t i = 0; i < size && s.size == size; i++)
        if ((s.data[i] | 0x20) != lower[i])
            return false;
    return s.size == size;
}

/* Bools may be called by their names. */
static bool parse_bool(ox_string s, uint64_t *value) {
    double number;
    if (is_word(s, "true", 4) || is_word(s, "false", 5)) {
        *value = s.size == 4;
        return true;
    }
    if (!ox_float_parse(s.data, s.size, true, &number))
        return false;
    *value = number != 0;
    return true;
}

int ox_lane_parse_int(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const ox_dtype dtype = *(const ox_dtype *)attr;
    int fault = 0;
    for (int64_t i = 0; i < n; i++) {
        ox_string s = string_at(arg[1], step[1], i);
        bool negative = false;
        uint64_t value = 0;
        if (!(dtype == OX_BOOL ? parse_bool(s, &value) : parse_int(dtype, s, &negative, &value)))
            fault = OX_FAULT_NUMBER;
        value = negative ? 0 - value : value;
        memcpy(arg[0] + i * (int64_t)sizeof value, &value, sizeof value);
    }
    return fault;
}

/* ---- Numbers to strings ------------------------------------------------------------------------------------- */

static size_t real_text(ox_dtype dtype, double value, char *text) {
    return ox_float_text(dtype, value, text);
}

static size_t int_text(ox_dtype dtype, int64_t value, char *text) {
    (void)dtype;
    return ox_int_text(value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, text);
}

static size_t uint_text(ox_dtype dtype, uint64_t value, char *text) {
    (void)dtype;
    return ox_int_text(false, value, text);
}

static size_t bool_text(ox_dtype dtype, uint8_t value, char *text) {
    (void)dtype;
    memcpy(text, value ? "True" : "False", 5);
    return value ? 4 : 5;
}

/* The result lies in `out` itself: its place there says which part of the room is its own. */
#define PRINT(kind, type)                                                                                              \
    int ox_lane_print_##kind(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                   \
        const ox_text_out *to = attr;                                                                                  \
        char *text = to->room + (arg[0] - (char *)to->out->data) / (int64_t)sizeof(ox_string) * OX_NUMBER_TEXT;        \
        for (int64_t i = 0; i < n; i++, text += OX_NUMBER_TEXT) {                                                      \
            type value;                                                                                                \
            memcpy(&value, arg[1] + i * step[1], sizeof value);                                                        \
            ox_string s = {text, kind##_text(to->dtype, value, text)};                                                 \
            memcpy(arg[0] + i * (int64_t)sizeof s, &s, sizeof s);                                                      \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
PRINT(real, double)
PRINT(int, int64_t)
PRINT(uint, uint64_t)
PRINT(bool, uint8_t)
