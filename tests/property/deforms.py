"""deforms.py: DeformConv on random shapes and attributes, offsets beyond the image and none at all, against what the
specification says, element by element, in numpy."""

import itertools
import sys

import arrays
import nodes
import numpy as np
import trials
from onnx import helper

TOLERANCES = {"float": 1e-5, "double": 1e-12, "float16": 2e-3, "bfloat16": 1.6e-2}


def number(rng, least, most):
    return int(rng.integers(least, most + 1))


def sampled(planes, place):
    """Planes [channels, ...] at a place between elements: linear, and 0 outside."""
    low = [int(np.floor(p)) for p in place]
    total = np.zeros(planes.shape[0])
    for sides in itertools.product([0, 1], repeat=len(place)):
        at = [n + s for n, s in zip(low, sides)]
        if all(0 <= a < n for a, n in zip(at, planes.shape[1:])):
            total += planes[(slice(None), *at)] * np.prod([1 - abs(p - a) for p, a in zip(place, at)])
    return total


def columns(x, offsets, mask, kernel, out, strides, dilations, begins):
    """[channels, taps..., windows...] of one image; offsets: [groups, taps..., dims, windows...]."""
    groups, channels = offsets.shape[0], x.shape[0] // offsets.shape[0]
    made = np.zeros([x.shape[0], *kernel, *out])
    for group, tap in itertools.product(range(groups), itertools.product(*[range(k) for k in kernel])):
        part = slice(group * channels, group * channels + channels)
        for window in itertools.product(*[range(n) for n in out]):
            shift = offsets[(group, *tap, slice(None), *window)]
            place = [w * s - p + t * d + o for w, s, p, t, d, o in zip(window, strides, begins, tap, dilations, shift)]
            made[(part, *tap, *window)] = sampled(x[part], place) * mask[(group, *tap, *window)]
    return made


def drawn(rng, shape, dtype):
    """Eighths, so that even the smallest type has them exactly."""
    return (rng.integers(-16, 17, shape) / 8).astype(dtype)


def check(rng, _):
    """None, or what is wrong with one random case."""
    version = int(rng.choice([19, 22]))
    type_name = str(rng.choice(["float", "double", "float16"] + ["bfloat16"] * (version == 22)))
    dtype = arrays.DTYPES[type_name][1]
    spatial = number(rng, 1, 3)
    kernel, strides = [number(rng, 1, 3) for _ in range(spatial)], [number(rng, 1, 2) for _ in range(spatial)]
    dilations, pads = [number(rng, 1, 2) for _ in kernel], [number(rng, 0, 2) for _ in kernel * 2]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    image = [max(1, number(rng, s, s + {1: 80, 2: 6, 3: 2}[spatial]) - number(rng, 0, p + q))
             for s, p, q in zip(spans, pads, pads[spatial:])]
    out = [(n + p + q - s) // t + 1 for n, p, q, s, t in zip(image, pads, pads[spatial:], spans, strides)]
    groups, shifts = number(rng, 1, 2), number(rng, 1, 2)
    many = rng.random() < 0.2  # so that rows of the product do not fit one block
    channels = groups * shifts * (number(rng, 20, 70) if many else number(rng, 1, 2))
    outs, images = groups * number(rng, 1, 2), number(rng, 1, 2)
    taps = int(np.prod(kernel))
    inputs = {"x": drawn(rng, [images, channels, *image], dtype), "w": drawn(rng, [outs, channels // groups, *kernel], dtype),
              "o": drawn(rng, [images, shifts * taps * spatial, *out], dtype)}
    inputs["o"][rng.random(inputs["o"].shape) < 0.02] = rng.choice([np.nan, np.inf, -1000])
    bias, mask = np.zeros(outs, dtype), np.ones([images, shifts * taps, *out], dtype)
    names = ["x", "w", "o", "", ""]
    if rng.random() < 0.5:
        names[3], bias = "b", drawn(rng, [outs], dtype)
        inputs["b"] = bias
    if rng.random() < 0.5:
        names[4], mask = "m", drawn(rng, mask.shape, dtype)
        inputs["m"] = mask
    node = helper.make_node("DeformConv", names, ["y"], group=groups, offset_group=shifts, strides=strides,
                            dilations=dilations, pads=pads)
    data = nodes.model_around([node], dict.fromkeys(inputs, type_name), {"y": type_name}, version)
    got = nodes.run(data, [(array, type_name) for array in inputs.values()], number(rng, 1, 3))[0]
    wanted = np.zeros([images, outs, *out])
    # What lies nowhere is outside.
    offsets = np.where(np.isfinite(inputs["o"].astype(float)), inputs["o"].astype(float), 1e6)
    for i in range(images):
        made = columns(inputs["x"][i].astype(float), offsets[i].reshape(shifts, *kernel, spatial, *out),
                       mask[i].astype(float).reshape(shifts, *kernel, *out), kernel, out, strides, dilations, pads)
        for channel in range(outs):
            group = channel // (outs // groups)
            part = made[group * (channels // groups):(group + 1) * (channels // groups)]
            wanted[i, channel] = np.tensordot(inputs["w"][channel].astype(float), part, spatial + 1) + float(bias[channel])
    tolerance = TOLERANCES[type_name]
    right = got.shape == wanted.shape and np.allclose(got.astype(float), wanted, tolerance, tolerance)
    return None if right else f"DeformConv-{version} {type_name} {inputs['x'].shape} {inputs['w'].shape} group {groups} " \
                              f"{shifts} strides {strides} dilations {dilations} pads {pads}"


if __name__ == "__main__":
    sys.exit(trials.run(check, 100))
