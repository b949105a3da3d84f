/* start_riscv.c: from reset to board_run on RV32, and the counter. */
#include "board.h"

__attribute__((used)) static void fault(void) {
    board_put("fault\n");
    board_exit(3);
}

__attribute__((naked, used, section(".vectors"))) void board_reset(void);
void board_reset(void) {
    __asm__ volatile("la sp, board_stack_end\n"
                     "la t0, 1f\n"
                     "csrw mtvec, t0\n"
                     "mv a0, sp\n"
                     "call board_run\n"
                     ".balign 4\n"
                     "1: call fault\n");
}

/* The processor counts by itself. */
void board_start_counter(void) {
    __asm__ volatile("csrw minstret, zero\ncsrw minstreth, zero");
}

uint32_t board_instructions(void) {
    uint32_t count;
    __asm__ volatile("csrr %0, minstret" : "=r"(count));
    return count;
}
