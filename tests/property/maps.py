"""maps.py [--seed N] [--cases N]: ZipMap, CastMap and DictVectorizer on random maps, against Python's dictionaries.

Maps come in as serialized MapProtos, and go out through the functions of ox.h.
"""

import sys

import arrays
import numpy as np
import onnx
import oxlib
import trials
from onnx import TensorProto, helper
from results import dictionaries, library, map_value, plain, set_value

DOMAIN = "ai.onnx.ml"


def model_of(op, given, **attributes):
    node = helper.make_node(op, ["x"], ["y"], domain=DOMAIN, **attributes)
    output = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([node], "graph", [given], [output])
    imports = [helper.make_opsetid(DOMAIN, 3), helper.make_opsetid("", 15)]
    return helper.make_model(graph, ir_version=8, opset_imports=imports).SerializeToString()


def run(data, feed, read):
    """What `read` makes of a session that ran on a tensor or a value."""
    model = oxlib.Model(data)
    session = oxlib.Session(model)
    try:
        if isinstance(feed, np.ndarray):
            session.set_input(0, arrays.to_input(feed, "float"))
        else:
            set_value(session, 0, feed)
        session.run()
        return read(session)
    finally:
        session.close()
        model.close()


def words(rng, count):
    return [f"w{int(i)}" for i in rng.permutation(100)[:count]]


def numbers(rng, count):
    return [int(i) for i in rng.permutation(40)[:count]]


def zip_map(rng):
    rows, columns = int(rng.integers(0, 5)), int(rng.integers(1, 5))
    x = rng.standard_normal((rows, columns) if rng.random() < 0.7 else (columns,)).astype(np.float32)
    texts = rng.random() < 0.5
    keys = words(rng, columns) if texts else numbers(rng, columns)
    name = "classlabels_strings" if texts else "classlabels_int64s"
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)

    got = run(model_of("ZipMap", given, **{name: keys}), x, lambda session: dictionaries(session, 0))
    wanted = [dict(zip(keys, row)) for row in x.reshape(-1, columns).tolist()]
    return None if got == wanted else f"ZipMap: {got}, not {wanted}"


def map_info(key_type, value_type):
    inner = helper.make_tensor_type_proto(value_type, None)
    return helper.make_value_info("x", helper.make_map_type_proto(key_type, inner))


def output_list(session):
    tensor = session.output(0)
    return [int(d) for d in tensor.dims[:tensor.rank]], plain(tensor)


# Texts of numbers, and what they are as a float and as an integer; None is an error.
NUMBERS = {"1.5": (1.5, 1), "-2": (-2.0, -2), "+7": (7.0, 7), "1e3": (1000.0, 1000), "-2.75e0": (-2.75, -2),
           "": (None, None), "0.1": (np.float32(0.1), 0), "3 ": (None, None), "0x10": (None, None),
           "9223372036854775807": (2.0**63, 2**63 - 1), "-9223372036854775808": (-2.0**63, -2**63),
           "9223372036854775808": (2.0**63, None), "1e400": (np.inf, None), "-inf": (-np.inf, None),
           "16777217": (16777216.0, 16777217), "1.0000000596046448": (1 + 2.0**-23, 1)}


def cast_of(value, to):
    """What a value of a map becomes; None is an error."""
    if isinstance(value, str) and to != "TO_STRING":
        cast = NUMBERS[value][to == "TO_INT64"]
        return None if cast is None else cast if to == "TO_INT64" else float(cast)
    if to == "TO_STRING":
        return value if isinstance(value, str) else str(np.float32(value))
    return int(value) if to == "TO_INT64" else value


def cast_map(rng):
    texts = rng.random() < 0.5
    kind = TensorProto.STRING if texts else TensorProto.FLOAT
    keys = numbers(rng, int(rng.integers(0, 6)))
    to = ["TO_STRING", "TO_FLOAT", "TO_INT64"][int(rng.integers(0, 3))]
    drawn = list(NUMBERS)[:None if rng.random() < 0.3 else 5]
    entries = {k: drawn[int(rng.integers(0, len(drawn)))] if texts else float(np.float32(rng.standard_normal() * 10))
               for k in keys}
    sparse = rng.random() < 0.5
    attributes = {"cast_to": to, "map_form": "SPARSE", "max_map": 40} if sparse else {"cast_to": to}
    nothing = "" if to == "TO_STRING" else 0
    wanted = [cast_of(entries[k], to) if k in entries else nothing for k in (range(40) if sparse else sorted(entries))]
    value = map_value(entries or {}, TensorProto.INT64, kind)
    try:
        got = run(model_of("CastMap", map_info(TensorProto.INT64, kind), **attributes), value, output_list)
    except oxlib.OxError as error:
        got = error.status
    library.ox_value_free(value)
    right = got == oxlib.VALUE if None in wanted else got == ([1, len(wanted)], wanted)
    return None if right else f"CastMap: {got}, not {wanted}: {entries} {attributes}"


def dict_vectorizer(rng):
    texts = rng.random() < 0.5
    kind = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE][int(rng.integers(0, 3))]
    vocabulary = (words if texts else numbers)(rng, int(rng.integers(1, 8)))
    keys = [k for k in vocabulary if rng.random() < 0.5]
    entries = {k: int(rng.integers(-9, 10)) for k in keys}
    name = "string_vocabulary" if texts else "int64_vocabulary"
    key_type = TensorProto.STRING if texts else TensorProto.INT64
    if texts and kind == TensorProto.STRING:
        kind = TensorProto.FLOAT
    value = map_value(entries, key_type, kind)
    got = run(model_of("DictVectorizer", map_info(key_type, kind), **{name: vocabulary}), value, output_list)
    library.ox_value_free(value)
    wanted = [entries.get(k, 0) for k in vocabulary]
    return None if got == ([len(wanted)], wanted) else f"DictVectorizer: {got}, not {wanted}"


def check(rng, number):
    return [zip_map, cast_map, dict_vectorizer][number % 3](rng)


if __name__ == "__main__":
    sys.exit(trials.run(check, 600))
