"""mistakes_numbers.py: mistakes of losses, random numbers, transforms, texts and optimizers."""

import numpy as np
from build import T, model, node
from mistakes import F3, F4, F23, LIMIT, MODEL, SHAPE, UNSUPPORTED, VALUE, Mistake, at_node, floats, longs
from onnx import helper


def losses():
    x, target = {"x": F23}, {"t": longs(0, 1)}
    op = "NegativeLogLikelihoodLoss x,t y"
    yield at_node("an unknown reduction", op, {**x, **target}, MODEL,
                  "attribute 'reduction' must be none, sum or mean, not 'max'", reduction="max")
    yield at_node("scores of one dimension", "SoftmaxCrossEntropyLoss x,t y", {"x": F3, **target}, SHAPE,
                  "input 0 'x' (float [3]) must have at least two dimensions")
    yield at_node("targets of another shape", op, {**x, "t": longs(0, 1, 2)}, SHAPE,
                  "input 1 't' (int64 [3]) must have the shape of input 0 'x' (float [2,3]) without axis 1")
    yield at_node("weights of another length", "NegativeLogLikelihoodLoss x,t,w y", {**x, **target, "w": F4}, SHAPE,
                  "input 2 'w' (float [4]) must be a list of 3 weights, one for each class of input 0 'x' (float [2,3])")
    yield at_node("weights of another type", "NegativeLogLikelihoodLoss x,t,w y", {**x, **target, "w": np.zeros(3)},
                  SHAPE, "input 2 'w' (double [3]) must have the type of input 0 'x' (float [2,3])")
    yield at_node("a class that does not exist", op, {**x, "t": longs(0, 3)}, VALUE,
                  "input 1 't' (int64 [2]): class 3 is not one of the 3 of input 0 'x' (float [2,3])")


def chances():
    yield at_node("a random shape below 0", "RandomNormal  y", {}, MODEL,
                  "attribute 'shape' is [2,-1], with a size below 0", shape=[2, -1])
    yield at_node("random integers", "RandomUniform  y", {}, MODEL,
                  "the output cannot be of element type 6", shape=[2], dtype=T.INT32)
    yield at_node("outcomes of three dimensions", "Multinomial x y", {"x": floats(1, 2, 3)}, SHAPE,
                  "input 0 'x' (float [1,2,3]) must have two dimensions: batch and classes", outputs="y int32 ?")
    yield at_node("no outcome", "Multinomial x y", {"x": floats(2, 0)}, SHAPE,
                  "input 0 'x' (float [2,0]) has no class to choose", outputs="y int32 ?")
    yield at_node("fewer samples than none", "Multinomial x y", {"x": F23}, MODEL,
                  "attribute 'sample_size' is -1, below 0", outputs="y int32 ?", sample_size=-1)
    yield at_node("a dropout of everything", "Dropout x,r,t y",
                  {"x": F3, "r": np.array(1, np.float32), "t": np.array(True)}, VALUE,
                  "the ratio is 1, not within 0 and 1")


