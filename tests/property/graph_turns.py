"""graph_turns.py: a random graph in one session that sees shapes, strides and types in turns, some of them again and
again, against a session of its own for each turn: the same bits, or the same error."""

import arrays
import graph_held
import numpy as np
import oxlib
import values
from graph_held import Held
from graph_run import Config, Running, differs

WAYS, TURNS = 6, 14  # more ways than a session keeps plans of


def shorter(rng, array):
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    return array if not array.ndim or array.shape[axis] < 2 else np.delete(array, -1, axis)


def longer(rng, array):
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    return array if not array.size or not array.ndim else np.concatenate(
        [array, np.take(array, [0], axis).astype(array.dtype)], axis)


def deeper(_rng, array):
    return array.reshape(1, *array.shape)


def flatter(_rng, array):
    return array.reshape(array.shape[1:]) if array.ndim and array.shape[0] == 1 else array


def of_another_type(_rng, array):
    """An error, where the model states the type; a whole other plan where it does not."""
    if array.dtype.kind not in "fiu":
        return array
    with np.errstate(invalid="ignore"):
        return array.astype(np.int64 if array.dtype == np.float32 else np.float32)


def rolled(_rng, array):
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


CHANGES = [shorter, longer, shorter, longer, deeper, flatter, of_another_type, rolled, values.lay_out, values.lay_out]


def draw_way(rng, inputs):
    """The inputs with one change of all of them, or of some."""
    change, share = CHANGES[int(rng.integers(len(CHANGES)))], 1 if rng.random() < 0.5 else 0.4
    return {name: value if isinstance(value, Held) or rng.random() >= share else change(rng, value)
            for name, value in inputs.items()}


def result(session, case, config, given):
    """The outputs, or what the error is."""
    kept = []
    try:
        for i, (name, value) in enumerate(given.items()):
            type_name = case.types[name]
            if isinstance(value, Held):
                kept.append(graph_held.Given(value, type_name))
                kept[-1].set(session, i)
            elif value.dtype == case.inputs[name].dtype:
                session.set_input(i, arrays.to_input(value, type_name))
            else:
                session.set_input(i, arrays.to_input(value, str(value.dtype).replace("float32", "float")))
        session.run()
    except oxlib.OxError as error:
        return error.status, str(error)
    return [graph_held.output(session, i) for i in range(len(config.outputs))]


def difference(config, wanted, got):
    if isinstance(wanted, tuple) or isinstance(got, tuple):
        return None if wanted == got else f"{got}, not {wanted}" if isinstance(wanted, tuple) else f"error {got}"
    return next(filter(None, (differs(name, a, (t, b), s) for name, (s, a), (t, b) in zip(config.outputs, wanted, got))),
                None)


def examine(rng, case, isa):
    """None, or what is wrong."""
    made = case.made()
    outputs = tuple(name for name in made if rng.random() < 0.3) or (made[-1],)
    config = Config(isa, threads=1 + int(rng.integers(2)), no_fuse=rng.random() < 0.2, outputs=outputs)
    ways = [case.inputs] + [draw_way(rng, case.inputs) for _ in range(WAYS - 1)]
    with Running(case, config) as running:
        for turn in range(TURNS):
            bind(running.session, rng.random() < 0.15)
            number = int(rng.integers(WAYS))
            fresh = oxlib.Session(running.model, config.options())
            try:
                text = difference(config, result(fresh, case, config, ways[number]),
                                  result(running.session, case, config, ways[number]))
            finally:
                fresh.close()
            if text:
                shapes = {name: value.shape for name, value in ways[number].items() if not isinstance(value, Held)}
                return f"turn {turn}, way {number} of {shapes}: {text}"
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
