"""fused_mistakes.py: mistakes with operators of com.microsoft that others were made one of."""

import numpy as np
import onnx
from build import model, node, values
from mistakes import LIMIT, MODEL, SHAPE, UNSUPPORTED, VALUE, Mistake, floats
from onnx import numpy_helper

KINDS = {"float32": "float", "uint8": "uint8", "int8": "int8", "int32": "int32", "int64": "int64", "int16": "int16", "float64": "double",
         "float16": "float16"}
BYTES, ONE = np.zeros((2, 3), np.uint8), np.array(0.5, np.float32)


def at(title, text, inputs, status, said, outputs="y float ?", **attributes):
    """A mistake of one node named n. inputs: {name: array}."""
    made = node("com.microsoft." + text, **attributes)
    described = ",".join(f"{name} {KINDS[str(array.dtype)]} ?" for name, array in inputs.items())
    return Mistake(title, model(made, described, outputs, domains=["com.microsoft"]), status, said,
                   list(inputs.values()), place="node 'n' (")


def quantized(title, op, arrays, status, said, weights=None, **attributes):
    """A mistake of a node named n between DequantizeLinear of bytes and QuantizeLinear, which becomes one of integers.
    weights: the last operand, if it is constant."""
    names = "ab"[:len(arrays) + (weights is not None)]
    nodes = [node(f"DequantizeLinear {name},s,z {name}f") for name in names]
    nodes += [node(f"{op} {','.join(name + 'f' for name in names)} c", **attributes), node("QuantizeLinear c,s,z y")]
    described = ",".join(f"{name} {KINDS[str(array.dtype)]} ?" for name, array in zip(names, arrays))
    kept = [numpy_helper.from_array(ONE, "s"), numpy_helper.from_array(BYTES[0, 0], "z")]
    kept += [] if weights is None else [numpy_helper.from_array(weights, "b")]
    return Mistake(title, model(nodes, described, "y uint8 ?", kept), status, said, arrays)


def between_quantizations():
    yield quantized("bytes that do not broadcast", "Add", [BYTES, BYTES[:, :2]], SHAPE,
                    "input 3 'b' (uint8 [2,2]) does not broadcast with input 0 'a' (uint8 [2,3])")
    yield quantized("bytes of another type than their zero point", "Mul", [BYTES, BYTES.view(np.int8)], SHAPE,
                    "input 2 'z' (uint8 []) must have the type of input 0 'b' (int8 [2,3])")
    yield quantized("a mean of pixels of a vector of bytes", "GlobalAveragePool", [BYTES[0]], SHAPE,
                    "input 0 'a' (uint8 [3]): dimensions for images and channels are expected")
    yield quantized("a window of bytes that is larger than the image", "AveragePool", [BYTES.reshape(1, 2, 3)], SHAPE,
                    "spatial axis 0: the kernel spans 4 elements, but the padded input has 3", kernel_shape=[4])
    yield quantized("an axis that bytes lack", "ReduceMean", [BYTES], SHAPE,
                    "axis 2 is out of range for rank 2 (-2 to 1)", axes=[2])
    image, weights = np.zeros((1, 2, 3, 3), np.uint8), np.zeros((2, 1, 2, 2), np.uint8)
    yield quantized("an image of another type than its zero point", "ConvTranspose", [image.view(np.int8)], SHAPE,
                    "input 2 'z' (uint8 []) must have the type of input 0 'a' (int8 [1,2,3,3])", weights)
    yield quantized("bytes that do not fit a transposed kernel", "ConvTranspose", [image[:, :1]], SHAPE,
                    "input 0 'a' (uint8 [1,1,3,3]) has 1 channels, but input 1 'b' (uint8 [2,1,2,2]) takes 2", weights)
    yield quantized("bytes of a rank that kernels lack", "ConvTranspose", [image[0]], SHAPE,
                    "input 0 'a' (uint8 [2,3,3]) and input 1 'b' (uint8 [2,1,2,2]) must have the same rank, at least 3",
                    weights)
    yield quantized("strides of bytes that overflow", "ConvTranspose", [image], LIMIT,
                    "spatial axis 0: the size of the output overflows", weights, strides=[2**62, 1])
    yield quantized("pads that leave no bytes", "ConvTranspose", [image], SHAPE,
                    "spatial axis 0: pads of 3 and 2 leave nothing of 4 elements", weights, pads=[3, 0, 2, 0])


def by_blocks(title, op, a, said):
    """A mistake of a product with weights [32, 2] in blocks, which becomes MatMulNBits: the text names the model's node."""
    nodes = [node("DequantizeLinear w,s b", axis=0, block_size=16), node(f"{op} a,b y")]
    kept = [numpy_helper.from_array(np.ones((32, 2), np.int8), "w"), numpy_helper.from_array(np.ones((2, 2), np.float32), "s")]
    nodes[0].name = ""
    return Mistake(title, model(nodes, "a float ?", "y float ?", kept, opset=21, ir=10), SHAPE, said, [a], place=f"node 'n' ({op}-13)")


def dequantized(title, array, said):
    """A product of a given matrix and constant weights of 20 rows, of which DequantizeLinear makes floats in blocks."""
    kept = [numpy_helper.from_array(np.ones((20, 3), np.int8), "w"), numpy_helper.from_array(floats(2, 3), "s")]
    nodes = [node("DequantizeLinear w,s b", axis=0, block_size=16), node("MatMul a,b y")]
    return Mistake(title, model(nodes, f"a {KINDS[str(array.dtype)]} ?", "y float ?", kept, opset=21, ir=10), SHAPE, said, [array])


def weights_in_blocks():
    yield dequantized("rows that weights in blocks do not fit", floats(2, 19),
                    "input 0 'a' (float [2,19]) and the weights (float [20,3]): inner dimensions 19 and 20 differ")
    yield dequantized("a scalar and weights in blocks", floats(),
                    "input 0 'a' (float []) and the weights (float [20,3]): a scalar is not a matrix")
    for kind in (np.float64, np.float16, np.int32):
        array = np.ones((2, 20), kind)
        yield dequantized(f"{array.dtype} and weights in blocks", array,
                        f"input 0 'a' ({KINDS[str(array.dtype)]} [2,20]) and the weights (float [20,3]) must have the same type: "
                        "Cast one of them")