def signals():
    x = {"x": floats(1, 8, 1)}
    yield at_node("a transform of words of three parts", "DFT x y", {"x": floats(1, 8, 3)}, SHAPE,
                  "the last of at least two dimensions of input 0 'x' (float [1,8,3]) must be 1 or 2")
    yield at_node("a transform of the parts", "DFT x y", x, SHAPE,
                  "axis -1 of input 0 'x' (float [1,8,1]) holds real and imaginary parts, and is not a signal axis", axis=-1)
    yield at_node("a transform of no element", "DFT x,n y", {**x, "n": longs(0)}, VALUE,
                  "the length of the transform is 0, less than 1")
    yield at_node("a onesided transform of complex numbers", "DFT x y", {"x": floats(1, 8, 2)}, SHAPE,
                  "the onesided transform of input 0 'x' (float [1,8,2]): the input must be real", onesided=1)
    yield at_node("a onesided inverse of real numbers", "DFT x y", x, SHAPE,
                  "the onesided transform of input 0 'x' (float [1,8,1]): the input must be complex", onesided=1,
                  inverse=1)
    yield at_node("a signal of four dimensions", "STFT x,s y", {"x": floats(2, 2, 8, 1), "s": longs(1)}, SHAPE,
                  "input 0 'x' (float [2,2,8,1]) must have three dimensions, or two if it is real")
    yield at_node("a frame longer than the signal", "STFT x,s,,n y", {**x, "s": longs(1), "n": longs(9)}, VALUE,
                  "a frame has 9 elements, but input 0 'x' (float [1,8,1]) has 8")
    yield at_node("frames that stand still", "STFT x,s y", {**x, "s": longs(0)}, VALUE,
                  "the step from frame to frame is 0, less than 1")
    yield at_node("a window of another length", "STFT x,s,w,n y",
                  {**x, "s": longs(1), "w": F3, "n": longs(4)}, SHAPE,
                  "input 2 'w' (float [3]) must be a list of 4 weights, as many as a frame has elements")
    yield at_node("a window below 0", "HannWindow n y", {"n": np.array(-1)}, VALUE,
                  "the size of the window is -1, less than 0")
    yield at_node("a window of texts", "HannWindow n y", {"n": np.array(3)}, MODEL,
                  "attribute 'output_datatype' is 8, which is not a numeric type", output_datatype=8)
    bands = {name: np.array(value) for name, value in zip("abc", (4, 16, 8000))}
    yield at_node("bands of no range", "MelWeightMatrix a,b,c,d,e y",
                  {**bands, "d": np.array(500, np.float32), "e": np.array(400, np.float32)}, VALUE,
                  "there is no range from 500 to 400 hertz")
    yield at_node("a determinant of no square", "Det x y", {"x": F23}, SHAPE,
                  "the last two dimensions of input 0 'x' (float [2,3]) must be those of square matrices")


