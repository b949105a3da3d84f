/* torture.c: damages every model given, many times, and tries to load and run it within a second and 256 MB.
 *
 *     torture [-j WORKERS] [-f FLIPS] [-t TRUNCATIONS] PATH...     all tries; prints counts and findings
 *     torture [-f FLIPS] -n NUMBER [-w FILE] PATH                  one try again; writes the damaged model to FILE
 *
 * Try 0 is the model as it is, which has to run unless ox lacks an operator or a type of it; over all models, some have
 * to run.
 *
 * Workers are processes, each with a share of the models. When one dies, from a sanitizer, a signal or the watchdog,
 * the try that it was at is a finding, and another one goes on behind it. Exit status 1 if anything was found. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

enum {
    MOST_WORKERS = 64
};

/* What a worker and its successors have done; in memory that they share with the parent. */
typedef struct progress {
    int at;          /* index of the model */
    unsigned number; /* of the try that is under way */
    unsigned long outcomes[OUTCOMES];
    unsigned long whole; /* models that ran as they are */
    unsigned long findings;
    size_t peak;
} progress;

typedef struct job {
    unsigned flips, truncations;
    int workers, count;
    char **paths;
} job;

/* Seconds of processor time, then SIGPROF ends the process. A whole model runs with the self-check, which computes each
 * step up to four times, mostly by plain loops. */
enum {
    DAMAGED_SECONDS = 1,
    WHOLE_SECONDS = 10
};

static int seconds_for(unsigned number) {
    return number == 0 ? WHOLE_SECONDS : DAMAGED_SECONDS;
}

/* 0 seconds: no end. */
static void watch(int seconds) {
    const struct itimerval timer = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static void report(const job *j, const char *path, unsigned number, const char *what) {
    printf("FOUND %s: %s\n  again: torture -f %u -n %u %s\n", path, what, j->flips, number, path);
    fflush(stdout);
}

static void try_once(const job *j, const subject *s, unsigned number, attempt *a) {
    size_t size;
    unsigned char *bytes = subject_damage(s, number, j->flips, &size);
    watch(seconds_for(number));
    attempt_run(s, bytes, size, number == 0, a);
    watch(0);
    if (number == 0)
        a->fault = attempt_fault_of_whole(a);
    free(bytes);
}

static void torture_model(const job *j, const char *path, progress *p) {
    subject s;
    attempt a;
    if (!subject_read(&s, path)) {
        p->findings++;
        return;
    }
    for (; p->number < j->flips + j->truncations; p->number++) {
        try_once(j, &s, p->number, &a);
        p->outcomes[a.outcome]++;
        p->whole += p->number == 0 && a.outcome == OUTCOME_RAN;
        p->peak = a.peak > p->peak ? a.peak : p->peak;
        if (a.fault) {
            report(j, path, p->number, a.fault);
            p->findings++;
        }
    }
    subject_free(&s);
}

static void work(const job *j, progress *p) {
    for (; p->at < j->count; p->at += j->workers) {
        torture_model(j, j->paths[p->at], p);
        p->number = 0;
    }
}

static pid_t start(const job *j, progress *p) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work(j, p);
        fflush(stdout);
        _exit(0);
    }
    return child;
}

/* Counts the death of a worker as a finding, and moves on behind it. */
static void count_death(const job *j, progress *p, int status) {
    char what[64] = "a sanitizer's report, above";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        snprintf(what, sizeof what, "takes more than %d s of a processor", seconds_for(p->number));
    else if (WIFSIGNALED(status))
        snprintf(what, sizeof what, "ends by signal %d", WTERMSIG(status));
    report(j, j->paths[p->at], p->number, what);
    p->findings++;
    p->number++;
}

static bool run_workers(const job *j, progress *all) {
    pid_t children[MOST_WORKERS];
    int alive = 0;
    for (int w = 0; w < j->workers; w++, alive++) {
        all[w].at = w;
        children[w] = start(j, &all[w]);
        if (children[w] < 0)
            return false;
    }
    while (alive) {
        int status, w = 0;
        pid_t ended = wait(&status);
        while (w < j->workers && children[w] != ended)
            w++;
        if (w == j->workers)
            return false;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            alive--;
            continue;
        }
        count_death(j, &all[w], status);
        children[w] = start(j, &all[w]);
    }
    return true;
}

static int torture(const job *j) {
    progress *all = mmap(NULL, sizeof *all * MOST_WORKERS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || !run_workers(j, all)) {
        perror("torture");
        return 1;
    }
    progress sum = {0};
    for (int w = 0; w < j->workers; w++) {
        for (int o = 0; o < OUTCOMES; o++)
            sum.outcomes[o] += all[w].outcomes[o];
        sum.findings += all[w].findings;
        sum.whole += all[w].whole;
        sum.peak = all[w].peak > sum.peak ? all[w].peak : sum.peak;
    }
    if (sum.whole * 4 < (unsigned long)j->count) {
        printf("FOUND that only %lu of %d whole models run\n", sum.whole, j->count);
        sum.findings++;
    }
    unsigned long tries = sum.outcomes[OUTCOME_RAN] + sum.outcomes[OUTCOME_REFUSED] + sum.outcomes[OUTCOME_FAILED];
    printf("%d models, %u changes and %u truncations each: %lu not loaded, %lu not run, %lu run; at most %zu KB\n",
           j->count, j->flips, j->truncations, sum.outcomes[OUTCOME_REFUSED], sum.outcomes[OUTCOME_FAILED],
           sum.outcomes[OUTCOME_RAN], sum.peak >> 10);
    printf("%lu passed, %lu failed, 0 skipped\n", tries, sum.findings);
    return sum.findings != 0;
}

static int repeat(const job *j, unsigned number, const char *target) {
    static const char *const names[] = {"ran", "not loaded", "not run"};
    subject s;
    attempt a;
    size_t size;
    if (!subject_read(&s, j->paths[0]))
        return 1;
    if (target) {
        unsigned char *bytes = subject_damage(&s, number, j->flips, &size);
        FILE *file = fopen(target, "wb");
        bool written = file && fwrite(bytes, 1, size, file) == size;
        if (!file || fclose(file) || !written)
            perror(target);
        free(bytes);
    }
    try_once(j, &s, number, &a);
    printf("%s; %zu KB; %s\n%s\n", names[a.outcome], a.peak >> 10, a.fault ? a.fault : "no finding", a.error.text);
    subject_free(&s);
    return a.fault != NULL;
}

int main(int argc, char **argv) {
    job j = {.flips = 200, .truncations = 50, .workers = 2};
    long number = -1;
    const char *target = NULL;
    int option;
    while ((option = getopt(argc, argv, "j:f:t:n:w:")) != -1) {
        if (option == 'j')
            j.workers = atoi(optarg);
        else if (option == 'f')
            j.flips = (unsigned)atoi(optarg);
        else if (option == 't')
            j.truncations = (unsigned)atoi(optarg);
        else if (option == 'n')
            number = atol(optarg);
        else if (option == 'w')
            target = optarg;
        else
            return 2;
    }
    j.paths = argv + optind;
    j.count = argc - optind;
    if (j.count < 1 || j.workers < 1 || j.workers > MOST_WORKERS) {
        fputs("usage: torture [-j WORKERS] [-f FLIPS] [-t TRUNCATIONS] [-n NUMBER [-w FILE]] PATH...\n", stderr);
        return 2;
    }
    return number >= 0 ? repeat(&j, (unsigned)number, target) : torture(&j);
}
