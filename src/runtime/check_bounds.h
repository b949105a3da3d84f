/* check_bounds.h: how much the results of a node's plain algorithm and of its own may differ. For operators that
 * check_bounds.c does not list they must be equal: their results have the same bits by every algorithm and build.
 *
 * An ULP is a unit in the last place, u half of one, of the type that is computed in. Results of 16 bits are then
 * rounded once more, to an ULP of their own type. */
#ifndef OX_RUNTIME_CHECK_BOUNDS_H
#define OX_RUNTIME_CHECK_BOUNDS_H

#include "frame/frame.h"
#include "check_differ.h"

enum {
    /* Sums of k products, in any order and with products rounded or not, are within k * u * S of the exact sums, where
     * S is the sum of the products' absolute values; so two of them are within twice that of each other. */
    OX_CHECK_SUM_ERRORS = 2,
    /* A weight in a block is a difference times a scale, both rounded: so many more than the k of a sum. */
    OX_CHECK_BLOCK_ROUNDINGS = 2,
    /* Means of windows are sums of at most 40 numbers (pool_direct.c) in one of two orders, in u * S of means. */
    OX_CHECK_MEAN_MOST = 40,
    OX_CHECK_MEAN_ERRORS = 2 * OX_CHECK_MEAN_MOST,
    /* Winograd's transforms have errors of two to eight times those of plain sums (docs/design.md), relative to the
     * largest S of the tensor, because the results of a tile share inputs. */
    OX_CHECK_WINOGRAD_ERRORS = 1 + 8,
    /* Each build has its own polynomials for exp, log and the like, within 4 ULP of the exact result, so that two of
     * them are within 8 of each other; those of Gelu are within 8. */
    OX_CHECK_FUNCTION_UNITS = 8,
    OX_CHECK_GELU_UNITS = 16,
    /* A quotient, a sum or a root of such results has a few more. */
    OX_CHECK_FUNCTIONS_UNITS = 32
};

/* Operators that apply functions to sums, and sum up the results again, such as attention and recurrent networks: a
 * share of the largest result, so many times u. What the two ways of a node may be apart, in u:
 *
 * - Sums of k products: 2 * k * S, as above. A function whose slope is at most 1 (tanh, Sigmoid) hands on no more than
 *   that, and adds 16, its 8 ULP. exp makes a relative error of it.
 * - Attention: each weight exp(s) / sum(exp(s)) has the relative error twice, and 2 * L of the sum of L of them; the
 *   weights are 1 together, so that the values' sum adds 2 * L: 2 * (2 * k * S + 16) + 4 * L. That is 4,080 for heads
 * of k = 64 with S = 8, and L = 500 keys.
 * - Recurrent layers: a step adds e = 2 * k * S + 16 for k inputs and states, and multiplies what the state had by how
 *   much it depends on the state before, g: e / (1 - g) in all. That is 4,064 where g = 1/2 and k * S = 1,008.
 * - Kernels of support vectors are functions of sums that are summed up, without a quotient; samples of DeformConv are
 *   sums of four products, which are summed up: both less than attention with the same k and L.
 *
 * Rounding errors have either sign, and so sums of k have about the root of k of them: in practice nodes come ten times
 * nearer to each other than this. It is no bound for all that a model may hold: states that grow (g > 1) enlarge errors
 * as long as they are computed, and values that cancel have results below their errors. A wrong element is far beyond.
 */
#define OX_CHECK_COMPOSED_ERRORS 4096

/* For the outputs of node m, which has run alone. Errors say where they are. */
ox_status ox_check_bound(ox_frame *frame, int m, ox_tolerance *bound);

#endif
