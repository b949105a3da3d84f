/* start_arm.c: from reset to board_run on Cortex-M, and the counter: SysTick, which every Cortex-M of the emulator has.
 */
#include "board.h"

extern uint32_t board_stack_end[];

#define SYSTICK ((volatile uint32_t *)0xe000e010)
enum {
    CONTROL,
    RELOAD,
    CURRENT
};

static void reset(void) {
#if defined(__ARM_FP)
    /* The coprocessors 10 and 11 are the floating-point unit. */
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;
    __asm__ volatile("dsb\nisb");
#endif
    board_run((uintptr_t)__builtin_frame_address(0));
}

static void fault(void) {
    board_put("fault\n");
    board_exit(3);
}

typedef union vector {
    void *stack;
    void (*handler)(void);
} vector;

/* What the processor finds at address 0: the stack, then handlers of reset, NMI and faults. */
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = board_stack_end}, {.handler = reset}, {.handler = fault}, {.handler = fault},
    {.handler = fault},         {.handler = fault}, {.handler = fault}, {.handler = fault},
};

#define BOARD_MHZ (BOARD_HZ / 1000000)

/* 24 bits, counting down. */
#define TOP 0xffffffu
static uint32_t earlier_ticks;

void board_start_counter(void) {
    SYSTICK[RELOAD] = TOP;
    SYSTICK[CURRENT] = 0;
    SYSTICK[CONTROL] = 5;
}

uint32_t board_instructions(void) {
    /* The flag says that the counter went through zero since it was read last. */
    uint32_t ticks = TOP - SYSTICK[CURRENT];
    if (SYSTICK[CONTROL] & 1u << 16) {
        earlier_ticks += TOP + 1;
        ticks = TOP - SYSTICK[CURRENT];
    }
    /* An instruction is a nanosecond. 64 bits would take a function to divide them. */
    ticks += earlier_ticks;
    return ticks / BOARD_MHZ * 1000 + ticks % BOARD_MHZ * 1000 / BOARD_MHZ;
}
