/* files.h: what external.c asks of the files of a system. Paths are UTF-8 where the system knows what letters are. */
#ifndef OX_HOST_FILES_H
#define OX_HOST_FILES_H

#include "host.h"

/* The longest path, with the zero at its end. */
enum {
    OX_HOST_PATH = 4096
};

/* What stands between the names of a path, first that which the system writes. */
#ifdef _WIN32
#define OX_HOST_SEPARATORS "\\/"
#else
#define OX_HOST_SEPARATORS "/"
#endif

/* The path of a file or folder that exists, from the root, without links. */
ox_status ox_host_real_path(const char *path, char real[OX_HOST_PATH], ox_error *error);

#endif
