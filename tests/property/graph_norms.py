"""graph_norms.py: how nodes of normalisations, reductions that take functions, and pools are drawn for random graphs.
Which numbers they give is compared with numpy by norms.py, lines.py, reductions.py and pools.py; here every way of
running them has to give the same bits."""

import numpy as np
from graph_draw import FLOATS, NUMBERS


def with_rank(least, most=9):
    return lambda array: least <= array.ndim <= most and array.size > 0


def parameters(d, a, dims, count):
    """Inputs of a float type, positive: scales, offsets, means and variances. (Constant ones of BatchNormalization become
    a factor and an offset, which rounds in another way: norms.py.)"""
    made = []
    for _ in range(count):
        values = d.rng.uniform(0.5, 2, dims)
        made.append(d.give(np.asarray(values).astype(d.array(a).dtype), d.type_of(a), d.case.inputs))
    return made


def batch_norm(d, op):
    a = d.pick(FLOATS, with_rank(2))
    if a is not None:
        made = d.add(op, [a, *parameters(d, a, [d.shape(a)[1]], 4)])
        if made and d.chance(0.5):
            d.add("Relu", [made[0]])


def instance_norm(d, op):
    a = d.pick(FLOATS, with_rank(3))
    if a is not None:
        d.add(op, [a, *parameters(d, a, [d.shape(a)[1]], 2)])


def group_norm(d, op):
    a = d.pick(FLOATS, with_rank(3))
    if a is not None:
        channels = d.shape(a)[1]
        groups = d.choose([g for g in range(1, channels + 1) if channels % g == 0])
        d.add(op, [a, *parameters(d, a, [channels], 2)], num_groups=int(groups))


def over_last(inputs):
    """An axis that ends the rows, and parameters of the rows' shape."""

    def rule(d, op):
        a = d.pick(FLOATS, with_rank(1))
        if a is not None:
            axis = int(d.rng.integers(0, d.array(a).ndim))
            d.add(op, [a, *parameters(d, a, list(d.shape(a)[axis:]), inputs)], axis=axis)

    return rule


def along_axis(types, **more):

    def rule(d, op):
        a = d.pick(types, with_rank(1))
        if a is not None:
            rank = d.array(a).ndim
            axis = -1 if d.chance(0.5) else int(d.rng.integers(-rank, rank))
            d.add(op, [a], axis=axis, **{k: d.choose(v) for k, v in more.items()})

    return rule


def cumulate(d, op):
    a = d.pick(["float", "double", "int32", "int64"], with_rank(1))
    if a is not None:
        axis = d.source("int32", (), np.array(d.rng.integers(0, d.array(a).ndim), np.int32))
        d.add(op, [a, axis], exclusive=int(d.chance(0.3)), reverse=int(d.chance(0.3)))


def top_k(d, op):
    a = d.pick(["float", "double", "int32", "int64"], with_rank(1))
    if a is not None:
        axis = int(d.rng.integers(0, d.array(a).ndim))
        k = d.ints([int(d.rng.integers(0, d.shape(a)[axis] + 1))])
        d.add(op, [a, k], 2, axis=axis, largest=int(d.chance(0.5)))


def mean_variance(d, op):
    a = d.pick(FLOATS, with_rank(2))
    if a is not None:
        rank = d.array(a).ndim
        d.add(op, [a], axes=[n for n in range(rank) if n != 1] if d.chance(0.5) else [rank - 1])


def local_response(d, op):
    a = d.pick(FLOATS, with_rank(3))
    if a is not None:
        d.add(op, [a], size=int(d.choose([1, 3, 5])))


def pool(**more):

    def rule(d, op):
        a = d.pick(["float", "double"], with_rank(3, 4))
        if a is None:
            return
        spatial = d.array(a).ndim - 2
        kernel = [int(k) for k in d.rng.integers(1, 4, spatial)]
        pads = [int(d.rng.integers(0, k)) for k in kernel * 2]
        d.add(op, [a], kernel_shape=kernel, pads=pads, strides=[int(s) for s in d.rng.integers(1, 3, spatial)],
              **{k: d.choose(v) for k, v in more.items()})

    return rule


NORMS = {
    "BatchNormalization": (15, batch_norm), "InstanceNormalization": (13, instance_norm),
    "GroupNormalization": (21, group_norm), "LayerNormalization": (17, over_last(2)),
    "RMSNormalization": (23, over_last(1)), "MeanVarianceNormalization": (13, mean_variance),
    "LRN": (13, local_response), "LpNormalization": (13, along_axis(["float", "double"], p=[1, 2])),
    "LogSoftmax": (13, along_axis(FLOATS)), "Hardmax": (13, along_axis(FLOATS)),
    "ArgMax": (13, along_axis(NUMBERS, keepdims=[0, 1], select_last_index=[0, 1])),
    "ArgMin": (13, along_axis(NUMBERS, keepdims=[0, 1], select_last_index=[0, 1])),
    "CumSum": (14, cumulate), "CumProd": (26, cumulate), "TopK": (13, top_k),
    "MaxPool": (13, pool()), "AveragePool": (13, pool(count_include_pad=[0, 1])), "LpPool": (13, pool(p=[1, 2])),
}
# What is drawn by the rules of others, and judged elsewhere as well. onnx's reference sorts what Unique gives unsorted,
# and has AffineGrid of doubles in float.
ELSEWHERE = {*NORMS, "AffineGrid", "Unique", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "GlobalAveragePool",
             "GlobalLpPool"}
