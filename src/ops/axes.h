/* axes.h: axes and other short lists of integers, as attributes and inputs give them. */
#ifndef OX_OPS_AXES_H
#define OX_OPS_AXES_H

#include "op.h"

/* Sets of axes: bit 1 << axis. */
typedef uint64_t ox_axis_set;
_Static_assert(OX_MAX_RANK <= 64, "a set of axes is one word");
#define OX_AXIS(axis) ((ox_axis_set)1 << (axis))

typedef struct ox_short_list {
    bool given;
    int count;
    int64_t value[OX_MAX_RANK];
} ox_short_list;

/* Infer: the integers of an attribute; more than OX_MAX_RANK of them are an error. */
ox_status ox_list_attr(ox_call *call, const char *name, ox_short_list *list);

/* Infer: the integers of input i, of one dimension and one of those types; none if it is omitted, OX_DEFER if they are
 * not known before the run. */
ox_status ox_list_input(ox_call *call, int i, ox_dtypes types, ox_short_list *list);

/* Infer: the axes of the node: input 1 in versions that take two inputs, the attribute "axes" in others. Exporters give
 * one axis as a scalar, and other runtimes take it. */
ox_status ox_list_axes(ox_call *call, ox_short_list *list);

/* Infer: the set of the listed axes of a tensor of that rank. An axis listed twice counts once. */
ox_status ox_axes_set(ox_call *call, const ox_short_list *list, int rank, ox_axis_set *set);

/* Infer: makes the list one of axes of a tensor of that rank, each in [0, rank): all of them if none was given. An axis
 * listed twice is an error, whose text says what is done to it twice. */
ox_status ox_axes_distinct(ox_call *call, ox_short_list *list, int rank, const char *done);

#endif
