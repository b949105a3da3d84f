/* external.c: keeping external data inside the model's directory. */
#include "files.h"

#include <string.h>

/* True if a path component of location is "..". */
static bool climbs(const char *location) {
    for (const char *p = location; *p;) {
        size_t n = strcspn(p, OX_HOST_SEPARATORS);
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        p += n + (p[n] != 0);
    }
    return false;
}

static bool is_separator(char c) {
    return c && strchr(OX_HOST_SEPARATORS, c);
}

/* A resolved directory, with a separator at the end: that of a file, whose path has a separator or none. */
static bool directory_of(const char *path, char directory[OX_HOST_PATH]) {
    char folder[OX_HOST_PATH];
    size_t n = strlen(path);
    while (n && !is_separator(path[n - 1]))
        n--;
    if (n + 2 > sizeof folder)
        return false;
    memcpy(folder, path, n);
    memcpy(folder + n, ".", 2);
    if (ox_host_real_path(folder, directory, NULL))
        return false;
    n = strlen(directory);
    if (n + 2 > OX_HOST_PATH)
        return false;
    if (!is_separator(directory[n - 1]))
        memcpy(directory + n, (const char[]){OX_HOST_SEPARATORS[0], 0}, 2);
    return true;
}

/* The directories that may contain external data: that of the given path, then that of the link's target. They are the
 * same if the model is not a link. */
typedef struct places {
    char directories[2][OX_HOST_PATH];
} places;

static bool find_places(const char *model_path, places *p) {
    char resolved[OX_HOST_PATH];
    return directory_of(model_path, p->directories[0]) && !ox_host_real_path(model_path, resolved, NULL) &&
           directory_of(resolved, p->directories[1]);
}

static bool lies_inside(const places *p, const char *resolved) {
    for (int i = 0; i < 2; i++)
        if (!strncmp(resolved, p->directories[i], strlen(p->directories[i])))
            return true;
    return false;
}

/* Resolves the location in one of the places. */
static ox_status resolve(const char *directory, const char *location, char resolved[OX_HOST_PATH], ox_error *error) {
    char joined[OX_HOST_PATH];
    size_t n = strlen(directory), m = strlen(location);
    if (n + m + 1 > sizeof joined)
        return ox_fail(error, OX_ERROR_FILE, "external data location '%s' is too long", location);
    memcpy(joined, directory, n);
    memcpy(joined + n, location, m + 1);
    ox_status status = ox_host_real_path(joined, resolved, error);
    if (status)
        ox_error_prefix(error, "external data '%s': ", location);
    return status;
}

/* True for a name that begins in the model's directory; a colon would name a drive, or a stream of a file. */
static bool is_relative(const char *location) {
    return *location && !is_separator(*location) && (sizeof OX_HOST_SEPARATORS == 2 || !strchr(location, ':'));
}

ox_status ox_host_external_path(const char *model_path, const char *location, char *buffer, size_t size,
                                ox_error *error) {
    if (!is_relative(location) || climbs(location))
        return ox_fail(error, OX_ERROR_MODEL,
                       "external data location '%s' must be a path inside the model's directory, without '..'",
                       location);
    char resolved[OX_HOST_PATH];
    places p = {.directories = {{0}}};
    if (!find_places(model_path, &p))
        return ox_fail(error, OX_ERROR_FILE, "the directory of %s cannot be resolved", model_path);
    /* What is missing is missed where the caller looks for it. */
    if (resolve(p.directories[0], location, resolved, error) && resolve(p.directories[1], location, resolved, NULL))
        return OX_ERROR_FILE;
    ox_error_clear(error);
    if (!lies_inside(&p, resolved))
        return ox_fail(error, OX_ERROR_MODEL, "external data location '%s' leads out of the model's directory",
                       location);
    if (strlen(resolved) + 1 > size)
        return ox_fail(error, OX_ERROR_FILE, "external data location '%s' is too long", location);
    memcpy(buffer, resolved, strlen(resolved) + 1);
    return OX_OK;
}
