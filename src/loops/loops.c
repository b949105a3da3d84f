/* loops.c: the loops of one build that every kind of operator may need, in one table. */
#include "lane_loops.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const ox_lanes OX_LANES(none) = {.fn = {NULL}};

/* Each build's, and those of builds that share the loops of this one. */
#define LOOPS(text, number)                                                                                            \
    {                                                                                                                  \
        .name = text, .build = number, .copy = OX_WITH_PASSES ? OX_VARIANT(ox_lane_copy) : NULL,                       \
        .cast = OX_WITH_PASSES ? OX_VARIANT(ox_lane_cast) : NULL,                                                      \
        .cast_odd = OX_HAS_ANY(OX_SET_WIDENED) ? OX_VARIANT(ox_lane_cast_odd) : NULL,                                  \
        .widen = OX_HAS_ANY(OX_SET_WIDENED) ? OX_VARIANT(ox_lane_widen) : NULL,                                        \
        .narrow = OX_HAS_ANY(OX_SET_WIDENED) ? OX_VARIANT(ox_lane_narrow) : NULL,                                      \
        .wrap = OX_HAS_ANY(OX_SET_TINY) ? OX_VARIANT(ox_lane_wrap) : NULL,                                             \
        .move = OX_WITH_MOVES ? OX_VARIANT(ox_move_for) : NULL, .spread = OX_SMALL ? NULL : OX_VARIANT(ox_spread_for), \
        .repeat_rows = OX_SMALL ? NULL : OX_VARIANT(ox_repeat_rows),                                                   \
        .transpose = OX_SMALL ? NULL : OX_VARIANT(ox_transpose_for), .streams = OX_LANES_STREAM,                       \
        .copy_bytes = OX_WITH_MOVES ? OX_VARIANT(ox_copy_bytes) : NULL,                                                \
        .stream = OX_SMALL ? NULL : OX_VARIANT(ox_stream), .gemm_copy = OX_SMALL ? NULL : OX_VARIANT(ox_gemm_copy),    \
    }
extern const ox_loops OX_VARIANT(ox_loops);
const ox_loops OX_VARIANT(ox_loops) = LOOPS(TEXT(OX_ISA), OX_VARIANT(OX_BUILD));

#define SHARING(build, machine, flags, of, runs, ...)                                                                  \
    extern const ox_loops ox_loops_##build;                                                                            \
    const ox_loops ox_loops_##build = LOOPS(#build, OX_BUILD_##build);
OX_SHARING(SHARING, )
