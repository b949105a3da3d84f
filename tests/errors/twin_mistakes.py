"""twin_mistakes.py: mistakes with operators of com.microsoft that are one or a few of ONNX's."""

import numpy as np
from fused_mistakes import BYTES, ONE, at
from mistakes import MODEL, SHAPE, UNSUPPORTED, VALUE, floats


def all_mistakes():
    yield from moves()
    yield from numbers()
    yield from gates()
    yield from embeddings()
    yield from models()


def moves():
    x = floats(2, 3)
    yield at("two axes to expand by", "ExpandDims x,a y", {"x": x, "a": np.zeros(2, np.int32)}, SHAPE,
             "input 1 'a' (int32 [2]) must be one element")
    yield at("an axis of 64 bits", "ExpandDims x,a y", {"x": x, "a": np.array(0)}, UNSUPPORTED,
             "input 1 'a' (int64 []): type int64 is not supported here; int32 is")
    yield at("tuples of floats", "GatherND x,a y", {"x": x, "a": x}, UNSUPPORTED,
             "input 1 'a' (float [2,3]): type float is not supported here; int32, int64 are")
    for dims in (3,), (2, 4):
        yield at(f"padding of shape {dims}", "Pad x,p y", {"x": x, "p": np.zeros(dims, np.int64)}, SHAPE,
                 f"input 1 'p' (int64 [{','.join(map(str, dims))}]) must have shape [4] or [1,4]")
    yield at("two values to pad with", "Pad x,p,v y", {"x": x, "p": np.zeros(4, np.int64), "v": floats(2)}, SHAPE,
             "input 2 'v' (float [2]) must be one element")
    yield at("a matrix of which unique elements are wanted", "Unique x y,i,c", {"x": x}, SHAPE,
             "input 0 'x' (float [2,3]) must have 1 dimension")


def numbers():
    x = floats(2, 3)
    yield at("a range between types", "Range a,b y", {"a": ONE, "b": np.array(3)}, SHAPE,
             "input 0 'a' (float []) and input 1 'b' (int64 []) must have the same type: Cast one of them")
    yield at("a range to a list", "Range a,b y", {"a": ONE, "b": floats(2)}, SHAPE, "input 1 'b' (float [2]) must be one element")
    yield at("a mode of another name", "GridSample x,g y", {"x": floats(1, 1, 2, 2), "g": floats(1, 2, 2, 2)}, MODEL,
             "attribute 'mode': 'cubic' is not possible", mode="cubic")
    yield at("an image of three dimensions to sample", "GridSample x,g y", {"x": floats(1, 2, 2), "g": floats(1, 2, 2, 2)}, SHAPE,
             "input 0 'x' (float [1,2,2]) must have 4 dimensions")
    yield at("distances of another kind", "CDist x,x y", {"x": x}, MODEL, "attribute 'metric': 'cosine' is not possible",
             metric="cosine")
    yield at("points of other dimensions", "CDist x,z y", {"x": x, "z": floats(2, 4)}, SHAPE,
             "points of input 0 'x' (float [2,3]) and input 1 'z' (float [2,4]) have other dimensions")


def gates():
    x = floats(2, 3)
    yield at("what is added in another shape", "GatedAdd x,z,g y", {"x": x, "z": floats(2, 1), "g": floats(2, 1)}, SHAPE,
             "input 1 'z' (float [2,1]) must have the shape of input 0 'x' (float [2,3])")
    yield at("a gate for each element", "GatedAdd x,x,g y", {"x": x, "g": x}, SHAPE,
             "input 2 'g' (float [2,3]) must have one element for each row of input 0 'x' (float [2,3])")
    yield at("two factors", "ScaledSiLU x,s y", {"x": x, "s": floats(2)}, SHAPE, "input 1 's' (float [2]) must be one element")
    yield at("rows that are no multiple of the scale", "GatedRMSNorm x,s,x y", {"x": x, "s": floats(2)}, SHAPE,
             "rows of input 0 'x' (float [2,3]) are no multiple of input 1 's' (float [2])")
    yield at("a gate of another name", "GatedRMSNorm x,s,x y", {"x": x, "s": floats(3)}, MODEL,
             "attribute 'activation': 'relu' is not possible", activation="relu")
    yield at("a factor for other heads", "LinearAttentionGate x,b,c y", {"x": floats(1, 2, 3), "b": floats(3), "c": floats(2)}, SHAPE,
             "input 2 'c' (float [2]) must have shape [3]")


