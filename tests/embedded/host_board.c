/* host_board.c: board.h, as far as forest.c and network.c need it, on the machine where the library is built. */
#include "board.h"

#include <inttypes.h>
#include <stdio.h>

void board_put(const char *text) {
    fputs(text, stdout);
}

void board_put_number(uint32_t number) {
    printf("%" PRIu32, number);
}

uint32_t board_instructions(void) {
    return 0;
}

size_t board_stack_used(void) {
    return 0;
}
