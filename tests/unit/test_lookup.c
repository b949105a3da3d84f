/* test_lookup.c: tables of one byte, by the loops of each build. */
#include "src/loops/lookup_loops.h"
#include "builds.h"

#include <check.h>

enum {
    MOST = 200
};

/* Of all lengths, from every place in a vector, and in place; what lies behind stays. */
START_TEST(every_build_gives_the_entry_of_each_byte) {
    char table[256], from[MOST + 64], to[MOST + 64];
    for (int i = 0; i < 256; i++)
        table[i] = (char)(i * 167 + 13);
    for (int b = 0; b < BUILDS; b++) {
        ox_lookup_fn *lookup = OX_BUILD_OF(ox_loops_find(builds[b]), ox_lookup_builds)(_i != 0);
        for (int n = 0; n <= MOST; n++)
            for (int turn = 0; turn < 2; turn++) {
                char *out = turn ? from + n % 7 : to + n % 5;
                for (int i = 0; i < MOST + 64; i++)
                    from[i] = (char)(i * 97 + n), to[i] = 1;
                out[n] = 1;
                lookup(table, n, from + n % 7, out);
                for (int i = 0; i < n; i++)
                    ck_assert_int_eq(out[i], table[(unsigned char)((i + n % 7) * 97 + n)]);
                ck_assert_int_eq(out[n], 1);
            }
    }
}
END_TEST

Suite *ox_suite_lookup(void);
Suite *ox_suite_lookup(void) {
    Suite *suite = suite_create("lookup");
    TCase *tables = tcase_create("tables");
    tcase_add_loop_test(tables, every_build_gives_the_entry_of_each_byte, 0, 2);
    suite_add_tcase(suite, tables);
    return suite;
}
