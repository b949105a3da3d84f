/* isa.c: choosing the build of the loops that the processor can run. */
#include "loops/simd/arm.h"
#include "loops/simd/x86.h"
#include "blend_loops.h"
#include "block_loops.h"
#include "byte_loops.h"
#include "cell_loops.h"
#include "chain.h"
#include "conv_loops.h"
#include "cumulate_loops.h"
#include "depth_loops.h"
#include "lookup_loops.h"
#include "statistics_loops.h"
#include "winograd_loops.h"

#include <string.h>

/* Declares what each build has of a name, and lists it: of loops that builds share, and of those that each has. */
#define EXTERN(build, machine, flags, wide, runs, type, name) extern type name##_##build;
#define ADDRESS(build, machine, flags, wide, runs, name) &name##_##build,
#define SHARED(build, machine, flags, of, runs, name) &name##_##of,
#define DECLARE(type, name) OX_BUILDS(EXTERN, type, name)
#define DECLARE_ALL(type, name) OX_BUILDS(EXTERN, type, name) OX_SHARING(EXTERN, type, name)
#define BUILDS(name)                                                                                                   \
    { OX_BUILDS(ADDRESS, name) OX_SHARING(SHARED, name) }
#define ALL_BUILDS(name)                                                                                               \
    { OX_BUILDS(ADDRESS, name) OX_SHARING(ADDRESS, name) }

DECLARE_ALL(const ox_loops, ox_loops)

