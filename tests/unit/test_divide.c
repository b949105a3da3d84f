/* test_divide.c: division and remainders against C's, where that has a result. */
#include "src/loops/lanes.h"
#include "builds.h"
#include "expect.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    BLOCK = 1 << 12
};

static int run(const ox_loops *loops, ox_lane_set set, ox_dtype dtype, int64_t n, const void *a, const void *b,
               void *q) {
    char *arg[] = {q, (char *)(uintptr_t)a, (char *)(uintptr_t)b};
    const int64_t size = (int64_t)ox_dtype_size(dtype), step[] = {size, size, size};
    return OX_BUILD_OF(loops, set)->fn[dtype](n, arg, step, NULL);
}

/* Numbers of all magnitudes, among them those next to multiples of each other. */
static uint64_t number(uint64_t i) {
    uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 29;
    return mixed >> (mixed % 64);
}

/* Dividends on both sides of multiples of the divisor, for divisors of all magnitudes; W holds all values of T, and
 * `least` is 0 if they have no sign. A division by -1 negates, which wraps. */
#define CHECK(T, W, dtype, least)                                                                                      \
    static void check_##T(const ox_loops *loops) {                                                                     \
        static T a[BLOCK], b[BLOCK], q[BLOCK], r[BLOCK], m[BLOCK];                                                     \
        for (uint64_t round = 0; round < 64; round++) {                                                                \
            for (uint64_t i = 0; i < BLOCK; i++) {                                                                     \
                const uint64_t k = round * BLOCK + i, divisor = k % 2 ? number(k) : 0 - number(k);                     \
                b[i] = (T)divisor == 0 ? (T)-1 : (T)divisor;                                                           \
                a[i] = (T)(number(k * 3) * divisor + k % 3 - 1);                                                       \
                if (k % 5 == 0)                                                                                        \
                    a[i] = (T)((uint64_t)(least)-k % 2);                                                               \
            }                                                                                                          \
            ck_assert_int_eq(run(loops, OX_LANES_Div, dtype, BLOCK, a, b, q), 0);                                      \
            ck_assert_int_eq(run(loops, OX_LANES_Fmod, dtype, BLOCK, a, b, r), 0);                                     \
            ck_assert_int_eq(run(loops, OX_LANES_Mod, dtype, BLOCK, a, b, m), 0);                                      \
            for (int i = 0; i < BLOCK; i++) {                                                                          \
                const W x = a[i], y = b[i];                                                                            \
                const bool is_signed = (least) != 0, negates = is_signed && y == (W)-1;                                \
                const W quotient = negates ? (W)(0 - (uint64_t)x) : x / y, left = negates ? 0 : x % y;                 \
                const W floored = is_signed && left && (int64_t)(left ^ y) < 0 ? left + y : left;                      \
                expect(q[i] == (T)quotient && r[i] == (T)left && m[i] == (T)floored, "%s, " #T ": %lld / %lld",        \
                       loops->name, (long long)x, (long long)y);                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
CHECK(int8_t, int64_t, OX_INT8, INT8_MIN)
CHECK(int16_t, int64_t, OX_INT16, INT16_MIN)
CHECK(int32_t, int64_t, OX_INT32, INT32_MIN)
CHECK(int64_t, int64_t, OX_INT64, INT64_MIN)
CHECK(uint8_t, int64_t, OX_UINT8, 0)
CHECK(uint16_t, int64_t, OX_UINT16, 0)
CHECK(uint32_t, int64_t, OX_UINT32, 0)
CHECK(uint64_t, uint64_t, OX_UINT64, 0)

START_TEST(as_in_c) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    check_int8_t(loops);
    check_int16_t(loops);
    check_int32_t(loops);
    check_int64_t(loops);
    check_uint8_t(loops);
    check_uint16_t(loops);
    check_uint32_t(loops);
    check_uint64_t(loops);
}
END_TEST

START_TEST(a_zero_is_found_at_every_place) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    int32_t a[40] = {0}, b[40], q[40];
    for (int zero = 0; zero < 40; zero++) {
        for (int i = 0; i < 40; i++)
            b[i] = i == zero ? 0 : i - 50;
        ck_assert_int_eq(run(loops, OX_LANES_Div, OX_INT32, 40, a, b, q), OX_FAULT_DIVISOR);
        ck_assert_int_eq(run(loops, OX_LANES_Mod, OX_INT32, zero, a, b, q), 0);
    }
}
END_TEST

/* ---- Floats by one divisor -------------------------------------------------------------------------------------- */

