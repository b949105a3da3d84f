"""mistakes.py: nodes with inputs and attributes that do not fit, and what ox has to say of each."""

import math

import numpy as np
from build import constant, graph, model, node

ARGUMENT, FILE, MODEL, UNSUPPORTED, SHAPE, VALUE, LIMIT = range(1, 8)
F23 = np.zeros((2, 3), np.float32)
F3 = np.zeros(3, np.float32)
F4 = np.zeros(4, np.float32)


class Mistake:
    """A model (ModelProto, bytes, or a function that puts one into a folder and returns its path), its inputs by
    order, the status, how the text must end, and how it must begin behind the name of the model."""

    def __init__(self, title, subject, status, said, inputs=(), place="", **options):
        self.title, self.subject, self.status, self.said, self.place = title, subject, status, said, place
        self.inputs, self.options = inputs, options


def at_node(title, text, inputs, status, said, opset=17, initializers=(), outputs="y float ?", **attributes):
    """A mistake of one node named n: its name and operator must be in the text too. inputs: {name: array}."""
    made = node(text, **attributes)
    names = {np.dtype(k): v for k, v in ((np.float32, "float"), (np.float64, "double"), (np.float16, "float16"),
                                         (np.int32, "int32"), (np.int64, "int64"), (np.uint8, "uint8"),
                                         (np.int8, "int8"), (np.bool_, "bool"))}
    described = ",".join(f"{name} {names[np.asarray(array).dtype]} ?" for name, array in inputs.items())
    return Mistake(title, model(made, described, outputs, initializers, opset), status, said,
                   [np.asarray(array) for array in inputs.values()], place=f"node 'n' ({made.op_type}-")


def loading(title, text, said, opset=17, described="x float 2 3", **attributes):
    """A mistake of one node named n that loading finds."""
    made = node(text, **attributes)
    return Mistake(title, model(made, described, opset=opset), MODEL, said, place=f"node 'n' ({made.op_type})")


def branch(value=1.0, **parts):
    """A branch of If that gives a number."""
    name = "value_float" if isinstance(value, float) else "value_int"
    dtype = "float" if isinstance(value, float) else "int64"
    return graph(node("Constant  r", **{name: value}), outputs=f"r {dtype} ?", **parts)


def longs(*numbers):
    return np.array(numbers, np.int64)


def floats(*dims):
    return np.zeros(dims, np.float32)