def sentences():
    def words(title, text, inputs, status, said, outputs="y string ?", opset=20, **attributes):
        made = node(text, **attributes)
        return Mistake(title, model(made, "", outputs, [helper.make_tensor(name, T.STRING, dims, [b"a"] * count)
                                                        for name, dims, count in inputs], opset), status, said,
                       place=f"node 'n' ({made.op_type}-")

    yield words("strings that do not broadcast", "StringConcat x,y z", [("x", [2], 2), ("y", [3], 3)], SHAPE,
                "input 0 'x' (string [2]) and input 1 'y' (string [3]) do not broadcast", outputs="z string ?")
    yield words("a normalizer of a matrix", "StringNormalizer x y", [("x", [2, 1], 2)], SHAPE,
                "input 0 'x' (string [2,1]) must be of shape [C] or [1,C]")
    yield words("an unknown case", "StringNormalizer x y", [("x", [1], 1)], MODEL,
                "attribute 'case_change_action' must be LOWER, UPPER or NONE, not 'TITLE'", case_change_action="TITLE")

    def tokens(title, said, status=MODEL, dims=(1,), value=b"a", **changes):
        attributes = {"mark": 0, "mincharnum": 1, "pad_value": "#", "separators": [" "], **changes}
        made = node("com.microsoft.Tokenizer x y", **{k: v for k, v in attributes.items() if v is not None})
        x = helper.make_tensor("x", T.STRING, dims, [value])
        return Mistake(title, model(made, "", "y string ?", [x], domains=["com.microsoft"]), status, said,
                       place="node 'n' (com.microsoft.Tokenizer")

    neither = "there must be one of 'separators' and 'tokenexp', and not empty"
    form = ": of regular expressions only characters and classes of them are supported, with + or {m,} behind the last"
    yield tokens("tokens of nothing", neither, separators=None)
    yield tokens("two kinds of tokens", neither, tokenexp="a")
    yield tokens("an empty token", neither, separators=None, tokenexp="")
    yield tokens("a long pattern", "attribute 'tokenexp' has a pattern of 1025 bytes, at most 1024 are supported", UNSUPPORTED,
                 separators=None, tokenexp="a" * 1025)
    yield tokens("tokens of no characters", "attribute 'mincharnum' is 0, less than 1", mincharnum=0)
    yield tokens("long characters", "attribute 'mincharnum' is 2, more than the 1 of tokens of one character", mincharnum=2, separators=[""])
    yield tokens("tokens of a cube", "input 0 'x' (string [1,1,1]) must be of shape [C] or [N,C]", SHAPE, (1, 1, 1))
    yield tokens("tokens of bytes", "element 0 of input 0 'x' (string [1]) is not UTF-8", VALUE, value=b"a\xff")
    yield tokens("many separators", "there are 65 separators, at most 64 are supported", LIMIT, separators=["a"] * 65)
    for pattern in ("a|b", "a*", "(a)", "^a", "a{2}", "[b-a]+", "[a", "\\", "\\b", "[[:alpha:]]", "a+b", "[]", "a{1001,}", "\\pL"):
        yield tokens(f"the separator {pattern}", f"attribute 'separators' has '{pattern}'{form}", UNSUPPORTED, separators=[pattern])
    yield tokens("an empty separator", f"attribute 'separators' has ''{form}", UNSUPPORTED, separators=["a", ""])
    yield tokens("the token (?u)a", f"attribute 'tokenexp' has '(?u)a'{form}", UNSUPPORTED, separators=None, tokenexp="(?u)a")

    def grams(title, said, **changes):
        attributes = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0,
                      "ngram_counts": [0, 1], "ngram_indexes": [0, 1], "pool_int64s": [1, 2, 3], **changes}
        return at_node(title, "TfIdfVectorizer x y", {"x": longs(1, 2)}, MODEL, said,
                       **{name: value for name, value in attributes.items() if value is not None})

    yield grams("an unknown mode of counting", "attribute 'mode' must be TF, IDF or TFIDF, not 'ALL'", mode="ALL")
    yield grams("no pool", "there must be one of 'pool_int64s' and 'pool_strings'", pool_int64s=None)
    yield grams("n-grams of nothing", "n-grams of 0 to 2 items with 0 skipped are not possible", min_gram_length=0)
    yield grams("an n-gram without a place", "attribute 'ngram_indexes' has -1, which is no place",
                ngram_indexes=[0, -1])
    yield grams("n-grams cut short", "items 1 to 2 of a pool of 2 are no 2-grams", pool_int64s=[1, 2])
    yield grams("a place too many", "'ngram_indexes' has 3 entries for 2 n-grams", ngram_indexes=[0, 1, 2])
    yield grams("a weight too many", "'weights' has 3 entries for 2 n-grams", weights=[1.0, 2.0, 3.0])


def optimizers():
    def training(title, inputs, status, said, **attributes):
        made = node(f"ai.onnx.preview.training.{attributes.pop('op', 'Adagrad')} {','.join(inputs)} y,z", **attributes)
        described = ",".join(f"{name} {'int64' if name == 't' else 'float'} ?" for name in inputs)
        return Mistake(title, model(made, described, "y float ?, z float ?", domains=["ai.onnx.preview.training"]),
                       status, said, list(inputs.values()), place="node 'n' (ai.onnx.preview.training.")

    start = {"r": np.array(1, np.float32), "t": np.array(0)}
    yield training("lists of different lengths", {**start, "a": F3, "b": F3}, MODEL,
                   "2 inputs and 2 outputs are not 3 lists of tensors and 2 of results")
    yield training("a gradient of another shape", {**start, "a": F3, "b": F4, "c": F3}, SHAPE,
                   "input 3 'b' (float [4]) must have the type and the shape of input 2 'a' (float [3])")
    yield training("many rates", {**start, "r": F3, "a": F3, "b": F3, "c": F3}, SHAPE,
                   "input 0 'r' (float [3]) must have one element")
    yield training("an unknown momentum", {**start, "a": F3, "b": F3, "c": F3}, MODEL,
                   "attribute 'mode' must be standard or nesterov, not 'none'", op="Momentum", mode="none", alpha=1.0,
                   beta=1.0, norm_coefficient=0.0)


MISTAKES = [mistake for group in (losses, chances, signals, sentences, optimizers) for mistake in group()]
