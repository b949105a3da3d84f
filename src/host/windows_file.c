/* windows_file.c: mapping files, and where links lead. */
#include "windows.h"
#ifdef _WIN32
#include "files.h"

#include <stdlib.h>

static const unsigned char no_bytes[1];

/* The system's texts are in a language of the user's; errors are English everywhere. */
static const char *text_of(DWORD code) {
    switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
        return "No such file or directory";
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        return "Permission denied";
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
        return "Cannot allocate memory";
    case ERROR_NO_UNICODE_TRANSLATION:
        return "the path is not UTF-8";
    default:
        return NULL;
    }
}

static ox_status fail_system(ox_error *error, const char *path, DWORD code) {
    const char *text = text_of(code);
    return text ? ox_fail(error, OX_ERROR_FILE, "%s: %s", path, text)
                : ox_fail(error, OX_ERROR_FILE, "%s: error %lu of Windows", path, (unsigned long)code);
}

/* A handle, INVALID_HANDLE_VALUE with what GetLastError tells. Others may write, rename and remove what is open. */
static HANDLE open_path(const char *path, DWORD access, DWORD flags) {
    wchar_t *wide = ox_windows_path(path);
    if (!wide)
        return INVALID_HANDLE_VALUE;
    HANDLE file = CreateFileW(wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                              flags, NULL);
    const DWORD code = GetLastError();
    free(wide);
    SetLastError(code);
    return file;
}

static ox_status map_handle(HANDLE file, const char *path, const unsigned char **bytes, size_t *size, ox_error *error) {
    BY_HANDLE_FILE_INFORMATION info;
    LARGE_INTEGER length;
    if (GetFileType(file) != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &info) ||
        (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
        return ox_fail(error, OX_ERROR_FILE, "%s: not a regular file", path);
    if (!GetFileSizeEx(file, &length))
        return fail_system(error, path, GetLastError());
    if ((uint64_t)length.QuadPart > SIZE_MAX / 2)
        return ox_fail(error, OX_ERROR_LIMIT, "%s: larger than the address space", path);
    *size = (size_t)length.QuadPart;
    *bytes = no_bytes;
    if (!*size)
        return OX_OK;
    HANDLE mapping = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
    const void *map = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
    const DWORD code = GetLastError();
    if (mapping)
        CloseHandle(mapping);
    if (!map)
        return fail_system(error, path, code);
    *bytes = map;
    return OX_OK;
}

ox_status ox_host_map(const char *path, const unsigned char **bytes, size_t *size, ox_error *error) {
    /* The flag opens folders, too, so that one is not reported as a file without permission. */
    HANDLE file = open_path(path, GENERIC_READ, FILE_FLAG_BACKUP_SEMANTICS);
    if (file == INVALID_HANDLE_VALUE)
        return fail_system(error, path, GetLastError());
    ox_status status = map_handle(file, path, bytes, size, error);
    CloseHandle(file);
    return status;
}

void ox_host_unmap(const unsigned char *bytes, size_t size) {
    if (bytes != no_bytes && size)
        UnmapViewOfFile(bytes);
}

/* The system takes clean pages back by itself. */
void ox_host_forget(const unsigned char *bytes, size_t size) {
    (void)bytes, (void)size;
}

ox_status ox_host_real_path(const char *path, char real[OX_HOST_PATH], ox_error *error) {
    HANDLE file = open_path(path, 0, FILE_FLAG_BACKUP_SEMANTICS);
    if (file == INVALID_HANDLE_VALUE)
        return fail_system(error, path, GetLastError());
    wchar_t *wide = malloc(OX_WIDE_PATH * sizeof *wide);
    const DWORD length = wide ? GetFinalPathNameByHandleW(file, wide, OX_WIDE_PATH, FILE_NAME_NORMALIZED) : 0;
    const DWORD code = wide ? GetLastError() : ERROR_OUTOFMEMORY;
    CloseHandle(file);
    ox_status status = OX_OK;
    if (!length || length >= OX_WIDE_PATH)
        status = fail_system(error, path, code);
    else if (!ox_windows_utf8(wide, real, OX_HOST_PATH))
        status = ox_fail(error, OX_ERROR_FILE, "%s: the path is too long", path);
    free(wide);
    return status;
}
#endif
