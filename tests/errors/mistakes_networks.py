"""mistakes_networks.py: mistakes of the operators of networks that the other files have not: windows that do not fit,
axes that are not there, images without elements, sequences that are too long, regions and sizes out of any range."""

import numpy as np
from mistakes import F3, F23, LIMIT, MODEL, SHAPE, VALUE, at_node, floats, longs


def nothing(*dims):
    return np.zeros(dims, np.float32)


def windows():
    image, small = {"x": floats(1, 1, 4, 4)}, {"x": np.zeros((1, 1, 2, 2), np.uint8), "w": np.zeros((1, 1, 3, 3), np.uint8)}
    scales = {"a": np.array(1, np.float32), "b": np.array(0, np.uint8)}
    larger = "spatial axis 0: the kernel spans {} elements, but the padded input has {}"
    for op in ("MaxPool", "AveragePool", "LpPool"):
        yield at_node(f"a kernel larger than its input, {op}", f"{op} x y", image, SHAPE, larger.format(7, 6),
                      kernel_shape=[7, 2], pads=[1, 0, 1, 0])
        yield at_node(f"an image without rows, {op}", f"{op} x y", {"x": nothing(1, 1, 0, 4)}, SHAPE,
                      larger.format(2, 0), kernel_shape=[2, 2])
    yield at_node("a kernel larger than its input of bytes", "ConvInteger x,w y", small, SHAPE, larger.format(3, 2),
                  outputs="y int32 ?")
    yield at_node("a kernel larger than its quantised input", "QLinearConv x,a,b,w,a,b,a,b y", {**small, **scales}, SHAPE,
                  larger.format(3, 2), outputs="y uint8 ?")
    yield at_node("a kernel larger than its deformed input", "DeformConv x,w,o y",
                  {"x": floats(1, 1, 2, 2), "w": floats(1, 1, 3, 3), "o": nothing(1, 18, 1, 1)}, SHAPE,
                  larger.format(3, 2), opset=19)
    yield at_node("blocks larger than their image", "Col2Im x,i,b y",
                  {"x": floats(1, 4, 1), "i": longs(1, 1), "b": longs(2, 2)}, SHAPE, larger.format(2, 1), opset=18)
    conv = {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2)}
    yield at_node("a convolution of an image without rows", "Conv x,w y", {**conv, "x": nothing(1, 1, 0, 4)}, SHAPE,
                  larger.format(2, 0))
    yield at_node("a dilation of 0", "Conv x,w y", conv, SHAPE,
                  "attribute 'dilations' has the value 0, at least 1 is expected", dilations=[0, 1])
    yield at_node("pads of a convolution that overflow", "Conv x,w y", conv, LIMIT,
                  "spatial axis 0: the padded size overflows", pads=[2**62, 0, 2**62, 0])
    yield at_node("pads that make an image of terabytes", "Conv x,w y", conv, LIMIT,
                  "output 0 (float [1,1,2199023255555,3]) takes 26388279066660 bytes, the limit for a tensor is "
                  "274877906944", pads=[2**40, 0, 2**40, 0])
    yield at_node("pads of an image that overflow", "Col2Im x,i,b y",
                  {"x": floats(1, 4, 1), "i": longs(2, 2), "b": longs(2, 2)}, LIMIT,
                  "spatial axis 0: the padded size overflows", opset=18, pads=[2**62, 0, 2**62, 0])


def strides():
    transposed, unpooled = {"x": floats(1, 2, 3, 3), "w": floats(2, 1, 2, 2)}, {"x": floats(1, 1, 2, 2)}
    columns = {"x": floats(1, 4, 1), "i": longs(2, 2), "b": longs(2, 2)}
    for text, inputs, more in [
            ("MaxPool x y", unpooled, {"kernel_shape": [2, 2]}),
            ("AveragePool x y", unpooled, {"kernel_shape": [2, 2]}),
            ("LpPool x y", unpooled, {"kernel_shape": [2, 2]}),
            ("MaxUnpool x,i y", {**unpooled, "i": np.zeros((1, 1, 2, 2), np.int64)}, {"kernel_shape": [2, 2]}),
            ("ConvTranspose x,w y", transposed, {}), ("Col2Im x,i,b y", columns, {"opset": 18})]:
        yield at_node(f"a stride of 0, {text.split()[0]}", text, inputs, SHAPE,
                      "attribute 'strides' has the value 0, at least 1 is expected", strides=[1, 0], **more)


