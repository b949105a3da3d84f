/* norm.h: normalisations: differences from a mean, and shares of a deviation or of a norm. */
#ifndef OX_OPS_NORM_NORM_H
#define OX_OPS_NORM_NORM_H

#include "iterate/bcast.h"
#include "ops/axes.h"
#include "ops/elementwise.h"

#include <string.h>

typedef enum ox_norm_kind {
    OX_NORM_VARIANCE,  /* (x - mean) / root of (variance + epsilon) */
    OX_NORM_DEVIATION, /* (x - mean) / (deviation + epsilon) */
    OX_NORM_SQUARES,   /* x / root of (mean of squares + epsilon) */
    OX_NORM_L1,        /* x / sum of absolute values */
    OX_NORM_L2         /* x / root of sum of squares; 0 where that is 0 */
} ox_norm_kind;

/* What an operator normalises. */
typedef struct ox_norm {
    ox_norm_kind kind;
    int rank; /* input 0 as it is seen; it is packed if these dims are not its own */
    int64_t dims[OX_MAX_RANK];
    ox_axis_set set; /* dimensions that go into one mean */
    double epsilon;
    int scale, bias; /* inputs; 0 for none */
    int at, spread;  /* the elements of both belong to `spread` dimensions from `at` on; spread 0: they broadcast */
} ox_norm;

/* Says what the node normalises, and checks it. */
typedef ox_status ox_norm_fn(ox_call *call, ox_norm *norm);

/* Norms of input 0 as it is. */
void ox_norm_start(const ox_call *call, ox_norm_kind kind, ox_norm *norm);

/* Infer: that scale and bias have an element for each channel, of `count`. */
ox_status ox_norm_check_channels(ox_call *call, int first, int last, int64_t count, const char *of);

/* A pass over rows: how many dimensions they take (0: it is none), and the program. */
int ox_norm_rows(const ox_call *call, ox_norm_fn *describe);
ox_reg ox_norm_emit(ox_call *call, ox_pass_builder *builder, const ox_reg *in, ox_norm_fn *describe);

/* The means and what is divided by, by themselves, and a pass that uses them. */
ox_status ox_norm_prepare(ox_call *call, ox_norm_fn *describe);
ox_status ox_norm_run(ox_call *call);

/* Run, after ox_norm_run: the mean and the variance (or mean of squares, or norm) of each normalized set, in the order
 * of the other dimensions; NULL where they are not wanted. */
typedef struct ox_norm_statistic {
    double mean, spread;
} ox_norm_statistic;
const ox_norm_statistic *ox_norm_statistics(const ox_call *call, int64_t *count);

/* 1 / root of (variance + epsilon). */
double ox_norm_inverse(double variance, double epsilon);

/* x times the scale, and the bias added, of the inputs that `norm` names; in double if one of them is. */
ox_reg ox_norm_scale(ox_call *call, ox_pass_builder *builder, const ox_reg *in, const ox_norm *norm, ox_reg x);

/* Input i of the node, spread as `norm` says; in[i] if that is a register already. */
ox_reg ox_norm_load(ox_call *call, ox_pass_builder *builder, const ox_reg *in, const ox_norm *norm, int i);

/* An element of a floating type as a real, and back, rounded. */
double ox_norm_get(const ox_tensor *tensor, int64_t i);
void ox_norm_put(const ox_tensor *tensor, int64_t i, double value);

/* The functions of an operator that `describe` says all of. */
#define OX_NORM(name, describe)                                                                                        \
    int ox_rows_##name(const ox_call *call) {                                                                          \
        return ox_norm_rows(call, describe);                                                                           \
    }                                                                                                                  \
    ox_reg ox_emit_##name(ox_call *call, ox_pass_builder *builder, const ox_reg *in) {                                 \
        return ox_norm_emit(call, builder, in, describe);                                                              \
    }                                                                                                                  \
    ox_status ox_prepare_##name(ox_call *call) {                                                                       \
        return ox_norm_prepare(call, describe);                                                                        \
    }

#endif
