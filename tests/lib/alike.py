"""alike.py: a model gives the same with its inputs as constants, of which what depends on them alone is computed while a
plan is made. Once watched, a share of all runs of sessions is repeated so: with all inputs as constants, or with some.

Where all are constants, nothing is laid out for a product that runs once: the bits are those of a run that is given
everything, the model's own weights as well, and packed. Where some are, weights may be laid out for other loops, which add products
up in another order: alike_bounds.py says how far results may be apart. A part is repeated, with some constants or none, by a
model with a limit on its memory, which lays out nothing."""

import os
import threading

import alike_bounds
import arrays
import numpy as np
import onnx
import oxlib
import tally
from onnx import numpy_helper

# Of runs: all at night; few where each takes three times as long.
SHARE = float(os.environ.get("OX_ALIKE", 0.1 if "OX_SANITIZED" in os.environ else 0.3))
CODES = {"uint4": 4, "int4": 4, "uint2": 2, "int2": 2, "float4e2m1": 4, "float6e2m3": 6, "float6e3m2": 6}
DRAWS = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}
FLOATS = {arrays.DTYPES[name][0] for name in ("float", "double", "float16", "bfloat16")}


def initializer(name, type_name, array):
    """The array as a constant of a model; packed types are one stream of bits, lowest first."""
    tensor = onnx.TensorProto(name=name, data_type=arrays.DTYPES[type_name][0], dims=array.shape)
    if type_name == "string":
        tensor.string_data.extend(arrays.texts_of(array).reshape(-1).tolist())
        return tensor
    raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    if type_name in CODES:
        bits = np.unpackbits(raw.reshape(-1, 1), axis=1, bitorder="little")[:, :CODES[type_name]]
        raw = np.packbits(bits, bitorder="little")
    tensor.raw_data = raw.tobytes()
    return tensor