def shapes():
    yield at_node("shapes that do not broadcast", "Add a,b y", {"a": F23, "b": F4}, SHAPE,
                  "input 1 'b' (float [4]) does not broadcast with input 0 'a' (float [2,3])")
    yield at_node("a slope larger than its input", "PRelu x,s y", {"x": F3, "s": F23}, SHAPE,
                  "the slope, input 1 's' (float [2,3]), does not broadcast to the shape of input 0 'x' (float [3])")
    yield at_node("an axis out of range", "Concat x,x y", {"x": F23}, SHAPE,
                  "axis 5 is out of range for rank 2 (-2 to 1)", axis=5)
    yield at_node("parts that do not fit", "Concat a,b y", {"a": F23, "b": floats(2, 4)}, SHAPE,
                  "input 0 'a' (float [2,3]) and input 1 'b' (float [2,4]) must have one rank, and the same "
                  "sizes except on axis 0", axis=0)
    yield at_node("parts of different rank", "Concat a,b y", {"a": F23, "b": F3}, SHAPE,
                  "input 0 'a' (float [2,3]) and input 1 'b' (float [3]) must have one rank, and the same sizes "
                  "except on axis 0", axis=0)
    yield at_node("a perm that repeats", "Transpose x y", {"x": F23}, SHAPE,
                  "perm [1,1] is not a permutation of the axes of input 0 'x' (float [2,3])", perm=[1, 1])
    yield at_node("a perm of another rank", "Transpose x y", {"x": F23}, SHAPE,
                  "perm [1,2,0] does not fit input 0 'x' (float [2,3])", perm=[1, 2, 0])
    yield at_node("a shape of another size", "Reshape x,s y", {"x": F23, "s": longs(4, 2)}, SHAPE,
                  "input 0 'x' (float [2,3]) has 6 elements, which do not fit shape [4,2]")
    yield at_node("two unknown dimensions", "Reshape x,s y", {"x": F23, "s": longs(-1, -1)}, SHAPE,
                  "shape [-1,-1] has more than one -1")
    yield at_node("a negative dimension", "Reshape x,s y", {"x": F23, "s": longs(-3, 2)}, SHAPE,
                  "shape [-3,2] has a negative dimension")
    yield at_node("a 0 behind the end", "Reshape x,s y", {"x": F23, "s": longs(6, 1, 0)}, SHAPE,
                  "the 0 at 2 of shape [6,1,0] copies a dimension that input 0 'x' (float [2,3]) lacks")
    yield at_node("a shape of floats", "Reshape x,s y", {"x": F23, "s": F3}, UNSUPPORTED,
                  "input 1 's' (float [3]): type float is not supported here; int64 is")
    yield at_node("a shape of small integers", "Reshape x,s y", {"x": F23, "s": np.array([3, 2], np.int32)}, UNSUPPORTED,
                  "input 1 's' (int32 [2]): type int32 is not supported here; int64 is")
    yield at_node("a slice from a scalar", "Slice x,s,e y", {"x": F23, "s": np.int64(0), "e": longs(1)}, SHAPE,
                  "input 1 's' (int64 []) must be a list")
    yield at_node("a slice by two types of integers", "Slice x,s,e y",
                  {"x": F23, "s": np.array([0], np.int32), "e": longs(1)}, SHAPE,
                  "input 1 's' (int32 [1]) and input 2 'e' (int64 [1]) must have the same type: Cast one of them")
    yield at_node("NaN where an index is needed", "Gather x,i y", {"x": F23, "i": np.array([math.nan], np.float32)},
                  UNSUPPORTED,
                  "input 1 'i' (float [1]): type float is not supported here; int32, int64 are", axis=0)
    yield at_node("a shape of two dimensions", "Reshape x,s y", {"x": F23, "s": longs([2, 3])}, SHAPE,
                  "input 1 's' (int64 [1,2]) must be a list")
    yield at_node("an expansion that is none", "Expand x,s y", {"x": F23, "s": longs(2, 4)}, SHAPE,
                  "input 0 'x' (float [2,3]) cannot be broadcast to shape [2,4]")
    yield at_node("an expansion to a negative size", "Expand x,s y", {"x": F23, "s": longs(-1, 3)}, SHAPE,
                  "shape [-1,3] has a negative dimension")
    yield at_node("an expansion to 2^80 elements", "Expand x,s y", {"x": F23, "s": longs(1 << 40, 1 << 40, 2, 3)},
                  LIMIT,
                  "output 0 would have shape [1099511627776,1099511627776,2,3], too large for this machine")
    yield at_node("a squeeze of what is not 1", "Squeeze x,a y", {"x": F23, "a": longs(0)}, SHAPE,
                  "axis 0 of input 0 'x' (float [2,3]) is not 1")
    yield at_node("an unsqueeze of one axis twice", "Unsqueeze x,a y", {"x": F23, "a": longs(0, 0)}, SHAPE,
                  "axes [0,0] repeat an axis of the output of rank 4")
    yield at_node("a flatten at no axis", "Flatten x y", {"x": F23}, SHAPE,
                  "axis 7 is out of range for rank 2 (-2 to 2)", axis=7)
    yield at_node("a slice with a step of 0", "Slice x,s,e,a,t y", {"x": F23, "s": longs(0), "e": longs(2),
                                                                    "a": longs(0), "t": longs(0)}, SHAPE,
                  "the step of axis 0 is 0")
    yield at_node("a slice with lists of different length", "Slice x,s,e y",
                  {"x": F23, "s": longs(0), "e": longs(2, 2)}, SHAPE,
                  "starts [0], ends [2,2], axes (none) and steps (none) differ in length")
    yield at_node("an axis sliced twice", "Slice x,s,e,a y", {"x": F23, "s": longs(0, 0), "e": longs(1, 1),
                                                              "a": longs(1, 1)}, SHAPE,
                  "axis 1 is sliced twice")
    yield at_node("a split that does not add up", "Split x,s y,z", {"x": F23, "s": longs(1, 4)}, SHAPE,
                  "part 1 of length 4 does not fit the 2 left on axis 1", axis=1)
    yield at_node("a split into unequal parts", "Split x y,z", {"x": F23}, SHAPE,
                  "axis 1 of input 0 'x' (float [2,3]) cannot be split into 2 equal parts", axis=1)
    yield at_node("both ways to split", "Split x,s y,z", {"x": F23, "s": longs(1, 2)}, MODEL,
                  "both the input split and the attribute num_outputs are given", opset=18, axis=1,
                  num_outputs=2)
    yield at_node("more parts than outputs", "Split x,s y", {"x": F23, "s": longs(1, 2)}, SHAPE,
                  "lengths for 2 parts, but 1 output", axis=1)
    yield at_node("more parts than outputs by an attribute", "Split x y", {"x": F23}, SHAPE,
                  "lengths for 2 parts, but 1 output", opset=11, axis=1, split=[1, 2])
    yield at_node("fewer parts than outputs", "Split x,s y,z", {"x": F23, "s": longs(3)}, SHAPE,
                  "lengths for 1 part, but 2 outputs", axis=1)
    yield at_node("a number of parts that is not that of the outputs", "Split x y,z", {"x": F23}, MODEL,
                  "num_outputs is 5, but the node has 2 outputs", opset=18, axis=1, num_outputs=5)
    yield at_node("no way to split", "Split x y,z", {"x": F23}, MODEL,
                  "neither the input split nor the attribute num_outputs is given", opset=18, axis=1)
    yield at_node("parts that leave less than nothing for the last", "Split x a,b,c,d",
                  {"x": floats(5)}, SHAPE,
                  "axis 0 of input 0 'x' (float [5]) cannot be split into 3 parts of 2 and a smaller one", opset=18,
                  outputs="a float ?", num_outputs=4)
    yield at_node("matrices that do not fit", "MatMul a,b y", {"a": F23, "b": floats(4, 2)}, SHAPE,
                  "input 0 'a' (float [2,3]) and input 1 'b' (float [4,2]): inner dimensions 3 and 4 differ")
    yield at_node("a product with a scalar", "MatMul a,b y", {"a": F23, "b": np.float32(2)}, SHAPE,
                  "input 0 'a' (float [2,3]) and input 1 'b' (float []): a scalar is not a matrix")
    yield at_node("batches that do not broadcast", "MatMul a,b y", {"a": floats(2, 2, 3), "b": floats(4, 3, 2)}, SHAPE,
                  "input 0 'a' (float [2,2,3]) and input 1 'b' (float [4,3,2]): the dimensions before the last "
                  "two do not broadcast")
    yield at_node("Gemm with unfit matrices", "Gemm a,b y", {"a": F23, "b": floats(4, 2)}, SHAPE,
                  "input 0 'a' (float [2,3]) and input 1 'b' (float [4,2]): inner dimensions 3 and 4 differ")
    yield at_node("Gemm with an unfit bias", "Gemm a,b,c y", {"a": F23, "b": floats(3, 2), "c": F4}, SHAPE,
                  "input 2 'c' (float [4]) does not fit the output of shape [2,2]")
    x, w, r = floats(4, 2, 3), floats(1, 20, 3), floats(1, 20, 5)
    yield at_node("a direction that there is not", "LSTM x,w,r y", {"x": x, "w": w, "r": r}, MODEL,
                  "attribute 'direction' must be forward, reverse or bidirectional, not 'sideways'", opset=14,
                  direction="sideways")
    yield at_node("another hidden size than that of R", "LSTM x,w,r y", {"x": x, "w": w, "r": r}, SHAPE,
                  "attribute 'hidden_size' is 4, but input 2 'r' (float [1,20,5]) has a last dimension of 5", opset=14,
                  hidden_size=4)
    yield at_node("weights of other gates", "GRU x,w,r y", {"x": x, "w": w, "r": r}, SHAPE,
                  "input 1 'w' (float [1,20,3]) must have shape [1,15,3] (hidden size 5, input size 3, batch 2)",
                  opset=14)
    yield at_node("an unknown activation", "RNN x,w,r y", {"x": x, "w": floats(1, 5, 3), "r": floats(1, 5, 5)}, MODEL,
                  "attribute 'activations': 'Swing' is not an activation", opset=14, activations=["Swing"])
    yield at_node("activations of one direction for two", "RNN x,w,r y",
                  {"x": x, "w": floats(2, 5, 3), "r": floats(2, 5, 5)}, MODEL,
                  "attribute 'activations' has 1 names, 2 are needed", opset=14, activations=["Relu"],
                  direction="bidirectional")
    yield at_node("a clip below 0", "RNN x,w,r y", {"x": x, "w": floats(1, 5, 3), "r": floats(1, 5, 5)}, MODEL,
                  "attribute 'clip' must be 0 or more, not -1", opset=14, clip=-1.0)
    yield at_node("a sequence longer than X", "LSTM x,w,r,,l y",
                  {"x": x, "w": w, "r": r, "l": np.array([4, 5], np.int32)}, VALUE,
                  "element 1 of input 4 'l' (int32 [2]) is 5, but sequences have 0 to 4 steps", opset=14)
    b = np.zeros((1, 5, 20), np.int8)
    quantized = model(node("com.microsoft.DynamicQuantizeLSTM x,w,b y"), "x float ?,w int8 ?,b int8 ?",
                      domains=["com.microsoft"])
    yield Mistake("quantized weights without scales", quantized, MODEL,
                  "inputs 8 and 9, scale and zero point of input 1 'w' (int8 [1,3,20]), must be given",
                  [x, np.zeros((1, 3, 20), np.int8), b])
    q = floats(1, 2, 3, 4)
    yield at_node("heads that are no multiple", "Attention q,k,v y", {"q": q, "k": floats(1, 3, 3, 4), "v": q}, SHAPE,
                  "input 0 'q' (float [1,2,3,4]), input 1 'k' (float [1,3,3,4]) and input 2 'v' (float [1,2,3,4]) "
                  "do not fit together", opset=23)
    yield at_node("a head size that is not whole", "Attention q,q,q y", {"q": F23.reshape(1, 2, 3)}, SHAPE,
                  "attribute 'q_num_heads' is 2, which does not divide the last dimension of "
                  "input 0 'q' (float [1,2,3])",
                  opset=23, q_num_heads=2, kv_num_heads=2)
    yield at_node("a mask for other queries", "Attention q,q,q,m y", {"q": q, "m": floats(2, 3)}, SHAPE,
                  "input 3 'm' (float [2,3]) does not broadcast to shape [1,2,3,3]", opset=23)
    yield at_node("more valid keys than there are", "Attention q,q,q,,,,n y", {"q": q, "n": np.array([4])}, VALUE,
                  "element 0 of input 6 'n' (int64 [1]) is 4, but there are 3 keys", opset=24)
    yield at_node("a window below -1", "Attention q,q,q y", {"q": q}, MODEL,
                  "window sizes must be -1 or more, not -2 and -1", opset=25, left_window_size=-2)
    flexible = model(node("ai.onnx.preview.FlexAttention q,k,v y"), "q float ?,k float ?,v float ?",
                     domains=["ai.onnx.preview"])
    yield Mistake("flexible attention without heads", flexible, SHAPE,
                  "input 1 'k' (float [2,3]) must have 4 dimensions", [q, F23, q])
    yield Mistake("flexible attention of other heads", flexible, SHAPE,
                  "input 0 'q' (float [1,2,3,4]), input 1 'k' (float [1,3,3,4]) and input 2 'v' (float [1,3,3,4]) "
                  "do not fit together", [q, floats(1, 3, 3, 4), floats(1, 3, 3, 4)])
    doubled = model(node("ai.onnx.preview.FlexAttention q,q,v y"), "q float ?,v double ?", domains=["ai.onnx.preview"])
    yield Mistake("flexible attention of two types", doubled, SHAPE,
                  "input 0 'q' (float [1,2,3,4]) and input 2 'v' (double [1,2,3,4]) must have the same type",
                  [q, q.astype(np.float64)])
    def flexible_with(title, said, graph, name="score_mod", **attributes):
        made = model(node("ai.onnx.preview.FlexAttention q,q,q y", **{name: graph}, **attributes), "q float ?",
                     domains=["ai.onnx.preview"])
        return Mistake(title, made, MODEL, said, [q])
    yield flexible_with("a graph of FlexAttention that takes two", "attribute 'score_mod' has 2 inputs and 1 outputs, "
                        "not 1 and 1", graph([node("Add s,u t")], "s float ?,u float ?", "t float ?"))
    yield flexible_with("a graph of FlexAttention that gives two", "attribute 'prob_mod' has 1 inputs and 2 outputs, "
                        "not 1 and 1", graph([node("Neg s t")], "s float ?", "t float ?,s float ?"), "prob_mod")
    yield flexible_with("a graph of FlexAttention for another rank", "the input of attribute 'score_mod' is of rank 2, "
                        "not 4", graph([node("Neg s t")], "s float 2 2", "t float ?"))
    yield flexible_with("a graph of FlexAttention for another type", "'s' in a subgraph is of type float, but the model "
                        "states double", graph([node("Neg s t")], "s double ?", "t double ?"))
    yield flexible_with("scores that come back in another type", "attribute 'score_mod' gives double [1,2,3,3] for "
                        "float [1,2,3,3]: they must be alike", graph([node("Cast s t", to=11)], "s float ?",
                                                                     "t double ?"))
    yield flexible_with("weights that come back in another shape", "attribute 'prob_mod' gives float [1,2,3,1] for "
                        "float [1,2,3,3]: they must be alike",
                        graph([node("ReduceMax s t", axes=[3])], "s float ?", "t float ?"), "prob_mod")
    yield at_node("a position without an angle", "RotaryEmbedding q,c,c,p y",
                  {"q": q, "c": floats(5, 2), "p": np.array([[0, 5, 1]])}, VALUE,
                  "position 5 is out of range for the 5 rows of input 1 'c' (float [5,2])", opset=23)
    yield at_node("an odd number to rotate", "RotaryEmbedding q,c,c y", {"q": q, "c": floats(1, 3, 2)}, SHAPE,
                  "3 elements of heads of 4 cannot be rotated in pairs", opset=23, rotary_embedding_dim=3)
    yield at_node("SwiGLU of two shapes", "SwiGLU a,b y", {"a": F23, "b": F3}, SHAPE,
                  "input 0 'a' (float [2,3]) and input 1 'b' (float [3]) must have the same shape", opset=28)
    yield at_node("a write past the cache", "TensorScatter c,u,i y",
                  {"c": floats(1, 5, 2), "u": floats(1, 3, 2), "i": np.array([3])}, VALUE,
                  "3 rows at index 3 do not fit into the 5 of input 0 'c' (float [1,5,2])", opset=24)
    yield at_node("a rule without its input", "LinearAttention q,q,q y,s", {"q": floats(1, 2, 4)}, MODEL,
                  "update rule 'gated' takes an input decay and no input beta", opset=27, outputs="y float ?,s float ?",
                  update_rule="gated", q_num_heads=2, kv_num_heads=2)
    yield at_node("fewer terms than inputs", "Einsum a,b y", {"a": F23, "b": F23}, MODEL,
                  "attribute 'equation' has 1 terms for 2 inputs", equation="ij->i")
    yield at_node("more letters than dimensions", "Einsum a y", {"a": F23}, SHAPE,
                  "attribute 'equation': term 0 has 3 letters for input 0 'a' (float [2,3])", equation="ijk")
    yield at_node("a letter of two sizes", "Einsum a,b y", {"a": F23, "b": F23}, SHAPE,
                  "dimension 0 of input 1 'b' (float [2,3]) is 'j', which is 3 elsewhere", equation="ij,jk")
    yield at_node("a diagonal of two sizes", "Einsum a y", {"a": floats(1, 4)}, SHAPE,
                  "dimensions 0 and 1 of input 0 'a' (float [1,4]) are both 'i', but differ", equation="ii->i")
    yield at_node("an output letter from nowhere", "Einsum a y", {"a": F23}, MODEL,
                  "attribute 'equation': 'k' of the output is in no input", equation="ij->ik")
    yield at_node("an output letter twice", "Einsum a y", {"a": F23}, MODEL,
                  "attribute 'equation': 'i' of the output is there twice", equation="ij->ii")
    yield at_node("an equation of other characters", "Einsum a y", {"a": F23}, MODEL,
                  "attribute 'equation': character 49 is neither a letter nor part of '...', ',' or '->'",
                  equation="i1")
    yield at_node("an equation that goes on", "Einsum a y", {"a": F23}, MODEL,
                  "attribute 'equation' continues after its end, or has more terms than the 1 inputs",
                  equation="ij->i->j")
    yield at_node("Gemm of vectors", "Gemm a,b y", {"a": F3, "b": F3}, SHAPE,
                  "input 0 'a' (float [3]) and input 1 'b' (float [3]) must be matrices")
    yield at_node("channels that do not fit", "Conv x,w y", {"x": floats(1, 3, 4, 4), "w": floats(2, 2, 2, 2)}, SHAPE,
                  "input 0 'x' (float [1,3,4,4]) has 3 channels, but input 1 'w' (float [2,2,2,2]) takes 2 for each of 1 "
                  "group")
    yield at_node("groups that do not divide the kernels", "Conv x,w y",
                  {"x": floats(1, 6, 4, 4), "w": floats(4, 2, 2, 2)}, SHAPE,
                  "input 1 'w' (float [4,2,2,2]): 4 channels cannot be divided into 3 groups", group=3)
    yield at_node("no groups", "Conv x,w y", {"x": floats(1, 3, 4, 4), "w": floats(2, 3, 2, 2)}, SHAPE,
                  "attribute 'group' has the value 0, at least 1 is expected", group=0)
    yield at_node("a kernel larger than its input", "Conv x,w y", {"x": floats(1, 1, 2, 2), "w": floats(1, 1, 3, 3)},
                  SHAPE,
                  "spatial axis 0: the kernel spans 3 elements, but the padded input has 2")
    yield at_node("a stride of 0", "Conv x,w y", {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2)}, SHAPE,
                  "attribute 'strides' has the value 0, at least 1 is expected",
                  strides=[0, 1])
    yield at_node("too many pads", "Conv x,w y", {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2)}, SHAPE,
                  "attribute 'pads' has 3 values, 4 are expected",
                  pads=[1, 1, 1])
    yield at_node("two ways to pad", "Conv x,w y", {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2)}, MODEL,
                  "attributes 'auto_pad' (SAME_UPPER) and 'pads' exclude each other",
                  auto_pad="SAME_UPPER", pads=[0, 0, 0, 0])
    yield at_node("a kernel_shape that is not the kernel's", "Conv x,w y",
                  {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2)}, SHAPE,
                  "kernel_shape [3,3] does not fit input 1 'w' (float [1,1,2,2])", kernel_shape=[3, 3])
    yield at_node("a bias of another length", "Conv x,w,b y", {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2),
                                                               "b": F3}, SHAPE,
                  "input 2 'b' (float [3]): one value for each of the 1 output channels is expected")
    image = {"x": floats(1, 1, 4, 4)}
    yield at_node("a pool of a matrix", "MaxPool x y", {"x": F23}, SHAPE,
                  "input 0 'x' (float [2,3]): dimensions for images, channels and at least one more are expected",
                  kernel_shape=[1])
    yield at_node("a kernel of size 0", "AveragePool x y", image, SHAPE,
                  "attribute 'kernel_shape' has the value 0, at least 1 is expected", kernel_shape=[2, 0])
    yield at_node("a negative pad", "LpPool x y", image, SHAPE,
                  "attribute 'pads' has the value -1, at least 0 is expected", kernel_shape=[2, 2], pads=[0, 0, -1, 0])
    yield at_node("pads that overflow", "AveragePool x y", image, LIMIT, "spatial axis 0: the padded size overflows",
                  kernel_shape=[2, 2], pads=[2**62, 0, 2**62, 0])
    yield at_node("a dilation that overflows", "MaxPool x y", image, SHAPE,
                  "spatial axis 1: a kernel of size 5 is too long with dilation 4611686018427387903", kernel_shape=[1, 5],
                  dilations=[1, 2**62 - 1])
    yield at_node("Indices of padding", "MaxPool x y,i", image, VALUE,
                  "spatial axis 0: window 0 covers only padding, for which Indices has no value", kernel_shape=[1, 1],
                  pads=[1, 0, 0, 0], outputs="y float ?, i int64 ?")
    yield at_node("a norm of 0", "LpPool x y", image, VALUE, "attribute 'p' has the value 0, more than 0 is expected",
                  kernel_shape=[2, 2], p=0)
    yield at_node("a global pool without channels", "GlobalLpPool x y", {"x": F3}, SHAPE,
                  "input 0 'x' (float [3]): dimensions for images and channels are expected")
    image = {"x": floats(1, 2, 4, 5)}
    yield at_node("a crop that is too large", "Crop x y", image, SHAPE,
                  "dimension 3 of input 0 'x' (float [1,2,4,5]) has no room for 3 elements behind 3", 7,
                  border=[3, 0, 3, 0])
    yield at_node("a crop of three sides", "Crop x y", image, MODEL,
                  "attributes 'border' and 'scale' must have 4 and 2 numbers, not 3 and 0", 7, border=[0, 0, 0])
    yield at_node("a crop of a matrix", "Crop x y", {"x": F23}, SHAPE,
                  "input 0 'x' (float [2,3]) must have four dimensions", 7, border=[0, 0, 0, 0])
    yield at_node("a factor without a default", "ScaledTanh x y", {"x": F23}, MODEL,
                  "attribute 'beta' is missing, and has no default", 7, alpha=1.0)
    yield at_node("a bias for other channels", "ImageScaler x y", image, SHAPE,
                  "attribute 'bias' has 3 numbers, but input 0 'x' (float [1,2,4,5]) has 2 channels", 7,
                  bias=[0.5, 1.0, 2.0])
    unpooled = {"x": floats(1, 1, 2, 2), "i": np.array([[[[0, 3], [9, 16]]]], np.int64)}
    yield at_node("a place to unpool to that is not there", "MaxUnpool x,i y", unpooled, VALUE,
                  "input 1 'i' (int64 [1,1,2,2]): index 16 is out of range for the 16 elements of an image of "
                  "shape [1,1,4,4]",
                  kernel_shape=[2, 2], strides=[2, 2])
    yield at_node("an output too small to unpool", "MaxUnpool x,i,s y", {**unpooled, "s": longs(1, 1, 4, 3)}, SHAPE,
                  "an output of shape [1,1,4,3] does not fit the unpooled image of shape [1,1,4,4]", kernel_shape=[2, 2], strides=[2, 2])
    yield at_node("pads that leave no image to unpool", "MaxUnpool x,i y", unpooled, SHAPE,
                  "spatial axis 1: no image gives 2 windows of size 1 with a stride of 1 and pads of 1 and 2",
                  kernel_shape=[1, 1], pads=[0, 1, 0, 2])
    yield at_node("a region of no image", "MaxRoiPool x,r y",
                  {"x": floats(1, 1, 4, 4), "r": np.array([[1, 0, 0, 2, 2]], np.float32)}, VALUE,
                  "input 1 'r' (float [1,5]): region 0 is of image 1, but the number of images is 1", pooled_shape=[2, 2])
    regions = {"x": floats(1, 1, 4, 4), "r": np.array([[0, 0, np.inf, 2]], np.float32), "b": longs(0)}
    yield at_node("a region without an end", "RoiAlign x,r,b y", regions, VALUE,
                  "input 1 'r' (float [1,4]): region 0 has a corner at inf, which is too far away")
    yield at_node("too many samples", "RoiAlign x,r,b y", regions, LIMIT,
                  "attribute 'sampling_ratio' has the value 5000, 0 to 1024 are expected", sampling_ratio=5000)
    yield at_node("a mode that is not there", "RoiAlign x,r,b y", regions, MODEL,
                  "attribute 'mode' must be avg or max, not 'min'", mode="min")
    transposed = {"x": floats(1, 2, 3, 3), "w": floats(2, 1, 2, 2)}
    yield at_node("groups that do not divide", "ConvTranspose x,w y", transposed, SHAPE,
                  "input 0 'x' (float [1,2,3,3]): 2 channels cannot be divided into 3 groups", group=3)
    yield at_node("channels that do not fit a transposed kernel", "ConvTranspose x,w y",
                  {"x": floats(1, 3, 3, 3), "w": floats(2, 1, 2, 2)}, SHAPE,
                  "input 0 'x' (float [1,3,3,3]) has 3 channels, but input 1 'w' (float [2,1,2,2]) takes 2")
    yield at_node("pads that leave nothing", "ConvTranspose x,w y", transposed, SHAPE,
                  "spatial axis 1: pads of 3 and 2 leave nothing of 4 elements", pads=[0, 3, 0, 2])
    yield at_node("strides that overflow", "ConvTranspose x,w y", transposed, LIMIT,
                  "spatial axis 0: the size of the output overflows",
                  strides=[2**62, 1])
    yield at_node("an output_shape of one dimension", "ConvTranspose x,w y", transposed, SHAPE,
                  "attribute 'output_shape' has 1 values, 2 are expected", output_shape=[4])
    deformed = {"x": floats(1, 2, 4, 4), "w": floats(1, 2, 3, 3), "o": floats(1, 18, 2, 2)}
    yield at_node("offsets for other windows", "DeformConv x,w,o y", deformed, SHAPE,
                  "input 2 'o' (float [1,18,2,2]): shape [1,18,4,4] is expected", pads=[1, 1, 1, 1], opset=19)
    yield at_node("groups of offsets that do not divide", "DeformConv x,w,o y", deformed, SHAPE,
                  "input 0 'x' (float [1,2,4,4]): 2 channels cannot be divided into 3 groups of offsets", offset_group=3, opset=19)
    yield at_node("a mask for other taps", "DeformConv x,w,o,,m y", {**deformed, "m": floats(1, 18, 2, 2)}, SHAPE,
                  "input 4 'm' (float [1,18,2,2]): shape [1,9,2,2] is expected", opset=19)
    seventh = {"x": floats(*[1] * 9), "w": floats(*[1] * 9), "o": floats(1, 7, *[1] * 7)}
    yield at_node("windows of seven dimensions", "DeformConv x,w,o y", seventh, LIMIT,
                  "input 0 'x' (float [1,1,1,1,1,1,1,1,1]): at most 6 spatial dimensions are supported", opset=19)
    blocks = {"x": floats(1, 4, 5), "i": longs(3, 3), "b": longs(2, 2)}
    yield at_node("blocks that are not as many", "Col2Im x,i,b y", blocks, SHAPE,
                  "input 0 'x' (float [1,4,5]): shape [images,channels*4,4] is expected for blocks of shape [2,2] in "
                  "an image of shape [3,3]", opset=18)
    yield at_node("an image and blocks of other ranks", "Col2Im x,i,b y", {**blocks, "b": longs(2)}, SHAPE,
                  "input 1 'i' (int64 [2]) and input 2 'b' (int64 [1]) must have the same length, at least 1", opset=18)
    whole = {"x": np.zeros((1, 1, 3, 3), np.uint8), "w": np.zeros((2, 1, 2, 2), np.int8)}
    yield at_node("two zero points for one image", "ConvInteger x,w,z y", {**whole, "z": np.zeros(2, np.uint8)}, SHAPE,
                  "input 2 'z' (uint8 [2]): one value is expected", outputs="y int32 ?")
    yield at_node("a zero point of another type", "ConvInteger x,w,z y", {**whole, "z": np.zeros(1, np.int8)}, SHAPE,
                  "input 0 'x' (uint8 [1,1,3,3]) and input 2 'z' (int8 [1]) must have the same type",
                  outputs="y int32 ?")
    yield at_node("zero points that are not as many as channels", "ConvInteger x,w,,z y",
                  {**whole, "z": np.zeros(3, np.int8)}, SHAPE,
                  "input 3 'z' (int8 [3]): one value is expected, or one for each of the 2 output channels",
                  outputs="y int32 ?")
    causal = {"x": floats(1, 2, 5), "w": floats(2, 1, 3)}
    yield at_node("a past of another length", "CausalConvWithState x,w,,p y,s", {**causal, "p": floats(1, 2, 3)}, SHAPE,
                  "input 3 'p' (float [1,2,3]): shape [1,2,2] is expected", opset=27)
    yield at_node("an activation that is not there", "CausalConvWithState x,w y,s", causal, MODEL,
                  "attribute 'activation' must be silu, swish or none, not 'relu'", opset=27, activation="relu")
    yield at_node("weights that are not of each channel", "CausalConvWithState x,w y,s",
                  {**causal, "w": floats(2, 2, 3)}, SHAPE,
                  "input 0 'x' (float [1,2,5]) and input 1 'w' (float [2,2,3]): [sequences,channels,length] and "
                  "[channels,1,kernel] are expected", opset=27)
    yield at_node("an axis to reduce out of range", "ReduceSum x,a y", {"x": F23, "a": longs(2)}, SHAPE,
                  "axis 2 is out of range for rank 2 (-2 to 1)")
    yield at_node("a softmax axis out of range", "Softmax x y", {"x": F23}, SHAPE,
                  "axis -3 is out of range for rank 2 (-2 to 1)", axis=-3)
    yield at_node("an axis of no greatest", "ArgMax x y", {"x": F23}, SHAPE,
                  "axis 2 is out of range for rank 2 (-2 to 1)", outputs="y int64 ?", axis=2)
    yield at_node("two axes to sum along", "CumSum x,a y", {"x": F23, "a": longs(0, 1)}, SHAPE,
                  "input 1 'a' (int64 [2]) must be a list of at most 1 integers")
    yield at_node("no axis to sum along", "CumSum x,a y", {"x": F23, "a": longs()}, SHAPE,
                  "input 1 'a' (int64 [0]) must be a scalar")
    yield at_node("a list of no k", "TopK x,k y", {"x": F23, "k": longs()}, SHAPE,
                  "input 1 'k' (int64 [0]) must have one element")
    yield at_node("a scale that does not broadcast to one side", "LayerNormalization x,s y",
                  {"x": F23, "s": floats(2, 2, 3)}, SHAPE,
                  "input 1 's' (float [2,2,3]) does not broadcast to the shape of input 0 'x' (float [2,3])")
    yield at_node("statistics of a type that is no float", "LayerNormalization x,s y", {"x": F23, "s": F3}, MODEL,
                  "attribute 'stash_type' names a type (7) that is not allowed here", stash_type=7)
    yield at_node("a scale of other channels", "InstanceNormalization x,s,b y",
                  {"x": floats(1, 2, 4), "s": F3, "b": floats(2)}, SHAPE,
                  "input 1 's' (float [3]) must have one element for each of the 2 channels of "
                  "input 0 'x' (float [1,2,4])")
    yield at_node("no channels", "InstanceNormalization x,s,b y", {"x": F3, "s": F3, "b": F3}, SHAPE,
                  "input 0 'x' (float [3]): dimensions for images and channels are expected")
    yield at_node("groups that do not divide", "GroupNormalization x,s,b y",
                  {"x": floats(1, 4, 2), "s": F3, "b": F3}, SHAPE,
                  "attribute 'num_groups' (3) does not divide the channels of input 0 'x' (float [1,4,2])",
                  opset=18, num_groups=3)
    yield at_node("a norm of another power", "LpNormalization x y", {"x": F23}, MODEL,
                  "attribute 'p' must be 1 or 2, not 3", p=3)
    yield at_node("a window of no channels", "LRN x y", {"x": F23}, MODEL,
                  "attribute 'size' must be positive, not 0", size=0)
    yield at_node("channels without a mean", "BatchNormalization x,s,b,m,v y",
                  {"x": F23, "s": F3, "b": F3, "m": floats(2), "v": F3}, SHAPE,
                  "input 3 'm' (float [2]) must have one element for each channel of input 0 'x' (float [2,3])")
    yield at_node("images of no dimension", "BatchNormalization x,s,b,m,v y",
                  {name: floats() if name == "x" else floats(1) for name in "xsbmv"}, SHAPE,
                  "input 0 'x' (float []): a dimension for images is expected")
    yield at_node("running statistics without training", "BatchNormalization x,s,b,m,v y,n",
                  {"x": F23, "s": F3, "b": F3, "m": F3, "v": F3}, MODEL,
                  "this operator has no output 1 here, but it is read", outputs="y float ?,n float ?")
    yield at_node("a condition of two elements", "If c y", {"c": np.array([True, False])}, SHAPE,
                  "the condition, input 0 'c' (bool [2]), must have one element",
                  then_branch=branch(), else_branch=branch())
    yield at_node("bounds that are no scalars", "Clip x,lo y", {"x": F23, "lo": F3}, SHAPE,
                  "input 1 'lo' (float [3]) must be a scalar")
    yield at_node("a scale that does not fit", "QuantizeLinear x,s,z y",
                  {"x": F23, "s": F4, "z": np.zeros(4, np.uint8)}, SHAPE,
                  "the scale, input 1 's' (float [4]), does not fit input 0 'x' (float [2,3]): it must be a "
                  "scalar, or a list for the axis", outputs="y uint8 ?")
    yield at_node("legacy broadcasting that was not asked for", "Add a,b y", {"a": F23, "b": F3}, SHAPE,
                  "input 0 'a' (float [2,3]) and input 1 'b' (float [3]) must have the same shape without broadcast=1",
                  opset=6)
    yield at_node("legacy broadcasting at a wrong axis", "Add a,b y", {"a": F23, "b": F3}, SHAPE,
                  "input 1 'b' (float [3]) does not broadcast with input 0 'a' (float [2,3])", opset=6,
                  broadcast=1, axis=0)


