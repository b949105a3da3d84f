"""extremes.py [--cases N] [--seed N] [--only OPERATOR]: nodes with attributes, shapes and indices that no honest model
has, drawn from ONNX's schemas, and those of com.microsoft from ONNX Runtime's: each operator of docs/operators.md, in
each version.

Most of a node is plausible, so that what is wrong gets past the first checks: one or two attributes are extreme, or
dimensions are huge where there are no elements, or indices are. ox answers each with an error that has a text, or with
a result, within a second of processor time. The cases run in a process of their own, so that one that ends it, or that
does not end, is named.
Needs the Python packages onnx and onnxruntime.
"""

import ctypes as C
import functools
import math
import mmap
import os
import pathlib
import random
import signal
import struct
import sys
import time

import onnx
import oxlib
import tally
import trials
from onnx import defs, helper
from onnxruntime.capi import onnxruntime_pybind11_state as rules

HERE = pathlib.Path(__file__).parent
MICROSOFT = "com.microsoft"

SECONDS = 10 if "OX_SANITIZED" in os.environ else 1
# Bytes of an element of the types that are drawn, by ONNX's names and numbers.
SIZES = {"float": 4, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "int32": 4, "int64": 8, "bool": 1, "float16": 2,
         "double": 8, "uint32": 4, "uint64": 8, "complex64": 8, "complex128": 16, "bfloat16": 2, "float8e4m3fn": 1,
         "float8e5m2": 1}
MOST_ELEMENTS = 2**16
LEAST, MOST = -2**63, 2**63 - 1
NUMBERS = [0, 1, -1, 2, -2, 3, 7, 64, 65, 255, 256, 2**16, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32, 2**32 + 1, 2**40,
           2**61, 2**62, -2**62, MOST, MOST - 1, -MOST, LEAST, LEAST + 1]
DIMS = [0, 1, 2, 3, 2**16, 2**31 - 1, 2**31, 2**32, 2**40, 2**60, 2**61, 2**62, MOST]
FLOATS = [0.0, -0.0, 1.0, -1.5, float("nan"), float("inf"), float("-inf"), 3.4e38, -3.4e38, 1e-45]
WORDS = ["", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "nearest", "tanh", "none", "floor", "x" * 300, "\0", "\xff"]
LIST_NAMES = {"kernel_shape", "strides", "dilations"}


@functools.cache
def microsoft():
    """ONNX Runtime's schemas of its domain, by name."""
    return {schema.name: schema for schema in rules.get_all_operator_schema() if schema.domain == MICROSOFT}


def schema_of(name, version):
    """None for versions that are not ONNX's: names that it took over later, and those that it gave up."""
    domain, _, plain = name.rpartition(".")
    if domain == MICROSOFT:
        return microsoft().get(plain)
    try:
        return defs.get_schema(plain, version, domain)
    except defs.SchemaError:
        return None


def can_be_drawn(schema):
    return schema and not any(str(a.type).endswith("GRAPH") for a in schema.attributes.values())


def operators():
    """(name, version) of docs/operators.md, but for those that run subgraphs, which extremes of their own cannot fill,
    and those that no schema defines."""
    text = (HERE.parent.parent / "docs" / "operators.md").read_text()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and cells[2][:1].isdigit():
            yield from ((cells[1], int(version)) for version in cells[2].split()
                        if can_be_drawn(schema_of(cells[1], int(version))))


