"""regions.py: RoiAlign and MaxRoiPool on random regions, inside, across and beyond images, against what the
specification says, element by element, in numpy."""

import math
import sys

import arrays
import nodes
import numpy as np
import oxlib
import trials
from onnx import helper

TOLERANCES = {"float": 1e-5, "double": 1e-12}
ISAS = [None, *oxlib.builds()]


def number(rng, least, most):
    return int(rng.integers(least, most + 1))


def between(at, size):
    """The two places that a sample lies between, each with its weight; None beyond the image."""
    if not -1 <= at <= size:
        return None
    at = max(at, 0)
    low = int(at)
    if low >= size - 1:
        return [(size - 1, 1), (size - 1, 0)]
    return [(low, 1 - (at - low)), (low + 1, at - low)]


def samples(start, end, i, parts, ratio, aligned):
    length = end - start if aligned else max(end - start, 1)
    each = length / parts
    count = ratio or math.ceil(each)
    return [start + i * each + (k + 0.5) * (each / count) for k in range(count)]


def aligned_cell(plane, ys, xs, greatest):
    found = []
    for y in ys:
        for x in xs:
            rows, columns = between(y, plane.shape[0]), between(x, plane.shape[1])
            parts = [wr * wc * plane[r, c] for r, wr in rows for c, wc in columns] if rows and columns else [0]
            found.append(max(parts) if greatest else sum(parts))
    if not found:
        return 0
    return max(found) if greatest else sum(found) / len(found)


def pooled_cell(plane, box, row, column, size):
    ranges = []
    for start, end, i, parts, most in [(box[1], box[3], row, size[0], plane.shape[0]),
                                       (box[0], box[2], column, size[1], plane.shape[1])]:
        start, end = (math.copysign(math.floor(abs(v) + 0.5), v) for v in (start, end))
        each = max(end - start + 1, 1) / parts
        ranges.append([int(min(max(start + v, 0), most)) for v in (math.floor(i * each), math.ceil((i + 1) * each))])
    part = plane[ranges[0][0]:ranges[0][1], ranges[1][0]:ranges[1][1]]
    return part.max() if part.size else 0


def boxes(rng, count, image, dtype):
    """left, top, right, bottom, in quarters; some reach beyond the image, and some are upside down."""
    most = 4 * max(image)
    first = rng.integers(-most // 2, most + 1, [count, 2])
    last = first + rng.integers(-8 if rng.random() < 0.2 else 0, most + 4, [count, 2])
    return (np.concatenate([first, last], 1) / 4).astype(dtype)


def check(rng, _):
    """None, or what is wrong with one random case."""
    pools = rng.random() < 0.3
    version = int(rng.choice([1, 22] if pools else [10, 16, 22]))
    type_name = str(rng.choice(["float", "double"]))
    dtype = arrays.DTYPES[type_name][1]
    image, size = [number(rng, 1, 14) for _ in range(2)], [number(rng, 1, 4) for _ in range(2)]
    images, count = number(rng, 1, 2), number(rng, 0, 3)
    channels = number(rng, 1, rng.choice([4, 40, 300], p=[0.8, 0.17, 0.03]))  # vectors of them, and several pieces
    x = (rng.integers(-64, 65, [images, channels, *image]) / 16).astype(dtype)
    regions, which = boxes(rng, count, image, dtype), rng.integers(0, images, count)
    scale = float(rng.choice([1, 0.5, 0.25, 2]))
    shown = {"spatial_scale": scale}
    if pools:
        shown["pooled_shape"] = size
        inputs = {"x": x, "r": np.concatenate([which[:, None].astype(dtype), regions], 1)}
    else:
        inputs = {"x": x, "r": regions, "i": which.astype(np.int64)}
        shown |= {"output_height": size[0], "output_width": size[1], "sampling_ratio": int(rng.choice([0, 1, 2, 3, 9])),
                  "mode": str(rng.choice(["avg", "max"]))}
        if version >= 16:
            shown["coordinate_transformation_mode"] = str(rng.choice(["half_pixel", "output_half_pixel"]))
    node = helper.make_node("MaxRoiPool" if pools else "RoiAlign", list(inputs), ["y"], **shown)
    types = {name: "int64" if name == "i" else type_name for name in inputs}
    data = nodes.model_around([node], types, {"y": type_name}, version)
    got = nodes.run(data, [(array, types[name]) for name, array in inputs.items()], number(rng, 1, 3),
                    isa=ISAS[number(rng, 0, len(ISAS) - 1)])[0]
    aligned = version >= 16 and shown.get("coordinate_transformation_mode") == "half_pixel"
    wanted = np.zeros([count, channels, *size])
    for region, channel, row, column in np.ndindex(*wanted.shape):
        plane = x[which[region], channel].astype(float)
        box = regions[region].astype(float) * scale - (0.5 if aligned else 0)
        if pools:
            wanted[region, channel, row, column] = pooled_cell(plane, box, row, column, size)
        else:
            ratio = shown["sampling_ratio"]
            wanted[region, channel, row, column] = aligned_cell(
                plane, samples(box[1], box[3], row, size[0], ratio, aligned),
                samples(box[0], box[2], column, size[1], ratio, aligned), shown["mode"] == "max")
    tolerance = TOLERANCES[type_name]
    right = got.shape == wanted.shape and np.allclose(got.astype(float), wanted, tolerance, tolerance)
    return None if right else f"{node.op_type}-{version} {type_name} {x.shape} {regions.tolist()} {shown}"


if __name__ == "__main__":
    sys.exit(trials.run(check, 300))
