"""transposed.py: ConvTranspose (of bytes between quantizations, too), Col2Im, MaxUnpool and CausalConvWithState on random shapes and attributes against what the specification says, element
by element, in numpy."""

import itertools
import sys

import arrays
import nodes
import numpy as np
import one_node
import oxlib
import trials
from onnx import helper, numpy_helper


def number(rng, least, most):
    return int(rng.integers(least, most + 1))


def result(node, inputs, version, threads, fixed=()):
    """What ox gives for a node; inputs: {name: (type, array)}, of which those in `fixed` are weights of the model."""
    given = {name: value for name, value in inputs.items() if name not in fixed}
    types = {name: type_name for name, (type_name, _) in given.items()}
    weights = [one_node.constant(name, *inputs[name]) for name in fixed]
    data = nodes.model_around([node], types, {"y": types["x"]}, version, weights)
    return nodes.run(data, [(array, type_name) for type_name, array in given.values()], threads)[0]


def added(columns, image, kernel, strides, dilations, begins):
    """Columns [channels, taps..., windows...] added into images."""
    spatial = len(kernel)
    total = np.zeros([columns.shape[0], *image], columns.dtype)
    for tap in itertools.product(*[range(k) for k in kernel]):
        for window in itertools.product(*[range(n) for n in columns.shape[1 + spatial:]]):
            at = [w * s - p + t * d for w, s, p, t, d in zip(window, strides, begins, tap, dilations)]
            if all(0 <= a < n for a, n in zip(at, image)):
                total[(slice(None), *at)] += columns[(slice(None), *tap, *window)]
    return total


