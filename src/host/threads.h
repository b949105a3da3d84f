/* threads.h: threads of the system, for workers.c and lock.c. OX_HOST_THREADS is 1 where there are some. */
#ifndef OX_HOST_THREADS_H
#define OX_HOST_THREADS_H

#if defined(_WIN32)
#define OX_HOST_THREADS 1
#include "windows_threads.h"
#elif defined(__wasi__)
#define OX_HOST_THREADS 0
#else
#define OX_HOST_THREADS 1
#include "posix_threads.h"
#endif

#endif
