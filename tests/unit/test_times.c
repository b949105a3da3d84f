/* test_times.c: what lives at the same time as something else, beside comparing all with each other. */
#include "plan/times.h"

#include <check.h>

#include "alloc.h"
#include "meter.h"

enum {
    MOST_STEPS = 9,
    MOST_LIVES = (MOST_STEPS + 2) * (MOST_STEPS + 3) / 2,
    FIRST = 3
};

typedef struct life {
    int born, dies;
} life;

/* All lives within so many steps, and those that begin a step before or end a step behind. */
static size_t list_lives(int first, int end, life *lives) {
    size_t count = 0;
    for (int born = first - 1; born < end; born++)
        for (int dies = born > first ? born : first; dies <= end; dies++)
            lives[count++] = (life){born, dies};
    return count;
}

static void check_found(const ox_times *times, const life *lives, size_t count, size_t n) {
    size_t found[MOST_LIVES];
    bool seen[MOST_LIVES] = {false};
    const size_t nfound = ox_times_find(times, lives[n].born, lives[n].dies, found);
    ck_assert_uint_le(nfound, count);
    for (size_t i = 0; i < nfound; i++) {
        ck_assert_uint_lt(found[i], count);
        ck_assert_msg(!seen[found[i]], "%zu is found twice", found[i]);
        seen[found[i]] = true;
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(seen[i] == (lives[i].born <= lives[n].dies && lives[n].born <= lives[i].dies),
                      "[%d, %d] and [%d, %d]", lives[n].born, lives[n].dies, lives[i].born, lives[i].dies);
}

/* Each life is asked for when all before it are there. */
START_TEST(every_pair) {
    life lives[MOST_LIVES];
    for (int steps = 1; steps <= MOST_STEPS; steps++) {
        const size_t all = list_lives(FIRST, FIRST + steps, lives);
        ox_pile pile;
        ox_times times;
        ck_assert_uint_le(all, MOST_LIVES);
        ox_pile_init(&pile, ox_default_allocator());
        ck_assert(ox_times_begin(&times, &pile, FIRST, FIRST + steps));
        for (size_t count = 0; count < all; count++) {
            for (size_t n = 0; n < all; n++)
                check_found(&times, lives, count, n);
            ck_assert(ox_times_add(&times, lives[count].born, lives[count].dies, count));
        }
        ox_pile_free(&pile);
    }
}
END_TEST

Suite *ox_suite_times(void);
Suite *ox_suite_times(void) {
    Suite *suite = suite_create("times");
    TCase *tests = tcase_create("times");
    tcase_add_test(tests, every_pair);
    suite_add_tcase(suite, tests);
    return suite;
}
