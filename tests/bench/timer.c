/* timer.c: runs a session many times in a tight loop and says how long that took, because a call from Python costs more
 * than a small model. The library's function comes as a pointer, so that the library Python has loaded is the one that
 * is measured. A contender from another shared library is timed the same way. */
#include "ox.h"

#include <time.h>

typedef ox_status run_fn(ox_session *session, ox_error *error);
typedef int peer_fn(void *peer);

OX_API int64_t bench_session(run_fn *run, ox_session *session, int64_t count, ox_error *error);
OX_API int64_t bench_peer(peer_fn *run, void *peer, int64_t count);

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds that `count` runs took, -1 if one of them failed. */
int64_t bench_session(run_fn *run, ox_session *session, int64_t count, ox_error *error) {
    int64_t start = now();
    for (int64_t i = 0; i < count; i++)
        if (run(session, error))
            return -1;
    return now() - start;
}

/* The same for a peer, whose run function returns 0 for success. */
int64_t bench_peer(peer_fn *run, void *peer, int64_t count) {
    int64_t start = now();
    for (int64_t i = 0; i < count; i++)
        if (run(peer))
            return -1;
    return now() - start;
}