def of_rows(title, scales, said, kind="float"):
    """Rows of weights of which DequantizeLinear makes floats in blocks; the model states the type of these."""
    kept = [numpy_helper.from_array(np.ones((3, 20), np.int8), "w"), numpy_helper.from_array(scales, "s")]
    nodes = [node("DequantizeLinear w,s b", axis=1, block_size=16), node("Gather b,i y")]
    made = model(nodes, "i int64 ?", f"y {kind} ?", kept, opset=21, ir=10)
    made.graph.value_info.extend(values("b float ?"))
    return Mistake(title, made, MODEL if kind != "float" else SHAPE, said, [np.zeros(2, np.int64)])


def rows_in_blocks():
    for rows in (2, 4):
        yield of_rows(f"scales of {rows} rows of weights in blocks", floats(rows, 2),
                      f"the scale, input 1 's' (float [{rows},2]), does not fit input 0 'w' (int8 [3,20]): it must have one entry "
                      "for each block along the axis")
    yield of_rows("rows of weights in blocks of another type", np.zeros((3, 2), np.float16),
                  "output 0, 'b', is of type float16, but the model states float", "float16")


def packed_rows():
    """Weights of so many bytes stay packed; the text has their name and type in the model."""
    for dims, blocks, dtype, kind, code in (([256, 512], 32, onnx.TensorProto.INT4, "int4", 0x21), ([256, 1024], 64, onnx.TensorProto.UINT2, "uint2", 0x1b)):
        weights = onnx.helper.make_tensor("w", dtype, dims, bytes([code]) * 65536, raw=True)
        kept = [weights, numpy_helper.from_array(floats(256, blocks), "s")]
        nodes = [node("DequantizeLinear w,s b", axis=1, block_size=16), node("Gather b,i y")]
        yield Mistake(f"no such row of packed weights of {kind}", model(nodes, "i int64 ?", "y float ?", kept, opset=25, ir=13), VALUE,
                      f"index -257 is out of range for axis 0 of size 256 of input 0 'w' ({kind} [256,{dims[1]}])",
                      [np.array([3, -257], np.int64)])


def all_mistakes():
    yield from packed_rows()
    yield from rows_in_blocks()
    yield from weights_in_blocks()
    x = floats(2, 3)
    yield by_blocks("rows that do not fit weights in blocks", "MatMul", floats(2, 31),
                    "input 0 'a' (float [2,31]) and the weights (float [32,2]): inner dimensions 31 and 32 differ")
    yield by_blocks("no matrix for weights in blocks", "Gemm", floats(2, 2, 32), "input 0 'a' (float [2,2,32]) must have rank 2")
    yield at("a bias of another length", "BiasGelu x,b y", {"x": x, "b": floats(2)}, SHAPE,
             "input 1 'b' (float [2]) must have shape [3]")
    yield at("a bias for a number", "FastGelu x,b y", {"x": ONE, "b": floats(2)}, SHAPE,
             "input 0 'x' (float []): a dimension for the bias is expected")
    yield at("an activation that there is none of", "FusedGemm a,b y", {"a": x, "b": floats(3, 2)}, UNSUPPORTED,
             "attribute 'activation': 'Swing' is not supported", activation="Swing")
    yield at("an activation without its numbers", "FusedConv x,w y", {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2)},
             MODEL, "attribute 'activation_params' has 0 numbers, but Clip takes 2", activation="Clip")
    yield at("something of another shape added", "FusedConv x,w,,z y",
             {"x": floats(1, 1, 4, 4), "w": floats(2, 1, 2, 2), "z": floats(1, 1, 3, 3)}, SHAPE,
             "input 3 'z' (float [1,1,3,3]) must have the shape of the output")
    yield at("inner dimensions that differ when transposed", "FusedMatMul x,x y", {"x": x}, SHAPE,
             "input 0 'x' (float [2,3]) and input 1 'x' (float [2,3]): inner dimensions 2 and 3 differ", transA=1,
             transB=1)
    yield at("a skip of another shape", "SkipLayerNormalization x,s,g y", {"x": x, "s": floats(1, 3), "g": floats(3)},
             SHAPE, "input 1 's' (float [1,3]) must have the shape of input 0 'x' (float [2,3]), but for the batch")
    yield at("a skip for a vector", "SkipLayerNormalization x,x,x y", {"x": floats(3)}, SHAPE,
             "input 0 'x' (float [3]) must have 2 or 3 dimensions")
    yield at("statistics that nothing computes", "SkipSimplifiedLayerNormalization x,x,g y,m", {"x": x, "g": floats(3)},
             MODEL, "this operator has no output 1 here, but it is read", "y float ?,m float ?")
    ids = np.zeros((1, 2), np.int32)
    embedded = {"i": ids, "w": floats(4, 3), "p": floats(4, 3), "g": floats(3)}
    yield at("embeddings without words", "EmbedLayerNormalization i,,,p,,g,g y", embedded, MODEL,
             "input 2 must be given")
    yield at("segments without rows", "EmbedLayerNormalization i,i,w,p,,g,g y", embedded, MODEL,
             "inputs 1 and 4, the segments, must be given together")
    yield at("rows of other lengths", "EmbedLayerNormalization i,,w,p,,g,g y", {**embedded, "p": floats(4, 2)}, SHAPE,
             "input 2 'w' (float [4,3]) and input 3 'p' (float [4,2]) have rows of other lengths")
    yield at("rows of other types", "EmbedLayerNormalization i,,w,p,,g,g y", {**embedded, "p": np.zeros((4, 3))}, SHAPE,
             "input 2 'w' (float [4,3]) and input 3 'p' (double [4,3]) must have the same type")
    yield at("a mask of another shape", "EmbedLayerNormalization i,,w,p,,g,g,m y",
             {**embedded, "m": np.zeros((1, 3), np.int32)}, SHAPE,
             "input 7 'm' (int32 [1,3]) must have the shape of input 0 'i' (int32 [1,2])")
    yield at("words without dimensions", "EmbedLayerNormalization i,,w,p,,g,g y", {**embedded, "w": floats(4)}, SHAPE,
             "input 2 'w' (float [4]) must have 2 dimensions")
    yield at("a scale for each row", "QLinearSigmoid x,s,,s y", {"x": BYTES, "s": floats(3)}, SHAPE,
             "input 1 's' (float [3]) must be one element", "y uint8 ?")
    yield at("no scale of the result", "QLinearMul x,s,z,x,s,z,,z y", {"x": BYTES, "s": ONE, "z": BYTES[0, :1]}, MODEL,
             "input 6 must be given", "y uint8 ?")
    yield at("a tensor that is no bytes", "QLinearAdd x,s,,x,s,,s y", {"x": x, "s": ONE}, UNSUPPORTED,
             "input 0 'x' (float [2,3]): type float is not supported here; uint8, int8 are", "y uint8 ?")
    yield at("a pool of a matrix", "QLinearGlobalAveragePool x,s,z,s,z y", {"x": BYTES, "s": ONE, "z": BYTES[0, :1]},
             SHAPE, "input 0 'x' (uint8 [2,3]): images are expected", "y uint8 ?")
    yield at("channels that are last twice", "QLinearGlobalAveragePool x,s,z,s,z y",
             {"x": BYTES.reshape(1, 2, 3), "s": ONE, "z": BYTES[0, :1]}, MODEL,
             "attribute 'channels_last' must be 0 or 1, not 2", "y uint8 ?", channels_last=2)
    yield from with_channels_last()
    yield at("a condition of bytes", "QLinearWhere x,x,s,z,x,s,z,s,z y", {"x": BYTES, "s": ONE, "z": BYTES[0, :1]},
             UNSUPPORTED, "input 0 'x' (uint8 [2,3]): type uint8 is not supported here; bool is", "y uint8 ?")
    yield at("nothing to concatenate", "QLinearConcat s,z,x y", {"s": ONE, "z": BYTES[0, :1], "x": BYTES}, MODEL,
             "it has no tensor with a scale", "y uint8 ?", axis=0)
    yield from between_quantizations()
    columns = {"a": BYTES, "b": np.zeros((3, 4), np.int8), "s": floats(3)}
    yield at("scales of other columns", "DynamicQuantizeMatMul a,b,s y", {**columns, "a": x}, SHAPE,
             "input 2 's' (float [3]) must be one element, or one for each column")
    gemm = {"a": BYTES, "b": np.zeros((3, 4), np.int8), "s": ONE, "z": np.zeros((), np.uint8), "w": np.zeros((), np.int8)}
    yield at("half of a result's parameters", "QGemm a,s,z,b,s,w,,s y", gemm, MODEL,
             "inputs 7 and 8, scale and zero point of the result, must be given together")
    yield at("a bias that does not fit", "QGemm a,s,z,b,s,w,c y", {**gemm, "c": np.zeros(3, np.int32)}, SHAPE,
             "input 6 'c' (int32 [3]) does not fit the output of shape [2,4]")
    yield from in_blocks()
    yield from attention()
    yield from heads()
    yield from groups()
    yield from rotations()
    yield from experts()
    yield from of_blocks()


