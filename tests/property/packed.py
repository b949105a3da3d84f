"""packed.py [--seed N] [--cases N]: initializers of 4-bit and 2-bit integers, which stay packed where only DequantizeLinear
in blocks reads them. Graphs with other readers, with subgraphs, with data in each field, and with rows that do not fill
bytes, against numpy; and how much memory such models take."""

import ctypes as C
import os
import sys
import tempfile

import arrays
import mapped
import nbits
import numpy as np
import oxlib
import tally
import trials
from onnx import TensorProto, helper, numpy_helper

TYPES = {"int2": (-2, 2), "uint2": (0, 2), "int4": (-8, 4), "uint4": (0, 4)}
MODEL = {"ir_version": 13, "opset_imports": [helper.make_opsetid("", 25)]}


def number(kind):
    return TensorProto.DataType.Value(kind.upper())


def info(name, kind, dims=None):
    return helper.make_tensor_value_info(name, number(kind), dims)


def type_of(array):
    return {"float16": "float16", "int64": "int64", "bool": "bool"}.get(str(array.dtype), "float")


class Drawn:
    """A model with the weights w, and what its outputs are."""

    def __init__(self, rng, folder):
        self.rng, self.folder, self.kind = rng, folder, str(rng.choice(list(TYPES)))
        self.low, self.bits = TYPES[self.kind]
        self.block = int(rng.choice([16, 32, 64, 128, 256, 3]))
        self.shape = self.draw_shape()
        self.codes = rng.integers(self.low, self.low + 2 ** self.bits, self.shape)
        self.scales = {}
        self.nodes, self.outputs, self.fixed, self.inputs = [], {}, [], []
        self.form = str(rng.choice(["raw"] * 6 + ["int32", "external", "external", "default"]))
        self.place = str(rng.choice(["main"] * 4 + ["inside", "captured"]))
        readers = ["blocks", "products", "products", "products", "products", "products", "gather", "gather", "channels", "cast", "slice", "output", "zeros"]
        self.readers = [str(name) for name in rng.choice(readers, int(rng.choice([1, 1, 1, 2, 3])))]
        for turn, name in enumerate(self.readers):
            getattr(self, name)(f"{turn}")
        self.what = f"{self.kind} {self.shape}, blocks of {self.block}, {self.form}, {self.place}: {', '.join(self.readers)}"
        self.data = self.build()

    def draw_shape(self):
        rng, each = self.rng, 8 // self.bits
        rows, columns = int(rng.integers(300, 500)), int(rng.integers(100, 200)) * each
        if self.bits == 2:
            rows *= 2
        if rng.random() < 0.15:
            columns += 1
        if rng.random() < 0.2:
            rows = rows // 8
        return [rows, columns // each, each] if rng.random() < 0.1 else [rows, columns]

    def tensor(self):
        """w, in the field of its form."""
        packed = nbits.pack((self.codes & ((1 << self.bits) - 1)).reshape(1, -1), self.bits).tobytes()
        made = TensorProto(name="w", data_type=number(self.kind), dims=self.shape)
        if self.form == "int32":
            made.int32_data.extend(packed)
        elif self.form == "external":
            path = os.path.join(self.folder, "weights")
            with open(path, "wb") as file:
                file.write(b"before " + packed + b"behind")
            made.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights"), ("offset", 7), ("length", len(packed))):
                made.external_data.add(key=key, value=str(value))
        else:
            made.raw_data = packed
        return made

    # Each reads w, and says what comes of it; of products, the sum of absolute values, too.

    def constant(self, name, array):
        self.fixed.append(numpy_helper.from_array(array, name))
        return name

    def blocks(self, turn, axis=None, zeros=None):
        """The floats of a DequantizeLinear."""
        halves, axis = axis is None and self.rng.random() < 0.4, int(self.rng.integers(0, 2)) if axis is None else axis
        counts = [-(-d // self.block) if i == axis else d for i, d in enumerate(self.shape)]
        scales = self.rng.uniform(0.01, 0.1, counts).astype(np.float16 if halves else np.float32)
        each, points = np.repeat(scales, self.block, axis).take(range(self.shape[axis]), axis), 0
        names = ["w", self.constant(f"s{turn}", scales)]
        if zeros or self.rng.random() < 0.4:
            points = self.rng.integers(self.low, self.low + 2 ** self.bits, counts)
            if self.rng.random() < 0.3:  # that of MatMulNBits where none is given: everywhere, or in every other place
                points[:] = self.low + 2 ** (self.bits - 1)
                points.reshape(-1)[1::int(self.rng.choice([2, points.size]))] = self.low
            packed = nbits.pack((points & ((1 << self.bits) - 1)).reshape(1, -1), self.bits).tobytes()
            self.fixed.append(helper.make_tensor(f"z{turn}", number(self.kind), counts, packed, raw=True))
            names.append(f"z{turn}")
            points = np.repeat(points, self.block, axis).take(range(self.shape[axis]), axis)
        self.nodes.append(helper.make_node("DequantizeLinear", names, [f"y{turn}"], axis=axis, block_size=self.block))
        self.outputs[f"y{turn}"] = ((self.codes - points).astype(np.float32) * each.astype(np.float32)).astype(scales.dtype), None
        if halves and self.rng.random() < 0.7:  # something for float16_sums to widen
            del self.outputs[f"y{turn}"]
            self.inputs.append((f"a{turn}", np.array([2], np.float16)))
            self.nodes.append(helper.make_node("Mul", [f"y{turn}", f"a{turn}"], [f"p{turn}"]))
            self.outputs[f"p{turn}"] = ((self.codes - points).astype(np.float32) * each.astype(np.float32) * 2).astype(np.float16), None
        return f"y{turn}", (self.codes - points).astype(np.float64) * each

    def zeros(self, turn):
        """w is the zero point of others."""
        x = self.rng.integers(self.low, self.low + 2 ** self.bits, [self.shape[0], 2 * self.shape[1], *self.shape[2:]])
        packed = nbits.pack((x & ((1 << self.bits) - 1)).reshape(1, -1), self.bits).tobytes()
        self.fixed.append(helper.make_tensor(f"x{turn}", number(self.kind), x.shape, packed, raw=True))
        scales = self.rng.uniform(0.01, 0.1, self.shape).astype(np.float32)
        self.nodes.append(helper.make_node("DequantizeLinear", [f"x{turn}", self.constant(f"s{turn}", scales), "w"],
                                           [f"y{turn}"], axis=1, block_size=2))
        right = (x - np.repeat(self.codes, 2, 1)).astype(np.float32) * np.repeat(scales, 2, 1)
        self.outputs[f"y{turn}"] = right, None

    def products(self, turn):
        if len(self.shape) > 2:
            self.blocks(turn)
            return
        turned = bool(self.rng.integers(0, 2))
        name, weights = self.blocks(turn, int(turned if self.rng.random() < 0.8 else not turned))
        del self.outputs[name]
        weights = weights.T if turned else weights
        a = self.rng.normal(size=[int(self.rng.choice([1, 3, 12])), weights.shape[0]]).astype(np.float32)
        self.inputs.append((f"a{turn}", a))
        self.nodes.append(helper.make_node("Gemm", [f"a{turn}", name], [f"p{turn}"], transB=int(turned)))
        self.outputs[f"p{turn}"] = a.astype(np.float64) @ weights, np.abs(a).astype(np.float64) @ np.abs(weights)

    def gather(self, turn):
        name, _ = self.blocks(turn, 1)
        floats, _ = self.outputs.pop(name)
        rows = self.rng.integers(-self.shape[0], self.shape[0], 5)
        self.inputs.append((f"a{turn}", rows))
        self.nodes.append(helper.make_node("Gather", [name, f"a{turn}"], [f"p{turn}"]))
        self.outputs[f"p{turn}"] = floats[rows], None

    def channels(self, turn):
        """A DequantizeLinear without blocks."""
        scale = np.float32(self.rng.uniform(0.01, 0.1))
        self.nodes.append(helper.make_node("DequantizeLinear", ["w", self.constant(f"s{turn}", scale)], [f"y{turn}"]))
        self.outputs[f"y{turn}"] = self.codes.astype(np.float32) * scale, None

    def cast(self, turn):
        self.nodes.append(helper.make_node("Cast", ["w"], [f"y{turn}"], to=TensorProto.FLOAT))
        self.outputs[f"y{turn}"] = self.codes.astype(np.float32), None

    def slice(self, turn):
        self.nodes.append(helper.make_node("Slice", ["w", self.constant(f"b{turn}", np.array([1])), self.constant(f"e{turn}", np.array([9]))], [f"i{turn}"]))
        self.nodes.append(helper.make_node("Cast", [f"i{turn}"], [f"y{turn}"], to=TensorProto.FLOAT))
        self.outputs[f"y{turn}"] = self.codes[1:9].astype(np.float32), None

    def output(self, turn):
        """The weights are an output themselves; in a branch, what Identity makes of them."""
        name = "w"
        if self.place != "main":
            name = f"y{turn}"
            self.nodes.append(helper.make_node("Identity", ["w"], [name]))
        self.outputs[name] = self.codes, self.kind

    def build(self):
        ends = [info(name, extra if isinstance(extra, str) else type_of(right)) for name, (right, extra) in self.outputs.items()]
        given = [info(name, type_of(array), array.shape) for name, array in self.inputs]
        fixed = [self.tensor(), *self.fixed]
        if self.rng.random() < 0.3:
            self.nodes.reverse()  # in an order that cannot run
        if self.form == "default" and self.place != "inside":
            given.append(info("w", self.kind, self.shape))
        if self.place == "main":
            return helper.make_model(helper.make_graph(self.nodes, "g", given, ends, fixed), **MODEL).SerializeToString()
        inside = helper.make_graph(self.nodes, "inside", [], ends, fixed if self.place == "inside" else [])
        other = helper.make_graph([helper.make_node("Identity", [end.name], [f"{end.name}/other"]) for end in ends], "other", [],
                                  [helper.make_tensor_value_info(f"{end.name}/other", end.type.tensor_type.elem_type, None) for end in ends],
                                  [helper.make_tensor(end.name, end.type.tensor_type.elem_type, [0], b"", raw=True) for end in ends])
        nodes = [helper.make_node("If", ["c"], [f"{end.name}/given" for end in ends], then_branch=inside, else_branch=other)]
        ends = [helper.make_tensor_value_info(f"{end.name}/given", end.type.tensor_type.elem_type, None) for end in ends]
        given.insert(0, info("c", "bool", []))
        self.inputs.insert(0, ("c", np.array(True)))
        graph = helper.make_graph(nodes, "g", given, ends, [] if self.place == "inside" else fixed)
        return helper.make_model(graph, **MODEL).SerializeToString()

    def run(self, options, extra):
        """All outputs, with w as a further one where that is asked for, and what the session lists."""
        names = (C.c_char_p * 1)(b"w")
        loaded = oxlib.Options(**{key: value for key, value in options.items() if key != "no_integer"})
        if self.form == "external":
            with open(os.path.join(self.folder, "model"), "wb") as file:
                file.write(self.data)
            model = oxlib.ModelFile(os.path.join(self.folder, "model"), loaded)
        else:
            model = oxlib.Model(self.data, loaded)
        given = oxlib.Options(**options, **({"extra_outputs": C.cast(names, C.c_void_p), "extra_output_count": 1} if extra else {}))
        session = oxlib.Session(model, given)
        try:
            for _ in range(2):
                for i, (_, array) in enumerate(self.inputs):
                    session.set_input(i, arrays.to_tensor(array, type_of(array)))
                session.run(watched=not extra)
            return [arrays.from_tensor(session.output(i))[1].copy() for i in range(len(self.outputs) + extra)], session.nodes()
        finally:
            session.close()
            model.close()


def compare(drawn, got, extra):
    """What is wrong with the outputs."""
    rights = [*drawn.outputs.values(), *[(drawn.codes, drawn.kind)] * extra]
    for array, (right, bound) in zip(got, rights):
        if bound is None or isinstance(bound, str):
            if array.shape != right.shape or not np.array_equal(array.astype(right.dtype), right):
                return "not what numpy gives"
            continue
        off = nbits.away(array.astype(np.float64), right, bound, 2e-5)
        if off:
            return off
    return None


def whole(rng, folder):
    drawn = Drawn(rng, folder)
    for options in ({}, {"no_fuse": True}, {"no_integer": True}, {"check": True}, {"threads": 3}, {"float16_sums": True}):
        extra = drawn.place != "inside" and bool(rng.random() < 0.3)
        try:
            got, nodes = drawn.run(options, extra)
        except oxlib.OxError as error:
            return f"{drawn.what}: {options}: {error}"
        off = compare(drawn, got, extra)
        if off:
            return f"{drawn.what}: {options}{', w as an output' if extra else ''}: {off}"
        if "no_integer" in options and any(op == "UnpackBits" for op, _ in nodes):
            return f"{drawn.what}: a node that is not in the model is listed"
    return None


def layers_of(rng, kind, form, n, k, layers=3):
    """The bytes of a model of such layers, and its input."""
    bits = TYPES[kind][1]
    turned = form != "MatMul"
    shape, counts, fixed, nodes = [n, k] if turned else [k, n], [n, k // 32] if turned else [k // 32, n], [], []
    for i in range(layers):
        for name, dims in ((f"w{i}", shape), (f"z{i}", counts)):
            fixed.append(helper.make_tensor(name, number(kind), dims, rng.integers(0, 256, dims[0] * dims[1] * bits // 8, np.uint8).tobytes(), raw=True))
        fixed.append(numpy_helper.from_array(rng.uniform(0.01, 0.1, counts).astype(np.float32), f"s{i}"))
        nodes.append(helper.make_node("DequantizeLinear", [f"w{i}", f"s{i}", f"z{i}"], [f"b{i}"], axis=int(turned), block_size=32))
        if form == "Transpose":
            nodes.append(helper.make_node("Transpose", [f"b{i}"], [f"t{i}"]))
        if form == "Gather":
            nodes.append(helper.make_node("Gather", [f"b{i}", "a"], [f"y{i}"]))
        else:
            nodes.append(helper.make_node("Gemm" if form == "Gemm" else "MatMul", ["a", f"t{i}" if form == "Transpose" else f"b{i}"], [f"y{i}"],
                                          **({"transB": 1} if form == "Gemm" else {})))
    a = np.array([3, 5]) if form == "Gather" else rng.normal(size=[1, k]).astype(np.float32)
    graph = helper.make_graph(nodes, "g", [info("a", "int64" if form == "Gather" else "float", a.shape)],
                              [info(f"y{i}", "float") for i in range(layers)], fixed)
    return helper.make_model(graph, **MODEL).SerializeToString(), a


def memory(rng):
    """Loading copies no weights, and what they are laid out in takes little more than the file."""
    kind, form = str(rng.choice(list(TYPES))), str(rng.choice(["MatMul", "Transpose", "Gemm", "Gather"]))
    data, a = layers_of(rng, kind, form, 512, 1024)
    limited = oxlib.Options()
    limited.limits.bytes = len(data) // 4
    try:
        oxlib.Model(data, limited).close()
    except oxlib.OxError as error:
        return f"{form} of {kind}: loading a file of {len(data)} bytes takes more than a quarter of them: {error}"
    model = oxlib.Model(data)
    session = oxlib.Session(model)
    try:
        session.set_input(0, arrays.to_tensor(a, "int64" if form == "Gather" else "float"))
        session.run()
        held = session.memory()
    finally:
        session.close()
        model.close()
    total, most = held.weight_bytes + held.plan_bytes + held.arena_bytes, 1.1 * len(data)
    return f"{form} of {kind}: {total} bytes for a file of {len(data)}" if total > most else None


def damaged(rng):
    """The error of weights that are too short, or too long, says what a tensor of that shape takes."""
    kind = str(rng.choice(list(TYPES)))
    bits, dims = TYPES[kind][1], [512, 1024]
    size, off = dims[0] * dims[1] * bits // 8, int(rng.choice([-1, 1, -1000]))
    proto = TensorProto(name="w", data_type=number(kind), dims=dims, raw_data=bytes(size + off))
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["y"], axis=0, block_size=32)]
    graph = helper.make_graph(nodes, "g", [], [info("y", "float")], [proto, numpy_helper.from_array(np.ones([16, 1024], np.float32), "s")])
    text = f"model: tensor 'w': has {size + off} bytes of raw_data, but {kind} [512,1024] takes {size}"
    try:
        oxlib.Model(helper.make_model(graph, **MODEL).SerializeToString()).close()
    except oxlib.OxError as error:
        return None if str(error) == text else f"'{error}' is not '{text}'"
    return f"{kind}: {off} bytes more are no error"


def case(rng, turn):
    if turn % 8 == 6:
        return memory(rng)
    if turn % 8 == 7:
        return damaged(rng)
    with tempfile.TemporaryDirectory() as folder:
        return whole(rng, folder)


def check_mapped():
    """None, or what is wrong where weights are only read to be laid out: their file is not in memory."""
    for form in ("MatMul", "Transpose"):
        data, a = layers_of(np.random.default_rng(1), "int4", form, 2048, 2048)
        left = mapped.left_by_run(data, arrays.to_tensor(a, "float"), watched=False)
        if left > len(data) * (1 / 4 if form == "MatMul" else 1 / 2):  # the scales of the other are read as they lie
            return f"{form}: {left} of {len(data)} bytes are still in memory"
    return None


def main():
    wrong = check_mapped() if os.path.exists("/proc/self/smaps") else None
    if wrong:
        print(wrong)
        return tally.finish(0, 1)
    return trials.run(case, 300)


if __name__ == "__main__":
    sys.exit(main())
