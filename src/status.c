/* status.c: error texts, formatted without stdio so that the library needs none. */
#include "status.h"

#include <string.h>

const char *ox_version(void) {
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
    return TEXT(OX_VERSION_MAJOR) "." TEXT(OX_VERSION_MINOR) "." TEXT(OX_VERSION_PATCH);
}

const char *ox_status_name(ox_status status) {
    switch (status) {
    case OX_OK:
        return "ok";
    case OX_ERROR_ARGUMENT:
        return "bad argument";
    case OX_ERROR_FILE:
        return "file error";
    case OX_ERROR_MODEL:
        return "invalid model";
    case OX_ERROR_UNSUPPORTED:
        return "unsupported";
    case OX_ERROR_SHAPE:
        return "shape or type mismatch";
    case OX_ERROR_VALUE:
        return "bad value";
    case OX_ERROR_LIMIT:
        return "limit exceeded";
    case OX_ERROR_MEMORY:
        return "out of memory";
    case OX_ERROR_CANCELLED:
        return "cancelled";
    case OX_ERROR_CHECK:
        return "check failed";
    }
    return "unknown status";
}

int ox_text_order(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

size_t ox_text_size(const char *text, size_t most) {
    size_t n = 0;
    while (n < most && text[n])
        n++;
    return n;
}

typedef struct sink {
    char *at, *end; /* end is where the terminator goes at the latest */
} sink;

static void put(sink *s, const char *text, size_t size) {
    size_t room = (size_t)(s->end - s->at);
    size_t n = size < room ? size : room;
    memcpy(s->at, text, n);
    s->at += n;
}

/* value /= base, and the remainder; 16 bits at a time, for dividing 64 bits takes devices a library. */
static unsigned divide(unsigned long long *value, unsigned base) {
    unsigned long long quotient = 0;
    uint32_t rest = 0;
    for (int shift = 48; shift >= 0; shift -= 16) {
        rest = rest << 16 | (uint32_t)(*value >> shift & 0xffff);
        quotient = quotient << 16 | rest / base;
        rest %= base;
    }
    *value = quotient;
    return rest;
}

static void put_unsigned(sink *s, unsigned long long value, unsigned base, int width) {
    char digits[24];
    char *p = digits + sizeof digits;
    do
        *--p = "0123456789abcdef"[divide(&value, base)];
    while (value);
    while (digits + sizeof digits - p < width && p > digits)
        *--p = '0';
    put(s, p, (size_t)(digits + sizeof digits - p));
}

static void put_signed(sink *s, long long value) {
    if (value < 0)
        put(s, "-", 1);
    put_unsigned(s, value < 0 ? 0ULL - (unsigned long long)value : (unsigned long long)value, 10, 0);
}

#if OX_WITH_TEXTS
/* Six significant digits are enough to recognise a number in an error text; devices have no instructions for double. */
#if OX_SMALL
typedef float real;
#else
typedef double real;
#endif

static void put_real(sink *s, real value) {
    if (value != value) {
        put(s, "nan", 3);
        return;
    }
    if (value < 0) {
        put(s, "-", 1);
        value = -value;
    }
    if (value - value != 0) {
        put(s, "inf", 3);
        return;
    }
    int exponent = 0;
    for (bool large = value >= (real)1e6; large && value >= 10; exponent++)
        value /= 10;
    for (bool small = value > 0 && value < (real)1e-4; small && value < 1; exponent--)
        value *= 10;
    uint32_t whole = (uint32_t)value, rest = (uint32_t)((value - (real)whole) * (real)1e6 + (real)0.5);
    whole += rest / 1000000;
    rest %= 1000000;
    if (exponent && whole >= 10) { /* rounded up to 10 */
        whole = 1;
        exponent++;
    }
    put_unsigned(s, whole, 10, 0);
    char fraction[8];
    sink f = {fraction, fraction + 6};
    put_unsigned(&f, rest, 10, 6);
    size_t n = 6;
    while (n && fraction[n - 1] == '0')
        n--;
    if (n) {
        put(s, ".", 1);
        put(s, fraction, n);
    }
    if (exponent) {
        put(s, "e", 1);
        put_signed(s, exponent);
    }
}
#endif

/* Names come from models: without their control characters a text stays one line, and harmless on a terminal. */
static void put_visible(sink *s, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        put(s, c < ' ' || c == 127 ? "?" : &text[i], 1);
    }
}