def with_channels_last():
    image, kernel = np.zeros((1, 4, 4, 2), np.uint8), np.zeros((3, 2, 2, 2), np.int8)
    given = {"x": image, "s": ONE, "z": BYTES[0, :1], "w": kernel, "v": np.zeros((), np.int8)}
    def conv(title, status, said, inputs=(), text="x,s,z,w,s,v,s,z", **attributes):
        return at(title, f"QLinearConv {text} y", {**given, **dict(inputs)}, status, said, "y uint8 ?",
                  **{"channels_last": 1} | attributes)
    yield conv("channels that are neither first nor last", MODEL, "attribute 'channels_last' must be 0 or 1, not -1",
               channels_last=-1)
    yield conv("channels first in spite of the attribute", SHAPE, "input 0 'x' (uint8 [1,2,4,4]) has 4 channels, "
               "input 3 'w' (int8 [3,2,2,2]) takes 2 in each of 1 groups", {"x": image.reshape(1, 2, 4, 4)})
    yield conv("a kernel of another rank", SHAPE, "input 3 'w' (int8 [3,2,2]) must have as many dimensions as input 0 'x' "
               "(uint8 [1,4,4,2])", {"w": kernel[..., 0]})
    yield conv("bytes of floats", UNSUPPORTED, "input 0 'x' (float [1,4,4,2]): type float is not supported here; "
               "uint8, int8 are", {"x": floats(1, 4, 4, 2)})
    yield conv("a zero point of another type", UNSUPPORTED, "input 2 'v' (int8 []): type int8 is not supported here; uint8 is",
               text="x,s,v,w,s,v,s,z")
    yield conv("scales for channels that there are not", SHAPE, "input 4 'r' (float [2]): one value is expected, or one "
               "for each of the 3 output channels",
               {"r": floats(2)}, "x,s,z,w,r,v,s,z")
    yield conv("a bias of another length", SHAPE, "input 8 'c' (int32 [2]): one value for each of the 3 output channels is "
               "expected",
               {"c": np.zeros(2, np.int32)}, "x,s,z,w,s,v,s,z,c")
    yield at("a pool of rows", "NhwcMaxPool x y", {"x": BYTES}, SHAPE, "input 0 'x' (uint8 [2,3]): images are expected",
             "y uint8 ?", kernel_shape=[2])
    yield at("a kernel for an image of one dimension more", "NhwcMaxPool x y", {"x": image}, SHAPE,
             "does not fit input 0 'x' (uint8 [1,4,4,2])", "y uint8 ?", kernel_shape=[2])
    yield at("something added with its channels first", "NhwcFusedConv x,w,,z y",
             {"x": floats(1, 4, 4, 2), "w": floats(3, 2, 2, 2), "z": floats(1, 3, 3, 4)}, SHAPE,
             "input 3 'z' (float [1,3,3,4]) must have the shape of the output")
    yield at("an axis that a mean lacks", "QLinearReduceMean x,s,z,s,z y", {"x": BYTES, "s": ONE, "z": BYTES[0, :1]},
             SHAPE, "axis 2 is out of range for rank 2 (-2 to 1)", "y uint8 ?", axes=[2], keepdims=1)