def types():
    for opset in (10, 13):
        yield at_node(f"a remainder of floats with the divisor's sign in {opset}", "Mod a,b y", {"a": F3, "b": F3}, MODEL,
                      "attribute 'fmod' must be 1 for input 0 'a' (float [3])", opset=opset)
    yield at_node("two element types", "Add a,b y", {"a": F3, "b": np.zeros(3)}, SHAPE,
                  "input 0 'a' (float [3]) and input 1 'b' (double [3]) must have the same type: Cast one of them")
    yield at_node("a type that the operator lacks", "Sqrt x y", {"x": longs(4)}, UNSUPPORTED,
                  "input 0 'x' (int64 [1]): type int64 is not supported here; float, float16, double, bfloat16 are",
                  outputs="y int64 ?")
    yield at_node("a number for a condition", "Where c,a,b y", {"c": F3, "a": F3, "b": F3}, UNSUPPORTED,
                  "input 0 'c' (float [3]): type float is not supported here; bool is")
    yield at_node("a number for a condition of If", "If c y", {"c": F3}, UNSUPPORTED,
                  "input 0 'c' (float [3]): type float is not supported here; bool is",
                  then_branch=branch(), else_branch=branch())
    yield at_node("a zero point of another type", "DequantizeLinear x,s,z y",
                  {"x": np.zeros(3, np.uint8), "s": np.float32(1), "z": np.int8(0)}, SHAPE,
                  "input 2 'z' (int8 []) must have the type of input 0 'x' (uint8 [3])")
    yield at_node("indices of a small type", "Gather x,i y", {"x": F23, "i": np.zeros(2, np.int8)}, UNSUPPORTED,
                  "input 1 'i' (int8 [2]): type int8 is not supported here; int32, int64 are")


