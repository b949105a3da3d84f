/* resize.h: Resize and Upsample: what a node asks for, and how an axis of the output is made from that of the input. */
#ifndef OX_OPS_IMAGE_RESIZE_H
#define OX_OPS_IMAGE_RESIZE_H

#include "ops/op.h"

typedef enum ox_resize_mode {
    OX_RESIZE_NEAREST,
    OX_RESIZE_LINEAR,
    OX_RESIZE_CUBIC
} ox_resize_mode;

/* How a place in the output becomes one in the input. */
typedef enum ox_resize_place {
    OX_PLACE_HALF_PIXEL,
    OX_PLACE_PYTORCH,
    OX_PLACE_CORNERS,
    OX_PLACE_ASYMMETRIC,
    OX_PLACE_CROP,
    OX_PLACE_HALF_PIXEL_NN,
    OX_PLACE_SYMMETRIC
} ox_resize_place;

/* Which element is the nearest to a place. */
typedef enum ox_resize_round {
    OX_NEAREST_PREFER_FLOOR,
    OX_NEAREST_PREFER_CEIL,
    OX_NEAREST_FLOOR,
    OX_NEAREST_CEIL,
    OX_NEAREST_OUTER /* the lower one, the upper one when the axis shrinks: before version 11 */
} ox_resize_round;

/* One axis as the node states it. */
typedef struct ox_resize_axis {
    int64_t in, out;
    bool by_size; /* the scale follows from the sizes */
    double scale;
    double exact;      /* the size of the output before it was rounded */
    double start, end; /* of the part that is cropped: 0 and 1 */
} ox_resize_axis;

typedef struct ox_resize {
    ox_resize_mode mode;
    ox_resize_place place;
    ox_resize_round round;
    bool antialias, exclude_outside;
    double cubic_a;
    int rank;
    ox_resize_axis axis[OX_MAX_RANK];
} ox_resize;

/* How an axis is made: element j of the output is the sum of weights[j * taps + k] times element first[j] + k of the
 * input, for k in [0, counts[j]). Without weights it is element first[j] itself. */
typedef struct ox_axis_map {
    int axis;
    bool same; /* the axis stays as it is */
    int64_t in, out;
    int64_t taps; /* most of an element */
    int64_t *first, *counts;
    double *weights;
    const void *sum_weights;    /* the same in the type of sums, for passes */
    int64_t inside, inside_end; /* elements of the output that lie in the input */
} ox_axis_map;

/* Reads all that the node says. OX_DEFER if that is not known before the run. */
ox_status ox_resize_read(ox_call *call, ox_resize *resize);

/* Prepare: the map of axis d, in plan memory. */
ox_status ox_axis_map_make(ox_call *call, const ox_resize *resize, int d, ox_axis_map *map);

/* What prepare leaves for run: the maps of axes [begin, end), the smallest range with all that change. */
typedef struct ox_resize_plan {
    ox_resize_mode mode;
    bool crops;
    int begin, end;
    int64_t outer, inner; /* elements before and behind those axes */
    ox_axis_map *maps;
    int *order;        /* linear and cubic: axes as the passes go over them, -1 at the end */
    int64_t most;      /* elements of the largest step between two passes, or of both ends */
    size_t buffer;     /* bytes of that */
    size_t room;       /* of the two buffers of a thread */
    bool repeats;      /* nearest: each element of the input is repeated as often along an axis */
    int64_t **offsets; /* nearest: by axis, bytes of the input for each element of the output */
} ox_resize_plan;

/* Prepare and run, by mode. from: the input, packed; used: bytes of the workspace that are taken. */
ox_status ox_nearest_prepare(ox_call *call, ox_resize_plan *plan);
void ox_nearest_run(ox_call *call, const ox_resize_plan *plan, const char *from);
ox_status ox_passes_prepare(ox_call *call, ox_resize_plan *plan);
void ox_passes_run(ox_call *call, const ox_resize_plan *plan, const char *from, size_t used);

#endif