def sizes(rng, version, dims, kernel, strides, dilations):
    """The attributes that say how large the result is, its size, and the padding before it."""
    more = [number(rng, 0, max(s, d) - 1) for s, d in zip(strides, dilations)]
    full = [s * (n - 1) + m + (k - 1) * d + 1 for s, n, m, k, d in zip(strides, dims, more, kernel, dilations)]
    given, kind = {"output_padding": more}, str(rng.choice(["pads", "SAME_UPPER", "SAME_LOWER", "VALID", "shape"]))
    if kind == "pads":
        pads = [(number(rng, 0, 2), number(rng, 0, 2)) for _ in dims]
        if any(f - sum(p) < 0 for f, p in zip(full, pads)):
            return sizes(rng, version, dims, kernel, strides, dilations)
        given["pads"] = [p[0] for p in pads] + [p[1] for p in pads]
        return given, [f - sum(p) for f, p in zip(full, pads)], [p[0] for p in pads]
    if kind == "VALID":
        return {**given, "auto_pad": kind}, full, [0] * len(dims)
    wanted = [s * n for s, n in zip(strides, dims)]
    if kind == "shape":
        wanted = given["output_shape"] = [max(1, f + number(rng, -3, 1)) for f in full]
    else:
        given["auto_pad"] = kind
    total = [max(0, f - w) for f, w in zip(full, wanted)]
    lower = kind == "SAME_LOWER" or (kind == "shape" and version >= 11)
    return given, wanted, [t - t // 2 if lower else t // 2 for t in total]


def transposed(x, w, groups, image, strides, dilations, begins):
    """The sums of ConvTranspose, of the type of x and w."""
    ins, outs = w.shape[0] // groups, w.shape[1]
    sums = np.zeros([x.shape[0], groups * outs, *image], x.dtype)
    for i, g in itertools.product(range(x.shape[0]), range(groups)):
        part = slice(g * ins, g * ins + ins)
        columns = np.tensordot(w[part], x[i, part], ([0], [0]))
        sums[i, g * outs:g * outs + outs] = added(columns, image, w.shape[2:], strides, dilations, begins)
    return sums


def check_transposed(rng):
    version = int(rng.choice([1, 11, 22]))
    type_name = str(rng.choice(["float", "float", "double", "float16"] + ["bfloat16"] * (version == 22)))
    spatial, groups = number(rng, 1, 3), number(rng, 1, 3)
    dims = [number(rng, 1, {1: 40, 2: 7, 3: 3}[spatial]) for _ in range(spatial)]
    kernel = [number(rng, 1, 3) for _ in dims]
    strides, dilations = [number(rng, 1, 3) for _ in dims], [number(rng, 1, 2) for _ in dims]
    images, ins, outs = number(rng, 1, 2), number(rng, 1, 3), number(rng, 1, 3)
    given, image, begins = sizes(rng, version, dims, kernel, strides, dilations)
    dtype = arrays.DTYPES[type_name][1]
    x = rng.integers(-4, 5, [images, groups * ins, *dims]).astype(dtype)
    w = rng.integers(-4, 5, [groups * ins, outs, *kernel]).astype(dtype)
    inputs = {"x": (type_name, x), "w": (type_name, w)}
    wanted = transposed(x.astype(float), w.astype(float), groups, image, strides, dilations, begins)
    if rng.random() < 0.5:
        inputs["b"] = (type_name, rng.integers(-4, 5, [groups * outs]).astype(dtype))
        wanted += inputs["b"][1].astype(float).reshape(-1, *[1] * spatial)
    node = helper.make_node("ConvTranspose", list(inputs), ["y"], group=groups, strides=strides, dilations=dilations,
                            **given)
    got = result(node, inputs, version, number(rng, 1, 3), ["w"] if rng.random() < 0.5 else [])
    right = got.shape == wanted.shape and np.array_equal(got, wanted.astype(dtype))
    return None if right else f"ConvTranspose-{version} {type_name} {x.shape} {w.shape} group {groups} {strides} " \
                              f"{dilations} {given}"


def any_bytes(rng, kind, dims):
    """Of the whole range, or the least and the greatest alone."""
    limits = np.iinfo(kind)
    if rng.random() < 0.2:
        return rng.choice(np.array([limits.min, limits.max], kind), dims)
    return rng.integers(limits.min, limits.max + 1, dims).astype(kind)


def any_zero(rng, kind, dims):
    return any_bytes(rng, kind, dims) if rng.random() < 0.6 else np.zeros(dims, kind)


def check_bytes(rng):
    """ConvTranspose between quantizations: the sums of integers, times a factor in double, rounded to even."""
    version = int(rng.choice([10, 13, 21]))
    x_kind, w_kind, y_kind = (str(k) for k in rng.choice(["uint8", "int8"], 3))
    spatial, groups = number(rng, 1, 3), number(rng, 1, 3)
    dims = [number(rng, 1, {1: 40, 2: 9, 3: 4}[spatial]) for _ in range(spatial)]
    kernel = [number(rng, 1, 3) for _ in dims]
    strides, dilations = [number(rng, 1, 3) for _ in dims], [number(rng, 1, 2) for _ in dims]
    if rng.random() < 0.3: # windows side by side
        strides, dilations = kernel, [1] * spatial if rng.random() < 0.7 else dilations
    if rng.random() < 0.1:
        dims = [1] * spatial
    ins, outs = number(rng, 1, int(rng.choice([1, 9, 70]))), number(rng, 1, 9)
    given, image, begins = sizes(rng, version, dims, kernel, strides, dilations)
    x, w = any_bytes(rng, x_kind, [number(rng, 1, 2), groups * ins, *dims]), any_bytes(rng, w_kind, [groups * ins, outs, *kernel])
    each = version > 10 and rng.random() < 0.6
    kept = {"xs": np.float32(rng.uniform(0.002, 0.05)), "ys": np.float32(rng.uniform(0.01, 0.6)), "xz": any_zero(rng, x_kind, []),
            "ws": rng.uniform(0.002, 0.05, [outs] if each else []).astype(np.float32), "yz": any_zero(rng, y_kind, [])}
    kept["wz"] = any_zero(rng, w_kind, kept["ws"].shape)
    omitted = {name for name, zero in (("xz", 0), ("wz", 0), ("yz", 0)) if rng.random() < 0.3 and not kept[name].any()}
    omitted -= {"yz"} if y_kind == "int8" else set()
    sums = transposed(x.astype(np.int64) - int(kept["xz"]), w.astype(np.int64) - kept["wz"].astype(np.int64).reshape(-1, *[1] * spatial),
                      groups, image, strides, dilations, begins)
    axis = {"axis": int(rng.choice([1, -1 - spatial]))} if each else {}
    parts = [helper.make_node("DequantizeLinear", ["x", "xs", *{"xz"} - omitted], ["xf"]),
             helper.make_node("DequantizeLinear", ["w", "ws", *{"wz"} - omitted], ["wf"], **axis)]
    every = np.tile(kept["ws"].reshape(-1), groups * (1 if each else outs))
    if rng.random() < 0.6:
        kept["b"], kept["bs"] = rng.integers(-9000, 9000, groups * outs).astype(np.int32), kept["xs"] * every
        sums += kept["b"].reshape(-1, *[1] * spatial)
        if version == 10: # one scale for all
            kept["bs"] = kept["bs"][0]
        parts.append(helper.make_node("DequantizeLinear", ["b", "bs"], ["bf"], **({"axis": 0} if version > 10 else {})))
    parts.append(helper.make_node("ConvTranspose", ["xf", "wf", "bf"][:len(parts)], ["yf"], group=groups, strides=strides,
                                  dilations=dilations, **given))
    parts.append(helper.make_node("QuantizeLinear", ["yf", "ys", *{"yz"} - omitted], ["y"]))
    kept["w"] = w
    factors = kept["xs"].astype(float) * every.astype(float) / kept["ys"].astype(float)
    limits = np.iinfo(y_kind)
    wanted = np.clip(np.rint(sums * factors.reshape(-1, *[1] * spatial)) + int(kept["yz"]), limits.min, limits.max)
    text = f"bytes {version} {x_kind} {w_kind} {x.shape} {w.shape} group {groups} {strides} {dilations} {given} {sorted(kept)} {omitted}"
    data = nodes.model_around(parts, {"x": x_kind}, {"y": y_kind}, version,
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in kept.items() if k not in omitted])
    model = oxlib.Model(data)
    session = oxlib.Session(model, oxlib.Options(threads=number(rng, 1, 3), check=rng.random() < 0.3))
    session.set_input(0, arrays.to_input(x, x_kind))
    session.run()
    got, listed = arrays.from_tensor(session.output(0))[1].copy(), [op for op, _ in session.nodes()]
    session.close()
    model.close()
    if listed != ["QLinearConvTranspose"]:
        return f"{text}: runs {listed}"
    return None if got.shape == wanted.shape and np.array_equal(got, wanted) else text