def data():
    yield at_node("an integer division by 0", "Div a,b y", {"a": longs(1, 2), "b": longs(1, 0)}, VALUE,
                  "integer division by zero",
                  outputs="y int64 ?")
    yield at_node("a remainder by 0", "Mod a,b y", {"a": longs(1, 2), "b": longs(1, 0)}, VALUE,
                  "integer division by zero",
                  outputs="y int64 ?")
    yield at_node("an index out of range", "Gather x,i y", {"x": F23, "i": longs(0, 2)}, VALUE,
                  "index 2 is out of range for axis 0 of size 2 of input 0 'x' (float [2,3])")
    yield at_node("an index out of range where no element is picked", "Gather x,i y",
                  {"x": np.zeros((3, 0), np.float32), "i": longs(5)}, VALUE,
                  "index 5 is out of range for axis 0 of size 3 of input 0 'x' (float [3,0])")
    yield at_node("the greatest of nothing", "ArgMax x y", {"x": np.zeros((0, 3), np.int64)}, VALUE,
                  "input 0 'x' (int64 [0,3]) has no elements along axis 0", outputs="y int64 ?")
    yield at_node("more than there are", "TopK x,k y", {"x": F23, "k": longs(4)}, VALUE,
                  "k is 4, but input 0 'x' (float [2,3]) has 3 elements along axis 1")
    yield at_node("fewer than none", "TopK x,k y", {"x": F23, "k": longs(-1)}, VALUE,
                  "k is -1, but input 0 'x' (float [2,3]) has 3 elements along axis 1")
    yield at_node("a mean of no integers", "ReduceMean x y", {"x": np.zeros((0, 3), np.int64)}, VALUE,
                  "input 0 'x' (int64 [0,3]): the mean of no integers is undefined",
                  outputs="y int64 ?", axes=[0])
    yield at_node("an index out of range in a constant", "Gather x,i y", {"x": F23}, VALUE,
                  "index -3 is out of range for axis 0 of size 2 of input 0 'x' (float [2,3])",
                  initializers=[constant("i", longs(-3))])


