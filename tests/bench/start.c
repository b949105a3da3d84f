/* start.c: start COUNT COMMAND [ARG]...   prints the median time of whole processes, from fork to exit, in nanoseconds
 * and the most memory that one held, in bytes. A small program, since a child starts with its parent's peak memory. */
#include "clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_RUNS = 1000
};

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void child(char **command) {
    int sink = open("/dev/null", O_WRONLY);
    if (sink < 0 || dup2(sink, STDOUT_FILENO) < 0)
        _exit(127);
    execv(command[0], command);
    _exit(127);
}

/* Nanoseconds that one run took, -1 if it failed. */
static int64_t run_once(char **command) {
    int64_t start = now();
    int status;
    pid_t pid = fork();
    if (pid == 0)
        child(command);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return -1;
    return now() - start;
}

int main(int argc, char **argv) {
    static int64_t times[MAX_RUNS];
    int count = argc > 2 ? atoi(argv[1]) : 0;
    struct rusage usage;
    if (count < 1 || count > MAX_RUNS) {
        fprintf(stderr, "usage: start COUNT COMMAND [ARG]..., with a count of 1 to %d\n", MAX_RUNS);
        return 2;
    }
    for (int i = 0; i < count; i++)
        if ((times[i] = run_once(argv + 2)) < 0) {
            fprintf(stderr, "start: %s failed\n", argv[2]);
            return 1;
        }
    qsort(times, (size_t)count, sizeof *times, ascending);
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%lld %lld\n", (long long)times[count / 2], (long long)usage.ru_maxrss * 1024);
    return 0;
}
