"""pools.py: MaxPool, AveragePool, LpPool and the global pools against what the specification says, in numpy: images of
one to three dimensions, kernels, strides, dilations, pads and rounding of any kind, all types and versions."""

import sys

import arrays
import nodes
import numpy as np
import trials
from onnx import helper

VERSIONS = {"MaxPool": [1, 8, 10, 11, 12, 22], "AveragePool": [1, 7, 10, 11, 19, 22], "LpPool": [1, 2, 11, 18, 22],
            "GlobalMaxPool": [1, 22], "GlobalAveragePool": [1, 22], "GlobalLpPool": [1, 2, 22]}
DILATED = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}
CEILED = {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}


def number(rng, most):
    return int(rng.integers(0, most + 1))


def dimension(rng, op, version, image, case):
    """One dimension: (kernel, stride, dilation, pads, windows), or None where no window fits."""
    kernel = 1 + number(rng, 40 if rng.random() < 0.1 else 4)
    stride = 1 + number(rng, 3)
    dilation = 1 + number(rng, 2) if version >= DILATED[op] and rng.random() < 0.4 else 1
    pads = [number(rng, 3), number(rng, 3)] if case["auto_pad"] == "NOTSET" and rng.random() < 0.6 else [0, 0]
    reach = (kernel - 1) * dilation + 1
    if case["auto_pad"].startswith("SAME"):
        windows = -(-image // stride)
        total = max(0, (windows - 1) * stride + reach - image)
        pads = [total // 2, total - total // 2]
        if case["auto_pad"] == "SAME_LOWER":
            pads.reverse()
        return kernel, stride, dilation, pads, windows
    room, ceil = image + sum(pads) - reach, case["ceil_mode"] and case["auto_pad"] == "NOTSET"
    if room < 0 and not (ceil and -room < stride):
        return None
    windows = room // stride + 1
    if ceil:
        windows = -(-room // stride) + 1
        if windows > 1 and (windows - 1) * stride >= image + pads[0]:
            windows -= 1
    return kernel, stride, dilation, pads, windows


def draw(rng):
    """An operator, its attributes, and its dimensions."""
    op = str(rng.choice(["MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"]))
    version = int(rng.choice(VERSIONS[op]))
    case = {"auto_pad": str(rng.choice(["NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])),
            "ceil_mode": int(version >= CEILED[op] and rng.random() < 0.4)}
    spatial = 1 + number(rng, 2)
    most = {1: 300, 2: 40, 3: 9}[spatial]
    shape = [1 + number(rng, most - 1) for _ in range(spatial)]
    if spatial == 1 and rng.random() < 0.1:
        shape = [3000]
    if spatial == 2 and rng.random() < 0.2:
        shape[1] = 1 + number(rng, 200)
    found = [dimension(rng, op, version, image, case) for image in shape]
    return (op, version, case, shape, found) if all(found) else draw(rng)


def attributes(rng, op, version, case, found):
    given = {"kernel_shape": [d[0] for d in found], "auto_pad": case["auto_pad"]}
    given["strides"] = [d[1] for d in found]
    if any(d[2] > 1 for d in found):
        given["dilations"] = [d[2] for d in found]
    if case["auto_pad"] == "NOTSET":
        given["pads"] = [d[3][0] for d in found] + [d[3][1] for d in found]
    if case["ceil_mode"]:
        given["ceil_mode"] = 1
    if op == "AveragePool" and version >= 7:
        given["count_include_pad"] = number(rng, 1)
    if op == "LpPool":
        given["p"] = float(rng.choice([1, 2, 3, 1.5])) if version == 1 else int(rng.choice([1, 2, 3]))
    if op == "MaxPool" and version >= 8:
        given["storage_order"] = number(rng, 1)
    return given


def windows_of(x, found):
    """All elements that each window sees, in the last dimension, with their place; and whether they are in the image,
    or in the padding."""
    lists = []
    for image, (kernel, stride, dilation, pads, windows) in zip(x.shape[2:], found):
        at = np.arange(windows)[:, None] * stride - pads[0] + np.arange(kernel)[None] * dilation
        lists.append((at, (at >= 0) & (at < image), at < image + pads[1], np.clip(at, 0, image - 1)))
    spatial = len(found)
    outs = [entry[0].shape[0] for entry in lists]

    def joined(parts, op):
        total = None
        for d, part in enumerate(parts):
            shape = [1] * (2 * spatial)
            shape[d], shape[spatial + d] = part.shape
            total = part.reshape(shape) if total is None else op(total, part.reshape(shape))
        full = outs + [entry[0].shape[1] for entry in lists]
        return np.broadcast_to(total, full).reshape(*outs, -1)

    inside = joined([entry[1] for entry in lists], np.logical_and)
    counted = joined([entry[2] for entry in lists], np.logical_and)
    place = None
    for d, entry in enumerate(lists):
        step = int(np.prod(x.shape[3 + d:], dtype=np.int64))
        part = [np.zeros_like(e[3]) for e in lists]
        part[d] = entry[3] * step
        term = joined(part, np.add)
        place = term if place is None else place + term
    return place, inside, counted


def expected(op, x, found, given):
    place, inside, counted = windows_of(x, found)
    flat = x.reshape(*x.shape[:2], -1)
    seen = flat[:, :, place]
    if op == "MaxPool":
        least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        seen = np.where(inside, seen, np.asarray(least).astype(x.dtype))
        # Padding is never what was found, not even where all of an image is the least number.
        first = (inside & (seen == seen.max(-1, keepdims=True))).argmax(-1)
        at = np.take_along_axis(np.broadcast_to(place, seen.shape), first[..., None], -1)[..., 0]
        if given.get("storage_order"):
            index = np.unravel_index(at, x.shape[2:])
            at = np.ravel_multi_index(index[::-1], x.shape[:1:-1])
        channel = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (at.ndim - 2))
        return seen.max(-1), (channel * flat.shape[-1] + at if inside.any(-1).all() else None)
    seen = np.where(inside, seen.astype(np.float64), 0)
    with np.errstate(all="ignore"):
        if op == "AveragePool":
            return seen.sum(-1) / (counted if given.get("count_include_pad") else inside).sum(-1), None
        return (np.abs(seen) ** given["p"]).sum(-1) ** (1 / given["p"]), None


def run(op, version, type_name, x, given, outputs, threads):
    results = {name: type_name if name == "y" else "int64" for name in outputs if name}
    data = nodes.model_around([helper.make_node(op, ["x"], outputs, **given)], {"x": type_name}, results, version)
    return nodes.run(data, [(x, type_name)], threads)


def random_image(rng, type_name, dims):
    if type_name in ("int8", "uint8"):
        limits = np.iinfo(type_name)
        return rng.integers(limits.min, limits.max + 1, dims).astype(type_name)
    x = rng.integers(-9, 9, dims) if rng.random() < 0.3 else rng.standard_normal(dims)
    if rng.random() < 0.1:
        x = rng.choice([-0.0, 0.0, -1], dims)
    return x.astype(arrays.DTYPES[type_name][1])


def close(got, wanted, type_name):
    rounding = {"double": 1e-12, "float": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}.get(type_name, 0)
    if got.shape != wanted.shape:
        return False
    # What a type is too small for is infinite.
    with np.errstate(over="ignore"):
        wanted = wanted.astype(got.dtype)
    return np.allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=rounding, atol=rounding / 10,
                       equal_nan=True)


def check_global(rng):
    op = str(rng.choice(["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"]))
    version = int(rng.choice(VERSIONS[op]))
    type_name = str(rng.choice(["float", "double", "float16"] + ["bfloat16"] * (version >= 22)))
    dims = [1 + number(rng, 3) for _ in range(2)] + [1 + number(rng, 30) for _ in range(number(rng, 3))]
    x, given, axes = random_image(rng, type_name, dims), {}, tuple(range(2, len(dims)))
    if op == "GlobalLpPool":
        given["p"] = float(rng.choice([1, 2, 3])) if version == 1 else int(rng.choice([1, 2, 3]))
    wide = x.astype(np.float64)
    if op == "GlobalLpPool":
        wanted = (np.abs(wide) ** given["p"]).sum(axes, keepdims=True) ** (1 / given["p"])
    else:
        wanted = (np.max if op == "GlobalMaxPool" else np.mean)(wide, axes, keepdims=True)
    got = run(op, version, type_name, x, given, ["y"], 1)[0]
    return None if close(got, wanted, type_name) else f"{op}-{version} {type_name} {dims} {given}"


def check_empty(rng):
    """Windows over padding alone, of an image without elements."""
    op, empty = str(rng.choice(["MaxPool", "AveragePool", "LpPool", "GlobalLpPool"])), number(rng, 1)
    dims = [3, 3]
    dims[empty] = 0
    given = {} if op == "GlobalLpPool" else {"kernel_shape": [2, 2], "pads": [2, 2, 2, 2]}
    got = run(op, 22, "float", np.zeros([1, 2, *dims], np.float32), given, ["y"], 1)[0]
    windows = [1, 1] if not given else [6, 3] if empty else [3, 6]
    nothing = {"MaxPool": -np.inf, "AveragePool": np.nan}.get(op, 0)
    right = np.array_equal(got, np.full([1, 2, *windows], nothing, np.float32), equal_nan=True)
    return None if right else f"{op} of an image {dims} gives {got.tolist()}"


def check(rng, _):
    """None, or what is wrong with one random pool."""
    if rng.random() < 0.03:
        return check_empty(rng)
    if rng.random() < 0.1:
        return check_global(rng)
    op, version, case, shape, found = draw(rng)
    types = ["float", "float", "double", "float16"] + ["bfloat16"] * (version >= 22)
    types += ["int8", "uint8"] * 3 * (op == "MaxPool" and version >= 12)
    type_name = str(rng.choice(types))
    x = random_image(rng, type_name, [1 + number(rng, 2), 1 + number(rng, 3), *shape])
    given = attributes(rng, op, version, case, found)
    values, places = expected(op, x, found, given)
    with_places = op == "MaxPool" and version >= 8 and places is not None and rng.random() < 0.5
    outputs = [["y"], ["y", "i"], ["", "i"]][number(rng, 1) + 1 if with_places else 0]
    results = dict(zip([name for name in outputs if name],
                       run(op, version, type_name, x, given, outputs, int(rng.integers(1, 4)))))
    text = f"{op}-{version} {type_name} {list(x.shape)} {given} gives {'%s'}"
    if "y" in results and not close(results["y"], values, type_name):
        return text % "other values"
    if op == "MaxPool" and "y" in results and np.signbit(results["y"].astype(np.float64))[values == 0].any():
        return text % "-0"
    if "i" in results and not np.array_equal(results["i"], places):
        return text % "other indices"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 600))
