"""caches.py [--seed N] [--cases N]: outputs in the memory of inputs: GroupQueryAttention, MultiHeadAttention and TensorScatter
whose caches stay where they are, several steps of a sequence, against the same steps with memory of their own, bit for bit.
Some caches are read by other nodes, too, go through views, or lie a row beside their outputs: then outputs are copied at the
end. On one thread and three, fused and not, and with every step checked; short caches, of which runs make copies."""

import sys

import arrays
import nodes
import numpy as np
import oxlib
import trials
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"
ALIGNED = 64


def block(shape, dtype, shift=0):
    """Memory that begins `shift` bytes behind an aligned address."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    whole = np.zeros(size + 2 * ALIGNED + shift, np.uint8)
    start = -whole.ctypes.data % ALIGNED + shift
    return whole[start:start + size].view(dtype).reshape(shape)


class Places:
    """Where a session's outputs go: arrays by number."""

    def __init__(self, arrays_of):
        self.arrays = arrays_of
        self.function = oxlib.OutputFunction(self.give)

    def give(self, _, index, output, size):
        given = self.arrays.get(index)
        return None if given is None or given.nbytes != size else given.ctypes.data


# ---- Networks ----------------------------------------------------------------------------------------------------------

def group_query(rng, kind):
    batch, shared, heads, size, room = (int(d) for d in rng.integers([1, 1, 1, 1, 4], [4, 3, 4, 9, 300]))
    steps = [int(d) for d in rng.integers(1, max(2, min(20, room // 4)), 4)]
    node = helper.make_node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "lengths", "total"], ["y", "nk", "nv"], domain=DOMAIN,
                            num_heads=shared * heads, kv_num_heads=heads)
    feeds, before = [], 0
    for count in steps:
        feeds.append({"q": draw(rng, kind, batch, count, shared * heads * size), "k": draw(rng, kind, batch, count, heads * size),
                      "v": draw(rng, kind, batch, count, heads * size), "lengths": np.full(batch, before + count - 1, np.int32),
                      "total": np.array([before + count], np.int32)})
        before += count
    if rng.random() < 0.4:
        size = quantize(rng, node, feeds, size)
    return [node], feeds, {name: (batch, heads, room, size) for name in ("pk", "pv")}, {"pk": "nk", "pv": "nv"}


def quantize(rng, node, feeds, size):
    """Makes caches bytes, or packed; gives the size of a row."""
    bits = 8 if size % 2 else int(rng.choice([4, 8]))
    node.input.extend(["", "", "", "", "", "ks", "vs"])
    node.attribute.extend([helper.make_attribute("kv_cache_bit_width", bits), helper.make_attribute("k_quant_type", "PER_TENSOR"),
                           helper.make_attribute("v_quant_type", "PER_TENSOR")])
    for feed in feeds:
        feed |= {name: np.array([0.02 * 2 ** (8 - bits)], np.float32) for name in ("ks", "vs")}
    return size * bits // 8


def kind_of_caches(node, kind):
    bits = [a.i for a in node.attribute if a.name == "kv_cache_bit_width"]
    return {8: "int8", 4: "uint8"}[bits[0]] if bits else kind


def multi_head(rng, kind):
    batch, heads, size, room = (int(d) for d in rng.integers([1, 1, 1, 4], [4, 4, 9, 300]))
    count = int(rng.integers(1, max(2, min(20, room // 4))))
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v", "", "", "", "pk", "pv", "length"], ["y", "nk", "nv"], domain=DOMAIN,
                            num_heads=heads)
    feeds = [{name: draw(rng, kind, batch, count, heads * size) for name in "qkv"} | {"length": np.array([i * count], np.int32)}
             for i in range(4)]
    return [node], feeds, {name: (batch, heads, room, size) for name in ("pk", "pv")}, {"pk": "nk", "pv": "nv"}


def scatter(rng, kind):
    batch, each, room, size = (int(d) for d in rng.integers([1, 1, 4, 1], [4, 4, 300, 9]))
    count = int(rng.integers(1, max(2, room // 4)))
    node = helper.make_node("TensorScatter", ["pk", "u", "at"], ["nk"], axis=2, mode="circular")
    feeds = [{"u": draw(rng, kind, batch, each, count, size), "at": rng.integers(0, room, batch)} for _ in range(4)]
    return [node], feeds, {"pk": (batch, each, room, size)}, {"pk": "nk"}


def draw(rng, kind, *dims):
    return rng.normal(size=dims).astype(kind)


def around(rng, made, kind):
    """What else may read a cache, or a result of the update."""
    way = str(rng.choice(["alone", "alone", "alone", "shape", "reader", "late", "view", "result"]))
    more, outputs = [], []
    if way == "shape":
        more, outputs = [helper.make_node("Shape", ["pk"], ["s"])], ["s"]
    elif way == "reader":
        more, outputs = [helper.make_node("BitwiseNot" if "int" in kind else "Neg", ["pk"], ["s"])], ["s"]
    elif way == "late":  # it runs behind the update
        more, outputs = [helper.make_node("Sub", ["pk", "nk"], ["s"])], ["s"]
    elif way == "result":
        more, outputs = [helper.make_node("BitwiseNot" if "int" in kind else "Relu", ["nk"], ["s"])], ["s"]
    elif way == "view":
        for node in made:
            node.input[:] = ["viewed" if name == "pk" else name for name in node.input]
        made.insert(0, helper.make_node("Reshape", ["pk", "dims"], ["viewed"]))
    return way, made + more, outputs


def model_of(made, feeds, caches, outputs, kind):
    ends = {name: {"float32": "float", "float16": "float16", "int32": "int32", "int64": "int64"}[str(v.dtype)]
            for name, v in feeds[0].items()}
    ends |= dict.fromkeys(caches, kind.replace("float32", "float"))
    given = [numpy_helper.from_array(np.array(caches["pk"]), "dims")]
    return nodes.model_around(made, ends, {name: None for name in outputs}, 24, given, [DOMAIN]), list(ends)


# ---- Steps -------------------------------------------------------------------------------------------------------------

def play(data, names, feeds, outputs, start, shared, options):
    """The outputs of each step; `shared`: for each cache the array that it is, and for its output the place, or None for
    memory of the session's, from which the next step's cache is copied."""
    model = oxlib.Model(data)
    session = oxlib.Session(model, oxlib.Options(**options))
    caches = {name: array.copy() for name, array in start.items()}
    held = {name: shared[name][0] for name in caches} if shared else caches
    if shared:
        for name, array in start.items():
            held[name][...] = array
    places = Places({outputs.index(out): place for _, out, place in shared.values()} if shared else {})
    session.set_outputs(places.function)
    found = []
    try:
        for feed in feeds:
            for i, name in enumerate(names):
                value = feed[name] if name in feed else held[name]
                session.set_input(i, arrays.to_tensor(value, str(value.dtype).replace("float32", "float")))
            session.run(watched=not shared)  # constants in place of inputs would be those after the run
            got = [arrays.from_tensor(session.output(k))[1].copy() for k in range(len(outputs))]
            found.append(got)
            if shared:
                for name, (array, out, place) in shared.items():
                    array[...] = place
            else:
                for name, out in held_outputs(names, outputs).items():
                    held[name] = got[outputs.index(out)]
    finally:
        session.close()
        model.close()
    return found


def held_outputs(names, outputs):
    return {"p" + out[1]: out for out in outputs if out in ("nk", "nv") and "p" + out[1] in names}


def draw_places(rng, caches, pairs, kind):
    """For each cache its array, its output and the place of that: the same, or a row before or behind it."""
    shared, same, first = {}, rng.random() < 0.7, int(rng.integers(2))
    for name, dims in caches.items():
        count = int(np.prod(dims))
        whole = block((count + dims[-1],), kind)
        parts = whole[:count].reshape(dims), whole[dims[-1]:].reshape(dims)
        shared[name] = parts[0 if same else first], pairs[name], parts[0 if same else 1 - first]
    return shared


def case(rng, turn):
    kind = str(rng.choice(["float32", "float32", "float16"]))
    made, feeds, caches, pairs = [group_query, multi_head, scatter][turn % 3](rng, kind)
    kind = kind_of_caches(made[0], kind)
    way, made, more = around(rng, made, kind)
    outputs = [*(["y"] if turn % 3 < 2 else []), *pairs.values(), *more]
    data, names = model_of(made, feeds, caches, outputs, kind)
    start = {name: rng.integers(0, 100, dims).astype(kind) if "int" in kind else rng.normal(size=dims).astype(kind)
             for name, dims in caches.items()}
    shared = draw_places(rng, caches, pairs, kind)
    options = [{"threads": 1}, {"threads": 3}, {"threads": 1, "no_fuse": True}, {"threads": 1, "check": True}][turn % 4]
    what = f"{turn}: {made[-1].op_type} {way} {caches} {options}"
    try:
        right = play(data, names, feeds, outputs, start, None, options)
        found = play(data, names, feeds, outputs, start, shared, options)
    except oxlib.OxError as error:
        return f"{what}: {error}"
    for step, (got, wanted) in enumerate(zip(found, right)):
        for k, (a, b) in enumerate(zip(got, wanted)):
            if a.shape != b.shape or a.tobytes() != b.tobytes():
                return f"{what}: step {step}, output {outputs[k]} differs"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(case, 600))
