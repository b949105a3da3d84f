/* mman.h: a stand-in for the enumeration of small graphs (tests/scopes): memory without guarded pages. */
#ifndef OX_WASI_MMAN_H
#define OX_WASI_MMAN_H

#include <stdlib.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 32
#define MAP_FAILED NULL
#define mmap(at, size, protection, flags, file, offset) calloc(size, 1)
#define mprotect(at, size, protection) 0

#endif
