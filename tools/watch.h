/* watch.h: what the command is doing, on a line of the terminal. */
#ifndef OX_WATCH_H
#define OX_WATCH_H

#include "system.h"
#include "tool.h"

/* Starts zeroed. A thread of its own draws the line, so that it moves while a node takes long. */
typedef struct ox_watch {
    ox_helper *helper; /* NULL where standard error is no terminal; its lock is that of what follows */
    bool ended, drawn;
    uint64_t start;
    const char *what; /* "loading" */
    uint64_t turn, turns;
    size_t done, total;   /* nodes of the main graph, once a run has begun */
    ox_profile_node node; /* of any graph */
} ox_watch;

/* After a second, a line on standard error says what is done; nothing where that is no terminal. `what` must stay. */
void ox_watch_start(ox_watch *watch, const char *what);

/* What is done now. */
void ox_watch_say(ox_watch *watch, const char *what);

/* Which run it is, of how many. */
void ox_watch_turn(ox_watch *watch, uint64_t turn, uint64_t turns);

/* Tells the watch of the session's nodes, until it is called with on == false. */
void ox_watch_session(ox_watch *watch, ox_session *session, bool on);

/* Takes the line away for a message, until ox_watch_go_on. */
void ox_watch_hold(ox_watch *watch);
void ox_watch_go_on(ox_watch *watch);

/* Takes the line away. It may be called again. */
void ox_watch_stop(ox_watch *watch);

#endif
