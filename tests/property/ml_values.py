"""ml_values.py: random nodes of the domain ai.onnx.ml that look values up, scale columns or choose them."""

import numpy as np
from ml_case import NUMBERS, WORDS, Case, draw_rows, draw_type, pick, weights
from onnx import TensorProto, helper

# ---- Columns ----------------------------------------------------------------------------------------------------


def draw_floats(rng, columns):
    """One for all columns, or one for each."""
    return weights(rng, 1 if rng.random() < 0.3 else columns).tolist()


def binarizer(rng):
    type_name = draw_type(rng)
    attributes = {"threshold": float(rng.integers(-4, 5)) / 2} if rng.random() < 0.8 else {}
    x = draw_rows(rng, type_name)
    return Case("Binarizer", 1, [(type_name, x)], attributes,
                expected=[(x > attributes.get("threshold", 0)).astype(x.dtype)])


def scaler(rng):
    type_name = draw_type(rng)
    x = draw_rows(rng, type_name)
    offset = draw_floats(rng, x.shape[1])
    return Case("Scaler", 1, [(type_name, x)], {"offset": offset, "scale": weights(rng, len(offset)).tolist()})


def imputer(rng):
    type_name = draw_type(rng, ["float", "int64"])
    x = draw_rows(rng, type_name)
    if type_name == "int64":
        attributes = {"replaced_value_int64": int(rng.integers(-4, 5)),
                      "imputed_value_int64s": [int(i) for i in rng.integers(-9, 9, pick(rng, [1, x.shape[1]]))]}
    else:
        attributes = {"replaced_value_float": pick(rng, [np.nan, 0.0, 1.5, -2.0]),
                      "imputed_value_floats": draw_floats(rng, x.shape[1])}
    return Case("Imputer", 1, [(type_name, x)], attributes)


def normalizer(rng):
    """Rows of zeros are left as they are."""
    type_name, norm = draw_type(rng), pick(rng, ["MAX", "L1", "L2"])
    x = draw_rows(rng, type_name, special=False)
    x[rng.random(len(x)) < 0.1] = 0
    wide = x.astype(np.float64)
    by = {"MAX": lambda: wide.max(axis=1), "L1": lambda: np.abs(wide).sum(axis=1),
          "L2": lambda: np.sqrt((wide * wide).sum(axis=1))}[norm]()[:, None]
    wanted = (wide / np.where(by == 0, 1, by)).astype(np.float32)
    return Case("Normalizer", 1, [(type_name, x)], {"norm": norm}, expected=[wanted])


def extractor(rng):
    type_name = draw_type(rng, [*NUMBERS, "string"])
    x = draw_words(rng, (3, 4)) if type_name == "string" else draw_rows(rng, type_name)
    x = x[0] if rng.random() < 0.2 else x
    y = rng.integers(0, x.shape[-1], (1, int(rng.integers(1, 6)))).astype(np.int64)
    return Case("ArrayFeatureExtractor", 1, [(type_name, x), ("int64", y)], {})


def vectorizer(rng):
    type_name, rows = draw_type(rng), pick(rng, [1, 2, 50])
    inputs = [(type_name, draw_rows(rng, type_name, rows)) for _ in range(int(rng.integers(1, 5)))]
    return Case("FeatureVectorizer", 1, inputs, {"inputdimensions": [x.shape[1] for _, x in inputs]})


# ---- Maps -------------------------------------------------------------------------------------------------------


def draw_words(rng, shape):
    result = np.empty(shape, object)
    for at in np.ndindex(*shape):
        result[at] = f"{pick(rng, WORDS)}{int(rng.integers(0, 4))}"
    return result


def draw_distinct(rng, type_name, count):
    if type_name == "string":
        return sorted(set(draw_words(rng, (count,)).tolist()))
    return [int(i) for i in rng.permutation(12)[:count] - 5]


def draw_elements(rng, type_name):
    shape = tuple(int(d) for d in rng.integers(1, 6, int(rng.integers(1, 4))))
    if type_name == "string":
        return draw_words(rng, shape)
    x = rng.integers(-6, 8, shape).astype({"int16": np.int16, **NUMBERS}[type_name])
    if type_name in ("float", "double"):
        x[rng.random(shape) < 0.2] = np.nan
    return x


def places(rng):
    words = draw_distinct(rng, "string", 6)
    type_name = pick(rng, ["string", "int64"])
    attributes = {"classes_strings": words}
    if rng.random() < 0.5:
        attributes.update({"default_int64": 77} if type_name == "string" else {"default_string": "other"})
    return Case("LabelEncoder", 1, [(type_name, draw_elements(rng, type_name))], attributes)


