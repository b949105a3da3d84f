/* posix.h: which systems the files posix_*.c are for, and that their headers show all that they have. It is included
 * before any other header. On all other systems these files are empty, so that a build may compile all of src/host. */
#ifndef OX_HOST_POSIX_H
#define OX_HOST_POSIX_H

#if !defined(_WIN32) && !defined(__wasi__)
#define OX_HOST_POSIX 1
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#endif