def picks():
    """Of operators that pad, repeat, pick and place."""
    yield at_node("pads that overflow", "Pad x,p y", {"x": F23, "p": longs(2**63 - 1, 0, 1, 0)}, SHAPE,
                  "pads 9223372036854775807 and 1 do not fit axis 0 of input 0 'x' (float [2,3])")
    yield at_node("pads that leave nothing to repeat", "Pad x,p y", {"x": F23, "p": longs(0, -3, 0, 1)}, SHAPE,
                  "axis 1 of input 0 'x' (float [2,3]) has no elements left to repeat", mode="edge")
    yield at_node("too few pads", "Pad x,p y", {"x": F23, "p": longs(0, 1)}, SHAPE,
                  "2 pads are given for 2 axes, which need 4")
    yield at_node("an axis that is padded twice", "Pad x,p,,a y", {"x": F23, "p": longs(0, 0, 0, 0), "a": longs(1, -1)},
                  SHAPE, "axis 1 is padded twice", opset=18)
    yield at_node("a mode of later versions", "Pad x,p y", {"x": F23, "p": longs(0, 1, 0, 1)}, MODEL,
                  "mode 'wrap' is unknown", mode="wrap")
    yield at_node("a negative number of repeats", "Tile x,r y", {"x": F23, "r": longs(1, -1)}, SHAPE,
                  "axis 1 of input 0 'x' (float [2,3]) cannot be repeated -1 times")
    yield at_node("a range without a step", "Range a,b,c y", {"a": longs(0), "b": longs(3), "c": longs(0)}, VALUE,
                  "delta is 0", outputs="y int64 ?")
    yield at_node("a range without an end", "Range a,b,c y",
                  {"a": np.float32(0), "b": np.float32(math.inf), "c": np.float32(1)}, VALUE,
                  "start, limit and delta do not give a valid number of elements")
    yield at_node("blocks that do not fit", "SpaceToDepth x y", {"x": floats(1, 1, 4, 3)}, SHAPE,
                  "input 0 'x' (float [1,1,4,3]) cannot be divided into blocks of 2x2", blocksize=2)
    yield at_node("a depth below zero", "OneHot i,d,v y", {"i": longs(0), "d": longs(-3), "v": floats(2)}, VALUE,
                  "the depth is -3")
    yield at_node("an element out of range", "GatherElements x,i y", {"x": F23, "i": longs([0, 5])}, VALUE,
                  "index 5 is out of range for axis 1 of size 3 of input 0 'x' (float [2,3])", axis=1)
    yield at_node("tuples that are too long", "GatherND x,i y", {"x": F23, "i": longs([0, 1, 1])}, SHAPE,
                  "tuples of 3 indices do not fit input 0 'x' (float [2,3]) behind 0 batch dimensions")
    yield at_node("a place out of range", "ScatterND x,i,u y", {"x": F23, "i": longs([0, 7]), "u": floats(1)}, VALUE,
                  "index 7 is out of range for axis 1 of size 3 of input 0 'x' (float [2,3])")
    yield at_node("updates of another shape", "ScatterND x,i,u y", {"x": F23, "i": longs([0, 1]), "u": floats(2)},
                  SHAPE, "input 2 'u' (float [2]) must have shape [1]")
    yield at_node("a reduction of later versions", "ScatterND x,i,u y",
                  {"x": F23, "i": longs([0, 1]), "u": floats(1)}, MODEL,
                  "attribute 'reduction': 'max' is unknown here", reduction="max")
    yield at_node("a sequence that is too long", "ReverseSequence x,n y", {"x": F23, "n": longs(1, 4)}, VALUE,
                  "length 4 is out of range for axis 1 of size 3 of input 0 'x' (float [2,3])", batch_axis=0, time_axis=1)
    yield at_node("a condition for what is not there", "Compress x,c y",
                  {"x": F23, "c": np.array([0, 0, 0, 1], np.bool_)}, VALUE,
                  "condition 3 holds, but there are only 3 elements", axis=1)