class Draw:
    """A case: a model of one node, and its inputs."""

    def __init__(self, number, only):
        self.rng = random.Random(number)
        names = [op for op in ALL if not only or op[0] == only]
        self.name, self.version = self.rng.choice(names)
        self.schema = schema_of(self.name, self.version)
        self.rank = self.rng.choice([0, 1, 2, 2, 3, 3, 4, 4, 5, 8])
        self.extreme = self.rng.choice(["attributes", "dims", "values", "attributes values", "attributes dims"])
        self.types = {}
        self.main = self.dims(self.rank)

    def chance(self, share):
        return self.rng.random() < share

    def dims(self, rank):
        """Small ones; or some huge ones and a 0, so that the tensor needs no memory."""
        dims = [self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6]) for _ in range(rank)]
        if rank and "dims" in self.extreme:
            for _ in range(self.rng.randint(1, 3)):
                dims[self.rng.randrange(rank)] = self.rng.choice(DIMS)
            dims[self.rng.randrange(rank)] = 0
        return dims

    def other_dims(self):
        """The main input's shape, a part of it with ones, one that a product takes, or any."""
        way, dims = self.rng.randrange(6), list(self.main)
        if way == 0:
            dims = [d if self.chance(0.6) else 1 for d in dims[self.rng.randint(0, len(dims)):]]
        elif way == 1 and len(dims) >= 2:
            dims = dims[:-2] + [dims[-1], self.rng.choice([1, 2, 7])]
        elif way == 2 and len(dims) >= 2:
            dims = [self.rng.choice([1, 2, 4]), dims[1]] + [self.rng.choice([1, 2, 3]) for _ in dims[2:]]
        elif way == 3 and dims:
            dims = [self.rng.choice(dims)]
        elif way == 4:
            dims = self.dims(self.rng.choice([0, 1, 1, 2, 3]))
        if math.prod(dims) > MOST_ELEMENTS:
            dims[self.rng.randrange(len(dims))] = 0
        return dims

    def integer(self):
        return self.rng.randint(-self.rank - 1, self.rank + 1) if self.chance(0.8) else self.rng.choice(NUMBERS)

    def integers(self, name):
        spatial = max(self.rank - 2, 1)
        count = self.rng.choice([self.rank, self.rank, spatial, 2 * spatial, 1, 2, 0])
        if name in LIST_NAMES:
            count = spatial
        if name == "perm" and self.chance(0.5):
            return self.rng.sample(range(self.rank), self.rank)
        if name in LIST_NAMES or name == "pads":
            return [self.rng.choice([1, 1, 2, 3]) for _ in range(2 * spatial if name == "pads" else count)]
        return [self.rng.randint(-self.rank, max(self.rank - 1, 0)) for _ in range(count)]

    def attribute(self, name, kind, spoil):
        rng = self.rng
        if kind == "INT":
            return rng.choice(NUMBERS) if spoil else rng.choice([0, 1, 1, 2, -1, self.integer(), 7])
        if kind == "INTS":
            values = self.integers(name)
            for _ in range(rng.randint(1, 2) if spoil and values else 0):
                values[rng.randrange(len(values))] = rng.choice(NUMBERS)
            return values
        if kind == "FLOAT":
            return rng.choice(FLOATS)
        if kind == "FLOATS":
            return rng.choices(FLOATS, k=3)
        if kind == "STRING":
            return rng.choice(WORDS if spoil else WORDS[:8])
        if kind == "TENSOR":
            return self.tensor("", rng.choice(list(SIZES)), [1] if self.chance(0.7) else self.dims(rng.randint(0, 3)))
        return None

    def attributes(self):
        given = {name: str(a.type).split(".")[-1] for name, a in self.schema.attributes.items()
                 if a.required or self.chance(0.5)}
        spoilt = self.rng.sample(sorted(given), min(len(given), self.rng.randint(1, 2)))
        spoilt = spoilt if "attributes" in self.extreme else []
        for name, kind in given.items():
            value = self.attribute(name, kind, name in spoilt)
            if value is not None:
                yield helper.make_attribute(name, value, attr_type=onnx.AttributeProto.AttributeType.Value(kind))

    def elements(self, type_name, count):
        """Small integers, or any numbers; floats of any bits."""
        if type_name in ("int64", "int32"):
            share = 0.5 if "values" in self.extreme else 0
            low = 8 * SIZES[type_name]
            values = [self.rng.choice(NUMBERS) if self.chance(share) else self.integer() for _ in range(count)]
            return struct.pack(f"<{count}{'q' if low == 64 else 'i'}",
                               *[(v + 2**(low - 1)) % 2**low - 2**(low - 1) for v in values])
        if type_name == "bool":
            return bytes(self.rng.choices([0, 1], k=count))
        return self.rng.randbytes(count * SIZES[type_name])

    def tensor(self, name, type_name, dims):
        raw = self.elements(type_name, math.prod(dims))
        return onnx.TensorProto(name=name, dims=dims, raw_data=raw,
                                data_type=onnx.TensorProto.DataType.Value(type_name.upper()))

    def type_of(self, formal):
        """One type for all inputs of a type parameter, most of the time."""
        types = [t[7:-1] for t in formal.types if t[7:-1] in SIZES]
        if not types:
            return "float"
        kind = getattr(formal, "type_str", None) or formal.typeStr
        if kind not in self.types or self.chance(0.03):
            self.types[kind] = self.rng.choice(types)
        return self.types[kind]

    def inputs(self):
        """(name, tensor, given at the start) of each input; None for one that is left out."""
        formals = list(self.schema.inputs)
        count = self.rng.randint(self.schema.min_input, min(self.schema.max_input, len(formals) + 2))
        for i in range(count):
            formal = formals[min(i, len(formals) - 1)]
            if i >= self.schema.min_input and self.chance(0.1):
                yield None
                continue
            dims = self.main if i == 0 else self.other_dims()
            type_name = self.type_of(formal)
            if i and type_name == "int64" and len(formal.types) <= 2 and self.chance(0.8):
                dims = [self.rng.choice([self.rank, self.rank, 1, 2])]
            yield self.tensor(f"x{i}", type_name, dims), self.chance(0.5)

    def build(self):
        """(model's bytes, tensors that it is given)"""
        inputs = list(self.inputs())
        names = [pair[0].name if pair else "" for pair in inputs]
        outputs = [f"y{k}" for k in range(self.rng.randint(self.schema.min_output, min(self.schema.max_output, 3)))]
        domain, _, plain = self.name.rpartition(".")
        node = helper.make_node(plain, names, outputs, name="n", domain=domain)
        node.attribute.extend(self.attributes())
        tensors = [pair for pair in inputs if pair]
        graph = helper.make_graph(
            [node], "g", [helper.make_tensor_value_info(t.name, t.data_type, None) for t, known in tensors if not known],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [t for t, known in tensors if known])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, self.version)], ir_version=10)
        return model.SerializeToString(), [t for t, known in tensors if not known]