static const char *put_string(sink *s, const char *format, va_list *args) {
    size_t most = SIZE_MAX;
    if (*format == '.') {
        most = (size_t)va_arg(*args, int);
        format += 2; /* ".*" */
    }
    const char *text = va_arg(*args, const char *);
    if (!text)
        text = "(none)";
    put_visible(s, text, ox_text_size(text, most));
    return format + 1;
}

/* One conversion, format after the '%'; returns the rest of the format. */
static const char *put_conversion(sink *s, const char *format, va_list *args) {
    if (*format == 's' || *format == '.')
        return put_string(s, format, args);
    int width = 0, longs = 0;
    for (; *format >= '0' && *format <= '9'; format++)
        width = width * 10 + (*format - '0');
    for (; *format == 'l' || *format == 'z'; format++)
        longs += *format == 'z' ? 3 : 1;
    switch (*format) {
    case 'd':
        put_signed(s, longs == 0 ? va_arg(*args, int) : longs == 1 ? va_arg(*args, long) : va_arg(*args, long long));
        break;
    case 'u':
    case 'x':
        put_unsigned(s,
                     longs == 0   ? va_arg(*args, unsigned)
                     : longs == 1 ? va_arg(*args, unsigned long)
                     : longs == 2 ? va_arg(*args, unsigned long long)
                                  : va_arg(*args, size_t),
                     *format == 'x' ? 16 : 10, width);
        break;
#if OX_WITH_TEXTS
    case 'g':
        put_real(s, (real)va_arg(*args, double));
        break;
#endif
    case 'c':
        put(s, &(char){(char)va_arg(*args, int)}, 1);
        break;
    default:
        put(s, format, 1);
        break;
    }
    return format + 1;
}

static size_t format_list(char *buffer, size_t size, const char *format, va_list *args) {
    if (!size)
        return 0;
    sink s = {buffer, buffer + size - 1};
    while (*format) {
        const char *percent = format;
        while (*percent && *percent != '%')
            percent++;
        put(&s, format, (size_t)(percent - format));
        format = *percent ? put_conversion(&s, percent + 1, args) : percent;
    }
    *s.at = 0;
    return (size_t)(s.at - buffer);
}

size_t ox_format(char *buffer, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    size_t n = format_list(buffer, size, format, &args);
    va_end(args);
    return n;
}

void ox_error_clear(ox_error *error) {
    if (error) {
        error->status = OX_OK;
        error->text[0] = 0;
    }
}

ox_status ox_fail_list(ox_error *error, ox_status status, const char *format, va_list *args) {
    if (error) {
        error->status = status;
        format_list(error->text, sizeof error->text, format, args);
    }
    return status;
}

ox_status ox_fail_briefly(ox_error *error, ox_status status) {
    return (ox_fail)(error, status, "%s", ox_status_name(status));
}

ox_status(ox_fail)(ox_error *error, ox_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    ox_fail_list(error, status, format, &args);
    va_end(args);
    return status;
}

void ox_error_prefix(ox_error *error, const char *format, ...) {
    if (!error)
        return;
    char text[OX_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    size_t n = format_list(text, sizeof text, format, &args);
    va_end(args);
    ox_format(text + n, sizeof text - n, "%s", error->text);
    memcpy(error->text, text, sizeof text);
}

ox_status(ox_fail_memory)(ox_error *error, const char *what, size_t size) {
    return ox_fail(error, OX_ERROR_MEMORY, "out of memory: %zu more bytes for %s", size, what);
}

const char *ox_dims_text(ox_dims_buffer *buffer, int rank, const int64_t *dims) {
    sink s = {buffer->text, buffer->text + sizeof buffer->text - 6};
    put(&s, "[", 1);
    for (int d = 0; d < rank && s.at < s.end; d++) {
        if (d)
            put(&s, ",", 1);
        put_signed(&s, dims[d]);
    }
    bool cut = s.at >= s.end;
    s.end += 5;
    put(&s, cut ? "...]" : "]", cut ? 4 : 1);
    *s.at = 0;
    return buffer->text;
}
