"""dequantized.py [--seed N] [--cases N]: MatMul and Gemm of weights that a DequantizeLinear makes floats of in blocks,
which ox computes with the weights in their few bits where it can, and of some where it cannot: random sizes, types,
blocks, zero points and scales, as they are, behind a Transpose and with transB, against float64, against the nodes
themselves, with the self-check, and with three threads. And Gather of such weights, whose rows alone become floats, bit
for bit."""

import sys

import arrays
import nbits
import numpy as np
import oxlib
import trials
from onnx import TensorProto, helper, numpy_helper

TYPES = {"int2": (-2, 2), "uint2": (0, 2), "int4": (-8, 4), "uint4": (0, 4), "int8": (-128, 8), "uint8": (0, 8)}
LIMIT = 2e-5


def tensor(name, kind, values):
    bits = TYPES[kind][1]
    codes = (values & ((1 << bits) - 1)).reshape(1, -1)
    return helper.make_tensor(name, TensorProto.DataType.Value(kind.upper()), values.shape,
                              nbits.pack(codes, bits).tobytes(), raw=True)


def scales_of(rng, shape):
    """And whether they are normal numbers."""
    scales = rng.uniform(0.01, 0.1, shape) * rng.choice([-1, 1], shape)
    way = rng.random()
    if way < 0.06:
        scales.reshape(-1)[int(rng.integers(scales.size))] = rng.choice([np.inf, 2.0 ** 120, 2.0 ** -130])
    elif way < 0.12:
        scales.reshape(-1)[int(rng.integers(scales.size))] = 0
    return scales.astype(np.float32), bool((np.abs(scales) <= 2.0 ** 119).all() and ((scales == 0) | (np.abs(scales) >= 2.0 ** -126)).all())


class Drawn:
    """A model, its inputs, what it gives in float64, and whether weights stay as they are."""

    def __init__(self, rng):
        n, k, rows = nbits.sizes(rng) if rng.random() < 0.85 else nbits.large_sizes(rng)
        kind, block = str(rng.choice(list(TYPES))), int(rng.choice([16, 32, 64, 128, 256, 2 ** 50, 8, 24]))
        form, opset = str(rng.choice(["MatMul", "MatMul", "Transpose", "Gemm"])), 25 if "2" in kind else int(rng.choice([21, 23, 25]))
        turned = form == "Transpose" or (form == "Gemm" and rng.random() < 0.6)  # weights are [n, k]
        other = rng.random() < 0.1  # blocks along the other axis
        along, low, bits = int(turned != other), *TYPES[kind]
        axis, shape = along - int(rng.choice([0, 2])), [n, k] if turned else [k, n]
        counts = [-(-d // block) if i == along else d for i, d in enumerate(shape)]
        codes = rng.integers(low, low + 2 ** bits, shape)
        middle = 0 if low else 2 ** (bits - 1)
        way = str(rng.choice(["none", "middle", "any", "any"]))
        zeros = {"none": None, "middle": np.full(counts, middle), "any": rng.integers(low, low + 2 ** bits, counts)}[way]
        scales, normal = scales_of(rng, counts)
        self.given, self.shared = rng.random() < 0.1, rng.random() < 0.15
        alpha = 0.5 if form == "Gemm" and rng.random() < 0.1 else 1
        self.stays = block not in (8, 24) and not other and alpha == 1 and normal and not self.given and (zeros is not None or low < 0)
        rows = [rows[-1]] if form == "Gemm" else rows if rng.random() < 0.9 else []
        self.a = rng.normal(size=[*rows, k]).astype(np.float32)
        bias = rng.normal(size=n).astype(np.float32) if form == "Gemm" and rng.random() < 0.5 else None
        each = np.repeat(scales.astype(np.float64), min(block, shape[along]), along).take(range(shape[along]), along)
        points = 0 if zeros is None else np.repeat(zeros, min(block, shape[along]), along).take(range(shape[along]), along)
        with np.errstate(invalid="ignore", over="ignore"):
            weights = (codes - points) * each * alpha
            weights = weights.T if turned else weights
            self.right = self.a.astype(np.float64) @ weights + (0 if bias is None else bias)
            self.bound = np.abs(self.a).astype(np.float64) @ np.abs(weights) + (0 if bias is None else np.abs(bias))
        self.is_finite = bool((self.bound < 1e38).all())  # as floats
        self.what = f"{form} {kind} {shape}, blocks of {block} along {axis}, zero points: {way}, A {self.a.shape}, {'scales given, ' if self.given else ''}{'shared, ' if self.shared else ''}opset {opset}"
        self.inputs = [("a", self.a)] + ([("s", scales)] if self.given else [])
        fixed = [tensor("w", kind, codes)] + ([] if zeros is None else [tensor("z", kind, zeros)])
        fixed += [] if self.given else [numpy_helper.from_array(scales, "s")]
        fixed += [] if bias is None else [numpy_helper.from_array(bias, "c")]
        nodes = [helper.make_node("DequantizeLinear", ["w", "s"] + ([] if zeros is None else ["z"]), ["b"], axis=axis, block_size=block)]
        if form == "Transpose":
            nodes.append(helper.make_node("Transpose", ["b"], ["t"], **({} if rng.random() < 0.5 else {"perm": [1, 0]})))
        gemm = {"transB": int(turned), "alpha": float(alpha)} if form == "Gemm" else {}
        nodes.append(helper.make_node("Gemm" if gemm else "MatMul", ["a", "t" if form == "Transpose" else "b"] + ([] if bias is None else ["c"]),
                                      ["y"], **gemm))
        outputs = ["y", "b"] if self.shared else ["y"]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in self.inputs],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], fixed)
        self.data = helper.make_model(graph, ir_version=13, opset_imports=[helper.make_opsetid("", opset)]).SerializeToString()

    def run(self, **options):
        """The result, and whether weights stayed as they are."""
        model = oxlib.Model(self.data, oxlib.Options(**options))
        session = oxlib.Session(model, oxlib.Options(**options))
        try:
            for _ in range(2):
                for i, (_, array) in enumerate(self.inputs):
                    session.set_input(i, arrays.to_tensor(array, "float"))
                session.run()
            return arrays.from_tensor(session.output(0))[1].copy(), any("blocks of weights" in text for text in session.algorithms())
        finally:
            session.close()
            model.close()


