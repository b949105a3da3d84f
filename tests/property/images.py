"""images.py [--cases N] [--seed N]: Resize, Upsample, GridSample, AffineGrid and NonMaxSuppression against their
definitions in numpy, and those of ONNX's reference where it follows the text."""

import sys

import nodes
import numpy as np
import oxlib
import trials
import values
from onnx import helper
from onnx.reference import ReferenceEvaluator

PLACES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
          "half_pixel_symmetric"]
TOLERANCE = {"float": 2e-4, "double": 1e-9, "float16": 2e-2, "bfloat16": 1.5e-1}


# ---- Resize ----------------------------------------------------------------------------------------------------


def place(how, x, size, out, scale, exact, roi):
    """Where place x of the output lies; the text's formulas. An exact size follows from a scale, and may be broken."""
    if how == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if how == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if out > 1 else 0.0
    if how == "align_corners":
        return x * (size - 1) / (exact - 1) if exact != 1 else 0.0
    if how == "asymmetric":
        return x / scale
    if how == "half_pixel_symmetric":
        return size / 2 * (1 - out / exact) + (x + 0.5) / scale - 0.5
    if out > 1:
        return roi[0] * (size - 1) + x * (roi[1] - roi[0]) * (size - 1) / (out - 1)
    return 0.5 * (roi[0] + roi[1]) * (size - 1)


def kernel(mode, t, a):
    t = abs(t)
    if mode == "linear":
        return max(0.0, 1 - t)
    if t <= 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0.0


ROUNDS = {"round_prefer_floor": lambda x: np.ceil(x - 0.5), "round_prefer_ceil": lambda x: np.floor(x + 0.5),
          "floor": np.floor, "ceil": np.ceil}


def matrix(size, out, scale, exact, roi, options):
    """What each place of the output takes of an axis, and which places lie outside; None where rounding decides."""
    taken, outside = np.zeros((out, size)), np.zeros(out, bool)
    for j in range(out):
        x = place(options["place"], j, size, out, scale, exact, roi)
        if options["mode"] == "nearest":
            if options["place"] != "asymmetric" and abs(2 * x - round(2 * x)) < 1e-6 and abs(2 * x - round(2 * x)) > 0:
                return None
            i = ROUNDS[options["round"]](x) if abs(x - round(x)) > 1e-9 else round(x)
            taken[j, int(min(max(i, 0), size - 1))] = 1
        else:
            step = min(scale, 1.0) if options["antialias"] else 1.0
            reach = (1 if options["mode"] == "linear" else 2) / step
            total = 0.0
            for i in range(int(np.ceil(x - reach)), int(np.floor(x + reach)) + 1):
                weight = kernel(options["mode"], (i - x) * step, options["a"])
                if options["exclude"] and not 0 <= i < size:
                    continue
                taken[j, min(max(i, 0), size - 1)] += weight
                total += weight
            if options["antialias"] or options["exclude"]:
                taken[j] /= total or 1.0
        if options["place"] == "tf_crop_and_resize":
            if abs(x) < 1e-6 or abs(x - size + 1) < 1e-6:
                return None
            outside[j] = x < 0 or x > size - 1
    return taken, outside


