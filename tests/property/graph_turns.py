"""graph_turns.py: a random graph in one session that sees shapes, strides and types in turns, some of them again and
again, or one dimension that grows with every step, against a session of its own for each turn: the same bits, or the
same error."""

import graph_held
import numpy as np
import oxlib
import same
import values
from graph_held import Held
from graph_run import Config, Running, differs

MOST_GROWN = 1 << 16  # elements
MOST_DEEPER = 4000  # elements: a Scan over what was its second axis makes rounds of that many
WAYS, TURNS = 6, 14  # more ways than a session keeps plans of, which are 4 or 2


def shorter(rng, array):
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    return array if not array.ndim or array.shape[axis] < 2 else np.delete(array, -1, axis)


def longer(rng, array):
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    return array if not array.size or not array.ndim else np.concatenate(
        [array, np.take(array, [0], axis).astype(array.dtype)], axis)


def deeper(_rng, array):
    return array.reshape(1, *array.shape) if array.size <= MOST_DEEPER else array


def flatter(_rng, array):
    return array.reshape(array.shape[1:]) if array.ndim and array.shape[0] == 1 and array.size <= MOST_DEEPER else array


def of_another_type(_rng, array):
    """An error, where the model states the type; a whole other plan where it does not."""
    if array.dtype.kind not in "fiu":
        return array
    with np.errstate(invalid="ignore"):
        return array.astype(np.int64 if array.dtype == np.float32 else np.float32)


def rolled(_rng, array):
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


def nudged(rng, array):
    """Integers and bools beside what they were, of the same shape: positions, axes, counts and conditions."""
    if array.dtype.kind not in "iub" or array.size > 64:
        return array
    steps = rng.integers(0, 2, array.shape).astype(array.dtype)
    return np.asarray(array ^ steps if array.dtype.kind == "b" else np.where(array < 1, array + steps, array - steps), array.dtype)


CHANGES = [shorter, longer, shorter, longer, deeper, flatter, of_another_type, rolled, nudged, nudged, values.lay_out,
           values.lay_out]


def draw_way(rng, inputs):
    """The inputs with one change of all of them, or of some."""
    change, share = CHANGES[int(rng.integers(len(CHANGES)))], 1 if rng.random() < 0.5 else 0.4
    return {name: value if isinstance(value, Held) or rng.random() >= share else change(rng, value)
            for name, value in inputs.items()}


def stretched(value, size, old):
    """The value with `size` elements on every axis that had `old` of them: its own again and again."""
    axes = [] if isinstance(value, Held) or not value.size else [d for d, n in enumerate(value.shape) if n == old]
    for axis in axes:
        if value.size // old * size > MOST_GROWN:  # eight axes of eleven elements have 2e8
            break
        value = np.take(value, np.arange(size) % old, axis)
    return value


def draw_growth(rng, inputs):
    """The inputs as one of their sizes grows from turn to turn; now and then it stays, falls back, or what the inputs are
    changes otherwise."""
    sizes = sorted({n for value in inputs.values() if not isinstance(value, Held) for n in value.shape if n})
    old = sizes[int(rng.integers(len(sizes)))] if sizes else 0
    size, ways = old, []
    for _ in range(TURNS):
        way = {name: stretched(value, size, old) for name, value in inputs.items()}
        ways.append(draw_way(rng, way) if rng.random() < 0.1 else way)
        size = old if rng.random() < 0.05 else size + int(rng.random() < 0.9)
    return ways


def given_of(case, inputs):
    types = {name: case.types[name] if isinstance(value, Held) or value.dtype == case.inputs[name].dtype
             else str(value.dtype).replace("float32", "float") for name, value in inputs.items()}
    return same.Given([(value, types[name]) for name, value in inputs.items()])


def failure(session, given):
    """None, or what the error of a run is."""
    try:
        given.turned().run(session)
    except oxlib.OxError as error:
        return error.status, str(error)
    return None


def outputs_of(session, config):
    return [graph_held.output(session, i) for i in range(len(config.outputs))]


class Fresh:
    """A session of its own for inputs, and the error of its run."""

    def __init__(self, model, config, given):
        self.session = oxlib.Session(model, config.options())
        self.error = failure(self.session, given)


def difference(config, fresh, session, error):
    """None, or how a session's run, or its error, is not that of a fresh session."""
    if fresh.error or error:
        return None if fresh.error == error else f"{error or 'results'}, not {fresh.error or 'results'}"
    if same.same_sessions(fresh.session, session, len(config.outputs)):
        return None
    wanted, got = outputs_of(fresh.session, config), outputs_of(session, config)
    return next(filter(None, (differs(name, a, (t, b), s) for name, (s, a), (t, b) in zip(config.outputs, wanted, got))),
                None)


def examine(rng, case, isa):
    """None, or what is wrong."""
    made = case.made()
    outputs = tuple(name for name in made if rng.random() < 0.3) or (made[-1],)
    config = Config(isa, threads=1 + int(rng.integers(2)), no_fuse=rng.random() < 0.2, outputs=outputs,
                    plans=2 * int(rng.integers(2)))
    grows = rng.random() < 0.5
    ways = draw_growth(rng, case.inputs) if grows else [case.inputs] + [draw_way(rng, case.inputs)
                                                                        for _ in range(WAYS - 1)]
    given, fresh = [given_of(case, way) for way in ways], {}
    with Running(case, config) as running:
        try:
            for turn in range(TURNS):
                bind(running.session, rng.random() < 0.15)
                number = turn if grows else int(rng.integers(WAYS))
                if number not in fresh:
                    fresh[number] = Fresh(running.model, config, given[number])
                text = difference(config, fresh[number], running.session, failure(running.session, given[number]))
                if text:
                    shapes = {name: value.shape for name, value in ways[number].items() if not isinstance(value, Held)}
                    return f"turn {turn}, way {number} of {shapes}: {text}"
        finally:
            for one in fresh.values():
                one.session.close()
    return None


class Memory:
    """What a callback gives for outputs: blocks that stay."""

    def __init__(self):
        self.blocks = {}
        self.function = oxlib.OutputFunction(self.give)

    def give(self, _context, index, _output, size):
        if index % 3 == 2:
            return None
        if len(self.blocks.get(index, b"")) < size + 64:
            self.blocks[index] = np.zeros(2 * size + 64, np.uint8)
        address = self.blocks[index].ctypes.data
        return address + -address % 64 if index % 2 else address


def bind(session, change):
    """Now and then outputs go into memory of the caller's, or no longer."""
    if change:
        session.memory_of_outputs = None if getattr(session, "memory_of_outputs", None) else Memory()
        session.set_outputs(session.memory_of_outputs and session.memory_of_outputs.function)