def mapper(rng):
    words = draw_distinct(rng, "string", 6)
    type_name = pick(rng, ["string", "int64"])
    attributes = {"cats_strings": words, "cats_int64s": draw_distinct(rng, "int64", len(words))}
    if rng.random() < 0.5:
        attributes.update({"default_int64": 77} if type_name == "string" else {"default_string": "other"})
    return Case("CategoryMapper", 1, [(type_name, draw_elements(rng, type_name))], attributes)


SUFFIXES = {"string": "strings", "int64": "int64s", "float": "floats"}


def with_nan(rng, type_name, keys):
    return [np.nan, *keys[1:]] if type_name in ("float", "double") and rng.random() < 0.5 else keys


def encoder(rng):
    pairs = [("string", "int64"), ("int64", "string"), ("float", "string"), ("string", "float"), ("int64", "float"),
             ("float", "int64"), ("int64", "int64"), ("float", "float"), ("string", "string")]
    from_type, to_type = pick(rng, pairs)
    keys = with_nan(rng, from_type, draw_distinct(rng, from_type, 6))
    values = draw_elements_of(rng, to_type, len(keys))
    attributes = {f"keys_{SUFFIXES[from_type]}": as_floats(from_type, keys),
                  f"values_{SUFFIXES[to_type]}": as_floats(to_type, values)}
    if rng.random() < 0.5:
        attributes.update({"int64": {"default_int64": 77}, "float": {"default_float": 0.5},
                           "string": {"default_string": "other"}}[to_type])
    x, version, expected = draw_elements(rng, from_type), pick(rng, [2, 4]), None
    if version == 2 and from_type == "float":  # onnxruntime finds no NaN there
        missing = {"int64": -1, "float": -0.0, "string": "_Unused"}[to_type]
        missing = [value for name, value in attributes.items() if name.startswith("default")] or [missing]
        expected = [looked_up(keys, values, missing[0], x, to_type)]
    return Case("LabelEncoder", version, [(from_type, x)], attributes, expected=expected)


def draw_elements_of(rng, type_name, count):
    if type_name == "string":
        return draw_words(rng, (count,)).tolist()
    return [int(i) for i in rng.integers(-9, 9, count)]


def as_floats(type_name, values):
    return [float(v) for v in values] if type_name in ("float", "double") else values


def looked_up(keys, values, missing, x, to_type):
    table = {as_key(k): v for k, v in zip(keys, values)}
    wanted = [table.get(as_key(e), missing) for e in x.reshape(-1).tolist()]
    if to_type == "string":
        wanted = [text.encode() for text in wanted]
    result = np.empty(x.shape, object if to_type == "string" else {"int16": np.int16, **NUMBERS}[to_type])
    result.reshape(-1)[:] = wanted
    return result


def tensor_encoder(rng):
    """Version 4 with tensors, of which repeated keys have the last value."""
    types = ["string", "int64", "float", "int32", "int16", "double"]
    from_type, to_type = pick(rng, types), pick(rng, types)
    keys = with_nan(rng, from_type, draw_elements_of(rng, from_type, 8))
    values = draw_elements_of(rng, to_type, len(keys))
    missing = as_floats(to_type, draw_elements_of(rng, to_type, 1))
    make = lambda name, kind, list_: helper.make_tensor(name, TensorProto.DataType.Value(kind.upper()), [len(list_)],
                                                        [s.encode() for s in list_] if kind == "string" else list_)
    attributes = {"keys_tensor": make("keys", from_type, as_floats(from_type, keys)),
                  "values_tensor": make("values", to_type, as_floats(to_type, values)),
                  "default_tensor": make("default", to_type, missing)}
    x = draw_elements(rng, from_type)
    expected = [looked_up(keys, values, missing[0], x, to_type)]
    return Case("LabelEncoder", 4, [(from_type, x)], attributes, expected=expected)


def as_key(key):
    return "nan" if isinstance(key, float) and np.isnan(key) else key


def one_hot(rng):
    type_name = pick(rng, ["string", "int64", "int32", "float", "double"])
    if type_name == "string":
        attributes = {"cats_strings": draw_distinct(rng, "string", 6)}
        x = draw_elements(rng, "string")
    else:
        attributes = {"cats_int64s": draw_distinct(rng, "int64", 6)}
        x = np.nan_to_num(draw_elements(rng, type_name))
    categories = list(attributes.values())[0]
    wanted = np.stack([x.astype(object) == category for category in categories], axis=-1).astype(np.float32)
    return Case("OneHotEncoder", 1, [(type_name, x)], attributes, expected=[wanted])


DRAWERS = {"Binarizer": binarizer, "Scaler": scaler, "Imputer": imputer, "Normalizer": normalizer,
           "ArrayFeatureExtractor": extractor, "FeatureVectorizer": vectorizer, "LabelEncoder-1": places,
           "CategoryMapper": mapper, "LabelEncoder": encoder, "LabelEncoder of tensors": tensor_encoder,
           "OneHotEncoder": one_hot}