def resize(rng):
    options = {"mode": values.pick(rng, ["nearest", "linear", "cubic"]), "place": values.pick(rng, PLACES),
               "round": values.pick(rng, list(ROUNDS)), "a": float(values.pick(rng, [-0.75, -0.5])),
               "exclude": int(rng.random() < 0.3)}
    options["antialias"] = int(options["mode"] != "nearest" and rng.random() < 0.3)
    type_name = values.pick(rng, ["float", "float", "double", "float16", "bfloat16", "uint8", "int8", "int32"])
    shape = [int(d) for d in rng.integers(1, 7, int(rng.integers(1, 5)))]
    if rng.random() < 0.05:
        shape = [int(rng.integers(1, 4)), int(rng.integers(20, 40)), int(rng.integers(20, 40)), 16]
    x = values.lay_out(rng, values.random_values(rng, type_name, shape, True))
    axes = [int(a) for a in rng.permutation(x.ndim)[:int(rng.integers(1, x.ndim + 1))]]
    by_size = rng.random() < 0.5
    roi = np.concatenate([rng.uniform(-0.2, 0.6, len(axes)), rng.uniform(0.4, 1.3, len(axes))]).astype(np.float32)
    sizes = [int(n) for n in rng.integers(1, 12, len(axes))]
    scales = np.array([values.pick(rng, [0.3, 0.5, 0.6, 0.8, 1, 1.5, 2, 2.6, 3]) for _ in axes], np.float32)
    wanted, outside = x.astype(np.float64), np.zeros(x.shape, bool)
    for k, axis in enumerate(axes):
        size = x.shape[axis]
        out = sizes[k] if by_size else int(np.floor(np.float32(size) * scales[k]))
        scale = out / size if by_size else float(scales[k])
        made = matrix(size, out, scale, out if by_size else scale * size, (float(roi[k]), float(roi[len(axes) + k])),
                      options)
        if made is None:
            return None
        taken, out_of = made
        wanted = np.moveaxis(np.tensordot(wanted, taken, (axis, 1)), -1, axis)
        outside = np.repeat(outside.any(axis, keepdims=True), out, axis) if size else outside
        outside = outside | np.expand_dims(out_of, tuple(d for d in range(x.ndim) if d != axis))
    wanted = np.where(outside, 7.0, wanted)
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        if (np.abs(wanted - np.floor(wanted) - 0.5) < 1e-6).any():
            return None
        wanted = np.clip(np.rint(wanted), limits.min, limits.max).astype(x.dtype)
    inputs = {"x": (x, type_name), "r": (roi, "float"), "s": None if by_size else (scales, "float")}
    if by_size:
        inputs["z"] = (np.array(sizes, np.int64), "int64")
    return "Resize", 19, inputs, type_name, wanted, {
        "mode": options["mode"], "coordinate_transformation_mode": options["place"], "nearest_mode": options["round"],
        "cubic_coeff_a": options["a"], "exclude_outside": options["exclude"], "antialias": options["antialias"],
        "extrapolation_value": 7.0, "axes": axes}


def keep_ratio(rng):
    """Sizes that keep the ratio, against ONNX's reference."""
    shape = [int(d) for d in rng.integers(1, 7, 2)]
    x = values.random_values(rng, "float", shape, True)
    sizes = rng.integers(1, 9, 2)
    attributes = {"mode": "linear", "keep_aspect_ratio_policy": values.pick(rng, ["not_larger", "not_smaller"])}
    return reference("Resize", 19, {"x": (x, "float"), "r": None, "s": None, "z": (sizes, "int64")}, "float",
                     attributes)


def upsample(rng):
    x = values.random_values(rng, "float", [2, 3, 4], True)
    scales = rng.integers(1, 4, 3).astype(np.float32)
    wanted = x
    for axis, scale in enumerate(scales):
        wanted = np.repeat(wanted, int(scale), axis)
    return "Upsample", 9, {"x": (x, "float"), "s": (scales, "float")}, "float", wanted, {}


# ---- GridSample, AffineGrid ------------------------------------------------------------------------------------


