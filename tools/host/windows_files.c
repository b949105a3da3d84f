/* windows_files.c: files, folders and terminals of Windows. Paths are UTF-8. */
#include "../../src/host/windows.h"
#ifdef _WIN32
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../system.h"

enum {
    USUAL_WIDTH = 80
};

static char *narrow(const wchar_t *wide) {
    const size_t size = 3 * wcslen(wide) + 1;
    char *text = malloc(size);
    if (text && !ox_windows_utf8(wide, text, size))
        *text = 0;
    return text;
}

/* Streams give and take bytes as they are; what the command prints is UTF-8, and ESC begins a command of a terminal. */
char **ox_system_start(char **arguments) {
    int count = 0;
    DWORD mode;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    char **all = wide ? malloc(((size_t)count + 1) * sizeof *all) : NULL;
    for (int i = 0; all && i < count; i++)
        if (!(all[i] = narrow(wide[i])))
            return arguments;
    if (all)
        all[count] = NULL;
    LocalFree(wide);
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
    _setmode(2, _O_BINARY);
    SetConsoleOutputCP(CP_UTF8);
    HANDLE screen = GetStdHandle(STD_ERROR_HANDLE);
    if (GetConsoleMode(screen, &mode))
        SetConsoleMode(screen, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    return all ? all : arguments;
}

bool ox_system_separates(char c) {
    return c == '/' || c == '\\';
}

/* For functions that leave why in errno. */
static bool fail(DWORD code) {
    switch (code) {
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        errno = EEXIST;
        break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        errno = EACCES;
        break;
    case ERROR_DISK_FULL:
        errno = ENOSPC;
        break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
        errno = ENOMEM;
        break;
    default:
        errno = ENOENT;
    }
    return false;
}

static bool describe(HANDLE file, ox_file_info *info) {
    BY_HANDLE_FILE_INFORMATION found;
    const DWORD type = GetFileType(file);
    *info = (ox_file_info){.is_pipe = type == FILE_TYPE_PIPE};
    if (type != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &found))
        return type != FILE_TYPE_UNKNOWN;
    info->is_folder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    info->is_file = !info->is_folder;
    info->size = info->is_file ? (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow : 0;
    info->device = found.dwVolumeSerialNumber;
    info->number = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow;
    return true;
}

bool ox_system_look(const char *path, ox_file_info *info) {
    wchar_t *wide = ox_windows_path(path);
    if (!wide)
        return fail(GetLastError());
    HANDLE file = CreateFileW(wide, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS, NULL);
    const DWORD code = GetLastError();
    free(wide);
    if (file == INVALID_HANDLE_VALUE)
        return fail(code);
    const bool known = describe(file, info);
    CloseHandle(file);
    return known || fail(ERROR_FILE_NOT_FOUND);
}

static HANDLE handle_of(FILE *stream) {
    return (HANDLE)_get_osfhandle(_fileno(stream));
}

bool ox_system_look_at_stream(FILE *stream, ox_file_info *info) {
    return describe(handle_of(stream), info);
}

FILE *ox_system_open(const char *path, const char *mode) {
    wchar_t *wide = ox_windows_path(path);
    FILE *file = wide ? _wfopen(wide, *mode == 'r' ? L"rb" : L"wb") : NULL;
    if (!wide)
        fail(GetLastError());
    free(wide);
    return file;
}

bool ox_system_make_folder(const char *path) {
    wchar_t *wide = ox_windows_path(path);
    const bool made = wide && CreateDirectoryW(wide, NULL);
    const DWORD code = GetLastError();
    free(wide);
    return made || fail(code);
}

bool ox_system_rename(const char *from, const char *to) {
    wchar_t *one = ox_windows_path(from), *other = ox_windows_path(to);
    const bool done = one && other && MoveFileExW(one, other, MOVEFILE_REPLACE_EXISTING);
    const DWORD code = GetLastError();
    free(one);
    free(other);
    return done || fail(code);
}

bool ox_system_remove(const char *path) {
    wchar_t *wide = ox_windows_path(path);
    const bool done = wide && DeleteFileW(wide);
    const DWORD code = GetLastError();
    free(wide);
    return done || fail(code);
}

/* A number replaces XXXXXX; numbers are tried until no file has the name. Open files may be removed, because a signal
 * removes them. */
FILE *ox_system_create(char *path) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    LARGE_INTEGER ticks;
    HANDLE file = INVALID_HANDLE_VALUE;
    DWORD code = ERROR_FILE_EXISTS;
    QueryPerformanceCounter(&ticks);
    uint64_t number = (uint64_t)ticks.QuadPart ^ (uint64_t)GetCurrentProcessId() << 10;
    for (int i = 0; i < 100 && code == ERROR_FILE_EXISTS; i++, number = number * 6364136223846793005u + 1) {
        char *last = path + strlen(path) - 6;
        for (int k = 0; k < 6; k++)
            last[k] = letters[number >> 5 * k & 31];
        wchar_t *wide = ox_windows_path(path);
        if (wide)
            file = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                               CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
        code = file == INVALID_HANDLE_VALUE ? GetLastError() : 0;
        free(wide);
    }
    if (file == INVALID_HANDLE_VALUE)
        return fail(code), NULL;
    const int handle = _open_osfhandle((intptr_t)file, _O_BINARY);
    return handle < 0 ? NULL : _fdopen(handle, "wb");
}

void ox_system_list(const char *folder, void (*add)(void *context, const char *name), void *context) {
    WIN32_FIND_DATAW entry;
    char *pattern = malloc(strlen(folder) + 3);
    if (!pattern)
        return;
    strcat(strcpy(pattern, folder), "/*");
    wchar_t *wide = ox_windows_path(pattern);
    HANDLE all = wide ? FindFirstFileW(wide, &entry) : INVALID_HANDLE_VALUE;
    free(pattern);
    free(wide);
    if (all == INVALID_HANDLE_VALUE)
        return;
    do {
        char *name = narrow(entry.cFileName);
        if (name && strcmp(name, ".") && strcmp(name, ".."))
            add(context, name);
        free(name);
    } while (FindNextFileW(all, &entry));
    FindClose(all);
}

bool ox_system_own_path(char *path, size_t size) {
    wchar_t *wide = malloc(OX_WIDE_PATH * sizeof *wide);
    const DWORD length = wide ? GetModuleFileNameW(NULL, wide, OX_WIDE_PATH) : 0;
    const bool known = length && length < OX_WIDE_PATH && ox_windows_utf8(wide, path, size);
    free(wide);
    return known;
}

bool ox_system_is_terminal(FILE *stream) {
    DWORD mode;
    return GetConsoleMode(handle_of(stream), &mode);
}

int ox_system_terminal_width(void) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &info))
        return USUAL_WIDTH;
    const int width = info.srWindow.Right - info.srWindow.Left + 1;
    return width < 2 ? USUAL_WIDTH : width;
}
#endif