def attention():
    given = {"x": np.zeros((2, 3, 4), np.uint8), "w": np.zeros((4, 12), np.int8), "b": floats(12), "s": ONE,
             "z": np.zeros((), np.uint8), "v": np.zeros((), np.int8)}
    def wrong(title, status, said, inputs=(), text="x,w,b,s,s", **attributes):
        return at(title, f"QAttention {text} y", {**given, **dict(inputs)}, status, said, **{"num_heads": 2} | attributes)
    def masked(title, said, mask, status=SHAPE):
        made = node("com.microsoft.QAttention x,w,b,s,s,m y", num_heads=2)
        described = ",".join(f"{name} {KINDS[str(array.dtype)]} ?" for name, array in given.items())
        return Mistake(title, model(made, described, "y float ?", [numpy_helper.from_array(mask, "m")],
                                    domains=["com.microsoft"]), status, said, list(given.values()), place="node 'n' (")
    yield wrong("heads that do not divide", SHAPE, "input 1 'w' (int8 [4,12]) does not give queries, keys and values of 3 heads",
                num_heads=3)
    yield wrong("no heads", SHAPE, "input 1 'w' (int8 [4,12]) does not give queries, keys and values of 0 heads", num_heads=0)
    yield wrong("weights of other rows", SHAPE, "input 1 'w' (int8 [5,12]) must have shape [4,-1], where -1 is any",
                {"w": np.zeros((5, 12), np.int8)})
    yield wrong("a bias of other columns", SHAPE, "input 2 'b' (float [11]) must have shape [12]", {"b": floats(11)})
    yield wrong("scales of other columns of attention", SHAPE, "input 4 'e' (float [11]) must be one element, or one for each column",
                {"e": floats(11)}, "x,w,b,s,e")
    yield wrong("a zero point of the weights' type", UNSUPPORTED, "input 6 'v' (int8 []): type int8 is not supported here; uint8 is",
                text="x,w,b,s,s,,v")
    yield wrong("keys of other heads before", SHAPE, "input 8 'p' (float [2,2,1,3,2]) must have shape [2,2,2,-1,2], where -1 is any",
                {"p": floats(2, 2, 1, 3, 2)}, "x,w,b,s,s,,,,p")
    yield wrong("places that turn", UNSUPPORTED, "attributes 'do_rotary' and 'past_present_share_buffer' are not supported",
                do_rotary=1)
    yield masked("a mask of four dimensions", "input 5 'm' (int32 [2,1,3,3]): masks of 4 dimensions are not supported", np.ones((2, 1, 3, 3), np.int32),
                 UNSUPPORTED)
    yield masked("a mask of other keys", "input 5 'm' (int32 [2,4]) must have shape [2,3], where -1 is any",
                 np.ones((2, 4), np.int32))
    yield masked("a mask of other queries", "input 5 'm' (int32 [2,1,3]) must have shape [2,3,3], where -1 is any",
                 np.ones((2, 1, 3), np.int32))
    yield masked("ends of keys for another batch", "input 5 'm' (int32 [3]) must have one element for each of the batch of 2, or two",
                 np.ones(3, np.int32))
    yield masked("a mask of bytes", "input 5 'm' (uint8 [2,3]): type uint8 is not supported here; int32 is",
                 np.ones((2, 3), np.uint8), UNSUPPORTED)
    yield at("words times bytes", "MatMulInteger16 a,b y", {"a": np.zeros((2, 3), np.int16), "b": np.zeros((3, 2), np.int8)},
             UNSUPPORTED, "input 1 'b' (int8 [3,2]): type int8 is not supported here; uint16, int16 are", "y int32 ?")
    yield at("words whose rows do not fit", "MatMulInteger16 a,a y", {"a": np.zeros((2, 3), np.int16)}, SHAPE,
             "inner dimensions 3 and 2 differ", "y int32 ?")


def in_blocks():
    """com.microsoft.nchwc: images and weights in blocks of channels."""
    x, kernel = floats(1, 16, 4, 4), floats(24, 16, 1, 1)
    def wrong(title, nodes, status, said, place="node 'n' (", weights=(("w", kernel),), given=(("x", x),), outputs="y float ?"):
        made = [node(("" if text.startswith(":") else "com.microsoft.nchwc.") + text.lstrip(":"), **attributes)
                for text, attributes in nodes]
        kept = [numpy_helper.from_array(array, name) for name, array in weights]
        described = ",".join(f"{name} {KINDS[str(array.dtype)]} ?" for name, array in given)
        return Mistake(title, model(made, described, outputs, kept, domains=["com.microsoft.nchwc"]), status, said,
                       [array for _, array in given], place=place)
    start, end = ("ReorderInput x a", {}), ("ReorderOutput b y", {"channels": 24})
    conv = ("Conv a,w b", {"kernel_shape": [1, 1]})
    yield wrong("weights of blocks that a run gives", [start, conv, end], UNSUPPORTED, "weights other than an initializer of "
                "floats of four dimensions are not supported", weights=(), given=(("x", x), ("w", kernel)))
    yield wrong("weights in no blocks", [start, conv, end], MODEL, "the shapes of com.microsoft.nchwc's operators fit neither "
                "blocks of 8 nor of 16 channels", "", weights=(("w", kernel[:20]),))
    yield wrong("an image that is in no blocks", [("Conv x,w b", {}), end], MODEL, "the shapes of com.microsoft.nchwc's operators "
                "fit neither blocks of 8 nor of 16 channels", "")
    yield wrong("a pool of an image in no blocks", [("MaxPool x b", {"kernel_shape": [2, 2]}), end], UNSUPPORTED,
                "input 0 is not an image in blocks of channels")
    yield wrong("blocks in blocks", [start, ("ReorderInput a b", {}), end], UNSUPPORTED,
                "input 0 is in blocks of channels already")
    yield wrong("somebody else who reads blocks", [start, conv, (":Softmax b y", {})], UNSUPPORTED,
                "it reads an image in blocks of channels, which only com.microsoft.nchwc's operators, those that work element "
                "by element, and Concat of channels read here")
    yield wrong("an operator of blocks that there is not", [start, ("Foo a b", {}), end], UNSUPPORTED,
                "it reads an image in blocks of channels, which only com.microsoft.nchwc's operators, those that work element "
                "by element, and Concat of channels read here")
    yield wrong("blocks that are given out", [start, ("Conv a,w y", {})], UNSUPPORTED,
                "output 0 of the graph is an image in blocks of channels", "")
    yield wrong("more channels than there are", [start, conv, ("ReorderOutput b y", {"channels": 25})], SHAPE,
                "attribute 'channels' is 25, input 0 'b' (float [1,24,4,4]) has 24")
    yield wrong("no number of channels", [start, conv, ("ReorderOutput b y", {})], SHAPE,
                "attribute 'channels' is 0, input 0 'b' (float [1,24,4,4]) has 24")
    yield wrong("rows in blocks", [start, conv, end], SHAPE, "input 0 'x' (float [1,16,4]) must have 4 dimensions",
                given=(("x", x[..., 0]),))
    yield wrong("something of another shape added in blocks", [start, ("ReorderInput z c", {}), ("Conv a,w,,c b", {}), end],
                SHAPE, "input 3 'c' (float [1,16,4,4]) must have the shape of the output", given=(("x", x), ("z", x)))


