/* windows_threads.h: threads of Windows, by what every version since 7 has. */
#ifndef OX_HOST_WINDOWS_THREADS_H
#define OX_HOST_WINDOWS_THREADS_H

#include "windows.h"

typedef SRWLOCK ox_host_mutex;
typedef CONDITION_VARIABLE ox_host_bell; /* wakes threads that wait for it */

typedef struct ox_host_thread {
    HANDLE thread;
    DWORD number;
    void (*work)(void *context);
    void *context;
} ox_host_thread;

static inline void ox_host_mutex_init(ox_host_mutex *mutex) {
    InitializeSRWLock(mutex);
}
static inline void ox_host_mutex_destroy(ox_host_mutex *mutex) {
    (void)mutex;
}
static inline void ox_host_mutex_take(ox_host_mutex *mutex) {
    AcquireSRWLockExclusive(mutex);
}
static inline void ox_host_mutex_give(ox_host_mutex *mutex) {
    ReleaseSRWLockExclusive(mutex);
}

static inline void ox_host_bell_init(ox_host_bell *bell) {
    InitializeConditionVariable(bell);
}
static inline void ox_host_bell_destroy(ox_host_bell *bell) {
    (void)bell;
}
static inline void ox_host_bell_wait(ox_host_bell *bell, ox_host_mutex *mutex) {
    SleepConditionVariableSRW(bell, mutex, INFINITE, 0);
}
static inline void ox_host_bell_ring(ox_host_bell *bell) {
    WakeAllConditionVariable(bell);
}

static inline DWORD WINAPI ox_host_thread_main(void *thread) {
    const ox_host_thread *self = thread;
    self->work(self->context);
    return 0;
}
/* The thread must stay where it is until it has been joined. False if none can be started. */
static inline bool ox_host_thread_start(ox_host_thread *thread, void (*work)(void *context), void *context) {
    thread->work = work;
    thread->context = context;
    thread->thread = CreateThread(NULL, 0, ox_host_thread_main, thread, 0, &thread->number);
    return thread->thread != NULL;
}
static inline void ox_host_thread_join(ox_host_thread *thread) {
    WaitForSingleObject(thread->thread, INFINITE);
    CloseHandle(thread->thread);
}
static inline bool ox_host_thread_is_this(const ox_host_thread *thread) {
    return thread->number == GetCurrentThreadId();
}
static inline void ox_host_thread_yield(void) {
    SwitchToThread();
}

/* The system moves threads by itself. */
static inline int ox_host_thread_place(void) {
    return -1;
}
static inline void ox_host_thread_leave(int place) {
    (void)place;
}

#endif