def nodes_of(graph):
    """The nodes of a graph and of its branches and bodies."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes_of(attribute.g)


class Sample:
    """A model and what it is fed with, which can be varied."""

    def __init__(self, session):
        self.model = onnx.ModelProto.FromString(session.model.data.raw)
        self.graph = self.model.graph
        self.feeds = {port.name: arrays.from_tensor(session.inputs[i]) for i, port in enumerate(self.graph.input)}
        self.is_strided = any(tensor.strides for tensor in session.inputs.values())
        self.settings = oxlib.Options.from_buffer_copy(session.options or oxlib.Options())
        self.settings.allocator, self.settings.limits = None, oxlib.Limits()
        self.of_model = session.model.options
        self.nodes = [n for of in (self.graph, *self.model.functions) for n in nodes_of(of)]
        self.ops = {node.op_type for node in self.nodes}

    def weights(self, readers=()):
        """The initializers of floats, and those of all types that such operators read, by name."""
        read = {name for node in self.nodes if node.op_type in readers for name in node.input}
        return {t.name: (arrays.BY_NUMBER[t.data_type][0], numpy_helper.to_array(t)) for t in self.graph.initializer
                if t.name in read or t.data_type in FLOATS}

    def limit(self):
        """Has a model made of it lay out no weights, which takes memory that a limit keeps for sessions."""
        self.of_model = oxlib.Options.from_buffer_copy(self.of_model or oxlib.Options())
        self.of_model.limits.bytes = 1 << 40

    def run(self, constants=(), given=None):
        """(outputs, algorithms) of the model with these inputs as constants, and other weights and inputs given."""
        model, feeds = onnx.ModelProto(), {**self.feeds, **(given or {})}
        also = [name for name in feeds if name not in self.feeds]
        model.CopyFrom(self.model)
        graph = model.graph
        kept = [port for port in graph.input if port.name not in constants]
        kept += [onnx.helper.make_tensor_value_info(name, arrays.DTYPES[feeds[name][0]][0], None) for name in also]
        stored = [tensor for tensor in graph.initializer if tensor.name not in also]
        del graph.input[:], graph.initializer[:]
        graph.input.extend(kept)
        graph.initializer.extend(stored + [initializer(name, *feeds[name]) for name in constants])
        return run(model, [feeds[port.name] for port in kept], self.of_model, self.settings)


def run(model, feeds, of_model, settings):
    """(outputs, algorithms) of one run that is not watched."""
    loaded = oxlib.Model(model.SerializeToString(), of_model)
    try:
        session = oxlib.Session(loaded, settings)
        try:
            tensors = [arrays.to_input(np.array(array, order="C"), name) for name, array in feeds]
            for k, tensor in enumerate(tensors):
                session.set_input(k, tensor)
            session.run(watched=False)
            return outputs(session), session.algorithms()
        finally:
            session.close()
    finally:
        loaded.close()


def outputs(session):
    """(type name, array) of each output, None for one that is no tensor."""
    found = []
    for k in range(oxlib.library.ox_model_output_count(session.model.handle)):
        try:
            type_name, array = arrays.from_tensor(session.output(k))
            found.append((type_name, arrays.texts_of(array) if type_name == "string" else array))
        except oxlib.OxError:
            found.append(None)
    return found


def same(one, other):
    """Whether two outputs are the same bits; every NaN is the same."""
    if one is None or other is None or one[0] != other[0] or one[1].shape != other[1].shape:
        return one is other
    if one[0] == "string":
        return np.array_equal(one[1], other[1])
    bits = [np.where(a == a, a, a.dtype.type(1)).tobytes() + (a == a).tobytes() for a in (one[1], other[1])]
    return bits[0] == bits[1]


class Watch:
    """Repeats a share of the runs, and counts what differs as failed checks."""

    def __init__(self, seed):
        self.rng, self.repeated = np.random.default_rng(seed), 0

    def __call__(self, session, status):
        if self.rng.random() >= SHARE or threading.current_thread() is not threading.main_thread():
            return
        if not isinstance(session.model, oxlib.Model) or status not in (oxlib.OK, oxlib.SHAPE, oxlib.VALUE):
            return
        count = oxlib.library.ox_model_input_count(session.model.handle)
        if not count or set(session.inputs) != set(range(count)):
            return
        sample = Sample(session)
        stored = {t.name for t in sample.graph.initializer} | {t.values.name for t in sample.graph.sparse_initializer}
        if sample.ops & DRAWS or stored & set(sample.feeds):
            return
        chosen = [name for name in sample.feeds if self.rng.random() < 0.5] if self.rng.random() < 0.4 else []
        limited = self.rng.random() < 0.3
        if limited:
            sample.limit()
        self.repeat(session, status, sample, chosen if chosen or limited else list(sample.feeds))

    def repeat(self, session, status, sample, chosen):
        self.repeated += 1
        text = f"{sorted(sample.ops)} with {chosen} of {list(sample.feeds)} as constants"
        try:
            got, algorithms = sample.run(chosen)
        except oxlib.OxError as error:
            tally.check(text, status != oxlib.OK, error)
            return
        if status != oxlib.OK:
            tally.check(text, False, f"gives a result instead of status {status} {session.error.text}")
            return
        wanted, bounds = outputs(session), None
        if alike_bounds.is_laid_out(sample):
            whole = len(chosen) == len(sample.feeds)
            weights = sample.weights(alike_bounds.LAID_OUT)
            if whole and (weights or sample.is_strided):
                wanted, _ = sample.run(given=weights)
            algorithms += session.algorithms()  # either of the two may be that with the larger errors
            bounds = alike_bounds.of_whole(sample, wanted) if whole else alike_bounds.of(sample, chosen, wanted, algorithms)
        for k, (one, other) in enumerate(zip(got, wanted)):
            good = same(one, other) if bounds is None else same(one, other) or alike_bounds.near(one, other, bounds[k])
            tally.check(text, good, f"output {k}")


def watch(seed):
    """Has a share of all runs of sessions from now on repeated; values that are no tensors stay as they are."""
    oxlib.Session.watch = Watch(seed)
