/* posix.h: selects the systems of the files posix_*.c, and makes their headers declare everything; include it before
 * any other header. WebAssembly's system (WASI) has the files of POSIX, but neither processes nor signals nor
 * threads. */
#ifndef OX_TOOLS_POSIX_H
#define OX_TOOLS_POSIX_H

#ifndef _WIN32
#define OX_HAS_POSIX_FILES 1
#ifndef __wasi__
#define OX_HAS_POSIX 1
#endif
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#endif