def reference(op, opset, inputs, type_name, attributes):
    """A case that ONNX's reference computes."""
    info = helper.make_tensor_value_info
    given = {name: pair for name, pair in inputs.items() if pair}
    node = helper.make_node(op, [name if pair else "" for name, pair in inputs.items()], ["y"], **attributes)
    graph = helper.make_graph([node], "graph", [info(k, nodes.kind_of(v[1]), None) for k, v in given.items()],
                              [info("y", nodes.kind_of(type_name), None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(model).run(None, {k: v[0] for k, v in given.items()})[0]
    return op, opset, inputs, type_name, wanted, attributes


def cubic_at_border(x, grid, corners):
    """Each of the elements that a cubic takes is brought into the image, as PyTorch and ONNX Runtime do; ONNX's reference
    brings the place there."""
    wanted = np.zeros([*x.shape[:2], *grid.shape[1:-1]])
    for n, *at in np.ndindex(*grid.shape[:-1]):
        part = x[n].astype(np.float64)
        for axis, g in enumerate(grid[(n, *at)][::-1].astype(np.float64)):
            size = x.shape[2 + axis]
            place = (g + 1) / 2 * (size - 1) if corners else ((g + 1) * size - 1) / 2
            first = int(np.floor(place)) - 1
            weights = [kernel("cubic", place - (first + k), -0.75) for k in range(4)]
            taps = np.clip(np.arange(first, first + 4), 0, size - 1)
            part = np.tensordot(part[:, taps], weights, (1, 0))
        wanted[(n, slice(None), *at)] = part
    return wanted


def grid_sample(rng):
    space = int(rng.integers(1, 4))
    n, c = (int(v) for v in rng.integers(1, 3, 2))
    type_name = values.pick(rng, ["float", "double"])
    x = values.random_values(rng, type_name, [n, c, *[int(d) for d in rng.integers(2, 5, space)]], True)
    # Numbers that float holds on the way, so that places are exact, and no halves for what is nearest.
    grid = (rng.integers(-24, 25, [n, *[int(d) for d in rng.integers(1, 4, space)], space]) / 16 + 1 / 64)
    attributes = {"mode": values.pick(rng, ["nearest", "linear", "cubic"]), "align_corners": int(rng.integers(0, 2)),
                  "padding_mode": values.pick(rng, ["zeros", "border", "reflection"])}
    inputs = {"x": (x, type_name), "g": (grid.astype(np.float32), "float")}
    if attributes["mode"] == "cubic" and attributes["padding_mode"] == "border":
        wanted = cubic_at_border(x, grid.astype(np.float32), attributes["align_corners"])
        return "GridSample", int(rng.choice([20, 22])), inputs, type_name, wanted, attributes
    return reference("GridSample", 20, inputs, type_name, attributes)


def affine_grid(rng):
    space = int(rng.integers(2, 4))
    n = int(rng.integers(1, 3))
    theta = rng.normal(size=(n, space, space + 1)).astype(np.float32)
    size = np.array([n, 1, *rng.integers(2, 6, space)], np.int64)
    return reference("AffineGrid", 20, {"t": (theta, "float"), "s": (size, "int64")}, "float",
                     {"align_corners": int(rng.integers(0, 2))})


# ---- NonMaxSuppression -----------------------------------------------------------------------------------------


def suppress(rng):
    batches, kinds, boxes = (int(v) for v in rng.integers(1, [3, 4, 20]))
    corners = rng.integers(0, 9, (batches, boxes, 4)).astype(np.float32)
    scores = rng.integers(-3, 4, (batches, kinds, boxes)).astype(np.float32)
    scores *= rng.choice([-1, 1], scores.shape).astype(np.float32)  # zeros of both signs are equal
    inputs = {"b": (corners, "float"), "s": (scores, "float"), "m": (np.array([int(rng.integers(0, 9))]), "int64"),
              "i": (np.array([0.3], np.float32), "float")}
    if rng.random() < 0.5:
        inputs["t"] = (np.array([rng.choice([-1.5, 1.5])], np.float32), "float")
    return reference("NonMaxSuppression", 11, inputs, "int64", {"center_point_box": int(rng.integers(0, 2))})


KINDS = [resize, resize, resize, resize, resize, resize, keep_ratio, upsample, grid_sample, affine_grid, suppress]


def check(rng, turn):
    """None, or what is wrong with one random node. Lists are constants, or come with the run."""
    case = KINDS[turn % len(KINDS)](rng)
    if case is None:
        return None
    op, opset, inputs, type_name, wanted, attributes = case
    kinds = {name: pair and pair[1] for name, pair in inputs.items()}
    constants = {name: pair[0] for name, pair in inputs.items() if pair and name in "rsz" and pair[0].ndim == 1}
    constants = constants if rng.random() < 0.5 else {}
    text = f"{op} {[(k, v[1], v[0].shape) for k, v in inputs.items() if v]} {attributes}"
    try:
        data = nodes.model_of(op, opset, kinds, {"y": type_name}, constants, **attributes)
        feeds = [pair for name, pair in inputs.items() if pair and name not in constants]
        one, two = (nodes.run(data, feeds, threads)[0] for threads in (1, 2))
    except oxlib.OxError as error:
        return f"{text}: status {error.status}: {error}"
    if one.tobytes() != two.tobytes():
        return f"{text}: differs with two threads"
    tolerance = 2e-4 if op == "GridSample" else TOLERANCE.get(type_name, 0)
    if not nodes.same(one, wanted, tolerance):
        return f"{text}: {one.ravel()[:12].tolist()} and not {np.asarray(wanted).ravel()[:12].tolist()} {one.shape}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 800))