def of_blocks():
    x, packed, scales = floats(2, 40), np.zeros((4, 2, 16), np.uint8), floats(4, 2)
    sizes = {"K": 40, "N": 4, "bits": 4, "block_size": 32}
    given = {"x": x, "b": packed, "s": scales}
    def product(title, status, said, text="x,b,s", inputs=(), **attributes):
        return at(title, f"MatMulNBits {text} y", {**given, **dict(inputs)}, status, said, **sizes | attributes)
    yield product("weights of 3 bits", MODEL, "attribute bits is 3, but 2, 4 or 8 are supported", bits=3)
    yield product("blocks of 24", MODEL, "attribute block_size is 24, which is not a power of two of at least 16", block_size=24)
    yield product("no block size", MODEL, "attribute block_size is 0, which is not a power of two of at least 16", block_size=0)
    yield product("no columns", MODEL, "attribute K must be given, and be above 0", K=0)
    yield product("N below 0", MODEL, "attribute N must be given, and be above 0", N=-4)
    yield product("an accuracy that there is none of", MODEL, "attribute accuracy_level is 5, not 0 to 4",
                  accuracy_level=5)
    yield product("weights for a GPU", UNSUPPORTED, "weights that are laid out for a GPU are not supported",
                  weight_prepacked=1)
    yield product("packed weights that are short", SHAPE,
                  "input 1 'b' (uint8 [4,2,15]) must have shape [4,2,16] by N, K, bits and block_size",
                  inputs={"b": packed[:, :, :15]})
    yield product("packed weights with a block too few", SHAPE, "must have shape [4,2,16] by N, K, bits and block_size", inputs={"b": packed[:, :1]})
    yield product("packed weights of one dimension", SHAPE, "must have shape [4,2,16] by N, K, bits and block_size", inputs={"b": packed.reshape(-1)})
    yield product("rows of another length", SHAPE, "input 0 'x' (float [2,39]) must have 40 elements in its rows (attribute K)",
                  inputs={"x": x[:, :39]})
    yield product("a number times weights", SHAPE, "input 0 'x' (float []) must have 40 elements in its rows (attribute K)", inputs={"x": ONE})
    yield product("scales for blocks that there are not", SHAPE, "input 2 's' (float [4,3]) must have shape [4,2] by N, K, bits and block_size",
                  inputs={"s": floats(4, 3)})
    yield product("scales of another type", UNSUPPORTED, "input 2 's' (double [4,2]): type double is not supported here; float is", inputs={"s": np.ones((4, 2))})
    yield product("zero points that are not packed", SHAPE, "input 3 'z' (uint8 [4,2]) must have shape [4,1] by N, K, bits and block_size",
                  "x,b,s,z", {"z": np.zeros((4, 2), np.uint8)})
    yield product("zero points of another type", UNSUPPORTED, "input 3 'z' (int8 [4,1]): type int8 is not supported here; float, uint8 are", "x,b,s,z",
                  {"z": np.zeros((4, 1), np.int8)})
    yield product("too few groups", SHAPE, "input 4 'g' (int32 [39]) must have shape [40] by N, K, bits and block_size", "x,b,s,,g",
                  {"g": np.zeros(39, np.int32)})
    yield product("a group that there is none of", VALUE, "input 4 'g' (int32 [40]): element 3 is 2, but there are 2 blocks",
                  "x,b,s,,g", {"g": np.array([0, 0, 0, 2] * 10, np.int32)})
    yield product("a bias of another length", SHAPE, "input 5 'c' (float [3]) must have shape [4] by N, K, bits and block_size", "x,b,s,,,c",
                  {"c": floats(3)})
    codes = {"x": x, "b": np.zeros(80, np.uint8), "s": floats(5)}
    numbers = {"K": 40, "N": 4, "block_size": 32, "quant_type": 1}
    yield at("codes that are unknown", "MatMulBnb4 x,b,s y", codes, MODEL,
             "attribute quant_type is 2, but 0 (FP4) or 1 (NF4) are known", **numbers | {"quant_type": 2})
    yield at("packed codes that are short", "MatMulBnb4 x,b,s y", {**codes, "b": np.zeros(79, np.uint8)}, SHAPE,
             "input 1 'b' (uint8 [79]) must have shape [80] by N, K, bits and block_size", **numbers)
    yield at("too few scales of codes", "MatMulBnb4 x,b,s y", {**codes, "s": floats(4)}, SHAPE,
             "input 2 's' (float [4]) must have shape [5] by N, K, bits and block_size", **numbers)
    yield at("rows for the transposed weights", "MatMulBnb4 x,b,s y", codes, SHAPE, "must have 4 elements in its rows (attribute N)",
             **numbers, transB=0)
    table = {"t": np.zeros((5, 16), np.uint8), "i": np.zeros(2, np.int64), "s": floats(5, 2), "z": np.zeros((5, 1), np.uint8)}
    def gather(title, status, said, inputs=(), **attributes):
        return at(title, "GatherBlockQuantized t,i,s,z y", {**table, **dict(inputs)}, status, said,
                  **{"block_size": 16} | attributes)
    yield gather("columns of bytes", UNSUPPORTED, "input 0 't' (uint8 [5,16]): axes 1 and 1 are gathered and quantised, "
                 "but of bytes these are the first and the last", gather_axis=1)
    yield gather("scales of other blocks", SHAPE, "input 2 's' (float [5,1]) must have shape [5,2] by input 0 't' "
                 "(uint8 [5,16]) and block_size", {"s": floats(5, 1)})
    yield gather("zero points that are not packed as the data", SHAPE, "input 3 'z' (uint8 [5,2]) must have shape [5,1] "
                 "by input 0 't' (uint8 [5,16]) and block_size", {"z": np.zeros((5, 2), np.uint8)})
    yield gather("zero points of other integers", UNSUPPORTED,
                 "input 3 'z' (int8 [5,1]): type int8 is not supported here; uint8 is", {"z": np.zeros((5, 1), np.int8)})
    yield gather("an axis too far", SHAPE, "quantize_axis 2 is out of range for rank 2 (-2 to 1)", quantize_axis=2)
    yield gather("a number of a table", SHAPE, "input 0 't' (uint8 []): at least one dimension is expected",
                 {"t": np.zeros((), np.uint8)})