def check_blocks(rng):
    type_name = str(rng.choice(["float", "double", "float16", "bfloat16", "int8", "uint16", "int32", "int64"]))
    spatial = number(rng, 1, 3)
    image = [number(rng, 1, {1: 40, 2: 9, 3: 4}[spatial]) for _ in range(spatial)]
    block = [number(rng, 1, 3) for _ in image]
    strides, dilations = [number(rng, 1, 3) for _ in image], [number(rng, 1, 2) for _ in image]
    pads = [(number(rng, 0, 2), number(rng, 0, 2)) for _ in image]
    rooms = [n + sum(p) - (k - 1) * d - 1 for n, p, k, d in zip(image, pads, block, dilations)]
    if min(rooms) < 0:
        return check_blocks(rng)
    windows = [r // s + 1 for r, s in zip(rooms, strides)]
    images, channels = number(rng, 1, 2), number(rng, 1, 3)
    dtype = arrays.DTYPES[type_name][1]
    x = rng.integers(0 if type_name == "uint16" else -4, 5,
                     [images, channels * int(np.prod(block)), int(np.prod(windows))]).astype(dtype)
    columns = x.astype(float).reshape(images * channels, *block, *windows)
    wanted = added(columns, image, block, strides, dilations, [p[0] for p in pads])
    inputs = {"x": (type_name, x), "i": ("int64", np.array(image)), "b": ("int64", np.array(block))}
    node = helper.make_node("Col2Im", list(inputs), ["y"], strides=strides, dilations=dilations,
                            pads=[p[0] for p in pads] + [p[1] for p in pads])
    got = result(node, inputs, 18, number(rng, 1, 3))
    right = got.shape == (images, channels, *image) and \
        np.array_equal(got, wanted.reshape(got.shape).astype(dtype))
    return None if right else f"Col2Im {type_name} {x.shape} {image} {block} {strides} {dilations} {pads}"


def check_unpooled(rng):
    """Elements go to the places of a flat image, which is the first part of a larger one where a shape is given."""
    version = int(rng.choice([9, 11, 22]))
    type_name = str(rng.choice(["float", "double", "float16"] + ["bfloat16"] * (version == 22)))
    dims = [number(rng, 1, 3), number(rng, 1, 3), *[number(rng, 1, 5) for _ in range(number(rng, 1, 3))]]
    kernel, strides = [number(rng, 1, 3) for _ in dims[2:]], [number(rng, 1, 3) for _ in dims[2:]]
    pads = [(number(rng, 0, 1), number(rng, 0, 1)) if rng.random() < 0.3 else (0, 0) for _ in kernel]
    image = [(n - 1) * s + k - sum(p) for n, s, k, p in zip(dims[2:], strides, kernel, pads)]
    x = rng.integers(-9, 10, dims).astype(arrays.DTYPES[type_name][1])
    size = int(np.prod(dims[:2] + image)) if min(image) > 0 else 0
    if size < x.size:
        return check_unpooled(rng)
    places = rng.permutation(size)[:x.size].reshape(dims)
    wanted = np.zeros(size, x.dtype)
    wanted[places.reshape(-1)] = x.reshape(-1)
    wanted = wanted.reshape(*dims[:2], *image)
    inputs = {"x": (type_name, x), "i": ("int64", places)}
    given = {"kernel_shape": kernel, "strides": strides}
    if any(map(sum, pads)):
        given["pads"] = [p[0] for p in pads] + [p[1] for p in pads]
    elif rng.random() < 0.4:
        more = [0, 0, *[number(rng, 0, 2) for _ in image]]
        inputs["s"] = ("int64", np.array(wanted.shape) + more)
        wanted = np.pad(wanted, [(0, m) for m in more])
    got = result(helper.make_node("MaxUnpool", list(inputs), ["y"], **given), inputs, version, number(rng, 1, 3))
    right = got.shape == wanted.shape and np.array_equal(got, wanted)
    return None if right else f"MaxUnpool-{version} {type_name} {dims} {given} {inputs.get('s')}"


def handed_on(rng, dims):
    """Nodes that indices go through on their way, and the name of what comes out."""
    steps, name, weights = [], "i", {}
    for k in range(number(rng, 0, 2)):
        op = str(rng.choice(["Identity", "Cast", "Reshape", "Unsqueeze"]))
        made = f"h{k}"
        if op == "Unsqueeze":
            weights["zero"] = ("int64", np.array([0]))
            steps += [helper.make_node(op, [name, "zero"], [made + "u"]), helper.make_node("Squeeze", [made + "u", "zero"], [made])]
        elif op == "Reshape":
            weights["same"] = ("int64", np.array(dims))
            steps.append(helper.make_node(op, [name, "same"], [made]))
        else:
            steps.append(helper.make_node(op, [name], [made], **({"to": 7} if op == "Cast" else {})))
        name = made
    return steps, name, weights


def check_pooled(rng):
    """MaxUnpool of what a MaxPool of the same model gives puts every element back where it was, into an image of any
    size that has its place."""
    version = int(rng.choice([13, 22]))
    image = [number(rng, 1, 3), number(rng, 1, 3), *[number(rng, 2, 9) for _ in range(number(rng, 1, 3))]]
    kernel, strides = [number(rng, 1, 3) for _ in image[2:]], [number(rng, 1, 3) for _ in image[2:]]
    pads = [(number(rng, 0, k - 1), number(rng, 0, k - 1)) if rng.random() < 0.3 else (0, 0) for k in kernel]
    if any(n + sum(p) < k for n, k, p in zip(image[2:], kernel, pads)):
        return check_pooled(rng)
    windows = {"kernel_shape": kernel, "strides": strides, "pads": [p[0] for p in pads] + [p[1] for p in pads]}
    x = (rng.permutation(int(np.prod(image))) + 1).reshape(image).astype(np.float32)
    order = {"storage_order": 1} if rng.random() < 0.3 else {}
    pool = helper.make_node("MaxPool", ["x"], ["p", "i"], ceil_mode=int(rng.random() < 0.3), **windows, **order)
    first = nodes.model_around([pool], {"x": "float"}, {"p": "float"}, version)
    pooled = nodes.run(first, [(x, "float")])[0]
    steps, name, weights = handed_on(rng, pooled.shape)
    ends, out = ["p", name], [(n - 1) * s + k - sum(p) for n, s, k, p in zip(pooled.shape[2:], strides, kernel, pads)]
    if rng.random() < 0.7 or min(out) < 1:
        out = [max(1, n + (number(rng, -1, 2) if rng.random() < 0.3 else 0)) for n in image[2:]]
        ends.append("s")
        weights["s"] = ("int64", np.array(image[:2] + out))
    unpool = helper.make_node("MaxUnpool", ends, ["y"], **windows)
    every = [pool, *steps, unpool] if rng.random() < 0.7 else [unpool, *steps, pool]
    data = nodes.model_around(every, {"x": "float"}, {"y": "float"}, version,
                              [one_node.constant(n, *pair) for n, pair in weights.items()])
    text = f"MaxUnpool-{version} of MaxPool {image} {windows} {order} to {out} by {[s.op_type for s in steps]}"
    places = np.argwhere(np.isin(x, pooled))
    try:
        got = nodes.run(data, [(x, "float")], number(rng, 1, 3))[0]
    except oxlib.OxError as error:
        return None if error.status == oxlib.VALUE and (places[:, 2:] >= out).any() else f"{text}: {error}"
    wanted = np.zeros(image[:2] + out, np.float32)
    for place in map(tuple, places):
        if any(a >= n for a, n in zip(place[2:], out)):
            return f"{text}: {place} has no place"
        wanted[place] = x[place]
    return None if got.shape == wanted.shape and np.array_equal(got, wanted) else text


def check_causal(rng):
    """Each position sees itself and those before, of which a state has the last ones."""
    type_name = str(rng.choice(["float", "float16", "bfloat16"]))
    dtype = arrays.DTYPES[type_name][1]
    images, channels, length, taps = (number(rng, 1, most) for most in (3, 5, 40, 6))
    whole = lambda *dims: rng.integers(-3, 4, dims).astype(dtype)
    x, w = whole(images, channels, length), whole(channels, 1, taps)
    state = whole(images, channels, taps - 1) if rng.random() < 0.6 else None
    bias = whole(channels) if rng.random() < 0.5 else None
    padded = np.concatenate([np.zeros([images, channels, taps - 1], dtype) if state is None else state, x], 2)
    wanted = sum(padded[:, :, k:k + length].astype(float) * w[:, 0, k, None].astype(float) for k in range(taps))
    wanted = wanted + (0 if bias is None else bias.astype(float)[:, None])
    activation = str(rng.choice(["none", "silu", "swish"]))
    if activation != "none":
        wanted = wanted / (1 + np.exp(-wanted))
    inputs = {"x": x, "w": w, "b": bias, "s": state}
    types = {name: type_name if array is not None else "" for name, array in inputs.items()}
    while not types[list(types)[-1]]:
        types.popitem()
    data = nodes.model_of("CausalConvWithState", 27, types, {"y": type_name, "n": type_name}, activation=activation)
    feeds = [(array, type_name) for array in inputs.values() if array is not None]
    got = nodes.run(data, feeds, number(rng, 1, 3))
    rounding = {"float": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[type_name] if activation != "none" else 0
    right = np.allclose(got[0].astype(float), wanted.astype(dtype).astype(float), rtol=rounding, atol=rounding)
    right = right and got[0].shape == x.shape and np.array_equal(got[1], padded[:, :, length:])
    return None if right else f"CausalConvWithState {type_name} {x.shape} {taps} {activation} {types}"


CHECKS = [(0.1, check_blocks), (0.1, check_unpooled), (0.1, check_pooled), (0.1, check_causal), (0.3, check_transposed),
          (0.3, check_bytes)]


def check(rng, _):
    """None, or what is wrong with one random case."""
    return CHECKS[int(rng.choice(len(CHECKS), p=[share for share, _ in CHECKS]))][1](rng)


if __name__ == "__main__":
    sys.exit(trials.run(check, 400))
