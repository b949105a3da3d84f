/* watch.c: memory whose contents change between two accesses of one run, as another thread may change them, and at a
 * chosen access instead of by chance. The memory is kept closed; each access to it faults, and is executed by itself
 * (the trap flag of x86), and behind a chosen number of accesses the memory holds other bytes. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE 4096
#define TRAP_FLAG 0x100
#define WATCH_MOST 4096 /* bytes that are watched */

bool watch_works(void);
char *watch_map(size_t size);
void watch_unmap(char *end, size_t size);
long watch_run(int (*run)(void *, void *), void *session, void *error, char *data, size_t size, const char *other,
               long change, int back, int *status);

/* What is watched: signals have no other context. */
static struct {
    char *pages;
    size_t length;
    char *data;
    const char *other;
    size_t size;
    long accesses, change;
    bool back;                    /* only one access sees the other bytes */
    char kept[WATCH_MOST];        /* those before the change */
    struct sigaction fault, trap; /* of others */
} watch;

static size_t whole_pages(size_t size) {
    return (size + PAGE - 1) / PAGE * PAGE;
}

#if defined __x86_64__ && defined __linux__
bool watch_works(void) {
    return true;
}

static void on_fault(int number, siginfo_t *info, void *context) {
    ucontext_t *machine = context;
    const char *at = info->si_addr;
    if (at < watch.pages || at >= watch.pages + watch.length) {
        sigaction(number, &watch.fault, NULL); /* the instruction faults again, for those who report it */
        return;
    }
    mprotect(watch.pages, watch.length, PROT_READ | PROT_WRITE);
    if (watch.accesses == watch.change)
        memcpy(watch.data, watch.other, watch.size);
    else if (watch.back && watch.accesses == watch.change + 1)
        memcpy(watch.data, watch.kept, watch.size);
    if (watch.accesses++ == watch.change + watch.back)
        return; /* open from now on */
    machine->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int number, siginfo_t *info, void *context) {
    ucontext_t *machine = context;
    (void)number;
    (void)info;
    mprotect(watch.pages, watch.length, PROT_NONE);
    machine->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}
#else
bool watch_works(void) {
    return false;
}

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    (void)context;
}

static void on_trap(int number, siginfo_t *info, void *context) {
    on_fault(number, info, context);
}
#endif

/* The end of whole pages with room for size bytes, behind which nothing may be read. */
char *watch_map(size_t size) {
    const size_t length = whole_pages(size);
    char *pages = mmap(NULL, length + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    mprotect(pages + length, PAGE, PROT_NONE);
    return pages + length;
}

void watch_unmap(char *end, size_t size) {
    munmap(end - whole_pages(size), whole_pages(size) + PAGE);
}

/* Calls run(session, error). Behind `change` accesses to the size bytes at `data`, which end where watch_map says,
 * these are those at `other`. Gives the number of accesses up to then, and run's status. */
long watch_run(int (*run)(void *, void *), void *session, void *error, char *data, size_t size, const char *other,
               long change, int back, int *status) {
    struct sigaction fault = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_fault};
    struct sigaction trap = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_trap};
    watch.length = whole_pages(size);
    watch.pages = data + size - watch.length;
    watch.data = data;
    watch.other = other;
    watch.size = size;
    watch.accesses = 0;
    watch.change = change;
    watch.back = back;
    if (size > WATCH_MOST)
        return -1;
    memcpy(watch.kept, data, size);
    sigaction(SIGSEGV, &fault, &watch.fault);
    sigaction(SIGTRAP, &trap, &watch.trap);
    mprotect(watch.pages, watch.length, PROT_NONE);
    *status = run(session, error);
    mprotect(watch.pages, watch.length, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &watch.fault, NULL);
    sigaction(SIGTRAP, &watch.trap, NULL);
    return watch.accesses;
}