def heads():
    """MultiHeadAttention and Attention."""
    q, past = floats(2, 3, 8), floats(2, 2, 4, 4)
    def wrong(title, status, said, text="q,q,q", inputs=(), **attributes):
        return at(title, f"MultiHeadAttention {text} y", {"q": q, **dict(inputs)}, status, said, "y float ?",
                  **{"num_heads": 2} | attributes)
    yield wrong("heads that do not divide queries", SHAPE, "attribute 'num_heads' is 3, which does not divide 8 of input 0 'q' (float [2,3,8])",
                num_heads=3)
    yield wrong("no heads of queries", MODEL, "attribute 'num_heads' must be above 0, not 0", num_heads=0)
    yield wrong("queries of two dimensions", SHAPE, "input 0 'q' (float [3,8]) must have 3 or 5 dimensions", inputs={"q": floats(3, 8)})
    yield wrong("keys of another width", SHAPE, "input 1 'k' (float [2,3,6]) must have shape [2,-1,8], where -1 is any", "q,k,q",
                {"k": floats(2, 3, 6)})
    yield wrong("values of other steps", SHAPE, "input 2 'v' (float [2,4,8]) must have shape [2,3,-1], where -1 is any", "q,q,v",
                {"v": floats(2, 4, 8)})
    yield wrong("values without keys", MODEL, "values are given without keys", "q,,q")
    yield wrong("keys alone that are not packed", SHAPE, "input 1 'q' (float [2,3,8]) must have shape [2,-1,2,2,4], where -1 is any", "q,q")
    yield wrong("packed queries of other heads", SHAPE, "input 0 'p' (float [2,3,3,3,4]) must have shape [-1,-1,2,3,-1], where -1 is any",
                "p", {"p": floats(2, 3, 3, 3, 4)})
    yield wrong("a bias of another width", SHAPE, "input 3 'b' (float [23]) must have shape [24], where -1 is any", "q,q,q,b",
                {"b": floats(23)})
    yield wrong("a mask of other keys of heads", SHAPE, "input 4 'm' (int32 [2,4]) must have shape [2,3], where -1 is any", "q,q,q,,m",
                {"m": np.ones((2, 4), np.int32)})
    yield wrong("a mask of four dimensions of heads", UNSUPPORTED, "input 4 'm' (int32 [2,1,3,3]): masks of 4 dimensions are not supported",
                "q,q,q,,m", {"m": np.ones((2, 1, 3, 3), np.int32)})
    yield wrong("lengths for another batch", SHAPE, "input 4 'm' (int32 [3]) must have one element for each of the batch of 2, or two",
                "q,q,q,,m", {"m": np.ones(3, np.int32)})
    yield wrong("scores of other keys", SHAPE, "input 5 'a' (float [1,1,3,2]) must have an element for each of 3 keys", "q,q,q,,,a",
                {"a": floats(1, 1, 3, 2)})
    yield wrong("keys of before without values", MODEL, "past_key and past_value must be given together", "q,q,q,,,,p", {"p": past})
    yield wrong("a past of other heads", SHAPE, "input 7 'v' (float [2,3,4,4]) must have shape [2,2,4,4]", "q,q,q,,,,p,v",
                {"p": past, "v": floats(2, 3, 4, 4)})
    yield wrong("a shared past that is full", SHAPE, "3 steps behind 2 do not fit into input 6 'p' (float [2,2,4,4])", "q,q,q,,,,p,p,n",
                {"p": past, "n": np.array([2], np.int32)})
    yield wrong("a past of less than nothing", SHAPE, "-1 steps before 3 are not possible", "q,q,q,,,,p,p,n",
                {"p": past, "n": np.array([-1], np.int32)})
    yield wrong("caches of beams", UNSUPPORTED, "input 9 'c' (int32 [2,1,4]): caches of beams are not supported", "q,q,q,,,,,,,c",
                {"c": np.zeros((2, 1, 4), np.int32)})

    def projected(title, status, said, text="x,w", inputs=(), **attributes):
        return at(title, f"Attention {text} y", {"x": floats(2, 3, 5), "w": floats(5, 12), **dict(inputs)}, status, said, "y float ?",
                  **{"num_heads": 2} | attributes)
    yield projected("a rotation without angles", UNSUPPORTED, "attribute 'do_rotary' is not supported", do_rotary=1)
    yield projected("weights of other inputs", SHAPE, "input 1 'w' (float [4,12]) must have shape [5,-1], where -1 is any",
                    inputs={"w": floats(4, 12)})
    yield projected("sizes that do not add up", SHAPE, "input 0 'n/Add' (float [2,3,12]) does not give queries, keys and values of sizes 4, 4 and 5",
                    "x,w,b", {"b": floats(12)}, qkv_hidden_sizes=[4, 4, 5])
    yield projected("sizes that are too large", SHAPE, "input 0 'n/Add' (float [2,3,12]) does not give queries, keys and values of sizes 13, 13 and 13",
                    "x,w,b", {"b": floats(12)}, qkv_hidden_sizes=[13, 13, 13])
    yield at("a cache of keys and values of two sizes", "Attention x,w y,z", {"x": floats(2, 3, 5), "w": floats(5, 14)}, SHAPE,
             "a cache needs keys and values of one size, not 2 and 3", "y float ?,z float ?", num_heads=2, qkv_hidden_sizes=[4, 4, 6])
    yield projected("a shared past without its length", MODEL,
                    "attribute 'past_present_share_buffer' needs inputs 4 and 6, the past and its length", past_present_share_buffer=1)


def rotations():
    """RotaryEmbedding of com.microsoft."""
    given = {"x": floats(2, 3, 8), "p": np.array([2]), "c": floats(5, 2)}
    def wrong(title, status, said, inputs=(), **attributes):
        return at(title, "RotaryEmbedding x,p,c,c y", {**given, **dict(inputs)}, status, said, "y float ?", **attributes)
    yield wrong("a first position too far back", VALUE, "position 5 is out of range for the 5 rows of input 2 'c' (float [5,2])",
                {"p": np.array([3])})
    yield wrong("a first position below 0", VALUE, "position -1 is out of range for the 5 rows of input 2 'c' (float [5,2])",
                {"p": np.array([-1])})
    yield wrong("positions of other steps", SHAPE, "input 1 'p' (int64 [2,2]) must have shape [2,3]", {"p": np.zeros((2, 2), np.int64)})
    yield wrong("a part of heads without their number", SHAPE,
                "attribute 'num_heads' is 0, which does not divide input 0 'x' (float [2,3,8])", rotary_embedding_dim=2)
    yield wrong("heads that angles do not divide", SHAPE, "input 2 'c' (float [5,3]) must have shape [positions,4], for 4 pairs of a head "
                "of input 0 'x' (float [2,3,8])", {"c": floats(5, 3)})
    yield wrong("angles of halves", SHAPE, "input 0 'x' (float [2,3,8]) and input 2 'c' (int64 [5,2]) must have the same type: Cast one of them",
                {"c": np.zeros((5, 2), np.int64)})


