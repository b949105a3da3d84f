/* fft.c: Fourier transforms. A length that is a product of small primes takes a stage for each prime, in Stockham's
 * order, which needs no reversal of bits. Other lengths become a convolution of such a length (Bluestein's
 * algorithm). */
#include "fft.h"

#include <math.h>
#include <string.h>

#include "pool.h"

enum {
    LARGEST_FACTOR = 13, /* longer sums cost more than a convolution */
    MOST_BITS = 40,      /* of a length */
    POLL = 4096          /* entries of a table between two questions */
};

static const double pi = 3.14159265358979323846;

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* exp(-2 pi i k / n), from an angle of at most pi / 4, so that it is as exact as can be: quarters have parts of 0 and
 * 1, and eighths two equal ones. */
static void turn_at(uint64_t k, uint64_t n, double *to) {
    const uint64_t octant = 8 * k / n, low = octant / 2 + octant % 2; /* the nearest quarter */
    const double angle = 2 * pi * ((double)(4 * k) - (double)(low * n)) / (4 * (double)n);
    const bool eighth = octant % 2 && 8 * k % n == 0; /* the angle is -pi / 4 */
    const double c = eighth ? sqrt(0.5) : cos(angle), s = eighth ? -c : sin(angle);
    const double re[] = {c, -s, -c, s}, im[] = {-s, -c, s, c};
    to[0] = re[low % 4];
    to[1] = im[low % 4];
}

static double *table_of(ox_call *call, int64_t count) {
    double *table = ox_pile_array(call->pile, (size_t)count, 2 * sizeof *table);
    if (!table)
        ox_fail_memory(call->error, "a table of a Fourier transform", (size_t)count * 2 * sizeof *table);
    return table;
}

/* Splits n into factors; false if a large one is left. */
static bool split(int64_t n, ox_fft_stages *stages) {
    stages->n = n;
    stages->count = 0;
    for (; n % 4 == 0; n /= 4)
        stages->factor[stages->count++] = 4;
    for (int p = 2; p <= LARGEST_FACTOR; p++)
        for (; n % p == 0; n /= p)
            stages->factor[stages->count++] = p;
    return n == 1;
}

static ox_status plan_stages(ox_call *call, ox_fft_stages *stages) {
    stages->turn = table_of(call, stages->n);
    if (!stages->turn)
        return OX_ERROR_MEMORY;
    for (int64_t k = 0; k < stages->n && (k % POLL || !ox_pool_poll(call->pool)); k++)
        turn_at((uint64_t)k, (uint64_t)stages->n, stages->turn + 2 * k);
    return OX_OK;
}

static ox_fft_lines run_stages(const ox_fft_stages *stages, int64_t lines, ox_fft_lines x, ox_fft_lines y);

/* The squares of k modulo 2n grow by odd numbers. */
static void fill_chirp(ox_fft *fft) {
    uint64_t square = 0, period = 2 * (uint64_t)fft->n;
    for (int64_t k = 0; k < fft->n; k++) {
        turn_at(square, period, fft->chirp + 2 * k);
        square = (square + 2 * (uint64_t)k + 1) % period;
    }
}

/* The conjugate chirp, forwards and backwards, transformed and scaled for the way back. */
static ox_status fill_kernel(ox_call *call, ox_fft *fft) {
    const int64_t m = fft->stages.n;
    const ox_pile_mark mark = ox_pile_save(call->pile);
    double *room = ox_pile_array(call->pile, (size_t)m, 4 * sizeof *room);
    if (!room)
        return ox_fail_memory(call->error, "a Fourier transform", (size_t)m * 4 * sizeof *room);
    ox_fft_lines x = {room, room + m}, y = {room + 2 * m, room + 3 * m};
    for (int64_t k = 0; k < fft->n; k++) {
        const int64_t mirror = k ? m - k : 0;
        x.re[k] = x.re[mirror] = fft->chirp[2 * k];
        x.im[k] = x.im[mirror] = -fft->chirp[2 * k + 1];
    }
    x = run_stages(&fft->stages, 1, x, y);
    for (int64_t k = 0; k < m; k++) {
        fft->kernel[2 * k] = x.re[k] / (double)m;
        fft->kernel[2 * k + 1] = x.im[k] / (double)m;
    }
    ox_pile_restore(call->pile, mark);
    return OX_OK;
}

static ox_status plan_convolution(ox_call *call, ox_fft *fft) {
    int64_t m = 1;
    while (m < 2 * fft->n - 1)
        m *= 2;
    split(m, &fft->stages);
    OX_TRY(plan_stages(call, &fft->stages));
    fft->chirp = table_of(call, fft->n);
    fft->kernel = table_of(call, m);
    if (!fft->chirp || !fft->kernel)
        return OX_ERROR_MEMORY;
    fill_chirp(fft);
    return fill_kernel(call, fft);
}

ox_status ox_fft_plan(ox_call *call, int64_t n, ox_fft *fft) {
    *fft = (ox_fft){.n = n};
    if (n > (int64_t)1 << MOST_BITS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "a Fourier transform of %lld elements is too long", (long long)n);
    return split(n, &fft->stages) ? plan_stages(call, &fft->stages) : plan_convolution(call, fft);
}

