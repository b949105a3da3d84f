/* expect.h: an assertion for what is asked millions of times: ck_assert_msg writes to check's pipe each time that it
 * holds. */
#ifndef OX_TEST_EXPECT_H
#define OX_TEST_EXPECT_H

#include <check.h>

#define expect(condition, ...)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
    } while (0)

#endif
