/* pyconfig.h: what Python's headers ask of the system that a wheel is for, in place of this machine's: systems of 64
 * bits. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#include <stdio.h>

#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_UINTPTR_T 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF__BOOL 1
#define SIZEOF_OFF_T 8
#define HAVE_LONG_LONG 1
#define HAVE_STDINT_H 1
#define HAVE_STDDEF_H 1
#define HAVE_WCHAR_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SSIZE_T 1
#define HAVE_PROTOTYPES 1
#define WITH_THREAD 1

#ifdef _WIN32
#define MS_WIN32 1
#define MS_WIN64 1
#define MS_WINDOWS 1
#define NT_THREADS 1
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
#define SIZEOF_PID_T 4
typedef long long Py_ssize_t;
#define HAVE_PY_SSIZE_T 1
#define PY_LLONG_MAX LLONG_MAX
#else
#define SIZEOF_LONG 8
#define SIZEOF_WCHAR_T 4
#define SIZEOF_PID_T 4
#define SIZEOF_PTHREAD_T 8
#define HAVE_PTHREAD_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_CLOCK_GETTIME 1
#define _POSIX_THREADS 1
#endif

#endif