int64_t ox_fft_room(const ox_fft *fft) {
    return fft->stages.n;
}

/* ---- Stages ------------------------------------------------------------------------------------------------- */

/* The data of a stage: `factor` groups of elements, `apart` from each other in x and `side` in y. The `side` elements
 * of a group are all treated alike. */
typedef struct butterfly {
    int64_t side, apart;
    const double *turn; /* exp(-2 pi i k / n) */
    int64_t n, step;    /* output j is multiplied by turn[k], k = j * step */
    int factor;
    ox_fft_lines x, y;
} butterfly;

static void run_two(const butterfly *b) {
    const double c = b->turn[2 * b->step], s = b->turn[2 * b->step + 1];
    const double *restrict re0 = b->x.re, *restrict im0 = b->x.im;
    const double *restrict re1 = re0 + b->apart, *restrict im1 = im0 + b->apart;
    double *restrict to_re0 = b->y.re, *restrict to_im0 = b->y.im;
    double *restrict to_re1 = to_re0 + b->side, *restrict to_im1 = to_im0 + b->side;
    for (int64_t i = 0; i < b->side; i++) {
        const double re = re0[i] - re1[i], im = im0[i] - im1[i];
        to_re0[i] = re0[i] + re1[i];
        to_im0[i] = im0[i] + im1[i];
        to_re1[i] = re * c - im * s;
        to_im1[i] = re * s + im * c;
    }
}

static void run_four(const butterfly *b) {
    const double c1 = b->turn[2 * b->step], s1 = b->turn[2 * b->step + 1];
    const double c2 = b->turn[4 * b->step], s2 = b->turn[4 * b->step + 1];
    const double c3 = b->turn[6 * b->step], s3 = b->turn[6 * b->step + 1];
    const int64_t side = b->side, apart = b->apart;
    const double *restrict re = b->x.re, *restrict im = b->x.im;
    double *restrict to_re = b->y.re, *restrict to_im = b->y.im;
    for (int64_t i = 0; i < side; i++) {
        const double even_re = re[i] + re[i + 2 * apart], even_im = im[i] + im[i + 2 * apart];
        const double odd_re = re[i + apart] + re[i + 3 * apart], odd_im = im[i + apart] + im[i + 3 * apart];
        const double a_re = re[i] - re[i + 2 * apart], a_im = im[i] - im[i + 2 * apart];
        const double b_re = im[i + apart] - im[i + 3 * apart], b_im = re[i + 3 * apart] - re[i + apart];
        const double re1 = a_re + b_re, im1 = a_im + b_im, re3 = a_re - b_re, im3 = a_im - b_im;
        const double re2 = even_re - odd_re, im2 = even_im - odd_im;
        to_re[i] = even_re + odd_re;
        to_im[i] = even_im + odd_im;
        to_re[i + side] = re1 * c1 - im1 * s1;
        to_im[i + side] = re1 * s1 + im1 * c1;
        to_re[i + 2 * side] = re2 * c2 - im2 * s2;
        to_im[i + 2 * side] = re2 * s2 + im2 * c2;
        to_re[i + 3 * side] = re3 * c3 - im3 * s3;
        to_im[i + 3 * side] = re3 * s3 + im3 * c3;
    }
}

/* Two groups of x become their sum and their difference. */
static void pair_up(const butterfly *b, int first, int last) {
    double *restrict re = b->x.re + first * b->apart, *restrict im = b->x.im + first * b->apart;
    double *restrict re2 = b->x.re + last * b->apart, *restrict im2 = b->x.im + last * b->apart;
    for (int64_t i = 0; i < b->side; i++) {
        const double difference_re = re[i] - re2[i], difference_im = im[i] - im2[i];
        re[i] += re2[i];
        im[i] += im2[i];
        re2[i] = difference_re;
        im2[i] = difference_im;
    }
}

static void add_scaled(int64_t n, double scale, ox_fft_lines from, int64_t place, ox_fft_lines to) {
    const double *restrict re = from.re + place, *restrict im = from.im + place;
    double *restrict to_re = to.re, *restrict to_im = to.im;
    for (int64_t i = 0; i < n; i++) {
        to_re[i] += re[i] * scale;
        to_im[i] += im[i] * scale;
    }
}

/* Outputs j and factor - j: a - ib and a + ib, times their turns. */
static void finish_pair(const butterfly *b, int j, ox_fft_lines sum, ox_fft_lines difference) {
    const int64_t k1 = j * b->step, k2 = (b->factor - j) * b->step;
    const double c1 = b->turn[2 * k1], s1 = b->turn[2 * k1 + 1], c2 = b->turn[2 * k2], s2 = b->turn[2 * k2 + 1];
    double *restrict a_re = sum.re, *restrict a_im = sum.im, *restrict b_re = difference.re;
    double *restrict b_im = difference.im;
    for (int64_t i = 0; i < b->side; i++) {
        const double re1 = a_re[i] + b_im[i], im1 = a_im[i] - b_re[i];
        const double re2 = a_re[i] - b_im[i], im2 = a_im[i] + b_re[i];
        a_re[i] = re1 * c1 - im1 * s1;
        a_im[i] = re1 * s1 + im1 * c1;
        b_re[i] = re2 * c2 - im2 * s2;
        b_im[i] = re2 * s2 + im2 * c2;
    }
}