def groups():
    """GroupQueryAttention."""
    q, k, past = floats(2, 3, 8), floats(2, 3, 4), floats(2, 1, 4, 4)
    given = {"q": q, "k": k, "p": past, "n": np.array([6, 6], np.int32), "t": np.array(7, np.int32)}
    def wrong(title, status, said, text="q,k,k,p,p,n,t", inputs=(), **attributes):
        return at(title, f"GroupQueryAttention {text} y", {**given, **dict(inputs)}, status, said, "y float ?",
                  **{"num_heads": 2, "kv_num_heads": 1} | attributes)
    yield wrong("heads that are shared unevenly", MODEL, "attribute 'num_heads' is 3, which is no multiple of 'kv_num_heads', 2",
                num_heads=3, kv_num_heads=2)
    yield wrong("keys without their values", MODEL, "inputs 1 and 2, keys and values, must be given together", "q,k,,p,p,n,t")
    yield wrong("keys of other steps", SHAPE, "input 1 'k' (float [2,2,4]) must have shape [2,3,4]", inputs={"k": floats(2, 2, 4)})
    yield wrong("packed heads that do not divide", SHAPE, "5 heads do not divide the last dimension of input 0 'q' (float [2,3,8])",
                "q,,,p,p,n,t", num_heads=3)
    yield wrong("one cache of two", MODEL, "inputs 3 and 4, the caches, must be given together", "q,k,k,p,,n,t")
    yield wrong("caches of other heads", SHAPE, "input 3 'p' (float [2,2,4,4]) must have shape [2,1,4,4]", inputs={"p": floats(2, 2, 4, 4)})
    yield wrong("lengths of another batch", SHAPE, "input 5 'n' (int32 [3]) must have shape [2]", inputs={"n": np.zeros(3, np.int32)})
    yield wrong("fewer keys than queries", SHAPE, "input 6 't' (int32 []) must be one number of at least the 3 steps of input 0 'q' (float [2,3,8])",
                inputs={"t": np.array(2, np.int32)})
    yield wrong("more keys than caches have", SHAPE, "8 keys of input 6 't' (int32 []) need 5 of before, but caches have 4",
                inputs={"t": np.array(8, np.int32)})
    yield wrong("a length beyond all keys", VALUE, "element 1 of input 5 'n' (int32 [2]) is 7, not 2 to 6",
                inputs={"n": np.array([6, 7], np.int32)})
    yield wrong("a length of fewer keys than queries", VALUE, "element 0 of input 5 'n' (int32 [2]) is 1, not 2 to 6",
                inputs={"n": np.array([1, 6], np.int32)})
    angles = {"c": floats(9, 2), "s": floats(9, 2)}
    yield wrong("a rotation without cosines", MODEL, "attribute 'do_rotary' needs inputs 7 and 8, cosines and sines", do_rotary=1)
    yield wrong("angles of too large heads", SHAPE, "input 7 'c' (float [9,3]) must have 2 dimensions, the last of 1 to 2",
                "q,k,k,p,p,n,t,c,s", {**angles, "c": floats(9, 3)}, do_rotary=1)
    yield wrong("sines of other angles", SHAPE, "input 8 's' (float [8,2]) must have shape [9,2]", "q,k,k,p,p,n,t,c,s",
                {**angles, "s": floats(8, 2)}, do_rotary=1)
    yield wrong("a position without an angle", VALUE, "position 6 is out of range for the 6 rows of input 7 'c' (float [6,2])",
                "q,k,k,p,p,n,t,c,s", {"c": floats(6, 2), "s": floats(6, 2)}, do_rotary=1)
    yield wrong("positions of other steps", SHAPE, "input 9 'i' (int64 [2,2]) must have shape [2,3]", "q,k,k,p,p,n,t,c,s,i",
                {**angles, "i": np.zeros((2, 2), np.int64)}, do_rotary=1)
    yield wrong("a window of nothing", MODEL, "attributes 'causal', 1, and 'local_window_size', 0, do not fit together", local_window_size=0)
    yield wrong("a window that looks ahead", MODEL, "attributes 'causal', 0, and 'local_window_size', 2, do not fit together",
                local_window_size=2, causal=0)
    yield wrong("a sink for other heads", SHAPE, "input 11 's' (float [3]) must have shape [2]", "q,k,k,p,p,n,t,,,,,s", {"s": floats(3)})
    yield wrong("a norm of queries alone", MODEL, "inputs 14 and 15, the norms, must be given together", "q,k,k,p,p,n,t,,,,,,,,w",
                {"w": floats(4)})
    both = {"k_quant_type": "PER_TENSOR", "v_quant_type": "PER_TENSOR", "kv_cache_bit_width": 8}
    text, scale = "q,k,k,p,p,n,t,,,,,,s,s", np.ones(1, np.float32)
    small = {"p": np.zeros((2, 1, 4, 4), np.int8), "s": scale}
    yield wrong("one quantized cache", UNSUPPORTED, "attributes 'k_quant_type', 'PER_TENSOR', and 'v_quant_type', 'NONE', are not both "
                "PER_TENSOR or both PER_CHANNEL", k_quant_type="PER_TENSOR")
    yield wrong("caches of 2 bits", MODEL, "attribute 'kv_cache_bit_width' is 2, not 4 or 8", **both | {"kv_cache_bit_width": 2})
    yield wrong("quantized caches without scales", MODEL,
                "quantized caches need inputs 3, 4, 12 and 13: caches and their scales", **both)
    yield wrong("quantized caches of floats", UNSUPPORTED, "input 3 'p' (float [2,1,4,4]): type float is not supported here; int8 is", text, {"s": scale}, **both)
    yield wrong("scales of other channels", SHAPE, "input 12 's' (float [1]) must have 4 elements", text, small,
                **both | {"k_quant_type": "PER_CHANNEL", "v_quant_type": "PER_CHANNEL"})
    yield wrong("packed caches that are not half as wide", SHAPE, "input 3 'p' (uint8 [2,1,4,4]) must have shape [2,1,4,2]", text,
                {**small, "p": np.zeros((2, 1, 4, 4), np.uint8)}, **both | {"kv_cache_bit_width": 4})
    yield wrong("packed heads of odd sizes", SHAPE, "heads of 3 elements are not packed in pairs", text,
                {"q": floats(2, 3, 6), "k": floats(2, 3, 3), "p": np.zeros((2, 1, 4, 1), np.uint8), "s": scale}, **both | {"kv_cache_bit_width": 4})
    yield wrong("a cache that slides", UNSUPPORTED, "attribute 'sliding_window_cache' is not supported", sliding_window_cache=1)
    yield wrong("scores of another kind", MODEL, "attribute 'qk_output' must be 1 or 2 where output 3 is given, not 3", qk_output=3)