def gathered(rng):
    """What is wrong with rows of weights in blocks, of any type and along either axis."""
    kind, block, dims = str(rng.choice(list(TYPES))), int(rng.choice([1, 3, 16, 32])), [int(d) for d in rng.integers(1, [30, 70])]
    if rng.random() < 0.15:  # of bytes enough to stay packed
        dims = [int(rng.integers(512, 1200)), 8 * int(rng.integers(32, 70))]
    axis = int(rng.choice([1, -1, 1, 0]))
    counts = [-(-d // block) if i == axis % 2 else d for i, d in enumerate(dims)]
    floats, (low, bits) = str(rng.choice(["float", "float16"])), TYPES[kind]
    fixed = [tensor(name, kind, rng.integers(low, low + 2 ** bits, shape)) for name, shape in (("w", dims), ("z", counts))]
    fixed = fixed[:int(rng.integers(1, 3))] + [numpy_helper.from_array(rng.uniform(0.01, 0.1, counts).astype(nbits.WORDS[floats]), "s")]
    indices = rng.integers(-dims[0], dims[0], [int(d) for d in rng.integers(0, 4, int(rng.integers(0, 4)))])
    outside = bool(rng.random() < 0.1 and indices.size)
    if outside:
        indices.reshape(-1)[-1] = dims[0]
    nodes = [helper.make_node("DequantizeLinear", ["w", "s", "z"][:len(fixed)], ["b"], axis=axis, block_size=block),
             helper.make_node("Gather", ["b", "i"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("i", TensorProto.INT64, indices.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.DataType.Value(floats.upper()), None)], fixed)
    data = helper.make_model(graph, ir_version=13, opset_imports=[helper.make_opsetid("", 25)]).SerializeToString()
    results = [rows_of(data, indices, options) for options in ({}, {"no_fuse": True}, {"check": True})]
    what = f"Gather {kind} {dims}, blocks of {block} along {axis}, {floats}, indices {indices.shape}"
    if outside != (results[0] is None):
        return f"{what}: an index that is out of range {'gives something' if outside else 'is found where there is none'}"
    same = all(result is None if outside else np.array_equal(result, results[1]) for result in results)
    return None if same else f"{what}: not what the nodes give"


def rows_of(data, indices, options):
    """None if an index is out of range."""
    model = oxlib.Model(data, oxlib.Options(**options))
    session = oxlib.Session(model, oxlib.Options(**options))
    try:
        session.set_input(0, arrays.to_tensor(np.asarray(indices), "int64"))
        session.run()
        return arrays.from_tensor(session.output(0))[1].copy()
    except oxlib.OxError as error:
        return None if "out of range" in str(error) else str(error)
    finally:
        session.close()
        model.close()


def case(rng, turn):
    if turn % 4 == 3:
        return gathered(rng)
    drawn = Drawn(rng)
    first = None
    for options in ({}, {"no_fuse": True}, {"check": True}, {"threads": 3}, {"isa": b"base"}):
        try:
            got, stayed = drawn.run(**options)
        except oxlib.OxError as error:
            return f"{drawn.what}: {options}: {error}"
        off = nbits.away(got.astype(np.float64), drawn.right, drawn.bound, LIMIT) if drawn.is_finite else None
        if off:
            return f"{drawn.what}: {options}: {off}"
        if not options:
            first = got
            if stayed != (drawn.stays and drawn.right.size // drawn.right.shape[-1] <= 8) and not (stayed and drawn.stays):
                return f"{drawn.what}: weights {'stay' if stayed else 'do not stay'} as they are"
        elif "threads" in options and not np.array_equal(got, first, equal_nan=True):
            return f"{drawn.what}: three threads give something else"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(case, 400))
