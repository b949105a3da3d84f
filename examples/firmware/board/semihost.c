/* semihost.c: text and exit through the debugger's calls that Arm and RISC-V define alike ("semihosting"). On a board
 * without a debugger, this file is the one to replace. */
#include "board.h"

enum {
    SYS_WRITE0 = 0x04,
    SYS_EXIT_EXTENDED = 0x20,
    APPLICATION_EXIT = 0x20026
};

/* Both architectures pass the number in the first register and the argument in the second. */
static void call(uintptr_t number, const void *argument) {
#ifdef __riscv
    register uintptr_t a0 __asm__("a0") = number;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                     "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
#else
    register uintptr_t r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#endif
}

void board_put(const char *text) {
    call(SYS_WRITE0, text);
}

void board_exit(int status) {
    const uintptr_t block[2] = {APPLICATION_EXIT, (uintptr_t)status};
    for (;;)
        call(SYS_EXIT_EXTENDED, block);
}
