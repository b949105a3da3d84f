/* windows_path.c: paths between UTF-8 and what the system wants. */
#include "windows.h"
#ifdef _WIN32
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static const wchar_t mark[] = L"\\\\?\\", share_mark[] = L"\\\\?\\UNC\\";

static wchar_t *widen(const char *path) {
    const int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
    wchar_t *wide = count ? malloc((size_t)count * sizeof *wide) : NULL;
    if (wide)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, count);
    return wide;
}

/* Short paths stay as they are: among them are names of devices. */
wchar_t *ox_windows_path(const char *path) {
    wchar_t *wide = widen(path);
    if (!wide || wcslen(wide) < MAX_PATH - 14 || !wcsncmp(wide, mark, 4)) /* folders leave room for a name of 8.3 */
        return wide;
    const DWORD count = GetFullPathNameW(wide, 0, NULL, NULL);
    const size_t before = sizeof share_mark / sizeof *share_mark - 1;
    wchar_t *full = count ? malloc((before + count) * sizeof *full) : NULL;
    const DWORD written = full ? GetFullPathNameW(wide, count, full + before, NULL) : 0;
    if (!written || written >= count) { /* the current folder may be another one since */
        free(full);
        full = NULL;
    } else {
        const bool is_share = full[before] == L'\\' && full[before + 1] == L'\\';
        if (is_share) /* \\server\share */
            memmove(full + before, full + before + 2, (count - 2) * sizeof *full);
        const wchar_t *front = is_share ? share_mark : mark;
        memmove(full + wcslen(front), full + before, count * sizeof *full);
        memcpy(full, front, wcslen(front) * sizeof *full);
    }
    free(wide);
    return full;
}

bool ox_windows_utf8(const wchar_t *path, char *text, size_t size) {
    const bool is_share = !wcsncmp(path, share_mark, 8);
    path += is_share ? 6 : wcsncmp(path, mark, 4) ? 0 : 4;
    const int most = size < INT_MAX ? (int)size : INT_MAX;
    if (!WideCharToMultiByte(CP_UTF8, 0, path, -1, text, most, NULL, NULL))
        return false;
    if (is_share) /* of "\\?\UNC\server" there is "C\server" */
        text[0] = '\\';
    return true;
}
#endif
