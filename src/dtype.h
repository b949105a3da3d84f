/* dtype.h: element types: sets of them, what this build has of them, and the small floating ones. */
#ifndef OX_DTYPE_H
#define OX_DTYPE_H

#include "config.h"
#include "ox.h"

/* Sets of element types, bit 1u << ox_dtype each; types of values that are no tensors are in none. */
typedef uint32_t ox_dtypes;
#define OX_BIT(dtype) ((uint32_t)((unsigned)(dtype) < 32u) << ((unsigned)(dtype)&31u))
enum ox_dtype_sets {
    OX_SET_SINT = OX_BIT(OX_INT8) | OX_BIT(OX_INT16) | OX_BIT(OX_INT32) | OX_BIT(OX_INT64),
    OX_SET_UINT = OX_BIT(OX_UINT8) | OX_BIT(OX_UINT16) | OX_BIT(OX_UINT32) | OX_BIT(OX_UINT64),
    OX_SET_INT = OX_SET_SINT | OX_SET_UINT,
    OX_SET_FLOAT = OX_BIT(OX_FLOAT) | OX_BIT(OX_DOUBLE) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16),
    OX_SET_NUM = OX_SET_INT | OX_SET_FLOAT,
    OX_SET_BOOL = OX_BIT(OX_BOOL),
    OX_SET_COMPLEX = OX_BIT(OX_COMPLEX64) | OX_BIT(OX_COMPLEX128),
    OX_SET_FLOAT8 = OX_BIT(OX_FLOAT8E4M3FN) | OX_BIT(OX_FLOAT8E4M3FNUZ) | OX_BIT(OX_FLOAT8E5M2) |
                    OX_BIT(OX_FLOAT8E5M2FNUZ) | OX_BIT(OX_FLOAT8E8M0),
    OX_SET_TINY = OX_BIT(OX_UINT4) | OX_BIT(OX_INT4) | OX_BIT(OX_FLOAT4E2M1) | OX_BIT(OX_UINT2) | OX_BIT(OX_INT2) |
                  OX_BIT(OX_FLOAT6E2M3) | OX_BIT(OX_FLOAT6E3M2),
    OX_SET_ALL = ((1 << OX_DTYPE_COUNT) - 1) & ~1,
    /* Those that are widened to float: ox_dtype_compute. */
    OX_SET_WIDENED = OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16) | OX_SET_FLOAT8 | OX_BIT(OX_FLOAT4E2M1) |
                     OX_BIT(OX_FLOAT6E2M3) | OX_BIT(OX_FLOAT6E3M2)
};

/* Constants: true if the library is built for one of these types. Loops for others are left out. */
#define OX_BUILT_TYPES ((OX_TYPES) | ((OX_TYPES) & (unsigned)OX_SET_WIDENED ? OX_BIT(OX_FLOAT) : 0))
#define OX_HAS_ANY(set) ((OX_BUILT_TYPES & (unsigned)(set)) != 0)
#define OX_HAS(dtype) OX_HAS_ANY(OX_BIT(dtype))
/* The same for types that are reduced. */
#define OX_REDUCES_ANY(set)                                                                                            \
    ((((OX_REDUCED_TYPES) | ((OX_REDUCED_TYPES) & (unsigned)OX_SET_WIDENED ? OX_BIT(OX_FLOAT) : 0)) &                  \
      (unsigned)(set)) != 0)
#define OX_REDUCES(dtype) OX_REDUCES_ANY(OX_BIT(dtype))
/* The same for types that are at least moved. */
#define OX_MOVES_ANY(set) (((OX_MOVED_TYPES) & (unsigned)(set)) != 0)

/* float for the floating types of 16 bits and less, the type itself for all others: what arithmetic is done in. */
ox_dtype ox_dtype_compute(ox_dtype dtype);

/* Whether the type is that of a value that is no tensor: type.h. */
static inline bool ox_is_value(ox_dtype dtype) {
    return OX_WITH_VALUES && (unsigned)dtype >> 30 == 1;
}

/* How a float is converted to a type of 16 bits or less. Zeroed except for dtype, it is the default of Cast. */
typedef enum ox_rounding {
    OX_ROUND_UP = 0, /* away from zero */
    OX_ROUND_DOWN,   /* towards zero */
    OX_ROUND_NEAREST /* ties away from zero */
} ox_rounding;

typedef struct ox_narrowing {
    ox_dtype dtype;
    bool overflow;        /* float8: beyond the largest value come infinity and NaN, not that value */
    ox_rounding rounding; /* of float8e8m0; all other types round to nearest even */
} ox_narrowing;

/* n contiguous elements of a type with ox_dtype_compute(dtype) == OX_FLOAT other than float itself. */
void ox_widen(ox_dtype dtype, int64_t n, const void *from, float *to);
void ox_narrow(const ox_narrowing *how, int64_t n, const float *from, void *to);

#endif