def run(data, inputs, threads=0):
    """The status of a model with inputs (type, dims, bytes); raises what the test finds."""
    options = oxlib.Options()
    options.limits.bytes, options.limits.tensor_bytes, options.threads = 1 << 26, 1 << 22, threads
    model = session = None
    try:
        model = oxlib.Model(data, options)
        session = oxlib.Session(model)
        for i, (dtype, dims, raw) in enumerate(inputs):
            memory = C.create_string_buffer(raw, len(raw) or 1)
            session.set_input(i, oxlib.make_tensor(dtype, dims, None, C.addressof(memory)))
            session.inputs[i, "bytes"] = memory
        session.run()
        session.run()
        return oxlib.OK
    except oxlib.OxError as error:
        if not str(error) or error.status == oxlib.MEMORY:
            raise AssertionError(f"status {error.status}: '{error}'") from None
        return error.status
    finally:
        if session:
            session.close()
        if model:
            model.close()


def attempt(number, options, counts):
    draw = Draw(options.seed * 1000003 + number, options.only)
    what = f"{draw.name}-{draw.version}"
    data, tensors = draw.build()
    start = time.process_time()
    try:
        counts[run(data, [(t.data_type, t.dims, t.raw_data) for t in tensors]) != oxlib.OK] += 1
    except AssertionError as error:
        return f"{what}: {error}"
    spent = time.process_time() - start
    return f"{what}: took {spent:.1f} s" if spent > SECONDS else None


def work(options, attempt, first, shared):
    """Cases from the first one on; `shared` says how far it is: number, results, errors, failures."""
    counts = [0, 0, 0]
    for number in range(first, options.cases):
        shared[0] = number
        signal.setitimer(signal.ITIMER_VIRTUAL, 2 * SECONDS)
        text = attempt(number, options, counts)
        if text:
            counts[2] += 1
            print(f"case {number} of seed {options.seed}: {text}", flush=True)
        shared[1], shared[2], shared[3] = counts
    os._exit(0)


def go_through(options, attempt):
    """The status of a program that calls attempt(number, options, counts of results and errors) for each case, in a
    process of its own, which gives a text where it fails."""
    shared = memoryview(mmap.mmap(-1, 32)).cast("q")
    done, first = [0, 0, 0], 0
    while first < options.cases:
        child = os.fork()
        if not child:
            work(options, attempt, first, shared)
        status = os.waitpid(child, 0)[1]
        done = [a + b for a, b in zip(done, shared[1:4])]
        first = options.cases
        if status:
            first = shared[0] + 1
            done[2] += 1
            print(f"case {shared[0]} of seed {options.seed} ended the process: status {status}", flush=True)
        shared[1] = shared[2] = shared[3] = 0
    print(f"{done[0]} gave a result, {done[1]} an error")
    tally.finish(done[0] + done[1], done[2])
    return 1 if done[2] or not done[0] else 0


def main():
    return go_through(trials.parse(5000, "--only"), attempt)


ALL = list(operators())

if __name__ == "__main__":
    sys.exit(main())