static ox_fft_lines group_of(const butterfly *b, int j) {
    return (ox_fft_lines){b->y.re + j * b->side, b->y.im + j * b->side};
}

static void copy_first(const butterfly *b, ox_fft_lines group) {
    memcpy(group.re, b->x.re, (size_t)b->side * sizeof *group.re);
    memcpy(group.im, b->x.im, (size_t)b->side * sizeof *group.im);
}

static void clear(const butterfly *b, ox_fft_lines group) {
    memset(group.re, 0, (size_t)b->side * sizeof *group.re);
    memset(group.im, 0, (size_t)b->side * sizeof *group.im);
}

/* A stage of any odd factor p. Inputs r and p - r are multiplied by conjugate numbers: their sum takes the cosines,
 * their difference the sines. Overwrites x. */
static void run_odd(const butterfly *b) {
    const int half = b->factor / 2;
    const ox_fft_lines first = group_of(b, 0);
    copy_first(b, first);
    for (int r = 1; r <= half; r++) {
        pair_up(b, r, b->factor - r);
        add_scaled(b->side, 1, b->x, r * b->apart, first);
    }
    for (int j = 1; j <= half; j++) {
        const ox_fft_lines sum = group_of(b, j), difference = group_of(b, b->factor - j);
        copy_first(b, sum);
        clear(b, difference);
        for (int r = 1; r <= half; r++) {
            const double *turn = b->turn + 2 * (j * r % b->factor) * (b->n / b->factor);
            add_scaled(b->side, turn[0], b->x, r * b->apart, sum);
            add_scaled(b->side, -turn[1], b->x, (b->factor - r) * b->apart, difference);
        }
        finish_pair(b, j, sum, difference);
    }
}

/* One stage of all groups: `done` elements have been joined already. */
static void run_stage(const ox_fft_stages *stages, int factor, int64_t done, int64_t lines, ox_fft_lines x,
                      ox_fft_lines y) {
    const int64_t groups = stages->n / done / factor, side = done * lines;
    butterfly b = {.side = side, .apart = side * groups, .turn = stages->turn, .n = stages->n, .factor = factor};
    for (int64_t q = 0; q < groups; q++) {
        b.step = q * done;
        b.x = (ox_fft_lines){x.re + q * side, x.im + q * side};
        b.y = (ox_fft_lines){y.re + q * factor * side, y.im + q * factor * side};
        if (factor == 4)
            run_four(&b);
        else if (factor == 2)
            run_two(&b);
        else
            run_odd(&b);
    }
}

static ox_fft_lines run_stages(const ox_fft_stages *stages, int64_t lines, ox_fft_lines x, ox_fft_lines y) {
    int64_t done = 1;
    for (int i = 0; i < stages->count; i++) {
        run_stage(stages, stages->factor[i], done, lines, x, y);
        done *= stages->factor[i];
        const ox_fft_lines swapped = x;
        x = y;
        y = swapped;
    }
    return x;
}

/* ---- Convolutions ------------------------------------------------------------------------------------------- */

/* Multiplies n elements of all lines with the complex numbers of a table. */
static void multiply(int64_t n, int64_t lines, const double *table, double *restrict re, double *restrict im) {
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k * lines; i < (k + 1) * lines; i++) {
            const double c = table[2 * k], s = table[2 * k + 1], x = re[i], y = im[i];
            re[i] = x * c - y * s;
            im[i] = x * s + y * c;
        }
}

static ox_fft_lines exchanged(ox_fft_lines x) {
    return (ox_fft_lines){x.im, x.re};
}

static ox_fft_lines convolve(const ox_fft *fft, int64_t lines, ox_fft_lines x, ox_fft_lines y) {
    const int64_t n = fft->n, m = fft->stages.n;
    multiply(n, lines, fft->chirp, x.re, x.im);
    for (int64_t i = n * lines; i < m * lines; i++)
        x.re[i] = x.im[i] = 0;
    ox_fft_lines product = run_stages(&fft->stages, lines, x, y);
    multiply(m, lines, fft->kernel, product.re, product.im);
    const ox_fft_lines other = product.re == x.re ? y : x;
    product = exchanged(run_stages(&fft->stages, lines, exchanged(product), exchanged(other)));
    multiply(n, lines, fft->chirp, product.re, product.im);
    return product;
}

ox_fft_lines ox_fft_run(const ox_fft *fft, int64_t lines, ox_fft_lines data, ox_fft_lines other) {
    return fft->chirp ? convolve(fft, lines, data, other) : run_stages(&fft->stages, lines, data, other);
}
