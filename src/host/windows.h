/* windows.h: which systems the files windows_*.c are for, and the header of theirs; paths as they want them. */
#ifndef OX_HOST_WINDOWS_H
#define OX_HOST_WINDOWS_H

#ifdef _WIN32
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <stdbool.h>
#include <windows.h>

enum {
    OX_WIDE_PATH = 32768 /* the longest that the system has */
};

/* A UTF-8 path in the system's form: absolute, with the prefix that allows long paths. It is malloced; NULL on failure,
 * with the reason in GetLastError. */
wchar_t *ox_windows_path(const char *path);

/* The UTF-8 of a path, without what marks a long one; false if it is longer than size - 1. */
bool ox_windows_utf8(const wchar_t *path, char *text, size_t size);
#endif

#endif
