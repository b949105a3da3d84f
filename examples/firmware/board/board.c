/* board.c: bringing up memory, measuring the stack, printing numbers. */
#include "board.h"

/* From the linker script. */
extern uint32_t board_data[], board_data_end[], board_bss[], board_bss_end[], board_stack[], board_stack_end[];
extern const uint32_t board_data_load[];

enum {
    PAINT = 0x5ac35ac3
};

void board_run(uintptr_t sp) {
    /* Some way below, where nothing of this function is. */
    for (uint32_t *to = board_stack; (uintptr_t)to < sp - 128; to++)
        *to = PAINT;
    board_start_counter();
    const uint32_t *from = board_data_load;
    for (uint32_t *to = board_data; (uintptr_t)to < (uintptr_t)board_data_end; to++)
        *to = *from++;
    for (uint32_t *to = board_bss; (uintptr_t)to < (uintptr_t)board_bss_end; to++)
        *to = 0;
    board_exit(main());
}

size_t board_stack_used(void) {
    const uint32_t *at = board_stack;
    while ((uintptr_t)at < (uintptr_t)board_stack_end && *at == PAINT)
        at++;
    return (uintptr_t)board_stack_end - (uintptr_t)at;
}

void board_put_number(uint32_t number) {
    char text[11], *at = text + sizeof text;
    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    board_put(at);
}