def experts():
    """MoE and QMoE."""
    x, router, up, down = floats(3, 32), floats(3, 2), floats(2, 64, 32), floats(2, 32, 64)
    def wrong(title, status, said, text="x,r,u,,d", inputs=(), **attributes):
        return at(title, f"MoE {text} y", {"x": x, "r": router, "u": up, "d": down, **dict(inputs)}, status, said, **attributes)
    yield wrong("tokens of one dimension", SHAPE, "input 0 'x' (float [32]) must have 2 or 3 dimensions", inputs={"x": floats(32)})
    yield wrong("a router of other tokens", SHAPE, "input 1 'r' (float [4,2]) must have shape [3,2]", inputs={"r": floats(4, 2)})
    yield wrong("more experts for a token than there are", MODEL, "attribute 'k' is 3, but there are 2 experts", k=3)
    yield wrong("an activation of another name", MODEL,
                "attribute 'activation_type' must be relu, gelu, silu, swiglu or identity, not 'tanh'", activation_type="tanh")
    yield wrong("a fusion of another number", MODEL, "attribute 'swiglu_fusion' must be 0 to 2, not 3", activation_type="swiglu",
                swiglu_fusion=3)
    yield wrong("SwiGLU without its second product", MODEL,
                "attribute 'swiglu_fusion' is 0, with which input 6, fc3_experts_weights, must be given", activation_type="swiglu")
    yield wrong("fused SwiGLU with a third product", MODEL,
                "attribute 'swiglu_fusion' is 1, with which input 6, fc3_experts_weights, must not be given", "x,r,u,,d,,u",
                activation_type="swiglu", swiglu_fusion=1)
    yield wrong("weights for unfused SwiGLU", SHAPE, "input 2 'u' (float [2,64,32]) must have shape [2,128,32]",
                activation_type="swiglu", swiglu_fusion=2)
    yield wrong("weights of two dimensions", SHAPE, "input 4 'd' (float [32,64]) must have 3 dimensions", inputs={"d": floats(32, 64)})
    yield wrong("a bias of another expert", SHAPE, "input 3 'b' (float [3,64]) must have shape [2,64]", "x,r,u,b,d", {"b": floats(3, 64)})
    yield wrong("a sparse mixer", UNSUPPORTED, "attribute 'use_sparse_mixer' is not supported", use_sparse_mixer=1)

    packed = {"x": x, "r": router, "u": np.zeros((2, 64, 16), np.uint8), "s": floats(2, 64, 2),
              "d": np.zeros((2, 32, 32), np.uint8), "t": floats(2, 32, 4)}
    def packed_wrong(title, status, said, text="x,r,u,s,,d,t", inputs=(), **attributes):
        return at(title, f"QMoE {text} y", {**packed, **dict(inputs)}, status, said, **{"block_size": 16} | attributes)
    yield packed_wrong("weights of three bits", MODEL, "weights of 3 bits are not possible, but of 2, 4 or 8", expert_weight_bits=3)
    yield packed_wrong("weights of no bits", MODEL, "weights of 0 bits are not possible, but of 2, 4 or 8", fc2_expert_weight_bits=0)
    for title, bits, said in (("more bits for fc3 than for fc1, which holds it", {"fc3_expert_weight_bits": 8}, "4 bits, and fc3's 8"),
                              ("more bits for fc1 than for fc3, which it holds", {"fc1_expert_weight_bits": 8}, "8 bits, and fc3's 4")):
        yield packed_wrong(title, MODEL, "attribute 'swiglu_fusion' is 2, with which the weights of fc3 lie in those of fc1, but those have "
                           + said, activation_type="swiglu", swiglu_fusion=2, **bits)
    yield packed_wrong("blocks of eight", MODEL, "attribute block_size is 8, which is not a power of two of at least 16", block_size=8)
    yield packed_wrong("blocks that do not divide rows", SHAPE, "blocks of 64 weights do not divide rows of 32 in input 2 'u' (uint8 [2,64,16])",
                       block_size=64)
    yield packed_wrong("rows of experts that are short", SHAPE, "input 2 'u' (uint8 [2,64,15]) must have shape [2,64,16]",
                       inputs={"u": np.zeros((2, 64, 15), np.uint8)})
    yield packed_wrong("no scales", MODEL, "input 3, the scales of input 2 'u' (uint8 [2,64,16]), is missing", "x,r,u,,,d,t")
    yield packed_wrong("scales of other blocks", SHAPE, "input 3 's' (float [2,64,4]) must have shape [2,64,2]", inputs={"s": floats(2, 64, 4)})
    yield packed_wrong("zero points that are short", SHAPE, "input 11 'z' (uint8 [2,64,2]) must have shape [2,64,1]", "x,r,u,s,,d,t,,,,,z",
                       {"z": np.zeros((2, 64, 2), np.uint8)})
    yield packed_wrong("zero points of a whole row that are short", SHAPE, "input 11 'z' (uint8 [2,31]) must have shape [2,32]",
                       "x,r,u,s,,d,t,,,,,z", {"z": np.zeros((2, 31), np.uint8), "s": floats(2, 64)}, block_size=0)
    yield packed_wrong("floats of four bits", UNSUPPORTED, "attribute 'quant_type': 'fp4' is not supported", quant_type="fp4")
    yield packed_wrong("weights that are laid out", UNSUPPORTED, "weights that are laid out for a GPU are not supported", weights_prepacked=1)
    yield packed_wrong("weights of a router for other tokens", SHAPE, "input 14 'w' (float [3,3]) must have shape [3,2]",
                       "x,r,u,s,,d,t,,,,,,,,w", {"w": floats(3, 3)})


MISTAKES = list(all_mistakes())
