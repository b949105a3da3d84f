/* posix_files.c: files, folders and terminals. */
#include "posix.h"
#ifdef OX_HAS_POSIX_FILES
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../system.h"

char **ox_system_start(char **arguments) {
    return arguments;
}

bool ox_system_separates(char c) {
    return c == '/';
}

static void describe(const struct stat *from, ox_file_info *info) {
    *info = (ox_file_info){.is_file = S_ISREG(from->st_mode),
                           .is_folder = S_ISDIR(from->st_mode),
                           .is_pipe = S_ISFIFO(from->st_mode),
                           .device = (uint64_t)from->st_dev,
                           .number = (uint64_t)from->st_ino};
    info->size = info->is_file && from->st_size > 0 ? (uint64_t)from->st_size : 0;
}

bool ox_system_look(const char *path, ox_file_info *info) {
    struct stat found;
    if (stat(path, &found))
        return false;
    describe(&found, info);
    return true;
}

bool ox_system_look_at_stream(FILE *stream, ox_file_info *info) {
    struct stat found;
    if (fstat(fileno(stream), &found))
        return false;
    describe(&found, info);
    return true;
}

FILE *ox_system_open(const char *path, const char *mode) {
    return fopen(path, mode);
}

bool ox_system_make_folder(const char *path) {
    return !mkdir(path, 0777);
}

bool ox_system_rename(const char *from, const char *to) {
    return !rename(from, to);
}

bool ox_system_remove(const char *path) {
    return !unlink(path);
}

void ox_system_list(const char *folder, void (*add)(void *context, const char *name), void *context) {
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            add(context, entry->d_name);
    if (all)
        closedir(all);
}

bool ox_system_is_terminal(FILE *stream) {
    return isatty(fileno(stream));
}
#endif
