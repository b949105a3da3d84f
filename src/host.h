/* host.h: the functions that ox needs from an operating system, except threads (workers.h, lock.h). Builds for devices
 * leave src/host out: they load models from memory only, and the caller supplies the allocator. */
#ifndef OX_HOST_H
#define OX_HOST_H

#include "alloc.h"

/* Maps a whole file read-only. An empty file gives size 0 and a non-NULL pointer. */
ox_status ox_host_map(const char *path, const unsigned char **bytes, size_t *size, ox_error *error);
void ox_host_unmap(const unsigned char *bytes, size_t size);

/* Releases the memory of whole pages of a mapped file. The system reads them from the file again when any thread needs
 * them. */
void ox_host_forget(const unsigned char *bytes, size_t size);

/* Resolves an external-data location: relative, without "..", and, with symbolic links followed, inside the directory
 * of the model's path or, if that path is a link, of its target. They are searched in this order. Writes the path to
 * open into buffer. OX_ERROR_FILE if the file does not exist. */
ox_status ox_host_external_path(const char *model_path, const char *location, char *buffer, size_t size,
                                ox_error *error);

/* The build of the loops that the environment asks for (OX_ISA), NULL for none. */
const char *ox_default_isa(void);

/* The algorithm of all convolutions that it can compute, from the environment (OX_CONV); NULL if unset. For tests. */
const char *ox_default_conv(void);

/* Bytes of the data cache of that level, 1 or 2, that a core has; 0 if it is not known. */
size_t ox_host_cache(int level);

/* Whether this process may use the processor's matrix registers (AMX), which Linux saves for those that ask. */
bool ox_host_matrix_registers(void);

/* What an aarch64 processor has beside NEON, as the system says: bits of these. 0 on other machines. */
enum {
    OX_ARM_DOTPROD = 1, /* instructions that add four products of bytes to each of four sums (FEAT_DotProd), */
    OX_ARM_I8MM = 2     /* and eight to each (FEAT_I8MM) */
};
unsigned ox_host_arm_features(void);

/* Nanoseconds of a clock that only goes forward. */
uint64_t ox_host_now(void);

#endif
