/* system.h: the functions that the command needs from an operating system, in addition to the library's (src/host.h).
 * tools/host implements them, one file for each kind of system. Paths and names are UTF-8 on systems that define their
 * encoding. No other file in tools includes a system header. */
#ifndef OX_TOOLS_SYSTEM_H
#define OX_TOOLS_SYSTEM_H

#include <stdio.h>

#include "ox.h"

/* The arguments of main as UTF-8, in place of those that it has; standard streams take and give bytes as they are. */
char **ox_system_start(char **arguments);

/* Whether it stands between the names of a path. */
bool ox_system_separates(char c);

/* ---- Files: functions that fail leave why in errno -------------------------------------------------------------- */

typedef struct ox_file_info {
    bool is_file, is_folder, is_pipe;
    uint64_t size;           /* of a file */
    uint64_t device, number; /* which file it is; two zeros where the system does not say */
} ox_file_info;

bool ox_system_look(const char *path, ox_file_info *info);
bool ox_system_look_at_stream(FILE *stream, ox_file_info *info);
FILE *ox_system_open(const char *path, const char *mode);
bool ox_system_make_folder(const char *path);

/* An ordinary file that is new, open for writing: `path` ends with XXXXXX, in place of which it gets other letters. */
FILE *ox_system_create(char *path);

/* A file of the other name is replaced. */
bool ox_system_rename(const char *from, const char *to);
bool ox_system_remove(const char *path);

/* Calls `add` with each name of a folder, in any order; nothing where there is no such folder. */
void ox_system_list(const char *folder, void (*add)(void *context, const char *name), void *context);

/* Where this program lies; false if that is not known. */
bool ox_system_own_path(char *path, size_t size);

/* ---- Terminals -------------------------------------------------------------------------------------------------- */

bool ox_system_is_terminal(FILE *stream);

/* Columns of the terminal at standard error. */
int ox_system_terminal_width(void);

/* ---- Processes and threads -------------------------------------------------------------------------------------- */

/* Calls fn in a child process, on systems that have them, and returns the bytes of its result, few enough for a pipe.
 * False on failure, or if fn returns false. */
bool ox_system_apart(bool (*fn)(void *result), void *result, size_t size);

/* A second thread of the command, and a lock that both take. */
typedef struct ox_helper ox_helper;

/* NULL where no thread can be started. No signal comes to it. */
ox_helper *ox_helper_start(void (*work)(ox_helper *helper, void *context), void *context);
void ox_helper_lock(ox_helper *helper);
void ox_helper_unlock(ox_helper *helper);

/* Releases the lock until ox_tool_now() reaches that time, or the helper is woken, or earlier. */
void ox_helper_wait(ox_helper *helper, uint64_t time);
void ox_helper_wake(ox_helper *helper);

/* Waits until its work ends; frees it. */
void ox_helper_end(ox_helper *helper);

/* Calls fn in each process that is forked from this one. */
void ox_system_on_fork(void (*fn)(void));

/* Milliseconds of a clock that only goes forward, which may be some late but take no time to ask for. */
int64_t ox_system_milliseconds(void);

/* ---- Memory, and code from files -------------------------------------------------------------------------------- */

/* Asks for large pages where the block has room for them. */
void ox_system_large_pages(void *block, size_t size);

/* How names of shared libraries end. */
extern const char ox_library_ending[];

/* Opens a shared library; NULL on failure, with the reason as a text, which the next call overwrites. The library stays
 * in memory after ox_library_close. */
void *ox_library_open(const char *path, const char **reason);

/* Lets libraries that are opened later find what the library at path has; false as above. */
bool ox_library_show(const char *path, const char **reason);

/* NULL if there is none of that name. */
void *ox_library_find(void *library, const char *name);
void ox_library_close(void *library);

#endif
