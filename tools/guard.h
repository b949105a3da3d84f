/* guard.h: unfinished files, and signals that end the command. */
#ifndef OX_GUARD_H
#define OX_GUARD_H

#include <stdbool.h>
#include <stdio.h>

/* From now on, a signal that ends the command (Ctrl-C, a closed terminal) prints a message and removes unfinished
 * files. A closed pipe and a file that grows too large are write errors, which are reported like a full disk. */
void ox_guard_start(void);

/* ox_system_create; the file is unfinished, and `path` must stay, until it is forgotten. */
FILE *ox_guard_create(char *path);

/* The file has its name, or is gone. Any other path, or NULL, is allowed. */
void ox_guard_forget(const char *path);

/* Around the drawing of a line of progress, in a thread that no signal ends: a message of an end takes the line away,
 * and waits until it is drawn. False if the command ends: then nothing may be drawn any more. */
bool ox_guard_draw(void);
void ox_guard_drawn(void);

/* The line is no longer on the terminal. */
void ox_guard_no_line(void);

/* Ends the process silently, as the signal SIGPIPE does, if standard output is a pipe whose reader is gone. Call it
 * after a write to it failed. */
void ox_guard_pipe(void);

#endif
