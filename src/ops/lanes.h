/* lanes.h: the loops of elementwise operators. A loop knows a count and pointers, and nothing of ranks. */
#ifndef OX_OPS_LANES_H
#define OX_OPS_LANES_H

#include "../tensor.h"

enum {
    OX_LANE_ARGS = 4
};

/* Computes n elements. arg[0] is the result, packed; arg[1...] are the operands, each packed or (step 0) one element
 * that repeats. The result may be the very memory of an operand. Returns 0, or what went wrong. */
typedef int ox_lane(int64_t n, char *const arg[], const int64_t step[], const void *attr);

enum {
    OX_FAULT_DIVISOR = 1
}; /* an integer division by zero */

/* The loops of one operation by the type that is computed in; NULL where there is none. */
typedef struct ox_lanes {
    ox_lane *fn[OX_DTYPE_COUNT];
} ox_lanes;

/* name(a, b): what it gives for each element */
extern const ox_lanes ox_lanes_Add, ox_lanes_Sub, ox_lanes_Mul, ox_lanes_Div, ox_lanes_Mod, ox_lanes_Fmod, ox_lanes_Max,
    ox_lanes_Min, ox_lanes_PRelu, ox_lanes_And, ox_lanes_Or, ox_lanes_Xor, ox_lanes_BitwiseAnd, ox_lanes_BitwiseOr,
    ox_lanes_BitwiseXor, ox_lanes_ShiftLeft, ox_lanes_ShiftRight;
/* pow by the type of the base; PowUnsigned takes a uint64 exponent where Pow takes an int64 one */
extern const ox_lanes ox_lanes_Pow, ox_lanes_PowUnsigned;
/* a, b -> bool */
extern const ox_lanes ox_lanes_Equal, ox_lanes_Less, ox_lanes_LessOrEqual, ox_lanes_Greater, ox_lanes_GreaterOrEqual;
/* a -> a */
extern const ox_lanes ox_lanes_Abs, ox_lanes_Neg, ox_lanes_Sign, ox_lanes_Floor, ox_lanes_Ceil, ox_lanes_Exp,
    ox_lanes_Log, ox_lanes_Sqrt, ox_lanes_Reciprocal, ox_lanes_Tanh, ox_lanes_Sigmoid, ox_lanes_Relu, ox_lanes_Not,
    ox_lanes_BitwiseNot;
/* attr: float alpha */
extern const ox_lanes ox_lanes_LeakyRelu;

/* condition (bool), x, y of `width` bytes -> condition ? x : y */
ox_lane *ox_lane_where(size_t width);
/* x -> x, of `width` bytes */
ox_lane *ox_lane_copy(size_t width);

/* Conversion between types that are computed in (numbers and bool); NULL if nothing is to be done but to call the bits
 * by another name. Integers wrap; floats truncate, those outside int64 (or NaN) give its minimum. */
ox_lane *ox_lane_cast(ox_dtype from, ox_dtype to);
/* To float, for a result that is narrowed to 16 bits or less next: rounds to odd, so that the two roundings are one. */
ox_lane *ox_lane_cast_odd(ox_dtype from);
/* attr: an ox_dtype; small floating type -> float and back */
ox_lane ox_lane_widen, ox_lane_narrow;

#endif