static float float_of(uint64_t bits) {
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static uint64_t inverse(uint64_t odd) {
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

/* Fills in all floats a (with 24 bits before the point, as those of b) with |2^k a - m b| < 16 for an odd m: there are
 * at most four for each difference. Their quotients by b lie close to the middle of two floats. Returns their number.
 */
static int close_ones(uint64_t b, float *a) {
    const int even = __builtin_ctzll(b), count[] = {24 - even, 25 - even};
    int found = 0;
    for (int64_t differs = -15; even == 0 && differs < 16; differs += 2)
        for (int c = 0; c < 2; c++) {
            const uint64_t below = (uint64_t)1 << count[c];
            uint64_t m = ((uint64_t)-differs * inverse(b)) & (below - 1);
            for (m += m >> 24 ? 0 : below; m >> 24 == 1; m += below)
                a[found++] = (float)((m * b + (uint64_t)differs) >> count[c]);
        }
    return found;
}

/* Usual numbers with zeros of both signs, or all that there are. */
static float dividend(uint64_t k, bool usual) {
    if (usual)
        return float_of(k % 97 ? (number(k) & 0x807fffff) | (uint64_t)(0x3f + k % 0x80) << 23 : k << 31);
    return k % 5 ? float_of(number(k)) : k % 2 ? INFINITY : NAN;
}

/* The same bits, or NaN. */
static void check_float(const ox_loops *loops, const char *op, float a, float b, float is, float right) {
    if (isnan(right) ? !isnan(is) : memcmp(&is, &right, sizeof right))
        ck_abort_msg("%s: %s of %a and %a is %a", loops->name, op, (double)a, (double)b, (double)is);
}

START_TEST(floats_by_one_divisor) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    static float a[BLOCK], q[BLOCK];
    for (uint64_t round = 0; round < 30000; round++) {
        const uint64_t mantissa = 0x800000 | (round % 4 ? number(round * 7) : round % 8 ? round / 4 : ~(round / 4));
        const uint64_t exponent = round % 10 ? 0x96 : round / 10;
        const float b = float_of((mantissa & 0x7fffff) | exponent << 23);
        int n = exponent == 0x96 ? close_ones(mantissa & 0xffffff, a) : 0;
        for (int more = 40 + (int)(round % 40); more; more--, n++)
            a[n] = dividend(round * BLOCK + (uint64_t)n, round % 16 != 5);
        char *arg[] = {(char *)q, (char *)a, (char *)(uintptr_t)&b};
        const int64_t step[] = {sizeof *q, sizeof *a, 0};
        ck_assert_int_eq(OX_BUILD_OF(loops, OX_LANES_Div)->fn[OX_FLOAT](n, arg, step, NULL), 0);
        for (int i = 0; i < n; i++)
            check_float(loops, "Div", a[i], b, q[i], a[i] / b);
    }
}
END_TEST

/* ---- Remainders of floats --------------------------------------------------------------------------------------- */

/* Dividends next to multiples of the divisor, up to the quotient that C's function is left to and beyond; all floats.
 */
START_TEST(remainders_of_floats) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    static float a[BLOCK], b[BLOCK], r[BLOCK], m[BLOCK];
    for (uint64_t round = 0; round < 200; round++) {
        const bool all = round % 4 == 3;
        for (uint64_t i = 0; i < BLOCK; i++) {
            const uint64_t k = round * BLOCK + i;
            const float divisor = float_of((number(k * 5) & 0x807fffff) | (uint64_t)(0x3f + k % 0x40) << 23);
            const float multiple = (float)(number(k * 3) % (round % 4 == 2 ? 1u << 30 : 1u << 24)) * divisor;
            b[i] = all ? float_of(number(k * 7)) : divisor;
            a[i] = all ? dividend(k, false) : k % 3 ? nextafterf(multiple, k % 3 == 1 ? 0 : INFINITY) : multiple;
        }
        ck_assert_int_eq(run(loops, OX_LANES_Fmod, OX_FLOAT, BLOCK, a, b, r), 0);
        ck_assert_int_eq(run(loops, OX_LANES_Mod, OX_FLOAT, BLOCK, a, b, m), 0);
        for (int i = 0; i < BLOCK; i++) {
            const float right = fmodf(a[i], b[i]);
            const float floored = right == 0 ? copysignf(0, b[i]) : (right < 0) != (b[i] < 0) ? right + b[i] : right;
            check_float(loops, "Mod with fmod=1", a[i], b[i], r[i], right);
            check_float(loops, "Mod", a[i], b[i], m[i], floored);
        }
    }
}
END_TEST

Suite *ox_suite_divide(void);
Suite *ox_suite_divide(void) {
    Suite *suite = suite_create("divide");
    TCase *tests = tcase_create("divide");
    tcase_add_loop_test(tests, as_in_c, 0, BUILDS);
    tcase_add_loop_test(tests, a_zero_is_found_at_every_place, 0, BUILDS);
    tcase_add_loop_test(tests, floats_by_one_divisor, 0, BUILDS);
    tcase_add_loop_test(tests, remainders_of_floats, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
