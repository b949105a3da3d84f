/* print.c: what programs of the tests print by, %d, %u and %s alone, as the emulator shows it. */
#include "../../../examples/firmware/board/board.h"
#include <stdarg.h>

static void put_int(int number) {
    if (number < 0)
        board_put("-");
    board_put_number((uint32_t)(number < 0 ? -number : number));
}

static void put_all(const char *format, va_list list) {
    for (; *format; format++) {
        const char text[2] = {*format, '\0'};
        if (*format != '%')
            board_put(text);
        else if (*++format == 'd')
            put_int(va_arg(list, int));
        else if (*format == 'u')
            board_put_number(va_arg(list, unsigned));
        else
            board_put(va_arg(list, const char *));
    }
}

int printf(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_all(format, list);
    va_end(list);
    return 0;
}

/* Compilers make these of plain texts. */
int puts(const char *text) {
    board_put(text);
    board_put("\n");
    return 0;
}

int putchar(int letter) {
    const char text[2] = {(char)letter, '\0'};
    board_put(text);
    return letter;
}

void printk(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_all(format, list);
    va_end(list);
}
