/* posix_library.c: shared libraries. */
#include "posix.h"
#ifdef OX_HAS_POSIX
#include <dlfcn.h>

#include "../system.h"

#ifdef __APPLE__
const char ox_library_ending[] = ".dylib";
#else
const char ox_library_ending[] = ".so";
#endif

/* Libraries behind plug-ins hold memory until the process ends, and do not give it back when they are closed. */
void *ox_library_open(const char *path, const char **reason) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    *reason = library ? NULL : dlerror();
    return library;
}

bool ox_library_show(const char *path, const char **reason) {
    const bool shown = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    *reason = shown ? NULL : dlerror();
    return shown;
}

void *ox_library_find(void *library, const char *name) {
    return dlsym(library, name);
}

void ox_library_close(void *library) {
    dlclose(library);
}
#endif