def images():
    """Of operators on images."""
    yield at_node("a scale of nothing", "Resize x,,s y", {"x": F23, "s": np.zeros(2, np.float32)}, VALUE,
                  "scale 0 is 0, which cannot be applied to axis 0 of input 0 'x' (float [2,3])")
    yield at_node("scales and sizes", "Resize x,,s,z y", {"x": F23, "s": np.ones(2, np.float32), "z": longs(2, 3)}, MODEL,
                  "one of scales and sizes must be given, and not both")
    yield at_node("scales for other axes", "Resize x,,s y", {"x": F23, "s": np.ones(3, np.float32)}, SHAPE,
                  "3 scales are given for 2 axes of input 0 'x' (float [2,3])")
    yield at_node("a size of nothing", "Resize x,,,z y", {"x": floats(0, 3), "z": longs(2, 3)}, SHAPE,
                  "size 2 does not fit axis 0 of input 0 'x' (float [0,3])")
    yield at_node("an image of 2^80 elements", "Resize x,,,z y", {"x": F23, "z": longs(1 << 40, 1 << 40)}, LIMIT,
                  "output 0 would have shape [1099511627776,1099511627776], too large for this machine")
    yield at_node("a grid of another batch", "GridSample x,g y", {"x": floats(2, 1, 3, 3), "g": floats(1, 2, 2, 2)},
                  SHAPE, "input 1 'g' (float [1,2,2,2]) does not fit input 0 'x' (float [2,1,3,3])")
    yield at_node("a matrix of another space", "AffineGrid t,s y", {"t": floats(1, 2, 3), "s": longs(1, 1, 2, 2, 2)},
                  SHAPE, "input 0 't' (float [1,2,3]) does not fit size [1,1,2,2,2]", opset=20)
    yield at_node("scores of other boxes", "NonMaxSuppression b,s y", {"b": floats(1, 4, 4), "s": floats(1, 1, 3)}, SHAPE,
                  "input 0 'b' (float [1,4,4]) and input 1 's' (float [1,1,3]) must be batches x boxes x 4 and batches x "
                  "classes x boxes", outputs="y int64 ?")


MISTAKES = [mistake for group in (shapes, types, data, picks, images) for mistake in group()]
