"""values.py OX [--cases N] [--seed N]: damaged messages of sequences, optionals and maps.

Through the library: every truncation and random changes of SequenceProtos, OptionalProtos and MapProtos, in a buffer of
16 MB that must be whole again afterwards; what is read goes through a model, and all of it is read again. Through the
command: the same as inputs of `ox run` and `ox test`, which end with status 0 or 1.
"""

import ctypes as C
import os
import pathlib
import random
import sys
import tempfile

import numpy as np
import onnx
import oxlib
import trials
from hostile import Arena, Tally, change, command_problem, run_command
from onnx import MapProto, OptionalProto, SequenceProto, TensorProto, helper, numpy_helper
from results import library, pointer, set_value

SEQUENCE, OPTIONAL, MAP = 2, 3, 4
BYTES = 16 << 20
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def tensor(*numbers, dims=None, kind=FLOAT):
    return helper.make_tensor("t", kind, dims or [len(numbers)], numbers)


def sequence(kind, *items):
    names = {"TENSOR": "tensor_values", "SEQUENCE": "sequence_values", "MAP": "map_values"}
    made = SequenceProto(name="s", elem_type=getattr(SequenceProto, kind))
    getattr(made, names[kind]).extend(items)
    return made


def mapping(key_type, keys, *items):
    made = MapProto(name="m", key_type=key_type, values=sequence("TENSOR", *items))
    (made.string_keys if key_type == STRING else made.keys).extend(keys)
    return made


def cases():
    """(name, kind, type, message)."""
    plain = helper.make_tensor_type_proto
    of = {SEQUENCE: helper.make_sequence_type_proto, OPTIONAL: helper.make_optional_type_proto}
    floats, texts = plain(FLOAT, None), plain(STRING, None)
    two = sequence("TENSOR", tensor(1, 2), tensor(3, 4, 5, 6, dims=[2, 2]))
    raw = sequence("TENSOR", numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3)), tensor(7))
    words = sequence("TENSOR", tensor(b"a", b"bc", kind=STRING), tensor(b"", kind=STRING))
    by_number = mapping(INT64, [1, -5], tensor(1), tensor(2, dims=[]))
    yield "two tensors", SEQUENCE, of[SEQUENCE](floats), two
    yield "raw tensors", SEQUENCE, of[SEQUENCE](floats), raw
    yield "texts", SEQUENCE, of[SEQUENCE](texts), words
    yield "sequences", SEQUENCE, of[SEQUENCE](of[SEQUENCE](floats)), sequence("SEQUENCE", two, raw)
    maps = of[SEQUENCE](helper.make_map_type_proto(INT64, floats))
    yield "maps", SEQUENCE, maps, sequence("MAP", by_number, by_number)
    one = OptionalProto(name="o", elem_type=OptionalProto.TENSOR, tensor_value=tensor(1, 2, 3))
    yield "an optional", OPTIONAL, of[OPTIONAL](floats), one
    many = OptionalProto(elem_type=OptionalProto.SEQUENCE, sequence_value=two)
    yield "an optional sequence", OPTIONAL, of[OPTIONAL](of[SEQUENCE](floats)), many
    yield "a map", MAP, helper.make_map_type_proto(INT64, floats), by_number
    by_text = mapping(STRING, [b"k", b"\xc3\xa4"], tensor(b"x", kind=STRING), tensor(b"y", kind=STRING))
    yield "a map of texts", MAP, helper.make_map_type_proto(STRING, texts), by_text


def identity(type_proto):
    ports = [helper.make_value_info(name, type_proto) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ports[:1], ports[1:])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()


def read_all(value):
    """Every element, so that the sanitizers see where it lies; how many there are."""
    held = library.ox_value_tensor(value)
    if held:
        found = held.contents
        size = int(np.prod(found.dims[:found.rank], dtype=np.int64)) * library.ox_dtype_size(found.dtype)
        return len(C.string_at(found.data, size)) if size else 0
    keys = library.ox_value_keys(value)
    assert not keys or keys.contents.dims[0] == library.ox_value_count(value)
    return sum(read_all(library.ox_value_item(value, i)) for i in range(library.ox_value_count(value)))


def through_model(model, value, options):
    session = oxlib.Session(model, options)
    try:
        set_value(session, 0, value)
        session.run()
        result = pointer()
        oxlib.check(library.ox_session_output_value(session.handle, 0, C.byref(result), session.error), session.error)
        read_all(result)
    finally:
        session.close()


def library_problem(data, kind, model, arena):
    value, error = pointer(), oxlib.Error()
    status = library.ox_value_from_proto(kind, data, len(data), C.byref(arena.options), C.byref(value), None,
                                         C.byref(error))
    if status:
        return None if error.text and arena.whole() else f"status {status}, {error.text}, or a leak"
    if library.ox_value_kind(value) != kind:
        return "it is of another kind"
    read_all(value)
    try:
        through_model(model, value, None)
    except oxlib.OxError as wrong:
        if not str(wrong):
            return f"status {wrong.status} without a text"
    library.ox_value_free(value)
    return None if arena.whole() else "leaks"


def through_library(rng, tally, turns):
    arena = Arena(BYTES)
    for name, kind, type_proto, message in cases():
        data, model = message.SerializeToString(), oxlib.Model(identity(type_proto))
        tries = [data[:size] for size in range(len(data))] + [change(data, rng) for _ in range(turns)]
        problems = (library_problem(bad, kind, model, arena) for bad in tries)
        tally.count(f"{name}, {len(tries)} tries", next(filter(None, problems), None))
        tally.count(f"{name}, whole", library_problem(data, kind, model, arena))
        model.close()


def through_command(ox, rng, tally):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        case = root / "case" / "test_data_set_0"
        case.mkdir(parents=True)
        for name, _, type_proto, message in cases():
            data = message.SerializeToString()
            (case.parent / "model.onnx").write_bytes(identity(type_proto))
            for turn in range(8):
                bad = data[:rng.randrange(len(data))] if turn % 2 else change(data, rng)
                (case / "input_0.pb").write_bytes(bad if turn % 4 < 2 else data)
                (case / "output_0.pb").write_bytes(bad if turn % 4 > 0 else data)
                run = command_problem([ox, "run", case.parent / "model.onnx", "-i", case / "input_0.pb"])
                tally.count(f"ox run, {name} {turn}", run)
                # What differs is said on standard output.
                status, text, _ = run_command([ox, "test", "--quiet", case.parent])
                tally.count(f"ox test, {name} {turn}", None if status in (0, 1) and not text else f"{status}: {text}")


def main():
    ox = os.path.abspath(sys.argv.pop(1))
    options = trials.parse(400)
    rng, tally = random.Random(options.seed), Tally()
    through_library(rng, tally, options.cases)
    through_command(ox, rng, tally)
    print(f"{tally.passed} passed, {tally.failed} failed, 0 skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