def embeddings():
    ids = np.zeros((1, 2), np.int32)
    given = {"i": ids, "w": BYTES, "p": BYTES, "s": BYTES[0], "b": BYTES[0], "f": ONE, "z": np.array(0, np.uint8)}
    def wrong(title, status, said, text, inputs=()):
        return at(title, f"QEmbedLayerNormalization {text} y,m", {**given, **dict(inputs)}, status, said)
    yield wrong("segments without their table", MODEL, "inputs 1, 4, 10 and 15, the segments, must be given together",
                "i,i,w,p,,s,b,,f,f,,f,f,z,z,,z,z")
    yield wrong("words without a scale", MODEL, "input 8 must be given", "i,,w,p,,s,b,,,f,,f,f,z,z,,z,z")
    yield wrong("a bias of another length", SHAPE,
                "input 2 'w' (uint8 [2,3]) and input 6 'b' (uint8 [2]) have rows of other lengths",
                "i,,w,p,,s,b,,f,f,,f,f,z,z,,z,z", {"b": BYTES[:, 0]})


def models():
    x, cache, positions = floats(1, 2, 8), floats(4, 4), np.zeros((3, 1, 2), np.int64)
    def turned(title, status, said, inputs=(), **attributes):
        given = {"x": x, "p": positions, "c": cache, "s": cache, **dict(inputs)}
        return at(title, "MRotaryEmbedding x,p,c,s y", given, status, said, **{"num_heads": 1, "mrope_section": [2, 1, 1]} | attributes)
    yield turned("sections of fewer pairs", MODEL,
                 "attribute 'mrope_section' must be 3 numbers of pairs, of which there are 4", mrope_section=[1, 1, 1])
    yield turned("two sections", MODEL, "attribute 'mrope_section' must be 3 numbers of pairs, of which there are 4",
                 mrope_section=[2, 2])
    yield turned("a layout of another number", MODEL, "attribute 'mrope_layout' must be 0 or 1, not 2", mrope_layout=2)
    yield turned("two positions of a step", SHAPE, "input 1 'p' (int64 [2,1,2]) must have shape [3,1,2]", {"p": positions[:2]})
    yield turned("a height beyond the angles", VALUE, "position 4 is out of range for the 4 rows of input 2 'c' (float [4,4])",
                 {"p": positions + np.array([0, 4, 0])[:, None, None]})
    step, past = floats(1, 1, 8), floats(1, 2, 3, 4)
    def masked(title, status, said, text="q,k,k,,,p,p", inputs=(), **attributes):
        given = {"q": step, "k": step, "p": past, **dict(inputs)}
        return at(title, f"DecoderMaskedMultiHeadAttention {text} y,pk,pv", {n: v for n, v in given.items() if n in text.split(",")},
                  status, said, **{"num_heads": 2} | attributes)
    yield masked("two steps of a decoder", SHAPE, "input 0 'q' (float [1,2,8]) must have one step, not 2", inputs={"q": floats(1, 2, 8)})
    yield masked("keys without values", MODEL, "inputs 1 and 2, keys and values, must be given together", "q,k")
    yield masked("eight elements for queries, keys and values", SHAPE,
                 "input 0 'q' (float [1,1,8]) does not give queries, keys and values of one size", "q")
    yield masked("a cache of beams", UNSUPPORTED, "input 9 'c' (int32 [1,1,4]): caches of beams are not supported",
                 "q,k,k,,,p,p,,,c", {"c": np.zeros((1, 1, 4), np.int32)})
    yield masked("a shared cache without a length", MODEL,
                 "attribute 'past_present_share_buffer' needs input 7, the length of the past", past_present_share_buffer=1)
    steps = floats(1, 2, 4)
    yield at("states of several steps", "LinearAttention x,x,x y,s", {"x": steps}, UNSUPPORTED,
             "attribute 'state_window' is not supported", q_num_heads=1, kv_num_heads=1, update_rule="linear", state_window=2)
    for name, value, plain in (("channels_last", 1, 0), ("dilation", 2, 1), ("ndim", 2, 1), ("state_window", 3, 0)):
        yield at(f"{name} of a convolution with state", "CausalConvWithState x,w y,s", {"x": steps, "w": floats(2, 1, 3)}, UNSUPPORTED,
                 f"attribute '{name}' is {value}, only {plain} is supported", **{name: value})


MISTAKES = list(all_mistakes())