def axes():
    matrix, index = {"x": F23}, {"x": F23, "i": longs([0])}
    for text, inputs, more in [
            ("TopK x,k y", {"x": F23, "k": longs(1)}, {}), ("LpNormalization x y", matrix, {}),
            ("LayerNormalization x,s y", {"x": F23, "s": F3}, {}), ("Hardmax x y", matrix, {}),
            ("RMSNormalization x,s y", {"x": F23, "s": F3}, {"opset": 23}), ("LogSoftmax x y", matrix, {}),
            ("ArgMin x y", matrix, {}), ("GatherElements x,i y", index, {}),
            ("ScatterElements x,i,u y", {**index, "u": floats(1, 1)}, {}),
            ("OneHot x,k,v y", {"x": longs(0, 1), "k": longs(3), "v": floats(2)}, {}), ("Split x y", matrix, {}),
            ("Unique x y", matrix, {})]:
        yield at_node(f"an axis out of range, {text.split()[0]}", text, inputs, SHAPE,
                      "axis 4 is out of range for rank 2 (-2 to 1)", axis=4, **more)
    for text, inputs, more in [("MeanVarianceNormalization x y", matrix, {}), ("ReduceMax x y", matrix, {}),
                               ("ReduceLogSumExp x y", matrix, {}),
                               ("Resize x,,s y", {"x": F23, "s": np.ones(1, np.float32)}, {"opset": 18}),
                               ("CenterCropPad x,s y", {"x": F23, "s": longs(1)}, {"opset": 18})]:
        yield at_node(f"axes out of range, {text.split()[0]}", text, inputs, SHAPE,
                      "axis 4 is out of range for rank 2 (-2 to 1)", axes=[4], **more)
    for text, inputs, opset in [("CumSum x,a y", {"x": F23, "a": longs(4)}, 14),
                                ("CumProd x,a y", {"x": F23, "a": longs(4)}, 26),
                                ("Pad x,p,,a y", {"x": F23, "p": longs(0, 0), "a": longs(4)}, 18)]:
        yield at_node(f"an axis out of range in an input, {text.split()[0]}", text, inputs, SHAPE,
                      "axis 4 is out of range for rank 2 (-2 to 1)", opset=opset)


def sequences():
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for length in (4, -1):
            yield at_node(f"a sequence of {length} steps of 3, {op}", f"{op} x,w,r,,l y",
                          {"x": floats(3, 2, 3), "w": floats(1, 5 * gates, 3), "r": floats(1, 5 * gates, 5),
                           "l": np.array([3, length], np.int32)}, VALUE,
                          f"element 1 of input 4 'l' (int32 [2]) is {length}, but sequences have 0 to 3 steps",
                          hidden_size=5)
    cache = {"c": floats(1, 1, 4, 4), "u": floats(1, 1, 1, 4)}
    yield at_node("a write behind the cache", "TensorScatter c,u,w y", {**cache, "w": longs(9)}, VALUE,
                  "1 rows at index 9 do not fit into the 4 of input 0 'c' (float [1,1,4,4])", opset=24)


def images():
    yield at_node("a grid over nothing", "GridSample x,g y", {"x": nothing(1, 1, 0, 3), "g": floats(1, 2, 2, 2)}, SHAPE,
                  "input 0 'x' (float [1,1,0,3]) has no elements to sample", opset=16)
    yield at_node("a region of no image of a batch", "RoiAlign x,r,b y",
                  {"x": floats(1, 1, 3, 3), "r": floats(1, 4), "b": longs(4)}, VALUE,
                  "input 2 'b' (int64 [1]): region 0 is of image 4, but the number of images is 1", opset=16)
    for text, opset in (("Resize x,,s y", 13), ("Upsample x,s y", 9)):
        yield at_node(f"a scale that overflows, {text.split()[0]}", text,
                      {"x": F23, "s": np.array([1, 1e30], np.float32)}, VALUE,
                      "scale 1 is 1e30, which cannot be applied to axis 1 of input 0 'x' (float [2,3])", opset=opset)
    yield at_node("a scale that is no number", "Resize x,,s y", {"x": F23, "s": np.array([np.nan, 1], np.float32)}, VALUE,
                  "scale 0 is nan, which cannot be applied to axis 0 of input 0 'x' (float [2,3])")
    yield at_node("a negative size", "Resize x,,,z y", {"x": F23, "z": longs(-1, 2)}, SHAPE,
                  "size -1 does not fit axis 0 of input 0 'x' (float [2,3])")
    yield at_node("repeats that overflow", "Tile x,r y", {"x": F23, "r": longs(2**62, 8)}, SHAPE,
                  "axis 0 of input 0 'x' (float [2,3]) cannot be repeated 4611686018427387904 times")
    yield at_node("a grid of a negative size", "AffineGrid t,s y", {"t": floats(1, 2, 3), "s": longs(1, 1, -2, 2)}, SHAPE,
                  "size [1,1,-2,2] has a negative dimension", opset=20)
    yield at_node("a crop of a negative size", "CenterCropPad x,s y", {"x": F23, "s": longs(-1, 2)}, SHAPE,
                  "the size of axis 0 is negative", opset=18)
    yield at_node("blocks that do not divide an image", "SpaceToDepth x y", {"x": nothing(1, 4, 3, 2)}, SHAPE,
                  "input 0 'x' (float [1,4,3,2]) cannot be divided into blocks of 2x2", blocksize=2)
    yield at_node("neighbours of size 0", "LRN x y", {"x": floats(1, 3, 2, 2)}, MODEL,
                  "attribute 'size' must be positive, not 0", size=0)


MISTAKES = [mistake for group in (windows, strides, axes, sequences, images) for mistake in group()]
