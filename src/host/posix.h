/* posix.h: selects the systems of the files posix_*.c, and makes their headers declare everything. Include it before
 * any other header. On all other systems these files are empty, so that a build may compile all of src/host. */
#ifndef OX_HOST_POSIX_H
#define OX_HOST_POSIX_H

#if !defined(_WIN32) && !defined(__wasi__)
#define OX_HOST_POSIX 1
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#endif
