/* board.h: what firmware asks of the machine that it runs on: text out, a counter, the stack. The same for all boards;
 * start_*.c and firmware.ld bring a program up on them.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

/* The program, which the start code calls with memory and stack set up. What it returns goes to board_exit. */
int main(void);

/* Prints text; a number in decimal. */
void board_put(const char *text);
void board_put_number(uint32_t number);

/* Ends the emulation with a status, 0 for success. Does not return. */
_Noreturn void board_exit(int status);

/* Instructions since the start, but for filling the stack, where the emulator counts one for each nanosecond (-icount
 * shift=0). The Arm boards count some at a time, and have to be asked once in 2^24 ticks. */
uint32_t board_instructions(void);

/* Bytes of the stack that have been in use since the start. */
size_t board_stack_used(void);

/* ---- For the start code ------------------------------------------------------------------------------------------ */

/* Fills the stack below `sp` with a pattern, starts the counter, sets up .data and .bss, runs main and exits. */
_Noreturn void board_run(uintptr_t sp);

/* Starts the counter that board_instructions reads. */
void board_start_counter(void);

#endif
