/* main.c: goes over the families, each in a process of its own, so that one that ends by a signal is counted and the
 * others follow.
 * usage: scopes [--rounds N] [--every N] [--threads N] [--family NAME] [--only INDEX [--round N]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scopes.h"

static const scope_family families[] = {
    {"products", "MatMul and FusedMatMul, elementwise nodes behind", scope_products},
    {"gemms", "Gemm, the same", scope_gemms},
    {"convs", "Conv by every algorithm, the same", scope_convs},
    {"givers", "operators of all other kinds, the same", scope_givers},
    {"blocks", "weights of 2, 4 and 8 bits in blocks, in each build of the loops", scope_blocks},
    {"quantized", "sums of bytes that become bytes, in each build of the loops", scope_quantized},
    {"rows", "elementwise nodes and reductions in a pass", scope_rows},
    {"moves", "views and copies of floats of all bits", scope_moves},
    {"stages", "passes that read what was there before shapes were known", scope_stages},
    {"parts", "values that are computed where Concat puts them", scope_parts},
};

enum {
    FAMILIES = sizeof families / sizeof *families,
    SIGNALS = 1000 /* of a family, before it is given up */
};

typedef struct arguments {
    int64_t rounds, every, threads, only, round;
    const char *family;
} arguments;

/* Time of a processor that the processes of families took. */
static double seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* The builds that a session takes by name. */
static void find_builds(scope *s) {
    static const char *const names[] = {"base", "v3", "v4", "neon_dot", "neon_i8mm"};
    static scope_counts counts;
    static scope trying = {.counts = &counts};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (scope_has_build(&trying, names[i]))
            s->isa[s->nisa++] = names[i];
}

/* A family from behind graph `after` on, in a process of its own, where the system has such. Returns how that ended. */
static int run_apart(const scope_family *family, scope *s) {
    fflush(stdout);
#ifdef SCOPES_TOGETHER
    family->run(s);
    return 0;
#else
    const pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (!child) {
        family->run(s);
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
#endif
}

/* Writes the graph at which a process ended. */
static void tell_end(const scope_family *family, const scope *s, int status) {
    scope telling = *s;
    telling.only = s->counts->index;
    telling.after = 0;
    telling.tell = true;
    if (WIFSIGNALED(status))
        printf("signal %d at ", WTERMSIG(status));
    else
        printf("status %d at ", WEXITSTATUS(status));
    family->run(&telling);
}

static void run_round(const scope_family *family, scope *s) {
    s->after = 0;
    for (int signals = 0; signals < SIGNALS; signals++) {
        const int status = run_apart(family, s);
        if (!status)
            return;
        s->counts->failed++, s->counts->ended++;
        if (signals < 10)
            tell_end(family, s, status);
        s->after = s->counts->index;
    }
    printf("%s: given up after %d signals\n", family->name, SIGNALS);
}

static void run_family(const scope_family *family, const arguments *a, scope_counts *counts) {
    scope s = {.counts = counts,
               .family = family->name,
               .every = a->every,
               .only = a->only,
               .round = a->round,
               .threads = (int)a->threads};
    const scope_counts before = *counts;
    const double start = seconds();
    counts->told = 0;
    find_builds(&s);
    for (int64_t round = 0; round < a->rounds; round++, s.round++)
        run_round(family, &s);
    const double took = seconds() - start;
    const int64_t graphs = counts->graphs - before.graphs;
    printf("%-12s %8lld graphs, %lld failed (%lld with their process), %.1f s of a processor, %.0f a second (%s)\n",
           family->name, (long long)graphs, (long long)(counts->failed - before.failed),
           (long long)(counts->ended - before.ended), took, (double)graphs / took, family->what);
}

static int usage(void) {
    fprintf(stderr,
            "usage: scopes [--rounds N] [--every N] [--threads N] [--family NAME] [--only INDEX [--round N]]\n");
    return 2;
}

static bool read_arguments(int argc, char **argv, arguments *a) {
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {{"--rounds", &a->rounds},
                   {"--every", &a->every},
                   {"--threads", &a->threads},
                   {"--only", &a->only},
                   {"--round", &a->round}};
    for (int i = 1; i < argc; i += 2) {
        bool known = i + 1 < argc && !strcmp(argv[i], "--family");
        if (known)
            a->family = argv[i + 1];
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers && i + 1 < argc; k++)
            if (!strcmp(argv[i], numbers[k].name)) {
                *numbers[k].number = atoll(argv[i + 1]);
                known = true;
            }
        if (!known)
            return false;
    }
    return a->rounds > 0 && a->every > 0 && a->threads > 0;
}

int main(int argc, char **argv) {
    arguments a = {.rounds = 1, .every = 1, .threads = 2};
    if (!read_arguments(argc, argv, &a))
        return usage();
    scope_counts *counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        return 2;
    const double start = seconds();
    for (int i = 0; i < FAMILIES; i++)
        if (!a.family || !strcmp(a.family, families[i].name))
            run_family(&families[i], &a, counts);
    const bool is_whole = a.every == 1 && !a.only && !a.family;
    counts->failed += scope_tell_algorithms(counts, is_whole);
    printf("%lld graphs in %lld sessions, %lld of them beside an evaluation, %.1f s of a processor\n",
           (long long)counts->graphs, (long long)counts->sessions, (long long)counts->referenced, seconds() - start);
    printf("%lld passed, %lld failed, 0 skipped\n", (long long)(counts->graphs - counts->failed),
           (long long)counts->failed);
    return counts->failed != 0;
}
