/* loops.c: all loops of one build, in one table. */
#include "lane_loops.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const ox_lanes OX_LANES(none) = {{NULL}};

extern const ox_loops OX_VARIANT(ox_loops);
const ox_loops OX_VARIANT(ox_loops) = {
    .name = TEXT(OX_ISA),
    .sets =
        {
#define LANE_SET(name) &OX_LANES(name),
#include "lanes.inc"
#undef LANE_SET
        },
    .where = OX_VARIANT(ox_lane_where),
    .copy = OX_VARIANT(ox_lane_copy),
    .cast = OX_VARIANT(ox_lane_cast),
    .cast_odd = OX_VARIANT(ox_lane_cast_odd),
    .widen = OX_VARIANT(ox_lane_widen),
    .narrow = OX_VARIANT(ox_lane_narrow),
    .wrap = OX_VARIANT(ox_lane_wrap),
    .move = OX_VARIANT(ox_move_for),
    .spread = OX_VARIANT(ox_spread_for),
    .transpose = OX_VARIANT(ox_transpose_for),
    .stream = OX_VARIANT(ox_stream),
    .folder = OX_VARIANT(ox_folder_find),
    .softmax_f32 = OX_VARIANT(ox_softmax_f32),
    .softmax_f64 = OX_VARIANT(ox_softmax_f64),
    .gemm = OX_VARIANT(ox_gemm_kernel_for),
    .gemm_copy = OX_VARIANT(ox_gemm_copy),
    .integer = &OX_VARIANT(ox_integer_loops),
};