#define LANE_SET(name)                                                                                                 \
    DECLARE(const ox_lanes, ox_lanes_##name)                                                                           \
    const ox_lanes *const OX_LANES_##name[] = BUILDS(ox_lanes_##name);
#include "lanes.inc"
#undef LANE_SET

DECLARE(ox_where_fn, ox_lane_where)
ox_where_fn *const ox_where_builds[] = BUILDS(ox_lane_where);
#if OX_CHAINS
DECLARE(ox_lane, ox_chain_run)
ox_lane *const ox_chain_builds[] = BUILDS(ox_chain_run);
DECLARE(ox_chain_rows_fn, ox_chain_rows)
ox_chain_rows_fn *const ox_chain_rows_builds[] = BUILDS(ox_chain_rows);
#endif
#define FOLD(name)                                                                                                     \
    DECLARE(ox_folder_fn, ox_fold_##name)                                                                              \
    ox_folder_fn *const OX_FOLD_##name[] = BUILDS(ox_fold_##name);
OX_FOLDS(FOLD)
#undef FOLD
DECLARE(ox_softmax_fn, ox_softmax_f32)
ox_softmax_fn *const ox_softmax_f32_builds[] = BUILDS(ox_softmax_f32);
DECLARE(ox_softmax_fn, ox_softmax_f64)
ox_softmax_fn *const ox_softmax_f64_builds[] = BUILDS(ox_softmax_f64);
DECLARE_ALL(ox_gemm_kernel_fn, ox_gemm_kernel_for)
ox_gemm_kernel_fn *const ox_gemm_builds[] = ALL_BUILDS(ox_gemm_kernel_for);
DECLARE(const ox_integer_loops, ox_integer_loops)
const ox_integer_loops *const ox_integer_builds[] = BUILDS(ox_integer_loops);
DECLARE(ox_window_loops_fn, ox_window_most)
ox_window_loops_fn *const ox_window_most_builds[] = BUILDS(ox_window_most);
DECLARE(ox_window_loops_fn, ox_window_sums)
ox_window_loops_fn *const ox_window_sums_builds[] = BUILDS(ox_window_sums);
DECLARE(ox_norm_loops_fn, ox_norm_find)
ox_norm_loops_fn *const ox_norm_builds[] = BUILDS(ox_norm_find);
DECLARE(ox_add_apart_for_fn, ox_add_apart_find)
ox_add_apart_for_fn *const ox_add_apart_builds[] = BUILDS(ox_add_apart_find);
#if OX_WITH_OWN_OPERATORS
DECLARE(ox_add_times_for_fn, ox_add_times_find)
ox_add_times_for_fn *const ox_add_times_builds[] = BUILDS(ox_add_times_find);
#endif
#if !OX_SMALL
DECLARE_ALL(ox_block_find_fn, ox_block_find)
ox_block_find_fn *const ox_block_builds[] = ALL_BUILDS(ox_block_find);
DECLARE(ox_gather_for_fn, ox_gather_find)
ox_gather_for_fn *const ox_gather_builds[] = BUILDS(ox_gather_find);
DECLARE(const ox_direct_loops, ox_direct_loops)
const ox_direct_loops *const ox_direct_builds[] = BUILDS(ox_direct_loops);
DECLARE_ALL(ox_depth_find_fn, ox_depth_find)
ox_depth_find_fn *const ox_depth_builds[] = ALL_BUILDS(ox_depth_find);
DECLARE(const ox_beside_loops, ox_beside_loops)
const ox_beside_loops *const ox_beside_builds[] = BUILDS(ox_beside_loops);
DECLARE(const ox_byte_loops, ox_byte_loops)
const ox_byte_loops *const ox_byte_builds[] = BUILDS(ox_byte_loops);
DECLARE(ox_lookup_find_fn, ox_lookup_find)
ox_lookup_find_fn *const ox_lookup_builds[] = BUILDS(ox_lookup_find);
DECLARE(const ox_cell_loops, ox_cell_loops)
const ox_cell_loops *const ox_cell_builds[] = BUILDS(ox_cell_loops);
DECLARE(const ox_winograd_loops, ox_winograd_loops)
const ox_winograd_loops *const ox_winograd_builds[] = BUILDS(ox_winograd_loops);
#endif
DECLARE(const ox_blend_lines, ox_blend_lines_f32)
const ox_blend_lines *const ox_blend_lines_f32_builds[] = BUILDS(ox_blend_lines_f32);
DECLARE(const ox_blend_lines, ox_blend_lines_f64)
const ox_blend_lines *const ox_blend_lines_f64_builds[] = BUILDS(ox_blend_lines_f64);
DECLARE(ox_blend_points_fn, ox_blend_points_f32)
ox_blend_points_fn *const ox_blend_points_f32_builds[] = BUILDS(ox_blend_points_f32);
DECLARE(ox_blend_points_fn, ox_blend_points_f64)
ox_blend_points_fn *const ox_blend_points_f64_builds[] = BUILDS(ox_blend_points_f64);
DECLARE(ox_blend_values_fn, ox_blend_values_f32)
ox_blend_values_fn *const ox_blend_values_f32_builds[] = BUILDS(ox_blend_values_f32);
DECLARE(ox_blend_values_fn, ox_blend_values_f64)
ox_blend_values_fn *const ox_blend_values_f64_builds[] = BUILDS(ox_blend_values_f64);
DECLARE(ox_rotate_fn, ox_rotate)
ox_rotate_fn *const ox_rotate_builds[] = BUILDS(ox_rotate);
DECLARE(ox_cumulate_find_fn, ox_cumulate_find)
ox_cumulate_find_fn *const ox_cumulate_builds[] = BUILDS(ox_cumulate_find);
DECLARE(const ox_statistics_loops, ox_statistics_loops)
const ox_statistics_loops *const ox_statistics_builds[] = BUILDS(ox_statistics_loops);
DECLARE(const ox_lrn_loops, ox_lrn_loops)
const ox_lrn_loops *const ox_lrn_builds[] = BUILDS(ox_lrn_loops);

#define NAME(build, machine, flags, wide, runs, ...) #build,
const char *const ox_build_names[] = {OX_BUILDS(NAME, ) OX_SHARING(NAME, )};

/* Whether this processor runs a build. */
static bool runs_here(ox_build build) {
#define RUNS(build, machine, flags, wide, runs, ...) [OX_BUILD_##build] = runs,
    const bool here[] = {OX_BUILDS(RUNS, ) OX_SHARING(RUNS, )};
    return here[build];
}

const ox_loops *ox_loops_find(const char *name) {
    static const ox_loops *const all[] = ALL_BUILDS(ox_loops);
    int last = OX_BUILDS_COUNT - 1;
    for (int b = 0; name && b < OX_BUILDS_COUNT; b++)
        if (!strcmp(name, ox_build_names[b]))
            last = b;
    while (last > 0 && !runs_here((ox_build)last))
        last--;
    return all[last];
}
