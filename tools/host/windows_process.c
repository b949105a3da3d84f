/* windows_process.c: a second thread, shared libraries, and unfinished files of Windows. */
#include "../../src/host/windows.h"
#ifdef _WIN32
#include <io.h>
#include <stdlib.h>
#include <string.h>

#include "../guard.h"
#include "../system.h"
#include "../tool.h"

bool ox_system_apart(bool (*fn)(void *result), void *result, size_t size) {
    (void)size;
    return fn(result);
}

void ox_system_on_fork(void (*fn)(void)) {
    (void)fn;
}

int64_t ox_system_milliseconds(void) {
    return (int64_t)GetTickCount64();
}

void ox_system_large_pages(void *block, size_t size) {
    (void)block, (void)size;
}

/* ---- A second thread -------------------------------------------------------------------------------------------- */

struct ox_helper {
    HANDLE thread;
    SRWLOCK lock;
    CONDITION_VARIABLE wake;
    void (*work)(ox_helper *helper, void *context);
    void *context;
};

static DWORD WINAPI work(void *argument) {
    ox_helper *helper = argument;
    helper->work(helper, helper->context);
    return 0;
}

ox_helper *ox_helper_start(void (*fn)(ox_helper *helper, void *context), void *context) {
    ox_helper *helper = malloc(sizeof *helper);
    if (!helper)
        return NULL;
    *helper = (ox_helper){.work = fn, .context = context};
    InitializeSRWLock(&helper->lock);
    InitializeConditionVariable(&helper->wake);
    helper->thread = CreateThread(NULL, 0, work, helper, 0, NULL);
    if (helper->thread)
        return helper;
    free(helper);
    return NULL;
}

void ox_helper_lock(ox_helper *helper) {
    AcquireSRWLockExclusive(&helper->lock);
}

void ox_helper_unlock(ox_helper *helper) {
    ReleaseSRWLockExclusive(&helper->lock);
}

void ox_helper_wait(ox_helper *helper, uint64_t time) {
    const uint64_t now = ox_tool_now();
    if (time > now)
        SleepConditionVariableSRW(&helper->wake, &helper->lock, (DWORD)((time - now) / 1000000 + 1), 0);
}

void ox_helper_wake(ox_helper *helper) {
    WakeConditionVariable(&helper->wake);
}

void ox_helper_end(ox_helper *helper) {
    WaitForSingleObject(helper->thread, INFINITE);
    CloseHandle(helper->thread);
    free(helper);
}

/* ---- Shared libraries ------------------------------------------------------------------------------------------- */

const char ox_library_ending[] = ".dll";

void *ox_library_open(const char *path, const char **reason) {
    wchar_t *wide = ox_windows_path(path);
    HMODULE library = wide ? LoadLibraryExW(wide, NULL, LOAD_WITH_ALTERED_SEARCH_PATH) : NULL, kept;
    *reason = library ? NULL : "it is missing, or it is no library, or one that it needs is missing";
    if (library) /* until the process ends */
        GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, wide, &kept);
    free(wide);
    return library;
}

/* Libraries name the one that has what they need. */
bool ox_library_show(const char *path, const char **reason) {
    (void)path;
    *reason = NULL;
    return true;
}

void *ox_library_find(void *library, const char *name) {
    FARPROC found = GetProcAddress(library, name);
    void *address;
    memcpy(&address, &found, sizeof address);
    return address;
}

void ox_library_close(void *library) {
    FreeLibrary(library);
}

/* ---- Unfinished files ------------------------------------------------------------------------------------------- */

enum {
    MOST_UNFINISHED = 8
};
static char *unfinished[MOST_UNFINISHED];
static SRWLOCK unfinished_lock = SRWLOCK_INIT; /* the system calls `end` in a thread of its own */
enum {
    DRAWING_MS = 200 /* the most that an end waits for a line: a console may have stopped */
};
static SRWLOCK line_lock = SRWLOCK_INIT; /* once it ends the process, `end` keeps it */
static bool has_line;

static void replace(const char *from, char *to) {
    int i = 0;
    while (i < MOST_UNFINISHED && unfinished[i] != from)
        i++;
    if (i < MOST_UNFINISHED)
        unfinished[i] = to;
}

static void remove_unfinished(void) {
    AcquireSRWLockExclusive(&unfinished_lock);
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i])
            ox_system_remove(unfinished[i]);
    ReleaseSRWLockExclusive(&unfinished_lock);
}

static BOOL WINAPI end(DWORD event) {
    static const char text[] = "\r\033[Kox: interrupted\n";
    for (int ms = 0; ms < DRAWING_MS && !TryAcquireSRWLockExclusive(&line_lock); ms++)
        Sleep(1);
    const size_t skipped = has_line ? 0 : sizeof "\r\033[K" - 1;
    (void)event;
    remove_unfinished();
    (void)_write(2, text + skipped, (unsigned)(sizeof text - 1 - skipped));
    return FALSE; /* the system ends the process */
}

void ox_guard_start(void) {
    (void)atexit(remove_unfinished); /* where memory is out */
    SetConsoleCtrlHandler(end, TRUE);
}

FILE *ox_guard_create(char *path) {
    AcquireSRWLockExclusive(&unfinished_lock);
    FILE *stream = ox_system_create(path);
    if (stream)
        replace(NULL, path);
    ReleaseSRWLockExclusive(&unfinished_lock);
    return stream;
}

void ox_guard_forget(const char *path) {
    if (!path)
        return;
    AcquireSRWLockExclusive(&unfinished_lock);
    replace(path, NULL);
    ReleaseSRWLockExclusive(&unfinished_lock);
}

/* A write to a closed pipe fails like any other. */
void ox_guard_pipe(void) {}

bool ox_guard_draw(void) {
    AcquireSRWLockExclusive(&line_lock);
    has_line = true;
    return true;
}

void ox_guard_drawn(void) {
    ReleaseSRWLockExclusive(&line_lock);
}

void ox_guard_no_line(void) {
    AcquireSRWLockExclusive(&line_lock);
    has_line = false;
    ReleaseSRWLockExclusive(&line_lock);
}
#endif
